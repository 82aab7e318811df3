/* P20: the path between a holder and its server goes silent, in both directions or one, or becomes
 * slow. The holder's own clock reports the loss before the server grants the lock to another. So it
 * does if the holder is connected over TLS, or has logged in with DIGEST-MD5: the channel's threads
 * and buffers are between the client and the server. */
#define SUITE_FIXTURE ZkServer *server
#include "lab.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "support/zk_server.h"

typedef struct
{
  const char *name;
  ProxyMode mode;
  int delay_ms; /* each way */
  gboolean ends_hold;
  Security security; /* SECURITY_NONE: the usual one */
  gboolean is_stopped;
} Path;

static const Path PATHS[] = {
  { "path silent", PROXY_HOLE, .ends_hold = TRUE },
  { "path silent to the server", PROXY_HOLE_TO_SERVER, .ends_hold = TRUE },
  { "path silent to the client", PROXY_HOLE_TO_CLIENT, .ends_hold = TRUE },
  { "path slow, 50 ms each way", PROXY_PASS, 50 },
  { "path slow, 500 ms each way", PROXY_PASS, 500 },
  { "path slow, 2 s each way", PROXY_PASS, 2000 },
#if LAB_SECURED
  { "TLS, path silent", PROXY_HOLE, .ends_hold = TRUE, .security = SECURITY_TLS },
  { "TLS, silent to the server", PROXY_HOLE_TO_SERVER, .ends_hold = TRUE,
    .security = SECURITY_TLS },
  { "SASL, path silent", PROXY_HOLE, .ends_hold = TRUE, .security = SECURITY_SASL },
  { "TLS, client stopped", PROXY_PASS, .ends_hold = TRUE, .security = SECURITY_TLS,
    .is_stopped = TRUE },
#endif
};
#define N_PATHS G_N_ELEMENTS (PATHS)

TEST (test_p20_path)
{
  Lab *lab = lab_new ("test_p20_path");
  Proxy *proxies[N_PATHS];
  Duel duels[N_PATHS];
  for (guint i = 0; i < N_PATHS; i++) {
    const Security security = PATHS[i].security;
    proxies[i] =
        security_proxy_new (server, security != SECURITY_NONE ? security : security_usual ());
    duels[i] = (Duel){ .name = PATHS[i].name,
                       .lock = i + 1,
                       .security = security,
                       .holder_at = proxy_address (proxies[i]),
                       .waiter_at = zk_server_address (server) };
    duel_start (lab, &duels[i]);
  }
  for (guint i = 0; i < N_PATHS; i++) {
    duels[i].fault_ns = wait_now_ns ();
    proxy_set_delay (proxies[i], PATHS[i].delay_ms, PATHS[i].delay_ms);
    proxy_set_mode (proxies[i], PATHS[i].mode);
    if (PATHS[i].is_stopped)
      lab_stop_holder (lab, duels[i].a);
  }
  for (guint i = 0; i < N_PATHS; i++)
    if (PATHS[i].ends_hold && PATHS[i].mode != PROXY_HOLE_TO_CLIENT)
      lab_wait_granted (lab, duels[i].b);
  /* Long enough for any loss to be reported. */
  wait_ms (LAB_SESSION_MS / 2);
  for (guint i = 0; i < N_PATHS; i++) {
    proxy_set_delay (proxies[i], 0, 0);
    proxy_set_mode (proxies[i], PROXY_PASS);
  }
  for (guint i = 0; i < N_PATHS; i++) {
    duel_finish (lab, &duels[i]);
    assert_true (duels[i].lost || !PATHS[i].ends_hold);
  }
  lab_finish (lab);
  for (guint i = 0; i < N_PATHS; i++)
    proxy_free (proxies[i]);
}

SUITE ("P20", lab_start, lab_stop)
