#include "lab.h"

#include "figures.h"
#include "support/checker.h"
#include "support/history.h"
#include "support/process.h"
#include "support/raw_zk.h"
#include "support/scratch.h"
#include "support/waiting.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

struct _Lab
{
  char *name;
  char *directory;
  GArray *pids; /* pid_t, 0 once it has ended; the n-th process has number n + 1 */
  Resource *resource;
  Figures *figures;
};

Lab *
lab_new (const char *name)
{
  Lab *lab = g_new0 (Lab, 1);
  lab->name = g_strdup (name);
  lab->directory = scratch_new ("lab");
  lab->pids = g_array_new (FALSE, TRUE, sizeof (pid_t));
  lab->resource = resource_open (lab->directory);
  lab->figures = figures_open (name);
  assert_non_null (lab->resource);
  assert_non_null (lab->figures);
  return lab;
}

static void
lab_free (Lab *lab)
{
  resource_close (lab->resource);
  figures_close (lab->figures);
  g_array_unref (lab->pids);
  scratch_remove (lab->directory);
  g_free (lab->name);
  g_free (lab);
}

static int
start_server (void **state, const char *security)
{
  const ZkServerSetup setup = { .tick_ms = LAB_TICK_MS, .security = security };
  *state = zk_server_available () ? zk_server_start_as (&setup) : NULL;
  return *state != NULL ? 0 : -1;
}

int
lab_start (void **state)
{
  return start_server (state, security_usual_folder ());
}

int
lab_start_secured (void **state)
{
  const char *folder = security_folder ();
  return folder != NULL ? start_server (state, folder) : -1;
}

int
lab_stop (void **state)
{
  zk_server_stop (*state);
  return 0;
}

void
lab_figure (Lab *lab, const char *name, double value)
{
  figures_add (lab->figures, name, value);
}

Resource *
lab_resource (Lab *lab)
{
  return lab->resource;
}

const char *
lab_directory (Lab *lab)
{
  return lab->directory;
}

int
lab_start_holder (Lab *lab, const char *connect_string, guint lock)
{
  return lab_start_leader (lab, connect_string, lock, NULL);
}

int
lab_start_leader (Lab *lab, const char *connect_string, guint lock, const char *recipe)
{
  const int process = (int) lab->pids->len + 1;
  g_autofree char *path = g_strdup_printf ("/faults/%u", lock);
  g_autofree char *session = g_strdup_printf ("%d", LAB_SESSION_MS);
  g_autofree char *tick = g_strdup_printf ("%d", LAB_TICK_MS);
  g_autofree char *number = g_strdup_printf ("%u", lock);
  g_autofree char *who = g_strdup_printf ("%d", process);
  g_autofree char *output = g_strdup_printf ("%s/%d.out", lab->directory, process);
  const char *const argv[] = { FAULT_HOLDER, connect_string, path,
                               session,      tick,           number,
                               who,          lab->directory, recipe != NULL ? recipe : "mutex",
                               NULL };
  const pid_t pid = process_spawn ((char *const *) argv, output);
  assert_true (pid != 0);
  g_array_append_val (lab->pids, pid);
  return process;
}

gint64
lab_told_ns (Lab *lab, int process)
{
  g_autofree char *path = g_strdup_printf ("%s/%d.out", lab->directory, process);
  g_autofree char *text = NULL;
  g_file_get_contents (path, &text, NULL, NULL);
  const char *told = text != NULL ? strstr (text, "TOLD ") : NULL;
  return told != NULL ? g_ascii_strtoll (told + strlen ("TOLD "), NULL, 10) : 0;
}

pid_t
lab_pid (Lab *lab, int process)
{
  return g_array_index (lab->pids, pid_t, process - 1);
}

static void
print_output (Lab *lab, int process)
{
  g_autofree char *path = g_strdup_printf ("%s/%d.out", lab->directory, process);
  g_autofree char *text = NULL;
  g_file_get_contents (path, &text, NULL, NULL);
  print_error ("output of process %d:\n%s\n", process, text != NULL ? text : "(nothing)");
}

static gboolean
end_holder (Lab *lab, int process)
{
  int status = 0;
  const pid_t pid = lab_pid (lab, process);
  if (pid == 0)
    return TRUE;
  kill (pid, SIGCONT);
  kill (pid, SIGTERM);
  const gboolean ended = process_wait (pid, LAB_PATIENCE_MS, &status);
  if (!ended)
    process_kill (pid);
  g_array_index (lab->pids, pid_t, process - 1) = 0;
  if (!ended || !WIFEXITED (status) || WEXITSTATUS (status) != 0)
    {
      print_output (lab, process);
      print_error ("process %d %s (status 0x%x)\n", process, ended ? "failed" : "hangs", status);
      return FALSE;
    }
  return TRUE;
}

void
lab_end_holder (Lab *lab, int process)
{
  assert_true (end_holder (lab, process));
}

GArray *
lab_events (Lab *lab, int process)
{
  GArray *events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  recorder_read_process (lab->directory, process, events);
  return events;
}

void
lab_stop_holder (Lab *lab, int process)
{
  int status;
  kill (lab_pid (lab, process), SIGSTOP);
  while (waitpid (lab_pid (lab, process), &status, WUNTRACED) < 0 && errno == EINTR)
    {
    }
}

void
lab_continue_holder (Lab *lab, int process)
{
  kill (lab_pid (lab, process), SIGCONT);
}

gboolean
lab_find (Lab *lab, int process, RecordOp op, RecordEvent *event)
{
  g_autoptr (GArray) events = lab_events (lab, process);
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *at = &g_array_index (events, RecordEvent, i);
      if (at->op == op)
        {
          *event = *at;
          return TRUE;
        }
    }
  return FALSE;
}

gboolean
lab_wait (Lab *lab, int process, RecordOp op, int timeout_ms, RecordEvent *event)
{
  const gint64 deadline = wait_now_ms () + timeout_ms;
  gboolean found;
  while (!(found = lab_find (lab, process, op, event)) && wait_now_ms () < deadline)
    wait_ms (10);
  return found;
}

gboolean
lab_conclude (Lab *lab)
{
  static const CheckerRules rules = { .residue_ms = LAB_PATIENCE_MS };
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  gboolean good = TRUE;
  for (guint i = 0; i < lab->pids->len; i++)
    good = end_holder (lab, (int) i + 1) && good;
  good = recorder_read_all (lab->directory, events) && good;
  history_add_events (lab->directory, events);
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  good = checker_print (violations) == 0 && good;
  lab_figure (lab, "violations", violations->len);
  lab_free (lab);
  return good;
}

void
lab_finish (Lab *lab)
{
  assert_true (lab_conclude (lab));
}

static void
wait_for_queue (const Duel *duel, int n)
{
  g_autofree char *path = g_strdup_printf ("/faults/%u", duel->lock);
  g_autoptr (RawZk) raw = raw_zk_open (duel->waiter_at);
  assert_non_null (raw);
  assert_true (raw_zk_wait_children (raw, path, n, LAB_PATIENCE_MS));
}

static void
assert_granted (Lab *lab, int process, RecordEvent *grant)
{
  if (!lab_wait (lab, process, RECORD_ACQUIRE_RETURNED, LAB_PATIENCE_MS, grant)
      || grant->result != RECORD_OK)
    {
      print_output (lab, process);
      fail_msg ("process %d was not granted the lock", process);
    }
}

void
duel_start (Lab *lab, Duel *duel)
{
  RecordEvent grant;
  const Security security = duel->security != SECURITY_NONE ? duel->security : security_usual ();
  g_autofree char *holder_at = security_connect_string (duel->holder_at, security);
  g_autofree char *waiter_at = security_connect_string (duel->waiter_at, security);
  duel->a = lab_start_leader (lab, holder_at, duel->lock, duel->recipe);
  assert_granted (lab, duel->a, &grant);
  duel->b = lab_start_leader (lab, waiter_at, duel->lock, duel->recipe);
  wait_for_queue (duel, 2);
}

void
duel_note_fault (Duel *duel)
{
  duel->fault_ns = wait_now_ns ();
}

gboolean
duel_wait_grant (Lab *lab, Duel *duel, int timeout_ms)
{
  RecordEvent grant;
  return lab_wait (lab, duel->b, RECORD_ACQUIRE_RETURNED, timeout_ms, &grant);
}

static gint64
time_of (Lab *lab, int process, RecordOp op)
{
  RecordEvent event;
  return lab_find (lab, process, op, &event) ? event.time_ns : 0;
}

static void
find_end_of_belief (Lab *lab, Duel *duel)
{
  const gint64 told_ns = time_of (lab, duel->a, RECORD_LOST);
  const gint64 deadline_ns = time_of (lab, duel->a, RECORD_DEADLINE);
  duel->suspect_ns = time_of (lab, duel->a, RECORD_SUSPECT);
  duel->lost = told_ns != 0 || deadline_ns != 0;
  duel->over_ns = time_of (lab, duel->a, RECORD_RELEASE_CALLED);
  duel->over_ns = deadline_ns != 0 ? MIN (deadline_ns, duel->over_ns) : duel->over_ns;
  duel->over_ns = told_ns != 0 ? MIN (told_ns, duel->over_ns) : duel->over_ns;
}

static double
since_fault_ms (const Duel *duel, gint64 at_ns)
{
  return at_ns != 0 ? (double) (at_ns - duel->fault_ns) / 1e6 : -1;
}

static char *
label_of (const Duel *duel)
{
  return g_strdup_printf ("%s%s%s", duel->name, duel->recipe != NULL ? ", " : "",
                          duel->recipe != NULL ? duel->recipe : "");
}

static void
print_duel (Lab *lab, const Duel *duel)
{
  const double margin = (double) (duel->grant_ns - duel->over_ns) / 1e6;
  g_autofree char *label = label_of (duel);
  print_message ("%-28s SUSPECT %+6.0f ms  %-8s %+6.0f ms  granted elsewhere %+6.0f ms  margin "
                 "%5.0f ms\n",
                 label, since_fault_ms (duel, duel->suspect_ns), duel->lost ? "LOST" : "released",
                 since_fault_ms (duel, duel->over_ns), since_fault_ms (duel, duel->grant_ns),
                 margin);
  lab_figure (lab, "duels", 1);
  if (duel->lost)
    lab_figure (lab, "margin_ms", margin);
  if (duel->lost && duel->suspect_ns > duel->fault_ns)
    lab_figure (lab, "suspect_share", since_fault_ms (duel, duel->suspect_ns) / LAB_SESSION_MS);
}

/* A leader that has lost its lease was told to stop before the next one leads. */
static void
check_told (Lab *lab, const Duel *duel)
{
  const gint64 told_ns = lab_told_ns (lab, duel->a);
  g_autofree char *label = label_of (duel);
  print_message ("%-28s told to stop %+6.0f ms  margin %5.0f ms\n", label,
                 since_fault_ms (duel, told_ns), (double) (duel->grant_ns - told_ns) / 1e6);
  assert_true (told_ns > duel->fault_ns);
  assert_true (told_ns < duel->grant_ns || duel->is_stopped);
}

void
duel_finish (Lab *lab, Duel *duel)
{
  RecordEvent grant;
  if (!lab_find (lab, duel->b, RECORD_ACQUIRE_RETURNED, &grant))
    {
      lab_end_holder (lab, duel->a);
      assert_granted (lab, duel->b, &grant);
    }
  assert_int_equal (grant.result, RECORD_OK);
  lab_end_holder (lab, duel->a);
  lab_end_holder (lab, duel->b);
  duel->grant_ns = grant.time_ns;
  find_end_of_belief (lab, duel);
  print_duel (lab, duel);
  assert_true (duel->over_ns != 0);
  assert_true (duel->over_ns < duel->grant_ns);
  if (duel->recipe != NULL && duel->lost)
    check_told (lab, duel);
}
