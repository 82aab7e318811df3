/* Every mode of locking meets every outcome with every kind of -E: the exit code, and whether the
 * command ran. It leaves a mark if it runs, and must never run without the lock. */
#include "cli.h"

#include "support/net.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORDS 24

typedef struct
{
  const char *name;
  const char *options[2];
  const char *holder;   /* the option of one who excludes it, if not its own */
  const char *children; /* below the path, where the nodes of holders are */
  gboolean is_multi;
  gboolean is_hold; /* without a command */
} Mode;

static const Mode modes[] = {
  { .name = "plain", .children = "" },
  { .name = "read", .options = { "-s" }, .holder = "-x", .children = "" },
  { .name = "write", .options = { "-x" }, .children = "" },
  { .name = "semaphore", .options = { "-N", "1" }, .children = "/leases" },
  { .name = "multi", .is_multi = TRUE, .children = "" },
  { .name = "hold", .is_hold = TRUE, .children = "" },
};

static const char *const codes[] = { "0", "1", "9", "255" };

/* One cell of the table. */
typedef struct
{
  Fixture *fixture;
  const Mode *mode;
  const char *code; /* of -E */
  char *path;
  char *mark;
} Cell;

typedef struct
{
  const char *words[MAX_WORDS];
  int n;
} Words;

static void
add (Words *words, const char *word)
{
  assert_true (words->n + 1 < MAX_WORDS);
  words->words[words->n++] = word;
}

static void
add_mode (Words *words, const Cell *cell, const char *option)
{
  if (option != NULL)
    {
      add (words, option);
      return;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (cell->mode->options) && cell->mode->options[i] != NULL; i++)
    add (words, cell->mode->options[i]);
}

/* zkflock with these options in this mode; command: a mode of cli_command that logs to the mark,
 * with an argument. */
static Cli *
start (const Cell *cell, const char *hosts, const char *const *options, const char *command,
       const char *argument)
{
  Words words = { 0 };
  g_autofree char *other = g_strconcat (cell->path, "-other", NULL);

  add (&words, ZKFLOCK);
  add (&words, "-Z");
  add (&words, hosts);
  add (&words, "-E");
  add (&words, cell->code);
  for (; *options != NULL; options++)
    add (&words, *options);
  add_mode (&words, cell, NULL);
  if (cell->mode->is_multi)
    {
      add (&words, "--multi");
      add (&words, other);
    }
  add (&words, cell->path);
  if (!cell->mode->is_hold)
    {
      add (&words, CLI_COMMAND);
      add (&words, command);
      add (&words, cell->mark);
      add (&words, argument);
    }
  return cli_start_strv ((char *const *) words.words);
}

static Cli *
start_holder (const Cell *cell)
{
  Words words = { 0 };

  add (&words, ZKFLOCK);
  add (&words, "-Z");
  add (&words, fixture_server (cell->fixture));
  add_mode (&words, cell, cell->mode->holder);
  add (&words, cell->path);
  Cli *holder = cli_start_strv ((char *const *) words.words);
  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  return holder;
}

static gboolean
has_run (const Cell *cell, Cli *cli)
{
  g_auto (GStrv) marks = cli_lines (cell->mark);
  g_autofree char *out = cli_stdout (cli);
  return g_strv_length (marks) > 0 || *out != '\0';
}

/* Ends with that code, and the command has run or not. Without a command, the token on stdout
 * counts as the command. */
static void
check (const Cell *cell, Cli *cli, int code, gboolean runs, const char *outcome)
{
  const int found = cli_wait (cli, CLI_MS);
  const gboolean ran = has_run (cell, cli);

  if (found != code || ran != runs)
    {
      g_autofree char *err = cli_stderr (cli);
      print_error ("%s, %s, -E %s: exit code %d, not %d; the command ran: %d, not %d; %s\n",
                   cell->mode->name, outcome, cell->code, found, code, ran, runs, err);
    }
  assert_int_equal (found, code);
  assert_int_equal (ran, runs);
  cli_free (cli);
}

static const char *const no_options[] = { NULL };
static const char *const try[] = { "-n", NULL };
static const char *const timed[] = { "-w", "2", NULL };

static int
own_code (const Cell *cell)
{
  return (int) g_ascii_strtoll (cell->code, NULL, 10);
}

/* Waits until the command runs, or the token is printed. */
static void
wait_for_grant (const Cell *cell, Cli *cli)
{
  const gboolean granted = cell->mode->is_hold ? cli_wait_lines (cli->out, "", 1, CLI_MS)
                                               : cli_wait_lines (cell->mark, "BEAT", 1, CLI_MS);
  assert_true (granted);
}

static void
meet_grant (const Cell *cell)
{
  Cli *cli = start (cell, fixture_server (cell->fixture), no_options, "turn", "0");

  cli_close_stdin (cli);
  check (cell, cli, 0, TRUE, "granted");
}

static void
meet_conflict (const Cell *cell)
{
  g_autoptr (Cli) holder = start_holder (cell);
  Cli *one = start (cell, fixture_server (cell->fixture), try, "turn", "0");
  Cli *two = start (cell, fixture_server (cell->fixture), timed, "turn", "0");

  check (cell, one, own_code (cell), FALSE, "conflict");
  check (cell, two, own_code (cell), FALSE, "timeout");
  assert_int_equal (cli_wait (holder, 0), -1);
}

static void
meet_unreachable (const Cell *cell)
{
  static const char *const brief[] = { "--connect-timeout", "0.5", NULL };
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *address = g_strdup_printf ("%s:%d", host, zk_server_free_port (host));
  Cli *one = start (cell, address, try, "turn", "0");
  Cli *two = start (cell, address, brief, "turn", "0");

  check (cell, one, 69, FALSE, "unreachable, try");
  check (cell, two, 69, FALSE, "unreachable");
}

/* The parents belong to another identity. */
static void
meet_refusal (const Cell *cell)
{
  LOG file = cli_new_file ();
  const char *const owner[] = { "--auth-file", file, "--acl=creator", NULL };

  assert_true (g_file_set_contents (file, "digest:somebody:secret\n", -1, NULL));
  assert_int_equal (chmod (file, 0600), 0);
  Cli *first = start (cell, fixture_server (cell->fixture), owner, "turn", "0");
  cli_close_stdin (first);
  check (cell, first, 0, TRUE, "granted to the owner");
  g_unlink (cell->mark);
  Cli *cli = start (cell, fixture_server (cell->fixture), try, "turn", "0");
  check (cell, cli, 77, FALSE, "refused");
}

static void
meet_loss (const Cell *cell)
{
  RawZk *raw = cell->fixture->raw;
  Cli *cli = start (cell, fixture_server (cell->fixture), no_options, "beat", NULL);
  g_autofree char *parent = g_strconcat (cell->path, cell->mode->children, NULL);

  wait_for_grant (cell, cli);
  g_auto (GStrv) children = raw_zk_children (raw, parent);
  for (char **child = children; *child != NULL; child++)
    {
      g_autofree char *node = g_strdup_printf ("%s/%s", parent, *child);
      assert_int_equal (raw_zk_delete (raw, node), ZOK);
    }
  check (cell, cli, 75, TRUE, "lost");
}

static void
meet_revocation (const Cell *cell)
{
  static const char *const revocable[] = { "--revocable", NULL };
  Cli *cli = start (cell, fixture_server (cell->fixture), revocable, "polite", "6");

  if (cell->mode->is_multi)
    {
      check (cell, cli, 64, FALSE, "revoked");
      return;
    }
  wait_for_grant (cell, cli);
  g_free (cli_run (cell->fixture, 0, "revoke", cell->path, NULL));
  check (cell, cli, cell->mode->is_hold ? 0 : 6, TRUE, "revoked");
}

static void
meet_signal (const Cell *cell)
{
  static const char *const patient[] = { "--verbose", "-w", "60", NULL };
  G_GNUC_UNUSED g_autoptr (Cli) holder = start_holder (cell);
  Cli *cli = start (cell, fixture_server (cell->fixture), patient, "turn", "0");

  assert_true (cli_wait_text (cli->err, "connected", CLI_MS));
  kill (cli->pid, SIGTERM);
  check (cell, cli, 128 + SIGTERM, FALSE, "signalled");
}

static void
meet_exec_failure (const Cell *cell)
{
  g_autofree char *other = g_strconcat (cell->path, "-other", NULL);
  const char *const option = cell->mode->is_multi ? "--multi" : cell->mode->options[0];
  const char *const value = cell->mode->is_multi ? other : cell->mode->options[1];

  if (cell->mode->is_hold)
    return;
  static const char *const programs[] = { "/etc/passwd", "/no/such/program" };
  for (int i = 0; i < 2; i++)
    {
      const char *words[] = { ZKFLOCK, "-Z",       fixture_server (cell->fixture),
                              "-E",    cell->code, NULL,
                              NULL,    NULL,       NULL,
                              NULL };
      int n = 5;
      for (int j = 0; j < 2; j++)
        {
          const char *const word = j == 0 ? option : value;
          if (word != NULL)
            words[n++] = word;
        }
      words[n++] = cell->path;
      words[n] = programs[i];
      check (cell, cli_start_strv ((char *const *) words), 126 + i, FALSE, "exec failure");
    }
}

static void
walk_table (Fixture *fixture, void (*meet) (const Cell *cell), const char *outcome)
{
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      for (gsize j = 0; j < G_N_ELEMENTS (codes); j++)
        {
          g_autofree char *path = g_strdup_printf ("/%s-%s-%s", outcome, modes[i].name, codes[j]);
          LOG mark = cli_new_file ();
          const Cell cell = {
            .fixture = fixture, .mode = &modes[i], .code = codes[j], .path = path, .mark = mark
          };
          meet (&cell);
        }
    }
}

#define DEFINE_OUTCOME(name, meet)                                                                 \
  TEST (name)                                                                                      \
  {                                                                                                \
    walk_table (fixture, meet, #name);                                                             \
  }

DEFINE_OUTCOME (granted, meet_grant)
DEFINE_OUTCOME (conflict_and_timeout, meet_conflict)
DEFINE_OUTCOME (unreachable, meet_unreachable)
DEFINE_OUTCOME (refused, meet_refusal)
DEFINE_OUTCOME (lost, meet_loss)
DEFINE_OUTCOME (revoked, meet_revocation)
DEFINE_OUTCOME (signalled, meet_signal)
DEFINE_OUTCOME (exec_failure, meet_exec_failure)

SUITE ("table", fixture_start, fixture_stop)
