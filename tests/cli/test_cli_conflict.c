/* A lock that somebody else holds: the command does not run, whatever exit code stands for a
 * conflict.
 *
 * Every mode meets every exit code of -E, with a try and with a time-out. The command leaves a mark
 * if it runs, so that an exit code which equals its own cannot hide it.
 */
#include "cli.h"

#include <string.h>

#define LAST_CODE 255
#define AT_ONCE   8

typedef struct
{
  const char *name;
  const char *options[3]; /* of the holder and of its rivals */
} Mode;

static const Mode modes[] = {
  { "plain", { NULL } },
  { "read", { "-s" } },
  { "write", { "-x" } },
  { "semaphore", { "-N", "1" } },
  { "multi", { "--multi", "/multi/other" } },
};

/* Codes with a meaning of their own, and the ends of the range. */
static const int special_codes[] = { 0, 1, 9, 64, 69, 70, 75, 76, 77, 126, 127, 128, 130, 255 };

static GPtrArray *
new_command_line (Fixture *fixture)
{
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (argv, g_strdup (ZKFLOCK));
  g_ptr_array_add (argv, g_strdup ("-Z"));
  g_ptr_array_add (argv, g_strdup (fixture_server (fixture)));
  return argv;
}

static void
append (GPtrArray *argv, const char *const *words)
{
  for (; *words != NULL; words++)
    g_ptr_array_add (argv, g_strdup (*words));
}

static Cli *
start (GPtrArray *argv)
{
  g_ptr_array_add (argv, NULL);
  return cli_start_strv ((char *const *) argv->pdata);
}

/* A reader is excluded by a writer. */
static const char *
holder_option (const Mode *mode)
{
  return strcmp (mode->name, "read") == 0 ? "-x" : NULL;
}

static Cli *
start_holder (Fixture *fixture, const Mode *mode, const char *path, const char *log)
{
  const char *other = holder_option (mode);
  g_autoptr (GPtrArray) argv = new_command_line (fixture);

  append (argv, other != NULL ? (const char *const[]){ other, NULL } : mode->options);
  append (argv, (const char *const[]){ path, CLI_COMMAND, "beat", log, NULL });
  Cli *holder = start (argv);
  assert_true (cli_wait_lines (log, "BEAT", 1, CLI_MS));
  return holder;
}

static Cli *
start_rival (Fixture *fixture, const Mode *mode, const char *path, const char *seconds, int code,
             const char *mark)
{
  g_autoptr (GPtrArray) argv = new_command_line (fixture);
  g_autofree char *code_text = g_strdup_printf ("%d", code);

  append (argv, mode->options);
  append (argv, (const char *const[]){ "-w", seconds, "-E", code_text, path, CLI_COMMAND, "turn",
                                       mark, "0", NULL });
  return start (argv);
}

/* Ends with that code, in silence, and the command has left no mark. */
static void
assert_conflict (Cli *rival, int code, const char *mark)
{
  cli_ends (rival, code, "");
  g_auto (GStrv) lines = cli_lines (mark);
  assert_int_equal (g_strv_length (lines), 0);
}

static void
meet_conflicts (Fixture *fixture, const Mode *mode, const char *path, const char *seconds,
                const int *codes, int n_codes)
{
  LOG mark = cli_new_file ();

  for (int first = 0; first < n_codes; first += AT_ONCE)
    {
      const int n = MIN (AT_ONCE, n_codes - first);
      Cli *rivals[AT_ONCE];
      for (int i = 0; i < n; i++)
        rivals[i] = start_rival (fixture, mode, path, seconds, codes[first + i], mark);
      for (int i = 0; i < n; i++)
        {
          assert_conflict (rivals[i], codes[first + i], mark);
          cli_free (rivals[i]);
        }
    }
}

TEST (every_mode_meets_a_held_lock)
{
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      LOG log = cli_new_file ();
      g_autofree char *path = g_strdup_printf ("/%s/one", modes[i].name);
      g_autoptr (Cli) holder = start_holder (fixture, &modes[i], path, log);

      meet_conflicts (fixture, &modes[i], path, "0", special_codes, G_N_ELEMENTS (special_codes));
      meet_conflicts (fixture, &modes[i], path, "2", special_codes, G_N_ELEMENTS (special_codes));
      assert_int_equal (cli_wait (holder, 0), -1);
    }
}

TEST (every_code_stands_for_a_conflict)
{
  int codes[LAST_CODE + 1];
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = start_holder (fixture, &modes[0], "/codes", log);

  for (int code = 0; code <= LAST_CODE; code++)
    codes[code] = code;
  meet_conflicts (fixture, &modes[0], "/codes", "0", codes, LAST_CODE + 1);
  assert_int_equal (cli_wait (holder, 0), -1);
}

/* An exit code that equals the command's own, in many tries side by side. */
TEST (many_tries_with_code_0)
{
  const int codes[6 * AT_ONCE] = { 0 };
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = start_holder (fixture, &modes[0], "/tries", log);

  meet_conflicts (fixture, &modes[0], "/tries", "0", codes, G_N_ELEMENTS (codes));
  assert_int_equal (cli_wait (holder, 0), -1);
}

/* Without a command: no token is printed. */
TEST (hold_prints_no_token)
{
  LOG log = cli_new_file ();
  g_autoptr (Cli) holder = start_holder (fixture, &modes[0], "/token", log);

  for (gsize i = 0; i < G_N_ELEMENTS (special_codes); i++)
    {
      g_autofree char *code = g_strdup_printf ("%d", special_codes[i]);
      g_autofree char *out = cli_run (fixture, special_codes[i], "-n", "-E", code, "/token", NULL);
      assert_string_equal (out, "");
    }
  assert_int_equal (cli_wait (holder, 0), -1);
}

SUITE ("conflict", fixture_start, fixture_stop)
