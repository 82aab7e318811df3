/* The fault laboratory through the secure channel: clients that connect over TLS, or log in with
 * DIGEST-MD5 in clear text.
 *
 * The driver makes certificates and tells a process by its connect string how to connect:
 * "tls@FOLDER@HOSTS", "sasl@FOLDER@HOSTS" or "tls+sasl@FOLDER@HOSTS". Observers connect in clear
 * text. */
#pragma once

#include "curator/curator.h"
#include "support/proxy.h"
#include "support/zk_server.h"

typedef enum
{
  SECURITY_NONE,
  SECURITY_TLS,
  SECURITY_SASL,
  SECURITY_BOTH
} Security;

/* CURATOR_TEST_SECURED: "tls" or "sasl". */
Security security_usual (void);
/* For a server that is to have security; made at the first call, deleted at exit. NULL, after a
 * message, if that fails. */
const char *security_folder (void);

/* In front of the port of such clients. */
Proxy *security_proxy_new (ZkServer *server, Security security);
/* The connect string of a process. Servers are named by their addresses in clear text; other
 * addresses, such as those of proxies, are kept. */
char *security_connect_string (const char *hosts, Security security);

/* In that process. */
CuratorClient *security_client_new (const char *connect_string, CuratorRetryPolicy *policy);
/* Its retries are every 50 ms, forever; both timeouts are that of the session. */
CuratorClient *security_client_for (const char *connect_string, gint64 session_ms, int tick_ms);
