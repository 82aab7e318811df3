/* One connection of the channel (src/channel) with its true TLS and SASL, and a server of
 * login_server.h, both turned by the test: one thread. After each turn it is checked that nothing
 * is written outside of a buffer, and that libzookeeper sees no byte before the server has proven
 * itself.
 *
 * Link support/link_lab_job.c in front of the library: jobs are done at once.
 */
#pragma once

#include "channel/channel_link.h"
#include "login_server.h"

typedef struct
{
  LoginMechanism mechanism;
  LoginCarrier carrier;
  CuratorLinkContext context;
  CuratorLink *link; /* NULL: it has ended */
  int client_fd;     /* libzookeeper's end */
  int listener;
  LoginServer *server; /* NULL: nobody has connected, or it has left */
  guint n_servers;
  guint held_flight;
  gboolean is_proven; /* this server has sent its last proof, unchanged */
  gboolean is_secret; /* this server has sent its part of the handshake, unchanged */
  gboolean was_open;
  gsize n_delivered;
  int code; /* of the first failure, or -1 */
  GString *failures;
  char text[160]; /* the case, for whoever reads a failure */
} LoginLab;

extern LoginLab login_lab;

/* Once in a process: a directory of make_certificates, and of make_realm for GSSAPI. */
void login_labs_start (const char *directory);
void login_labs_stop (void);

void login_lab_open (LoginMechanism mechanism, LoginCarrier carrier, gint64 asked);
void login_lab_close (void);
/* Until nothing moves any more. */
void login_lab_run (void);
/* Until there is such a one, which is returned. NULL: the client has left. */
GByteArray *login_lab_wait_for (GByteArray *(*take) (LoginServer *server));
void login_lab_client_sends (gsize n);
void login_lab_let_deadline_pass (void);
