/* Threads of several clients that come and go, at every recipe: never more of them are inside than
 * it allows, and their path is deleted after them. */
#include "integration/taking.h"

/* Some are Curator's own tests, by their names. */
typedef struct
{
  const char *name;
  KindNew lock;   /* NULL: a semaphore */
  KindNew reader; /* or NULL: for most visits, which exclude none but those of lock */
  int levels;     /* of entry by a thread; 0: by a lease */
  int max;        /* of leases, or of readers */
  int clients;
  int threads;
  int rounds;
  int hold_ms;
  int most;          /* leases that one acquires, a random number up to this */
  int least_at_once; /* are held at some time */
} Rush;

static const Rush rushes[] = {
  { "one lease", NULL, NULL, 0, 1, 2, 12, 15, 5, 1, 1 },
  { "three leases", NULL, NULL, 0, 3, 2, 12, 15, 5, 2, 3 },
  { "ten leases", NULL, NULL, 0, 10, 2, 12, 15, 5, 2, 3 },
  { "testMaxPerSession", NULL, NULL, 0, 5, 10, 10, 20, 2, 5, 1 },
  /* Java keeps the turn for one lease only, so that two that want 2 of 2 can take one each. */
  { "two of two", NULL, NULL, 0, 2, 2, 2, 60, 1, 2, 2 },
  { "testRelease1AtATime", NULL, NULL, 0, 5, 10, 10, 10, 30, 1, 5 },
  { "testReleaseInChunks", NULL, NULL, 0, 11, 1, 100, 1, 2, 1, 1 },
  { "testThreads", NULL, NULL, 0, 1, 1, 10, 5, 2, 1, 1 },
  { "testContainerCleanup", mutex_new, NULL, 1, 1, 1, 10, 1, 0, 1, 1 },
  { "testReentrantSingleLock", mutex_new, NULL, 4, 1, 1, 10, 5, 4, 1, 1 },
  { "semaphore mutex", semaphore_mutex_new, NULL, 0, 1, 2, 8, 25, 1, 1, 1 },
  { "fixed node", fixed_node_new, NULL, 1, 1, 2, 8, 2, 10, 1, 1 },
  { "readers and writers", writer_new, reader_new, 1, 10, 2, 10, 100, 2, 1, 2 },
};

typedef struct
{
  const Rush *rush;
  int inside; /* leases, readers; a writer counts as the most readers */
  int peak;   /* of leases or readers */
  int mistakes;
} Crowd;

typedef struct
{
  Crowd *crowd; /* of all clients */
  CuratorSemaphore *semaphore;
  CuratorLock *lock;
  CuratorLock *reader;
  GRand *rand;
  pthread_t thread;
} Visitor;

static void
stay (Crowd *crowd, int n)
{
  const int inside = g_atomic_int_add (&crowd->inside, n) + n;
  if (inside > crowd->rush->max)
    g_atomic_int_inc (&crowd->mistakes);
  for (int peak = g_atomic_int_get (&crowd->peak);
       n <= crowd->rush->most && inside > peak
       && !g_atomic_int_compare_and_exchange (&crowd->peak, peak, inside);
       peak = g_atomic_int_get (&crowd->peak)) {
  }
  /* On a slow machine the others need longer to come in. */
  holds_within (g_atomic_int_get (&crowd->peak) >= crowd->rush->least_at_once, 1000);
  wait_ms (crowd->rush->hold_ms);
  g_atomic_int_add (&crowd->inside, -n);
}

static gboolean
visit_semaphore (Visitor *visitor)
{
  const int n = g_rand_int_range (visitor->rand, 1, visitor->crowd->rush->most + 1);
  g_autoptr (GPtrArray) leases =
      curator_semaphore_acquire_n (visitor->semaphore, n, LONG_MS, NULL, NULL);
  if (leases == NULL || leases->len != (guint) n)
    return FALSE;
  stay (visitor->crowd, n);
  curator_semaphore_return_all (visitor->semaphore, leases, CURATOR_WAIT_DEFAULT, NULL, NULL);
  return TRUE;
}

static gboolean
visit_by_lease (Visitor *visitor)
{
  g_autoptr (CuratorLease) lease = curator_lock_acquire_lease (visitor->lock, LONG_MS, NULL, NULL);
  if (lease == NULL)
    return FALSE;
  stay (visitor->crowd, 1);
  return curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
}

static gboolean
visit_as_thread (Visitor *visitor)
{
  const Rush *rush = visitor->crowd->rush;
  const gboolean reads = rush->reader != NULL && g_rand_int_range (visitor->rand, 0, 5) > 0;
  CuratorLock *lock = reads ? visitor->reader : visitor->lock;
  gboolean is_right = TRUE;

  for (int i = 0; is_right && i < rush->levels; i++)
    is_right = curator_lock_acquire (lock, LONG_MS, NULL, NULL)
               && curator_lock_is_owned_by_current_thread (lock);
  if (is_right)
    stay (visitor->crowd, reads ? 1 : rush->max);
  for (int i = 0; is_right && i < rush->levels; i++)
    is_right = curator_lock_is_acquired_in_this_process (lock)
               && curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  return is_right;
}

static void *
come_and_go (void *data)
{
  Visitor *visitor = data;
  const Rush *rush = visitor->crowd->rush;

  for (int i = 0; i < rush->rounds; i++)
    if (!(rush->lock == NULL  ? visit_semaphore (visitor)
          : rush->levels == 0 ? visit_by_lease (visitor)
                              : visit_as_thread (visitor)))
      g_atomic_int_inc (&visitor->crowd->mistakes);
  return NULL;
}

static void
run_crowd (Fixture *fixture, const Rush *rush, const char *path)
{
  CuratorClient *clients[10];
  Visitor visitors[100] = { 0 };
  Crowd crowd = { .rush = rush };

  for (int i = 0; i < rush->clients; i++) {
    clients[i] = client_connect_for (fixture_server (fixture), LONG_SESSION_MS);
    Visitor *first = &visitors[i]; /* who brings what all of the client use */
    if (rush->lock == NULL)
      first->semaphore = semaphore_new (clients[i], path, (guint) rush->max);
    else
      first->lock = rush->lock (clients[i], path);
    if (rush->reader != NULL)
      first->reader = rush->reader (clients[i], path);
  }
  for (int i = 0; i < rush->threads; i++) {
    visitors[i] = visitors[i % rush->clients];
    visitors[i].crowd = &crowd;
    visitors[i].rand = g_rand_new_with_seed ((guint32) i + 1);
    pthread_create (&visitors[i].thread, NULL, come_and_go, &visitors[i]);
  }
  for (int i = 0; i < rush->threads; i++) {
    pthread_join (visitors[i].thread, NULL);
    g_rand_free (visitors[i].rand);
  }
  print_message ("%s: at most %d of %d at a time\n", rush->name, crowd.peak, rush->max);
  assert_int_equal (crowd.mistakes, 0);
  assert_in_range (crowd.peak, rush->least_at_once, rush->max);
  assert_no_residue (fixture, path, LONG_MS);
  for (int i = 0; i < rush->clients; i++) {
    g_clear_pointer (&visitors[i].semaphore, curator_semaphore_unref);
    g_clear_pointer (&visitors[i].lock, curator_lock_unref);
    g_clear_pointer (&visitors[i].reader, curator_lock_unref);
    curator_client_unref (clients[i]);
  }
  assert_true (raw_zk_wait_gone (fixture->raw, path, LONG_MS));
}

TEST (test_p30_never_more_than_its_size)
{
  for (gsize i = 0; i < G_N_ELEMENTS (rushes); i++) {
    g_autofree char *path = g_strdup_printf ("/crowd/%zu", i);
    run_crowd (fixture, &rushes[i], path);
  }
}

SUITE ("crowds", fixture_start_with_reaper, fixture_stop)
