/* At any moment in the lives of one to eight busy threads, with clients of their own or with the one
 * that is inherited, the process forks. The child calls every public function on what it has
 * inherited, and then lives a life of its own: a client by name or by number, an acquire, a release,
 * a close. It neither hangs nor takes longer than a fresh process, and the parent is not affected.
 *
 * A fresh process is this program, executed anew. It takes turns with the children, so that both
 * meet the same load. CURATOR_FORK_CHILDREN: how many children.
 */
#include "attack.h"
#include "support/metronome.h"
#include "support/process.h"
#include "support/sanitized.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_CHILDREN     80 /* unless the environment says more */
#define MOST_BUSY      8
#define MOST_PAUSE_US  20000
#define HANGS_AFTER_MS 40000
#define ALLOWED_MS     500 /* more than the slowest fresh process */
#define FROM_CALLBACK  5   /* every so many children are forked by a callback */
#define MOST_KINDS     16  /* of locks */

/* --- names ------------------------------------------------------------------------------------ */

#define NAME "localhost"

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static struct in_addr server_ip; /* each server of a test has a loopback address of its own */

/* In place of the C library's: it looks the name up, but the server is elsewhere on this host. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
  const int failed = real (node, service, hints, found);

  if (failed != 0 || g_strcmp0 (node, NAME) != 0)
    return failed;
  for (struct addrinfo *next = *found; next != NULL; next = next->ai_next)
    if (next->ai_family == AF_INET)
      ((struct sockaddr_in *) next->ai_addr)->sin_addr = server_ip;
  return 0;
}

static void
set_server (const char *address)
{
  g_auto (GStrv) parts = g_strsplit (address, ":", 2);
  inet_pton (AF_INET, parts[0], &server_ip);
}

/* --- a life ----------------------------------------------------------------------------------- */

typedef enum
{
  STEP_FORK,
  STEP_INHERITED, /* calls of everything inherited */
  STEP_START,
  STEP_CONNECT,
  STEP_ACQUIRE,
  STEP_RELEASE,
  STEP_CLOSE,
  N_STEPS
} Step;

static const char *const step_names[N_STEPS] = { "fork",    "inherited", "start", "connect",
                                                 "acquire", "release",   "close" };
static gint64 *ended_ms; /* shared with the children: when each step ended; 0: not yet */

static int
end_step (Step step, gboolean success)
{
  if (ended_ms != NULL)
    ended_ms[step] = wait_now_ms ();
  return success;
}

/* Returns the number of the step that failed, or 0. */
static int
live (const char *address, const char *path)
{
  g_autoptr (CuratorClient) client = curator_client_new (address, NULL);
  g_autoptr (CuratorLock) lock = NULL;

  if (!end_step (STEP_START, curator_client_start (client, NULL)))
    return STEP_START;
  if (!end_step (STEP_CONNECT, curator_client_block_until_connected (client, LONG_MS, NULL, NULL)))
    return STEP_CONNECT;
  lock = curator_mutex_new (client, path, NULL);
  if (!end_step (STEP_ACQUIRE, lock != NULL && curator_lock_acquire (lock, LONG_MS, NULL, NULL)))
    return STEP_ACQUIRE;
  if (!end_step (STEP_RELEASE, curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL)))
    return STEP_RELEASE;
  curator_client_close (client);
  end_step (STEP_CLOSE, TRUE);
  return 0;
}

/* What a child that was slow or failed has done. */
static void
show_steps (void)
{
  for (int i = STEP_FORK + 1; i < N_STEPS && ended_ms[i - 1] != 0; i++)
    if (ended_ms[i] == 0)
      print_error ("  %s: did not end\n", step_names[i]);
    else
      print_error ("  %s: %d ms\n", step_names[i], (int) (ended_ms[i] - ended_ms[i - 1]));
}

/* --- the busy ones ---------------------------------------------------------------------------- */

typedef struct
{
  const char *addresses[2]; /* by number and by name */
  CuratorClient *inherited[MOST_KINDS];
  gint n_inherited; /* atomic */
  gint n_busy;      /* atomic; how many of the threads work */
  gint n_threads;   /* atomic; how many there are */
  gint is_over;     /* atomic */
  gint n_lives;     /* atomic */
  pthread_t threads[MOST_BUSY];
} Busy;

static void
ignore_lease (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  g_clear_pointer (&lease, curator_lease_unref);
}

static void
ignore_state (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
}

/* No GError: to free one is a call of GLib's on a thread that is not the library's. */
static void
be_busy (CuratorClient *client, guint turn)
{
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/busy/lock", NULL);
  g_autoptr (CuratorLock) other = curator_mutex_new (client, "/busy/other", NULL);

  for (guint i = 0; i < turn % 24; i++) {
    curator_lock_acquire_then (other, 5, NULL, ignore_lease, NULL);
    if (curator_lock_acquire (lock, 20, NULL, NULL))
      curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
}

static void *
run_worker (void *data)
{
  Busy *busy = data;
  const gint number = g_atomic_int_add (&busy->n_threads, 1);

  for (guint turn = 0; !g_atomic_int_get (&busy->is_over); turn++) {
    if (number >= g_atomic_int_get (&busy->n_busy)) {
      g_usleep (1000);
      continue;
    }
    const guint n_inherited = (guint) g_atomic_int_get (&busy->n_inherited);
    if (turn % 3 == 2 && n_inherited > 0) {
      be_busy (busy->inherited[turn % n_inherited], turn);
      continue;
    }
    CuratorClient *client = curator_client_new (busy->addresses[turn % 2], NULL);
    curator_client_add_state_listener (client, ignore_state, NULL, NULL);
    G_GNUC_UNUSED const gboolean started = curator_client_start (client, NULL);
    if (turn % 7 != 6) /* else it ends while it connects */
    {
      G_GNUC_UNUSED const gboolean connected =
          curator_client_block_until_connected (client, LONG_MS, NULL, NULL);
      be_busy (client, turn);
    }
    curator_client_unref (client);
    g_atomic_int_inc (&busy->n_lives);
  }
  return NULL;
}

static void
busy_start (Busy *busy)
{
  for (int i = 0; i < MOST_BUSY; i++)
    assert_int_equal (pthread_create (&busy->threads[i], NULL, run_worker, busy), 0);
}

static void
busy_stop (Busy *busy)
{
  g_atomic_int_set (&busy->is_over, 1);
  for (int i = 0; i < MOST_BUSY; i++)
    pthread_join (busy->threads[i], NULL);
}

/* --- processes -------------------------------------------------------------------------------- */

typedef struct
{
  World *world;
  const char *address;
  const char *path;
  const char *server;
  gint64 forked_ms; /* when fork () had returned */
  pid_t pid;        /* atomic; of the child that a callback has forked */
} Fork;

static G_NORETURN void
run_child (const Fork *fork)
{
  end_step (STEP_FORK, TRUE);
  attack_n_failures = 0;
  attack_watch_for_crashes ();
  attack_all (fork->world);
  end_step (STEP_INHERITED, TRUE);
  _exit (attack_n_failures > 0 ? 100 : live (fork->address, fork->path));
}

static void
fork_in_callback (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  Fork *one = data;
  const pid_t pid = fork ();
  if (pid == 0)
    run_child (one);
  one->forked_ms = wait_now_ms ();
  g_clear_pointer (&lease, curator_lease_unref);
  g_atomic_int_set (&one->pid, pid);
}

static pid_t
fork_child (Fork *one, CuratorLock *lock, gboolean from_callback)
{
  if (from_callback) {
    curator_lock_acquire_then (lock, LONG_MS, NULL, fork_in_callback, one);
    assert_soon (g_atomic_int_get (&one->pid) != 0);
    return one->pid;
  }
  const pid_t pid = fork ();
  if (pid == 0)
    run_child (one);
  one->forked_ms = wait_now_ms ();
  return pid;
}

static pid_t
start_fresh (const Fork *one)
{
  const pid_t pid = fork ();
  if (pid == 0) {
    execl ("/proc/self/exe", "test_lives_after_fork", one->address, one->path, one->server, NULL);
    _exit (127);
  }
  return pid;
}

/* How long it lived; -1: it hung. */
static gint64
wait_for (pid_t pid, gint64 since_ms, int *status)
{
  pid_t ended;

  assert_true (pid > 0);
  while ((ended = waitpid (pid, status, WNOHANG)) == 0
         && wait_now_ms () < since_ms + HANGS_AFTER_MS)
    g_usleep (500);
  if (ended == pid)
    return wait_now_ms () - since_ms;
  process_kill (pid);
  return -1;
}

/* --- the test --------------------------------------------------------------------------------- */

typedef struct
{
  guint n_hung;
  guint n_wrong;
  gint64 slowest_ms;
  gint64 slowest_fresh_ms;
} Result;

static guint
n_children (void)
{
  const char *text = g_getenv ("CURATOR_FORK_CHILDREN");
  return text != NULL ? (guint) strtoul (text, NULL, 10) : N_CHILDREN;
}

static void
take_turns (Busy *busy, CuratorLock *lock, World *world, guint number, Result *result)
{
  Fork one = { .world = world,
               .address = busy->addresses[number / 2 % 2],
               .path = "/lives/own",
               .server = busy->addresses[0] };
  int status = 0;

  g_atomic_int_set (&busy->n_busy, 1 + (gint) (number % MOST_BUSY));
  g_usleep ((gulong) g_random_int_range (0, MOST_PAUSE_US));
  memset (ended_ms, 0, N_STEPS * sizeof *ended_ms);
  const pid_t pid = fork_child (&one, lock, number % FROM_CALLBACK == 0);
  gint64 took_ms = wait_for (pid, one.forked_ms, &status);
  const gint64 late_ms = metronome_stalled_us (one.forked_ms * 1000) / 1000;
  if (took_ms >= 0 && status == 0)
    took_ms = MAX (ended_ms[STEP_CLOSE] - ended_ms[STEP_FORK] - late_ms, 0);
  result->n_hung += took_ms < 0 ? 1 : 0;
  result->slowest_ms = MAX (result->slowest_ms, took_ms);
  if (took_ms < 0 || status != 0) {
    print_error ("child %u (%u busy): %s, status 0x%x\n", number, 1 + number % MOST_BUSY,
                 took_ms < 0 ? "hung" : "failed", (unsigned) status);
    result->n_wrong++;
  }
  if (took_ms < 0 || status != 0 || took_ms > ALLOWED_MS) {
    print_error ("child %u lived for %d ms\n", number, (int) took_ms);
    show_steps ();
  }

  const gint64 since_ms = wait_now_ms ();
  took_ms = wait_for (start_fresh (&one), since_ms, &status);
  assert_true (took_ms >= 0);
  assert_int_equal (status, 0);
  result->slowest_fresh_ms = MAX (result->slowest_fresh_ms, took_ms);
}

static void
skip_if_sanitized (void)
{
#if IS_SANITIZED
  print_message ("left out: the allocators of sanitizers do not survive a fork at any moment\n");
  skip ();
#endif
}

TEST (test_p32_children_live)
{
  skip_if_sanitized ();
  g_autofree char *by_name = g_strdup_printf (NAME "%s", strrchr (fixture_server (fixture), ':'));
  Busy busy = { .addresses = { fixture_server (fixture), by_name } };
  Result result = { 0 };
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/lives/callback");

  set_server (fixture_server (fixture));
  ended_ms = mmap (NULL, N_STEPS * sizeof *ended_ms, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true (ended_ms != MAP_FAILED);
  assert_in_range (attack_n_lock_kinds, 1, MOST_KINDS);
  busy_start (&busy);
  for (guint kind = 0, i = 0; kind < attack_n_lock_kinds; kind++) {
    World *world = attack_world_new (fixture, STATE_FORKED, kind);
    busy.inherited[kind] = curator_client_ref (world->client);
    g_atomic_int_inc (&busy.n_inherited);
    for (; i < n_children () * (kind + 1) / attack_n_lock_kinds; i++)
      take_turns (&busy, lock, world, i, &result);
    assert_int_equal (curator_lease_get_state (world->lease), CURATOR_LEASE_STATE_HELD);
    /* It would be RECONNECTED after any other state. */
    assert_int_equal (curator_client_get_connection_state (world->client),
                      CURATOR_CONNECTION_STATE_CONNECTED);
    attack_world_free (world);
  }
  busy_stop (&busy);
  for (guint kind = 0; kind < attack_n_lock_kinds; kind++)
    curator_client_unref (busy.inherited[kind]);
  assert_no_residue (fixture, "/busy/lock", LONG_MS);
  print_message ("%u children beside %d lives: %u hung; the slowest took %" G_GINT64_FORMAT
                 " ms, the slowest fresh process %" G_GINT64_FORMAT " ms\n",
                 n_children (), busy.n_lives, result.n_hung, result.slowest_ms,
                 result.slowest_fresh_ms);
  assert_int_equal (result.n_wrong, 0);
  assert_true (result.slowest_ms <= result.slowest_fresh_ms + ALLOWED_MS);
}

static void *
look_up_quarks (void *data)
{
  gint *stop = data;
  while (!g_atomic_int_get (stop))
    g_quark_from_static_string ("curator-error-quark");
  return NULL;
}

/* The lock around GLib's quarks is hardly ever free: in the child it may be locked for ever. */
TEST (test_errors_need_no_lock_of_glib)
{
  skip_if_sanitized ();
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  pthread_t threads[4];
  gint stop = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, look_up_quarks, &stop);
  for (int i = 0; i < 50; i++) {
    const pid_t pid = fork ();
    int status = 0;
    if (pid == 0) {
      g_autoptr (GError) error = NULL;
      alarm (HANGS_AFTER_MS / 1000);
      _exit (!curator_client_start (client, &error) && error->code == CURATOR_ERROR_FORKED ? 0 : 1);
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    if (status != 0)
      fail_msg ("child %d: status 0x%x", i, (unsigned) status);
  }
  g_atomic_int_set (&stop, 1);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
}

int
main (int argc, char **argv)
{
  if (argc == 4) {
    set_server (argv[3]);
    return live (argv[1], argv[2]);
  }
  metronome_start ();
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (attack_count_criticals, NULL, NULL);
  return suite_run ("lives_after_fork", fixture_start_calm, fixture_stop);
}
