#include "interop.h"

#include "support/process.h"
#include "support/recorder.h"
#include "support/scratch.h"
#include "support/waiting.h"

#include <string.h>
#include <sys/wait.h>

#define MAX_PROCESSES 32

typedef struct
{
  const InteropPlan *plan;
  char *directory;
  char *java_output;
  pid_t pids[MAX_PROCESSES]; /* the JVM first */
  int n_pids;
} Run;

static pid_t
start_java (Run *run)
{
  g_autofree char *threads = g_strdup_printf ("%d", run->plan->threads);
  g_autofree char *acquisitions = g_strdup_printf ("%d", run->plan->acquisitions);
  g_autofree char *hold_ms = g_strdup_printf ("%d", run->plan->hold_ms);
  const char *const argv[] = { INTEROP_JAVA,
                               "-Xmx128m",
                               "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1",
                               "-XX:-UsePerfData",
                               "-cp",
                               INTEROP_CLASSPATH,
                               "LockWorker",
                               run->plan->connect_string,
                               run->plan->path,
                               threads,
                               acquisitions,
                               hold_ms,
                               run->plan->java_recipe,
                               NULL };
  return process_spawn ((char *const *) argv, run->java_output);
}

static pid_t
start_c (Run *run, int number)
{
  g_autofree char *threads = g_strdup_printf ("%d", run->plan->threads);
  g_autofree char *acquisitions = g_strdup_printf ("%d", run->plan->acquisitions);
  g_autofree char *hold_ms = g_strdup_printf ("%d", run->plan->hold_ms);
  g_autofree char *process = g_strdup_printf ("%d", number);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *output = g_strdup_printf ("%s/c-%d.out", run->directory, number);
  const char *const argv[] = { self,
                               "worker",
                               run->plan->connect_string,
                               run->plan->path,
                               threads,
                               acquisitions,
                               hold_ms,
                               process,
                               run->directory,
                               NULL };
  return process_spawn ((char *const *) argv, output);
}

static gboolean
java_has_begun (gpointer data)
{
  Run *run = data;
  g_autofree char *text = NULL;
  g_file_get_contents (run->java_output, &text, NULL, NULL);
  return text != NULL && (strstr (text, "GRANTED") != NULL || strstr (text, "ERROR") != NULL);
}

/* The JVM needs longer to start, so the others wait for its first grant. */
static gboolean
run_workers (Run *run, int timeout_ms)
{
  gint64 deadline = wait_now_ms () + timeout_ms;
  gboolean fine = TRUE;
  g_assert (run->plan->c_processes < MAX_PROCESSES);
  run->pids[run->n_pids++] = start_java (run);
  wait_until (java_has_begun, run, 30000);
  for (int i = 1; i <= run->plan->c_processes; i++)
    {
      run->pids[run->n_pids++] = start_c (run, i);
    }
  for (int i = 0; i < run->n_pids; i++)
    {
      int status = 0;
      gint64 left = deadline - wait_now_ms ();
      gboolean ended = process_wait (run->pids[i], (int) MAX (left, 1), &status);
      if (!ended)
        {
          process_kill (run->pids[i]);
        }
      fine = fine && ended && WIFEXITED (status) && WEXITSTATUS (status) == 0;
    }
  return fine;
}

static gboolean
import_java (Run *run, GArray *events)
{
  RecordEvent model = { .process = INTEROP_JAVA_PROCESS,
                        .lock = INTEROP_LOCK,
                        .timeout_ms = -1,
                        .permits = 1,
                        .limit = 1 };
  g_autofree char *text = NULL;
  g_file_get_contents (run->java_output, &text, NULL, NULL);
  g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
  gboolean done = FALSE;
  for (char **line = lines; *line != NULL; line++)
    {
      if (!recorder_import_line (*line, &model, events) && **line != '\0')
        {
          done = strcmp (*line, "DONE") == 0;
        }
    }
  return done;
}

static void
print_outputs (Run *run)
{
  GDir *dir = g_dir_open (run->directory, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (run->directory, name, NULL);
      g_autofree char *text = NULL;
      gsize length = 0;
      if (g_str_has_suffix (name, ".out") && g_file_get_contents (path, &text, &length, NULL))
        {
          g_printerr ("%s ends with:\n%s\n", name, length > 2000 ? text + length - 2000 : text);
        }
    }
  g_dir_close (dir);
}

GArray *
interop_run (const InteropPlan *plan, int timeout_ms)
{
  Run run = { .plan = plan };
  GArray *events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  run.directory = scratch_new ("interop");
  run.java_output = g_build_filename (run.directory, "java.out", NULL);
  gboolean ended = run_workers (&run, timeout_ms);
  gboolean java_done = import_java (&run, events);
  gboolean read = recorder_read_all (run.directory, events);
  if (!ended || !java_done || !read)
    {
      print_outputs (&run);
      g_clear_pointer (&events, g_array_unref);
    }
  scratch_remove (run.directory);
  g_free (run.java_output);
  return events;
}
