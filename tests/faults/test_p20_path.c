/* P20: the path between a holder and its server goes silent, in both directions or one, or becomes
 * slow. The holder's own clock reports the loss before the server grants the lock to another. */
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
} Path;

static const Path PATHS[] = {
  { "path silent", PROXY_HOLE, 0 },
  { "path silent to the server", PROXY_HOLE_TO_SERVER, 0 },
  { "path silent to the client", PROXY_HOLE_TO_CLIENT, 0 },
  { "path slow, 50 ms each way", PROXY_PASS, 50 },
  { "path slow, 500 ms each way", PROXY_PASS, 500 },
  { "path slow, 2 s each way", PROXY_PASS, 2000 },
};
#define N_PATHS ((int) G_N_ELEMENTS (PATHS))

TEST (test_p20_path)
{
  Lab *lab = lab_new ("test_p20_path");
  Proxy *proxies[G_N_ELEMENTS (PATHS)];
  Duel duels[G_N_ELEMENTS (PATHS)];
  for (int i = 0; i < N_PATHS; i++)
    {
      proxies[i] = security_proxy_new (server, security_usual ());
      duels[i] = (Duel){ .name = PATHS[i].name,
                         .lock = (guint) i + 1,
                         .holder_at = proxy_address (proxies[i]),
                         .waiter_at = zk_server_address (server) };
      duel_start (lab, &duels[i]);
    }
  for (int i = 0; i < N_PATHS; i++)
    {
      duel_note_fault (&duels[i]);
      proxy_set_delay (proxies[i], PATHS[i].delay_ms, PATHS[i].delay_ms);
      proxy_set_mode (proxies[i], PATHS[i].mode);
    }
  assert_true (duel_wait_grant (lab, &duels[0], LAB_PATIENCE_MS));
  assert_true (duel_wait_grant (lab, &duels[1], LAB_PATIENCE_MS));
  /* Long enough for any loss to be reported. */
  wait_ms (LAB_SESSION_MS / 2);
  for (int i = 0; i < N_PATHS; i++)
    {
      proxy_set_delay (proxies[i], 0, 0);
      proxy_set_mode (proxies[i], PROXY_PASS);
    }
  for (int i = 0; i < N_PATHS; i++)
    duel_finish (lab, &duels[i]);
  assert_true (duels[0].lost);
  assert_true (duels[1].lost);
  assert_true (duels[2].lost);
  lab_finish (lab);
  for (int i = 0; i < N_PATHS; i++)
    proxy_free (proxies[i]);
}

SUITE ("P20", lab_start, lab_stop)
