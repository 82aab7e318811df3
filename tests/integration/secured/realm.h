/* Shared by the tests of Kerberos: a realm with its KDC, and a server whose SASL asks for its
 * tickets. */
#pragma once

#include "integration/fixture.h"

#define REALM_SERVER_NAME "zk.test"

typedef struct
{
  char *directory;
  pid_t kdc;
  ZkServer *server;
  RawZk *raw;
} Realm;

/* Group set-up and tear-down; *state becomes a Realm. Sets the environment of Kerberos: no thread
 * may run yet. */
int realm_start (void **state);
int realm_stop (void **state);
/* The same without a server. */
int realm_start_kdc (void **state);

/* A new ticket of alice, and no ticket for a server. */
gboolean realm_log_in (Realm *realm);
/* Runs a program to its end. FALSE: it has failed. */
gboolean realm_run (const char *const *argv);
