/* What fork () waits for: the end of a thread that has passed the gate, in whose destructors GLib
 * works with its locks; threads inside the gate and in a look-up, also while the process is
 * stopped. */
#include "base/fork_gate.h"
#include "base/lookup.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANGS_AFTER_S 60
#define PAUSE_US      20000 /* of a destructor; less than fork () waits for */

typedef enum
{
  ENDS_BY_RETURN,
  ENDS_BY_EXIT,
  ENDS_BY_CANCEL,
  N_ENDS
} End;

static void
end_thread (End how)
{
  if (how == ENDS_BY_EXIT)
    pthread_exit (NULL);
  if (how == ENDS_BY_CANCEL) {
    pthread_cancel (pthread_self ());
    pthread_testcancel ();
  }
}

static void
wait_for (gint *sign)
{
  while (!g_atomic_int_get (sign))
    g_usleep (100);
}

/* --- fork ------------------------------------------------------------------------------------- */

static pthread_key_t earlier; /* than the one of the library */
static pthread_key_t slow;
static gint is_ending; /* atomic */
static gint n_ended;   /* atomic; destructors */

static void
destroy_slowly (void *data)
{
  g_atomic_int_set (&is_ending, 1);
  g_usleep (PAUSE_US);
  g_atomic_int_inc (&n_ended);
}

/* It has another turn, like memory that a destructor has used again. */
static void
destroy_earlier (void *data)
{
  destroy_slowly (data);
  if (data == &earlier)
    pthread_setspecific (earlier, &n_ended);
}

/* Makes the key of the library. */
static void *
run_first (void *data)
{
  curator_gate_enter ();
  curator_gate_leave ();
  return NULL;
}

static void *
run_slow (void *data)
{
  pthread_setspecific (earlier, &earlier);
  pthread_setspecific (slow, &slow);
  curator_gate_enter ();
  const End how = *(const End *) data;
  if (how == ENDS_BY_CANCEL)
    end_thread (how); /* inside */
  curator_gate_leave ();
  end_thread (how);
  return NULL;
}

/* Of all destructors, whether they were registered before the library's or after it. */
TEST (test_fork_waits_for_the_end)
{
  pthread_t thread;

  pthread_key_create (&earlier, destroy_earlier);
  curator_lookup_watch_forks ();
  assert_int_equal (pthread_create (&thread, NULL, run_first, NULL), 0);
  pthread_join (thread, NULL);
  pthread_key_create (&slow, destroy_slowly);
  for (End how = 0; how < N_ENDS; how++) {
    int status;

    g_atomic_int_set (&is_ending, 0);
    g_atomic_int_set (&n_ended, 0);
    assert_int_equal (pthread_create (&thread, NULL, run_slow, &how), 0);
    pthread_detach (thread); /* the child could not join it */
    wait_for (&is_ending);
    const pid_t pid = fork ();
    if (pid == 0)
      _exit (g_atomic_int_get (&n_ended) == 3 ? 0 : 1);
    assert_true (pid > 0);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
  }
}

/* --- a handler that joins --------------------------------------------------------------------- */

static gboolean has_thread;
static pthread_t joined;
static gint has_passed; /* atomic */
static gint may_end;    /* atomic */

static void *
run_until_told (void *data)
{
  curator_gate_enter ();
  curator_gate_leave ();
  g_atomic_int_set (&has_passed, 1);
  wait_for (&may_end);
  return NULL;
}

/* Of another library, registered before ours, so that it runs after it, with the gate closed. */
static void
join_before_fork (void)
{
  if (has_thread) {
    has_thread = FALSE;
    g_atomic_int_set (&may_end, 1);
    pthread_join (joined, NULL);
  }
}

TEST (test_fork_joins_a_thread)
{
  int status;

  curator_lookup_watch_forks ();
  alarm (HANGS_AFTER_S);
  assert_int_equal (pthread_create (&joined, NULL, run_until_told, NULL), 0);
  wait_for (&has_passed);
  has_thread = TRUE;
  const pid_t pid = fork ();
  if (pid == 0)
    _exit (0);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_false (has_thread);
  alarm (0);
}

/* --- a process that is stopped ---------------------------------------------------------------- */

#define STOPPED_US 1300000 /* longer than fork () waits for anybody */
#define STEPS      8 /* of a millisecond, which are left after the stop; shorter than a destructor */
#define SETTLES_US 5000 /* then fork () waits, as a rule */

typedef struct
{
  gboolean is_lookup; /* else the gate */
  CuratorLookupKind kind;
} Room;

static gint is_ready;       /* atomic */
static gint fork_has_begun; /* atomic */
static gint has_left;       /* atomic */

static void
note_fork (void)
{
  g_atomic_int_set (&fork_has_begun, 1);
}

static void *
run_stopped (void *data)
{
  const Room *room = data;

  if (room->is_lookup)
    curator_lookup_enter (room->kind);
  else
    curator_gate_enter ();
  g_atomic_int_set (&has_passed, 1);
  wait_for (&fork_has_begun);
  g_usleep (2 * SETTLES_US);
  kill (getpid (), SIGSTOP);
  for (int i = 0; i < STEPS; i++)
    g_usleep (1000);
  g_atomic_int_set (&has_left, 1);
  if (room->is_lookup)
    curator_lookup_leave (room->kind);
  else
    curator_gate_leave ();
  return NULL;
}

/* Ends at the closed gate. */
static void *
run_to_end (void *data)
{
  curator_gate_enter ();
  curator_gate_leave ();
  pthread_setspecific (slow, &slow);
  g_atomic_int_set (&is_ready, 1);
  wait_for (&fork_has_begun);
  g_usleep (SETTLES_US);
  return NULL;
}

/* Forks while one thread is inside and another one ends. Its child says whether they were where
 * they have locks. */
static G_NORETURN void
fork_inside (const Room *room)
{
  pthread_t thread;
  pthread_t ending;
  int status = -1;

  alarm (HANGS_AFTER_S);
  curator_lookup_watch_forks ();
  pthread_key_create (&slow, destroy_slowly);
  pthread_atfork (note_fork, NULL, NULL);
  g_atomic_int_set (&has_passed, 0);
  g_atomic_int_set (&fork_has_begun, 0);
  g_atomic_int_set (&is_ending, 0);
  g_atomic_int_set (&n_ended, 0);
  pthread_create (&thread, NULL, run_stopped, (void *) room);
  pthread_create (&ending, NULL, run_to_end, NULL);
  wait_for (&has_passed);
  wait_for (&is_ready);
  const pid_t pid = fork ();
  if (pid == 0) {
    const gboolean ends = g_atomic_int_get (&is_ending) && g_atomic_int_get (&n_ended) == 0;
    _exit (g_atomic_int_get (&has_left) && !ends ? 0 : 1);
  }
  waitpid (pid, &status, 0);
  pthread_join (thread, NULL);
  pthread_join (ending, NULL);
  _exit (status == 0 ? 0 : 1);
}

TEST (test_fork_waits_through_a_stop)
{
  static const Room rooms[] = { { .is_lookup = FALSE },
                                { TRUE, CURATOR_LOOKUP_BY_US },
                                { TRUE, CURATOR_LOOKUP_BY_LIBRARY } };

  for (gsize i = 0; i < G_N_ELEMENTS (rooms); i++) {
    int status, n_stops = 0; /* somebody else may stop it, too */
    const pid_t pid = fork ();
    if (pid == 0)
      fork_inside (&rooms[i]);
    for (; waitpid (pid, &status, WUNTRACED) == pid && WIFSTOPPED (status); n_stops++) {
      g_usleep (STOPPED_US);
      kill (pid, SIGCONT);
    }
    assert_true (n_stops > 0);
    assert_int_equal (status, 0);
  }
}

int
main (void)
{
  pthread_atfork (join_before_fork, NULL, NULL);
  return suite_run ("fork_gate", NULL, NULL);
}
