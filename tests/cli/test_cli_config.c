/* The configuration file: which one counts, what it may hold, and who may write it. */
#define SUITE_FIXTURE Fixture *fixture
#define SUITE_SETUP   clean
#include "cli.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE "localhost:1"

static char *folder;

static char *write_config (const char *name, const char *format, ...) G_GNUC_PRINTF (2, 3);

static char *
write_config (const char *name, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  char *file = g_build_filename (folder, name, NULL);
  g_autofree char *parent = g_path_get_dirname (file);
  assert_int_equal (g_mkdir_with_parents (parent, 0700), 0);
  assert_true (g_file_set_contents (file, text, -1, NULL));
  assert_int_equal (chmod (file, 0644), 0);
  return file;
}

/* zkflock with these words and no -Z. */
static Cli *run (const char *first, ...) G_GNUC_NULL_TERMINATED;

static Cli *
run (const char *first, ...)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  va_list args;

  g_ptr_array_add (argv, (gpointer) ZKFLOCK);
  va_start (args, first);
  for (const char *word = first; word != NULL; word = va_arg (args, const char *))
    g_ptr_array_add (argv, (gpointer) word);
  va_end (args);
  g_ptr_array_add (argv, NULL);
  return cli_start_strv ((char *const *) argv->pdata);
}

static int
clean (void **state)
{
  static const char *const names[] = { "ZKFLOCK_CONFIG", "XDG_CONFIG_HOME", "ZKFLOCK_HOSTS",
                                       "ZKFLOCK_OPTIONS", "ZKFLOCK_TLS_CA" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    g_unsetenv (names[i]);
  g_setenv ("HOME", folder, TRUE);
  return 0;
}

/* As in a crontab. */
TEST (a_missing_list_of_servers_is_named)
{
  g_autoptr (Cli) cli = run ("--session-timeout", "1", "/config/none", "true", NULL);
  cli_ends (cli, 69, "localhost:2181 (ZKFLOCK_HOSTS is not set) could be reached");
}

TEST (the_label_comes_from_a_file)
{
  g_autofree char *file =
      write_config (".config/zkflock.conf", "[zkflock]\nhosts = %s\nlabel = one of 200\n",
                    fixture_server (fixture));
  g_autoptr (Cli) holder = run ("/config/label", NULL);

  assert_true (cli_wait_lines (holder->out, "", 1, CLI_MS));
  g_autoptr (Cli) who = run ("who", "/config/label", NULL);
  assert_int_equal (cli_wait (who, CLI_MS), 0);
  g_autofree char *out = cli_stdout (who);
  assert_non_null (strstr (out, "one of 200"));
  assert_int_equal (g_unlink (file), 0);
}

TEST (the_servers_come_from_a_file)
{
  g_autofree char *named =
      write_config ("named", "# our ensemble\n[zkflock]\nhosts = %s\n", fixture_server (fixture));
  g_setenv ("ZKFLOCK_CONFIG", named, TRUE);
  g_autoptr (Cli) by_name = run ("/config", CLI_COMMAND, "exit", "3", NULL);
  cli_ends (by_name, 3, NULL);
  g_unsetenv ("ZKFLOCK_CONFIG");

  g_free (write_config ("zkflock.conf", "[zkflock]\nhosts=%s\n", fixture_server (fixture)));
  g_setenv ("XDG_CONFIG_HOME", folder, TRUE);
  g_autoptr (Cli) by_folder = run ("/config", CLI_COMMAND, "exit", "4", NULL);
  cli_ends (by_folder, 4, NULL);
  g_unsetenv ("XDG_CONFIG_HOME");

  g_free (write_config (".config/zkflock.conf", "[zkflock]\nhosts=%s\n", fixture_server (fixture)));
  g_autoptr (Cli) by_home = run ("/config", CLI_COMMAND, "exit", "5", NULL);
  cli_ends (by_home, 5, NULL);
}

/* Options, then ZKFLOCK_OPTIONS, then the variables, then the file. */
TEST (what_is_nearer_counts)
{
  const char *server = fixture_server (fixture);
  g_autofree char *file = write_config ("nearer", "[zkflock]\nhosts=" NOWHERE
                                                  "\nconnect-timeout=0.2\nsession-timeout=30\n");
  g_setenv ("ZKFLOCK_CONFIG", file, TRUE);

  g_autoptr (Cli) alone = run ("/nearer", "true", NULL);
  cli_ends (alone, 69, NOWHERE);
  g_autoptr (Cli) option = run ("-Z", server, "/nearer", "true", NULL);
  cli_ends (option, 0, NULL);
  g_setenv ("ZKFLOCK_HOSTS", server, TRUE);
  g_autoptr (Cli) variable = run ("/nearer", "true", NULL);
  cli_ends (variable, 0, NULL);
  g_setenv ("ZKFLOCK_OPTIONS", "-Z localhost:2", TRUE);
  g_autoptr (Cli) options = run ("/nearer", "true", NULL);
  cli_ends (options, 69, "localhost:2");
  /* The file of another set-up is not read at all. */
  g_setenv ("ZKFLOCK_CONFIG", "", TRUE);
  g_unsetenv ("ZKFLOCK_OPTIONS");
  g_autoptr (Cli) empty = run ("/nearer", "true", NULL);
  cli_ends (empty, 0, NULL);
}

TEST (the_file_of_the_user_comes_before_that_of_the_system)
{
  g_autoptr (Cli) probe = cli_start (
      "/bin/sh", "-c", "exec unshare --mount --map-root-user mount -t tmpfs x /etc", NULL);
  if (cli_wait (probe, CLI_MS) != 0)
    skip ();
  const char *const script =
      "exec unshare --mount --map-root-user /bin/sh -c 'mount -t tmpfs x /etc\n"
      "printf \"[zkflock]\\nhosts=$1\\nconnect-timeout=0.2\\n\" >/etc/zkflock.conf\n"
      "shift; exec \"$@\"' sh \"$@\"";
  g_autoptr (Cli) system = cli_start ("/bin/sh", "-c", script, "sh", fixture_server (fixture),
                                      ZKFLOCK, "/system", CLI_COMMAND, "exit", "3", NULL);
  cli_ends (system, 3, NULL);
  g_free (write_config ("zkflock.conf", "[zkflock]\nhosts=localhost:3\n"));
  g_setenv ("XDG_CONFIG_HOME", folder, TRUE);
  g_autoptr (Cli) user = cli_start ("/bin/sh", "-c", script, "sh", fixture_server (fixture),
                                    ZKFLOCK, "/system", "true", NULL);
  cli_ends (user, 69, "localhost:3");
}

TEST (mistakes_name_file_line_and_key)
{
  static const struct
  {
    const char *text;
    const char *says;
  } rows[] = {
    { "[zkflock]\n\n# x\nhost=a\n", "mistake, line 4: host is no key of this file" },
    { "[zkflock]\nhosts=a\nverbose=true\n", "mistake, line 3: verbose is no key" },
    { "[zkflock]\nhosts=a\n[other]\nx=y\n", "mistake, line 3: neither [zkflock], the only group" },
    { "[zkflock]\nsession-timeout=long\n", "line 2: session-timeout takes a number of seconds" },
    { "[zkflock]\nhosts=\n", "line 2: hosts has no value" },
    { "[zkflock]\nhosts\n", "line 2: neither [zkflock]" },
    { "\xef\xbb\xbf[zkflock]\nhosts=a\n", "line 1: the file begins with a byte order mark" },
    { "[zkflock]\nsasl=magic\n", "--sasl is one of" },
    { "[zkflock]\nacl=all\n", "--acl is one of" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *file = write_config ("mistake", "%s", rows[i].text);
      g_setenv ("ZKFLOCK_CONFIG", file, TRUE);
      g_autoptr (Cli) cli = run ("who", "/mistake", NULL);
      cli_ends (cli, 64, rows[i].says);
    }
  g_autofree char *file = write_config ("mistake", "[zkflock]\nnonsense=1\n");
  g_setenv ("ZKFLOCK_CONFIG", file, TRUE);
  g_autoptr (Cli) version = run ("--version", NULL);
  cli_ends (version, 0, NULL);
  g_autofree char *absent = g_build_filename (folder, "absent", NULL);
  g_setenv ("ZKFLOCK_CONFIG", absent, TRUE);
  g_autoptr (Cli) cli = run ("who", "/mistake", NULL);
  cli_ends (cli, 77, "No such file");
}

/* Whoever names another file by mistake may have named a secret. */
TEST (no_line_of_another_file_is_shown)
{
  static const char *const texts[] = { "%s\n",
                                       "user:%s\n",
                                       "%s=1\n",
                                       "password = %s\n",
                                       "[%s]\n",
                                       "[%s]\nhosts=a\n",
                                       "# x\n\n%s\n",
                                       "root:$y$%s:19000:0:99999:7:::\n",
                                       "[zkflock]\n%s\n",
                                       "[zkflock]\n[%s]\n",
                                       "\xef\xbb\xbf%s",
                                       "-----BEGIN %s-----\n",
                                       "[zkflock\n%s\n",
                                       "=%s\n",
                                       "[zkflock]\n=%s\n",
                                       "\xff%s" };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_auto (GStrv) parts = g_strsplit (texts[i], "%s", 2);
      g_autofree char *file = write_config ("secret", "%sopensesame%s", parts[0], parts[1]);
      g_setenv ("ZKFLOCK_CONFIG", file, TRUE);
      g_autoptr (Cli) cli = run ("who", "/secret", NULL);
      cli_ends (cli, 64, "secret, line ");
      g_autofree char *err = cli_stderr (cli);
      assert_null (strstr (err, "opensesame"));
    }
}

/* It decides which servers get the passwords. */
TEST (a_file_that_others_can_write_is_refused)
{
  g_autofree char *file = write_config ("open",
                                        "[zkflock]\nhosts=%s\nsasl=digest\nsasl-user=me\n"
                                        "sasl-password-file=/nowhere\n",
                                        fixture_server (fixture));
  static const mode_t modes[] = { 0664, 0646, 0666, 0620 };

  g_setenv ("ZKFLOCK_CONFIG", file, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      assert_int_equal (chmod (file, modes[i]), 0);
      g_autoptr (Cli) cli = run ("/open", "true", NULL);
      cli_ends (cli, 77, "other users can write it");
    }
  assert_int_equal (chmod (file, 0600), 0);
  g_autoptr (Cli) closed = run ("/open", "true", NULL);
  cli_ends (closed, 77, "SASL password file /nowhere"); /* so the file was used */
  if (geteuid () == 0)
    {
      assert_int_equal (chown (file, 4321, 4321), 0);
      g_autoptr (Cli) foreign = run ("/open", "true", NULL);
      cli_ends (foreign, 77, "it belongs to another user");
    }
  g_setenv ("ZKFLOCK_CONFIG", "/dev/null", TRUE);
  g_autoptr (Cli) device = run ("/open", "true", NULL);
  cli_ends (device, 77, "not a regular file");
}

/* The example, with every line in force. */
TEST (the_example_is_right)
{
  g_autofree char *text = NULL;
  assert_true (
      g_file_get_contents (CURATOR_SOURCE_DIR "/tools/zkflock/zkflock.conf", &text, NULL, NULL));
  g_autoptr (GRegex) comment = g_regex_new ("^#([a-z-]+ = )", G_REGEX_MULTILINE, 0, NULL);
  g_autofree char *in_force = g_regex_replace (comment, text, -1, 0, "\\1", 0, NULL);
  assert_non_null (strstr (in_force, "\nsasl-password-file = "));
  g_autofree char *file = write_config ("example", "%s", in_force);
  g_setenv ("ZKFLOCK_CONFIG", file, TRUE);
  g_autoptr (Cli) cli = run ("/example", "true", NULL);
  const int code = cli_wait (cli, CLI_MS);
  g_autofree char *err = cli_stderr (cli);
  assert_true (code == 76 || code == 77); /* a file that it names is not here */
  assert_non_null (strstr (err, "/etc/zkflock/"));
}

static int
start (void **state)
{
  folder = g_dir_make_tmp ("config-XXXXXX", NULL);
  return folder != NULL ? fixture_start (state) : -1;
}

SUITE ("config", start, fixture_stop)
