#pragma once

#include "base/dial.h"
#include "base/options.h"

typedef struct
{
  char *address;
  char *mode;    /* "standalone", "leader", ...; NULL: unknown */
  char *members; /* of its ensemble, one a line in order; NULL: unknown, or standalone */
  char *trouble; /* NULL, or why the server does not answer; not for its certificate */
  DialCertificate certificate; /* with TLS */
  gboolean allows_conf;        /* whether it answers "conf" */
  gint64 tick_ms;              /* milliseconds; 0: unknown */
  gint64 max_connections;      /* from one address; 0: unknown, or no limit */
  int secure_port;             /* its port for TLS, as "conf" shows it; 0: unknown */
  /* When the newest session was connected, by its clock, since 1970; 0: unknown. */
  gint64 newest_ms;
  /* Of the sessions connected to it, gint64 to char *: the client's address. NULL: "cons" not
   * allowed. */
  GHashTable *sessions;
} Server;

/* Asks one server after the other, each for a few seconds at most. Returns
 * an array of Server. */
GPtrArray *servers_ask (const Options *options, Dial *dial);

/* The sessions of all servers that allow "cons", gint64 to char *: the client's address. */
GHashTable *servers_ask_addresses (const Options *options);

/* Whether every server listed its connections, so that a session found on none is not connected. */
gboolean servers_know_sessions (GPtrArray *servers);
gboolean servers_have_session (GPtrArray *servers, gint64 session);
gboolean server_has_session (const Server *server, gint64 session);
