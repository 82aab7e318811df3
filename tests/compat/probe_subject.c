/* A program that uses the functions of ZooKeeper's zoo_lock.h, and nothing else of whoever provides
 * them.
 *
 * It does as it is told by lines on stdin, and answers each with a line:
 *
 *   open H ADDRESS TIMEOUT-MS   a handle, connected; answers with its session
 *   init M H PATH               mutex M of handle H
 *   lock M, unlock M            answers when the call has returned
 *
 * Between these, every few milliseconds, it works with each mutex that it owns: "work M" and the
 * time in ns of CLOCK_MONOTONIC. It ends with its stdin.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include <zoo_lock.h>

#define MOST    32
#define TURN_MS 5
#define OPEN_MS 20000
#define LONGEST 512

static zhandle_t *handles[MOST];
static zkr_lock_mutex_t mutexes[MOST];
static char paths[MOST][LONGEST];
static int is_there[MOST];

/* Whole lines, so that a reader never sees a part of one. */
static void __attribute__ ((format (printf, 1, 2))) say (const char *format, ...)
{
  char line[LONGEST];
  va_list arguments;
  va_start (arguments, format);
  const int length = vsnprintf (line, sizeof line, format, arguments);
  va_end (arguments);
  if (write (STDOUT_FILENO, line, (size_t) length) != length)
    _exit (2);
}

static void
work (void)
{
  for (int i = 0; i < MOST; i++) {
    if (is_there[i] && zkr_lock_isowner (&mutexes[i])) {
      struct timespec now;
      clock_gettime (CLOCK_MONOTONIC, &now);
      say ("work %d %lld\n", i, (long long) now.tv_sec * 1000000000 + now.tv_nsec);
    }
  }
}

static void
open_handle (int h, const char *address, int timeout_ms)
{
  handles[h] = zookeeper_init (address, NULL, timeout_ms, NULL, NULL, 0);
  for (int waited = 0; handles[h] != NULL && waited < OPEN_MS; waited += TURN_MS) {
    if (zoo_state (handles[h]) == ZOO_CONNECTED_STATE) {
      say ("done %lld\n", (long long) zoo_client_id (handles[h])->client_id);
      return;
    }
    usleep (TURN_MS * 1000);
  }
  say ("failed\n");
}

static void
obey (const char *line)
{
  char text[LONGEST];
  int a = 0;
  int b = 0;
  if (sscanf (line, "open %d %511s %d", &a, text, &b) == 3 && a < MOST) {
    open_handle (a, text, b);
  } else if (sscanf (line, "init %d %d %511s", &a, &b, text) == 3 && a < MOST && b < MOST) {
    memcpy (paths[a], text, sizeof text);
    is_there[a] = zkr_lock_init (&mutexes[a], handles[b], paths[a], &ZOO_OPEN_ACL_UNSAFE) == 0;
    say (is_there[a] ? "done\n" : "failed\n");
  } else if (sscanf (line, "lock %d", &a) == 1 && a < MOST) {
    zkr_lock_lock (&mutexes[a]);
    say ("done\n");
  } else if (sscanf (line, "unlock %d", &a) == 1 && a < MOST) {
    zkr_lock_unlock (&mutexes[a]);
    say ("done\n");
  } else {
    say ("failed\n");
  }
}

/* Whether stdin is still open. */
static int
listen_for (int turn_ms)
{
  static char pending[LONGEST];
  static size_t length;
  struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
  if (poll (&in, 1, turn_ms) <= 0)
    return 1;
  const ssize_t n = read (STDIN_FILENO, pending + length, sizeof pending - 1 - length);
  if (n <= 0)
    return 0;
  length += (size_t) n;
  pending[length] = '\0';
  char *end;
  while ((end = strchr (pending, '\n')) != NULL) {
    *end = '\0';
    obey (pending);
    length -= (size_t) (end + 1 - pending);
    memmove (pending, end + 1, length + 1);
  }
  return 1;
}

int
main (void)
{
  zoo_set_debug_level (getenv ("PROBE_VERBOSE") != NULL ? ZOO_LOG_LEVEL_INFO : (ZooLogLevel) 0);
  while (listen_for (TURN_MS))
    work ();
  /* The sessions end with their timeout or, where a probe is over, with the server. */
  _exit (0);
}
