/* SPDX-License-Identifier: Apache-2.0
 * The demo: C processes and a JVM take turns with one lock, shown on the screen.
 *
 * Starts the workers, reads the events of each thread and the queue in ZooKeeper, and checks at the end whether two
 * threads ever held the lock at once and whether the fencing tokens grew. One thread runs it all in a GMainLoop; only
 * the observer has a thread of its own. Exit status: 0 success; 1 a violation, a starved language or a failed worker;
 * 64 usage error; 130 ended by a second Ctrl-C.
 */
#include "observer.h"
#include "peer.h"
#include "scene.h"
#include "view.h"

#include <gio/gio.h>
#include <glib-unix.h>
#include <locale.h>

#define EXIT_USAGE       64
#define EXIT_INTERRUPTED 130
#define FRAME_MS         100
#define FINISH_SECONDS   30 /* time for the queue to drain after the workers are asked to stop */
#define MAX_COMPLAINTS   12

typedef struct
{
  char *connect;
  char *path;
  char *worker;
  char *java;
  char *classpath;
  int seconds;
  int acquisitions;
  int c_processes;
  int java_processes;
  int threads;
  int hold_ms;
  int think_ms;
  gboolean log;
} Options;

typedef struct
{
  Options *options;
  View view;
  Scene *scene;
  Observer *observer;
  GPtrArray *peers;      /* of Peer, in the order of the scene's processes */
  GPtrArray *complaints; /* lines from the workers' stderr */
  GMainLoop *loop;
  guint finish_timer;
} Demo;

static void
take_options (Options *options, int *argc, char ***argv)
{
  const GOptionEntry entries[] = {
    { "connect", 0, 0, G_OPTION_ARG_STRING, &options->connect, "Connect string of ZooKeeper",
      "HOSTS" },
    { "path", 0, 0, G_OPTION_ARG_STRING, &options->path, "Path of the lock (/demo/lock)", "PATH" },
    { "seconds", 0, 0, G_OPTION_ARG_INT, &options->seconds, "How long to run (20)", "N" },
    { "acquisitions", 0, 0, G_OPTION_ARG_INT, &options->acquisitions,
      "Run until each thread has held the lock N times instead", "N" },
    { "hold", 0, 0, G_OPTION_ARG_INT, &options->hold_ms, "How long a thread holds the lock (200)",
      "MS" },
    { "think", 0, 0, G_OPTION_ARG_INT, &options->think_ms,
      "Pause of a thread between two turns (100)", "MS" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &options->threads, "Threads in each process (2)", "N" },
    { "c-processes", 0, 0, G_OPTION_ARG_INT, &options->c_processes, "Number of C processes (2)",
      "N" },
    { "java-processes", 0, 0, G_OPTION_ARG_INT, &options->java_processes, "Number of JVMs (1)",
      "N" },
    { "log", 0, 0, G_OPTION_ARG_NONE, &options->log, "Write a log even to a terminal", NULL },
    { "worker", 0, 0, G_OPTION_ARG_FILENAME, &options->worker, "The C worker", "PROGRAM" },
    { "java", 0, 0, G_OPTION_ARG_FILENAME, &options->java, "The java program", "PROGRAM" },
    { "classpath", 0, 0, G_OPTION_ARG_STRING, &options->classpath,
      "Classpath of the Java worker and Curator", "PATH" },
    { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) context =
      g_option_context_new ("- C and Java take turns with one lock");

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, argc, argv, &error))
    {
      g_printerr ("curator-demo: %s\n", error->message);
      exit (EXIT_USAGE);
    }
}

static const char *
find_invalid_option (const Options *options)
{
  if (options->connect == NULL)
    return "--connect is missing";
  if (options->seconds < 1 || options->acquisitions < 0 || options->hold_ms < 0
      || options->think_ms < 0 || options->threads < 1 || options->c_processes < 0
      || options->java_processes < 0 || options->c_processes + options->java_processes < 1)
    {
      return "a number is out of range";
    }
  if (options->java_processes > 0 && *options->java == '\0')
    return "there is no JDK in this build; --java-processes 0 runs without";
  return NULL;
}

/* Peers and processes are added together, so they share their index. */
static Process *
process_of (Demo *demo, Peer *peer)
{
  guint index = 0;

  g_ptr_array_find (demo->peers, peer, &index);
  return g_ptr_array_index (demo->scene->processes, index);
}

static gboolean
on_finish_timeout (gpointer data)
{
  Demo *demo = data;

  demo->finish_timer = 0;
  for (guint i = 0; i < demo->peers->len; i++)
    {
      Peer *peer = g_ptr_array_index (demo->peers, i);

      if (peer_is_running (peer))
        {
          process_fail (process_of (demo, peer), "did not finish within %d s", FINISH_SECONDS);
          peer_kill (peer);
        }
    }
  return G_SOURCE_REMOVE;
}

/* Closing stdin stops workers that run for a time; those that count acquisitions run to their end. */
static void
finish (Demo *demo)
{
  if (demo->scene->finishing)
    return;
  demo->scene->finishing = TRUE;
  demo->finish_timer = g_timeout_add_seconds (FINISH_SECONDS, on_finish_timeout, demo);
  for (guint i = 0; i < demo->peers->len; i++)
    peer_close_stdin (g_ptr_array_index (demo->peers, i));
}

static void
begin_if_ready (Demo *demo)
{
  Scene *scene = demo->scene;

  if (scene->began_ns == 0 && scene_all_began (scene))
    {
      scene->began_ns = scene_now_ns ();
      scene->end_ns = scene->per_thread > 0
                          ? 0
                          : scene->began_ns + (gint64) demo->options->seconds * 1000 * 1000 * 1000;
    }
}

static void
on_line (Peer *peer, const char *line, gpointer user_data)
{
  Demo *demo = user_data;
  Process *process = process_of (demo, peer);
  g_auto (WorkerEvent) event = { .type = WORKER_ERROR };

  if (!worker_event_parse (line, &event))
    {
      process_fail (process, "printed an unknown line: %s", line);
      return;
    }
  const Contender *contender = scene_apply (demo->scene, process, &event);
  begin_if_ready (demo);
  if (contender != NULL && event.type == WORKER_GRANTED && !demo->view.live)
    view_log_grant (&demo->view, demo->scene, contender);
}

static void
on_complaint (Peer *peer, const char *line, gpointer user_data)
{
  Demo *demo = user_data;

  if (demo->complaints->len < MAX_COMPLAINTS)
    g_ptr_array_add (demo->complaints, g_strdup_printf ("%s: %s", peer_get_pid (peer), line));
}

static void
on_exited (Peer *peer, gboolean successfully, gpointer user_data)
{
  Demo *demo = user_data;
  Process *process = process_of (demo, peer);
  gboolean all_ended = TRUE;

  if (!successfully || !process->done)
    {
      process_fail (process, "exited before its work was done");
      finish (demo);
    }
  for (guint i = 0; i < demo->peers->len; i++)
    all_ended = all_ended && !peer_is_running (g_ptr_array_index (demo->peers, i));
  if (all_ended)
    g_main_loop_quit (demo->loop);
}

static gboolean
on_frame (gpointer data)
{
  Demo *demo = data;
  Scene *scene = demo->scene;

  if (scene->end_ns != 0 && scene_now_ns () >= scene->end_ns)
    finish (demo);
  if (demo->view.live)
    {
      g_autoptr (GPtrArray) queue = observer_get_queue (demo->observer);

      scene_place_waiters (scene, queue);
      view_screen_draw (&demo->view, scene);
    }
  return G_SOURCE_CONTINUE;
}

static gboolean
on_signal (gpointer data)
{
  Demo *demo = data;
  gboolean again = demo->scene->interrupted;

  demo->scene->interrupted = TRUE;
  finish (demo);
  if (again || demo->scene->per_thread > 0)
    g_main_loop_quit (demo->loop);
  return G_SOURCE_CONTINUE;
}

static void
start_process (Demo *demo, Language language)
{
  static const PeerListener listener = { .line = on_line,
                                         .complaint = on_complaint,
                                         .exited = on_exited };
  const Options *options = demo->options;
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autoptr (GError) error = NULL;

  if (language == LANGUAGE_C)
    {
      g_strv_builder_add (builder, options->worker);
    }
  else
    {
      /* A small JVM that starts quickly is enough for a few locks per second. */
      g_strv_builder_add_many (builder, options->java, "-Xmx64m", "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1", "-cp", options->classpath, "LockWorker",
                               NULL);
    }
  g_strv_builder_add_many (builder, options->connect, options->path, NULL);
  const int numbers[] = { options->threads, options->acquisitions, options->hold_ms };
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *number = g_strdup_printf ("%d", numbers[i]);

      g_strv_builder_add (builder, number);
    }
  g_autofree char *think = g_strdup_printf ("%d", options->think_ms);
  g_strv_builder_add_many (builder, "mutex", think, NULL);

  g_auto (GStrv) argv = g_strv_builder_end (builder);
  Process *process = scene_add_process (demo->scene, language, (guint) options->threads);
  Peer *peer = peer_spawn (argv, &listener, demo, &error);
  if (peer == NULL)
    {
      g_printerr ("curator-demo: %s\n", error->message);
      exit (EXIT_FAILURE);
    }
  process->pid = g_strdup (peer_get_pid (peer));
  g_ptr_array_add (demo->peers, peer);
}

static void
run (Demo *demo)
{
  for (int i = 0; i < demo->options->c_processes; i++)
    start_process (demo, LANGUAGE_C);
  for (int i = 0; i < demo->options->java_processes; i++)
    start_process (demo, LANGUAGE_JAVA);
  demo->observer = observer_new (demo->options->connect, demo->options->path);
  demo->loop = g_main_loop_new (NULL, FALSE);
  g_timeout_add (FRAME_MS, on_frame, demo);
  g_unix_signal_add (SIGINT, on_signal, demo);
  g_unix_signal_add (SIGTERM, on_signal, demo);
  g_unix_signal_add (SIGHUP, on_signal, demo);
  view_screen_enter (&demo->view);
  g_main_loop_run (demo->loop);
  view_screen_leave (&demo->view);
}

static gboolean
any_running (Demo *demo)
{
  for (guint i = 0; i < demo->peers->len; i++)
    {
      if (peer_is_running (g_ptr_array_index (demo->peers, i)))
        return TRUE;
    }
  return FALSE;
}

int
main (int argc, char **argv)
{
  Options options = { .path = g_strdup ("/demo/lock"),
                      .worker = g_strdup (DEMO_WORKER),
                      .java = g_strdup (DEMO_JAVA),
                      .classpath = g_strdup (DEMO_CLASSPATH),
                      .seconds = 20,
                      .c_processes = 2,
                      .java_processes = 1,
                      .threads = 2,
                      .hold_ms = 200,
                      .think_ms = 100 };

  setlocale (LC_ALL, "");
  take_options (&options, &argc, &argv);
  const char *fault = find_invalid_option (&options);
  if (fault != NULL)
    {
      g_printerr ("curator-demo: %s\n", fault);
      return EXIT_USAGE;
    }

  Demo demo = { .options = &options,
                .view = view_detect (options.log),
                .scene = scene_new (options.connect, options.path),
                .peers = g_ptr_array_new_with_free_func ((GDestroyNotify) peer_free),
                .complaints = g_ptr_array_new_with_free_func (g_free) };
  demo.scene->per_thread = (guint) options.acquisitions;
  run (&demo);

  gboolean cut_short = any_running (&demo);
  gboolean good = view_summary (&demo.view, demo.scene, demo.complaints);
  g_ptr_array_unref (demo.peers);
  observer_free (demo.observer);
  scene_free (demo.scene);
  g_ptr_array_unref (demo.complaints);
  g_main_loop_unref (demo.loop);
  g_free (options.connect);
  g_free (options.path);
  g_free (options.worker);
  g_free (options.java);
  g_free (options.classpath);
  return cut_short ? EXIT_INTERRUPTED : good ? EXIT_SUCCESS : EXIT_FAILURE;
}
