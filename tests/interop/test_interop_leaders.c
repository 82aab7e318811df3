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
#include "contest.h"
#include "integration/fixture.h"
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#define PARTIES       4 /* processes; the odd ones are Java */
#define EACH          2 /* candidates of a process */
#define IN_QUEUE      (PARTIES * EACH)
#define SHORT_CHANGES 25
#define PARTY_MS      10000 /* session timeout of a process; its proxy is one of this process */

typedef struct
{
  gint64 time_ns;
  const char *id; /* interned, as everywhere */
  gboolean leads;
} Event;

typedef struct _Election Election;

/* A process. Its candidates are c1, c2, ... in C and j1, j2, ... in Java. */
typedef struct
{
  Election *election;
  gboolean is_java;
  Proxy *proxy;
  Peer *peer; /* NULL: it has ended */
} Party;

struct _Election
{
  Fixture *fixture;
  const char *path;
  gboolean is_latch;
  guint32 seed;
  GRand *random;
  int started;
  int kills[2]; /* of processes in C, in Java */
  int cuts;
  int holes;
  int closes;
  GHashTable *homes; /* id to Party */
  Party parties[PARTIES];

  pthread_mutex_t mutex; /* guards the rest */
  GArray *events;
  GHashTable *leaders; /* ids that lead now */
  int changes;         /* atomic */
  const char *last;    /* the id that led last */
};

/* Called with the mutex held. */
static void
record_locked (Election *election, const char *id, gint64 time_ns, gboolean leads)
{
  if (leads == g_hash_table_contains (election->leaders, id))
    return;
  const Event event = { time_ns, g_intern_string (id), leads };
  g_array_append_val (election->events, event);
  if (!leads) {
    g_hash_table_remove (election->leaders, id);
    return;
  }
  g_hash_table_add (election->leaders, (char *) event.id);
  g_atomic_int_add (&election->changes, election->last != event.id);
  election->last = event.id;
}

/* --- processes -------------------------------------------------------------------------------- */

static void
on_line (const char *line, gpointer data)
{
  Election *election = ((Party *) data)->election;
  g_auto (GStrv) words = g_strsplit (line, " ", 3);
  const gboolean leads = g_str_has_prefix (line, "LEADS ");
  if (!leads && !g_str_has_prefix (line, "ENDS "))
    return;
  pthread_mutex_lock (&election->mutex);
  record_locked (election, words[1], g_ascii_strtoll (words[2], NULL, 10), leads);
  pthread_mutex_unlock (&election->mutex);
}

/* Waits for the line that begins so; it is kept by its reader. */
static char *
await_line (Party *party, const char *beginning)
{
  char *line = peer_await (party->peer, beginning, LONG_MS);
  if (line == NULL) {
    g_autofree char *output = peer_output (party->peer);
    fail_msg ("%s did not say %s, but: %s", party->is_java ? "Java" : "C", beginning, output);
  }
  return line;
}

/* Does not wait until it is ready. */
static void
party_spawn (Party *party)
{
  Election *election = party->election;
  GPtrArray *argv =
      party->is_java ? contest_java (NULL, "LeaderPeer") : g_ptr_array_new_with_free_func (g_free);
  if (!party->is_java)
    contest_add (argv, LEADER_WORKER);
  contest_add (argv, "%s", proxy_address (party->proxy));
  contest_add (argv, "%s", election->path);
  contest_add (argv, election->is_latch ? "latch" : "selector");
  contest_add (argv, "%d", PARTY_MS);
  party->peer = peer_start (argv, on_line, party);
  assert_non_null (party->peer);
}

static void
start_next (Party *party)
{
  Election *election = party->election;
  g_autofree char *text = g_strdup_printf ("%c%d", party->is_java ? 'j' : 'c', ++election->started);
  char *id = (char *) g_intern_string (text);
  g_hash_table_insert (election->homes, id, party);
  peer_tell (party->peer, "start %s", id);
  g_free (await_line (party, "STARTED"));
}

static void
stop (Election *election, const char *id)
{
  Party *party = g_hash_table_lookup (election->homes, id);
  peer_tell (party->peer, "stop %s", id);
  g_free (await_line (party, "CLOSED"));
  g_hash_table_remove (election->homes, id);
}

static gboolean
ends_with (gpointer id, gpointer party, gpointer dead)
{
  if (party == dead)
    record_locked (((Party *) party)->election, id, wait_now_ns (), FALSE);
  return party == dead;
}

/* Its candidates lead no more as soon as it is dead. */
static void
party_kill (Party *party)
{
  Election *election = party->election;
  g_clear_pointer (&party->peer, peer_free);
  pthread_mutex_lock (&election->mutex);
  g_hash_table_foreach_remove (election->homes, ends_with, party);
  pthread_mutex_unlock (&election->mutex);
}

/* --- the queue -------------------------------------------------------------------------------- */

/* The queue as a third party sees it on the server: "id number", the number of the node. */
static GPtrArray *
list_queue (Election *election)
{
  GPtrArray *queue = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) nodes = raw_zk_children (election->fixture->raw, election->path);
  for (char **node = nodes; node != NULL && *node != NULL; node++) {
    g_autofree char *path = g_strconcat (election->path, "/", *node, NULL);
    g_autoptr (GBytes) id = NULL;
    if (raw_zk_get (election->fixture->raw, path, &id, NULL) == ZOK) {
      g_ptr_array_add (queue, g_strdup_printf ("%.*s %s", (int) g_bytes_get_size (id),
                                               (const char *) g_bytes_get_data (id, NULL),
                                               *node + strlen (*node) - 10));
    }
  }
  return queue;
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
  for (guint i = 0; i < queue->len; i++) {
    g_autofree char *id = id_at (queue, i);
    if (!g_hash_table_contains (election->homes, id))
      return FALSE;
  }
  return TRUE;
}

static gboolean
is_settled (Election *election, guint length, GPtrArray **queue)
{
  g_clear_pointer (queue, g_ptr_array_unref);
  *queue = list_queue (election);
  return (*queue)->len == length && are_alive (election, *queue) && first_leads (election, *queue);
}

/* Waits until the queue is that long and its first leads. */
static GPtrArray *
settle (Election *election, guint length)
{
  GPtrArray *queue = NULL;
  if (!holds_within (is_settled (election, length, &queue), LONG_MS)) {
    g_ptr_array_add (queue, NULL);
    g_autofree char *entries = g_strjoinv (", ", (char **) queue->pdata);
    fail_msg ("%s: the queue (%s) has not %u candidates, or its first does not lead",
              election->path, entries, length);
  }
  return queue;
}

/* The first of those that were in the queue before, and still have the same node, is in front. */
static void
assert_order_kept (GPtrArray *before, GPtrArray *after)
{
  for (guint i = 0; i < before->len; i++) {
    const char *entry = g_ptr_array_index (before, i);
    if (g_ptr_array_find_with_equal_func (after, entry, g_str_equal, NULL)) {
      assert_string_equal (g_ptr_array_index (after, 0), entry);
      return;
    }
  }
}

/* --- what happens ----------------------------------------------------------------------------- */

/* A candidate leaves, and another one of its process takes the place at the end. */
static void
leave (Election *election, GPtrArray *queue, guint i)
{
  g_autofree char *leaver = id_at (queue, i);
  Party *party = g_hash_table_lookup (election->homes, leaver);
  election->closes++;
  stop (election, leaver);
  g_autoptr (GPtrArray) left = settle (election, IN_QUEUE - 1);
  assert_order_kept (queue, left);
  start_next (party);
}

static void
kill_and_restart (Party *party)
{
  party->election->kills[party->is_java]++;
  party_kill (party);
  party_spawn (party);
  g_free (await_line (party, "READY"));
  for (int i = 0; i < EACH; i++)
    start_next (party);
}

/* Nothing passes for up to one and a half session timeouts. */
static void
cut_off (Party *party)
{
  party->election->holes++;
  proxy_set_mode (party->proxy, PROXY_HOLE);
  wait_ms (g_rand_int_range (party->election->random, PARTY_MS / 10, PARTY_MS * 3 / 2));
  proxy_set_mode (party->proxy, PROXY_PASS);
}

/* Mostly the leader leaves. */
static void
step (Election *election)
{
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  g_autofree char *leader = id_at (queue, 0);
  Party *victim = g_rand_boolean (election->random)
                      ? g_hash_table_lookup (election->homes, leader)
                      : &election->parties[g_rand_int_range (election->random, 0, PARTIES)];
  const int dice = g_rand_int_range (election->random, 0, 100);
  if (dice >= 15) {
    leave (election, queue, dice < 20 ? IN_QUEUE / 2 : 0);
    return;
  }
  if (dice < 4) {
    kill_and_restart (victim);
  } else if (dice < 8) {
    cut_off (victim);
  } else {
    election->cuts++;
    proxy_cut (victim->proxy);
  }
  g_autoptr (GPtrArray) after = settle (election, IN_QUEUE);
  assert_order_kept (queue, after);
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
  if (!event->leads) {
    if (overlapped != NULL && *overlapped > 0) {
      verdict->windows++;
      verdict->longest_ns = MAX (verdict->longest_ns, event->time_ns - *overlapped);
    }
    g_hash_table_remove (verdict->believers, event->id);
    return;
  }
  GHashTableIter iter;
  gpointer other;
  g_hash_table_iter_init (&iter, verdict->believers);
  while (g_hash_table_iter_next (&iter, &other, (gpointer *) &overlapped)) {
    if (*(const char *) other == 'c')
      fail_msg ("%s leads while %s does", event->id, (const char *) other);
    *overlapped = *overlapped == 0 ? event->time_ns : *overlapped;
  }
  g_hash_table_insert (verdict->believers, (char *) event->id, g_new0 (gint64, 1));
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
  print_message (
      "%s, seed %u: %d changes of leader; %d closes, %d connections cut, %d cut off, %d "
      "kills of C, %d of Java; overlaps of a leader in C: 0, in Java: %d, %d ms at most\n",
      election->path, election->seed, election->changes, election->closes, election->cuts,
      election->holes, election->kills[0], election->kills[1], verdict.windows,
      (int) (verdict.longest_ns / 1000000));
}

static void
see_each_other (Election *election)
{
  g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
  g_autoptr (GString) expected = g_string_new ("PARTICIPANTS ");
  g_autofree char *leader = id_at (queue, 0);
  g_autofree char *expected_leader = g_strconcat ("LEADER ", leader, NULL);
  for (guint i = 0; i < queue->len; i++) {
    g_autofree char *id = id_at (queue, i);
    g_string_append_printf (expected, "%s%s", i > 0 ? "," : "", id);
  }
  for (int i = 0; i < 2; i++) {
    peer_tell (election->parties[i].peer, "list");
    g_autofree char *participants = await_line (&election->parties[i], "PARTICIPANTS");
    g_autofree char *named = await_line (&election->parties[i], "LEADER");
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
election_new (Fixture *fixture, const char *path, gboolean is_latch)
{
  Election *election = g_new0 (Election, 1);
  election->fixture = fixture;
  election->path = path;
  election->is_latch = is_latch;
  election->seed = number_from ("CURATOR_LEADER_SEED", 7);
  election->random = g_rand_new_with_seed (election->seed + is_latch);
  pthread_mutex_init (&election->mutex, NULL);
  election->events = g_array_new (FALSE, FALSE, sizeof (Event));
  election->leaders = g_hash_table_new (g_str_hash, g_str_equal);
  election->homes = g_hash_table_new (g_str_hash, g_str_equal);
  for (int i = 0; i < PARTIES; i++) {
    Party *party = &election->parties[i];
    party->election = election;
    party->is_java = i % 2 == 1;
    party->proxy = proxy_new (fixture_server (fixture));
    assert_non_null (party->proxy);
    party_spawn (party);
  }
  return election;
}

static void
election_begin (Election *election)
{
  for (int i = 0; i < PARTIES; i++)
    g_free (await_line (&election->parties[i], "READY"));
  for (int i = 0; i < IN_QUEUE; i++) {
    start_next (&election->parties[i % PARTIES]);
    g_ptr_array_unref (settle (election, (guint) i + 1));
  }
  see_each_other (election);
}

/* Until a candidate of that language leads, the leaders leave. */
static Party *
leader_of (Election *election, gboolean is_java)
{
  for (;;) {
    g_autoptr (GPtrArray) queue = settle (election, IN_QUEUE);
    g_autofree char *leader = id_at (queue, 0);
    if (*leader == (is_java ? 'j' : 'c'))
      return g_hash_table_lookup (election->homes, leader);
    leave (election, queue, 0);
  }
}

/* Everybody leaves, the leader first. Frees it. */
static void
election_end (Election *election)
{
  for (guint left = g_hash_table_size (election->homes); left > 0; left--) {
    g_autoptr (GPtrArray) queue = settle (election, left);
    g_autofree char *id = id_at (queue, 0);
    stop (election, id);
  }
  assert_true (raw_zk_wait_children (election->fixture->raw, election->path, 0, LONG_MS));
  for (int i = 0; i < PARTIES; i++) {
    party_kill (&election->parties[i]);
    proxy_free (election->parties[i].proxy);
  }
  judge (election);
  g_array_unref (election->events);
  g_hash_table_unref (election->leaders);
  g_hash_table_unref (election->homes);
  g_rand_free (election->random);
  pthread_mutex_destroy (&election->mutex);
  g_free (election);
}

/* Both elections at once, so that one goes on while the other one waits for the end of sessions. */
TEST (test_elections)
{
  const int wanted = (int) number_from ("CURATOR_LEADER_CHANGES", 0);
  Election *elections[] = { election_new (fixture, "/interop/selector", FALSE),
                            election_new (fixture, "/interop/latch", TRUE) };
  for (int i = 0; i < 2; i++) {
    election_begin (elections[i]);
    while (g_atomic_int_get (&elections[i]->changes) < SHORT_CHANGES) {
      g_autoptr (GPtrArray) queue = settle (elections[i], IN_QUEUE);
      leave (elections[i], queue, 0);
    }
    while (g_atomic_int_get (&elections[i]->changes) < wanted)
      step (elections[i]);
  }
  for (int i = 0; i < 2; i++) {
    Party *leader = leader_of (elections[i], i == 0);
    Party *first = &elections[i]->parties[0];
    Party *killed[] = { leader, leader == first ? first + 1 : first };
    for (int k = 0; k < 2; k++) {
      elections[i]->kills[killed[k]->is_java]++;
      party_kill (killed[k]);
    }
  }
  for (int i = 0; i < 2; i++)
    election_end (elections[i]);
}

SUITE ("interop: leaders", fixture_start, fixture_stop)
