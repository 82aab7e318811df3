#include "contest.h"

#include "support/process.h"
#include "support/scratch.h"
#include "support/waiting.h"

#include <string.h>
#include <sys/wait.h>

#define MAX_PROCESSES   32
#define JAVA_STARTUP_MS 30000
#define CONTEST_MS      240000

typedef struct
{
  const ContestPlan *plan;
  char *directory;
  pid_t pids[MAX_PROCESSES];
} Run;

static char *
output_of (const Run *run, int process)
{
  return g_strdup_printf ("%s/%d.out", run->directory, process);
}

void
contest_add (GPtrArray *argv, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_ptr_array_add (argv, g_strdup_vprintf (format, arguments));
  va_end (arguments);
}

GPtrArray *
contest_java (const char *const *options, const char *java_class)
{
  static const char *const usual[] = { CONTEST_JAVA,       "-Xmx128m",
                                       "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                       "-XX:-UsePerfData", "-DbeginsSecond=true" };
  const char *classpath = g_getenv (CONTEST_CLASSPATH_VARIABLE);
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);
  for (gsize i = 0; i < G_N_ELEMENTS (usual); i++)
    contest_add (argv, "%s", usual[i]);
  for (; options != NULL && *options != NULL; options++)
    contest_add (argv, "%s", *options);
  contest_add (argv, "-cp");
  contest_add (argv, "%s", classpath != NULL ? classpath : CONTEST_CLASSPATH);
  contest_add (argv, "%s", java_class);
  return argv;
}

static const char *
java_recipe (const ContestPlan *plan)
{
  return plan->java_recipe != NULL ? plan->java_recipe : plan->c_recipe;
}

static void
start (Run *run, int number)
{
  const ContestPlan *plan = run->plan;
  const gboolean is_java = number > plan->n_c;
  const char *java_class = plan->java_class != NULL ? plan->java_class : "LockWorker";
  const char *servers = is_java && plan->java_connect_string != NULL ? plan->java_connect_string
                                                                     : plan->connect_string;
  g_autofree char *output = output_of (run, number);
  g_autoptr (GPtrArray) argv = is_java ? contest_java (plan->java_options, java_class)
                                       : g_ptr_array_new_with_free_func (g_free);
  if (!is_java)
    contest_add (argv, RECIPE_WORKER);
  contest_add (argv, "%s", servers);
  contest_add (argv, "%s", plan->path);
  contest_add (argv, "%d", plan->threads);
  contest_add (argv, "%d", plan->acquisitions);
  contest_add (argv, "%d", plan->hold_ms);
  contest_add (argv, "%s", is_java ? java_recipe (plan) : plan->c_recipe);
  if (!is_java) {
    contest_add (argv, "%d", plan->limit);
    contest_add (argv, "%d", number);
    contest_add (argv, "%s", run->directory);
  }
  g_ptr_array_add (argv, NULL);
  run->pids[number] = process_spawn ((char *const *) argv->pdata, output);
}

static gboolean
has_begun (gpointer output)
{
  g_autofree char *text = NULL;
  g_file_get_contents (output, &text, NULL, NULL);
  return text != NULL && g_regex_match_simple ("SECOND|GRANTED|ERROR", text, 0, 0);
}

static gboolean
ends_well (pid_t pid, gint64 deadline)
{
  int status = 0;
  const gboolean ended = process_wait (pid, (int) MAX (deadline - wait_now_ms (), 1), &status);
  if (!ended)
    process_kill (pid);
  return ended && WIFEXITED (status) && WEXITSTATUS (status) == 0;
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
import_java (const Run *run, GArray *events)
{
  const int process = run->plan->n_c + 1;
  const char *recipe = java_recipe (run->plan);
  const RecordEvent model = { .process = process,
                              .lock = CONTEST_LOCK,
                              .kind = (guint8) kind_of (recipe),
                              .timeout_ms = -1,
                              .permits = 1,
                              .limit = (gint16) run->plan->limit };
  g_autofree char *output = output_of (run, process);
  g_autofree char *text = NULL;
  g_file_get_contents (output, &text, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
  gboolean done = FALSE;
  for (char **line = lines; *line != NULL; line++)
    if (!recorder_import_line (*line, &model, events) && **line != '\0')
      done = strcmp (*line, "DONE") == 0;
  for (guint i = 0; strcmp (recipe, "rw") == 0 && i < events->len; i++) {
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
  while ((name = g_dir_read_name (dir)) != NULL) {
    g_autofree char *path = g_build_filename (run->directory, name, NULL);
    g_autofree char *text = NULL;
    gsize length = 0;
    if (g_str_has_suffix (name, ".out") && g_file_get_contents (path, &text, &length, NULL))
      g_printerr ("%s ends with:\n%s\n", name, length > 2000 ? text + length - 2000 : text);
  }
}

/* The read node of a writer that downgrades is created after the nodes of the waiting writers, so
 * its token is higher than theirs. Between writers tokens still rise. */
static gboolean
is_token_of_a_reader (const GArray *events, const CheckViolation *violation)
{
  return violation->kind == CHECK_TOKEN_NOT_RISING
         && g_array_index (events, RecordEvent, violation->first).kind == RECORD_READ;
}

static char *
judge (const ContestPlan *plan, const GArray *events)
{
  const CheckerRules rules = { .residue_ms = 1000 };
  const gboolean downgrades = strcmp (plan->c_recipe, "downgrade") == 0;
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  for (guint i = 0; i < violations->len; i++) {
    const CheckViolation *violation = g_ptr_array_index (violations, i);
    if (!downgrades || !is_token_of_a_reader (events, violation))
      return g_strdup (violation->text);
  }
  for (int process = 1; process <= plan->n_c + 1; process++) {
    /* Who downgrades is granted two locks. */
    const int downgraders = downgrades && process <= plan->n_c ? (plan->threads + 1) / 2 : 0;
    const int wanted = (plan->threads + downgraders) * plan->acquisitions;
    const int grants = contest_grants (events, process, 0, G_MAXINT64);
    if (grants != wanted)
      return g_strdup_printf ("%d grants of %d to process %d", grants, wanted, process);
  }
  return NULL;
}

char *
contest_run (const ContestPlan *given, GArray **events)
{
  ContestPlan complete = *given;
  const ContestPlan *plan = &complete;
  Run run = { .plan = plan, .directory = scratch_new ("contest") };
  complete.n_c = given->n_c > 0 ? given->n_c : 2;
  complete.limit = given->limit > 0 ? given->limit : 1;
  const gint64 deadline = wait_now_ms () + CONTEST_MS;
  const int java = plan->n_c + 1;
  g_autofree char *java_output = output_of (&run, java);
  gboolean fine = TRUE;
  *events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  /* A JVM needs longer to start, so the others wait for it, and it begins after one of them. */
  g_assert (java < MAX_PROCESSES);
  start (&run, java);
  wait_until (has_begun, java_output, JAVA_STARTUP_MS);
  for (int i = 1; i < java; i++)
    start (&run, i);
  if (plan->meanwhile != NULL)
    plan->meanwhile (plan->data);
  for (int i = 1; i <= java; i++)
    fine = ends_well (run.pids[i], deadline) && fine;
  fine = import_java (&run, *events) && fine;
  fine = recorder_read_all (run.directory, *events) && fine;
  recorder_sort (*events);
  if (!fine)
    print_outputs (&run);
  scratch_remove (run.directory);
  return fine ? judge (plan, *events) : g_strdup ("a process failed");
}

static gboolean
is_grant (const RecordEvent *event)
{
  return event->op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK;
}

void
contest_common_time (const GArray *events, int first, int last, gint64 *from_ns, gint64 *to_ns)
{
  *from_ns = 0;
  *to_ns = G_MAXINT64;
  for (int process = first; process <= last; process++) {
    gint64 begun_ns = G_MAXINT64;
    gint64 ended_ns = 0;
    for (guint i = 0; i < events->len; i++) {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      begun_ns = event->process == process ? MIN (begun_ns, event->time_ns) : begun_ns;
      ended_ns = event->process == process ? MAX (ended_ns, event->time_ns) : ended_ns;
    }
    *from_ns = MAX (*from_ns, begun_ns);
    *to_ns = MIN (*to_ns, ended_ns);
  }
}

int
contest_grants (const GArray *events, int process, gint64 from_ns, gint64 to_ns)
{
  int grants = 0;
  for (guint i = 0; i < events->len; i++) {
    const RecordEvent *event = &g_array_index (events, RecordEvent, i);
    grants += is_grant (event) && (process == 0 || event->process == process)
              && event->time_ns >= from_ns && event->time_ns <= to_ns;
  }
  return grants;
}

int
contest_peak (const GArray *events, RecordKind kind, gint64 from_ns, gint64 to_ns)
{
  int held = 0;
  int peak = 0;
  for (guint i = 0; i < events->len; i++) {
    const RecordEvent *event = &g_array_index (events, RecordEvent, i);
    if (event->kind == kind) {
      held += is_grant (event) ? event->permits : 0;
      held -= event->op == RECORD_RELEASE_CALLED ? event->permits : 0;
    }
    if (event->time_ns >= from_ns && event->time_ns <= to_ns)
      peak = MAX (peak, held);
  }
  return peak;
}
