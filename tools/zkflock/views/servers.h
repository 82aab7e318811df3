/* What the servers of a connect string say about themselves, in four-letter words. */
#ifndef ZKFLOCK_SERVERS_H
#define ZKFLOCK_SERVERS_H

#include <gio/gio.h>

typedef struct
{
  char *address;
  char *trouble;       /* NULL, or why it does not answer at all */
  gboolean tells_conf; /* "conf" is on its list of allowed words */
  gint64 tick_ms;      /* 0: not told */
  gint64 min_timeout_ms;
  gint64 max_timeout_ms;
  GHashTable *sessions; /* gint64 *: connected to it; NULL: "cons" is not allowed */
} Server;

/* hosts: a connect string. Asks one after the other, a few seconds each at most. */
GPtrArray *servers_ask (const char *hosts);

/* Whether every server told its connections, so that a session that none has is connected to none. */
gboolean servers_know_sessions (GPtrArray *servers);
gboolean servers_have_session (GPtrArray *servers, gint64 session);

#endif
