/* Leader selectors and leader latches in C and Java in one election: both see each other's
 * participants, and never do two lead, whoever leaves, loses its connection or dies.
 *
 * A candidate in C leads until it has recorded that it does not: the function of a selector before
 * it returns, a latch in its listener or before it is closed. Java's flags are recorded the same
 * way. */
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <gio/gio.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LONG_MS    60000
#define SESSION_MS 4000
#define IN_QUEUE   6
/* As many changes of the queue as fit into this time. */
#define WORK_MS       4000
#define LEAST_CHANGES 40
#define MOST_CHANGES  250

typedef struct
{
  ZkServer *server;
  Proxy *proxy;
  RawZk *raw;
} Servers;

typedef struct
{
  gint64 time_ns;
  char *id;
  gboolean leads;
} Event;

typedef struct
{
  Servers *servers;
  const char *path;
  gboolean is_latch;
  CuratorClient *client;
  GSubprocess *java;
  GThread *reader;
  GRand *random;
  int started;

  pthread_mutex_t mutex; /* guards the rest */
  GArray *events;
  GHashTable *leaders; /* ids that lead now */
  GPtrArray *lines;    /* what Java printed beside that */
  GHashTable *ours;    /* id to Candidate */
} Election;

typedef struct
{
  Election *election;
  char *id;
  CuratorLeaderSelector *selector;
  CuratorLeaderLatch *latch;
} Candidate;

/* Called with the mutex held. */
static void
record_locked (Election *election, const char *id, gint64 time_ns, gboolean leads)
{
  if (leads == g_hash_table_contains (election->leaders, id))
    {
      return;
    }
  const Event event = { time_ns, g_strdup (id), leads };
  g_array_append_val (election->events, event);
  if (leads)
    {
      g_hash_table_add (election->leaders, g_strdup (id));
    }
  else
    {
      g_hash_table_remove (election->leaders, id);
    }
}

static void
record (Election *election, const char *id, gboolean leads)
{
  pthread_mutex_lock (&election->mutex);
  record_locked (election, id, wait_now_ns (), leads);
  pthread_mutex_unlock (&election->mutex);
}

static void
lead (CuratorLeaderSelector *selector, CuratorLease *lease, GCancellable *cancellable,
      gpointer user_data)
{
  Candidate *candidate = user_data;
  GPollFD wait;
  record (candidate->election, candidate->id, TRUE);
  if (g_cancellable_make_pollfd (cancellable, &wait))
    {
      g_poll (&wait, 1, -1);
      g_cancellable_release_fd (cancellable);
    }
  record (candidate->election, candidate->id, FALSE);
}

/* A latch that is being closed has recorded its end already. */
static void
on_change (CuratorLeaderLatch *latch, gboolean is_leader, gpointer user_data)
{
  Candidate *candidate = user_data;
  Election *election = candidate->election;
  pthread_mutex_lock (&election->mutex);
  if (g_hash_table_lookup (election->ours, candidate->id) == candidate)
    {
      record_locked (election, candidate->id, wait_now_ns (), is_leader);
    }
  pthread_mutex_unlock (&election->mutex);
}

static void
free_candidate (gpointer data)
{
  Candidate *candidate = data;
  g_free (candidate->id);
  g_free (candidate);
}

static void
check (gboolean good, GError **error)
{
  if (!good)
    {
      fail_msg ("%s", *error != NULL ? (*error)->message : "failed without an error");
    }
}

static void
start_ours (Election *election, const char *id)
{
  g_autoptr (GError) error = NULL;
  Candidate *candidate = g_new0 (Candidate, 1);
  candidate->election = election;
  candidate->id = g_strdup (id);
  pthread_mutex_lock (&election->mutex);
  g_hash_table_insert (election->ours, candidate->id, candidate);
  pthread_mutex_unlock (&election->mutex);
  if (election->is_latch)
    {
      candidate->latch = curator_leader_latch_new (election->client, election->path, id, &error);
      check (candidate->latch != NULL, &error);
      curator_leader_latch_add_listener (candidate->latch, on_change, candidate, free_candidate);
      check (curator_leader_latch_start (candidate->latch, &error), &error);
      return;
    }
  candidate->selector = curator_leader_selector_new (election->client, election->path, lead,
                                                     candidate, free_candidate, &error);
  check (candidate->selector != NULL, &error);
  curator_leader_selector_set_id (candidate->selector, id);
  curator_leader_selector_set_auto_requeue (candidate->selector, TRUE);
  check (curator_leader_selector_start (candidate->selector, &error), &error);
}

static void
stop_ours (Election *election, const char *id)
{
  pthread_mutex_lock (&election->mutex);
  Candidate *candidate = g_hash_table_lookup (election->ours, id);
  g_hash_table_remove (election->ours, id);
  if (candidate->latch != NULL)
    {
      record_locked (election, id, wait_now_ns (), FALSE);
    }
  pthread_mutex_unlock (&election->mutex);
  if (candidate->latch != NULL)
    {
      curator_leader_latch_unref (candidate->latch);
      return;
    }
  curator_leader_selector_unref (candidate->selector);
}

/* A line of LeaderPeer's. */
static void
on_line (Election *election, char *line)
{
  g_auto (GStrv) words = g_strsplit (line, " ", 3);
  pthread_mutex_lock (&election->mutex);
  if (g_str_equal (words[0], "LEADS") || g_str_equal (words[0], "ENDS"))
    {
      record_locked (election, words[1], g_ascii_strtoll (words[2], NULL, 10),
                     g_str_equal (words[0], "LEADS"));
    }
  else
    {
      g_ptr_array_add (election->lines, g_strdup (line));
    }
  pthread_mutex_unlock (&election->mutex);
}

static gpointer
read_java (gpointer data)
{
  Election *election = data;
  g_autoptr (GDataInputStream) lines =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (election->java));
  for (;;)
    {
      g_autofree char *line = g_data_input_stream_read_line (lines, NULL, NULL, NULL);
      if (line == NULL)
        {
          return NULL;
        }
      on_line (election, line);
    }
}

typedef struct
{
  Election *election;
  const char *prefix;
  char *line;
} Answer;

static gboolean
has_line (gpointer data)
{
  Answer *answer = data;
  GPtrArray *lines = answer->election->lines;
  pthread_mutex_lock (&answer->election->mutex);
  for (guint i = 0; i < lines->len && answer->line == NULL; i++)
    {
      const char *line = g_ptr_array_index (lines, i);
      if (g_str_has_prefix (line, answer->prefix) || g_str_has_prefix (line, "ERROR"))
        {
          answer->line = g_strdup (line);
          g_ptr_array_remove_index (lines, i);
        }
    }
  pthread_mutex_unlock (&answer->election->mutex);
  return answer->line != NULL;
}

/* Waits for the line of Java's that begins with prefix. */
static char *
await_line (Election *election, const char *prefix)
{
  Answer answer = { election, prefix, NULL };
  if (!wait_until (has_line, &answer, LONG_MS) || g_str_has_prefix (answer.line, "ERROR"))
    {
      fail_msg ("Java did not say %s, but %s", prefix,
                answer.line != NULL ? answer.line : "nothing");
    }
  return answer.line;
}

static void
command_java (Election *election, const char *verb, const char *id)
{
  g_autofree char *command = g_strdup_printf ("%s %s\n", verb, id);
  GOutputStream *commands = g_subprocess_get_stdin_pipe (election->java);
  assert_true (g_output_stream_write_all (commands, command, strlen (command), NULL, NULL, NULL));
}

static void
start_java (Election *election)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *session = g_strdup_printf ("%d", SESSION_MS);
  const char *const argv[] = { CONTEST_JAVA,
                               "-Xmx128m",
                               "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1",
                               "-XX:-UsePerfData",
                               "-cp",
                               CONTEST_CLASSPATH,
                               "LeaderPeer",
                               proxy_address (election->servers->proxy),
                               election->path,
                               election->is_latch ? "latch" : "selector",
                               session,
                               NULL };
  election->java = g_subprocess_newv (
      argv, G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
  check (election->java != NULL, &error);
  election->reader = g_thread_new ("java", read_java, election);
  g_free (await_line (election, "READY"));
}

/* The queue as a third party sees it on the server: "id number", the number of the node. */
static GPtrArray *
list_queue (Election *election)
{
  GPtrArray *queue = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) nodes = raw_zk_children (election->servers->raw, election->path);
  const char *previous = "";
  for (;;)
    {
      const char *next = NULL;
      for (char **node = nodes; node != NULL && *node != NULL; node++)
        {
          const char *number = *node + strlen (*node) - 10;
          if (strcmp (number, previous) > 0
              && (next == NULL || strcmp (number, next + strlen (next) - 10) < 0))
            {
              next = *node;
            }
        }
      if (next == NULL)
        {
          return queue;
        }
      g_autofree char *path = g_strconcat (election->path, "/", next, NULL);
      g_autoptr (GBytes) id = NULL;
      if (raw_zk_get (election->servers->raw, path, &id, NULL) == ZOK)
        {
          g_ptr_array_add (queue, g_strdup_printf ("%.*s %s", (int) g_bytes_get_size (id),
                                                   (const char *) g_bytes_get_data (id, NULL),
                                                   next + strlen (next) - 10));
        }
      previous = next + strlen (next) - 10;
    }
}

static char *
id_at (GPtrArray *queue, guint i)
{
  const char *entry = g_ptr_array_index (queue, i);
  return g_strndup (entry, strcspn (entry, " "));
}

static gboolean
first_leads (Election *election, GPtrArray *queue)
{
  g_autofree char *id = id_at (queue, 0);
  pthread_mutex_lock (&election->mutex);
  const gboolean result = g_hash_table_contains (election->leaders, id);
  pthread_mutex_unlock (&election->mutex);
  return result;
}

typedef struct
{
  Election *election;
  guint length;
  GPtrArray *queue; /* the result */
} Settling;

/* The queue is that long, and its first leads. */
static gboolean
is_settled (gpointer data)
{
  Settling *settling = data;
  g_clear_pointer (&settling->queue, g_ptr_array_unref);
  settling->queue = list_queue (settling->election);
  return settling->queue->len == settling->length
         && first_leads (settling->election, settling->queue);
}

static GPtrArray *
settle (Election *election, guint length)
{
  Settling settling = { election, length, NULL };
  if (!wait_until (is_settled, &settling, LONG_MS))
    {
      fail_msg ("the queue has %u of %u candidates, or its first does not lead",
                settling.queue->len, length);
    }
  return settling.queue;
}

/* Candidates in C are c1, c2, ... and in Java j1, j2, ... */
static void
start_next (Election *election, gboolean in_java)
{
  g_autofree char *id = g_strdup_printf ("%c%d", in_java ? 'j' : 'c', ++election->started);
  if (in_java)
    {
      command_java (election, "start", id);
      g_free (await_line (election, "STARTED"));
    }
  else
    {
      start_ours (election, id);
    }
}

static void
stop (Election *election, const char *id)
{
  if (*id == 'j')
    {
      command_java (election, "stop", id);
      g_free (await_line (election, "CLOSED"));
    }
  else
    {
      stop_ours (election, id);
    }
}

static Election *
election_new (Servers *servers, const char *path, gboolean is_latch)
{
  g_autoptr (GError) error = NULL;
  Election *election = g_new0 (Election, 1);
  election->servers = servers;
  election->path = path;
  election->is_latch = is_latch;
  election->random = g_rand_new_with_seed (is_latch ? 11 : 7);
  pthread_mutex_init (&election->mutex, NULL);
  election->events = g_array_new (FALSE, FALSE, sizeof (Event));
  election->leaders = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  election->lines = g_ptr_array_new_with_free_func (g_free);
  election->ours = g_hash_table_new (g_str_hash, g_str_equal);
  election->client = curator_client_new (proxy_address (servers->proxy), NULL);
  curator_client_set_session_timeout (election->client, SESSION_MS);
  check (curator_client_start (election->client, &error), &error);
  start_java (election);
  for (int i = 0; i < IN_QUEUE; i++)
    {
      start_next (election, i % 2 == 1);
      g_ptr_array_unref (settle (election, (guint) i + 1));
    }
  return election;
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const gint64 left = ((const Event *) a)->time_ns;
  const gint64 right = ((const Event *) b)->time_ns;
  return left < right ? -1 : left > right ? 1 : 0;
}

/* Never do two lead. Returns how often the leader changed. */
static int
judge (Election *election)
{
  int changes = 0;
  const char *leader = NULL;
  const char *last = NULL;
  g_array_sort (election->events, compare_times);
  for (guint i = 0; i < election->events->len; i++)
    {
      const Event *event = &g_array_index (election->events, Event, i);
      if (event->leads && leader != NULL)
        {
          fail_msg ("%s leads while %s does", event->id, leader);
        }
      changes += event->leads && (last == NULL || !g_str_equal (last, event->id));
      leader = event->leads ? event->id : NULL;
      last = event->id;
    }
  return changes;
}

static void
election_free (Election *election)
{
  curator_client_close (election->client);
  curator_client_unref (election->client);
  g_thread_join (election->reader);
  g_object_unref (election->java);
  for (guint i = 0; i < election->events->len; i++)
    {
      g_free (g_array_index (election->events, Event, i).id);
    }
  g_array_unref (election->events);
  g_hash_table_unref (election->leaders);
  g_hash_table_unref (election->ours);
  g_ptr_array_unref (election->lines);
  g_rand_free (election->random);
  pthread_mutex_destroy (&election->mutex);
  g_free (election);
}

static char *
join (GPtrArray *ids)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < ids->len; i++)
    {
      g_string_append_printf (text, "%s%s", i > 0 ? "," : "",
                              (const char *) g_ptr_array_index (ids, i));
    }
  return g_string_free (text, FALSE);
}

/* What the library says of the queue. */
static char *
read_ours (Election *election, char **leader)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) participants = NULL;
  g_autoptr (GPtrArray) ids = g_ptr_array_new ();
  g_autoptr (CuratorLeaderParticipant) first = NULL;
  pthread_mutex_lock (&election->mutex);
  Candidate *any = g_hash_table_lookup (election->ours, "c1");
  pthread_mutex_unlock (&election->mutex);
  if (any->latch != NULL)
    {
      participants = curator_leader_latch_get_participants (any->latch, &error);
      first = curator_leader_latch_get_leader (any->latch, &error);
    }
  else
    {
      participants = curator_leader_selector_get_participants (any->selector, &error);
      first = curator_leader_selector_get_leader (any->selector, &error);
    }
  check (participants != NULL && first != NULL, &error);
  for (guint i = 0; i < participants->len; i++)
    {
      CuratorLeaderParticipant *participant = g_ptr_array_index (participants, i);
      assert_int_equal (curator_leader_participant_is_leader (participant), i == 0);
      g_ptr_array_add (ids, (gpointer) curator_leader_participant_get_id (participant));
    }
  *leader = g_strdup (curator_leader_participant_get_id (first));
  return join (ids);
}

static void
see_each_other (Election *election)
{
  g_autofree char *leader = NULL;
  g_autofree char *ours = read_ours (election, &leader);
  assert_string_equal (ours, "c1,j2,c3,j4,c5,j6");
  assert_string_equal (leader, "c1");
  command_java (election, "list", "");
  g_autofree char *theirs = await_line (election, "PARTICIPANTS");
  g_autofree char *their_leader = await_line (election, "LEADER");
  assert_string_equal (theirs, "PARTICIPANTS c1,j2,c3,j4,c5,j6");
  assert_string_equal (their_leader, "LEADER c1");
}

/* The first of those that were in the queue before, and still have the same node, is in front. */
static void
assert_order_kept (GPtrArray *before, GPtrArray *after)
{
  for (guint i = 0; i < before->len; i++)
    {
      const char *entry = g_ptr_array_index (before, i);
      if (g_ptr_array_find_with_equal_func (after, entry, g_str_equal, NULL))
        {
          assert_string_equal (g_ptr_array_index (after, 0), entry);
          return;
        }
    }
}

/* The leader leaves: the next in the queue leads. Sometimes another one leaves, or every connection
 * is cut. A candidate of the same language takes the place at the end. */
static void
change (Election *election)
{
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  const int dice = g_rand_int_range (election->random, 0, 20);
  if (dice == 0)
    {
      proxy_cut (election->servers->proxy);
      return;
    }
  g_autofree char *leaver = id_at (queue, dice == 1 ? 3 : 0);
  stop (election, leaver);
  g_autoptr (GPtrArray) left = settle (election, IN_QUEUE - 1);
  assert_order_kept (queue, left);
  start_next (election, *leaver == 'j');
}

static gboolean
java_leads (Election *election)
{
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  return *(const char *) g_ptr_array_index (queue, 0) == 'j';
}

/* Java dies while it leads. */
static void
kill_java (Election *election)
{
  while (!java_leads (election))
    {
      change (election);
    }
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  g_subprocess_force_exit (election->java);
  g_subprocess_wait (election->java, NULL, NULL);
  g_autofree char *id = id_at (queue, 0);
  record (election, id, FALSE);
  g_ptr_array_unref (settle (election, IN_QUEUE / 2));
}

static void
run (Servers *servers, const char *path, gboolean is_latch)
{
  Election *election = election_new (servers, path, is_latch);
  see_each_other (election);
  const gint64 until_ms = wait_now_ms () + WORK_MS;
  for (int i = 0; i < MOST_CHANGES && (i < LEAST_CHANGES || wait_now_ms () < until_ms); i++)
    {
      change (election);
    }
  kill_java (election);
  for (guint left = IN_QUEUE / 2; left > 0; left--)
    {
      g_autoptr (GPtrArray) queue = settle (election, left);
      g_autofree char *id = id_at (queue, 0);
      stop (election, id);
    }
  assert_true (raw_zk_wait_children (servers->raw, path, 0, LONG_MS));
  pthread_mutex_lock (&election->mutex);
  const int changes = judge (election);
  pthread_mutex_unlock (&election->mutex);
  print_message ("%s: %d changes of leader\n", path, changes);
  assert_true (changes >= LEAST_CHANGES / 2);
  election_free (election);
}

static void
test_selectors (void **state)
{
  run (*state, "/interop/selector", FALSE);
}

static void
test_latches (void **state)
{
  run (*state, "/interop/latch", TRUE);
}

static int
start_servers (void **state)
{
  Servers *servers = g_new0 (Servers, 1);
  *state = servers;
  servers->server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  if (servers->server == NULL)
    {
      return -1;
    }
  servers->proxy = proxy_new (zk_server_address (servers->server));
  servers->raw = raw_zk_open (zk_server_address (servers->server));
  return servers->proxy != NULL && servers->raw != NULL ? 0 : -1;
}

static int
stop_servers (void **state)
{
  Servers *servers = *state;
  raw_zk_close (servers->raw);
  proxy_free (servers->proxy);
  zk_server_stop (servers->server);
  g_free (servers);
  return 0;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_selectors),
    cmocka_unit_test (test_latches),
  };
  return cmocka_run_group_tests_name ("interop: leaders", tests, start_servers, stop_servers);
}
