/* The end of a thread that has passed the gate: fork () waits for the destructors of its keys, in which
 * GLib works with its locks. */
#include "base/fork_gate.h"
#include "base/lookup.h"
#include "base/thread_end.h"
#include "unit.h"

#include <string.h>
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
    {
      pthread_exit (NULL);
    }
  if (how == ENDS_BY_CANCEL)
    {
      pthread_cancel (pthread_self ());
      pthread_testcancel ();
    }
}

static void
wait_for (gint *sign)
{
  while (!g_atomic_int_get (sign))
    {
      g_usleep (100);
    }
}

/* --- the order ---------------------------------------------------------------------------------- */

static pthread_key_t earlier;
static pthread_key_t later;
static char order[16]; /* of one thread, read after it was joined */

static void
note (char what)
{
  order[strlen (order)] = what;
}

static void
note_begin (void)
{
  note ('b');
}

static void
note_over (void)
{
  note ('o');
}

static void
destroy_earlier (void *data)
{
  note ('e');
}

/* It has another turn, like memory that a destructor has used again. */
static void
destroy_later (void *data)
{
  note ('l');
  if (data != &order)
    {
      pthread_setspecific (later, &order);
    }
}

static void
ignore (void)
{
}

static void *
run_first (void *data)
{
  curator_thread_end_watch (ignore, ignore);
  return NULL;
}

static void *
run_watched (void *data)
{
  pthread_setspecific (earlier, &earlier);
  curator_thread_end_watch (note_begin, note_over);
  pthread_setspecific (later, &later);
  end_thread (*(const End *) data);
  return NULL;
}

static void
run_once (void *(*run) (void *), End how)
{
  pthread_t thread;

  assert_int_equal (pthread_create (&thread, NULL, run, &how), 0);
  pthread_join (thread, NULL);
}

static void
test_order (void **state)
{
  pthread_key_create (&earlier, destroy_earlier);
  run_once (run_first, 0); /* makes the key of the library */
  pthread_key_create (&later, destroy_later);
  for (End how = 0; how < N_ENDS; how++)
    {
      run_once (run_watched, how);
      assert_int_equal (strlen (order), 5);
      assert_int_equal (order[0], 'b');
      assert_int_equal (order[4], 'o');
      memset (order, 0, sizeof order);
    }
}

/* --- fork --------------------------------------------------------------------------------------- */

static pthread_key_t slow;
static gint is_ending; /* atomic */
static gint has_ended; /* atomic */

static void
destroy_slowly (void *data)
{
  g_atomic_int_set (&is_ending, 1);
  g_usleep (PAUSE_US);
  g_atomic_int_set (&has_ended, 1);
}

static void *
run_slow (void *data)
{
  pthread_setspecific (slow, &slow);
  curator_gate_enter ();
  const End how = *(const End *) data;
  if (how == ENDS_BY_CANCEL)
    {
      end_thread (how); /* inside */
    }
  curator_gate_leave ();
  end_thread (how);
  return NULL;
}

static void
test_fork_waits_for_the_end (void **state)
{
  curator_lookup_watch_forks ();
  pthread_key_create (&slow, destroy_slowly);
  for (End how = 0; how < N_ENDS; how++)
    {
      pthread_t thread;
      int status;

      g_atomic_int_set (&is_ending, 0);
      g_atomic_int_set (&has_ended, 0);
      assert_int_equal (pthread_create (&thread, NULL, run_slow, &how), 0);
      pthread_detach (thread); /* the child could not join it */
      wait_for (&is_ending);
      const pid_t pid = fork ();
      if (pid == 0)
        {
          _exit (g_atomic_int_get (&has_ended) ? 0 : 1);
        }
      assert_true (pid > 0);
      assert_int_equal (waitpid (pid, &status, 0), pid);
      assert_int_equal (status, 0);
      wait_for (&has_ended);
    }
}

/* --- a handler that joins ----------------------------------------------------------------------- */

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
  if (has_thread)
    {
      has_thread = FALSE;
      g_atomic_int_set (&may_end, 1);
      pthread_join (joined, NULL);
    }
}

static void
test_fork_joins_a_thread (void **state)
{
  int status;

  curator_lookup_watch_forks ();
  alarm (HANGS_AFTER_S);
  assert_int_equal (pthread_create (&joined, NULL, run_until_told, NULL), 0);
  wait_for (&has_passed);
  has_thread = TRUE;
  const pid_t pid = fork ();
  if (pid == 0)
    {
      _exit (0);
    }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_false (has_thread);
  alarm (0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_order),
    cmocka_unit_test (test_fork_waits_for_the_end),
    cmocka_unit_test (test_fork_joins_a_thread),
  };
  pthread_atfork (join_before_fork, NULL, NULL);
  return cmocka_run_group_tests_name ("fork_gate", tests, NULL, NULL);
}
