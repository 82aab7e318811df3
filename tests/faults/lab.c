#include "lab.h"

#include "support/checker.h"
#include "support/history.h"
#include "support/lateness.h"
#include "support/process.h"
#include "support/raw_zk.h"
#include "support/scratch.h"
#include "support/waiting.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

Lab *
lab_new (const char *name)
{
  Lab *lab = g_new0 (Lab, 1);
  metronome_start ();
  lab->directory = scratch_new ("lab");
  lab->pids = g_array_new (FALSE, TRUE, sizeof (pid_t));
  lab->resource = resource_open (lab->directory);
  lab->figures = figures_open (name);
  assert_non_null (lab->resource);
  assert_non_null (lab->figures);
  return lab;
}

int
lab_start (void **state)
{
  const ZkServerSetup setup = { .tick_ms = LAB_TICK_MS,
                                .security = LAB_SECURED ? security_folder () : NULL };
  *state = zk_server_available () ? zk_server_start_as (&setup) : NULL;
  return *state != NULL ? 0 : -1;
}

int
lab_stop (void **state)
{
  zk_server_stop (*state);
  return 0;
}

static char *
output_of (const Lab *lab, int process)
{
  return g_strdup_printf ("%s/%d.out", lab->directory, process);
}

int
lab_start_holder (Lab *lab, const char *connect_string, guint lock, const char *recipe)
{
  const int process = (int) lab->pids->len + 1;
  g_autofree char *path = g_strdup_printf ("/faults/%u", lock);
  g_autofree char *session = g_strdup_printf ("%d", LAB_SESSION_MS);
  g_autofree char *tick = g_strdup_printf ("%d", LAB_TICK_MS);
  g_autofree char *number = g_strdup_printf ("%u", lock);
  g_autofree char *who = g_strdup_printf ("%d", process);
  g_autofree char *output = output_of (lab, process);
  const char *const argv[] = { FAULT_HOLDER, connect_string, path,
                               session,      tick,           number,
                               who,          lab->directory, recipe != NULL ? recipe : "mutex",
                               NULL };
  const pid_t pid = process_spawn ((char *const *) argv, output);
  assert_true (pid != 0);
  g_array_append_val (lab->pids, pid);
  return process;
}

static char *
read_output (const Lab *lab, int process)
{
  g_autofree char *path = output_of (lab, process);
  char *text = NULL;
  return g_file_get_contents (path, &text, NULL, NULL) ? text : g_strdup ("");
}

static void
print_output (const Lab *lab, int process)
{
  g_autofree char *text = read_output (lab, process);
  print_error ("output of process %d:\n%s\n", process, text);
}

static pid_t *
pid_of (Lab *lab, int process)
{
  return &g_array_index (lab->pids, pid_t, process - 1);
}

static gboolean
end_holder (Lab *lab, int process)
{
  int status = 0;
  pid_t *pid = pid_of (lab, process);
  if (*pid == 0)
    return TRUE;
  kill (*pid, SIGCONT);
  kill (*pid, SIGTERM);
  const gboolean ended = process_wait (*pid, LAB_PATIENCE_MS, &status);
  if (!ended)
    process_kill (*pid);
  *pid = 0;
  if (ended && WIFEXITED (status) && WEXITSTATUS (status) == 0)
    return TRUE;
  print_output (lab, process);
  print_error ("process %d %s (status 0x%x)\n", process, ended ? "failed" : "hangs", status);
  return FALSE;
}

void
lab_end_holder (Lab *lab, int process)
{
  assert_true (end_holder (lab, process));
}

void
lab_stop_holder (Lab *lab, int process)
{
  const pid_t pid = *pid_of (lab, process);
  kill (pid, SIGSTOP);
  waitid (P_PID, (id_t) pid, &(siginfo_t){ 0 }, WSTOPPED | WEXITED | WNOWAIT);
}

void
lab_continue_holder (Lab *lab, int process)
{
  kill (*pid_of (lab, process), SIGCONT);
}

gboolean
lab_find (Lab *lab, int process, RecordOp op, gint64 since_ns, RecordEvent *event)
{
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  recorder_read_process (lab->directory, process, events);
  for (guint i = 0; i < events->len; i++) {
    *event = g_array_index (events, RecordEvent, i);
    if (event->op == op && event->time_ns >= since_ns)
      return TRUE;
  }
  return FALSE;
}

RecordEvent
lab_wait (Lab *lab, int process, RecordOp op, gint64 since_ns)
{
  RecordEvent event;
  if (!holds_within (lab_find (lab, process, op, since_ns, &event), LAB_PATIENCE_MS)) {
    print_output (lab, process);
    fail_msg ("process %d: no %s", process, record_op_to_string (op));
  }
  return event;
}

void
lab_wait_queue (const char *server, guint lock, int n)
{
  g_autofree char *path = g_strdup_printf ("/faults/%u", lock);
  g_autoptr (RawZk) raw = raw_zk_open (server);
  assert_non_null (raw);
  assert_true (raw_zk_wait_children (raw, path, n, LAB_PATIENCE_MS));
}

void
lab_finish (Lab *lab)
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
  figures_add (lab->figures, "violations", violations->len);
  resource_close (lab->resource);
  fclose (lab->figures);
  g_array_unref (lab->pids);
  scratch_remove (lab->directory);
  g_free (lab);
  assert_true (good);
}

gint64
lab_wait_granted (Lab *lab, int process)
{
  const RecordEvent grant = lab_wait (lab, process, RECORD_ACQUIRE_RETURNED, 0);
  assert_int_equal (grant.result, RECORD_OK);
  return grant.time_ns;
}

/* 0: never. */
static gint64
time_of (Lab *lab, int process, RecordOp op)
{
  RecordEvent event;
  return lab_find (lab, process, op, 0, &event) ? event.time_ns : 0;
}

static void
find_end_of_belief (Lab *lab, Duel *duel)
{
  static const RecordOp ends[] = { RECORD_RELEASE_CALLED, RECORD_DEADLINE, RECORD_LOST };
  duel->suspect_ns = time_of (lab, duel->a, RECORD_SUSPECT);
  duel->over_ns = G_MAXINT64;
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++) {
    const gint64 at_ns = time_of (lab, duel->a, ends[i]);
    duel->over_ns = at_ns != 0 ? MIN (at_ns, duel->over_ns) : duel->over_ns;
    duel->lost |= at_ns != 0 && ends[i] != RECORD_RELEASE_CALLED;
  }
}

/* B is behind A, or A's hold has ended already. */
static gboolean
has_begun (Lab *lab, Duel *duel, RawZk *raw)
{
  g_autofree char *path = g_strdup_printf ("/faults/%u", duel->lock);
  find_end_of_belief (lab, duel);
  return raw_zk_count_children (raw, path) == 2 || duel->over_ns < G_MAXINT64;
}

void
duel_start (Lab *lab, Duel *duel)
{
  const Security security = duel->security != SECURITY_NONE ? duel->security : security_usual ();
  g_autofree char *holder_at = security_connect_string (duel->holder_at, security);
  g_autofree char *waiter_at = security_connect_string (duel->waiter_at, security);
  const gint64 since_us = g_get_monotonic_time ();
  duel->a = lab_start_holder (lab, holder_at, duel->lock, duel->recipe);
  lab_wait_granted (lab, duel->a);
  duel->b = lab_start_holder (lab, waiter_at, duel->lock, duel->recipe);
  g_autoptr (RawZk) raw = raw_zk_open (duel->waiter_at);
  assert_non_null (raw);
  assert_true (holds_within (has_begun (lab, duel, raw), LAB_PATIENCE_MS));
  /* Only a machine that stands still ends it so early. The duel is about that loss, then. */
  if (duel->over_ns < G_MAXINT64)
    assert_true (metronome_stalled_us (since_us) >= LAB_SESSION_MS * 1000 / 3);
}

static double
since_fault_ms (const Duel *duel, gint64 at_ns)
{
  return at_ns != 0 ? (double) (at_ns - duel->fault_ns) / 1e6 : -1;
}

static void
print_duel (Lab *lab, const Duel *duel, const char *label)
{
  const double margin = (double) (duel->grant_ns - duel->over_ns) / 1e6;
  print_message ("%-28s SUSPECT %+6.0f ms  %-8s %+6.0f ms  granted elsewhere %+6.0f ms  margin "
                 "%5.0f ms\n",
                 label, since_fault_ms (duel, duel->suspect_ns), duel->lost ? "LOST" : "released",
                 since_fault_ms (duel, duel->over_ns), since_fault_ms (duel, duel->grant_ns),
                 margin);
  figures_add (lab->figures, "duels", 1);
  if (duel->lost)
    figures_add (lab->figures, "margin_ms", margin);
  if (duel->lost && duel->suspect_ns > duel->fault_ns)
    figures_add (lab->figures, "suspect_share",
                 since_fault_ms (duel, duel->suspect_ns) / LAB_SESSION_MS);
}

/* A leader that has lost its lease was told to stop before the next one leads. */
static void
check_told (Lab *lab, const Duel *duel, const char *label)
{
  g_autofree char *text = read_output (lab, duel->a);
  const char *told = strstr (text, "TOLD ");
  const gint64 told_ns = told != NULL ? g_ascii_strtoll (told + strlen ("TOLD "), NULL, 10) : 0;
  print_message ("%-28s told to stop %+6.0f ms  margin %5.0f ms\n", label,
                 since_fault_ms (duel, told_ns), (double) (duel->grant_ns - told_ns) / 1e6);
  assert_true (told_ns > (duel->over_ns < duel->fault_ns ? 0 : duel->fault_ns));
  assert_true (told_ns < duel->grant_ns || duel->is_stopped);
}

void
duel_finish (Lab *lab, Duel *duel)
{
  g_autofree char *label = g_strjoin (", ", duel->name, duel->recipe, NULL);
  if (time_of (lab, duel->b, RECORD_ACQUIRE_RETURNED) == 0)
    lab_end_holder (lab, duel->a);
  duel->grant_ns = lab_wait_granted (lab, duel->b);
  lab_end_holder (lab, duel->a);
  lab_end_holder (lab, duel->b);
  find_end_of_belief (lab, duel);
  print_duel (lab, duel, label);
  assert_true (duel->over_ns < duel->grant_ns);
  if (duel->recipe != NULL && duel->lost)
    check_told (lab, duel, label);
}
