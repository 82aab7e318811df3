/* Shared by the tests of secured connections: a server with TLS and SASL, its certificates,
 * clients. */
#pragma once

#ifndef SUITE_FIXTURE
#define SUITE_FIXTURE Secured *secured
#define SUITE_SETUP   secured_heal
#endif
#include "integration/fixture.h"

#define KEY_PASSWORD  "open sesame"
#define SASL_USER     "alice"
#define SASL_PASSWORD "correct horse battery staple"

typedef struct
{
  char *directory; /* of the certificates */
  char *host;
  ZkServer *server;
  const char *address; /* of its port with TLS, where clients need a certificate */
  Proxy *proxy;        /* of bytes, in front of that port */
  char *proxied;       /* "localhost:port", through that proxy */
  RawZk *raw;
} Secured;

/* Group set-up and tear-down; *state becomes a Secured. */
int secured_start (void **state);
int secured_start_with (void **state, const char *config); /* more lines of zoo.cfg, or NULL */
int secured_stop (void **state);
int secured_heal (void **state);

/* The same for a server in clear text that knows the user: *state becomes a Fixture. */
int secured_start_clear (void **state);
int secured_stop_clear (void **state);

/* The path of a file of support/make_certificates; never freed. */
const char *secured_file (Secured *secured, const char *name);
/* The CA and the client's certificate. */
CuratorTls *secured_tls (Secured *secured);

/* Not started; sessions of LONG_SESSION_MS. tls may be NULL. */
CuratorClient *secured_client (const char *servers, CuratorTls *tls);
/* With secured_tls (). */
CuratorClient *secured_tls_client (Secured *secured, const char *servers);
/* openssl's server with that certificate and two more arguments; its address is to be freed. */
pid_t secured_start_other (Secured *secured, const char *certificate, const char *option,
                           const char *value, char **address);
/* Waits until the newest failure of the client has that code. */
gboolean secured_wait_failed (CuratorClient *client, CuratorConnectError code);
/* Starts it, waits for that failure and asserts that it was never connected. */
void assert_refused (CuratorClient *client, CuratorConnectError code, const char *what);
