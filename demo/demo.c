/* SPDX-License-Identifier: Apache-2.0
 * The demo: C processes and a JVM take turns with one lock, shown on the screen.
 *
 * Starts the workers, reads the events of each thread and the queue in ZooKeeper, and checks at the
 * end whether two threads ever held the lock at once and whether the fencing tokens grew. One
 * thread runs it all in a GMainLoop; only the observer has a thread of its own. Exit status: 0
 * success; 1 a violation, a starved language or a failed worker; 64 usage error; 130 ended by a
 * second Ctrl-C.
 */
#include "scene.h"
#include "view.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <locale.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXIT_USAGE       64
#define EXIT_INTERRUPTED 130
#define FRAME_MS         100
#define OBSERVE_US       (40 * 1000)
#define FINISH_SECONDS   30 /* time for the queue to drain after the workers are asked to stop */

static struct
{
  const char *connect;
  const char *path;
  const char *worker;
  const char *java;
  const char *classpath;
  int seconds;
  int acquisitions;
  int c_processes;
  int java_processes;
  int threads;
  int hold_ms;
  int think_ms;
  gboolean log;
} options = { .path = "/demo/lock",
              .worker = DEMO_WORKER,
              .java = DEMO_JAVA,
              .classpath = DEMO_CLASSPATH,
              .seconds = 20,
              .c_processes = 2,
              .java_processes = 1,
              .threads = 2,
              .hold_ms = 200,
              .think_ms = 100 };

/* Until the process ends: nothing of it is freed. */
static View view;
static Scene scene;
static GMainLoop *loop;

/* Returns what is wrong with them, or NULL. */
static const char *
take_options (int *argc, char ***argv)
{
  static const GOptionEntry entries[] = {
    { "connect", 0, 0, G_OPTION_ARG_STRING, &options.connect, "Connect string of ZooKeeper",
      "HOSTS" },
    { "path", 0, 0, G_OPTION_ARG_STRING, &options.path, "Path of the lock (/demo/lock)", "PATH" },
    { "seconds", 0, 0, G_OPTION_ARG_INT, &options.seconds, "How long to run (20)", "N" },
    { "acquisitions", 0, 0, G_OPTION_ARG_INT, &options.acquisitions,
      "Run until each thread has held the lock N times instead", "N" },
    { "hold", 0, 0, G_OPTION_ARG_INT, &options.hold_ms, "How long a thread holds the lock (200)",
      "MS" },
    { "think", 0, 0, G_OPTION_ARG_INT, &options.think_ms,
      "Pause of a thread between two turns (100)", "MS" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &options.threads, "Threads in each process (2)", "N" },
    { "c-processes", 0, 0, G_OPTION_ARG_INT, &options.c_processes, "Number of C processes (2)",
      "N" },
    { "java-processes", 0, 0, G_OPTION_ARG_INT, &options.java_processes, "Number of JVMs (1)",
      "N" },
    { "log", 0, 0, G_OPTION_ARG_NONE, &options.log, "Write a log even to a terminal", NULL },
    { "worker", 0, 0, G_OPTION_ARG_FILENAME, &options.worker, "The C worker", "PROGRAM" },
    { "java", 0, 0, G_OPTION_ARG_FILENAME, &options.java, "The java program", "PROGRAM" },
    { "classpath", 0, 0, G_OPTION_ARG_STRING, &options.classpath,
      "Classpath of the Java worker and Curator", "PATH" },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  static GError *error;
  g_autoptr (GOptionContext) context =
      g_option_context_new ("- C and Java take turns with one lock");

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, argc, argv, &error))
    return error->message;
  if (options.connect == NULL)
    return "--connect is missing";
  if (options.seconds < 1 || options.acquisitions < 0 || options.hold_ms < 0 || options.think_ms < 0
      || options.threads < 1 || options.c_processes < 0 || options.java_processes < 0
      || options.c_processes + options.java_processes < 1)
    return "a number is out of range";
  if (options.java_processes > 0 && *options.java == '\0')
    return "there is no JDK in this build; --java-processes 0 runs without";
  return NULL;
}

static gboolean
on_finish_timeout (gpointer data)
{
  for (guint i = 0; i < scene.n_workers; i++) {
    if (!scene.workers[i].ended) {
      worker_fail (&scene.workers[i], "did not finish within %d s", FINISH_SECONDS);
      g_subprocess_force_exit (scene.workers[i].process);
    }
  }
  return G_SOURCE_REMOVE;
}

/* Closing stdin stops workers that run for a time; those that count acquisitions run to their
 * end. */
static void
finish (void)
{
  if (scene.finishing)
    return;
  scene.finishing = TRUE;
  g_timeout_add_seconds (FINISH_SECONDS, on_finish_timeout, NULL);
  for (guint i = 0; i < scene.n_workers; i++)
    g_output_stream_close (g_subprocess_get_stdin_pipe (scene.workers[i].process), NULL, NULL);
}

static gboolean
any_runs (void)
{
  gboolean any = FALSE;

  for (guint i = 0; i < scene.n_workers; i++)
    any = any || !scene.workers[i].ended;
  return any;
}

static void
on_ended (GObject *process, GAsyncResult *result, gpointer data)
{
  Worker *worker = data;

  worker->ended = TRUE;
  if (!g_subprocess_wait_check_finish (G_SUBPROCESS (process), result, NULL) || !worker->done) {
    worker_fail (worker, "exited before its work was done");
    finish ();
  }
  if (!any_runs ())
    g_main_loop_quit (loop);
}

static void
apply_line (Worker *worker, const char *line)
{
  g_auto (WorkerEvent) event = { .type = WORKER_ERROR };

  if (!worker_event_parse (line, &event)) {
    worker_fail (worker, "printed an unknown line: %s", line);
    return;
  }
  const Contender *contender = scene_apply (&scene, worker, &event);
  if (scene.began_ns == 0 && scene_all_began (&scene)) {
    scene.began_ns = scene_now_ns ();
    if (scene.per_thread == 0)
      scene.end_ns = scene.began_ns + options.seconds * G_GINT64_CONSTANT (1000000000);
  }
  if (contender != NULL && event.type == WORKER_GRANTED && !view.live)
    view_log_grant (&view, &scene, contender);
}

static void
on_line (GObject *stream, GAsyncResult *result, gpointer data)
{
  Worker *worker = data;
  g_autofree char *line =
      g_data_input_stream_read_line_finish_utf8 (G_DATA_INPUT_STREAM (stream), result, NULL, NULL);

  if (line == NULL) {
    g_object_unref (stream);
    g_subprocess_wait_check_async (worker->process, NULL, on_ended, worker);
    return;
  }
  apply_line (worker, line);
  g_data_input_stream_read_line_async (G_DATA_INPUT_STREAM (stream), G_PRIORITY_DEFAULT, NULL,
                                       on_line, worker);
}

/* Runs in the child. With a process group of its own, Ctrl-C reaches only the demo, which then
 * stops its workers. */
static void
set_up_child (gpointer data)
{
  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
}

static void
start_worker (Worker *worker)
{
  /* A small JVM that starts quickly is enough for a few locks per second. */
  const char *const java[] = {
    options.java, "-Xmx64m",         "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-cp",        options.classpath, "LockWorker",       NULL
  };
  const char *const c[] = { options.worker, NULL };
  g_autofree char *numbers =
      g_strdup_printf ("%d %d %d mutex %d", options.threads, options.acquisitions, options.hold_ms,
                       options.think_ms);
  g_auto (GStrv) rest = g_strsplit (numbers, " ", -1);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_autoptr (GError) error = NULL;

  g_strv_builder_addv (builder, (const char **) (worker->language == LANGUAGE_C ? c : java));
  g_strv_builder_add_many (builder, options.connect, options.path, NULL);
  g_strv_builder_addv (builder, (const char **) rest);
  g_auto (GStrv) argv = g_strv_builder_end (builder);

  worker->complaints = memfd_create ("complaints", MFD_CLOEXEC);
  g_subprocess_launcher_take_stderr_fd (launcher, dup (worker->complaints));
  g_subprocess_launcher_set_child_setup (launcher, set_up_child, NULL, NULL);
  worker->process = g_subprocess_launcher_spawnv (launcher, (const char *const *) argv, &error);
  if (worker->process == NULL) {
    g_printerr ("curator-demo: %s\n", error->message);
    exit (EXIT_FAILURE);
  }
  worker->pid = g_strdup (g_subprocess_get_identifier (worker->process));
  g_data_input_stream_read_line_async (
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (worker->process)), G_PRIORITY_DEFAULT,
      NULL, on_line, worker);
}

static gboolean
on_queue (gpointer data)
{
  g_autoptr (CuratorInspection) queue = data;

  scene_place_waiters (&scene, queue);
  return G_SOURCE_REMOVE;
}

/* A thread: reads the queue from the servers, independently of what the workers report. */
static gpointer
observe (gpointer data)
{
  CuratorClient *client = curator_client_new (options.connect, NULL);

  if (!curator_client_start (client, NULL))
    return NULL;
  while (TRUE) {
    CuratorInspection *queue =
        curator_client_inspect (client, options.path, CURATOR_WAIT_DEFAULT, NULL, NULL);

    if (queue != NULL)
      g_idle_add (on_queue, queue);
    g_usleep (OBSERVE_US);
  }
  return NULL;
}

static gboolean
on_frame (gpointer data)
{
  if (scene.end_ns != 0 && scene_now_ns () >= scene.end_ns)
    finish ();
  if (view.live)
    view_screen_draw (&view, &scene);
  return G_SOURCE_CONTINUE;
}

static gboolean
on_signal (gpointer data)
{
  gboolean again = scene.interrupted;

  scene.interrupted = TRUE;
  finish ();
  if (again || scene.per_thread > 0)
    g_main_loop_quit (loop);
  return G_SOURCE_CONTINUE;
}

int
main (int argc, char **argv)
{
  static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

  setlocale (LC_ALL, "");
  const char *fault = take_options (&argc, &argv);
  if (fault != NULL) {
    g_printerr ("curator-demo: %s\n", fault);
    return EXIT_USAGE;
  }
  view = view_detect (options.log);
  scene = (Scene){ .connect = options.connect,
                   .path = options.path,
                   .per_thread = (guint) options.acquisitions };
  loop = g_main_loop_new (NULL, FALSE);
  scene_init (&scene,
              (const guint[]){ (guint) options.c_processes, (guint) options.java_processes },
              (guint) options.threads);
  for (guint i = 0; i < scene.n_workers; i++)
    start_worker (&scene.workers[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    g_unix_signal_add (signals[i], on_signal, NULL);
  g_timeout_add (FRAME_MS, on_frame, NULL);
  if (view.live) {
    g_print ("\033[?1049h\033[?25l"); /* another screen, without a cursor */
    g_thread_unref (g_thread_new ("observer", observe, NULL));
  }
  g_main_loop_run (loop);
  if (view.live)
    g_print ("\033[0m\033[?25h\033[?1049l");

  gboolean good = view_summary (&view, &scene);
  if (!any_runs ())
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
  for (guint i = 0; i < scene.n_workers; i++)
    g_subprocess_force_exit (scene.workers[i].process);
  return EXIT_INTERRUPTED;
}
