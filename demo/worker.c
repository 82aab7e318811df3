/* SPDX-License-Identifier: Apache-2.0
 * The C worker of the demo: threads that contend for the lock and print each step on stdout.
 *
 * Takes the same arguments and prints the same lines as tests/interop/java/LockWorker.java (see protocol.h). Uses the
 * public headers only, so it is an example too: one client and one lock, shared by all threads.
 */
#include <curator/curator.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 30000

typedef struct
{
  CuratorLock *lock;
  int threads;
  int acquisitions; /* per thread; 0: run until stdin closes */
  int hold_ms;
  int think_ms;
  int stopping; /* atomic */
  int failed;   /* atomic */
} Work;

typedef struct
{
  Work *work;
  int number;
  GThread *thread;
} Turns;

static gint64
now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

/* stdio locks the stream during each call, so lines of different threads do not mix. */
static void print_event (const char *format, ...) G_GNUC_PRINTF (1, 2);

static void
print_event (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vprintf (format, args);
  va_end (args);
  fflush (stdout);
}

static void
fail (Work *work, const GError *error)
{
  g_autofree char *text = g_strdelimit (g_strdup (error->message), "\r\n", ' ');

  g_atomic_int_set (&work->failed, 1);
  print_event ("ERROR %s\n", text);
}

static gboolean
take_turn (const Turns *turns, GError **error)
{
  Work *work = turns->work;

  print_event ("QUEUED %d %" G_GINT64_FORMAT "\n", turns->number, now_ns ());
  if (!curator_lock_acquire (work->lock, CURATOR_WAIT_FOREVER, NULL, error))
    return FALSE;
  gint64 granted_ns = now_ns ();
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (work->lock);
  print_event ("GRANTED %d %" G_GINT64_FORMAT " %s %" G_GUINT64_FORMAT "\n", turns->number,
               granted_ns, curator_lease_get_node_name (lease),
               curator_lease_get_fencing_token (lease));
  g_usleep ((gulong) work->hold_ms * 1000);
  print_event ("RELEASED %d %" G_GINT64_FORMAT "\n", turns->number, now_ns ());
  return curator_lock_release (work->lock, 0, NULL, error);
}

static gboolean
continues (Work *work, int done)
{
  if (g_atomic_int_get (&work->failed))
    return FALSE;
  return work->acquisitions > 0 ? done < work->acquisitions : !g_atomic_int_get (&work->stopping);
}

static gpointer
take_turns (gpointer data)
{
  Turns *turns = data;
  Work *work = turns->work;

  for (int done = 0; continues (work, done); done++)
    {
      g_autoptr (GError) error = NULL;

      if (!take_turn (turns, &error))
        fail (work, error);
      else if (work->think_ms > 0)
        g_usleep ((gulong) work->think_ms * 1000);
    }
  return NULL;
}

static gpointer
watch_stdin (gpointer data)
{
  Work *work = data;
  char ignored[64];

  while (read (STDIN_FILENO, ignored, sizeof ignored) > 0)
    {
    }
  g_atomic_int_set (&work->stopping, 1);
  return NULL;
}

static gboolean
run_threads (Work *work)
{
  g_autofree Turns *turns = g_new0 (Turns, work->threads);

  if (work->acquisitions == 0)
    g_thread_unref (g_thread_new ("stdin", watch_stdin, work));
  for (int i = 0; i < work->threads; i++)
    {
      turns[i].work = work;
      turns[i].number = i + 1;
      turns[i].thread = g_thread_new ("turns", take_turns, &turns[i]);
    }
  for (int i = 0; i < work->threads; i++)
    g_thread_join (turns[i].thread);
  return !g_atomic_int_get (&work->failed);
}

static gboolean
run (Work *work, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = curator_client_new (argv[1], NULL);

  if (!curator_client_start (client, &error)
      || !curator_client_block_until_connected (client, CONNECT_TIMEOUT_MS, NULL, &error))
    {
      fail (work, error);
      return FALSE;
    }
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, argv[2], &error);
  if (lock == NULL)
    {
      fail (work, error);
      return FALSE;
    }
  work->lock = lock;
  gboolean good = run_threads (work);
  curator_client_close (client);
  return good;
}

static int
take_number (const char *text, int minimum)
{
  guint64 number;

  if (!g_ascii_string_to_unsigned (text, 10, (guint64) minimum, G_MAXINT, &number, NULL))
    {
      fprintf (stderr, "not a number of %d or more: %s\n", minimum, text);
      exit (EX_USAGE);
    }
  return (int) number;
}

int
main (int argc, char **argv)
{
  static Work work; /* static: the thread that reads stdin may outlive main() */

  if (argc < 7 || argc > 8 || strcmp (argv[6], "mutex") != 0)
    {
      fprintf (stderr,
               "usage: %s connect-string path threads acquisitions(0: until stdin closes) "
               "hold-ms mutex [think-ms]\n",
               argv[0]);
      return EX_USAGE;
    }
  work.threads = take_number (argv[3], 1);
  work.acquisitions = take_number (argv[4], 0);
  work.hold_ms = take_number (argv[5], 0);
  work.think_ms = argc > 7 ? take_number (argv[7], 0) : 0;
  if (!run (&work, argv))
    return EXIT_FAILURE;
  print_event ("DONE\n");
  return EXIT_SUCCESS;
}
