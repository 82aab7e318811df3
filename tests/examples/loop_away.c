/* loop_away EXAMPLE LOCKS ROUNDS: an example's loop is never away for long while it locks and
 * releases so often, and answers come late. A call that waits for an answer would take it away for
 * longer. The example's own timer measures, and tells of an absence at once.
 *
 * A thread notes how long those of the example wait for a processor: a busy machine is not to blame
 * on the example.
 */
#define SUITE_TEARDOWN end_example
#include "support/metronome.h"
#include "support/proxy.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS 50
#define AWAY_MS   20
#define LATE_MS   100 /* until the line is read */

static GPid example; /* atomic */

/* After a failure. */
static int
end_example (void **state)
{
  if (example > 0)
    kill (example, SIGKILL);
  return 0;
}

typedef struct
{
  gint64 at_ms;
  gint64 waited_us;
} Sample;

static char **arguments;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GArray *samples;

static void *
sample (void *data)
{
  for (;;) {
    const Sample now = { wait_now_ms (), metronome_waited_us (g_atomic_int_get (&example)) };
    pthread_mutex_lock (&mutex);
    g_array_append_val (samples, now);
    pthread_mutex_unlock (&mutex);
    usleep (5000);
  }
  return NULL;
}

/* How long they waited since then. What a thread has waited goes with it when it ends. */
static gint64
waited_since (gint64 since_ms)
{
  gint64 later_us = metronome_waited_us (example);
  gint64 sum_us = 0;
  pthread_mutex_lock (&mutex);
  for (guint i = samples->len; i > 0; i--) {
    const Sample *at = &g_array_index (samples, Sample, i - 1);
    sum_us += MAX (later_us - at->waited_us, 0);
    later_us = at->waited_us;
    if (at->at_ms < since_ms)
      break;
  }
  pthread_mutex_unlock (&mutex);
  return sum_us / 1000;
}

/* Returns how often a lock was held. */
static int
judge (FILE *printed)
{
  char line[200];
  int n_holds = 0, away_ms = -1;
  while (fgets (line, sizeof line, printed) != NULL) {
    n_holds += g_str_has_prefix (line, "held: ");
    if (sscanf (line, "away: %d ms", &away_ms) != 1)
      continue;
    const gint64 since_ms = wait_now_ms () - away_ms - LATE_MS;
    const gint64 waited_ms = away_ms > AWAY_MS ? waited_since (since_ms) : 0;
    /* docs/threading.md: the loop is never away for more than that. */
    assert_promised_ms (away_ms - waited_ms, AWAY_MS, since_ms);
  }
  print_message ("away for %d ms at most\n", away_ms);
  assert_true (away_ms > 0);
  return n_holds;
}

/* Starts the example. */
static FILE *
start (const char *address)
{
  char *command[] = { arguments[0], (char *) address, arguments[1], arguments[2], NULL };
  g_autoptr (GError) error = NULL;
  pthread_t thread;
  int output = -1;
  if (!g_spawn_async_with_pipes (NULL, command, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                 &example, NULL, &output, NULL, &error))
    fail_msg ("%s", error->message);
  samples = g_array_new (FALSE, FALSE, sizeof (Sample));
  assert_int_equal (pthread_create (&thread, NULL, sample, NULL), 0);
  pthread_detach (thread);
  return fdopen (output, "r");
}

TEST (test_loop_away)
{
  int status = -1;
  ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (server);
  Proxy *proxy = proxy_new (zk_server_address (server));
  assert_non_null (proxy);
  proxy_set_delay (proxy, 0, ANSWER_MS);

  FILE *printed = start (proxy_address (proxy));
  assert_int_equal (judge (printed), atoi (arguments[1]) * atoi (arguments[2]));
  assert_int_equal (waitpid (example, &status, 0), example);
  g_atomic_int_set (&example, 0);
  assert_int_equal (status, 0);

  fclose (printed);
  proxy_free (proxy);
  zk_server_stop (server);
}

int
main (int argc, char **argv)
{
  if (argc != 4)
    return 2;
  arguments = argv + 1;
  metronome_start ();
  return suite_run ("loop away", NULL, NULL);
}
