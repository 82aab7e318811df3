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
#define run_ends(exit_code, text, ...)                                                             \
  g_free (cli_output ((exit_code), (text), CLI_WORDS (ZKFLOCK, __VA_ARGS__)))

/* From now on the file of that name and text is the configuration. */
#define use_config(name, ...)                                                                      \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_autofree char *config = write_config (name, __VA_ARGS__);                                    \
    g_setenv ("ZKFLOCK_CONFIG", config, TRUE);                                                     \
  }                                                                                                \
  G_STMT_END

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

/* As in a crontab. Whoever listens on localhost is not asked, with TLS neither. */
TEST (no_servers_are_guessed)
{
  static const char *const words[][4] = {
    { "/p", "true" }, { "-n", "/p" },     { "who", "/p" },
    { "top" },        { "tree" },         { "revoke", "/p" },
    { "wait", "/p" }, { "doctor" },       { "--tls-ca=/x", "/p" },
    { "reap", "/p" }, { "-Z", "", "/p" },
  };

  for (int round = 0; round < 3; round++) {
    if (round == 1)
      g_setenv ("ZKFLOCK_HOSTS", "", TRUE);
    if (round == 2)
      use_config ("none", "[zkflock]\nsession-timeout=30\n");
    for (gsize i = 0; i < G_N_ELEMENTS (words); i++)
      run_ends (64, "zkflock: no hosts: -Z, ZKFLOCK_HOSTS or /etc/zkflock.conf\n", words[i][0],
                words[i][1], words[i][2], words[i][3]);
  }
}

TEST (the_label_comes_from_a_file)
{
  g_autofree char *file =
      write_config (".config/zkflock.conf", "[zkflock]\nhosts = %s\nlabel = one of 200\n",
                    fixture_server (fixture));
  G_GNUC_UNUSED g_autoptr (Cli) holder = cli_holding (cli_start (ZKFLOCK, "/config/label"));

  cli_output_shows (0, "one of 200", CLI_WORDS (ZKFLOCK, "who", "/config/label"));
  assert_int_equal (g_unlink (file), 0);
}

TEST (the_servers_come_from_a_file)
{
  use_config ("named", "# our ensemble\n[zkflock]\nhosts = %s\n", fixture_server (fixture));
  run_ends (3, NULL, "/config", CLI_COMMAND, "exit", "3");
  g_unsetenv ("ZKFLOCK_CONFIG");

  g_free (write_config ("zkflock.conf", "[zkflock]\nhosts=%s\n", fixture_server (fixture)));
  g_setenv ("XDG_CONFIG_HOME", folder, TRUE);
  run_ends (4, NULL, "/config", CLI_COMMAND, "exit", "4");
  g_unsetenv ("XDG_CONFIG_HOME");

  g_free (write_config (".config/zkflock.conf", "[zkflock]\nhosts=%s\n", fixture_server (fixture)));
  run_ends (5, NULL, "/config", CLI_COMMAND, "exit", "5");
}

/* Options, then ZKFLOCK_OPTIONS, then the variables, then the file. */
TEST (what_is_nearer_counts)
{
  const char *server = fixture_server (fixture);

  use_config ("nearer", "[zkflock]\nhosts=" NOWHERE "\nconnect-timeout=20\nsession-timeout=30\n");
  run_ends (69, NOWHERE, "--connect-timeout=0.2", "/nearer", "true");
  run_ends (0, NULL, "-Z", server, "/nearer", "true");
  g_setenv ("ZKFLOCK_HOSTS", server, TRUE);
  run_ends (0, NULL, "/nearer", "true");
  g_setenv ("ZKFLOCK_OPTIONS", "-Z localhost:2 --connect-timeout=0.2", TRUE);
  run_ends (69, "localhost:2", "/nearer", "true");
  /* The file of another set-up is not read at all. */
  g_setenv ("ZKFLOCK_CONFIG", "", TRUE);
  g_unsetenv ("ZKFLOCK_OPTIONS");
  run_ends (0, NULL, "/nearer", "true");
}

TEST (the_file_of_the_user_comes_before_that_of_the_system)
{
  g_autoptr (Cli) probe =
      cli_start ("/bin/sh", "-c", "exec unshare --mount --map-root-user mount -t tmpfs x /etc");
  if (cli_wait (probe, CLI_MS) != 0)
    skip ();
  const char *const script =
      "exec unshare --mount --map-root-user /bin/sh -c 'mount -t tmpfs x /etc\n"
      "printf \"[zkflock]\\nhosts=$1\\nconnect-timeout=20\\n\" >/etc/zkflock.conf\n"
      "shift; exec \"$@\"' sh \"$@\"";
  g_autoptr (Cli) system = cli_start ("/bin/sh", "-c", script, "sh", fixture_server (fixture),
                                      ZKFLOCK, "/system", CLI_COMMAND, "exit", "3");
  cli_ends (system, 3, NULL);
  g_free (write_config ("zkflock.conf", "[zkflock]\nhosts=localhost:3\n"));
  g_setenv ("XDG_CONFIG_HOME", folder, TRUE);
  g_autoptr (Cli) user = cli_start ("/bin/sh", "-c", script, "sh", fixture_server (fixture),
                                    ZKFLOCK, "/system", "true");
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

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++) {
    use_config ("mistake", "%s", rows[i].text);
    run_ends (64, rows[i].says, "who", "/mistake");
  }
  use_config ("mistake", "[zkflock]\nnonsense=1\n");
  run_ends (0, NULL, "--version");
  g_autofree char *absent = g_build_filename (folder, "absent", NULL);
  g_setenv ("ZKFLOCK_CONFIG", absent, TRUE);
  run_ends (77, "No such file", "who", "/mistake");
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

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++) {
    g_auto (GStrv) parts = g_strsplit (texts[i], "%s", 2);
    use_config ("secret", "%sopensesame%s", parts[0], parts[1]);
    g_autoptr (Cli) cli = cli_start (ZKFLOCK, "who", "/secret");
    cli_ends (cli, 64, "secret, line ");
    cli_says_not (cli, "opensesame");
  }
}

/* It decides which servers get the passwords. */
TEST (a_file_that_others_can_write_is_refused)
{
  static const mode_t modes[] = { 0664, 0646, 0666, 0620 };

  use_config ("open",
              "[zkflock]\nhosts=%s\nsasl=digest\nsasl-user=me\nsasl-password-file=/nowhere\n",
              fixture_server (fixture));
  const char *file = g_getenv ("ZKFLOCK_CONFIG");
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++) {
    assert_int_equal (chmod (file, modes[i]), 0);
    run_ends (77, "other users can write it", "/open", "true");
  }
  assert_int_equal (chmod (file, 0600), 0);
  run_ends (77, "SASL password file /nowhere", "/open", "true"); /* so the file was used */
  if (geteuid () == 0) {
    assert_int_equal (chown (file, 4321, 4321), 0);
    run_ends (77, "it belongs to another user", "/open", "true");
  }
  g_setenv ("ZKFLOCK_CONFIG", "/dev/null", TRUE);
  run_ends (77, "not a regular file", "/open", "true");
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
  use_config ("example", "%s", in_force);
  g_autoptr (Cli) cli = cli_start (ZKFLOCK, "/example", "true");
  const int code = cli_wait (cli, CLI_MS);
  assert_true (code == 76 || code == 77); /* a file that it names is not here */
  cli_says (cli, "/etc/zkflock/");
}

static int
start (void **state)
{
  folder = g_dir_make_tmp ("config-XXXXXX", NULL);
  return folder != NULL ? fixture_start (state) : -1;
}

SUITE ("config", start, fixture_stop)
