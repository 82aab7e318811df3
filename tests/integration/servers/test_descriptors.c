/* A program with very many descriptors: what a connection costs does not depend on them, ours are
 * not inherited by programs that are executed, and the program's stay as they are.
 *
 * The C library's calls that look at a descriptor are hidden behind ours, which count.
 */
#include "integration/fixture.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_MANY       30000
#define N_OTHERS     500
#define N_ENOUGH     5000
#define N_LOOK_ALIKE 10
#define N_THREADS    3
#define N_RECONNECTS 10
/* Looks at descriptors, for a connection or a new handle. It is some dozens on a quiet machine. */
#define MOST_LOOKS 1000

static gint n_looks; /* atomic */

#define REAL(name) ((__typeof__ (&name)) dlsym (RTLD_NEXT, #name))

#undef fcntl
#undef fcntl64
#undef readdir
#undef readdir64

static int
real_fcntl (int fd, int command, void *argument)
{
  static __typeof__ (&fcntl64) function;

  if (function == NULL)
    function = REAL (fcntl64);
  return function (fd, command, argument);
}

/* Every argument of fcntl fits a pointer. */
#define COUNTED_FCNTL(name)                                                                        \
  int name (int fd, int command, ...)                                                              \
  {                                                                                                \
    va_list arguments;                                                                             \
    va_start (arguments, command);                                                                 \
    void *argument = va_arg (arguments, void *);                                                   \
    va_end (arguments);                                                                            \
    g_atomic_int_inc (&n_looks);                                                                   \
    return real_fcntl (fd, command, argument);                                                     \
  }

#define COUNTED(type, name, parameters, arguments)                                                 \
  type name parameters                                                                             \
  {                                                                                                \
    g_atomic_int_inc (&n_looks);                                                                   \
    return REAL (name) arguments;                                                                  \
  }

COUNTED_FCNTL (fcntl)
COUNTED_FCNTL (fcntl64)
COUNTED (int, getpeername, (int fd, struct sockaddr *restrict name, socklen_t *restrict length),
         (fd, name, length))
COUNTED (struct dirent *, readdir, (DIR * dir), (dir))
COUNTED (struct dirent64 *, readdir64, (DIR * dir), (dir))

static int
flags_of (int fd)
{
  return real_fcntl (fd, F_GETFD, NULL);
}

/* The program's descriptors. */
typedef struct
{
  int fds[N_MANY];
  int flags[N_MANY];
  int n;
} Many;

static void
many_add (Many *many, int fd)
{
  if (fd >= 0 && many->n < N_MANY) {
    many->fds[many->n] = fd;
    many->flags[many->n++] = flags_of (fd);
  }
}

/* As libzookeeper's own: non-blocking, inherited, and with the same peer. */
static void
add_look_alikes (Many *many, const char *address)
{
  g_auto (GStrv) parts = g_strsplit (address, ":", 2);
  struct sockaddr_in name = { .sin_family = AF_INET,
                              .sin_port = htons ((guint16) atoi (parts[1])) };

  inet_pton (AF_INET, parts[0], &name.sin_addr);
  for (int i = 0; i < N_LOOK_ALIKE; i++) {
    const int fd = socket (AF_INET, SOCK_STREAM, 0);
    int ends[2];
    assert_int_equal (connect (fd, (struct sockaddr *) &name, sizeof name), 0);
    real_fcntl (fd, F_SETFL, GINT_TO_POINTER (O_NONBLOCK));
    many_add (many, fd);
    assert_int_equal (pipe2 (ends, O_NONBLOCK), 0);
    many_add (many, ends[0]);
    many_add (many, ends[1]);
  }
}

/* With gaps between them. */
static void
open_many (Many *many, int most)
{
  while (many->n < most) {
    const int fd = open ("/dev/null", O_RDONLY | (many->n % 3 == 0 ? O_CLOEXEC : 0));
    assert_true (fd >= 0);
    many_add (many, fd);
  }
  for (int i = most / 2; i < most; i += 97) {
    close (many->fds[i]);
    many->fds[i] = -1;
  }
}

static void
assert_unchanged (const Many *many)
{
  for (int i = 0; i < many->n; i++)
    if (many->fds[i] >= 0)
      assert_int_equal (flags_of (many->fds[i]), many->flags[i]);
}

static void
many_close (Many *many)
{
  for (int i = 0; i < many->n; i++)
    if (many->fds[i] >= 0)
      close (many->fds[i]);
}

/* By name: its owner may be closing it. */
static guint64
inode_of (int fd)
{
  g_autofree char *name = g_strdup_printf ("/proc/self/fd/%d", fd);
  struct stat found;
  return stat (name, &found) == 0 && (S_ISSOCK (found.st_mode) || S_ISFIFO (found.st_mode))
             ? found.st_ino
             : 0;
}

/* Pipes and sockets open now: inode to TRUE. */
static GHashTable *
channels_now (int most)
{
  GHashTable *now = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  for (int fd = 0; fd < most; fd++) {
    const guint64 inode = inode_of (fd);
    if (inode != 0)
      g_hash_table_add (now, g_memdup2 (&inode, sizeof inode));
  }
  return now;
}

/* Of the pipes and sockets that have come since. */
static void
assert_none_inherited (GHashTable *before, int most, int at_least)
{
  int n = 0;
  for (int fd = 0; fd < most; fd++) {
    const guint64 inode = inode_of (fd);
    if (inode != 0 && !g_hash_table_contains (before, &inode)) {
      n++;
      assert_int_equal (flags_of (fd), FD_CLOEXEC);
    }
  }
  assert_true (n >= at_least);
}

/* Threads that open and close descriptors, and find theirs unchanged. */
static gint churning; /* atomic */
static gint n_changed;

static void *
churn (void *data)
{
  while (g_atomic_int_get (&churning) != 0) {
    int fds[4] = { -1, -1, -1, -1 };
    if (pipe2 (fds, O_NONBLOCK) == 0 && socketpair (AF_UNIX, SOCK_STREAM, 0, fds + 2) == 0)
      g_usleep (50);
    for (guint i = 0; i < G_N_ELEMENTS (fds); i++) {
      if (fds[i] >= 0 && flags_of (fds[i]) != 0)
        g_atomic_int_inc (&n_changed);
      close (fds[i]);
    }
  }
  return NULL;
}

static void
churn_start (pthread_t *threads)
{
  g_atomic_int_set (&churning, 1);
  for (int i = 0; i < N_THREADS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, churn, NULL), 0);
}

static void
churn_end (pthread_t *threads)
{
  g_atomic_int_set (&churning, 0);
  for (int i = 0; i < N_THREADS; i++)
    pthread_join (threads[i], NULL);
  assert_int_equal (g_atomic_int_get (&n_changed), 0);
}

/* As many as a process may have here; the number of all, the test's own included. */
static int
allow_descriptors (struct rlimit *before)
{
  assert_int_equal (getrlimit (RLIMIT_NOFILE, before), 0);
  const rlim_t most = MIN (before->rlim_max, N_MANY + N_OTHERS);
  const struct rlimit wanted = { most, before->rlim_max };
  if (most < N_ENOUGH || setrlimit (RLIMIT_NOFILE, &wanted) != 0) {
    print_message ("a process may not have %d descriptors here: skipped\n", N_ENOUGH);
    skip ();
  }
  return (int) most;
}

static void
reconnect_and_test (Fixture *fixture, StateLog *log, GHashTable *before, int most, int times)
{
  pthread_t threads[N_THREADS];

  churn_start (threads);
  g_atomic_int_set (&n_looks, 0);
  proxy_cut (fixture->proxy);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, times, LONG_MS));
  const int looks = g_atomic_int_get (&n_looks);
  churn_end (threads);
  assert_in_range (looks, 1, MOST_LOOKS);
  assert_none_inherited (before, most, 3);
}

TEST (test_very_many_descriptors)
{
  static Many many;
  struct rlimit limit;
  const int most = allow_descriptors (&limit);

  add_look_alikes (&many, fixture_proxy (fixture));
  assert_soon (proxy_connections (fixture->proxy) == N_LOOK_ALIKE);
  open_many (&many, most - N_OTHERS);
  g_autoptr (GHashTable) before = channels_now (most);
  g_atomic_int_set (&n_looks, 0);
  g_autoptr (CuratorClient) client = client_new (fixture_proxy (fixture));
  g_autoptr (StateLog) log = state_log_new (client);
  client_start (client);
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_CONNECTED, 1, LONG_MS));
  assert_in_range (g_atomic_int_get (&n_looks), 1, MOST_LOOKS);
  for (int i = 1; i <= N_RECONNECTS; i++) {
    reconnect_and_test (fixture, log, before, most, i);
    assert_unchanged (&many);
  }
  curator_client_close (client);
  assert_unchanged (&many);
  many_close (&many);
  setrlimit (RLIMIT_NOFILE, &limit);
}

SUITE ("descriptors", fixture_start_calm, fixture_stop)
