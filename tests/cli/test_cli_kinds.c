/* Locks of different kinds on one path, which do not exclude each other: every kind meets every
 * other. */
#include "cli.h"

#include <string.h>

typedef struct
{
  const char *kind; /* as messages call it */
  const char *options[3];
} Mode;

static const Mode modes[] = {
  { "a mutex", { NULL } },
  { "a read-write lock", { "-s" } },
  { "a read-write lock", { "-x" } },
  { "a semaphore", { "-N", "2" } },
  { "a mutex", { "--multi", "/multi/other" } },
};

static Cli *
start (Fixture *fixture, const Mode *mode, gboolean mixed, const char *path, const char *what)
{
  return cli_zkflock (fixture_server (fixture), mode->options[0], mode->options[1],
                      mixed ? "--mixed" : NULL, path, COMMAND (what), "0");
}

static Cli *
start_holder (Fixture *fixture, const Mode *mode, gboolean mixed, const char *path)
{
  Cli *holder = start (fixture, mode, mixed, path, "beat");
  cli_beats (holder, 1);
  return holder;
}

/* Ends with 64, names both kinds and the way out, and has not run its command. */
static void
assert_refused (Fixture *fixture, const Mode *mode, const char *path, const char *theirs)
{
  g_autoptr (Cli) cli = start (fixture, mode, FALSE, path, "turn");

  cli_ends (cli, 64, theirs);
  cli_says (cli, mode->kind);
  cli_says (cli, "do not exclude each other");
  cli_says (cli, "--mixed");
  assert_false (cli_wait_lines (cli->log, "", 1, 0));
}

static void
meet (Fixture *fixture, const Mode *held, const Mode *rival, const char *path)
{
  if (strcmp (held->kind, rival->kind) == 0)
    return;
  assert_refused (fixture, rival, path, held->kind);
  g_autoptr (Cli) mixed = start (fixture, rival, TRUE, path, "turn");
  cli_ends (mixed, 0, NULL);
  assert_true (cli_wait_lines (mixed->log, "OUT", 1, 0));
}

TEST (every_kind_refuses_to_run_beside_every_other)
{
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autofree char *path = g_strdup_printf ("/beside/%d", (int) i);
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
    g_autoptr (Cli) cli = start (fixture, &modes[i], FALSE, "/follow", "turn");
    cli_ends (cli, 0, "");
  }
}

/* It would wait for its own kind, perhaps for hours, and then be refused. */
TEST (a_waiter_is_refused_at_once)
{
  G_GNUC_UNUSED g_autoptr (Cli) plain = start_holder (fixture, &modes[0], FALSE, "/waits");
  G_GNUC_UNUSED g_autoptr (Cli) writer = start_holder (fixture, &modes[2], TRUE, "/waits");

  assert_refused (fixture, &modes[2], "/waits", "a mutex");
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
  for (gsize i = 0; i < G_N_ELEMENTS (others); i++) {
    g_autofree char *path = g_strdup_printf ("/programs%d", (int) i);
    g_autofree char *node = g_strdup_printf ("%s/%s", path, others[i].node);
    const Mode multi = { "a mutex", { "--multi", path } };
    raw_zk_create (fixture->raw, path, "", 0, NULL);
    raw_zk_create (fixture->raw, node, "", 0, NULL);
    assert_refused (fixture, &modes[0], path, others[i].kind);
    assert_refused (fixture, &multi, "/a-free-one", others[i].kind);
  }
}

/* Whoever looks sees both kinds, whichever came first. */
TEST (views_show_both_kinds)
{
  static const char *const others[] = { NULL, "a read-write lock", "a read-write lock",
                                        "a semaphore" };

  for (gsize i = 1; i < G_N_ELEMENTS (others); i++) {
    g_autofree char *path = g_strdup_printf ("/both/%d", (int) i);
    G_GNUC_UNUSED g_autoptr (Cli) plain = start_holder (fixture, &modes[0], FALSE, path);
    G_GNUC_UNUSED g_autoptr (Cli) other = start_holder (fixture, &modes[i], TRUE, path);
    g_autofree char *wanted =
        g_strdup_printf ("also used as %s, which the lock above does not exclude", others[i]);
    g_autofree char *in_top =
        g_strdup_printf ("%s: also used as %s: they do not exclude each other", path, others[i]);
    cli_run_shows (fixture, 0, wanted, "who", path);
    cli_run_shows (fixture, 0, wanted, "tree", path);
    cli_run_shows (fixture, 1, wanted, "doctor", path);
    cli_run_shows (fixture, 0, in_top, "top", "--iterations", "1", path);
    static const char *const verbs[] = { "who", "tree", "top" };
    for (gsize k = 0; k < G_N_ELEMENTS (verbs); k++)
      cli_run_shows (fixture, 0,
                     i < 3 ? "\"kinds_not_excluded\":[\"read-write\"]"
                           : "\"kinds_not_excluded\":[\"semaphore\"]",
                     verbs[k], "--json", k == 2 ? "--iterations=1" : NULL, path);
  }
}

/* Each count meets each: beside a holder, and refused by it. */
TEST (another_count_is_told)
{
  static const char *const leases[] = { NULL, "--leases=1", "--leases=2", "--leases=3" };

  for (int theirs = 1; theirs <= 3; theirs++) {
    for (int ours = 1; ours <= 3; ours++) {
      const Mode held = { "a semaphore", { leases[theirs] } };
      const Mode rival = { "a semaphore", { leases[ours], "-n" } };
      g_autofree char *path = g_strdup_printf ("/counts/%d-%d", theirs, ours);
      g_autofree char *summary = g_strdup_printf ("semaphore of %d, 1 holds, 0 wait", theirs);
      g_autofree char *told =
          g_strdup_printf ("with a count of %d, and this command with %d: ", theirs, ours);
      G_GNUC_UNUSED g_autoptr (Cli) holder = start_holder (fixture, &held, FALSE, path);
      g_autoptr (Cli) cli = start (fixture, &rival, FALSE, path, "turn");
      if (theirs == ours)
        cli_ends (cli, ours > 1 ? 0 : 1, "");
      else
        cli_ends_with_line (cli, ours > 1 ? 0 : 1, told);
      cli_run_shows (fixture, 0, summary, "who", path);
    }
  }
}

TEST (views_show_counts)
{
  static const Mode two = { "a semaphore", { "--leases=2" } };
  static const Mode three = { "a semaphore", { "--leases=3" } };
  static const Mode one = { "a semaphore", { "--leases=1" } };
  const char *path = "/counts/mixed";
  G_GNUC_UNUSED g_autoptr (Cli) first = start_holder (fixture, &two, FALSE, path);
  cli_exits (fixture, 0, "doctor", "--session-timeout", "10", path);
  g_autoptr (Cli) second = start_holder (fixture, &three, FALSE, path);
  g_autoptr (Cli) waiter = start (fixture, &one, FALSE, path, "turn");

  cli_says (second, "with a count of 2, and this command with 3");
  cli_says (waiter, "with a count of 3, and this command with 1");
  assert_int_equal (cli_wait (waiter, 0), -1);
  g_autofree char *who = cli_run (fixture, 0, "who", path);
  cli_shows (who, "semaphore of 1 to 3, 2 hold, 1 waits");
  g_autofree char *json = cli_run (fixture, 0, "who", "--json", path);
  for (int i = 1; i <= 3; i++) {
    cli_shows (json, "\"count\":%d", i);
    cli_shows (who, " -N %d ", i);
  }
  g_autofree char *doctor = cli_run (fixture, 1, "doctor", "--session-timeout", "10", path);
  cli_shows (doctor, "came with counts from 1 to 3: as many hold it as the greatest");
  cli_shows (doctor, "give all the same -N");
}

/* Java, the library and older versions write none; a mutex has none, whatever its label says. */
TEST (who_shows_no_count_has_none)
{
  static const char *const labels[] = {
    "", "10.0.0.1", "old@host:12", "-N 3", "me -N 3x", "me -N "
  };
  g_autofree char *longest = g_strnfill (4096, 'x');

  for (gsize i = 0; i < G_N_ELEMENTS (labels); i++) {
    g_autofree char *path = g_strdup_printf ("/counts/none%d", (int) i);
    g_autofree char *folder = g_strconcat (path, "/leases", NULL);
    g_autofree char *node =
        g_strconcat (folder, "/_c_0d5cc5ee-d291-4df3-8b53-5a6d1d2b2c11-lease-", NULL);
    raw_zk_make_path (fixture->raw, folder);
    assert_int_equal (raw_zk_create (fixture->raw, node, labels[i], ZOO_EPHEMERAL_SEQUENTIAL, NULL),
                      ZOK);
    cli_fails (fixture, 0, "", "-n", "-N", "2", path, "true");
    g_autofree char *json = cli_run (fixture, 0, "who", "--json", path);
    assert_null (strstr (json, "\"count\""));
  }
  G_GNUC_UNUSED g_autoptr (Cli) mutex = cli_hold (fixture, "--label", "me -N 2", "/counts/mutex");
  cli_run_shows (fixture, 0, "mutex, 1 holds", "who", "/counts/mutex");
  cli_exits (fixture, 0, "--label", longest, "-N", "2", "/counts/long", "true");
}

SUITE ("kinds", fixture_start_slow, fixture_stop)
