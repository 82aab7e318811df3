/* Queues of other libraries, whatever they call their nodes: shown with their owners, never "free",
 * and treated as another kind. */
#include "cli.h"

#include <string.h>

#define HEX  "0d5cc5eed2914df38b535a6d1d2b2c11"
#define UUID "0d5cc5ee-d291-4df3-8b53-5a6d1d2b2c11"

/* Prefixes of sequential nodes, as recipes of many languages have them, and none. */
static const char *const prefixes[] = {
  "",           "x-0x18c8c2-",   "write-",        "read-",       "ex",          "sh",
  "n_",         UUID "-n_",      HEX "__lock__",  HEX "-n_",     "member_",     "candidate",
  "election.",  "LOCK-",         "Lock_",         "lock",        "_locknode_",  "mutex:",
  "sem_",       "permit-",       "slot#",         "seq ",        "waiter-7-",   "42",
  "node-12-",   "_c_" UUID "-x", "\xc3\xbc-",     "a.b.c-",      "(owner)",     "e=mc2+",
  "host:2181-", "leader-%s-",    HEX "__rlock__", UUID "-guid-", "\"quoted\"-", "lock-a-",
};
#define N_PREFIXES G_N_ELEMENTS (prefixes)
#define N_RANDOM   24

typedef struct
{
  char *path;
  char *node;
  RawZk *owner;
} Other;

static void
free_other (gpointer data)
{
  Other *other = data;
  g_free (other->path);
  g_free (other->node);
  g_free (other);
}

/* Printable, and none of Curator's names. */
static char *
random_prefix (GRand *rand)
{
  GString *prefix = g_string_new (NULL);
  const int n = g_rand_int_range (rand, 0, 60);

  for (int i = 0; i < n; i++) {
    const char c = (char) g_rand_int_range (rand, ' ', '~' + 1);
    g_string_append_c (prefix, c == '/' ? '_' : c);
  }
  /* Behind "lock-", "lease-" and "latch-" the digits would be Curator's. */
  if (g_str_has_suffix (prefix->str, "-"))
    g_string_append_c (prefix, 'z');
  return g_string_free (prefix, FALSE);
}

static char *
random_path (GRand *rand, const char *below, guint i)
{
  GString *path = g_string_new (below);
  const int depth = g_rand_int_range (rand, 0, 4);

  for (int k = 0; k < depth; k++)
    g_string_append_printf (path, "/%s", k % 2 == 0 ? "team" : "nightly-0000000003");
  g_string_append_printf (path, "/%u", i);
  return g_string_free (path, FALSE);
}

static Other *
plant (const char *path, const char *name, int mode, RawZk *owner)
{
  Other *other = g_new0 (Other, 1);
  g_autofree char *node = g_strconcat (path, "/", name, NULL);

  other->path = g_strdup (path);
  other->owner = owner;
  assert_int_equal (raw_zk_make_path (owner, path), ZOK);
  assert_int_equal (raw_zk_create (owner, node, "", mode, &other->node), ZOK);
  return other;
}

/* One on each path, of one of two sessions, and one like kazoo's Semaphore, without a number. */
static GPtrArray *
plant_all (Fixture *fixture, RawZk *second, const char *below)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  GPtrArray *others = g_ptr_array_new_with_free_func (free_other);

  for (guint i = 0; i < N_PREFIXES + N_RANDOM; i++) {
    g_autofree char *path = random_path (rand, below, i);
    g_autofree char *prefix = i < N_PREFIXES ? g_strdup (prefixes[i]) : random_prefix (rand);
    g_ptr_array_add (
        others, plant (path, prefix, ZOO_EPHEMERAL_SEQUENTIAL, i % 2 == 0 ? fixture->raw : second));
  }
  g_autofree char *path = g_strconcat (below, "/semaphore", NULL);
  g_ptr_array_add (others, plant (path, HEX, ZOO_EPHEMERAL, second));
  return others;
}

/* A view has them and their owners, and no others. */
static void
assert_owners (char *json, GPtrArray *others)
{
  g_autofree char *lines = cli_eval_json (
      json, "'\\n' + ''.join (l['path'] + ' ' + p['node'] + ' ' + p['session'] + ' ' + p['kind'] + "
            "'\\n' for l in d for p in l['participants'])");
  g_auto (GStrv) list = g_strsplit (lines, "\n", -1);

  for (guint i = 0; i < others->len; i++) {
    const Other *other = g_ptr_array_index (others, i);
    cli_shows (lines, "\n%s %s 0x%" G_GINT64_MODIFIER "x other\n", other->path, other->node,
               raw_zk_session (other->owner));
  }
  /* The text begins and ends with a line feed. */
  assert_int_equal (g_strv_length (list), others->len + 2);
  g_free (json);
}

TEST (views_show_every_queue_with_its_owners)
{
  RawZk *second = raw_zk_open (fixture_server (fixture));
  g_autoptr (GPtrArray) others = plant_all (fixture, second, "/shown");

  assert_owners (cli_run (fixture, 0, "tree", "--json", "/shown"), others);
  assert_owners (cli_run (fixture, 0, "top", "--json", "--iterations", "1", "/shown"), others);
  g_autofree char *doctor = cli_run (fixture, 0, "doctor", "--session-timeout", "10", "/shown");
  for (guint i = 0; i < others->len; i++) {
    const Other *other = g_ptr_array_index (others, i);
    cli_shows (doctor, "note: %s: used as ", other->path);
    g_autofree char *who = cli_run (fixture, 0, "who", other->path);
    assert_null (strstr (who, "free"));
    cli_shows (who, "0x%" G_GINT64_MODIFIER "x", raw_zk_session (other->owner));
  }
  raw_zk_close (second);
  assert_int_equal (raw_zk_delete_tree (fixture->raw, "/shown"), ZOK);
}

TEST (wait_and_lock_do_not_take_it_for_free)
{
  RawZk *second = raw_zk_open (fixture_server (fixture));
  g_autoptr (GPtrArray) others = plant_all (fixture, second, "/refused");
  static const char *const modes[] = { "-x", "-s", "--wait=60", "--leases=2" };

  for (guint i = 0; i < others->len; i++) {
    const Other *other = g_ptr_array_index (others, i);
    cli_exits (fixture, 1, "wait", "-w", "0.05", other->path);
    g_autoptr (Cli) refused =
        cli_zkflock (fixture_server (fixture), modes[i % G_N_ELEMENTS (modes)], other->path,
                     COMMAND ("turn"), "0");
    cli_ends (refused, 64, "do not exclude each other");
    assert_false (g_file_test (refused->log, G_FILE_TEST_EXISTS));
  }
  const Other *first = g_ptr_array_index (others, 0);
  cli_exits (fixture, 0, "--mixed", first->path, "true");
  raw_zk_close (second);
  assert_int_equal (raw_zk_delete_tree (fixture->raw, "/refused"), ZOK);
}

/* Beside a lock of Curator's, each is told apart. */
TEST (beside_locks_of_curator)
{
  static const char *const modes[] = { "--wait=60", "-x", "-s", "--leases=2" };

  for (guint i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autofree char *path = g_strdup_printf ("/beside/%u", i);
    G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, modes[i], path);
    g_autofree char *line = g_strdup_printf ("%s: also used as a lock of another program", path);
    g_autofree char *before = cli_run (fixture, 0, "who", path);
    assert_null (strstr (before, "also used"));
    Other *other = plant (path, "x-", ZOO_EPHEMERAL_SEQUENTIAL, fixture->raw);
    cli_run_shows (fixture, 0, line, "who", path);
    cli_run_shows (fixture, 0, line, "tree", path);
    cli_run_shows (fixture, 1, "also used as a lock of another program", "doctor", path);
    cli_exits (fixture, 64, modes[i], path, "true");
    assert_int_equal (raw_zk_delete (fixture->raw, other->node), ZOK);
    free_other (other);
  }
}

/* Nobody's: folders with numbers, containers among them, and data of an application. */
TEST (nodes_without_an_owner_are_no_queue)
{
  cli_exits (fixture, 0, "/own/batch-0000000001", "true");
  cli_exits (fixture, 0, "/own/" HEX, "true");
  raw_zk_create (fixture->raw, "/own/order-0000000007", "", ZOO_PERSISTENT, NULL);
  cli_run_shows (fixture, 3, "free", "who", "/own");
  g_autofree char *tree = cli_run (fixture, 0, "tree", "/own");
  assert_string_equal (tree, "");
  cli_exits (fixture, 0, "wait", "-w", "0.05", "/own");
  cli_exits (fixture, 0, "-n", "/own", "true");
}

/* What may not be read may be somebody's. */
TEST (what_cannot_be_read_is_not_free)
{
  Other *other = plant ("/hidden", "x-", ZOO_EPHEMERAL_SEQUENTIAL, fixture->raw);

  assert_int_equal (raw_zk_set_world_acl (fixture->raw, other->node, ZOO_PERM_ALL & ~ZOO_PERM_READ),
                    ZOK);
  g_autofree char *who = cli_run (fixture, 0, "who", "/hidden");
  assert_null (strstr (who, "free"));
  cli_exits (fixture, 64, "/hidden", "true");
  free_other (other);
}

SUITE ("others", fixture_start_slow, fixture_stop)
