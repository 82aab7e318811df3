/* fault_holder CONNECT PATH SESSION-MS TICK-MS LOCK PROCESS DIRECTORY mutex|selector|latch
 *
 * A process that acquires a mutex, or leads, and holds it until it is lost or SIGTERM arrives, and
 * records its beliefs. It writes to the resource while it holds the lock and again when it has lost
 * it, as a program does that checked its lease, was stopped, and resumed. A leader prints "TOLD"
 * and the time when it is told to stop. */
#include "belief.h"
#include "resource.h"
#include "security.h"
#include "support/held_lease.h"
#include "support/waiting.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US   1000
#define NOTIFY_MS 10000

static Recorder *recorder;
static BeliefKeeper *keeper;
static Resource *resource;
static CuratorLock *lock; /* one of the three */
static CuratorLeaderSelector *selector;
static CuratorLeaderLatch *latch;
static GCancellable *terminated;
static RecordEvent event = { .kind = RECORD_MUTEX, .timeout_ms = -1, .permits = 1, .limit = 1 };
static gboolean tried; /* the result has been recorded */
static gboolean failed;
static gint returned; /* atomic: the selector's function has, or cannot be called any more */
static gint was_told; /* atomic: a leader, that it does not lead any more */

static void *
wait_for_term (void *term)
{
  int signal_number = 0;
  sigwait (term, &signal_number);
  g_cancellable_cancel (terminated);
  return NULL;
}

static void
note (RecordOp op, RecordResult result)
{
  belief_note (recorder, event, op, result);
}

/* Whether a leader still says that it leads. */
static gboolean
leads (void)
{
  return (selector != NULL && curator_leader_selector_has_leadership (selector))
         || (latch != NULL && curator_leader_latch_has_leadership (latch));
}

/* Of a leader the release is never confirmed. */
static gboolean
give_back (gboolean lost)
{
  if (latch != NULL) {
    /* Its listener runs on another thread, and does not run any more after this close. */
    for (int ms = 0; lost && !g_atomic_int_get (&was_told) && ms < NOTIFY_MS; ms++)
      wait_ms (1);
    curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
  }
  return lock != NULL && curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static gboolean
hold (CuratorLease *lease)
{
  Belief *belief = belief_begin (keeper, lease, &event);
  tried = TRUE;
  note (RECORD_ACQUIRE_RETURNED, belief != NULL ? RECORD_OK : RECORD_FAILED);
  event.time_ns = 0;
  if (belief == NULL)
    return FALSE;
  resource_write (resource, event.lock, event.token);
  while (belief_look (belief, NULL) && !g_cancellable_is_cancelled (terminated))
    wait_ms (1);
  const gboolean lost = belief_end (belief, &event.time_ns);
  const gboolean leads_on = lost && leads ();
  if (leads_on)
    g_printerr ("it says that it leads, although its lease has run out\n");
  if (lost)
    resource_write (resource, event.lock, event.token);
  note (RECORD_RELEASE_CALLED, RECORD_OK);
  event.time_ns = 0;
  const gboolean confirmed = give_back (lost) && !lost;
  note (RECORD_RELEASE_RETURNED, confirmed ? RECORD_OK : RECORD_PENDING);
  return !leads_on;
}

static void
tell (void)
{
  g_print ("TOLD %" G_GINT64_FORMAT "\n", wait_now_ns ());
  g_atomic_int_set (&was_told, TRUE);
}

static void
on_cancelled (GCancellable *cancellable, gpointer data)
{
  tell ();
}

static void
lead (CuratorLeaderSelector *of, CuratorLease *lease, GCancellable *cancellable, gpointer data)
{
  g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), NULL, NULL);
  failed = !hold (lease);
  g_atomic_int_set (&returned, TRUE);
}

static void
on_destroyed (gpointer data)
{
  g_atomic_int_set (&returned, TRUE);
}

static gboolean
run_selector (CuratorClient *client, const char *path, GError **error)
{
  selector = curator_leader_selector_new (client, path, lead, NULL, on_destroyed, error);
  const gboolean started = curator_leader_selector_start (selector, error);
  while (!g_cancellable_is_cancelled (terminated) && !g_atomic_int_get (&returned))
    wait_ms (1);
  curator_leader_selector_unref (selector);
  while (!g_atomic_int_get (&returned))
    wait_ms (1);
  return started && !failed;
}

static void
on_change (CuratorLeaderLatch *of, gboolean is_leader, gpointer data)
{
  if (!is_leader)
    tell ();
}

static gboolean
run_latch (CuratorClient *client, const char *path, GError **error)
{
  latch = curator_leader_latch_new (client, path, NULL, NULL);
  curator_leader_latch_add_listener (latch, on_change, NULL, NULL);
  g_autoptr (CuratorLease) lease = NULL;
  gboolean fine = curator_leader_latch_start (latch, error);
  while (lease == NULL && fine) {
    fine = curator_leader_latch_await (latch, CURATOR_WAIT_FOREVER, terminated, error);
    lease = curator_leader_latch_dup_lease (latch);
  }
  fine = lease != NULL && hold (lease);
  curator_leader_latch_unref (latch);
  return fine;
}

static gboolean
run_mutex (CuratorClient *client, const char *path, GError **error)
{
  lock = curator_mutex_new (client, path, NULL);
  const gboolean held = curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, terminated, error)
                        && hold (held_lease (lock));
  curator_lock_unref (lock);
  return held;
}

/* TRUE, too, if it was ended before it got the lock. */
static gboolean
run (CuratorClient *client, const char *path, const char *recipe, GError **error)
{
  if (!curator_client_start (client, error))
    return FALSE;
  note (RECORD_ACQUIRE_CALLED, RECORD_OK);
  const gboolean fine = strcmp (recipe, "selector") == 0 ? run_selector (client, path, error)
                        : strcmp (recipe, "latch") == 0  ? run_latch (client, path, error)
                                                         : run_mutex (client, path, error);
  if (tried)
    return fine;
  const gboolean cancelled = g_cancellable_is_cancelled (terminated);
  note (RECORD_ACQUIRE_RETURNED, cancelled ? RECORD_CANCELLED : RECORD_FAILED);
  return cancelled;
}

int
main (int argc, char **argv)
{
  if (argc != 9)
    return 64;
  static sigset_t term;
  sigemptyset (&term);
  sigaddset (&term, SIGTERM);
  pthread_sigmask (SIG_BLOCK, &term, NULL); /* before any other thread exists */
  const int process = atoi (argv[6]);
  recorder = recorder_open (argv[7], process, 1, 64);
  keeper = belief_keeper_new (argv[7], process, LOOK_US, 4096);
  resource = resource_open (argv[7]);
  terminated = g_cancellable_new ();
  event.lock = (guint32) atoi (argv[5]);
  pthread_t terminator;
  pthread_create (&terminator, NULL, wait_for_term, &term);
  pthread_detach (terminator);

  g_autoptr (GError) error = NULL;
  CuratorClient *client = security_client_for (argv[1], atoi (argv[3]), atoi (argv[4]));
  const gboolean fine = run (client, argv[2], argv[8], &error);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  curator_client_close (client);
  curator_client_unref (client);
  belief_keeper_free (keeper);
  recorder_close (recorder);
  return fine ? 0 : 1;
}
