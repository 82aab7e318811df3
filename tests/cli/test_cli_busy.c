/* Results that come while zkflock's main thread is busy are all there when it looks again, the
 * first of which ends its wait. A stderr that nobody reads keeps it busy. No other thread of
 * zkflock's asks for them. */
#include "cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH "/busy"
/* Until then it must have lost its connection and have begun to say so. */
#define WAIT    "15"
#define WAIT_MS 15000
/* Then its deadline has passed in any case. */
#define LATER_MS 1000

static gboolean
is_writing (Cli *cli)
{
  g_autofree char *file = g_strdup_printf ("/proc/%d/syscall", (int) cli->pid);
  g_autofree char *call = NULL;
  g_autofree char *wanted = g_strdup_printf ("%d 0x2 ", (int) SYS_write);
  return g_file_get_contents (file, &call, NULL, NULL) && g_str_has_prefix (call, wanted);
}

/* Whether all threads but the main one are of the libraries. */
static gboolean
has_one_thread (pid_t pid)
{
  g_autofree char *folder = g_strdup_printf ("/proc/%d/task", (int) pid);
  g_autoptr (GDir) tasks = g_dir_open (folder, 0, NULL);
  int n = 0;

  for (const char *task; (task = g_dir_read_name (tasks)) != NULL; n++) {
    g_autofree char *file = g_strdup_printf ("task/%s/comm", task);
    if (atoi (task) != pid && !cli_process_has (pid, file, "curator-")
        && !cli_process_has (pid, file, "zk-"))
      return FALSE;
  }
  return n > 1;
}

/* Both lists of the look, which goes on. */
static gboolean
is_answered (Proxy *proxy)
{
  g_autoptr (GPtrArray) frames = proxy_log_copy (proxy);
  int n = 0;

  for (guint i = 0; i < frames->len; i++) {
    const ProxyFrame *frame = g_ptr_array_index (frames, i);
    n += frame->type == PROXY_GET_CHILDREN && frame->is_reply;
  }
  return n >= 2;
}

/* The look goes on until the wait has ended, and its result comes after that of the wait. */
TEST (other_kinds_are_looked_for_until_the_wait_has_ended)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, PATH);
  LOG fifo = cli_new_file ();
  char bytes[4096] = { 0 };

  assert_acquired (lock);
  /* It is full: the test reads it later. */
  assert_int_equal (mkfifo (fifo, 0600), 0);
  const int err = open (fifo, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  while (write (err, bytes, 1) == 1) {
  }
  proxy_reset_counts (fixture->proxy);
  proxy_arm (fixture->proxy, PROXY_GET_CHILDREN, 1, 1, PROXY_HOLD_REPLY);
  g_autoptr (Cli) busy =
      cli_start ("/bin/sh", "-c", "exec \"$@\" 2>\"$0\"", fifo, ZKFLOCK, "-Z",
                 fixture_proxy (fixture), "--session-timeout", "40", "-w", WAIT, PATH, "true");
  /* It has asked for the queue, and for both lists of the look. */
  assert_soon (proxy_count (fixture->proxy, PROXY_GET_CHILDREN) >= 3);
  const gint64 started_ms = wait_now_ms ();
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_soon (is_writing (busy));

  wait_ms ((int) (started_ms + WAIT_MS + LATER_MS - wait_now_ms ()));
  proxy_log_start (fixture->proxy);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  assert_soon (is_answered (fixture->proxy));
  assert_soon (is_writing (busy)); /* its wait begins anew after a stop */
  while (read (err, bytes, sizeof bytes) > 0) {
  }
  cli_ends (busy, 69, NULL);
  close (err);
  assert_released (lock);
  curator_client_close (client);
}

/* Its place in the queue and other kinds are known by then. */
TEST (questions_need_no_thread)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/busy-alone");

  assert_acquired (lock);
  g_autoptr (Cli) busy = cli_zkflock (fixture_server (fixture), "--verbose", "/busy-alone", "true");
  cli_says (busy, "waiting: 1 of 1");
  /* Who asked for the cause of a slow connect ends. */
  assert_soon (has_one_thread (busy->pid));
  assert_released (lock);
  cli_ends (busy, 0, NULL);
  curator_client_close (client);
}

SUITE ("busy", fixture_start_calm, fixture_stop)
