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

typedef struct
{
  Recorder *recorder;
  BeliefKeeper *keeper;
  Resource *resource;
  CuratorLock *lock; /* one of the three */
  CuratorLeaderSelector *selector;
  CuratorLeaderLatch *latch;
  GCancellable *cancellable;
  gint returned; /* atomic: the selector's function has, or cannot be called any more */
  RecordEvent event;
  gboolean tried; /* the result has been recorded */
  gboolean failed;
} Holder;

static void *
wait_for_term (void *data)
{
  sigset_t term;
  int signal_number = 0;
  sigemptyset (&term);
  sigaddset (&term, SIGTERM);
  sigwait (&term, &signal_number);
  g_cancellable_cancel (data);
  return NULL;
}

static void
note (Holder *holder, RecordOp op, RecordResult result)
{
  RecordEvent event = holder->event;
  event.op = (guint8) op;
  event.result = (guint8) result;
  recorder_add (holder->recorder, event);
}

static void
write_both (Holder *holder)
{
  resource_write (holder->resource, holder->event.lock, holder->event.token);
  resource_write_unfenced (holder->resource, holder->event.lock, holder->event.token);
}

/* Whether a leader still says that it leads. */
static gboolean
leads (const Holder *holder)
{
  return (holder->selector != NULL && curator_leader_selector_has_leadership (holder->selector))
         || (holder->latch != NULL && curator_leader_latch_has_leadership (holder->latch));
}

static gint was_told; /* atomic: that it does not lead any more */

static gboolean
has_been_told (gpointer data)
{
  return g_atomic_int_get (&was_told);
}

/* Of a leader the release is never confirmed. */
static gboolean
give_back (Holder *holder, gboolean lost)
{
  g_autoptr (GError) error = NULL;
  if (holder->latch != NULL)
    {
      /* Its listener runs on another thread, and does not run any more after this close. */
      if (lost)
        wait_until (has_been_told, NULL, NOTIFY_MS);
      curator_leader_latch_close (holder->latch, CURATOR_LEADER_LATCH_SILENT);
    }
  return holder->lock != NULL
         && curator_lock_release (holder->lock, CURATOR_WAIT_DEFAULT, NULL, &error);
}

static gboolean
hold (Holder *holder, CuratorLease *lease)
{
  Belief *belief = belief_begin (holder->keeper, lease, &holder->event);
  holder->tried = TRUE;
  note (holder, RECORD_ACQUIRE_RETURNED, belief != NULL ? RECORD_OK : RECORD_FAILED);
  holder->event.time_ns = 0;
  if (belief == NULL)
    return FALSE;
  write_both (holder);
  while (!belief_is_over (belief) && !g_cancellable_is_cancelled (holder->cancellable))
    wait_ms (1);
  const gboolean lost = belief_end (belief);
  const gboolean leads_on = lost && leads (holder);
  if (leads_on)
    g_printerr ("it says that it leads, although its lease has run out\n");
  if (lost)
    write_both (holder);
  note (holder, RECORD_RELEASE_CALLED, RECORD_OK);
  const gboolean confirmed = give_back (holder, lost) && !lost;
  note (holder, RECORD_RELEASE_RETURNED, confirmed ? RECORD_OK : RECORD_PENDING);
  return !leads_on;
}

static void
print_told (void)
{
  g_print ("TOLD %" G_GINT64_FORMAT "\n", wait_now_ns ());
  g_atomic_int_set (&was_told, TRUE);
}

static void
on_cancelled (GCancellable *cancellable, gpointer data)
{
  print_told ();
}

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer user_data)
{
  Holder *holder = user_data;
  g_cancellable_connect (cancellable, G_CALLBACK (on_cancelled), NULL, NULL);
  holder->failed = !hold (holder, lease);
  g_atomic_int_set (&holder->returned, TRUE);
}

static void
on_destroyed (gpointer user_data)
{
  g_atomic_int_set (&((Holder *) user_data)->returned, TRUE);
}

static gboolean
has_returned (const Holder *holder)
{
  return g_atomic_int_get (&holder->returned);
}

static gboolean
run_selector (Holder *holder, CuratorClient *client, const char *path)
{
  CuratorLeaderSelector *selector =
      curator_leader_selector_new (client, path, lead, holder, on_destroyed, NULL);
  holder->selector = selector;
  note (holder, RECORD_ACQUIRE_CALLED, RECORD_OK);
  gboolean fine = curator_leader_selector_start (selector, NULL);
  while (!g_cancellable_is_cancelled (holder->cancellable) && !has_returned (holder))
    wait_ms (1);
  curator_leader_selector_unref (selector);
  while (!has_returned (holder))
    wait_ms (1);
  if (!holder->tried)
    note (holder, RECORD_ACQUIRE_RETURNED, RECORD_CANCELLED);
  return fine && !holder->failed;
}

static void
on_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer user_data)
{
  if (!is_leader)
    print_told ();
}

static gboolean
run_latch (Holder *holder, CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLeaderLatch) latch = curator_leader_latch_new (client, path, NULL, NULL);
  g_autoptr (CuratorLease) lease = NULL;
  holder->latch = latch;
  curator_leader_latch_add_listener (latch, on_change, NULL, NULL);
  note (holder, RECORD_ACQUIRE_CALLED, RECORD_OK);
  gboolean fine = curator_leader_latch_start (latch, &error);
  while (lease == NULL && fine)
    {
      fine = curator_leader_latch_await (latch, CURATOR_WAIT_FOREVER, holder->cancellable, &error);
      lease = curator_leader_latch_dup_lease (latch);
    }
  if (lease != NULL)
    return hold (holder, lease);
  note (holder, RECORD_ACQUIRE_RETURNED, RECORD_CANCELLED);
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static gboolean
run_mutex (Holder *holder, CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, path, NULL);
  holder->lock = lock;
  note (holder, RECORD_ACQUIRE_CALLED, RECORD_OK);
  if (!curator_lock_acquire (holder->lock, CURATOR_WAIT_FOREVER, holder->cancellable, &error))
    {
      const gboolean cancelled = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      note (holder, RECORD_ACQUIRE_RETURNED, cancelled ? RECORD_CANCELLED : RECORD_FAILED);
      g_printerr ("%s\n", error->message);
      return cancelled;
    }
  return hold (holder, held_lease (holder->lock));
}

static gboolean
run (Holder *holder, CuratorClient *client, const char *path, const char *recipe)
{
  return strcmp (recipe, "selector") == 0 ? run_selector (holder, client, path)
         : strcmp (recipe, "latch") == 0  ? run_latch (holder, client, path)
                                          : run_mutex (holder, client, path);
}

static CuratorClient *
connect_client (const char *address, int session_ms, int tick_ms)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = security_client_new (address, policy);
  curator_client_set_session_timeout (client, session_ms);
  curator_client_set_connection_timeout (client, session_ms);
  curator_client_set_server_tick (client, tick_ms);
  return client;
}

int
main (int argc, char **argv)
{
  if (argc != 9)
    return 64;
  sigset_t term;
  sigemptyset (&term);
  sigaddset (&term, SIGTERM);
  pthread_sigmask (SIG_BLOCK, &term, NULL); /* before any other thread exists */
  const int process = atoi (argv[6]);
  static Holder holder;
  holder = (Holder){ .recorder = recorder_open (argv[7], process, 1, 64),
                     .keeper = belief_keeper_new (argv[7], process, LOOK_US, 4096),
                     .resource = resource_open (argv[7]),
                     .cancellable = g_cancellable_new (),
                     .event = { .lock = (guint32) atoi (argv[5]),
                                .kind = RECORD_MUTEX,
                                .timeout_ms = -1,
                                .permits = 1,
                                .limit = 1 } };
  pthread_t terminator;
  g_autoptr (GError) error = NULL;
  pthread_create (&terminator, NULL, wait_for_term, holder.cancellable);
  pthread_detach (terminator);

  CuratorClient *client = connect_client (argv[1], atoi (argv[3]), atoi (argv[4]));
  const gboolean fine =
      curator_client_start (client, &error) && run (&holder, client, argv[2], argv[8]);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  curator_client_close (client);
  curator_client_unref (client);
  belief_keeper_free (holder.keeper);
  recorder_close (holder.recorder);
  resource_close (holder.resource);
  return fine ? 0 : 1;
}
