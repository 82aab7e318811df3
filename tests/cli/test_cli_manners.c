/* What zkflock says, and to whom: input that has ended, unknown users, lost servers, options of
 * other verbs, a lock inside the same lock. */
#include "cli.h"

#include <signal.h>
#include <string.h>

/* By a shell, as scripts do: standard input of a background job is /dev/null. */
static Cli *
hold_with_input (Fixture *fixture, const char *script)
{
  return cli_start ("/bin/sh", "-c", script, ZKFLOCK, "-Z", fixture_server (fixture));
}

TEST (a_hold_without_input_says_so)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "exec \"$0\" \"$@\" /input </dev/null");

  cli_ends (cli, 0, "standard input is at its end");
  cli_says (cli, "--hold");
}

/* Whoever closes a pipe lets go on purpose. */
TEST (a_pipe_that_ends_is_no_mistake)
{
  g_autoptr (Cli) cli = hold_with_input (fixture, "true | \"$0\" \"$@\" /input");
  cli_ends (cli, 0, "");
}

TEST (hold_until_a_signal)
{
  g_autoptr (Cli) cli =
      cli_holding (hold_with_input (fixture, "exec \"$0\" \"$@\" --hold /until </dev/null"));

  cli_exits (fixture, 1, "-n", "/until", "true");
  assert_int_equal (cli_wait (cli, 0), -1);
  kill (cli->pid, SIGTERM);
  cli_ends (cli, 128 + SIGTERM, NULL);
  cli_exits (fixture, 64, "--hold", "/until", "true");
}

/* As in a container whose user has no entry. */
TEST (a_user_without_a_name)
{
  g_autoptr (Cli) cli = cli_start (
      "/bin/sh", "-c",
      "test \"$(id -u)\" = 0 && exec setpriv --reuid=54321 --clear-groups \"$0\" \"$@\"\n"
      "exec unshare --user --map-user=54321 \"$0\" \"$@\"",
      ZKFLOCK, "-Z", fixture_server (fixture), "/nameless", ZKFLOCK, "-Z", fixture_server (fixture),
      "who", "/nameless");

  cli_ends (cli, 0, "");
  assert_true (cli_wait_text (cli->out, "54321@", 0));
}

/* The servers are gone for longer than a moment, and come back. */
TEST (a_waiter_tells_of_lost_servers)
{
  g_autoptr (Cli) holder = cli_hold (fixture, "/gone");
  g_autoptr (Cli) waiter =
      cli_zkflock (fixture_proxy (fixture), "--session-timeout", "40", "/gone", "true");
  assert_true (raw_zk_wait_children (fixture->raw, "/gone", 2, CLI_MS));

  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  cli_says (waiter, "no server answers any more");
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  cli_says (waiter, "a server answers again");
  cli_close_stdin (holder);
  cli_ends (waiter, 0, NULL);
  g_auto (GStrv) lines = cli_lines (waiter->err);
  assert_int_equal (g_strv_length (lines), 2);
}

#define LOCK   "lock"
#define ASKS   "lock revoke wait"
#define TRIES  "lock wait"
#define SHOWS  "who top tree doctor"
#define ALWAYS "lock who top tree revoke wait doctor reap"

/* Every option, with a value that it takes, and the verbs that it applies to. */
static const struct
{
  const char *name;
  const char *value;
  const char *verbs;
  gboolean is_number;
  gboolean is_whole;
} options[] = {
  { "-x", NULL, LOCK },
  { "--exclusive", NULL, LOCK },
  { "-e", NULL, LOCK },
  { "-s", NULL, LOCK },
  { "--shared", NULL, LOCK },
  { "-o", NULL, LOCK },
  { "-u", NULL, LOCK },
  { "-F", NULL, LOCK },
  { "-n", NULL, TRIES },
  { "--nonblock", NULL, TRIES },
  { "--nb", NULL, TRIES },
  { "-w", "5", ASKS, TRUE },
  { "--wait", "5", ASKS, TRUE },
  { "--timeout", "5", ASKS, TRUE },
  { "-E", "5", ASKS, TRUE, TRUE },
  { "--conflict-exit-code", "5", ASKS, TRUE, TRUE },
  { "-N", "5", LOCK, TRUE, TRUE },
  { "--leases", "5", LOCK, TRUE, TRUE },
  { "--multi", "/x", LOCK },
  { "--kill-after", "5", LOCK, TRUE },
  { "--max-hold", "5", LOCK, TRUE },
  { "--min-hold", "5", LOCK, TRUE },
  { "--on-suspend", "pause", LOCK },
  { "--revocable", NULL, LOCK },
  { "--hold", NULL, LOCK },
  { "--mixed", NULL, LOCK },
  { "--label", "x", LOCK },
  { "--status-fd", "5", LOCK, TRUE, TRUE },
  { "--acl", "open", LOCK },
  { "--compression", NULL, "lock revoke" },
  { "-i", "5", "top", TRUE },
  { "--interval", "5", "top", TRUE },
  { "--iterations", "5", "top", TRUE, TRUE },
  { "--json", NULL, SHOWS },
  { "--paths", NULL, "tree" },
  { "-y", NULL, "reap" },
  { "--yes", NULL, "reap" },
  { "--session-timeout", "5", ALWAYS, TRUE },
  { "--connect-timeout", "5", ALWAYS, TRUE },
  { "--auth-file", "x", ALWAYS },
  { "--hosts", "", ALWAYS },
  { "-Z", "", ALWAYS },
  { "--syslog", NULL, ALWAYS },
  { "--verbose", NULL, ALWAYS },
  { "--tls-ca", "x", ALWAYS },
  { "--tls-crl", "x", ALWAYS },
  { "--tls-cert", "x", ALWAYS },
  { "--tls-key", "x", ALWAYS },
  { "--tls-key-password-file", "x", ALWAYS },
  { "--tls-server-name", "x", ALWAYS },
  { "--sasl", "gssapi", ALWAYS },
  { "--sasl-user", "x", ALWAYS },
  { "--sasl-password-file", "x", ALWAYS },
  { "--sasl-server-principal", "x", ALWAYS },
};

/* What zkflock says to the option. No servers are named, so all ends before one is asked. */
static char *
answer_to (const char *verb, const char *option, const char *value, gboolean is_attached)
{
  g_autofree char *whole = g_strconcat (option, is_attached ? value : NULL, NULL);
  const gboolean is_lock = strcmp (verb, LOCK) == 0;
  g_autoptr (Cli) cli = cli_start (ZKFLOCK, is_lock ? NULL : verb, whole,
                                   is_attached ? NULL : value, "/p", is_lock ? "true" : NULL);
  cli_ends_with_line (cli, 64, "zkflock: ");
  return cli_stderr (cli);
}

static void
name_no_servers (void)
{
  g_unsetenv ("ZKFLOCK_HOSTS");
  g_setenv ("ZKFLOCK_CONFIG", "", TRUE);
}

TEST (an_option_of_another_verb_is_refused)
{
  g_auto (GStrv) verbs = g_strsplit (ALWAYS, " ", -1);
  guint n_refused = 0;

  name_no_servers ();
  for (gsize i = 0; i < G_N_ELEMENTS (options); i++) {
    g_auto (GStrv) own = g_strsplit (options[i].verbs, " ", -1);
    for (char **verb = verbs; *verb != NULL; verb++) {
      const gboolean applies = g_strv_contains ((const char *const *) own, *verb);
      g_autofree char *answer = answer_to (*verb, options[i].name, options[i].value, FALSE);
      if ((strstr (answer, " applies to ") == NULL) != applies)
        fail_msg ("%s %s: %s", *verb, options[i].name, answer);
      n_refused += !applies;
    }
  }
  print_message ("%u of %u refused\n", n_refused,
                 (guint) G_N_ELEMENTS (options) * g_strv_length (verbs));
  /* In the environment they are for the other calls. */
  g_setenv ("ZKFLOCK_OPTIONS", "-n --label me --json", TRUE);
  cli_exits (fixture, 3, "who", "/views");
  g_unsetenv ("ZKFLOCK_OPTIONS");
}

TEST (the_table_has_every_option)
{
  g_autofree char *help = cli_output (0, NULL, CLI_WORDS (ZKFLOCK, "--help"));
  g_autoptr (GRegex) regex =
      g_regex_new ("^  (?:-[a-zA-Z], )?(--[a-z-]+)", G_REGEX_MULTILINE, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  guint n = 0;

  for (g_regex_match (regex, help, 0, &match); g_match_info_matches (match);
       g_match_info_next (match, NULL)) {
    g_autofree char *name = g_match_info_fetch (match, 1);
    gboolean is_there = strcmp (name, "--help") == 0 || strcmp (name, "--version") == 0;
    for (gsize i = 0; i < G_N_ELEMENTS (options); i++)
      is_there = is_there || strcmp (options[i].name, name) == 0;
    if (!is_there)
      fail_msg ("%s is missing", name);
    n++;
  }
  assert_true (n > 30);
}

/* One reader for all. */
TEST (every_number_is_read_alike)
{
  static const char *const none[] = { "",        " 5",   "5 ",  "+5",
                                      "-5",      "0x10", "5x",  "1e3",
                                      "inf",     "nan",  "5,5", ".",
                                      "5.5.5",   "5.5.", "\t5", "99999999999999999999",
                                      "\xd9\xa5" };
  static const char *const whole[] = { "5", "005" };
  static const char *const parts[] = { "5.5", ".5", "5." };
  guint n = 0;

  name_no_servers ();
  for (gsize i = 0; i < G_N_ELEMENTS (options); i++) {
    const char *name = options[i].name;
    g_auto (GStrv) verbs = g_strsplit (options[i].verbs, " ", -1);
    const gsize n_none = G_N_ELEMENTS (none);
    const gsize n_all = n_none + G_N_ELEMENTS (whole) + G_N_ELEMENTS (parts);
    for (gsize k = 0; options[i].is_number && k < 2 * n_all; k++) {
      const gsize at = k / 2;
      const gboolean is_part = at >= n_none + G_N_ELEMENTS (whole);
      const char *text = at < n_none ? none[at]
                         : is_part   ? parts[at - n_none - G_N_ELEMENTS (whole)]
                                     : whole[at - n_none];
      const gboolean is_attached = k % 2 != 0;
      if (is_attached && (name[1] == '-' || *text == '\0'))
        continue; /* "-w" without a value is another word */
      const gboolean is_good = at >= n_none && !(is_part && options[i].is_whole);
      g_autofree char *answer = answer_to (verbs[0], name, text, is_attached);
      if (strstr (answer, is_good ? "no hosts" : " takes a number ") == NULL)
        fail_msg ("%s \"%s\": %s", name, text, answer);
      n++;
    }
  }
  print_message ("%u numbers\n", n);
}

TEST (a_lock_inside_itself_is_refused)
{
  static const struct
  {
    const char *outer[3];
    const char *inner[3];
    int code;
  } rows[] = {
    { { "/nest" }, { "/nest" }, 64 },
    { { "-x", "/nest/rw" }, { "-s", "/nest/rw" }, 64 },
    { { "-s", "/nest/rw" }, { "-x", "/nest/rw" }, 64 },
    { { "-s", "/nest/rw" }, { "-s", "/nest/rw" }, 0 },
    { { "-N", "1", "/nest/one" }, { "-N", "1", "/nest/one" }, 64 },
    { { "-N", "2", "/nest/two" }, { "-N", "2", "/nest/two" }, 0 },
    { { "/nest" }, { "-n", "/nest" }, 1 }, /* ends by itself */
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    const char *const *outer = rows[i].outer;
    const char *const *inner = rows[i].inner;
    cli_fails (fixture, rows[i].code, rows[i].code == 64 ? "runs under that lock already" : NULL,
               outer[0], outer[1], outer[2], ZKFLOCK, "-Z", fixture_server (fixture), inner[0],
               inner[1], inner[2], "true");
  }
}

/* What a level takes: the paths a, b and c, or a and b together. */
static const char *const levels[][3] = {
  { "/levels/a" }, { "/levels/b" }, { "/levels/c" }, { "--multi", "/levels/a", "/levels/b" }
};

static const guint taken[] = { 1, 2, 4, 3 };

static void
nest (Fixture *fixture, const gsize *nested, gsize depth, gboolean is_refused)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();

  for (gsize i = 0; i < depth; i++) {
    const char *const *level = levels[nested[i]];
    g_ptr_array_add (words, (gpointer) ZKFLOCK);
    g_ptr_array_add (words, (gpointer) "-Z");
    g_ptr_array_add (words, (gpointer) fixture_server (fixture));
    for (gsize k = 0; k < G_N_ELEMENTS (levels[0]) && level[k] != NULL; k++)
      g_ptr_array_add (words, (gpointer) level[k]);
  }
  g_ptr_array_add (words, (gpointer) "true");
  g_autoptr (Cli) cli = cli_start_words ((const char *const *) words->pdata, words->len);
  cli_ends (cli, is_refused ? 64 : 0, is_refused ? "runs under that lock already" : "");
}

/* Every nesting of up to four levels of which the last one alone may be refused. */
static guint
nest_further (Fixture *fixture, gsize *nested, gsize depth, guint held)
{
  guint n_refused = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (levels); i++) {
    const gboolean is_refused = (taken[i] & held) != 0;
    nested[depth] = i;
    if (depth > 0)
      nest (fixture, nested, depth + 1, is_refused);
    n_refused += is_refused ? 1 : 0;
    if (!is_refused && depth < 3)
      n_refused += nest_further (fixture, nested, depth + 1, held | taken[i]);
  }
  return n_refused;
}

TEST (a_lock_inside_itself_is_refused_at_every_depth)
{
  gsize nested[4];
  assert_true (nest_further (fixture, nested, 0, 0) > 40);
}

/* In order: a quick grant comes before the look at the connection. */
TEST (verbose_is_in_order)
{
  g_autoptr (Cli) cli = cli_zkflock (fixture_server (fixture), "--verbose", "/order", "true");

  cli_ends (cli, 0, NULL);
  g_autofree char *err = cli_stderr (cli);
  const char *connected = strstr (err, "s: connected\n");
  const char *granted = strstr (err, "s: granted");
  assert_non_null (connected);
  assert_non_null (granted);
  assert_true (connected < granted);
  assert_true (strstr (err, "the command has a control group of its own") != NULL
               || strstr (err, "no control group (") != NULL);
}

SUITE ("manners", fixture_start_slow, fixture_stop)
