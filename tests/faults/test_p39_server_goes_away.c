/* P39: the server of a holder goes away while the others serve. No hold is lost, and none is
 * believed longer than it lasts: the client leaves that server, and another one confirms the hold.
 *
 * Twenty holders of each kind are connected to one follower, in front of which there are proxies.
 * The heartbeats begin at different moments. Behind each holder waits a client of the leader's: it
 * would be granted the lock of a session that has expired.
 */
#define SUITE_FIXTURE ZkEnsemble *ensemble
#include "ensemble.h"
#include "support/metronome.h"
#include "support/waiting.h"

#include <stdio.h>

#define N_HOLDERS 20
#define N_SERVERS 3
#define BEGIN_US  2500000 /* a heartbeat's period at 15 s: in so long all of them begin */
#define AWAY_MS   3000
/* What a client believes that was told nothing: that of ZooKeeper's sample configuration. */
#define USUAL_TICK_MS 2000
#define LONGEST_MS    15000
/* At 6 s so much is left when the next server has confirmed a hold. */
#define SPARE_US (500 * 1000)

typedef enum
{
  HOST_OFF,      /* nothing is acknowledged */
  HOST_STOPPED,  /* everything is acknowledged, nothing answered */
  HOST_LINK_AWAY /* off for a while */
} Event;

typedef struct
{
  int session_ms;
  Security security;
} Kind;

static const Kind KINDS[] = {
  { 6000, SECURITY_NONE },
  { 15000, SECURITY_NONE },
#if LAB_SECURED
  { 6000, SECURITY_TLS },
  { 15000, SECURITY_TLS },
#endif
};
#define N_KINDS G_N_ELEMENTS (KINDS)

typedef struct
{
  const Kind *kind;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  CuratorLock *waiting; /* the same, of the client behind it */
  gint answers;         /* atomic */
  gint is_believed;     /* atomic: somebody else was granted it meanwhile */
} Holder;

typedef struct
{
  ZkEnsemble *ensemble;
  int follower;
  Proxy *proxies[N_KINDS][N_SERVERS];
  Holder holders[N_KINDS][N_HOLDERS];
  CuratorClient *behind;
  GCancellable *end;
} Scene;

static int
start (void **state)
{
  const ZkEnsembleSetup setup = { .tick_ms = LAB_TICK_MS,
                                  .sync_limit = LAB_SYNC_LATE,
                                  .security = LAB_SECURED ? security_folder () : NULL,
                                  .max_session_ms = { LONGEST_MS, LONGEST_MS, LONGEST_MS } };
  metronome_start ();
  *state = zk_server_available () ? zk_ensemble_start_as (&setup) : NULL;
  return *state != NULL ? 0 : -1;
}

static void
set_proxies (Scene *scene, gboolean of_follower, ProxyMode mode)
{
  for (guint kind = 0; kind < N_KINDS; kind++)
    for (int i = 0; i < N_SERVERS; i++)
      if ((i == scene->follower) == of_follower)
        proxy_set_mode (scene->proxies[kind][i], mode);
}

/* --- holders, and who waits behind them --- */

static void
on_granted (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Holder *holder = data;
  if (lease != NULL && curator_lease_get_remaining_ms (holder->lease) > 0)
    g_atomic_int_set (&holder->is_believed, TRUE);
  g_clear_pointer (&lease, curator_lease_unref);
  g_atomic_int_inc (&holder->answers);
}

static void
holder_start (Scene *scene, Holder *holder, guint kind, const char *path)
{
  g_autoptr (GError) error = NULL;
  GString *hosts = g_string_new (NULL);
  for (int i = 0; i < N_SERVERS; i++)
    g_string_append_printf (hosts, "%s%s", i > 0 ? "," : "",
                            proxy_address (scene->proxies[kind][i]));
  g_autofree char *listed = g_string_free (hosts, FALSE);
  g_autofree char *connect = security_connect_string (listed, KINDS[kind].security);

  *holder = (Holder){ .kind = &KINDS[kind] };
  holder->client = security_client_for (connect, KINDS[kind].session_ms, USUAL_TICK_MS);
  curator_client_set_connection_timeout (holder->client, LAB_PATIENCE_MS);
  assert_true (curator_client_start (holder->client, &error));
  holder->lock = curator_mutex_new (holder->client, path, &error);
  holder->lease = curator_lock_acquire_lease (holder->lock, LAB_PATIENCE_MS, NULL, &error);
  if (holder->lease == NULL)
    fail_msg ("not held: %s", error->message);
  holder->waiting = curator_mutex_new (scene->behind, path, &error);
  curator_lock_acquire_then (holder->waiting, -1, scene->end, on_granted, holder);
}

static void
holder_end (Holder *holder)
{
  if (!holds_within (g_atomic_int_get (&holder->answers) == 1, LAB_PATIENCE_MS))
    fail_msg ("a waiter was not told of its end");
  curator_lease_unref (holder->lease);
  curator_lock_unref (holder->waiting);
  curator_lock_unref (holder->lock);
  curator_client_close (holder->client);
  curator_client_unref (holder->client);
}

/* All are connected to the follower: the others refuse until then. */
static void
scene_start (Scene *scene, ZkEnsemble *ensemble)
{
  static int n_scenes;
  g_autoptr (GError) error = NULL;
  const int leader = lab_wait_leader (ensemble);

  *scene = (Scene){ .ensemble = ensemble, .follower = (leader + 1) % N_SERVERS };
  scene->end = g_cancellable_new ();
  scene->behind = security_client_for (lab_server (ensemble, leader), LONGEST_MS, LAB_TICK_MS);
  assert_true (curator_client_start (scene->behind, &error));
  for (guint kind = 0; kind < N_KINDS; kind++)
    for (int i = 0; i < N_SERVERS; i++)
      scene->proxies[kind][i] =
          security_proxy_new (zk_ensemble_server (ensemble, i), KINDS[kind].security);
  set_proxies (scene, FALSE, PROXY_REFUSE);
  n_scenes++;
  const gint64 began_us = g_get_monotonic_time ();
  for (int i = 0; i < N_HOLDERS; i++) {
    for (guint kind = 0; kind < N_KINDS; kind++) {
      g_autofree char *path = g_strdup_printf ("/away/%d-%u-%d", n_scenes, kind, i);
      holder_start (scene, &scene->holders[kind][i], kind, path);
    }
    const gint64 next_us = began_us + (i + 1) * BEGIN_US / N_HOLDERS - g_get_monotonic_time ();
    g_usleep ((gulong) MAX (next_us, 0));
  }
  set_proxies (scene, FALSE, PROXY_PASS);
}

static void
scene_end (Scene *scene)
{
  g_cancellable_cancel (scene->end);
  for (guint kind = 0; kind < N_KINDS; kind++)
    for (int i = 0; i < N_HOLDERS; i++)
      holder_end (&scene->holders[kind][i]);
  curator_client_close (scene->behind);
  curator_client_unref (scene->behind);
  for (guint kind = 0; kind < N_KINDS; kind++)
    for (int i = 0; i < N_SERVERS; i++)
      proxy_free (scene->proxies[kind][i]);
  g_object_unref (scene->end);
}

/* --- what happens --- */

static gboolean
is_lost (const Holder *holder)
{
  return curator_lease_get_state (holder->lease) == CURATOR_LEASE_STATE_LOST;
}

/* It lasts longer than any proof of before would allow, or it is over. */
static gboolean
is_decided (const Holder *holder, gint64 began_ms)
{
  const gint64 until_ms = wait_now_ms () + curator_lease_get_remaining_ms (holder->lease);
  return is_lost (holder) || until_ms > began_ms + holder->kind->session_ms * 3 / 4;
}

static int
count_undecided (Scene *scene, guint kind, gint64 began_ms)
{
  int n = 0;
  for (int i = 0; i < N_HOLDERS; i++)
    n += is_decided (&scene->holders[kind][i], began_ms) ? 0 : 1;
  return n;
}

static void
begin (Scene *scene, Event event)
{
  if (event == HOST_STOPPED)
    zk_server_freeze (zk_ensemble_server (scene->ensemble, scene->follower));
  else
    set_proxies (scene, TRUE, PROXY_OFF);
}

static void
end (Scene *scene, Event event)
{
  if (event == HOST_STOPPED)
    zk_server_thaw (zk_ensemble_server (scene->ensemble, scene->follower));
  else
    set_proxies (scene, TRUE, PROXY_PASS);
}

/* Until the fate of each hold is known; a link comes back meanwhile. */
static void
watch (Scene *scene, Event event, gint64 began_ms, gint64 took_ms[N_KINDS])
{
  guint n_open = N_KINDS;
  while (n_open > 0 && wait_now_ms () < began_ms + LAB_PATIENCE_MS) {
    n_open = 0;
    if (event == HOST_LINK_AWAY && wait_now_ms () >= began_ms + AWAY_MS)
      end (scene, event);
    for (guint kind = 0; kind < N_KINDS; kind++) {
      if (count_undecided (scene, kind, began_ms) == 0)
        took_ms[kind] = took_ms[kind] != 0 ? took_ms[kind] : wait_now_ms () - began_ms;
      n_open += took_ms[kind] == 0 ? 1 : 0;
    }
    wait_ms (5);
  }
}

/* How many were lost and how many believed for too long. */
static void
count_losses (Scene *scene, guint kind, int *n_lost, int *n_believed)
{
  for (int i = 0; i < N_HOLDERS; i++) {
    *n_lost += is_lost (&scene->holders[kind][i]) ? 1 : 0;
    *n_believed += g_atomic_int_get (&scene->holders[kind][i].is_believed) ? 1 : 0;
  }
}

static void
test_event (ZkEnsemble *ensemble, Event event, const char *name)
{
  static const char *const securities[] = { "clear text", "TLS" };
  Scene *scene = g_new (Scene, 1);
  gint64 took_ms[N_KINDS] = { 0 };
  int n_lost = 0;
  int n_believed = 0;

  scene_start (scene, ensemble);
  const gint64 began_ms = wait_now_ms ();
  begin (scene, event);
  watch (scene, event, began_ms, took_ms);
  const gint64 late_us = metronome_stalled_us (began_ms * 1000);
  for (guint kind = 0; kind < N_KINDS; kind++) {
    int n = 0;
    count_losses (scene, kind, &n, &n_believed);
    n_lost += n;
    print_message ("%s, T = %2d s, %-10s: %2d of %d lost, all confirmed after %d ms\n", name,
                   KINDS[kind].session_ms / 1000, securities[KINDS[kind].security == SECURITY_TLS],
                   n, N_HOLDERS, (int) took_ms[kind]);
  }
  end (scene, event);
  assert_true (zk_ensemble_wait_whole (ensemble, LAB_PATIENCE_MS));
  scene_end (scene);
  g_free (scene);
  assert_int_equal (n_believed, 0);
  if (n_lost > 0 && late_us >= SPARE_US)
    print_message ("the machine was late by %d ms\n", (int) (late_us / 1000));
  assert_true (n_lost == 0 || late_us >= SPARE_US);
}

TEST (test_p39_host_off)
{
  test_event (ensemble, HOST_OFF, "host off");
}

TEST (test_p39_process_stopped)
{
  test_event (ensemble, HOST_STOPPED, "process stopped");
}

TEST (test_p39_link_away)
{
  test_event (ensemble, HOST_LINK_AWAY, "link away");
}

SUITE ("P39", start, lab_stop_ensemble)
