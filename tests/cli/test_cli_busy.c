/* Results that come while zkflock's main thread is busy are all there when it looks again, the
 * first of which ends its wait. A stderr that nobody reads keeps it busy. No other thread of
 * zkflock's asks for them. */
#include "cli.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH "/busy"
/* Until then it must have lost its connection and have begun to say so. */
#define WAIT    "10"
#define WAIT_MS 10000
/* Then its deadline has passed in any case. */
#define LATER_MS 1000

typedef struct
{
  Cli *cli;
  int err[2]; /* its stderr: the test reads it later */
} Busy;

/* A pipe that is full. */
static void
fill (int pipe[2])
{
  char byte = '\n';

  assert_int_equal (pipe2 (pipe, O_CLOEXEC | O_NONBLOCK), 0);
  while (write (pipe[1], &byte, 1) == 1)
    {
    }
  fcntl (pipe[1], F_SETFL, 0);
}

static char *
file_of (const Busy *busy, const char *name)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", (int) busy->cli->pid, name);
  char *text = NULL;
  return g_file_get_contents (path, &text, NULL, NULL) ? text : g_strdup ("");
}

static gboolean
is_writing (gpointer data)
{
  g_autofree char *call = file_of (data, "syscall");
  g_autofree char *wanted = g_strdup_printf ("%d 0x2 ", (int) SYS_write);
  return g_str_has_prefix (call, wanted);
}

/* Whether all threads but the main one are of the libraries. */
static gboolean
has_one_thread (const Busy *busy)
{
  g_autofree char *folder = g_strdup_printf ("/proc/%d/task", (int) busy->cli->pid);
  g_autofree char *main_thread = g_strdup_printf ("%d", (int) busy->cli->pid);
  g_autoptr (GDir) tasks = g_dir_open (folder, 0, NULL);
  const char *task;
  int n = 0;

  while (tasks != NULL && (task = g_dir_read_name (tasks)) != NULL)
    {
      g_autofree char *file = g_strdup_printf ("task/%s/comm", task);
      g_autofree char *name = file_of (busy, file);
      if (strcmp (task, main_thread) != 0 && !g_str_has_prefix (name, "curator-")
          && !g_str_has_prefix (name, "zk-"))
        {
          print_message ("a thread %s", name);
          return FALSE;
        }
      n++;
    }
  return n > 1;
}

/* Both lists of the look, which goes on. */
static gboolean
is_answered (gpointer proxy)
{
  g_autoptr (GPtrArray) frames = proxy_log_copy (proxy);
  int n = 0;

  for (guint i = 0; i < frames->len; i++)
    {
      const ProxyFrame *frame = g_ptr_array_index (frames, i);
      n += frame->type == PROXY_GET_CHILDREN && frame->is_reply;
    }
  return n >= 2;
}

static void
empty (const Busy *busy)
{
  char bytes[4096];

  while (read (busy->err[0], bytes, sizeof bytes) > 0)
    {
    }
}

/* The look goes on until the wait has ended, and its result comes after that of the wait. */
TEST (other_kinds_are_looked_for_until_the_wait_has_ended)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, PATH);
  g_autoptr (GError) error = NULL;
  Busy busy;

  assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
  fill (busy.err);
  proxy_reset_counts (fixture->proxy);
  proxy_arm (fixture->proxy, PROXY_GET_CHILDREN, 1, 1, PROXY_HOLD_REPLY);
  const char *const argv[] = {
    ZKFLOCK, "-Z", fixture_proxy (fixture), "--session-timeout", "40", "-w", WAIT, PATH,
    "true",  NULL
  };
  busy.cli = cli_start_with_stderr ((char *const *) argv, busy.err[1]);
  const gint64 started_ms = wait_now_ms ();
  /* It has asked for the queue, and for both lists of the look. */
  assert_soon (proxy_count (fixture->proxy, PROXY_GET_CHILDREN) >= 3);
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (wait_until (is_writing, &busy, CLI_MS));

  wait_ms ((int) (started_ms + WAIT_MS + LATER_MS - wait_now_ms ()));
  proxy_log_start (fixture->proxy);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_true (wait_until (is_answered, fixture->proxy, CLI_MS));
  assert_true (is_writing (&busy));
  empty (&busy);
  assert_int_equal (cli_wait (busy.cli, CLI_MS), 69);
  cli_free (busy.cli);
  close (busy.err[0]);
  close (busy.err[1]);
  assert_ok (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  curator_client_close (client);
}

/* Its place in the queue and other kinds are known by then. */
TEST (questions_need_no_thread)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/busy-alone");
  g_autoptr (GError) error = NULL;

  assert_ok (curator_lock_acquire (lock, 0, NULL, &error), &error);
  Busy busy = { .cli = cli_zkflock (fixture_server (fixture), "--verbose", "/busy-alone", "true",
                                    NULL) };
  assert_true (cli_wait_text (busy.cli->err, "waiting: 1 of 1", CLI_MS));
  assert_true (has_one_thread (&busy));
  assert_ok (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  assert_int_equal (cli_wait (busy.cli, CLI_MS), 0);
  cli_free (busy.cli);
  curator_client_close (client);
}

SUITE ("busy", fixture_start_slow, fixture_stop)
