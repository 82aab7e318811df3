/* Whatever this machine refuses to a client, and at whatever point of its life: an error, or
 * another try.
 *
 * Each call of the C library that may lack a resource is refused once, and from then on for
 * good: the first, the second, and so on, until a whole life (start, connect, acquire, release,
 * close) needs no more of them. libzookeeper's own threads are left out: it ends the process
 * without one, so the library tries for as many right before. Random numbers that the kernel
 * does not have yet are waited for nowhere.
 */
#include "integration/fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

typedef enum
{
  THREAD,
  EVENTFD,
  TIMERFD,
  PIPE,
  SOCKET,
  N_KINDS
} Kind;

static const char *const names[] = { "thread", "eventfd", "timerfd", "pipe", "socket" };

/* All atomic. */
static gint refused_kind = -1; /* a Kind while a life is tried */
static gint n_calls;
static gint first_refused;
static gint is_lasting;
static gint is_entropy_late;
static gint n_waits; /* for entropy */

static gboolean
is_refused (Kind kind)
{
  if (g_atomic_int_get (&refused_kind) != (gint) kind)
    return FALSE;
  const gint n = g_atomic_int_add (&n_calls, 1) + 1;
  const gint first = g_atomic_int_get (&first_refused);
  return g_atomic_int_get (&is_lasting) ? n >= first : n == first;
}

#define EXPORTED   __attribute__ ((visibility ("default")))
#define REAL(name) __typeof__ (&name) real = (__typeof__ (&name)) dlsym (RTLD_NEXT, #name)

static gboolean
is_of_libzookeeper (void *(*start) (void *) )
{
  Dl_info info;
  return dladdr ((void *) (gintptr) start, &info) != 0
         && strstr (info.dli_fname, "libzookeeper") != NULL;
}

EXPORTED int
pthread_create (pthread_t *thread, const pthread_attr_t *attr, void *(*start) (void *), void *data)
{
  REAL (pthread_create);
  return !is_of_libzookeeper (start) && is_refused (THREAD) ? EAGAIN
                                                            : real (thread, attr, start, data);
}

#define REFUSED(kind, name, parameters, arguments)                                                 \
  EXPORTED int name parameters                                                                     \
  {                                                                                                \
    REAL (name);                                                                                   \
    if (!is_refused (kind))                                                                        \
      return real arguments;                                                                       \
    errno = EMFILE;                                                                                \
    return -1;                                                                                     \
  }

REFUSED (EVENTFD, eventfd, (unsigned count, int flags), (count, flags))
REFUSED (TIMERFD, timerfd_create, (int clock, int flags), (clock, flags))
REFUSED (PIPE, pipe, (int ends[2]), (ends))
REFUSED (PIPE, pipe2, (int ends[2], int flags), (ends, flags))
REFUSED (SOCKET, socket, (int domain, int type, int protocol), (domain, type, protocol))

EXPORTED ssize_t
getrandom (void *bytes, size_t length, unsigned flags)
{
  REAL (getrandom);
  if (g_atomic_int_get (&is_entropy_late) && (flags & GRND_NONBLOCK) == 0)
    g_atomic_int_inc (&n_waits);
  if (g_atomic_int_get (&is_entropy_late) && (flags & GRND_NONBLOCK) != 0) {
    errno = EAGAIN;
    return -1;
  }
  return real (bytes, length, flags);
}

static int n_refused_starts;
static int n_errors;
static int n_lives;

static void
ignore_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
assert_shortage (GError **error, Kind kind, gint nth)
{
  if (!g_error_matches (*error, CURATOR_ERROR, CURATOR_ERROR_RESOURCES))
    fail_msg ("%s %d: %s", names[kind], nth, (*error)->message);
  g_clear_error (error);
}

/* Returns how many calls there were. */
static gint
live (Fixture *fixture, Kind kind, gint nth, gboolean lasting)
{
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/shortage", NULL);
  g_autoptr (GError) error = NULL;

  curator_client_add_state_listener (client, ignore_state, NULL, NULL);
  g_atomic_int_set (&n_calls, 0);
  g_atomic_int_set (&first_refused, nth);
  g_atomic_int_set (&is_lasting, lasting);
  g_atomic_int_set (&refused_kind, (gint) kind);
  if (!curator_client_start (client, &error)) {
    assert_shortage (&error, kind, nth);
    n_refused_starts++;
  } else if (!curator_lock_acquire (lock, lasting ? 4000 : LONG_MS, NULL, &error)) {
    assert_true (lasting);
    assert_shortage (&error, kind, nth);
    n_errors++;
  } else {
    assert_true (curator_lock_release (lock, LONG_MS, NULL, &error));
    n_lives++;
  }
  curator_client_close (client);
  g_atomic_int_set (&refused_kind, -1);
  return g_atomic_int_get (&n_calls);
}

TEST (test_every_point)
{
  for (Kind kind = 0; kind < N_KINDS; kind++) {
    for (int lasting = 0; lasting <= 1; lasting++) {
      gint nth = 1;
      while (live (fixture, kind, nth, lasting) >= nth)
        nth++;
      print_message ("%s, %s: %d points\n", names[kind], lasting ? "for good" : "once", nth - 1);
    }
  }
  print_message ("%d lives, %d starts refused, %d errors, 0 aborts\n", n_lives, n_refused_starts,
                 n_errors);
  assert_true (n_lives > 0 && n_refused_starts > 0 && n_errors > 0);
}

TEST (test_entropy_is_late)
{
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  g_autoptr (GError) error = NULL;

  g_atomic_int_set (&is_entropy_late, TRUE);
  assert_false (curator_client_start (client, &error));
  assert_curator_error (&error, CURATOR_ERROR_RESOURCES);
  g_atomic_int_set (&is_entropy_late, FALSE);
  assert_int_equal (g_atomic_int_get (&n_waits), 0);
  client_start (client);
}

SUITE ("shortage points", fixture_start_calm, fixture_stop)
