/* Leader selectors and leader latches in C and Java in one election: both see each other's
 * participants, and never do two lead, whoever leaves, loses its connection or is killed.
 *
 * Candidates live in processes of both languages, which print when each of them leads; each process
 * has a proxy of its own. A leader in C may not overlap with another. One in Java believes a flag,
 * which its client may correct after the session has ended: such an overlap is counted, not a
 * failure.
 *
 * A short run has a few changes of leader and one kill of each language. CURATOR_LEADER_CHANGES
 * sets how many changes of leader each election has, with random kills and cuts;
 * CURATOR_LEADER_SEED the seed. */
#define SUITE_FIXTURE Servers *servers
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <gio/gio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MS       60000
#define SESSION_MS    4000
#define PEERS         4 /* processes; the odd ones are Java */
#define EACH          2 /* candidates of a process */
#define IN_QUEUE      (PEERS * EACH)
#define SHORT_CHANGES 25

typedef struct
{
  ZkServer *server;
  RawZk *raw;
} Servers;

typedef struct
{
  gint64 time_ns;
  char *id;
  gboolean leads;
} Event;

typedef struct _Election Election;

/* A process. Its candidates are c1, c2, ... in C and j1, j2, ... in Java. */
typedef struct
{
  Election *election;
  gboolean is_java;
  Proxy *proxy;
  GSubprocess *process;
  GThread *reader;
} Peer;

struct _Election
{
  Servers *servers;
  const char *path;
  gboolean is_latch;
  guint32 seed;
  GRand *random;
  int started;
  int kills[2]; /* of processes in C, in Java */
  int cuts;
  int holes;
  int closes;
  GHashTable *homes; /* id to Peer */
  Peer peers[PEERS];

  pthread_mutex_t mutex; /* guards the rest */
  GArray *events;
  GHashTable *leaders; /* ids that lead now */
  GHashTable *lines;   /* what a Peer printed beside that, to GPtrArray */
  int changes;
  char *last;          /* the id that led last */
  GHashTable *waiting; /* id that has not led yet, to changes when it was started */
  int longest_wait;    /* in changes of leader, until a candidate led first */
};

/* Called with the mutex held. */
static void
record_locked (Election *election, const char *id, gint64 time_ns, gboolean leads)
{
  if (leads == g_hash_table_contains (election->leaders, id))
    return;
  const Event event = { time_ns, g_strdup (id), leads };
  g_array_append_val (election->events, event);
  if (!leads)
    {
      g_hash_table_remove (election->leaders, id);
      return;
    }
  g_hash_table_add (election->leaders, g_strdup (id));
  if (g_strcmp0 (election->last, id) != 0)
    {
      election->changes++;
      g_free (election->last);
      election->last = g_strdup (id);
    }
  gpointer since;
  if (g_hash_table_lookup_extended (election->waiting, id, NULL, &since))
    {
      g_hash_table_remove (election->waiting, id);
      election->longest_wait =
          MAX (election->longest_wait, election->changes - GPOINTER_TO_INT (since));
    }
}

static int
count_changes (Election *election)
{
  pthread_mutex_lock (&election->mutex);
  const int changes = election->changes;
  pthread_mutex_unlock (&election->mutex);
  return changes;
}

static void
check (gboolean good, GError **error)
{
  if (!good)
    fail_msg ("%s", *error != NULL ? (*error)->message : "failed without an error");
}

/* --- processes -------------------------------------------------------------------------------- */

static void
on_line (Peer *peer, const char *line)
{
  Election *election = peer->election;
  g_auto (GStrv) words = g_strsplit (line, " ", 3);
  pthread_mutex_lock (&election->mutex);
  if (g_str_equal (words[0], "LEADS") || g_str_equal (words[0], "ENDS"))
    {
      record_locked (election, words[1], g_ascii_strtoll (words[2], NULL, 10),
                     g_str_equal (words[0], "LEADS"));
    }
  else
    {
      g_ptr_array_add (g_hash_table_lookup (election->lines, peer), g_strdup (line));
    }
  pthread_mutex_unlock (&election->mutex);
}

static gpointer
read_lines (gpointer data)
{
  Peer *peer = data;
  g_autoptr (GDataInputStream) lines =
      g_data_input_stream_new (g_subprocess_get_stdout_pipe (peer->process));
  for (;;)
    {
      g_autofree char *line = g_data_input_stream_read_line (lines, NULL, NULL, NULL);
      if (line == NULL)
        return NULL;
      on_line (peer, line);
    }
}

typedef struct
{
  Peer *peer;
  const char *prefix;
  char *line;
} Answer;

static gboolean
has_line (gpointer data)
{
  Answer *answer = data;
  Election *election = answer->peer->election;
  pthread_mutex_lock (&election->mutex);
  GPtrArray *lines = g_hash_table_lookup (election->lines, answer->peer);
  for (guint i = 0; i < lines->len && answer->line == NULL; i++)
    {
      const char *line = g_ptr_array_index (lines, i);
      if (g_str_has_prefix (line, answer->prefix) || g_str_has_prefix (line, "ERROR"))
        {
          answer->line = g_strdup (line);
          g_ptr_array_remove_index (lines, i);
        }
    }
  pthread_mutex_unlock (&election->mutex);
  return answer->line != NULL;
}

/* Waits for the line that begins with prefix. */
static char *
await_line (Peer *peer, const char *prefix)
{
  Answer answer = { peer, prefix, NULL };
  if (!wait_until (has_line, &answer, LONG_MS) || g_str_has_prefix (answer.line, "ERROR"))
    {
      fail_msg ("%s did not say %s, but %s", peer->is_java ? "Java" : "C", prefix,
                answer.line != NULL ? answer.line : "nothing");
    }
  return answer.line;
}

static void
command (Peer *peer, const char *verb, const char *id)
{
  g_autofree char *line = g_strdup_printf ("%s %s\n", verb, id);
  GOutputStream *commands = g_subprocess_get_stdin_pipe (peer->process);
  assert_true (g_output_stream_write_all (commands, line, strlen (line), NULL, NULL, NULL));
}

/* Does not wait until it is ready. */
static void
peer_spawn (Peer *peer)
{
  g_autoptr (GError) error = NULL;
  Election *election = peer->election;
  g_autofree char *session = g_strdup_printf ("%d", SESSION_MS);
  const char *const arguments[] = { CONTEST_JAVA,
                                    "-Xmx128m",
                                    "-XX:+UseSerialGC",
                                    "-XX:TieredStopAtLevel=1",
                                    "-XX:-UsePerfData",
                                    "-cp",
                                    CONTEST_CLASSPATH,
                                    peer->is_java ? "LeaderPeer" : LEADER_WORKER,
                                    proxy_address (peer->proxy),
                                    election->path,
                                    election->is_latch ? "latch" : "selector",
                                    session,
                                    NULL };
  peer->process =
      g_subprocess_newv (peer->is_java ? arguments : arguments + 7,
                         G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
  check (peer->process != NULL, &error);
  peer->reader = g_thread_new ("lines", read_lines, peer);
}

static void
start_next (Peer *peer)
{
  Election *election = peer->election;
  char *id = g_strdup_printf ("%c%d", peer->is_java ? 'j' : 'c', ++election->started);
  g_hash_table_insert (election->homes, id, peer);
  pthread_mutex_lock (&election->mutex);
  g_hash_table_insert (election->waiting, g_strdup (id), GINT_TO_POINTER (election->changes));
  pthread_mutex_unlock (&election->mutex);
  command (peer, "start", id);
  g_free (await_line (peer, "STARTED"));
}

static void
stop (Election *election, const char *id)
{
  Peer *peer = g_hash_table_lookup (election->homes, id);
  command (peer, "stop", id);
  g_free (await_line (peer, "CLOSED"));
  g_hash_table_remove (election->homes, id);
}

static gboolean
ends_with (gpointer id, gpointer peer, gpointer dead)
{
  if (peer == dead)
    record_locked (((Peer *) peer)->election, id, wait_now_ns (), FALSE);
  return peer == dead;
}

/* Its candidates lead no more as soon as it is dead. */
static void
peer_end (Peer *peer)
{
  g_thread_join (peer->reader);
  g_subprocess_wait (peer->process, NULL, NULL);
  pthread_mutex_lock (&peer->election->mutex);
  g_hash_table_foreach_remove (peer->election->homes, ends_with, peer);
  pthread_mutex_unlock (&peer->election->mutex);
  g_clear_object (&peer->process);
}

static void
peer_kill (Peer *peer)
{
  peer->election->kills[peer->is_java]++;
  g_subprocess_force_exit (peer->process);
  peer_end (peer);
}

/* --- the queue -------------------------------------------------------------------------------- */

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
            next = *node;
        }
      if (next == NULL)
        return queue;
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

/* Nodes of processes that have been killed do not count. */
static gboolean
are_alive (Election *election, GPtrArray *queue)
{
  for (guint i = 0; i < queue->len; i++)
    {
      g_autofree char *id = id_at (queue, i);
      if (!g_hash_table_contains (election->homes, id))
        return FALSE;
    }
  return TRUE;
}

typedef struct
{
  Election *election;
  guint length;
  GPtrArray *queue; /* the result */
} Settling;

static gboolean
is_settled (gpointer data)
{
  Settling *settling = data;
  g_clear_pointer (&settling->queue, g_ptr_array_unref);
  settling->queue = list_queue (settling->election);
  return settling->queue->len == settling->length && are_alive (settling->election, settling->queue)
         && first_leads (settling->election, settling->queue);
}

/* Waits until the queue is that long and its first leads. */
static GPtrArray *
settle (Election *election, guint length)
{
  Settling settling = { election, length, NULL };
  if (!wait_until (is_settled, &settling, LONG_MS))
    {
      g_autoptr (GString) entries = g_string_new (NULL);
      for (guint i = 0; i < settling.queue->len; i++)
        {
          g_string_append_printf (entries, "%s%s", i > 0 ? ", " : "",
                                  (const char *) g_ptr_array_index (settling.queue, i));
        }
      fail_msg ("%s: the queue (%s) has not %u candidates, or its first does not lead",
                election->path, entries->str, length);
    }
  return settling.queue;
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

/* --- what happens ----------------------------------------------------------------------------- */

static void
lose_and_settle (Election *election, GPtrArray *before)
{
  g_autoptr (GPtrArray) after = settle (election, IN_QUEUE);
  assert_order_kept (before, after);
}

/* A candidate leaves, and another one of its process takes the place at the end. */
static void
leave (Election *election, GPtrArray *queue, guint i)
{
  g_autofree char *leaver = id_at (queue, i);
  Peer *peer = g_hash_table_lookup (election->homes, leaver);
  election->closes++;
  stop (election, leaver);
  g_autoptr (GPtrArray) left = settle (election, IN_QUEUE - 1);
  assert_order_kept (queue, left);
  start_next (peer);
}

static void
kill_and_restart (Peer *peer)
{
  peer_kill (peer);
  peer_spawn (peer);
  g_free (await_line (peer, "READY"));
  for (int i = 0; i < EACH; i++)
    start_next (peer);
}

/* Nothing passes for up to one and a half session timeouts. */
static void
cut_off (Peer *peer)
{
  peer->election->holes++;
  proxy_set_mode (peer->proxy, PROXY_HOLE);
  wait_ms (g_rand_int_range (peer->election->random, SESSION_MS / 10, SESSION_MS * 3 / 2));
  proxy_set_mode (peer->proxy, PROXY_PASS);
}

/* Mostly the leader leaves. */
static void
step (Election *election)
{
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  g_autofree char *leader = id_at (queue, 0);
  Peer *victim = g_rand_boolean (election->random)
                     ? g_hash_table_lookup (election->homes, leader)
                     : &election->peers[g_rand_int_range (election->random, 0, PEERS)];
  const int dice = g_rand_int_range (election->random, 0, 100);
  if (dice >= 15)
    {
      leave (election, queue, dice < 20 ? IN_QUEUE / 2 : 0);
      return;
    }
  if (dice < 4)
    {
      kill_and_restart (victim);
    }
  else if (dice < 8)
    {
      cut_off (victim);
    }
  else
    {
      election->cuts++;
      proxy_cut (victim->proxy);
    }
  lose_and_settle (election, queue);
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  const gint64 left = ((const Event *) a)->time_ns;
  const gint64 right = ((const Event *) b)->time_ns;
  return left < right ? -1 : left > right ? 1 : 0;
}

typedef struct
{
  GHashTable *believers; /* id to when another began to lead, 0: none did; gint64 */
  int windows;
  gint64 longest_ns;
} Verdict;

static void
judge_event (Verdict *verdict, const Event *event)
{
  gint64 *overlapped = g_hash_table_lookup (verdict->believers, event->id);
  if (!event->leads)
    {
      if (overlapped != NULL && *overlapped > 0)
        {
          verdict->windows++;
          verdict->longest_ns = MAX (verdict->longest_ns, event->time_ns - *overlapped);
        }
      g_hash_table_remove (verdict->believers, event->id);
      return;
    }
  GHashTableIter iter;
  gpointer other;
  g_hash_table_iter_init (&iter, verdict->believers);
  while (g_hash_table_iter_next (&iter, &other, (gpointer *) &overlapped))
    {
      if (*(const char *) other == 'c')
        fail_msg ("%s leads while %s does", event->id, (const char *) other);
      *overlapped = *overlapped == 0 ? event->time_ns : *overlapped;
    }
  g_hash_table_insert (verdict->believers, event->id, g_new0 (gint64, 1));
}

/* No leader in C overlaps with a later one. */
static void
judge (Election *election)
{
  Verdict verdict = { .believers = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free) };
  g_array_sort (election->events, compare_times);
  for (guint i = 0; i < election->events->len; i++)
    judge_event (&verdict, &g_array_index (election->events, Event, i));
  assert_int_equal (g_hash_table_size (verdict.believers), 0);
  g_hash_table_unref (verdict.believers);
  print_message ("%s, seed %u: %d changes of leader; %d closes, %d connections cut, %d cut off, %d "
                 "kills of C, "
                 "%d of Java; led first after %d changes at the latest; overlaps of a "
                 "leader in C: 0, in Java: %d, %d ms at most\n",
                 election->path, election->seed, election->changes, election->closes,
                 election->cuts, election->holes, election->kills[0], election->kills[1],
                 election->longest_wait, verdict.windows, (int) (verdict.longest_ns / 1000000));
}

static void
see_each_other (Election *election)
{
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  g_autoptr (GString) expected = g_string_new ("PARTICIPANTS ");
  g_autofree char *leader = id_at (queue, 0);
  g_autofree char *expected_leader = g_strconcat ("LEADER ", leader, NULL);
  for (guint i = 0; i < queue->len; i++)
    {
      g_autofree char *id = id_at (queue, i);
      g_string_append_printf (expected, "%s%s", i > 0 ? "," : "", id);
    }
  for (int i = 0; i < 2; i++)
    {
      command (&election->peers[i], "list", "");
      g_autofree char *participants = await_line (&election->peers[i], "PARTICIPANTS");
      g_autofree char *named = await_line (&election->peers[i], "LEADER");
      assert_string_equal (participants, expected->str);
      assert_string_equal (named, expected_leader);
    }
}

/* --- elections -------------------------------------------------------------------------------- */

static guint32
number_from (const char *variable, guint32 otherwise)
{
  const char *text = g_getenv (variable);
  return text != NULL ? (guint32) g_ascii_strtoull (text, NULL, 10) : otherwise;
}

/* Does not wait for its processes. */
static Election *
election_new (Servers *servers, const char *path, gboolean is_latch)
{
  Election *election = g_new0 (Election, 1);
  election->servers = servers;
  election->path = path;
  election->is_latch = is_latch;
  election->seed = number_from ("CURATOR_LEADER_SEED", 7);
  election->random = g_rand_new_with_seed (election->seed + is_latch);
  pthread_mutex_init (&election->mutex, NULL);
  election->events = g_array_new (FALSE, FALSE, sizeof (Event));
  election->leaders = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  election->homes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  election->waiting = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  election->lines = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  for (int i = 0; i < PEERS; i++)
    {
      Peer *peer = &election->peers[i];
      peer->election = election;
      peer->is_java = i % 2 == 1;
      peer->proxy = proxy_new (zk_server_address (servers->server));
      assert_non_null (peer->proxy);
      g_hash_table_insert (election->lines, peer, g_ptr_array_new_with_free_func (g_free));
      peer_spawn (peer);
    }
  return election;
}

static void
election_begin (Election *election)
{
  for (int i = 0; i < PEERS; i++)
    g_free (await_line (&election->peers[i], "READY"));
  for (int i = 0; i < IN_QUEUE; i++)
    {
      start_next (&election->peers[i % PEERS]);
      g_ptr_array_unref (settle (election, (guint) i + 1));
    }
  see_each_other (election);
}

/* Until a candidate of that language leads, the leaders leave. */
static Peer *
leader_of (Election *election, gboolean is_java)
{
  for (;;)
    {
      g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
      g_autofree char *leader = id_at (queue, 0);
      if (*leader == (is_java ? 'j' : 'c'))
        return g_hash_table_lookup (election->homes, leader);
      leave (election, queue, 0);
    }
}

/* Everybody leaves, the leader first. */
static void
election_end (Election *election)
{
  for (guint left = g_hash_table_size (election->homes); left > 0; left--)
    {
      g_autoptr (GPtrArray) queue = settle (election, left);
      g_autofree char *id = id_at (queue, 0);
      stop (election, id);
    }
  assert_true (raw_zk_wait_children (election->servers->raw, election->path, 0, LONG_MS));
  for (int i = 0; i < PEERS; i++)
    {
      if (election->peers[i].process != NULL)
        {
          g_output_stream_close (g_subprocess_get_stdin_pipe (election->peers[i].process), NULL,
                                 NULL);
          peer_end (&election->peers[i]);
        }
      proxy_free (election->peers[i].proxy);
    }
  judge (election);
}

static void
election_free (Election *election)
{
  for (guint i = 0; i < election->events->len; i++)
    g_free (g_array_index (election->events, Event, i).id);
  g_array_unref (election->events);
  g_hash_table_unref (election->leaders);
  g_hash_table_unref (election->homes);
  g_hash_table_unref (election->waiting);
  g_hash_table_unref (election->lines);
  g_rand_free (election->random);
  pthread_mutex_destroy (&election->mutex);
  g_free (election->last);
  g_free (election);
}

/* Both elections at once, so that one goes on while the other one waits for the end of sessions. */
TEST (test_elections)
{
  const int wanted = (int) number_from ("CURATOR_LEADER_CHANGES", 0);
  Election *elections[] = { election_new (servers, "/interop/selector", FALSE),
                            election_new (servers, "/interop/latch", TRUE) };
  for (int i = 0; i < 2; i++)
    {
      election_begin (elections[i]);
      while (count_changes (elections[i]) < SHORT_CHANGES)
        {
          g_autoptr (GPtrArray) queue = settle (elections[i], IN_QUEUE);
          leave (elections[i], queue, 0);
        }
      while (count_changes (elections[i]) < wanted)
        step (elections[i]);
    }
  for (int i = 0; i < 2; i++)
    {
      Peer *leader = leader_of (elections[i], i == 0);
      peer_kill (leader);
      peer_kill (leader == &elections[i]->peers[0] ? &elections[i]->peers[1]
                                                   : &elections[i]->peers[0]);
    }
  for (int i = 0; i < 2; i++)
    {
      election_end (elections[i]);
      election_free (elections[i]);
    }
}

static int
start_servers (void **state)
{
  Servers *servers = g_new0 (Servers, 1);
  *state = servers;
  servers->server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  if (servers->server == NULL)
    return -1;
  servers->raw = raw_zk_open (zk_server_address (servers->server));
  return servers->raw != NULL ? 0 : -1;
}

static int
stop_servers (void **state)
{
  Servers *servers = *state;
  raw_zk_close (servers->raw);
  zk_server_stop (servers->server);
  g_free (servers);
  return 0;
}

SUITE ("interop: leaders", start_servers, stop_servers)
