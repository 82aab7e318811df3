/* Parses the command line. Short options mean what they mean in flock(1). Options end at PATH or
 * the verb. */
#include "base/exit_code.h"
#include "base/options-private.h"

#include <curator/curator.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>
#include <zookeeper/zookeeper_version.h>

static const Options DEFAULTS = { .session_timeout_ms = 30000,
                                  .wait_ms = CURATOR_WAIT_FOREVER,
                                  .conflict_code = 1,
                                  .kill_after_ms = 2000,
                                  .top.interval_ms = 1000,
                                  .status_fd = -1 };

/* What is set for the other mechanism does no harm. */
static gboolean
is_of_other_mechanism (const char *name, const char *mechanism)
{
  return g_str_has_prefix (name, "sasl-")
         && g_strcmp0 (mechanism, g_str_equal (name, "sasl-server-principal") ? "digest" : "gssapi")
                == 0;
}

/* Takes what is not set, from the environment or from the files. */
static void
fill_in (RawOptions *raw, RawOptions *from)
{
  const Secure *secure = &raw->options.secure;
  /* A key belongs to the certificate that is named beside it. */
  const gboolean has_certificate = secure->tls_cert != NULL;

  for (const OptionRow *row = option_rows; row->name != NULL; row++) {
    char **to = option_given (raw, row);
    if ((row->uses & OPTION_IN_FILE) != 0 && *to == NULL
        && !(has_certificate && g_str_has_prefix (row->name, "tls-key"))
        && !is_of_other_mechanism (row->name, secure->sasl_mechanism))
      *to = g_steal_pointer ((char **) option_given (from, row));
  }
}

static void
read_environment (RawOptions *raw)
{
  for (const OptionRow *row = option_rows; row->name != NULL; row++) {
    if ((row->uses & OPTION_IN_ENVIRONMENT) == 0)
      continue;
    g_autofree char *variable = g_ascii_strup (row->name, -1);
    g_autofree char *name = g_strconcat ("ZKFLOCK_", g_strdelimit (variable, "-", '_'), NULL);
    const char *text = g_getenv (name);
    if (text != NULL && *text != '\0')
      *(char **) option_given (raw, row) = g_strdup (text);
  }
}

static gboolean
settle_secure (Options *options)
{
  Secure *secure = &options->secure;

  if (secure_settle (secure, options->hosts))
    return TRUE;
  g_autofree char *shown = curator_escape_name (secure->sasl_mechanism, -1);
  return options_usage ("--sasl is one of digest, gssapi, not \"%s\"", shown);
}

/* None is guessed: whoever listens there would grant locks. */
static gboolean
check_hosts (const Options *options)
{
  return (options->hosts != NULL && *options->hosts != '\0')
         || options_usage ("no hosts: -Z, ZKFLOCK_HOSTS or /etc/zkflock.conf");
}

/* words: those after PATH. */
static gboolean
parse_command (Options *options, char **words)
{
  const guint n = g_strv_length (words);

  if (n == 0)
    return options->min_hold_ms == 0 || options_usage ("--min-hold needs a COMMAND");
  if (options->hold)
    return options_usage ("--hold takes no COMMAND");
  if (strcmp (words[0], "-c") == 0 || strcmp (words[0], "--command") == 0) {
    if (n != 2)
      return options_usage ("-c takes exactly one STRING");
    const char *const shell[] = { "/bin/sh", "-c", words[1], NULL };
    options->command = g_strdupv ((char **) shell);
    return TRUE;
  }
  options->command = g_strdupv (words + (strcmp (words[0], "--") == 0 ? 1 : 0));
  if (options->command[0] == NULL || *options->command[0] == '\0')
    return options_usage ("COMMAND is missing");
  return TRUE;
}

/* The first word, and then the others. NULL stands for none. */
static char **
words_of (const char *first, char **second, char **third)
{
  GPtrArray *words = g_ptr_array_new ();
  char **const parts[] = { second, third };

  g_ptr_array_add (words, g_strdup (first));
  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    for (char **word = parts[i]; word != NULL && *word != NULL; word++)
      g_ptr_array_add (words, g_strdup (*word));
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (words, FALSE);
}

/* words: PATH and the words after it. */
static gboolean
parse_lock_words (Options *options, char **words, char **multi)
{
  if (words[0] == NULL)
    return options_usage ("PATH is missing; see zkflock --help");
  if (*words[0] != '/') {
    const char *verb = hint_verb (words[0], options_verb_names + VERB_WHO);
    g_autofree char *shown = curator_escape_name (words[0], -1);
    g_autofree char *hint = verb != NULL ? g_strdup_printf ("did you mean \"%s\"?", verb)
                                         : g_strdup ("see zkflock --help");
    return options_usage ("\"%s\" is no verb, and a path begins with a slash; %s", shown, hint);
  }
  options->paths = words_of (words[0], multi, NULL);
  return parse_command (options, words + 1);
}

static gboolean
parse_verb_words (Options *options, char **words)
{
  const gboolean is_optional =
      options->verb == VERB_TREE || options->verb == VERB_DOCTOR || options->verb == VERB_TOP;
  const char *const root[] = { "/", NULL };
  const guint n = g_strv_length (words);

  if (n == 0 && !is_optional)
    return options_usage ("%s: PATH is missing", options_verb_names[options->verb]);
  if (n > 1 && options->verb != VERB_TOP)
    return options_usage ("%s takes one PATH", options_verb_names[options->verb]);
  options->paths = g_strdupv (n > 0 ? words : (char **) root);
  return TRUE;
}

static void
drop_first (char **words)
{
  g_free (words[0]);
  memmove (words, words + 1, g_strv_length (words) * sizeof *words);
}

/* Options, and the verb, which takes the place of the program's name. */
static gboolean
parse_options (RawOptions *raw, char ***words)
{
  if (!options_parse_raw (raw, words, FALSE))
    return FALSE;
  const char *word = (*words)[1];
  for (int i = VERB_WHO; word != NULL && options_verb_names[i] != NULL; i++)
    if (strcmp (word, options_verb_names[i]) == 0)
      raw->options.verb = (Verb) i;
  if (raw->options.verb == VERB_LOCK || raw->version)
    return TRUE;
  drop_first (*words);
  return options_parse_raw (raw, words, TRUE);
}

static gboolean
parse (RawOptions *raw, char ***words, int *exit_code)
{
  Options *options = &raw->options;
  RawOptions environment = { 0 };
  RawOptions files = { 0 };

  if (!parse_options (raw, words))
    return FALSE;
  if (raw->version)
    return TRUE;
  if (g_strcmp0 ((*words)[1], "--") == 0)
    drop_first (*words + 1);
  if (!config_read (&files, exit_code)) {
    options_clear_raw (&files);
    return FALSE;
  }
  read_environment (&environment);
  fill_in (raw, &environment);
  fill_in (raw, &files);
  options_clear_raw (&environment);
  options_clear_raw (&files);
  *exit_code = EXIT_CODE_USAGE;
  if (options->label == NULL) {
    /* g_get_user_name () writes a warning where the user has no entry, as in many containers. */
    const struct passwd *entry = getpwuid (getuid ());
    g_autofree char *user = entry != NULL ? g_filename_display_name (entry->pw_name)
                                          : g_strdup_printf ("%u", (guint) getuid ());
    options->label = g_strdup_printf ("%s@%s:%d", user, g_get_host_name (), (int) getpid ());
  }
  options->mode = raw->shared           ? MODE_READ
                  : raw->exclusive      ? MODE_WRITE
                  : raw->leases != NULL ? MODE_SEMAPHORE
                                        : MODE_MUTEX;
  return settle_secure (options) && options_parse_values (raw) && options_check_combination (raw)
         && (options->verb == VERB_LOCK ? parse_lock_words (options, *words + 1, raw->multi)
                                        : parse_verb_words (options, *words + 1))
         && check_hosts (options);
}

/* Puts the options of $ZKFLOCK_OPTIONS before those of the command line. */
static gboolean
add_environment (char ***words)
{
  const char *text = g_getenv ("ZKFLOCK_OPTIONS");
  g_auto (GStrv) options = NULL;
  g_autoptr (GError) error = NULL;
  RawOptions scratch = { 0 };

  if (text == NULL || text[strspn (text, " \t\n")] == '\0')
    return TRUE;
  if (!g_shell_parse_argv (text, NULL, &options, &error))
    return options_usage ("ZKFLOCK_OPTIONS: %s", error->message);
  g_auto (GStrv) alone = words_of ((*words)[0], options, NULL);
  const gboolean parsed = options_parse_raw (&scratch, &alone, FALSE);
  options_clear_raw (&scratch);
  if (!parsed)
    return FALSE;
  if (g_strv_length (alone) > 1)
    return options_usage ("ZKFLOCK_OPTIONS holds options only, not \"%s\"", alone[1]);
  char **all = words_of ((*words)[0], options, *words + 1);
  g_strfreev (*words);
  *words = all;
  return TRUE;
}

static gboolean
check_command_line (char **argv, gboolean *waits)
{
  RawOptions scratch = { 0 };
  g_auto (GStrv) words = g_strdupv (argv);
  const gboolean good = parse_options (&scratch, &words) && options_check_verb (&scratch);

  *waits = scratch.wait != NULL;
  options_clear_raw (&scratch);
  return good;
}

static void
print_versions (void)
{
  g_autoptr (CuratorTls) tls = curator_tls_new ();
  g_autoptr (CuratorClient) client = curator_client_new ("localhost", NULL);

  g_print ("zkflock %d.%d.%d%s, libcurator %s, TLS: %s, SASL: %s\n", CURATOR_MAJOR_VERSION,
           CURATOR_MINOR_VERSION, CURATOR_MICRO_VERSION, CURATOR_VERSION_SUFFIX,
           curator_get_version (), curator_client_set_tls (client, tls, NULL) ? "yes" : "no",
           curator_client_set_sasl_gssapi (client, NULL, NULL, NULL) ? "yes" : "no");
  g_print ("libzookeeper %s (built against)\n", ZOO_VERSION);
}

Options *
options_parse (int argc, char **argv, int *exit_code)
{
  RawOptions *raw = g_new0 (RawOptions, 1);
  g_auto (GStrv) words = g_strdupv (argv);

  raw->options = DEFAULTS;
  *exit_code = EXIT_CODE_USAGE;
  if (check_command_line (argv, &raw->options.waits) && add_environment (&words)
      && parse (raw, &words, exit_code)) {
    *exit_code = 0;
    if (!raw->version)
      return &raw->options;
    print_versions ();
  }
  options_free (&raw->options);
  return NULL;
}

void
options_free (Options *options)
{
  RawOptions *raw = (RawOptions *) options; /* its first member */

  if (raw != NULL) {
    options_clear_raw (raw);
    g_strfreev (options->command);
    g_strfreev (options->paths);
    g_free (raw);
  }
}

const char *
mode_to_string (const Options *options)
{
  static const char *const names[] = { "mutex", "read", "write", "semaphore" };
  return g_strv_length (options->paths) > 1 ? "multi" : names[options->mode];
}
