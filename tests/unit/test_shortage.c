/* When the system has no thread left: an error, and recovery as soon as there is one. Each thread
 * that is refused once, and other resources: integration/servers/test_shortage_points.
 *
 * The C library's pthread_create is hidden behind ours, which refuses every call while as many
 * threads as allowed are alive, as RLIMIT_NPROC does.
 */
#include "unit.h"

#include "curator/curator.h"
#include "support/net.h"

#include <dlfcn.h>
#include <errno.h>
#include <gio/gio.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"
/* Timers and session work, and two of libzookeeper's; a client with a listener has one more from
 * the start. */
#define CLIENT_THREADS   4
#define LIBRARYS_THREADS 2

static gint n_alive;              /* atomic; threads that were created here */
static gint n_allowed = G_MAXINT; /* atomic; as many may be alive */
static gint n_refused;            /* atomic */

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

/* Exported, so that libzookeeper calls it too. */
__attribute__ ((visibility ("default"))) int
pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*start) (void *), void *data)
{
  typedef int (*Create) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
  static Create real;

  if (real == NULL)
    real = (Create) dlsym (RTLD_NEXT, "pthread_create");
  if (g_atomic_int_get (&n_alive) >= g_atomic_int_get (&n_allowed)) {
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
    g_autofree char *address = g_strdup_printf ("127.0.0.1:%d", ntohs (name.sin_port));
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorClient) client = curator_client_new (address, NULL);
    const int refused = g_atomic_int_get (&n_refused);

    if (listens)
      curator_client_add_state_listener (client, ignore_state, NULL, NULL);
    wait_for_no_thread ();
    g_atomic_int_set (&n_allowed, left);
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

static void
count_answer (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  g_atomic_int_add ((gint *) data,
                    g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_NOT_STARTED) ? 1 : 100);
}

/* A client that was not started has no threads yet, but must complete calls. */
TEST (test_no_thread_for_an_answer)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/shortage", NULL);
  static gint n_answers;

  wait_for_no_thread ();
  const int refused = g_atomic_int_get (&n_refused);
  g_atomic_int_set (&n_allowed, 0);
  curator_lock_acquire_then (lock, 0, NULL, count_answer, &n_answers);
  g_atomic_int_set (&n_allowed, G_MAXINT);
  assert_int_equal (g_atomic_int_get (&n_refused), refused + 1);
  assert_int_equal (g_atomic_int_get (&n_answers), 0);
  curator_lock_acquire_then (lock, 0, NULL, count_answer, &n_answers);
  wait_for (&n_answers, 2);
  curator_client_close (client);
}

int
main (void)
{
  g_log_set_writer_func (unit_swallow_warnings, NULL, NULL);
  return suite_run ("shortage", NULL, NULL);
}
