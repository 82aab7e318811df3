/* Scenarios of the frame sweep. Policies retry forever and timeouts are long, so every call
 * succeeds whichever frame is lost. */
#include "frames.h"

#include "integration/leaders/leading.h"
#include "support/held_lease.h"

#include <string.h>

/* A failed requirement returns from the scenario; its variables release what they hold. */
#define require(run, condition) require_ok (run, condition, NULL)
#define require_ok(run, condition, error)                                                          \
  do {                                                                                             \
    if (!holds ((run), (condition), #condition, __LINE__, (error)))                                \
      return;                                                                                      \
  } while (0)

static gboolean
holds (FrameRun *run, gboolean condition, const char *text, int line, GError **error)
{
  if (!condition && run->fault->len == 0) {
    g_string_printf (run->fault, "line %d: %s: %s", line, text,
                     error != NULL && *error != NULL ? (*error)->message : "no error");
  }
  if (error != NULL)
    g_clear_error (error);
  return condition;
}

static char *
path_of (FrameRun *run, const char *name)
{
  return g_strconcat (run->path, "/", name, NULL);
}

static gboolean
wait_children (FrameRun *run, const char *name, int n)
{
  g_autofree char *path = path_of (run, name);
  return raw_zk_wait_children (run->raw, path, n, LONG_MS);
}

static CuratorLock *
lock_at (FrameRun *run, CuratorClient *client, KindNew make, const char *name)
{
  g_autofree char *path = path_of (run, name);
  return make (client, path);
}

/* Its node is the one that was created in the lease's session, not an orphan's. */
static gboolean
owns_node (FrameRun *run, CuratorLease *lease)
{
  struct Stat stat = { 0 };
  raw_zk_get (run->raw, curator_lease_get_node_path (lease), NULL, &stat);
  return stat.ephemeralOwner == curator_lease_get_session_id (lease)
         && stat.czxid == (gint64) curator_lease_get_fencing_token (lease);
}

static gboolean
is_granted (FrameRun *run, Taking *taking)
{
  gboolean all = taking_wait (taking, LONG_MS) && taking->leases != NULL;
  for (guint i = 0; all && i < taking->leases->len; i++)
    all = owns_node (run, g_ptr_array_index (taking->leases, i));
  return all;
}

/* Confirmed, or left to the reaper: ownership has ended in both cases. */
static gboolean
is_given_back (gboolean released, const GError *error)
{
  return released || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING);
}

/* A thread's hold. */
static gboolean
is_released (CuratorLock *lock)
{
  g_autoptr (GError) error = NULL;
  const gboolean released = curator_lock_release (lock, LONG_MS, NULL, &error);
  return is_given_back (released, error);
}

static gboolean
give_back (Taking *taking)
{
  gboolean all = TRUE;
  for (guint i = 0; i < taking->leases->len; i++) {
    g_autoptr (GError) error = NULL;
    gboolean released =
        curator_lease_release (g_ptr_array_index (taking->leases, i), LONG_MS, NULL, &error);
    all = is_given_back (released, error) && all;
  }
  return all;
}

/* Held, re-entered, released level by level. */
static void
run_mutex (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = lock_at (run, run->client, mutex_new, "lock");
  require_ok (run, curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  require (run, owns_node (run, held_lease (lock)));
  require_ok (run, curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  require (run, is_released (lock));
  require (run, curator_lock_is_owned_by_current_thread (lock));
  require (run, is_released (lock));
  require (run, !curator_lock_is_owned_by_current_thread (lock));
}

/* Our client waits behind the peer, then the peer behind us. */
static void
run_hand_over (FrameRun *run)
{
  const FrameScenario *scenario = run->scenario;
  const char *queue = scenario->queue;
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, scenario->theirs, scenario->at);
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, scenario->ours, scenario->at);
  g_autoptr (Taking) first = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, first), &first->error);
  const guint64 token = curator_lease_get_fencing_token (taking_lease (first, 0));
  g_autoptr (Taking) second = taking_start_lock (ours, LONG_MS, NULL);
  require (run, queue == NULL || wait_children (run, queue, 2));
  require (run, !taking_has_returned (second));
  require (run, give_back (first));
  require_ok (run, is_granted (run, second), &second->error);
  require (run, curator_lease_get_fencing_token (taking_lease (second, 0)) > token);
  g_autoptr (Taking) third = taking_start_lock (theirs, LONG_MS, NULL);
  require (run, queue == NULL || wait_children (run, queue, 2));
  require (run, !taking_has_returned (third));
  require (run, give_back (second));
  require_ok (run, is_granted (run, third), &third->error);
  require (run, give_back (third));
}

/* Our client gives up behind the peer. */
static void
give_up (FrameRun *run, gint64 timeout_ms, GCancellable *cancellable)
{
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, mutex_new, "lock");
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, mutex_new, "lock");
  g_autoptr (Taking) holder = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, holder), &holder->error);
  g_autoptr (Taking) waiter = taking_start_lock (ours, timeout_ms, cancellable);
  if (cancellable != NULL) {
    require (run, wait_children (run, "lock", 2));
    g_cancellable_cancel (cancellable);
  }
  require (run, taking_wait (waiter, LONG_MS) && waiter->leases == NULL);
  if (cancellable != NULL)
    require_ok (run, g_error_matches (waiter->error, G_IO_ERROR, G_IO_ERROR_CANCELLED),
                &waiter->error);
  else
    /* On a busy machine it may not be connected again by then. */
    require_ok (run,
                g_error_matches (waiter->error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
                    || waiter->error->domain == CURATOR_CONNECT_ERROR,
                &waiter->error);
  require (run, wait_children (run, "lock", 1));
  require (run, give_back (holder));
}

static void
run_timeout (FrameRun *run)
{
  give_up (run, 3000, NULL); /* longer than a busy machine waits for the first answer */
}

static void
run_cancel (FrameRun *run)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  give_up (run, CURATOR_WAIT_FOREVER, cancellable);
}

/* The peer holds one of n, our client acquires all as soon as that is released, then the peer. */
static void
run_semaphore (FrameRun *run)
{
  const int n = run->scenario->n;
  g_autofree char *path = path_of (run, "sem");
  g_autoptr (CuratorSemaphore) theirs = semaphore_new (run->peer, path, n);
  g_autoptr (CuratorSemaphore) ours = semaphore_new (run->client, path, n);
  g_autoptr (Taking) first = taking_start (theirs, 1, LONG_MS, NULL);
  require_ok (run, is_granted (run, first), &first->error);
  g_autoptr (Taking) second = taking_start (ours, n, LONG_MS, NULL);
  require (run, wait_children (run, "sem/leases", n + 1));
  require (run, !taking_has_returned (second));
  require (run, give_back (first));
  require_ok (run, is_granted (run, second), &second->error);
  require (run, second->leases->len == (guint) n && wait_children (run, "sem/leases", n));
  g_autoptr (Taking) third = taking_start (theirs, n, LONG_MS, NULL);
  require (run, give_back (second));
  require_ok (run, is_granted (run, third), &third->error);
  require (run, third->leases->len == (guint) n && give_back (third));
}

/* Our client acquires the write lock, then the read lock, releases the write lock, while the peer's
 * writer waits. */
static void
run_downgrade (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = path_of (run, "rw");
  g_autoptr (CuratorRwLock) ours = rw_lock_new (run->client, path);
  g_autoptr (CuratorLock) theirs = writer_new (run->peer, path);
  CuratorLock *read = curator_rw_lock_get_read_lock (ours);
  CuratorLock *write = curator_rw_lock_get_write_lock (ours);
  require_ok (run, curator_lock_acquire (write, LONG_MS, NULL, &error), &error);
  g_autoptr (Taking) writer = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, curator_lock_acquire (read, LONG_MS, NULL, &error), &error);
  require (run, is_released (write));
  require (run, wait_children (run, "rw", 2));
  require (run, !taking_has_returned (writer) && owns_node (run, held_lease (read)));
  require (run, is_released (read));
  require_ok (run, is_granted (run, writer), &writer->error);
  require (run, give_back (writer));
}

static void
run_multi_lock (FrameRun *run)
{
  g_autoptr (CuratorLock) writer = lock_at (run, run->client, writer_new, "rw");
  g_autoptr (CuratorLock) mutex = lock_at (run, run->client, mutex_new, "lock");
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, semaphore_mutex_new, "sem");
  g_autoptr (CuratorLock) last = lock_at (run, run->client, semaphore_mutex_new, "sem");
  CuratorLock *const members[] = { mutex, writer, last };
  g_autoptr (CuratorLock) all = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  g_autoptr (Taking) blocker = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, blocker), &blocker->error);
  g_autoptr (Taking) taking = taking_start_lock (all, LONG_MS, NULL);
  require (run, wait_children (run, "sem/leases", 2));
  require (run, !taking_has_returned (taking));
  require (run, give_back (blocker));
  require_ok (run, is_granted (run, taking), &taking->error);
  require (run, give_back (taking));
}

static void
count_request (CuratorLock *lock, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

/* One holds, the other requests revocation; in both directions. */
static void
ask_and_hear (FrameRun *run, CuratorClient *holder, CuratorClient *asker)
{
  g_autoptr (GError) error = NULL;
  int asked = 0;
  g_autoptr (CuratorLock) lock = lock_at (run, holder, mutex_new, "lock");
  require (run, curator_lock_make_revocable (lock, count_request, &asked, NULL, NULL));
  g_autoptr (Taking) taking = taking_start_lock (lock, LONG_MS, NULL);
  require_ok (run, is_granted (run, taking), &taking->error);
  const char *node = curator_lease_get_node_path (g_ptr_array_index (taking->leases, 0));
  require_ok (run, curator_client_attempt_revoke (asker, node, LONG_MS, NULL, &error), &error);
  gboolean told = holds_within (g_atomic_int_get (&asked) > 0, LONG_MS);
  gboolean cleared = curator_lock_make_revocable (lock, NULL, NULL, NULL, NULL);
  require (run, told && cleared);
  require (run, give_back (taking));
}

static void
run_revocation (FrameRun *run)
{
  ask_and_hear (run, run->client, run->peer);
  ask_and_hear (run, run->peer, run->client);
}

/* An unconditional set may be repeated; a conditional one must not be, and fails when its answer is
 * lost. */
static void
run_shared_count (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  gint32 version = 0;
  gboolean set = FALSE;
  g_autofree char *path = path_of (run, "count");
  g_autoptr (CuratorSharedCount) theirs = curator_shared_count_new (run->peer, path, 3, NULL);
  g_autoptr (CuratorSharedCount) ours = curator_shared_count_new (run->client, path, 3, NULL);
  require_ok (run, curator_shared_count_start (ours, LONG_MS, NULL, &error), &error);
  require_ok (run, curator_shared_count_start (theirs, LONG_MS, NULL, &error), &error);
  require_ok (run, curator_shared_count_set (ours, 7, LONG_MS, NULL, &error), &error);
  require (run, curator_shared_count_get_versioned (ours, NULL, &version));
  gboolean known = curator_shared_count_try_set (ours, version, 8, &set, LONG_MS, NULL, &error);
  require_ok (run, known || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST),
              &error);
  require_ok (run, curator_shared_count_set (theirs, 9, LONG_MS, NULL, &error), &error);
  require (run, holds_within (curator_shared_count_get (ours) == 9, LONG_MS));
}

/* A selector that leads until it is told to return. A cut connection does not end that. */
static Leading *
standing_new (FrameRun *run, CuratorClient *client, const char *id)
{
  g_autofree char *path = path_of (run, "selector");
  Leading *leading = leading_new (client, path, id, NULL);
  curator_leader_selector_set_until_lost (leading->selector, TRUE);
  return leading;
}

/* Our client waits behind the peer, leads, and is closed while it leads and the peer waits. */
static void
run_selector (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Leading) theirs = standing_new (run, run->peer, "theirs");
  g_autoptr (Leading) ours = standing_new (run, run->client, "ours");
  require_ok (run, curator_leader_selector_start (theirs->selector, &error), &error);
  require (run, holds_within (leading_is_inside (theirs), LONG_MS));
  require_ok (run, curator_leader_selector_start (ours->selector, &error), &error);
  require (run, wait_children (run, "selector", 2));
  require (run, !leading_is_inside (ours));
  g_atomic_int_set (&theirs->told, TRUE);
  require (run, holds_within (leading_is_inside (ours), LONG_MS));
  g_autoptr (CuratorLeaderParticipant) leader =
      curator_leader_selector_get_leader (ours->selector, LONG_MS, NULL, &error);
  require_ok (run, leader != NULL, &error);
  require (run, g_str_equal (curator_leader_participant_get_id (leader), "ours"));
  require (run, holds_within (curator_leader_selector_requeue (theirs->selector), LONG_MS));
  require (run, wait_children (run, "selector", 2));
  require (run, !leading_is_inside (theirs) && leading_is_inside (ours));
  curator_leader_selector_close (ours->selector);
  require (run, holds_within (leading_is_inside (theirs), LONG_MS));
}

static CuratorLeaderLatch *
latch_of (FrameRun *run, CuratorClient *client, const char *id)
{
  g_autofree char *path = path_of (run, "latch");
  CuratorLeaderLatch *latch = curator_leader_latch_new (client, path, id, NULL);
  curator_leader_latch_set_until_lost (latch, TRUE);
  return latch;
}

static gboolean
latch_leads (CuratorLeaderLatch *latch, GError **error)
{
  return curator_leader_latch_await (latch, LONG_MS, NULL, error);
}

static void
run_latch (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLeaderLatch) first = latch_of (run, run->peer, "first");
  g_autoptr (CuratorLeaderLatch) ours = latch_of (run, run->client, "ours");
  g_autoptr (CuratorLeaderLatch) last = latch_of (run, run->peer, "last");
  require_ok (run, curator_leader_latch_start (first, &error), &error);
  require_ok (run, latch_leads (first, &error), &error);
  require_ok (run, curator_leader_latch_start (ours, &error), &error);
  require (run, wait_children (run, "latch", 2));
  require (run, !curator_leader_latch_has_leadership (ours));
  curator_leader_latch_close (first, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  require_ok (run, latch_leads (ours, &error), &error);
  g_autoptr (GPtrArray) participants =
      curator_leader_latch_get_participants (ours, LONG_MS, NULL, &error);
  require_ok (run, participants != NULL, &error);
  require (run,
           participants->len == 1
               && g_str_equal (curator_leader_participant_get_id (participants->pdata[0]), "ours"));
  require_ok (run, curator_leader_latch_start (last, &error), &error);
  require (run, wait_children (run, "latch", 2));
  require (run, !curator_leader_latch_has_leadership (last));
  curator_leader_latch_close (ours, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  require_ok (run, latch_leads (last, &error), &error);
}

const FrameScenario frame_scenarios[] = {
  { "mutex", run_mutex },
  { "hand-off", run_hand_over, mutex_new, mutex_new, "lock", "lock" },
  { "timeout", run_timeout },
  { "cancel", run_cancel },
  { "semaphore, 1 of 1", run_semaphore, .n = 1 },
  { "semaphore, 2 of 2", run_semaphore, .n = 2 },
  { "semaphore mutex", run_hand_over, semaphore_mutex_new, semaphore_mutex_new, "lock",
    "lock/leases" },
  { "read", run_hand_over, reader_new, writer_new, "rw", "rw" },
  { "write", run_hand_over, writer_new, reader_new, "rw", "rw" },
  { "downgrade", run_downgrade },
  { "multi-lock", run_multi_lock },
  { "revocation", run_revocation },
  { "shared count", run_shared_count },
  { "fixed node", run_hand_over, fixed_node_new, fixed_node_new, "a/node", NULL },
  { "leader selector", run_selector },
  { "leader latch", run_latch },
};
const gsize n_frame_scenarios = G_N_ELEMENTS (frame_scenarios);
