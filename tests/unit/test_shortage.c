/* When the system has no thread or no descriptor left: an error, and recovery as soon as there is
 * one.
 *
 * The C library's pthread_create is hidden behind ours, which refuses a call on demand, or every
 * call while as many threads as allowed are alive, as RLIMIT_NPROC does.
 */
#include "unit.h"

#include "curator/curator.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* No server listens there. */
#define NOWHERE "127.0.0.1:1"
/* Timers and session work, and two of libzookeeper's; a client with a listener has one more from
 * the start. */
#define CLIENT_THREADS   4
#define LIBRARYS_THREADS 2

static gint refused_call; /* atomic; the first, second ... call from now is refused, 0: none */
static gint n_alive;      /* atomic; threads that were created here */
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

static gboolean
is_refused (void)
{
  return (g_atomic_int_get (&refused_call) > 0 && g_atomic_int_dec_and_test (&refused_call))
         || g_atomic_int_get (&n_alive) >= g_atomic_int_get (&n_allowed);
}

/* Exported, so that libzookeeper calls it too. */
__attribute__ ((visibility ("default"))) int
pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*start) (void *), void *data)
{
  typedef int (*Create) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);
  static Create real;

  if (real == NULL)
    real = (Create) dlsym (RTLD_NEXT, "pthread_create");
  if (is_refused ())
    {
      g_atomic_int_inc (&n_refused);
      return EAGAIN;
    }
  Start *const wrapped = g_new (Start, 1);
  *wrapped = (Start){ start, data };
  g_atomic_int_inc (&n_alive);
  const int failed = real (thread, attr, run, wrapped);
  if (failed != 0)
    {
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

static CuratorClient *
client_new (const char *address, gboolean listens)
{
  CuratorClient *client = curator_client_new (address, NULL);
  if (listens)
    curator_client_add_state_listener (client, ignore_state, NULL, NULL);
  return client;
}

/* If any of its threads cannot be created, the client is not started, and may be started later. */
static void
check_no_thread_at_start (gboolean listens)
{
  const int n_own = CLIENT_THREADS - LIBRARYS_THREADS + listens;

  for (int nth = 1; nth <= n_own; nth++)
    {
      g_autoptr (CuratorClient) client = client_new (NOWHERE, listens);
      g_autoptr (GError) error = NULL;

      wait_for_no_thread ();
      g_atomic_int_set (&refused_call, nth);
      assert_false (curator_client_start (client, &error));
      assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES));
      g_clear_error (&error);
      assert_true (curator_client_start (client, &error));
      assert_false (curator_client_block_until_connected (client, 10, NULL, &error));
      assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST));
      curator_client_close (client);
    }
}

TEST (test_no_thread_at_start)
{
  check_no_thread_at_start (FALSE);
  check_no_thread_at_start (TRUE);
}

/* Listens on an address of its own. */
static int
listen_somewhere (char **address)
{
  struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t length = sizeof name;
  const int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  assert_int_equal (bind (fd, (struct sockaddr *) &name, sizeof name), 0);
  assert_int_equal (listen (fd, 16), 0);
  assert_int_equal (getsockname (fd, (struct sockaddr *) &name, &length), 0);
  *address = g_strdup_printf ("127.0.0.1:%d", ntohs (name.sin_port));
  return fd;
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

  for (int left = 0; left <= 8; left++)
    {
      g_autofree char *address = NULL;
      g_autoptr (GError) error = NULL;
      const int fd = listen_somewhere (&address);
      g_autoptr (CuratorClient) client = client_new (address, listens);
      const int refused = g_atomic_int_get (&n_refused);

      wait_for_no_thread ();
      g_atomic_int_set (&n_allowed, left);
      if (!curator_client_start (client, &error))
        {
          assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES));
          n_not_started++;
          g_atomic_int_set (&n_allowed, G_MAXINT);
          g_clear_error (&error);
          assert_true (curator_client_start (client, &error));
        }
      else if (left < n_needed)
        {
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
  g_atomic_int_set (&refused_call, 1);
  curator_lock_acquire_then (lock, 0, NULL, count_answer, &n_answers);
  assert_int_equal (g_atomic_int_get (&refused_call), 0);
  assert_int_equal (g_atomic_int_get (&n_answers), 0);
  curator_lock_acquire_then (lock, 0, NULL, count_answer, &n_answers);
  wait_for (&n_answers, 2);
  curator_client_close (client);
}

static gint n_warnings; /* atomic */

static GLogWriterOutput
count_warnings (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if ((level & G_LOG_LEVEL_MASK) < G_LOG_LEVEL_WARNING)
    return g_log_writer_default (level, fields, n_fields, data);
  if ((level & G_LOG_LEVEL_WARNING) != 0)
    g_atomic_int_inc (&n_warnings);
  return G_LOG_WRITER_HANDLED;
}

/* Without descriptors no handle can be opened: the client retries, and the caller's timeout still
 * applies. */
TEST (test_no_descriptor)
{
  g_autoptr (CuratorClient) client = curator_client_new (NOWHERE, NULL);
  g_autoptr (GError) error = NULL;
  struct rlimit before;

  assert_int_equal (getrlimit (RLIMIT_NOFILE, &before), 0);
  const int next = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  close (next);
  const struct rlimit none = { .rlim_cur = (rlim_t) next, .rlim_max = before.rlim_max };
  g_atomic_int_set (&n_warnings, 0);
  assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
  assert_true (curator_client_start (client, &error));
  wait_for (&n_warnings, 1);
  assert_false (curator_client_block_until_connected (client, 10, NULL, &error));
  assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES));
  assert_int_equal (setrlimit (RLIMIT_NOFILE, &before), 0);
  curator_client_close (client);
}

int
main (void)
{
  g_log_set_writer_func (count_warnings, NULL, NULL);
  return suite_run ("shortage", NULL, NULL);
}
