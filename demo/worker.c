/* SPDX-License-Identifier: Apache-2.0
 * The C worker of the demo: threads that contend for the lock and print each step on stdout.
 *
 * Takes the same arguments and prints the same lines as tests/interop/java/LockWorker.java (see
 * protocol.h). Uses the public headers only, so it is an example too: one client and one lock,
 * shared by all threads.
 */
#include <curator/curator.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 30000

static CuratorLock *lock;
static int n_threads;
static int acquisitions; /* per thread; 0: run until stdin closes */
static int hold_ms;
static int think_ms;
static int stopping; /* atomic */
static int failed;   /* atomic */

static gint64
now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

static void
fail (const GError *error)
{
  g_autofree char *text = g_strdelimit (g_strdup (error->message), "\r\n", ' ');

  g_atomic_int_set (&failed, 1);
  printf ("ERROR %s\n", text);
}

static gboolean
take_turn (int thread, GError **error)
{
  printf ("QUEUED %d %" G_GINT64_FORMAT "\n", thread, now_ns ());
  if (!curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, error))
    return FALSE;
  gint64 granted_ns = now_ns ();
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  printf ("GRANTED %d %" G_GINT64_FORMAT " %s %" G_GUINT64_FORMAT "\n", thread, granted_ns,
          curator_lease_get_node_name (lease), curator_lease_get_fencing_token (lease));
  g_usleep ((gulong) hold_ms * 1000);
  printf ("RELEASED %d %" G_GINT64_FORMAT "\n", thread, now_ns ());
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, error);
}

static gboolean
continues (int done)
{
  if (g_atomic_int_get (&failed))
    return FALSE;
  return acquisitions > 0 ? done < acquisitions : !g_atomic_int_get (&stopping);
}

static gpointer
take_turns (gpointer thread)
{
  for (int done = 0; continues (done); done++) {
    g_autoptr (GError) error = NULL;

    if (!take_turn (GPOINTER_TO_INT (thread), &error))
      fail (error);
    else if (think_ms > 0)
      g_usleep ((gulong) think_ms * 1000);
  }
  return NULL;
}

static gpointer
watch_stdin (gpointer unused)
{
  char ignored[64];

  while (read (STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  g_atomic_int_set (&stopping, 1);
  return NULL;
}

static void
run (CuratorClient *client, const char *path)
{
  g_autofree GThread **threads = g_new (GThread *, n_threads);
  g_autoptr (GError) error = NULL;

  if (curator_client_start (client, &error)
      && curator_client_block_until_connected (client, CONNECT_TIMEOUT_MS, NULL, &error))
    lock = curator_mutex_new (client, path, &error);
  if (lock == NULL) {
    fail (error);
    return;
  }
  if (acquisitions == 0)
    g_thread_unref (g_thread_new ("stdin", watch_stdin, NULL));
  for (int i = 0; i < n_threads; i++)
    threads[i] = g_thread_new ("turns", take_turns, GINT_TO_POINTER (i + 1));
  for (int i = 0; i < n_threads; i++)
    g_thread_join (threads[i]);
  curator_client_close (client);
  curator_lock_unref (lock);
}

static int
take_number (const char *text, int minimum)
{
  guint64 number;

  if (!g_ascii_string_to_unsigned (text, 10, (guint64) minimum, G_MAXINT, &number, NULL)) {
    fprintf (stderr, "not a number of %d or more: %s\n", minimum, text);
    exit (EX_USAGE);
  }
  return (int) number;
}

int
main (int argc, char **argv)
{
  if (argc < 7 || argc > 8 || strcmp (argv[6], "mutex") != 0) {
    fprintf (stderr,
             "usage: %s connect-string path threads acquisitions(0: until stdin closes) "
             "hold-ms mutex [think-ms]\n",
             argv[0]);
    return EX_USAGE;
  }
  n_threads = take_number (argv[3], 1);
  acquisitions = take_number (argv[4], 0);
  hold_ms = take_number (argv[5], 0);
  think_ms = argc > 7 ? take_number (argv[7], 0) : 0;
  /* Each line is written at once; stdio keeps those of different threads apart. */
  setvbuf (stdout, NULL, _IOLBF, 0);
  g_autoptr (CuratorClient) client = curator_client_new (argv[1], NULL);
  run (client, argv[2]);
  if (failed)
    return EXIT_FAILURE;
  printf ("DONE\n");
  return EXIT_SUCCESS;
}
