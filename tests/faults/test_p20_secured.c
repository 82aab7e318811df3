/* P20 through the secure channel: a holder that is connected over TLS, or has logged in with
 * DIGEST-MD5, is cut off or stopped. The channel's threads and buffers are between the client and
 * the server, but its clock reports the loss before the server grants the lock to another. */
#define SUITE_FIXTURE ZkServer *server
#include "lab.h"
#include "support/waiting.h"

typedef struct
{
  const char *name;
  Security security;
  ProxyMode mode;
  gboolean is_stopped;
} Fault;

static const Fault FAULTS[] = {
  { "TLS, path silent", SECURITY_TLS, PROXY_HOLE },
  { "TLS, silent to the server", SECURITY_TLS, PROXY_HOLE_TO_SERVER },
  { "SASL, path silent", SECURITY_SASL, PROXY_HOLE },
  { "TLS, client stopped", SECURITY_TLS, PROXY_PASS, TRUE },
};
#define N_FAULTS ((int) G_N_ELEMENTS (FAULTS))

static void
begin (Lab *lab, const Fault *fault, Proxy *proxy, Duel *duel)
{
  duel_note_fault (duel);
  proxy_set_mode (proxy, fault->mode);
  if (fault->is_stopped)
    lab_stop_holder (lab, duel->a);
}

TEST (test_p20_secured)
{
  Lab *lab = lab_new ("test_p20_secured");
  Proxy *proxies[G_N_ELEMENTS (FAULTS)];
  Duel duels[G_N_ELEMENTS (FAULTS)];
  for (int i = 0; i < N_FAULTS; i++)
    {
      proxies[i] = security_proxy_new (server, FAULTS[i].security);
      duels[i] = (Duel){ .name = FAULTS[i].name,
                         .lock = (guint) i + 1,
                         .security = FAULTS[i].security,
                         .holder_at = proxy_address (proxies[i]),
                         .waiter_at = zk_server_address (server) };
      duel_start (lab, &duels[i]);
    }
  for (int i = 0; i < N_FAULTS; i++)
    begin (lab, &FAULTS[i], proxies[i], &duels[i]);
  for (int i = 0; i < N_FAULTS; i++)
    assert_true (duel_wait_grant (lab, &duels[i], LAB_PATIENCE_MS));
  for (int i = 0; i < N_FAULTS; i++)
    {
      proxy_set_mode (proxies[i], PROXY_PASS);
      duel_finish (lab, &duels[i]);
      assert_true (duels[i].lost);
    }
  lab_finish (lab);
  for (int i = 0; i < N_FAULTS; i++)
    proxy_free (proxies[i]);
}

SUITE ("P20, secured", lab_start_secured, lab_stop)
