/* TestInterProcessSemaphoreCluster.testCluster: clients of an ensemble take turns; without a quorum
 * no client is granted, with two of three servers they continue. */
#define SUITE_FIXTURE ZkEnsemble *ensemble
#define SUITE_SETUP   NULL
#include "integration/taking.h"
#include "support/zk_server.h"

#define PATH      "/cluster/semaphore"
#define N_CLIENTS 8

typedef struct
{
  CuratorSemaphore *semaphore;
  int *turns; /* of all clients */
  int *stop;
  int unexpected;
} Worker;

static void *
take_turns (void *data)
{
  Worker *worker = data;
  while (!g_atomic_int_get (worker->stop))
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (CuratorLease) lease =
          curator_semaphore_acquire (worker->semaphore, 500, NULL, &error);
      if (lease != NULL)
        {
          g_atomic_int_inc (worker->turns);
          wait_ms (5);
          /* Without a quorum, a release that is not confirmed in time is no failure. */
          worker->unexpected +=
              !curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error)
              && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RELEASE_PENDING);
        }
      else
        {
          worker->unexpected +=
              !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
              && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)
              && !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST);
        }
    }
  return NULL;
}

static gboolean
is_not_connected (CuratorClient **clients)
{
  for (int i = 0; i < N_CLIENTS; i++)
    {
      CuratorConnectionState state = curator_client_get_connection_state (clients[i]);
      if (state == CURATOR_CONNECTION_STATE_CONNECTED
          || state == CURATOR_CONNECTION_STATE_RECONNECTED)
        return FALSE;
    }
  return TRUE;
}

TEST (test_cluster)
{
  int turns = 0;
  int stop = 0;
  CuratorClient *clients[N_CLIENTS];
  Worker workers[N_CLIENTS];
  pthread_t threads[N_CLIENTS];
  for (int i = 0; i < N_CLIENTS; i++)
    {
      clients[i] = client_connect (zk_ensemble_connect_string (ensemble));
      workers[i] = (Worker){ semaphore_new (clients[i], PATH, 1), &turns, &stop, 0 };
      pthread_create (&threads[i], NULL, take_turns, &workers[i]);
    }
  assert_counter (&turns, 100, LONG_MS);

  const int leader = zk_ensemble_leader (ensemble);
  assert_true (leader >= 0);
  zk_server_kill (zk_ensemble_server (ensemble, leader));
  zk_server_kill (zk_ensemble_server (ensemble, (leader + 1) % 3));
  assert_soon (is_not_connected (clients));
  const int before = g_atomic_int_get (&turns);
  wait_ms (1500);
  assert_int_equal (g_atomic_int_get (&turns), before);

  assert_true (zk_server_relaunch (zk_ensemble_server (ensemble, leader)));
  assert_counter (&turns, before + 50, 2 * LONG_MS);
  g_atomic_int_set (&stop, 1);
  for (int i = 0; i < N_CLIENTS; i++)
    {
      pthread_join (threads[i], NULL);
      assert_int_equal (workers[i].unexpected, 0);
      curator_semaphore_unref (workers[i].semaphore);
      curator_client_close (clients[i]);
      curator_client_unref (clients[i]);
    }
}

static int
start (void **state)
{
  *state = zk_ensemble_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  return *state != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  zk_ensemble_stop (*state);
  return 0;
}

SUITE ("Curator's test of a cluster", start, stop)
