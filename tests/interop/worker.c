#include "worker.h"

#include "interop.h"
#include "support/recorder.h"
#include "support/waiting.h"

#include <curator/curator.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct
{
  CuratorLock *lock;
  Recorder *recorder;
  int acquisitions;
  int hold_ms;
  gboolean failed;
} Turn;

static void
note (Turn *turn, RecordOp op, RecordResult result, CuratorLease *lease)
{
  RecordEvent event = { .op = (guint8) op,
                        .result = (guint8) result,
                        .kind = RECORD_MUTEX,
                        .lock = INTEROP_LOCK,
                        .timeout_ms = -1,
                        .permits = 1,
                        .limit = 1 };
  if (lease != NULL)
    {
      event.token = curator_lease_get_fencing_token (lease);
      event.session = curator_lease_get_session_id (lease);
    }
  recorder_add (turn->recorder, event);
}

static gboolean
take_turn (Turn *turn)
{
  g_autoptr (GError) error = NULL;
  note (turn, RECORD_ACQUIRE_CALLED, RECORD_OK, NULL);
  if (!curator_lock_acquire (turn->lock, CURATOR_WAIT_FOREVER, NULL, &error))
    {
      g_printerr ("acquire: %s\n", error->message);
      return FALSE;
    }
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (turn->lock);
  note (turn, RECORD_ACQUIRE_RETURNED, RECORD_OK, lease);
  wait_ms (turn->hold_ms);
  note (turn, RECORD_RELEASE_CALLED, RECORD_OK, lease);
  gboolean released = curator_lock_release (turn->lock, 0, NULL, &error);
  note (turn, RECORD_RELEASE_RETURNED, released ? RECORD_OK : RECORD_FAILED, lease);
  if (!released)
    {
      g_printerr ("release: %s\n", error->message);
    }
  return released;
}

static void *
take_turns (void *data)
{
  Turn *turn = data;
  for (int i = 0; i < turn->acquisitions && !turn->failed; i++)
    {
      turn->failed = !take_turn (turn);
    }
  return NULL;
}

static int
run_threads (CuratorLock *lock, char **argv)
{
  int n = atoi (argv[4]);
  int failures = 0;
  g_autofree Turn *turns = g_new0 (Turn, n);
  g_autofree pthread_t *threads = g_new0 (pthread_t, n);
  for (int i = 0; i < n; i++)
    {
      turns[i].lock = lock;
      turns[i].acquisitions = atoi (argv[5]);
      turns[i].hold_ms = atoi (argv[6]);
      turns[i].recorder =
          recorder_open (argv[8], atoi (argv[7]), i + 1, (gsize) turns[i].acquisitions * 4);
      pthread_create (&threads[i], NULL, take_turns, &turns[i]);
    }
  for (int i = 0; i < n; i++)
    {
      pthread_join (threads[i], NULL);
      recorder_close (turns[i].recorder);
      failures += turns[i].failed ? 1 : 0;
    }
  return failures;
}

int
worker_main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 9)
    {
      return 64;
    }
  g_autoptr (CuratorClient) client = curator_client_new (argv[2], NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, argv[3], &error);
  if (lock == NULL || !curator_client_start (client, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  return run_threads (lock, argv) == 0 ? 0 : 1;
}
