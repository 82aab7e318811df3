/* fault_holder CONNECT PATH SESSION-MS TICK-MS LOCK PROCESS DIRECTORY
 *
 * A process that acquires a mutex and holds it until it is lost or SIGTERM arrives, and records its
 * beliefs. It writes to the resource while it holds the lock and again when it has lost it, as a
 * program does that checked its lease, was stopped, and resumed. */
#include "belief.h"
#include "resource.h"
#include "support/waiting.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define LOOK_US 1000

typedef struct
{
  Recorder *recorder;
  BeliefKeeper *keeper;
  Resource *resource;
  CuratorLock *lock;
  GCancellable *cancellable;
  RecordEvent event;
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

static gboolean
hold (Holder *holder, CuratorLease *lease)
{
  Belief *belief = belief_begin (holder->keeper, lease, &holder->event);
  g_autoptr (GError) error = NULL;
  note (holder, RECORD_ACQUIRE_RETURNED, belief != NULL ? RECORD_OK : RECORD_FAILED);
  holder->event.time_ns = 0;
  if (belief == NULL)
    {
      return FALSE;
    }
  write_both (holder);
  while (!belief_is_over (belief) && !g_cancellable_is_cancelled (holder->cancellable))
    {
      wait_ms (1);
    }
  const gboolean lost = belief_end (belief);
  if (lost)
    {
      write_both (holder);
    }
  note (holder, RECORD_RELEASE_CALLED, RECORD_OK);
  const gboolean confirmed = curator_lock_release (holder->lock, &error) && !lost;
  note (holder, RECORD_RELEASE_RETURNED, confirmed ? RECORD_OK : RECORD_PENDING);
  return TRUE;
}

static gboolean
run (Holder *holder)
{
  g_autoptr (GError) error = NULL;
  note (holder, RECORD_ACQUIRE_CALLED, RECORD_OK);
  if (!curator_lock_acquire (holder->lock, CURATOR_WAIT_FOREVER, holder->cancellable, &error))
    {
      const gboolean cancelled = g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
      note (holder, RECORD_ACQUIRE_RETURNED, cancelled ? RECORD_CANCELLED : RECORD_FAILED);
      g_printerr ("%s\n", error->message);
      return cancelled;
    }
  return hold (holder, curator_lock_get_lease (holder->lock));
}

static CuratorClient *
connect_client (const char *address, int session_ms, int tick_ms)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = curator_client_new (address, policy);
  curator_client_set_session_timeout (client, session_ms);
  curator_client_set_connection_timeout (client, session_ms);
  curator_client_set_server_tick (client, tick_ms);
  return client;
}

int
main (int argc, char **argv)
{
  if (argc != 8)
    {
      return 64;
    }
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
  holder.lock = curator_mutex_new (client, argv[2], &error);
  gboolean fine = holder.lock != NULL && curator_client_start (client, &error) && run (&holder);
  if (error != NULL)
    {
      g_printerr ("%s\n", error->message);
    }
  curator_client_close (client);
  curator_lock_unref (holder.lock);
  curator_client_unref (client);
  belief_keeper_free (holder.keeper);
  recorder_close (holder.recorder);
  resource_close (holder.resource);
  return fine ? 0 : 1;
}
