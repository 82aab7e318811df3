/* When the system has no thread left: an error, and recovery as soon as there is one. Each thread
 * that is refused once, and other resources: integration/servers/test_shortage_points.
 *
 * The C library's pthread_create is hidden behind ours, which refuses every call while as many
 * threads as allowed are alive, as RLIMIT_NPROC does.
 */
#include "unit.h"

#include "curator/curator.h"
#include "support/metronome.h"
#include "support/net.h"
#include "support/sanitized.h"
#include "support/waiting.h"

#include <dlfcn.h>
#include <errno.h>
#include <gio/gio.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"
/* Timers and session work, and two of libzookeeper's; a client with a listener has one more from
 * the start. */
#define CLIENT_THREADS   4
#define LIBRARYS_THREADS 2
/* The one of the process, which a client that is created starts. */
#define SPARE_THREAD 1

static gint n_alive;              /* atomic; threads that were created here */
static gint n_allowed = G_MAXINT; /* atomic; as many may be alive */
static gint n_refused;            /* atomic */
static gint refused_percent;      /* atomic; of the calls, at random */
static guint32 seed;

typedef struct
{
  void *(*start) (void *);
  void *data;
} Start;

static void
one_less (void *data)
{
  g_atomic_int_add (&n_alive, -1);
}

static void *
run (void *data)
{
  const Start start = *(Start *) data;
  void *result;

  g_free (data);
  pthread_cleanup_push (one_less, NULL);
  result = start.start (start.data);
  pthread_cleanup_pop (1);
  return result;
}

/* Whichever thread draws next. */
static gboolean
is_refused_by_chance (void)
{
  static gint n_drawn; /* atomic */
  const gint percent = g_atomic_int_get (&refused_percent);
  if (percent == 0)
    return FALSE;
  guint32 drawn = ((guint32) g_atomic_int_add (&n_drawn, 1) + seed) * 2654435761U;
  drawn ^= drawn >> 15;
  drawn *= 2246822519U;
  return (gint) ((drawn >> 8) % 100) < percent;
}

/* Exported, so that libzookeeper calls it too. */
__attribute__ ((visibility ("default"))) int
pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*start) (void *), void *data)
{
  typedef int (*Create) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
  static Create real;

  if (real == NULL)
    real = (Create) dlsym (RTLD_NEXT, "pthread_create");
  if (g_atomic_int_get (&n_alive) >= g_atomic_int_get (&n_allowed) || is_refused_by_chance ()) {
    g_atomic_int_inc (&n_refused);
    return EAGAIN;
  }
  Start *const wrapped = g_new (Start, 1);
  *wrapped = (Start){ start, data };
  g_atomic_int_inc (&n_alive);
  const int failed = real (thread, attr, run, wrapped);
  if (failed != 0) {
    one_less (NULL);
    g_free (wrapped);
  }
  return failed;
}

static void
wait_for (gint *counter, gint value)
{
  for (int i = 0; i < 60000 && g_atomic_int_get (counter) < value; i++)
    g_usleep (1000);
  assert_true (g_atomic_int_get (counter) >= value);
}

/* The threads of clients that were closed end on their own, and may create threads of
 * libzookeeper's meanwhile. */
static void
wait_for_no_thread (void)
{
  for (int i = 0; i < 60000 && g_atomic_int_get (&n_alive) > 0; i++)
    g_usleep (1000);
  assert_int_equal (g_atomic_int_get (&n_alive), 0);
}

static void
ignore_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
wait_for_connection (int fd)
{
  struct pollfd coming = { .fd = fd, .events = POLLIN };
  assert_int_equal (poll (&coming, 1, 60000), 1);
}

/* Whatever number of threads the system has left, from none to more than a client takes: no abort,
 * and the client connects as soon as there are enough. */
static void
check_few_threads (gboolean listens)
{
  const int n_needed = CLIENT_THREADS + listens;
  int n_retried = 0;
  int n_not_started = 0;

  for (int left = 0; left <= 8; left++) {
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    const int fd = net_listen (&name);
    wait_for_no_thread ();
    g_autofree char *address = g_strdup_printf ("127.0.0.1:%d", ntohs (name.sin_port));
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorClient) client = curator_client_new (address, NULL);
    const int refused = g_atomic_int_get (&n_refused);

    if (listens)
      curator_client_add_state_listener (client, ignore_state, NULL, NULL);
    g_atomic_int_set (&n_allowed, left + SPARE_THREAD);
    if (!curator_client_start (client, &error)) {
      assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES));
      n_not_started++;
      g_atomic_int_set (&n_allowed, G_MAXINT);
      g_clear_error (&error);
      assert_true (curator_client_start (client, &error));
    } else if (left < n_needed) {
      wait_for (&n_refused, refused + 2);
      assert_false (curator_client_block_until_connected (client, 10, NULL, &error));
      n_retried++;
    }
    g_atomic_int_set (&n_allowed, G_MAXINT);
    wait_for_connection (fd);
    curator_client_close (client);
    close (fd);
  }
  assert_int_equal (n_not_started, n_needed - LIBRARYS_THREADS);
  assert_int_equal (n_retried, LIBRARYS_THREADS);
}

TEST (test_few_threads)
{
  check_few_threads (FALSE);
  check_few_threads (TRUE);
}

/* --- what is owed ------------------------------------------------------------------------------- */

static _Thread_local gboolean is_inside; /* a call of the program's */
static gint n_inside;                    /* atomic; callbacks there */
static gint n_answers;                   /* atomic */

static void
note_answer (void)
{
  if (is_inside)
    g_atomic_int_inc (&n_inside);
  g_atomic_int_inc (&n_answers);
}

static void
note_lease (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  note_answer ();
}

static void
note_nodes (CuratorLock *lock, char **nodes, const GError *error, gpointer data)
{
  note_answer ();
}

static void
note_connected (CuratorClient *client, const GError *error, gpointer data)
{
  note_answer ();
}

static void
note_closed (CuratorClient *client, gpointer data)
{
  note_answer ();
}

/* Ends its thread, which is replaced. */
static void
end_thread (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  note_answer ();
  pthread_exit (NULL);
}

#define N_CALLS 5

static void
call (CuratorClient *client, CuratorLock *lock, guint which, gint64 timeout_ms)
{
  is_inside = TRUE;
  switch (which % N_CALLS) {
  case 0:
    curator_lock_acquire_then (lock, timeout_ms, NULL, note_lease, NULL);
    break;
  case 1:
    curator_lock_get_participant_nodes_then (lock, timeout_ms, NULL, note_nodes, NULL);
    break;
  case 2:
    curator_client_block_until_connected_then (client, timeout_ms, NULL, note_connected, NULL);
    break;
  case 3:
    curator_client_close_then (client, note_closed, NULL);
    break;
  default:
    curator_lock_acquire_then (lock, timeout_ms, NULL, end_thread, NULL);
  }
  is_inside = FALSE;
}

static void
assert_answers (gint n)
{
  wait_for (&n_answers, n);
  assert_int_equal (g_atomic_int_get (&n_answers), n);
  assert_int_equal (g_atomic_int_get (&n_inside), 0);
}

static void
set_up (void)
{
  wait_for_no_thread ();
  g_atomic_int_set (&n_answers, 0);
  g_atomic_int_set (&n_inside, 0);
}

typedef enum
{
  LATENT,
  STARTED,
  CLOSED,
  N_LIVES
} Life;

static CuratorClient *
client_in (Life life)
{
  CuratorClient *client = curator_client_new (NOWHERE, NULL);
  if (life == STARTED)
    assert_true (curator_client_start (client, NULL));
  if (life == CLOSED)
    curator_client_close (client);
  return client;
}

/* No thread can be had when a call begins, and nobody calls the library again. */
TEST (test_owed_in_a_shortage)
{
  for (int life = 0; life < N_LIVES; life++) {
    for (guint which = 0; which < N_CALLS; which++) {
      set_up ();
      g_autoptr (CuratorClient) client = client_in ((Life) life);
      g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/shortage", NULL);
      const int refused = g_atomic_int_get (&n_refused);
      g_atomic_int_set (&n_allowed, 0);
      call (client, lock, which, 1);
      wait_for (&n_refused, refused + 1);
      assert_int_equal (g_atomic_int_get (&n_answers), 0);
      g_atomic_int_set (&n_allowed, G_MAXINT);
      assert_answers (1);
      curator_client_close (client);
    }
  }
}

/* A callback has ended its thread, and there is none to take its place until the client is
 * closed. */
TEST (test_a_thread_that_is_not_replaced)
{
  set_up ();
  g_autoptr (CuratorClient) client = client_in (STARTED);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/shortage", NULL);
  const int refused = g_atomic_int_get (&n_refused);

  call (client, lock, 4, CURATOR_WAIT_FOREVER);
  call (client, lock, 0, CURATOR_WAIT_FOREVER);
  call (client, lock, 1, CURATOR_WAIT_FOREVER);
  curator_lock_acquire_then (lock, 1, NULL, end_thread, NULL);
  g_atomic_int_set (&n_allowed, 0);
  wait_for (&n_answers, 1);
  wait_for (&n_refused, refused + 1);
  curator_client_close_then (client, note_closed, NULL);
  g_atomic_int_set (&n_allowed, G_MAXINT);
  assert_answers (5);
}

static guint
count_descriptors (void)
{
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  guint n = 0;
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

/* Returns how many calls it has made. */
static gint
live (GRand *random)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/shortage", NULL);
  const gint n_calls = g_rand_int_range (random, 1, 40);
  const gint start_at = g_rand_int_range (random, -1, 3);
  const gint close_at = g_rand_int_range (random, 0, n_calls + 1);

  if (g_rand_boolean (random))
    curator_client_add_state_listener (client, ignore_state, NULL, NULL);
  for (gint n = 0; n < n_calls; n++) {
    if (n == start_at)
      for (int i = 0; i < 100 && !curator_client_start (client, NULL) && n <= close_at; i++)
        ;
    if (n == close_at) {
      const gint64 start = wait_now_ms ();
      curator_client_close (client);
      /* client.h: within 6 s. */
      assert_promised_ms (wait_now_ms () - start, 6000, start);
    }
    call (client, lock, g_rand_int (random), g_rand_int_range (random, -1, 3));
  }
  if (g_rand_boolean (random)) {
    const gint64 start = wait_now_ms ();
    curator_client_close (client);
    /* client.h: within 6 s. */
    assert_promised_ms (wait_now_ms () - start, 6000, start);
    return n_calls;
  }
  curator_client_close_then (client, note_closed, NULL);
  return n_calls + 1;
}

/* Of all threads, also those of libzookeeper that it tries before it needs them, three in ten
 * cannot be had. */
TEST (test_refused_at_random)
{
  GRand *random = unit_rand_new ("test_refused_at_random");
  gint n_calls = 0;

  set_up ();
  const guint n_descriptors = count_descriptors ();
  seed = g_rand_int (random);
  g_atomic_int_set (&refused_percent, 30);
  while (n_calls < (IS_SANITIZED ? 2000 : 10000))
    n_calls += live (random);
  assert_answers (n_calls);
  g_atomic_int_set (&refused_percent, 0);
  wait_for_no_thread ();
  assert_int_equal (count_descriptors (), n_descriptors);
  g_rand_free (random);
}

/* The child has none of its parent's threads, and gets none of its own at first. */
TEST (test_no_thread_in_a_child)
{
  int status;

  set_up ();
  g_autoptr (CuratorClient) client = client_in (STARTED);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/shortage", NULL);
  const pid_t pid = fork ();
  if (pid == 0) {
    g_atomic_int_set (&refused_percent, 60);
    for (guint which = 0; which < 400; which++)
      call (client, lock, which % 4, 0);
    for (int i = 0; i < 20000 && g_atomic_int_get (&n_answers) < 400; i++)
      g_usleep (1000);
    _exit (n_answers == 400 && n_inside == 0 ? 0 : 1);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFEXITED (status));
  assert_int_equal (WEXITSTATUS (status), 0);
  curator_client_close (client);
}

int
main (void)
{
  g_log_set_writer_func (unit_swallow_warnings, NULL, NULL);
  metronome_start ();
  return suite_run ("shortage", NULL, NULL);
}
