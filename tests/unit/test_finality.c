/* A hold that somebody has seen end stays over, however close to its deadline the next proof comes.
 *
 * Threads ask a lease all the time, while proofs arrive a moment before and after its deadline.
 * Then one thread does the same by a clock of the test's own. The sessions have no servers: the
 * test notes the proofs.
 */
#include "client/session_states.h"
#include "core/client-record.h"
#include "core/monitor.h"
#include "lock/lease-impl.h"
#include "session/lease_clock.h"
#include "unit.h"

#include "curator/curator.h"

#include <curator/lock_internals.h>

#include <time.h>

#define SESSION_MS 8
#define N_ROUNDS   400
#define N_ASKERS   2
/* A proof arrives up to so long before or after the deadline. */
#define AROUND_US 60
#define TRIP_US   50

static CuratorLease *asked;  /* atomic; of this round */
static gint over;            /* atomic: no round follows */
static gint n_seen_end;      /* atomic */
static gint n_back_from_end; /* atomic */

static gint64 shown_us; /* by a clock of the test's own; 0: by the machine's */
static CuratorSession *session;
static CuratorLockInternals *internals;

static gint64
time_us (CuratorZkOps *ops)
{
  struct timespec now;
  clock_gettime (CLOCK_BOOTTIME, &now);
  return shown_us != 0 ? shown_us : (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static void
wake (CuratorZkOps *ops, pthread_cond_t *cond)
{
}

static void
random_bytes (CuratorZkOps *ops, guint8 *bytes, gsize length)
{
  memset (bytes, 7, length);
}

static gboolean
is_over (CuratorLease *lease)
{
  const CuratorLeaseState state = curator_lease_get_state (lease);
  return state == CURATOR_LEASE_STATE_LOST || state == CURATOR_LEASE_STATE_RELEASED;
}

/* Asks one lease until the round ends. */
static void
ask (CuratorLease *lease, guint first)
{
  gboolean ended = FALSE;

  for (guint i = first; g_atomic_pointer_get (&asked) == lease; i++) {
    const gboolean ends =
        i % 2 == 0 ? curator_lease_get_remaining_ms (lease) == 0 : is_over (lease);
    if (ended && !ends)
      g_atomic_int_inc (&n_back_from_end);
    if (ends && !ended)
      g_atomic_int_inc (&n_seen_end);
    ended = ended || ends;
  }
}

static gpointer
asker (gpointer first)
{
  while (!g_atomic_int_get (&over)) {
    CuratorLease *lease = g_atomic_pointer_get (&asked);
    if (lease != NULL)
      ask (lease, GPOINTER_TO_UINT (first));
  }
  return NULL;
}

/* A quorum has answered just now, and the leader knows of the session. */
static CURATOR_UNLOCKED void
prove (void)
{
  curator_client_lock (session->client);
  const gint64 sent_us = curator_client_boottime_us (session->client) - TRIP_US;
  curator_lease_note_leader (&session->clock.evidence, sent_us);
  curator_lease_clock_note_proof (session, sent_us, sent_us + TRIP_US);
  curator_client_unlock (session->client);
}

static CURATOR_UNLOCKED CuratorLease *
grant (void)
{
  CuratorStake stake = { 0 };
  CuratorQueueSlot slot = { 0 };
  const CuratorLeaseNode node = { .path = g_strdup ("/finality/node"),
                                  .czxid = 1,
                                  .name_is_unique = TRUE,
                                  .is_ephemeral = TRUE,
                                  .stake = &stake,
                                  .slot = &slot };
  prove ();
  curator_client_lock (session->client);
  CuratorLease *lease = curator_lease_new (session, internals, &node);
  curator_client_unlock (session->client);
  return lease;
}

/* Proofs around each deadline, until one comes too late; and then some more. */
static void
play_round (CuratorLease *lease, GRand *rand)
{
  g_atomic_pointer_set (&asked, lease);
  while (!is_over (lease)) {
    const gint64 moment =
        atomic_load (&session->clock.deadline_us) + g_rand_int_range (rand, -AROUND_US, AROUND_US);
    while (time_us (NULL) < moment) {
    }
    prove ();
  }
  for (int i = 0; i < 20; i++)
    prove ();
}

/* Nothing closes it, and nobody frees its client. */
static int
open_session (void **state)
{
  static CuratorZkOps ops = { .clocks.boottime_us = time_us,
                              .clocks.monotonic_us = time_us,
                              .random = random_bytes,
                              .wake = wake };
  CuratorClient *client = curator_client_new_with_ops ("127.0.0.1:1", NULL, &ops);

  curator_client_lock (client);
  curator_session_open (client);
  session = client->session;
  session->ever_connected = TRUE;
  session->state = CURATOR_SESSION_CONNECTED;
  curator_lease_clock_set_timeout (session, SESSION_MS);
  curator_client_unlock (client);
  internals = curator_lock_internals_new (client, "/finality", "/finality", "lock-", 1, NULL);
  return 0;
}

TEST (test_end_is_final)
{
  g_autoptr (GRand) rand = unit_rand_new ("test_end_is_final");
  GThread *threads[N_ASKERS];
  /* They live until nobody asks any more. */
  g_autoptr (GPtrArray) leases =
      g_ptr_array_new_with_free_func ((GDestroyNotify) curator_lease_unref);

  for (guint i = 0; i < N_ASKERS; i++)
    threads[i] = g_thread_new ("asker", asker, GUINT_TO_POINTER (i));
  for (int i = 0; i < N_ROUNDS; i++) {
    g_ptr_array_add (leases, grant ());
    play_round (g_ptr_array_index (leases, i), rand);
  }
  g_atomic_int_set (&over, TRUE);
  g_atomic_pointer_set (&asked, NULL);
  for (int i = 0; i < N_ASKERS; i++)
    g_thread_join (threads[i]);
  print_message ("%d ends seen\n", n_seen_end);
  assert_true (n_seen_end > N_ROUNDS / 10);
  assert_int_equal (n_back_from_end, 0);
}

/* Whoever asks is told the end from one millisecond before the deadline on. */
static void
check_end (gint64 left_us)
{
  g_autoptr (CuratorLease) lease = grant ();

  shown_us = atomic_load (&session->clock.deadline_us) - left_us;
  const gboolean ended = curator_lease_get_remaining_ms (lease) == 0;
  assert_int_equal (ended, left_us < 1000);
  prove ();
  assert_int_equal (is_over (lease), ended);
  if (!ended) {
    shown_us = atomic_load (&session->clock.deadline_us);
    prove ();
    assert_true (is_over (lease));
  }
  assert_int_equal (curator_lease_get_remaining_ms (lease), 0);
}

/* Without any threads: a proof comes after somebody has seen the end, and before the deadline. */
TEST (test_end_is_final_before_the_deadline)
{
  static const gint64 left_us[] = { 1001, 1000, 999, 500, 1, 0, -1, -1000 };

  shown_us = time_us (NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (left_us); i++)
    check_end (left_us[i]);
}

int
main (void)
{
  g_log_set_writer_func (unit_swallow_warnings, NULL, NULL);
  return suite_run ("finality", open_session, NULL);
}
