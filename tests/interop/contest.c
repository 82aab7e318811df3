#include "contest.h"

#include "support/process.h"
#include "support/scratch.h"
#include "support/waiting.h"

#include <string.h>
#include <sys/wait.h>

#define MAX_PROCESSES   32
#define JAVA_STARTUP_MS 30000

typedef struct
{
  const ContestPlan *plan;
  char *directory;
  pid_t pids[MAX_PROCESSES];
  int n;
} Run;

static char *
output_of (const Run *run, int process)
{
  return g_strdup_printf ("%s/%d.out", run->directory, process);
}

const char *
contest_classpath (void)
{
  const char *given = g_getenv (CONTEST_CLASSPATH_VARIABLE);
  return given != NULL ? given : CONTEST_CLASSPATH;
}

static pid_t
spawn_java (const char *const *options, const char *const *arguments, const char *output)
{
  static const char *const usual[] = { "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                       "-XX:-UsePerfData" };
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_ptr_array_add (argv, (char *) CONTEST_JAVA);
  for (gsize i = 0; i < G_N_ELEMENTS (usual); i++)
    g_ptr_array_add (argv, (char *) usual[i]);
  for (; options != NULL && *options != NULL; options++)
    g_ptr_array_add (argv, (char *) *options);
  g_ptr_array_add (argv, (char *) "-cp");
  g_ptr_array_add (argv, (char *) contest_classpath ());
  for (; *arguments != NULL; arguments++)
    g_ptr_array_add (argv, (char *) *arguments);
  g_ptr_array_add (argv, NULL);
  return process_spawn ((char *const *) argv->pdata, output);
}

static pid_t
start_java (const Run *run, const ContestProcess *process, const char *output)
{
  g_autofree char *threads = g_strdup_printf ("%d", process->threads);
  g_autofree char *acquisitions = g_strdup_printf ("%d", process->acquisitions);
  g_autofree char *hold_ms = g_strdup_printf ("%d", run->plan->hold_ms);
  const char *servers = run->plan->java_connect_string != NULL ? run->plan->java_connect_string
                                                               : run->plan->connect_string;
  const char *peer = run->plan->java_class != NULL ? run->plan->java_class : "LockWorker";
  const char *const arguments[] = { peer,         servers, run->plan->path, threads,
                                    acquisitions, hold_ms, process->recipe, NULL };
  return spawn_java (run->plan->java_options, arguments, output);
}

static pid_t
start_c (const Run *run, const ContestProcess *process, int number, const char *output)
{
  g_autofree char *threads = g_strdup_printf ("%d", process->threads);
  g_autofree char *acquisitions = g_strdup_printf ("%d", process->acquisitions);
  g_autofree char *hold_ms = g_strdup_printf ("%d", run->plan->hold_ms);
  g_autofree char *limit = g_strdup_printf ("%d", run->plan->limit);
  g_autofree char *who = g_strdup_printf ("%d", number);
  const char *const argv[] = {
    RECIPE_WORKER, run->plan->connect_string, run->plan->path, threads, acquisitions,
    hold_ms,       process->recipe,           limit,           who,     run->directory,
    NULL
  };
  return process_spawn ((char *const *) argv, output);
}

static gboolean
has_begun (gpointer output)
{
  g_autofree char *text = NULL;
  g_file_get_contents (output, &text, NULL, NULL);
  return text != NULL && (strstr (text, "GRANTED") != NULL || strstr (text, "ERROR") != NULL);
}

/* A JVM needs longer to start, so the others wait for its first grant. */
static void
start_all (Run *run, gboolean java)
{
  const ContestProcess *processes = run->plan->processes;
  for (int i = 0; processes[i].recipe != NULL; i++)
    {
      g_assert (i < MAX_PROCESSES);
      if (processes[i].is_java == java)
        {
          g_autofree char *output = output_of (run, i + 1);
          run->pids[i] = java ? start_java (run, &processes[i], output)
                              : start_c (run, &processes[i], i + 1, output);
          run->n++;
        }
    }
  for (int i = 0; java && processes[i].recipe != NULL; i++)
    {
      g_autofree char *output = output_of (run, i + 1);
      if (processes[i].is_java)
        wait_until (has_begun, output, JAVA_STARTUP_MS);
    }
}

static gboolean
wait_for_all (Run *run, gint64 deadline)
{
  gboolean fine = TRUE;
  for (int i = 0; i < run->n; i++)
    {
      int status = 0;
      const gint64 left = deadline - wait_now_ms ();
      const gboolean ended = process_wait (run->pids[i], (int) MAX (left, 1), &status);
      if (!ended)
        process_kill (run->pids[i]);
      fine = fine && ended && WIFEXITED (status) && WEXITSTATUS (status) == 0;
    }
  return fine;
}

static RecordKind
kind_of (const char *recipe)
{
  if (strcmp (recipe, "read") == 0)
    return RECORD_READ;
  if (strcmp (recipe, "write") == 0 || strcmp (recipe, "rw") == 0)
    return RECORD_WRITE;
  return g_str_has_prefix (recipe, "sem") && strcmp (recipe, "semmutex") != 0 ? RECORD_SEMAPHORE
         : g_str_has_prefix (recipe, "counted")                               ? RECORD_SEMAPHORE
                                                                              : RECORD_MUTEX;
}

static gboolean
import_java (const Run *run, int process, GArray *events)
{
  const char *recipe = run->plan->processes[process - 1].recipe;
  const RecordEvent model = { .process = process,
                              .lock = CONTEST_LOCK,
                              .kind = (guint8) kind_of (recipe),
                              .timeout_ms = -1,
                              .permits = 1,
                              .limit = (gint16) run->plan->limit };
  const guint before = events->len;
  g_autofree char *output = output_of (run, process);
  g_autofree char *text = NULL;
  g_file_get_contents (output, &text, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
  gboolean done = FALSE;
  for (char **line = lines; *line != NULL; line++)
    if (!recorder_import_line (*line, &model, events) && **line != '\0')
      done = strcmp (*line, "DONE") == 0;
  for (guint i = before; strcmp (recipe, "rw") == 0 && i < events->len; i++)
    {
      RecordEvent *event = &g_array_index (events, RecordEvent, i);
      event->kind = event->thread % 2 == 1 ? RECORD_READ : RECORD_WRITE;
    }
  return done;
}

static void
print_outputs (const Run *run)
{
  g_autoptr (GDir) dir = g_dir_open (run->directory, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (run->directory, name, NULL);
      g_autofree char *text = NULL;
      gsize length = 0;
      if (g_str_has_suffix (name, ".out") && g_file_get_contents (path, &text, &length, NULL))
        g_printerr ("%s ends with:\n%s\n", name, length > 2000 ? text + length - 2000 : text);
    }
}

GArray *
contest_run (const ContestPlan *plan, int timeout_ms)
{
  Run run = { .plan = plan };
  GArray *events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  const gint64 deadline = wait_now_ms () + timeout_ms;
  run.directory = scratch_new ("contest");
  start_all (&run, TRUE);
  start_all (&run, FALSE);
  if (plan->meanwhile != NULL)
    plan->meanwhile (plan->data);
  gboolean fine = wait_for_all (&run, deadline);
  for (int i = 0; i < run.n; i++)
    fine = (!plan->processes[i].is_java || import_java (&run, i + 1, events)) && fine;
  fine = recorder_read_all (run.directory, events) && fine;
  recorder_sort (events);
  if (!fine)
    {
      print_outputs (&run);
      g_clear_pointer (&events, g_array_unref);
    }
  scratch_remove (run.directory);
  return events;
}

static gboolean
is_grant (const RecordEvent *event)
{
  return event->op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK;
}

int
contest_grants (const GArray *events, int process)
{
  int grants = 0;
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      grants += is_grant (event) && (process == 0 || event->process == process);
    }
  return grants;
}

int
contest_peak (const GArray *events, RecordKind kind, gint64 from_ns, gint64 to_ns)
{
  int held = 0;
  int peak = 0;
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      if (event->kind == kind)
        {
          held += is_grant (event) ? event->permits : 0;
          held -= event->op == RECORD_RELEASE_CALLED ? event->permits : 0;
        }
      if (event->time_ns >= from_ns && event->time_ns <= to_ns)
        peak = MAX (peak, held);
    }
  return peak;
}
