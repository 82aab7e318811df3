/* Every mode of locking meets every outcome with every kind of -E: the exit code, and whether the
 * command ran. It leaves a mark in its log if it runs, so that an exit code which equals its own
 * cannot hide it, and must never run without the lock. */
#include "cli.h"

#include <signal.h>

#define LAST_CODE 255
#define AT_ONCE   8

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

static const int codes[] = { 0, 1, 9, 255 };

/* Codes with a meaning of their own, and the ends of the range. */
static const int special_codes[] = { 0, 1, 9, 64, 69, 70, 75, 76, 77, 126, 127, 128, 130, 255 };

/* One cell of the table. */
typedef struct
{
  Fixture *fixture;
  const Mode *mode;
  int code; /* of -E */
  char *path;
} Cell;

#define OPTIONS(...)                                                                               \
  (const char *const[3])                                                                           \
  {                                                                                                \
    __VA_ARGS__                                                                                    \
  }
#define RUN(mode, argument)                                                                        \
  (const char *const[4])                                                                           \
  {                                                                                                \
    CLI_COMMAND, (mode), "LOG", (argument)                                                         \
  }
#define TURN RUN ("turn", "0")

/* zkflock with these options in this mode. */
static Cli *
start (const Cell *cell, const char *hosts, const char *const *options, const char *const *command)
{
  const Mode *mode = cell->mode;
  const char *const none[4] = { NULL };
  const char *const *words = mode->is_hold ? none : command;
  g_autofree char *code = g_strdup_printf ("%d", cell->code);
  g_autofree char *other = g_strconcat ("--multi=", cell->path, "-other", NULL);

  return cli_zkflock (hosts, "-E", code, options[0], options[1], options[2], mode->options[0],
                      mode->options[1], mode->is_multi ? other : NULL, cell->path, words[0],
                      words[1], words[2], words[3]);
}

static Cli *
start_holder (const Cell *cell)
{
  const Mode *mode = cell->mode;
  const gboolean is_other = mode->holder != NULL;
  return cli_hold (cell->fixture, is_other ? mode->holder : mode->options[0],
                   is_other ? NULL : mode->options[1], cell->path);
}

/* Ends with that code, and the command has run or not. Without a command, the token on stdout
 * counts as the command. */
static void
check (const Cell *cell, Cli *cli, int code, gboolean runs, const char *outcome)
{
  const int found = cli_wait (cli, CLI_MS);
  g_auto (GStrv) marks = cli_lines (cli->log);
  g_autofree char *out = cli_stdout (cli);
  const gboolean ran = *marks != NULL || *out != '\0';

  if (found != code || ran != runs) {
    g_autofree char *err = cli_stderr (cli);
    fail_msg ("%s, %s, -E %d: exit code %d, not %d; the command ran: %d, not %d; %s",
              cell->mode->name, outcome, cell->code, found, code, ran, runs, err);
  }
  cli_free (cli);
}

/* Waits until the command runs, or the token is printed. */
static void
wait_for_grant (const Cell *cell, Cli *cli)
{
  if (cell->mode->is_hold)
    cli_holding (cli);
  else
    cli_beats (cli, 1);
}

static void
meet_grant (const Cell *cell)
{
  Cli *cli = start (cell, fixture_server (cell->fixture), OPTIONS (NULL), TURN);

  cli_close_stdin (cli);
  check (cell, cli, 0, TRUE, "granted");
}

static void
meet_unreachable (const Cell *cell)
{
  g_autofree char *address = cli_unused_address ();
  Cli *one = start (cell, address, OPTIONS ("-n"), TURN);
  Cli *two = start (cell, address, OPTIONS ("--connect-timeout", "0.5"), TURN);

  check (cell, one, 69, FALSE, "unreachable, try");
  check (cell, two, 69, FALSE, "unreachable");
}

/* The parents belong to another identity. */
static void
meet_refusal (const Cell *cell)
{
  LOG file = cli_write_file ("digest:somebody:secret\n", -1, 0600);
  const char *server = fixture_server (cell->fixture);
  Cli *first = start (cell, server, OPTIONS ("--auth-file", file, "--acl=creator"), TURN);

  cli_close_stdin (first);
  check (cell, first, 0, TRUE, "granted to the owner");
  check (cell, start (cell, server, OPTIONS ("-n"), TURN), 77, FALSE, "refused");
}

static void
meet_loss (const Cell *cell)
{
  RawZk *raw = cell->fixture->raw;
  Cli *cli = start (cell, fixture_server (cell->fixture), OPTIONS (NULL), RUN ("beat", NULL));
  g_autofree char *parent = g_strconcat (cell->path, cell->mode->children, NULL);

  wait_for_grant (cell, cli);
  g_auto (GStrv) children = raw_zk_children (raw, parent);
  for (char **child = children; *child != NULL; child++) {
    g_autofree char *node = g_strdup_printf ("%s/%s", parent, *child);
    assert_int_equal (raw_zk_delete (raw, node), ZOK);
  }
  check (cell, cli, 75, TRUE, "lost");
}

static void
meet_revocation (const Cell *cell)
{
  Cli *cli =
      start (cell, fixture_server (cell->fixture), OPTIONS ("--revocable"), RUN ("polite", "6"));

  if (cell->mode->is_multi) {
    check (cell, cli, 64, FALSE, "revoked");
    return;
  }
  wait_for_grant (cell, cli);
  cli_exits (cell->fixture, 0, "revoke", cell->path);
  check (cell, cli, cell->mode->is_hold ? 0 : 6, TRUE, "revoked");
}

static void
meet_signal (const Cell *cell)
{
  G_GNUC_UNUSED g_autoptr (Cli) holder = start_holder (cell);
  Cli *cli = start (cell, fixture_server (cell->fixture), OPTIONS ("--verbose", "-w", "60"), TURN);

  cli_says (cli, "connected");
  kill (cli->pid, SIGTERM);
  check (cell, cli, 128 + SIGTERM, FALSE, "signalled");
}

static void
meet_exec_failure (const Cell *cell)
{
  static const char *const programs[] = { "/etc/passwd", "/no/such/program" };

  for (int i = 0; i < 2 && !cell->mode->is_hold; i++)
    check (cell,
           start (cell, fixture_server (cell->fixture), OPTIONS (NULL),
                  (const char *const[4]){ programs[i] }),
           126 + i, FALSE, "exec failure");
}

static void
walk_table (Fixture *fixture, void (*meet) (const Cell *cell), const char *outcome)
{
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    for (gsize j = 0; j < G_N_ELEMENTS (codes); j++) {
      g_autofree char *path = g_strdup_printf ("/%s-%s-%d", outcome, modes[i].name, codes[j]);
      meet (&(Cell){ fixture, &modes[i], codes[j], path });
    }
  }
}

#define DEFINE_OUTCOME(name, meet)                                                                 \
  TEST (name)                                                                                      \
  {                                                                                                \
    walk_table (fixture, meet, #name);                                                             \
  }

DEFINE_OUTCOME (granted, meet_grant)
DEFINE_OUTCOME (unreachable, meet_unreachable)
DEFINE_OUTCOME (refused, meet_refusal)
DEFINE_OUTCOME (lost, meet_loss)
DEFINE_OUTCOME (revoked, meet_revocation)
DEFINE_OUTCOME (signalled, meet_signal)
DEFINE_OUTCOME (exec_failure, meet_exec_failure)

/* A held lock: each ends with the code of its -E, in silence, and its command does not run. */
static void
meet_conflicts (Cell *cell, const char *const *options, const int *wanted, int n)
{
  for (int first = 0; first < n; first += AT_ONCE) {
    const int n_rivals = MIN (AT_ONCE, n - first);
    Cli *rivals[AT_ONCE];
    for (int i = 0; i < n_rivals; i++) {
      cell->code = wanted[first + i];
      rivals[i] = start (cell, fixture_server (cell->fixture), options, TURN);
    }
    for (int i = 0; i < n_rivals; i++) {
      cell->code = wanted[first + i];
      cli_ends (rivals[i], cell->code, "");
      check (cell, rivals[i], cell->code, FALSE, "conflict");
    }
  }
}

TEST (conflict_and_timeout)
{
  const int n = G_N_ELEMENTS (special_codes);

  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    g_autofree char *path = g_strdup_printf ("/conflict-%s", modes[i].name);
    Cell cell = { .fixture = fixture, .mode = &modes[i], .path = path };
    g_autoptr (Cli) holder = start_holder (&cell);
    meet_conflicts (&cell, OPTIONS ("-n"), special_codes, n);
    meet_conflicts (&cell, OPTIONS ("-w", "6"), special_codes, n);
    assert_int_equal (cli_wait (holder, 0), -1);
  }
}

/* And 0, which equals the command's own, in many tries side by side. */
TEST (every_code_stands_for_a_conflict)
{
  int all[LAST_CODE + 1 + 6 * AT_ONCE] = { 0 };
  Cell cell = { .fixture = fixture, .mode = &modes[0], .path = (char *) "/codes" };
  g_autoptr (Cli) holder = start_holder (&cell);

  for (int code = 0; code <= LAST_CODE; code++)
    all[code] = code;
  meet_conflicts (&cell, OPTIONS ("-w", "0"), all, G_N_ELEMENTS (all));
  assert_int_equal (cli_wait (holder, 0), -1);
}

SUITE ("table", fixture_start_slow, fixture_stop)
