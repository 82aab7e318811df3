/* Locks of different kinds on one path, which do not exclude each other: every kind meets every
 * other. */
#include "cli.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct
{
  const char *name;
  const char *kind; /* as messages call it */
  const char *options[3];
} Mode;

static const Mode modes[] = {
  { "plain", "a mutex", { NULL } },
  { "read", "a read-write lock", { "-s" } },
  { "write", "a read-write lock", { "-x" } },
  { "semaphore", "a semaphore", { "-N", "2" } },
  { "multi", "a mutex", { "--multi", "/multi/other" } },
};

static Cli *
start (Fixture *fixture, const Mode *mode, gboolean mixed, const char *path, const char *what,
       const char *log)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  g_ptr_array_add (argv, (gpointer) ZKFLOCK);
  g_ptr_array_add (argv, (gpointer) "-Z");
  g_ptr_array_add (argv, (gpointer) fixture_server (fixture));
  for (const char *const *word = mode->options; *word != NULL; word++)
    g_ptr_array_add (argv, (gpointer) *word);
  if (mixed)
    g_ptr_array_add (argv, (gpointer) "--mixed");
  const char *const rest[] = { path, CLI_COMMAND, what, log, "0" };
  for (gsize i = 0; i < G_N_ELEMENTS (rest); i++)
    g_ptr_array_add (argv, (gpointer) rest[i]);
  g_ptr_array_add (argv, NULL);
  return cli_start_strv ((char *const *) argv->pdata);
}

static Cli *
start_holder (Fixture *fixture, const Mode *mode, gboolean mixed, const char *path)
{
  g_autofree char *log = cli_new_file ();
  Cli *holder = start (fixture, mode, mixed, path, "beat", log);

  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  g_unlink (log);
  return holder;
}

/* Ends with 64, names both kinds and the way out, and has not run its command. */
static void
assert_refused (Cli *cli, const char *mark, const char *theirs, const char *ours)
{
  assert_int_equal (cli_wait (cli, CLI_MS), 64);
  g_autofree char *err = cli_stderr (cli);
  g_auto (GStrv) lines = cli_lines (mark);
  assert_int_equal (g_strv_length (lines), 0);
  const char *const wanted[] = { theirs, ours, "do not exclude each other", "--mixed" };
  for (gsize i = 0; i < G_N_ELEMENTS (wanted); i++)
    assert_non_null (strstr (err, wanted[i]));
}

static void
meet (Fixture *fixture, const Mode *held, const Mode *rival, const char *path)
{
  g_autofree char *mark = cli_new_file ();

  if (strcmp (held->kind, rival->kind) == 0)
    return;
  g_autoptr (Cli) refused = start (fixture, rival, FALSE, path, "turn", mark);
  assert_refused (refused, mark, held->kind, rival->kind);
  g_autoptr (Cli) mixed = start (fixture, rival, TRUE, path, "turn", mark);
  assert_int_equal (cli_wait (mixed, CLI_MS), 0);
  assert_true (cli_wait_lines (mark, "OUT", 1, 0));
  g_unlink (mark);
}

TEST (every_kind_refuses_to_run_beside_every_other)
{
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autofree char *path = g_strdup_printf ("/beside/%s", modes[i].name);
      g_autoptr (Cli) holder = start_holder (fixture, &modes[i], FALSE, path);
      for (gsize k = 0; k < G_N_ELEMENTS (modes); k++)
        meet (fixture, &modes[i], &modes[k], path);
      assert_int_equal (cli_wait (holder, 0), -1);
    }
}

/* The folders of a semaphore stay when nobody uses it any more. */
TEST (one_kind_may_follow_another)
{
  for (gsize i = 0; i < G_N_ELEMENTS (modes) - 1; i++) /* the last one is plain, too */
    {
      g_autofree char *mark = cli_new_file ();
      g_autoptr (Cli) cli = start (fixture, &modes[i], FALSE, "/follow", "turn", mark);
      cli_ends (cli, 0, "");
      g_unlink (mark);
    }
}

/* It would wait for its own kind, perhaps for hours, and then be refused. */
TEST (a_waiter_is_refused_at_once)
{
  g_autofree char *mark = cli_new_file ();
  G_GNUC_UNUSED g_autoptr (Cli) plain = start_holder (fixture, &modes[0], FALSE, "/waits");
  G_GNUC_UNUSED g_autoptr (Cli) writer = start_holder (fixture, &modes[2], TRUE, "/waits");
  g_autoptr (Cli) waiter = start (fixture, &modes[2], FALSE, "/waits", "turn", mark);

  assert_refused (waiter, mark, "a mutex", "a read-write lock");
}

/* The second of two paths, and a kind that zkflock does not have. */
TEST (kinds_of_other_programs)
{
  static const struct
  {
    const char *node;
    const char *kind;
  } others[] = {
    { "_c_0d5cc5ee-d291-4df3-8b53-5a6d1d2b2c11-latch-0000000007", "a leader latch" },
    { "0d5cc5eed2914df38b535a6d1d2b2c11__lock__0000000007", "a lock of kazoo" },
    { "0d5cc5eed2914df38b535a6d1d2b2c11__rlock__0000000007", "a lock of kazoo" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *path = g_strdup_printf ("/programs%d", (int) i);
      g_autofree char *node = g_strdup_printf ("%s/%s", path, others[i].node);
      g_autofree char *mark = cli_new_file ();
      raw_zk_create (fixture->raw, path, "", 0, NULL);
      raw_zk_create (fixture->raw, node, "", 0, NULL);
      g_autoptr (Cli) cli = start (fixture, &modes[0], FALSE, path, "turn", mark);
      assert_refused (cli, mark, others[i].kind, "a mutex");
      const Mode multi = { "multi", "a mutex", { "--multi", path } };
      g_autoptr (Cli) second = start (fixture, &multi, FALSE, "/a-free-one", "turn", mark);
      assert_refused (second, mark, others[i].kind, "a mutex");
    }
}

/* Whoever looks sees both kinds, whichever came first. */
TEST (views_show_both_kinds)
{
  static const char *const others[] = { NULL, "a read-write lock", "a read-write lock",
                                        "a semaphore" };

  for (gsize i = 1; i < G_N_ELEMENTS (others); i++)
    {
      g_autofree char *path = g_strdup_printf ("/both/%d", (int) i);
      G_GNUC_UNUSED g_autoptr (Cli) plain = start_holder (fixture, &modes[0], FALSE, path);
      G_GNUC_UNUSED g_autoptr (Cli) other = start_holder (fixture, &modes[i], TRUE, path);
      g_autofree char *wanted =
          g_strdup_printf ("also used as %s, which the lock above does not exclude", others[i]);
      g_autofree char *who = cli_run (fixture, 0, "who", path, NULL);
      assert_non_null (strstr (who, wanted));
      g_autofree char *tree = cli_run (fixture, 0, "tree", path, NULL);
      assert_non_null (strstr (tree, wanted));
      cli_run_shows (fixture, 1, wanted, "doctor", path, NULL);
      g_autofree char *top = cli_run (fixture, 0, "top", "--iterations", "1", path, NULL);
      cli_shows (top, "%s: also used as %s: they do not exclude each other", path, others[i]);
      static const char *const verbs[] = { "who", "tree", "top" };
      for (gsize k = 0; k < G_N_ELEMENTS (verbs); k++)
        {
          g_autofree char *json =
              k == 2 ? cli_run (fixture, 0, verbs[k], "--json", "--iterations", "1", path, NULL)
                     : cli_run (fixture, 0, verbs[k], "--json", path, NULL);
          cli_shows (json, "\"kinds_not_excluded\":[\"%s\"]", i < 3 ? "read-write" : "semaphore");
        }
    }
}

/* Sequential nodes of an application are nobody's lock. */
TEST (nodes_of_an_application_do_not_matter)
{
  raw_zk_create (fixture->raw, "/application", "", 0, NULL);
  raw_zk_create (fixture->raw, "/application/order-0000000001", "", 0, NULL);
  raw_zk_create (fixture->raw, "/application/short", "", 0, NULL);
  g_free (cli_run (fixture, 0, "/application", "true", NULL));
}

/* One line if they differ, and else nothing. */
static void
assert_told (Cli *cli, int theirs, int ours)
{
  g_autofree char *err = cli_stderr (cli);

  if (theirs == ours)
    {
      assert_string_equal (err, "");
      return;
    }
  cli_shows (err, "with a count of %d, and this command with %d: ", theirs, ours);
  assert_ptr_equal (strchr (err, '\n'), err + strlen (err) - 1);
}

/* Each count meets each: beside a holder, and refused by it. */
TEST (another_count_is_told)
{
  static const char *const leases[] = { NULL, "--leases=1", "--leases=2", "--leases=3" };

  for (int theirs = 1; theirs <= 3; theirs++)
    {
      for (int ours = 1; ours <= 3; ours++)
        {
          const Mode held = { "held", "a semaphore", { leases[theirs] } };
          const Mode rival = { "rival", "a semaphore", { leases[ours], "-n" } };
          g_autofree char *path = g_strdup_printf ("/counts/%d-%d", theirs, ours);
          g_autofree char *mark = cli_new_file ();
          g_autofree char *summary = g_strdup_printf ("semaphore of %d, 1 holds, 0 wait", theirs);
          G_GNUC_UNUSED g_autoptr (Cli) holder = start_holder (fixture, &held, FALSE, path);
          g_autoptr (Cli) cli = start (fixture, &rival, FALSE, path, "turn", mark);
          assert_int_equal (cli_wait (cli, CLI_MS), ours > 1 ? 0 : 1);
          assert_told (cli, theirs, ours);
          cli_run_shows (fixture, 0, summary, "who", path, NULL);
          g_unlink (mark);
        }
    }
}

TEST (views_show_counts)
{
  static const Mode two = { "two", "a semaphore", { "--leases=2" } };
  static const Mode three = { "three", "a semaphore", { "--leases=3" } };
  static const Mode one = { "one", "a semaphore", { "--leases=1" } };
  const char *path = "/counts/mixed";
  g_autofree char *mark = cli_new_file ();
  G_GNUC_UNUSED g_autoptr (Cli) first = start_holder (fixture, &two, FALSE, path);
  g_free (cli_run (fixture, 0, "doctor", "--session-timeout", "10", path, NULL));
  g_autoptr (Cli) second = start_holder (fixture, &three, FALSE, path);
  g_autoptr (Cli) waiter = start (fixture, &one, FALSE, path, "turn", mark);

  assert_true (cli_wait_text (second->err, "with a count of 2, and this command with 3", CLI_MS));
  assert_true (cli_wait_text (waiter->err, "with a count of 3, and this command with 1", CLI_MS));
  assert_int_equal (cli_wait (waiter, 0), -1);
  g_autofree char *who = cli_run (fixture, 0, "who", path, NULL);
  assert_non_null (strstr (who, "semaphore of 1 to 3, 2 hold, 1 waits"));
  g_autofree char *json = cli_run (fixture, 0, "who", "--json", path, NULL);
  for (int i = 1; i <= 3; i++)
    {
      cli_shows (json, "\"count\":%d", i);
      cli_shows (who, " -N %d ", i);
    }
  g_autofree char *doctor = cli_run (fixture, 1, "doctor", "--session-timeout", "10", path, NULL);
  assert_non_null (
      strstr (doctor, "came with counts from 1 to 3: as many hold it as the greatest"));
  assert_non_null (strstr (doctor, "give all the same -N"));
}

/* Java, the library and older versions write none; a mutex has none, whatever its label says. */
TEST (who_shows_no_count_has_none)
{
  static const char *const labels[] = {
    "", "10.0.0.1", "old@host:12", "-N 3", "me -N 3x", "me -N "
  };
  const char *server = fixture_server (fixture);
  g_autofree char *longest = g_strnfill (4096, 'x');

  for (gsize i = 0; i < G_N_ELEMENTS (labels); i++)
    {
      g_autofree char *path = g_strdup_printf ("/counts/none%d", (int) i);
      g_autofree char *folder = g_strconcat (path, "/leases", NULL);
      g_autofree char *node =
          g_strconcat (folder, "/_c_0d5cc5ee-d291-4df3-8b53-5a6d1d2b2c11-lease-", NULL);
      raw_zk_make_path (fixture->raw, folder);
      assert_int_equal (
          raw_zk_create (fixture->raw, node, labels[i], ZOO_EPHEMERAL_SEQUENTIAL, NULL), ZOK);
      g_autoptr (Cli) cli = cli_zkflock (server, "-n", "-N", "2", path, "true", NULL);
      cli_ends (cli, 0, "");
      g_autofree char *json = cli_run (fixture, 0, "who", "--json", path, NULL);
      assert_null (strstr (json, "\"count\""));
    }
  G_GNUC_UNUSED g_autoptr (Cli) mutex =
      cli_hold (fixture, "--label", "me -N 2", "/counts/mutex", NULL);
  cli_run_shows (fixture, 0, "mutex, 1 holds", "who", "/counts/mutex", NULL);
  g_free (cli_run (fixture, 0, "--label", longest, "-N", "2", "/counts/long", "true", NULL));
}

SUITE ("kinds", fixture_start, fixture_stop)
