/* A program forks while its threads lock and unlock. Each child lives a whole life: a handle, a
 * mutex, a hold, an end. Of GLib the program knows nothing, so it has GLib's own blocks of memory,
 * with their locks.
 *
 * CURATOR_FORK_CHILDREN: how many children.
 */
#include "fixture.h"
#include "support/process.h"
#include "support/sanitized.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zoo_lock.h>

#define N_CHILDREN   96 /* unless the environment says more */
#define MOST_AT_ONCE 12
#define N_WORKERS    4
#define PAUSE_US     3000

static gint is_over; /* atomic */
static gint n_turns; /* atomic */

static void
on_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
}

static void
on_word (int rc, void *data)
{
}

/* Waits for no answer of a look-up: one that was under way in fork () may have left the C library
 * locked. */
static zhandle_t *
open_handle (const char *address)
{
  zhandle_t *zh = zookeeper_init (address, on_event, LONG_SESSION_MS, NULL, NULL, 0);
  if (zh == NULL)
    return NULL;
  zoo_set_servers_resolution_delay (zh, -1);
  while (zoo_state (zh) != ZOO_CONNECTED_STATE)
    g_usleep (1000);
  return zh;
}

typedef struct
{
  const char *address;
  char *path;
  pthread_t thread;
} Worker;

static void *
work (void *data)
{
  const Worker *worker = data;
  zkr_lock_mutex_t mutex;
  zhandle_t *zh = open_handle (worker->address);
  while (!g_atomic_int_get (&is_over)) {
    /* Each of these begins and ends something. */
    zkr_lock_init_cb (&mutex, zh, worker->path, &ZOO_OPEN_ACL_UNSAFE, on_word, NULL);
    zkr_lock_lock (&mutex);
    zkr_lock_unlock (&mutex);
    zkr_lock_destroy (&mutex);
    g_atomic_int_inc (&n_turns);
  }
  zookeeper_close (zh);
  return NULL;
}

static G_NORETURN void
live (const char *address)
{
  zkr_lock_mutex_t mutex;
  zhandle_t *zh = open_handle (address);
  if (zh == NULL
      || zkr_lock_init_cb (&mutex, zh, (char *) "/fork/child", &ZOO_OPEN_ACL_UNSAFE, on_word, NULL)
             != ZOK
      || zkr_lock_lock (&mutex) != ZOK)
    _exit (1);
  while (!zkr_lock_isowner (&mutex))
    g_usleep (1000);
  _exit (zkr_lock_unlock (&mutex) != ZOK || zkr_lock_destroy (&mutex) != ZOK
                 || zookeeper_close (zh) != ZOK
             ? 2
             : 0);
}

static void
show_threads (pid_t pid)
{
  g_autofree char *number = g_strdup_printf ("%d", (int) pid);
  const char *const argv[] = { "/usr/bin/gdb",          "-p", number, "-batch", "-ex",
                               "thread apply all bt 8", NULL };
  int status;
  const pid_t gdb = process_spawn ((char *const *) argv, "/dev/stderr");
  if (gdb != 0 && !process_wait (gdb, LONG_MS, &status))
    process_kill (gdb);
}

/* How many have not lived to their end. */
static guint
reap (const pid_t *children, guint n)
{
  guint n_bad = 0;
  for (guint i = 0; i < n; i++) {
    int status = -1;
    const gboolean ended = process_wait (children[i], LONG_MS, &status);
    if (!ended) {
      show_threads (children[i]);
      process_kill (children[i]);
    }
    if (status != 0) {
      print_error ("a child %s, status 0x%x\n", ended ? "failed" : "hung", (unsigned) status);
      n_bad++;
    }
  }
  return n_bad;
}

TEST (test_children_live)
{
#if IS_SANITIZED
  print_message ("left out: the allocators of sanitizers do not survive a fork at any moment\n");
  skip ();
#endif
  static const char *const paths[] = { "/fork/common", "/fork/own" };
  const char *text = g_getenv ("CURATOR_FORK_CHILDREN");
  const guint n_children = text != NULL ? (guint) strtoul (text, NULL, 10) : N_CHILDREN;
  Worker workers[N_WORKERS];
  pid_t children[MOST_AT_ONCE];
  guint n_bad = 0;
  for (guint i = 0; i < N_WORKERS; i++) {
    workers[i] = (Worker){ fixture_server (fixture), (char *) paths[i % 2], 0 };
    assert_int_equal (pthread_create (&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (guint n = 0; n < n_children; n += MOST_AT_ONCE) {
    for (guint i = 0; i < MOST_AT_ONCE; i++) {
      gint enough = g_atomic_int_get (&n_turns) + 1;
      assert_soon (g_atomic_int_get (&n_turns) >= enough);
      g_usleep ((gulong) g_random_int_range (0, PAUSE_US));
      children[i] = fork ();
      if (children[i] == 0)
        live (fixture_server (fixture));
      assert_true (children[i] > 0);
    }
    n_bad += reap (children, MOST_AT_ONCE);
  }
  g_atomic_int_set (&is_over, TRUE);
  for (guint i = 0; i < N_WORKERS; i++)
    pthread_join (workers[i].thread, NULL);
  print_message ("%u of %u children did not live to their end\n", n_bad, n_children);
  assert_int_equal (n_bad, 0);
}

int
main (void)
{
  zoo_set_debug_level (ZOO_LOG_LEVEL_ERROR);
  return suite_run ("zoo lock fork", fixture_start_slow, fixture_stop);
}
