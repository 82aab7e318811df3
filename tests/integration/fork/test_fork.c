/* Forks at random moments, while other threads are inside the library: every call of the child is
 * refused without blocking, and the parent is not affected. */
#include "attack.h"
#include "support/sanitized.h"

#define N_FORKS       1000
#define N_CONTENDERS  4
#define MOST_PAUSE_US 2000

typedef struct
{
  CuratorClient *client;
  gint stop;    /* atomic, as the next */
  gint granted; /* how often */
} Noise;

static void *
contend_in_circles (void *data)
{
  Noise *noise = data;
  g_autoptr (CuratorLock) lock = mutex_new (noise->client, "/fork/noise");
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (noise->client, "/fork/semaphore", 2, NULL);
  while (!g_atomic_int_get (&noise->stop))
    {
      g_autoptr (CuratorLease) lease G_GNUC_UNUSED =
          curator_semaphore_acquire (semaphore, 20, NULL, NULL);
      if (curator_lock_acquire (lock, 20, NULL, NULL))
        {
          g_atomic_int_inc (&noise->granted);
          curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
        }
    }
  return NULL;
}

TEST (test_p32_fork_at_random_moments)
{
#if IS_SANITIZED
  print_message ("left out: the allocators of sanitizers do not survive a fork at any moment\n");
  skip ();
#endif
  World *world = attack_world_new (fixture, STATE_FORKED, ATTACK_PLAIN_KIND);
  g_autoptr (StateLog) log = state_log_new (world->client);
  Noise noise = { .client = world->client };
  pthread_t threads[N_CONTENDERS];
  attack_watch_for_crashes ();
  for (int i = 0; i < N_CONTENDERS; i++)
    pthread_create (&threads[i], NULL, contend_in_circles, &noise);
  for (int i = 0; i < N_FORKS; i++)
    {
      g_usleep ((gulong) g_random_int_range (0, MOST_PAUSE_US));
      attack_in_child (world, FALSE);
    }
  g_atomic_int_set (&noise.stop, 1);
  for (int i = 0; i < N_CONTENDERS; i++)
    pthread_join (threads[i], NULL);
  print_message ("%d forks during %d grants\n", N_FORKS, noise.granted);
  assert_true (noise.granted > 0);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_SUSPENDED), 0);
  assert_int_equal (state_log_count (log, CURATOR_CONNECTION_STATE_LOST), 0);
  assert_no_residue (fixture, "/fork/noise", LONG_MS);
  assert_no_residue (fixture, "/fork/semaphore/leases", LONG_MS);
  curator_client_close (world->client);
  attack_world_free (world);
}

int
main (void)
{
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (attack_count_criticals, NULL, NULL);
  return suite_run ("fork", fixture_start_calm, fixture_stop);
}
