/* who, tree, top and doctor, on queues and troubles that the tests plant. */
#include "cli.h"

#include <string.h>

#define EVIL "b\xc3\xb6se\x1b[31m\n\"quoted\""

static void
assert_json (const char *json, const char *expression, const char *expected)
{
  g_autofree char *value = cli_eval_json (json, expression);
  if (strcmp (value, expected) != 0)
    fail_msg ("%s: %s, not %s:\n%s", expression, value, expected, json);
}

/* The same of what a verb shows. */
#define assert_view(fixture, exit_code, expression, expected, verb, ...)                           \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_autofree char *view = cli_run (fixture, exit_code, verb, "--json", __VA_ARGS__);             \
    assert_json (view, (expression), (expected));                                                  \
  }                                                                                                \
  G_STMT_END
#define assert_label(fixture, path, label)                                                         \
  assert_view (fixture, 0, "d['participants'][0]['label']", label, "who", path)

/* The findings of doctor, for sessions of so many seconds. */
#define assert_doctor(fixture, path, session, expression, expected)                                \
  assert_view (fixture, strcmp ((expected), "[]") == 0 ? 0 : 1, expression, expected, "doctor",    \
               "--connect-timeout", "30", "--session-timeout", (session), (path))

typedef struct
{
  Cli *holder;
  Cli *waiter;
} Queue;

static void
queue_clear (Queue *queue)
{
  cli_free (queue->waiter);
  cli_free (queue->holder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Queue, queue_clear)

static Queue
queue_on (Fixture *fixture, const char *path)
{
  Queue queue;
  queue.holder = cli_hold (fixture, "--label", "first@host", path);
  queue.waiter = cli_zkflock (fixture_server (fixture), "--label", EVIL, path);
  assert_true (raw_zk_wait_children (fixture->raw, path, 2, CLI_MS));
  return queue;
}

/* C1, bidirectional and other controls, in a label that anybody may write: JSON and messages go to
 * terminals, too. */
TEST (nothing_that_a_terminal_obeys)
{
  static const char *const controls[] = {
    "\x1b[31m", "\x7f",         "\xc2\x9b",     "\xe2\x80\xae", "\xe2\x81\xa6",    "\xe2\x80\x8f",
    "\xd8\x9c", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xe2\x80\x8b", "\xf3\xa0\x80\x81"
  };
  g_autoptr (GString) label = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (controls); i++)
    g_string_append_printf (label, "x%s", controls[i]);
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_hold (fixture, "--label", label->str, "/controls");
  g_autofree char *json = cli_run (fixture, 0, "who", "--json", "/controls");
  g_autoptr (Cli) refused =
      cli_zkflock (fixture_server (fixture), "-n", "--verbose", "/controls", "true");
  cli_ends (refused, 1, NULL);
  g_autofree char *err = cli_stderr (refused);
  LOG file = cli_write_file (label->str, -1, 0600);
  g_autofree char *same = g_strdup_printf (
      "d['participants'][0]['label'] == open ('%s', newline='', encoding='utf-8').read ()", file);
  assert_json (json, same, "True");
  for (gsize i = 0; i < G_N_ELEMENTS (controls); i++)
    if (strstr (json, controls[i]) != NULL || strstr (err, controls[i]) != NULL)
      fail_msg ("number %u: %s%s", (guint) i, json, err);
}

TEST (who_tells_the_queue)
{
  g_auto (Queue) queue = queue_on (fixture, "/who");
  g_autofree char *json = cli_run (fixture, 0, "who", "--json", "/who");
  g_autofree char *text = cli_run (fixture, 0, "who", "/who");

  assert_json (json, "d['kind'], d['holders'], d['waiting']", "mutex 1 1");
  assert_json (json, "[(p['holds'], p['position'], p['kind']) for p in d['participants']]",
               "[(True, 0, 'mutex'), (False, 1, 'mutex')]");
  assert_json (json, "d['participants'][0]['label']", "first@host");
  assert_json (json, "d['participants'][1]['label'] == 'b\\u00f6se\\x1b[31m\\n\"quoted\"'", "True");
  assert_json (json, "0 <= d['participants'][0]['age_ms'] < 60000", "True");
  g_autofree char *token = cli_stdout (queue.holder);
  g_strchomp (token);
  assert_json (json, "d['participants'][0]['token']", token);
  /* For people: nothing that a terminal obeys. */
  assert_null (strchr (text, '\x1b'));
  assert_non_null (strstr (text, "b\xc3\xb6se\\x1b[31m\\x0a\"quoted\""));
}

/* cron's locale is "C": paths and labels are taken as they are, and read by others in any
 * locale. */
TEST (arguments_in_any_locale)
{
  g_autofree char *before = g_strdup (g_getenv ("LC_ALL"));

  g_setenv ("LC_ALL", "C", TRUE);
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--label", "J\xc3\xb6rg", "--multi", "/locale/zw\xc3\xb6lf",
                "/locale/gr\xc3\xb6\xc3\x9f"
                "e");
  if (before != NULL)
    g_setenv ("LC_ALL", before, TRUE);
  else
    g_unsetenv ("LC_ALL");
  assert_view (fixture, 0, "d['participants'][0]['label'] == 'J\\u00f6rg'", "True", "who",
               "/locale/zw\xc3\xb6lf");
  assert_view (fixture, 0, "d['participants'][0]['label'] == 'J\\u00f6rg'", "True", "who",
               "/locale/gr\xc3\xb6\xc3\x9f"
               "e");
}

TEST (who_of_semaphore_and_read_write_lock)
{
  const char *server = fixture_server (fixture);
  G_GNUC_UNUSED g_autoptr (Cli) one = cli_hold (fixture, "-N", "2", "/sem");
  G_GNUC_UNUSED g_autoptr (Cli) two = cli_hold (fixture, "-N", "2", "/sem");
  G_GNUC_UNUSED g_autoptr (Cli) three = cli_zkflock (server, "-N", "2", "/sem");
  assert_true (raw_zk_wait_children (fixture->raw, "/sem/leases", 3, CLI_MS));
  assert_view (fixture, 0, "d['kind'], d['holders'], d['waiting']", "semaphore 2 1", "who", "/sem");

  G_GNUC_UNUSED g_autoptr (Cli) reader = cli_hold (fixture, "-s", "/rw");
  G_GNUC_UNUSED g_autoptr (Cli) writer = cli_zkflock (server, "-x", "/rw");
  assert_true (raw_zk_wait_children (fixture->raw, "/rw", 2, CLI_MS));
  G_GNUC_UNUSED g_autoptr (Cli) late = cli_zkflock (server, "-s", "/rw");
  assert_true (raw_zk_wait_children (fixture->raw, "/rw", 3, CLI_MS));
  assert_view (fixture, 0, "[(p['holds'], p['kind']) for p in d['participants']]",
               "[(True, 'read'), (False, 'write'), (False, 'read')]", "who", "/rw");
}

TEST (tree_and_top_find_all)
{
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/wood/deep/lock");
  G_GNUC_UNUSED g_autoptr (Cli) lease = cli_hold (fixture, "-N", "1", "/wood/sem");
  g_autofree char *paths = cli_run (fixture, 0, "tree", "--paths", "/wood");
  g_autofree char *top =
      cli_run (fixture, 0, "top", "--iterations", "2", "--interval", "0.2", "/wood");

  assert_view (fixture, 0, "[(l['path'], l['kind'], l['waiting']) for l in d]",
               "[('/wood/deep/lock', 'mutex', 1), ('/wood/sem', 'semaphore', 0)]", "tree", "/wood");
  assert_view (fixture, 0, "'/wood/sem' in [l['path'] for l in d]", "True", "tree", NULL);
  cli_run_shows (fixture, 0, "first@host", "tree", "/wood");
  assert_string_equal (paths, "/wood/deep/lock\n/wood/sem\n");
  assert_null (strchr (top, '\x1b'));
  cli_shows (top, "/wood/deep/lock");
  cli_shows (top, "2 locks, 2 held, 1 waiting");
}

TEST (nobody_and_nothing)
{
  g_autofree char *who = cli_run (fixture, 3, "who", "/nobody");
  g_autofree char *tree = cli_run (fixture, 0, "tree", "/nobody");

  assert_string_equal (who, "/nobody: free\n");
  assert_string_equal (tree, "");
  assert_view (fixture, 3, "d['participants']", "[]", "who", "/nobody");
}

TEST (doctor_is_content)
{
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/sound");
  assert_doctor (fixture, "/sound", "10", "d", "[]");
}

/* Candidates of leader latches, as Curator names them, with their ids. */
TEST (leader_latches_are_known)
{
  assert_int_equal (raw_zk_make_path (fixture->raw, "/election/leaders"), ZOK);
  static const char *const ids[] = { "node-a", "node-b" };
  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++) {
    g_autofree char *uuid = g_uuid_string_random ();
    g_autofree char *path = g_strdup_printf ("/election/leaders/_c_%s-latch-", uuid);
    assert_int_equal (raw_zk_create (fixture->raw, path, ids[i], 3, NULL), ZOK);
  }
  g_autofree char *who = cli_run (fixture, 0, "who", "--json", "/election/leaders");
  assert_json (who, "d['kind'], d['holders'], d['waiting']", "latch 1 1");
  assert_json (who, "[(p['holds'], p['kind'], p['label']) for p in d['participants']]",
               "[(True, 'latch', 'node-a'), (False, 'latch', 'node-b')]");
  g_autofree char *tree = cli_run (fixture, 0, "tree", "/election");
  assert_non_null (strstr (tree, "latch"));
  assert_non_null (strstr (tree, "node-a"));
  cli_run_shows (fixture, 0, "node-a", "top", "--iterations", "1", "--interval", "0.2",
                 "/election");
  g_autofree char *paths = cli_run (fixture, 0, "tree", "--paths", "/election");
  assert_string_equal (paths, "/election/leaders\n");
  assert_doctor (fixture, "/election/leaders", "10", "d", "[]");
  assert_int_equal (raw_zk_delete_tree (fixture->raw, "/election"), ZOK);
}

TEST (doctor_finds_a_foreign_child)
{
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/foreign");

  raw_zk_create (fixture->raw, "/foreign/junk", NULL, ZOO_PERSISTENT, NULL);
  assert_doctor (fixture, "/foreign", "10",
                 "[(f['check'], f['level'], 'junk' in f['text']) for f in d]",
                 "[('foreign', 'problem', True)]");
}

/* No lock node is there. The paths of idle locks are no problem. */
TEST (doctor_finds_a_foreign_child_of_a_free_path)
{
  raw_zk_make_path (fixture->raw, "/idle");
  cli_exits (fixture, 0, "/idle/lock", "true");
  assert_doctor (fixture, "/idle", "10", "d", "[]");
  raw_zk_create (fixture->raw, "/idle/junk", NULL, ZOO_PERSISTENT, NULL);
  assert_doctor (fixture, "/idle", "10",
                 "[(f['check'], f['level'], '(junk)' in f['text']) for f in d]",
                 "[('foreign', 'problem', True)]");
}

TEST (lost_output_is_an_error)
{
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/full");
  static const char *const commands[] = { "who /full",
                                          "who --json /full",
                                          "tree",
                                          "doctor --session-timeout 10 --json /full",
                                          "top --iterations 1 /full",
                                          "--version",
                                          "-n /full-hold" };

  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++) {
    g_autofree char *script = g_strdup_printf ("exec %s -Z %s %s >/dev/full", ZKFLOCK,
                                               fixture_server (fixture), commands[i]);
    g_free (cli_output (74, NULL, CLI_WORDS ("/bin/sh", "-c", script)));
  }
}

/* The holder keeps its label, and is not told to have been asked. */
TEST (revoke_asks_only_what_is_revocable)
{
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/firm");
  cli_fails_with_line (
      fixture_server (fixture), 5,
      "zkflock: /firm: first@host holds it and has not made it revocable: not asked\n", "revoke",
      "-E", "5", "/firm");
  assert_label (fixture, "/firm", "first@host");
}

static void
assert_in_gzip (Fixture *fixture, const char *path)
{
  g_auto (GStrv) names = raw_zk_children (fixture->raw, path);
  g_autofree char *node = g_strconcat (path, "/", names[0], NULL);
  g_autoptr (GBytes) data = NULL;
  assert_int_equal (raw_zk_get (fixture->raw, node, &data, NULL), ZOK);
  assert_true (g_bytes_get_size (data) >= 18);
  assert_memory_equal (g_bytes_get_data (data, NULL), "\x1f\x8b", 2);
}

/* The label and the request are written in gzip, and shown and understood all the same. */
TEST (compression_of_labels_and_requests)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_hold (fixture, "--compression", "--label", "packed", "/gzip/label");
  assert_in_gzip (fixture, "/gzip/label");
  assert_label (fixture, "/gzip/label", "packed");

  g_autoptr (Cli) asked = cli_hold (fixture, "--compression", "--revocable", "/gzip/asked");
  assert_in_gzip (fixture, "/gzip/asked");
  cli_exits (fixture, 0, "revoke", "--compression", "/gzip/asked");
  cli_ends (asked, 0, NULL);
}

TEST (p26_doctor_finds_a_node_without_owner)
{
  raw_zk_make_path (fixture->raw, "/ownerless");
  raw_zk_create (fixture->raw, "/ownerless/_c_00000000-0000-4000-8000-000000000000-lock-", NULL,
                 ZOO_PERSISTENT_SEQUENTIAL, NULL);
  assert_doctor (fixture, "/ownerless", "10",
                 "[(f['check'], f['level'], 'no session owns' in f['text']) for f in d]",
                 "[('owner', 'problem', True)]");
}

/* Found, shown, and deleted only with --yes; the node of the live holder stays. */
TEST (reap_deletes_what_nobody_owns)
{
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/reaped/lock");
  g_autofree char *node = NULL;

  raw_zk_create (fixture->raw, "/reaped/lock/_c_00000000-0000-4000-8000-000000000000-lock-",
                 "left behind", ZOO_PERSISTENT_SEQUENTIAL, &node);
  g_autofree char *found = cli_run (fixture, 1, "reap", "/reaped");
  assert_true (g_str_has_prefix (found, node));
  assert_non_null (strstr (found, "  left behind  "));
  assert_true (g_str_has_suffix (found, "s\n") && strchr (found, (int) 10)[1] == 0);
  assert_true (raw_zk_exists (fixture->raw, node));
  g_autofree char *deleted = cli_run (fixture, 0, "reap", "--yes", "/reaped");
  assert_true (g_str_has_prefix (deleted, node));
  assert_false (raw_zk_exists (fixture->raw, node));
  assert_int_equal (raw_zk_count_children (fixture->raw, "/reaped/lock"), 2);
  g_autofree char *none = cli_run (fixture, 0, "reap", "/reaped");
  assert_string_equal (none, "");
  cli_exits (fixture, 64, "reap");
  cli_exits (fixture, 64, "who", "-y", "/reaped");
}

/* Persistent, named like a lock's, and not by a recipe: nodes of an application. */
TEST (reap_leaves_data_of_applications_alone)
{
  static const char *const nodes[] = {
    "/customers/all/customer-lock-0000000001",
    "/customers/all/lock-0000000002",
    "/customers/all/_c_00000000-0000-4000-8000-000000000000-customer-lock-0000000003",
    "/customers/all/_c_not-a-guid-lock-0000000004",
    "/customers/all/other__WRIT__0000000005",
    "/customers/all/latch-0000000006",
  };
  raw_zk_make_path (fixture->raw, "/customers/all");
  for (gsize i = 0; i < G_N_ELEMENTS (nodes); i++)
    assert_int_equal (raw_zk_create (fixture->raw, nodes[i], "payload", 0, NULL), ZOK);
  cli_exits (fixture, 1, "reap", "--yes", "/customers");
  raw_zk_create (fixture->raw, "/customers/all/_c_00000000-0000-4000-8000-000000000000-lock-", NULL,
                 ZOO_PERSISTENT_SEQUENTIAL, NULL);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/customers/all"),
                    (int) G_N_ELEMENTS (nodes) + 1);
  cli_exits (fixture, 1, "reap", "--yes", "/customers");
  for (gsize i = 0; i < G_N_ELEMENTS (nodes); i++)
    assert_true (raw_zk_exists (fixture->raw, nodes[i]));
  assert_int_equal (raw_zk_count_children (fixture->raw, "/customers/all"), G_N_ELEMENTS (nodes));
}

/* Its owner is cut off, but its session has not ended yet. */
TEST (p26_doctor_finds_an_absent_owner)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder =
      cli_holding (cli_zkflock (fixture_proxy (fixture), "--session-timeout", "40", "/absent"));
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_doctor (fixture, "/absent", "10",
                 "[(f['check'], 'connected to none of' in f['text']) for f in d]",
                 "[('owner', True)]");
  proxy_set_mode (fixture->proxy, PROXY_PASS);
}

/* The server's ticks are 2 s long. */
TEST (doctor_finds_a_timeout_too_short)
{
  assert_doctor (fixture, "/timeout", "4.8",
                 "[(f['check'], 'short for ticks of 2000 ms' in f['text']) for f in d]",
                 "[('ticks', True)]");

  assert_doctor (fixture, "/timeout", "0.3", "[f['check'] for f in d]", "['timeout', 'ticks']");
}

/* Anybody may create such a node: that must not end in the advice to delete the path under its
 * holder. */
TEST (p7_doctor_names_the_node_with_a_forged_number)
{
  static const char *const numbers[] = { "-2147483648", "-000000001", "0000000007", "2147483647" };
  G_GNUC_UNUSED g_auto (Queue) queue = queue_on (fixture, "/forged");

  for (gsize i = 0; i < G_N_ELEMENTS (numbers); i++) {
    g_autofree char *node = g_strconcat ("/forged/lock-", numbers[i], NULL);
    assert_int_equal (raw_zk_create (fixture->raw, node, "", ZOO_EPHEMERAL, NULL), ZOK);
    g_autofree char *finding = g_strdup_printf ("[('number', '%s', False)]", node);
    assert_doctor (fixture, "/forged", "10",
                   "[(f['check'], f['subject'], 'recreated' in f['text']) for f in d]", finding);
    assert_int_equal (raw_zk_delete (fixture->raw, node), ZOK);
  }
}

#ifdef CLI_JAVA
/* Nobody creates two thousand million nodes: the counter is planted in the server's own files while
 * it is down. Last, as it restarts the server. */
TEST (p7_doctor_finds_a_counter_near_its_end)
{
  g_autofree char *data = g_build_filename (zk_server_data_dir (fixture->server), "data", NULL);

  raw_zk_make_path (fixture->raw, "/worn");
  raw_zk_make_path (fixture->raw, "/ended");
  zk_server_kill (fixture->server);
  g_autoptr (Cli) worn = cli_start (CLI_JAVA, "-cp", CLI_CLASSPATH, "PlantCounter", data, "/worn",
                                    "2000000000", "/ended", "2147483600");
  cli_ends (worn, 0, NULL);
  assert_true (zk_server_relaunch (fixture->server));
  assert_true (zk_server_wait_serving (fixture->server, CLI_MS));

  assert_doctor (fixture, "/worn", "10",
                 "[(f['check'], f['level'], '93 %' in f['text']) for f in d]",
                 "[('counter', 'problem', True)]");
  assert_view (fixture, 3, "round (d['counter_used'], 3)", "0.931", "who", "/worn");
  assert_doctor (fixture, "/ended", "10", "[(f['check'], 'exhausted' in f['text']) for f in d]",
                 "[('counter', True)]");
  cli_exits (fixture, 0, "-n", "/worn", "true");
  cli_exits (fixture, 69, "-n", "/ended", "true");
}
#endif

SUITE ("views", fixture_start_slow, fixture_stop)
