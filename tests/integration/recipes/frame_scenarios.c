/* Scenarios of the frame sweep. Policies retry forever and timeouts are long, so every call
 * succeeds whichever frame is lost. */
#include "frames.h"

#include "support/held_lease.h"

#include <string.h>

/* A failed requirement returns from the scenario; its variables release what they hold. */
#define require(run, condition)                                                                    \
  do                                                                                               \
    {                                                                                              \
      if (!holds ((run), (condition), #condition, __LINE__, NULL))                                 \
        return;                                                                                    \
    }                                                                                              \
  while (0)
#define require_ok(run, condition, error)                                                          \
  do                                                                                               \
    {                                                                                              \
      if (!holds ((run), (condition), #condition, __LINE__, &(error)))                             \
        return;                                                                                    \
    }                                                                                              \
  while (0)

#define SEVERAL 2

static gboolean
holds (FrameRun *run, gboolean condition, const char *text, int line, GError **error)
{
  if (!condition && run->fault->len == 0)
    {
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

typedef CuratorLock *(*LockNew) (CuratorClient *client, const char *path, GError **error);

static CuratorLock *
lock_at (FrameRun *run, CuratorClient *client, LockNew make, const char *name)
{
  g_autofree char *path = path_of (run, name);
  return make (client, path, NULL);
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
is_given_back (gboolean released, GError **error)
{
  if (!released && g_error_matches (*error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING))
    {
      g_clear_error (error);
      return TRUE;
    }
  return released;
}

static gboolean
give_back (Taking *taking)
{
  gboolean all = TRUE;
  for (guint i = 0; i < taking->leases->len; i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean released = curator_lease_release (g_ptr_array_index (taking->leases, i),
                                                 CURATOR_WAIT_DEFAULT, NULL, &error);
      all = is_given_back (released, &error) && all;
    }
  return all;
}

/* Held, re-entered, released level by level. */
static void
run_mutex (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = lock_at (run, run->client, curator_mutex_new, "lock");
  require_ok (run, curator_lock_acquire (lock, LONG_MS, NULL, &error), error);
  require (run, owns_node (run, held_lease (lock)));
  require_ok (run, curator_lock_acquire (lock, LONG_MS, NULL, &error), error);
  require_ok (
      run, is_given_back (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), &error),
      error);
  require (run, curator_lock_is_owned_by_current_thread (lock));
  require_ok (
      run, is_given_back (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), &error),
      error);
  require (run, !curator_lock_is_owned_by_current_thread (lock));
}

/* Our client waits behind the peer, then the peer behind us. */
static void
hand_over (FrameRun *run, CuratorLock *theirs, CuratorLock *ours, const char *queue)
{
  g_autoptr (Taking) first = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, first), first->error);
  const guint64 token = curator_lease_get_fencing_token (taking_lease (first, 0));
  g_autoptr (Taking) second = taking_start_lock (ours, LONG_MS, NULL);
  require (run, queue == NULL || wait_children (run, queue, 2));
  require (run, !taking_has_returned (second));
  require (run, give_back (first));
  require_ok (run, is_granted (run, second), second->error);
  require (run, curator_lease_get_fencing_token (taking_lease (second, 0)) > token);
  g_autoptr (Taking) third = taking_start_lock (theirs, LONG_MS, NULL);
  require (run, queue == NULL || wait_children (run, queue, 2));
  require (run, !taking_has_returned (third));
  require (run, give_back (second));
  require_ok (run, is_granted (run, third), third->error);
  require (run, give_back (third));
}

static void
run_hand_off (FrameRun *run)
{
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, curator_mutex_new, "lock");
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, curator_mutex_new, "lock");
  hand_over (run, theirs, ours, "lock");
}

static void
run_fixed_node (FrameRun *run)
{
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, curator_fixed_node_lock_new, "a/node");
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, curator_fixed_node_lock_new, "a/node");
  hand_over (run, theirs, ours, NULL);
}

static void
run_semaphore_mutex (FrameRun *run)
{
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, curator_semaphore_mutex_new, "lock");
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, curator_semaphore_mutex_new, "lock");
  hand_over (run, theirs, ours, "lock/leases");
}

/* Our client gives up behind the peer. */
static void
run_timeout (FrameRun *run)
{
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, curator_mutex_new, "lock");
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, curator_mutex_new, "lock");
  g_autoptr (Taking) holder = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, holder), holder->error);
  g_autoptr (Taking) waiter = taking_start_lock (ours, 1000, NULL);
  require (run, taking_wait (waiter, LONG_MS) && waiter->leases == NULL);
  require_ok (run, g_error_matches (waiter->error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT),
              waiter->error);
  require (run, wait_children (run, "lock", 1));
  require (run, give_back (holder));
}

static void
run_cancel (FrameRun *run)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, curator_mutex_new, "lock");
  g_autoptr (CuratorLock) ours = lock_at (run, run->client, curator_mutex_new, "lock");
  g_autoptr (Taking) holder = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, holder), holder->error);
  g_autoptr (Taking) waiter = taking_start_lock (ours, CURATOR_WAIT_FOREVER, cancellable);
  require (run, wait_children (run, "lock", 2));
  g_cancellable_cancel (cancellable);
  require (run, taking_wait (waiter, LONG_MS) && waiter->leases == NULL);
  require_ok (run, g_error_matches (waiter->error, G_IO_ERROR, G_IO_ERROR_CANCELLED),
              waiter->error);
  require (run, wait_children (run, "lock", 1));
  require (run, give_back (holder));
}

/* The peer holds one of max, our client acquires n as soon as that is released, then the peer
 * again. */
static void
take_leases (FrameRun *run, int max, int n)
{
  g_autofree char *path = path_of (run, "sem");
  g_autoptr (CuratorSemaphore) theirs = curator_semaphore_new (run->peer, path, max, NULL);
  g_autoptr (CuratorSemaphore) ours = curator_semaphore_new (run->client, path, max, NULL);
  g_autoptr (Taking) first = taking_start (theirs, 1, LONG_MS, NULL);
  require_ok (run, is_granted (run, first), first->error);
  g_autoptr (Taking) second = taking_start (ours, n, LONG_MS, NULL);
  require (run, wait_children (run, "sem/leases", max + 1));
  require (run, !taking_has_returned (second));
  require (run, give_back (first));
  require_ok (run, is_granted (run, second), second->error);
  require (run, second->leases->len == (guint) n && wait_children (run, "sem/leases", n));
  g_autoptr (Taking) third = taking_start (theirs, max, LONG_MS, NULL);
  require (run, give_back (second));
  require_ok (run, is_granted (run, third), third->error);
  require (run, third->leases->len == (guint) max && give_back (third));
}

static void
run_semaphore_1 (FrameRun *run)
{
  take_leases (run, 1, 1);
}

static void
run_semaphore_n (FrameRun *run)
{
  take_leases (run, SEVERAL, SEVERAL);
}

typedef struct
{
  CuratorRwLock *theirs;
  CuratorRwLock *ours;
} Pairs;

static void
pairs_clear (Pairs *pairs)
{
  curator_rw_lock_unref (pairs->theirs);
  curator_rw_lock_unref (pairs->ours);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Pairs, pairs_clear)

static Pairs
pairs_of (FrameRun *run)
{
  g_autofree char *path = path_of (run, "rw");
  return (Pairs){ curator_rw_lock_new (run->peer, path, NULL, 0, NULL),
                  curator_rw_lock_new (run->client, path, NULL, 0, NULL) };
}

static void
run_read (FrameRun *run)
{
  g_auto (Pairs) pairs = pairs_of (run);
  hand_over (run, curator_rw_lock_get_write_lock (pairs.theirs),
             curator_rw_lock_get_read_lock (pairs.ours), "rw");
}

static void
run_write (FrameRun *run)
{
  g_auto (Pairs) pairs = pairs_of (run);
  hand_over (run, curator_rw_lock_get_read_lock (pairs.theirs),
             curator_rw_lock_get_write_lock (pairs.ours), "rw");
}

/* Our client acquires the write lock, then the read lock, releases the write lock, while the peer's
 * writer waits. */
static void
run_downgrade (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_auto (Pairs) pairs = pairs_of (run);
  CuratorLock *read = curator_rw_lock_get_read_lock (pairs.ours);
  CuratorLock *write = curator_rw_lock_get_write_lock (pairs.ours);
  require_ok (run, curator_lock_acquire (write, LONG_MS, NULL, &error), error);
  g_autoptr (Taking) writer =
      taking_start_lock (curator_rw_lock_get_write_lock (pairs.theirs), LONG_MS, NULL);
  require_ok (run, curator_lock_acquire (read, LONG_MS, NULL, &error), error);
  require_ok (
      run, is_given_back (curator_lock_release (write, CURATOR_WAIT_DEFAULT, NULL, &error), &error),
      error);
  require (run, wait_children (run, "rw", 2));
  require (run, !taking_has_returned (writer) && owns_node (run, held_lease (read)));
  require_ok (
      run, is_given_back (curator_lock_release (read, CURATOR_WAIT_DEFAULT, NULL, &error), &error),
      error);
  require_ok (run, is_granted (run, writer), writer->error);
  require (run, give_back (writer));
}

static void
run_multi_lock (FrameRun *run)
{
  g_autoptr (GError) error G_GNUC_UNUSED = NULL;
  g_auto (Pairs) pairs = pairs_of (run);
  g_autoptr (CuratorLock) mutex = lock_at (run, run->client, curator_mutex_new, "lock");
  g_autoptr (CuratorLock) theirs = lock_at (run, run->peer, curator_semaphore_mutex_new, "sem");
  g_autoptr (CuratorLock) last = lock_at (run, run->client, curator_semaphore_mutex_new, "sem");
  CuratorLock *const members[] = { mutex, curator_rw_lock_get_write_lock (pairs.ours), last };
  g_autoptr (CuratorLock) all = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  g_autoptr (Taking) blocker = taking_start_lock (theirs, LONG_MS, NULL);
  require_ok (run, is_granted (run, blocker), blocker->error);
  g_autoptr (Taking) taking = taking_start_lock (all, LONG_MS, NULL);
  require (run, wait_children (run, "sem/leases", 2));
  require (run, !taking_has_returned (taking));
  require (run, give_back (blocker));
  require_ok (run, is_granted (run, taking), taking->error);
  require (run, give_back (taking));
}

static void
count_request (CuratorLock *lock, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

/* One holds, the other requests revocation; in both directions. */
static void
ask_back (FrameRun *run, CuratorClient *holder, CuratorClient *asker)
{
  g_autoptr (GError) error = NULL;
  int asked = 0;
  g_autoptr (CuratorLock) lock = lock_at (run, holder, curator_mutex_new, "lock");
  require (run, curator_lock_make_revocable (lock, count_request, &asked, NULL, NULL));
  g_autoptr (Taking) taking = taking_start_lock (lock, LONG_MS, NULL);
  require_ok (run, is_granted (run, taking), taking->error);
  const char *node = curator_lease_get_node_path (g_ptr_array_index (taking->leases, 0));
  gboolean written =
      curator_client_attempt_revoke (asker, node, CURATOR_WAIT_DEFAULT, NULL, &error);
  require_ok (run, written, error);
  gboolean told = holds_within (g_atomic_int_get (&asked) > 0, LONG_MS);
  gboolean cleared = curator_lock_make_revocable (lock, NULL, NULL, NULL, NULL);
  require (run, told && cleared);
  require (run, give_back (taking));
}

static void
run_revocation (FrameRun *run)
{
  ask_back (run, run->client, run->peer);
  ask_back (run, run->peer, run->client);
}

/* An unconditional set may be repeated; a conditional one must not be, and fails when its answer is
 * lost. */
static void
follow_count (FrameRun *run, CuratorSharedCount *theirs, CuratorSharedCount *ours)
{
  g_autoptr (GError) error = NULL;
  gint32 version = 0;
  gboolean set = FALSE;
  require_ok (run, curator_shared_count_start (ours, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  require_ok (run, curator_shared_count_start (theirs, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  require_ok (run, curator_shared_count_set (ours, 7, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  require (run, curator_shared_count_get_versioned (ours, NULL, &version));
  gboolean known =
      curator_shared_count_try_set (ours, version, 8, &set, CURATOR_WAIT_DEFAULT, NULL, &error);
  require_ok (run, known || g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST),
              error);
  require_ok (run, curator_shared_count_set (theirs, 9, CURATOR_WAIT_DEFAULT, NULL, &error), error);
  require (run, holds_within (curator_shared_count_get (ours) == 9, LONG_MS));
}

static void
run_shared_count (FrameRun *run)
{
  g_autofree char *path = path_of (run, "count");
  g_autoptr (CuratorSharedCount) theirs = curator_shared_count_new (run->peer, path, 3, NULL);
  g_autoptr (CuratorSharedCount) ours = curator_shared_count_new (run->client, path, 3, NULL);
  follow_count (run, theirs, ours);
  curator_shared_count_close (ours);
  curator_shared_count_close (theirs);
}

/* A selector that leads until it is told to return. A cut connection does not end that. */
typedef struct
{
  CuratorLeaderSelector *selector;
  gint entered;  /* how often its function was called */
  gint told;     /* how often it is to return */
  gint returned; /* how often it did */
  gint destroyed;
} Standing;

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer user_data)
{
  Standing *standing = user_data;
  g_atomic_int_inc (&standing->entered);
  (void) holds_within (g_atomic_int_get (&standing->told) > g_atomic_int_get (&standing->returned)
                           || g_cancellable_is_cancelled (cancellable),
                       10 * LONG_MS);
  g_atomic_int_inc (&standing->returned);
}

static void
on_destroyed (gpointer user_data)
{
  g_atomic_int_set (&((Standing *) user_data)->destroyed, 1);
}

static gboolean
has_entered (Standing *standing)
{
  return g_atomic_int_get (&standing->entered) > g_atomic_int_get (&standing->returned);
}

static void
standing_free (Standing *standing)
{
  curator_leader_selector_unref (standing->selector);
  if (holds_within (g_atomic_int_get (&standing->destroyed) == 1, LONG_MS))
    g_free (standing);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Standing, standing_free)

static Standing *
standing_new (FrameRun *run, CuratorClient *client, const char *id)
{
  g_autofree char *path = path_of (run, "selector");
  Standing *standing = g_new0 (Standing, 1);
  standing->selector =
      curator_leader_selector_new (client, path, lead, standing, on_destroyed, NULL);
  curator_leader_selector_set_id (standing->selector, id);
  curator_leader_selector_set_until_lost (standing->selector, TRUE);
  return standing;
}

/* Our client waits behind the peer, leads, and is closed while it leads and the peer waits. */
static void
run_selector (FrameRun *run)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Standing) theirs = standing_new (run, run->peer, "theirs");
  g_autoptr (Standing) ours = standing_new (run, run->client, "ours");
  require_ok (run, curator_leader_selector_start (theirs->selector, &error), error);
  require (run, holds_within (has_entered (theirs), LONG_MS));
  require_ok (run, curator_leader_selector_start (ours->selector, &error), error);
  require (run, wait_children (run, "selector", 2));
  require (run, !has_entered (ours));
  g_atomic_int_inc (&theirs->told);
  require (run, holds_within (has_entered (ours), LONG_MS));
  g_autoptr (CuratorLeaderParticipant) leader =
      curator_leader_selector_get_leader (ours->selector, LONG_MS, NULL, &error);
  require_ok (run, leader != NULL, error);
  require (run, g_str_equal (curator_leader_participant_get_id (leader), "ours"));
  require (run, curator_leader_selector_requeue (theirs->selector));
  require (run, wait_children (run, "selector", 2));
  require (run, !has_entered (theirs) && has_entered (ours));
  curator_leader_selector_close (ours->selector);
  require (run, holds_within (has_entered (theirs), LONG_MS));
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
  require_ok (run, curator_leader_latch_start (first, &error), error);
  require_ok (run, latch_leads (first, &error), error);
  require_ok (run, curator_leader_latch_start (ours, &error), error);
  require (run, wait_children (run, "latch", 2));
  require (run, !curator_leader_latch_has_leadership (ours));
  curator_leader_latch_close (first, CURATOR_LEADER_LATCH_SILENT);
  require_ok (run, latch_leads (ours, &error), error);
  g_autoptr (GPtrArray) participants =
      curator_leader_latch_get_participants (ours, LONG_MS, NULL, &error);
  require_ok (run, participants != NULL, error);
  require (run,
           participants->len == 1
               && g_str_equal (curator_leader_participant_get_id (participants->pdata[0]), "ours"));
  require_ok (run, curator_leader_latch_start (last, &error), error);
  require (run, wait_children (run, "latch", 2));
  require (run, !curator_leader_latch_has_leadership (last));
  curator_leader_latch_close (ours, CURATOR_LEADER_LATCH_SILENT);
  require_ok (run, latch_leads (last, &error), error);
}

const FrameScenario frame_scenarios[] = {
  { "mutex", run_mutex },
  { "hand-off", run_hand_off },
  { "timeout", run_timeout },
  { "cancel", run_cancel },
  { "semaphore, 1 of 1", run_semaphore_1 },
  { "semaphore, 2 of 2", run_semaphore_n },
  { "semaphore mutex", run_semaphore_mutex },
  { "read", run_read },
  { "write", run_write },
  { "downgrade", run_downgrade },
  { "multi-lock", run_multi_lock },
  { "revocation", run_revocation },
  { "shared count", run_shared_count },
  { "fixed node", run_fixed_node },
  { "leader selector", run_selector },
  { "leader latch", run_latch },
};
const gsize n_frame_scenarios = G_N_ELEMENTS (frame_scenarios);
