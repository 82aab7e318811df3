/* Parses the command line. Short options mean what they mean in flock(1). Options end at PATH or
 * the verb. */
#include "base/options.h"

#include "base/exit_code.h"
#include "base/hint.h"
#include "base/message.h"
#include "base/version.h"

#include <curator/curator.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_HOSTS        "localhost:2181"
#define DEFAULT_SECURE_HOSTS "tls://localhost:2281"
#define MAX_LABEL_LENGTH     4096 /* the library's limit for the payload of a node */

/* The options as GOption parses them. */
typedef struct
{
  gboolean exclusive, shared, nonblock, no_fork, close, unlock, verbose, json, paths, yes, version,
      revocable, hold, mixed, compression;
  char *wait, *code, *leases, *hosts, *session_timeout, *connect_timeout, *kill_after, *on_suspend;
  char *label, *auth_file, *acl, *interval, *iterations;
  Secure secure;
  char **multi;
} Raw;

static const char *const verb_names[] = {
  "", "who", "top", "tree", "revoke", "doctor", "reap", NULL
};

static const char SUMMARY[] =
    "Runs a command while holding a ZooKeeper lock that Apache Curator programs share.\n\n"
    "  zkflock [OPTION…] PATH COMMAND [ARG…]   run COMMAND while holding PATH\n"
    "  zkflock [OPTION…] PATH -c STRING        run STRING by /bin/sh\n"
    "  zkflock [OPTION…] PATH                  print the token and hold until stdin ends\n"
    "  zkflock who|top|tree|revoke|doctor|reap [OPTION…] [PATH…]";

static gboolean
is_set (char *const *text)
{
  return *text != NULL;
}

static void usage (const char *format, ...) G_GNUC_PRINTF (1, 2);

static void
usage (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  print_error (NULL, "%s", text);
}

static void
report_no_path (const char *word)
{
  const char *verb = hint_verb (word, verb_names + VERB_WHO);
  g_autofree char *shown = curator_escape_name (word, -1);

  if (verb != NULL)
    {
      usage ("\"%s\" is no verb, and a path begins with a slash; did you mean \"%s\"?", shown,
             verb);
    }
  else
    {
      usage ("\"%s\" is no verb, and a path begins with a slash; see zkflock --help", shown);
    }
}

/* names: receives the long names of the entries. */
static void
add_entries (GOptionContext *context, GPtrArray *names, const GOptionEntry *entries)
{
  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    {
      g_ptr_array_add (names, g_strdup (entry->long_name));
    }
  g_option_context_add_main_entries (context, entries, NULL);
}

static void
add_lock_options (GOptionContext *context, GPtrArray *names, Raw *raw)
{
  /* A FILENAME is taken as it is; a STRING would be converted from the locale, which is "C" for cron. */
  const GOptionEntry entries[] = {
    { "exclusive", 'x', 0, G_OPTION_ARG_NONE, &raw->exclusive,
      "Take the write side of a read-write lock", NULL },
    { "shared", 's', 0, G_OPTION_ARG_NONE, &raw->shared, "Take the read side of a read-write lock",
      NULL },
    { "leases", 'N', 0, G_OPTION_ARG_STRING, &raw->leases,
      "Take one of COUNT leases of a semaphore", "COUNT" },
    { "multi", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &raw->multi, "Another path; all are held or none",
      "PATH" },
    { "nonblock", 'n', 0, G_OPTION_ARG_NONE, &raw->nonblock, "Fail instead of waiting", NULL },
    { "wait", 'w', 0, G_OPTION_ARG_STRING, &raw->wait, "Wait at most this long", "SECONDS" },
    { "conflict-exit-code", 'E', 0, G_OPTION_ARG_STRING, &raw->code,
      "Exit code for conflict or timeout (1)", "CODE" },
    { "kill-after", 0, 0, G_OPTION_ARG_STRING, &raw->kill_after,
      "Time from TERM to KILL when the lock is about to be lost (2)", "SECONDS" },
    { "on-suspend", 0, 0, G_OPTION_ARG_STRING, &raw->on_suspend,
      "While the hold is in doubt: continue, pause or kill", "WHAT" },
    { "revocable", 0, 0, G_OPTION_ARG_NONE, &raw->revocable,
      "End the command when another client asks for the lock", NULL },
    { "hold", 0, 0, G_OPTION_ARG_NONE, &raw->hold,
      "Without COMMAND: hold until a signal, not until stdin ends", NULL },
    { "mixed", 0, 0, G_OPTION_ARG_NONE, &raw->mixed,
      "Run beside locks of another kind at PATH, which do not exclude this one", NULL },
    { "label", 0, 0, G_OPTION_ARG_FILENAME, &raw->label,
      "Label that \"zkflock who\" shows (user@host:pid)", "TEXT" },
    /* Other names that flock(1) has for the same. */
    { "timeout", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &raw->wait, NULL, NULL },
    { "nb", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->nonblock, NULL, NULL },
    { "e", 'e', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->exclusive, NULL, NULL },
    { "close", 'o', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->close, NULL, NULL },
    { "unlock", 'u', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->unlock, NULL, NULL },
    { "no-fork", 'F', G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &raw->no_fork, NULL, NULL },
    { NULL },
  };
  add_entries (context, names, entries);
}

static void
add_common_options (GOptionContext *context, GPtrArray *names, Raw *raw)
{
  const GOptionEntry entries[] = {
    { "hosts", 'Z', 0, G_OPTION_ARG_FILENAME, &raw->hosts,
      "Servers; default $ZKFLOCK_HOSTS, then " DEFAULT_HOSTS, "HOSTS" },
    { "session-timeout", 0, 0, G_OPTION_ARG_STRING, &raw->session_timeout,
      "Session timeout to request (15)", "SECONDS" },
    { "connect-timeout", 0, 0, G_OPTION_ARG_STRING, &raw->connect_timeout,
      "Give up connecting after this long (the session timeout)", "SECONDS" },
    { "auth-file", 0, 0, G_OPTION_ARG_FILENAME, &raw->auth_file,
      "File of scheme:credentials lines; mode 0600", "FILE" },
    { "acl", 0, 0, G_OPTION_ARG_STRING, &raw->acl, "Access to created nodes: open or creator",
      "WHAT" },
    { "compression", 0, 0, G_OPTION_ARG_NONE, &raw->compression,
      "Write payloads and requests in gzip, as Java's enableCompression", NULL },
    { "interval", 'i', 0, G_OPTION_ARG_STRING, &raw->interval, "top: time between refreshes (1)",
      "SECONDS" },
    { "iterations", 0, 0, G_OPTION_ARG_STRING, &raw->iterations,
      "top: number of refreshes (no limit)", "COUNT" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &raw->json, "who, top, tree, doctor: print JSON", NULL },
    { "paths", 0, 0, G_OPTION_ARG_NONE, &raw->paths, "tree: print only the paths", NULL },
    { "yes", 'y', 0, G_OPTION_ARG_NONE, &raw->yes, "reap: delete without a question", NULL },
    { "verbose", 0, 0, G_OPTION_ARG_NONE, &raw->verbose, "Report each step with its time", NULL },
    { "version", 'V', 0, G_OPTION_ARG_NONE, &raw->version, "Show versions", NULL },
    { NULL },
  };
  add_entries (context, names, entries);
}

/* GLib's message names the option. */
static void
report_bad_option (const GError *error, GPtrArray *names)
{
  const char *word = strstr (error->message, "--");
  const char *hint =
      g_error_matches (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && word != NULL
          ? hint_option (word, names)
          : NULL;

  if (hint != NULL)
    {
      usage ("%s; did you mean --%s?", error->message, hint);
    }
  else
    {
      usage ("%s; see zkflock --help", error->message);
    }
}

static void
add_secure_options (GOptionContext *context, GPtrArray *names, Raw *raw)
{
  g_autofree GOptionEntry *entries = secure_new_entries (&raw->secure);
  add_entries (context, names, entries);
}

static gboolean
parse_with_glib (Raw *raw, char ***argv, gboolean is_verb)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;

  g_option_context_set_summary (context, SUMMARY);
  add_lock_options (context, names, raw);
  add_common_options (context, names, raw);
  add_secure_options (context, names, raw);
  g_option_context_set_strict_posix (context, !is_verb);
  if (!g_option_context_parse_strv (context, argv, &error))
    {
      report_bad_option (error, names);
      return FALSE;
    }
  return TRUE;
}

static gboolean
parse_seconds (const char *name, const char *text, gint64 *ms)
{
  char *end = NULL;
  const double seconds = text != NULL ? g_ascii_strtod (text, &end) : 0;

  if (text == NULL)
    {
      return TRUE;
    }
  if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e6))
    {
      usage ("%s takes a number of seconds, not \"%s\"", name, text);
      return FALSE;
    }
  /* Round up to 1: 0 has a meaning of its own. */
  *ms = seconds > 0 ? MAX ((gint64) (seconds * 1000 + 0.5), 1) : 0;
  return TRUE;
}

static gboolean
parse_int (const char *name, const char *text, int least, int most, int *value)
{
  gint64 number;

  if (text == NULL)
    {
      return TRUE;
    }
  if (!g_ascii_string_to_signed (text, 10, least, most, &number, NULL))
    {
      usage ("%s takes a number from %d to %d, not \"%s\"", name, least, most, text);
      return FALSE;
    }
  *value = (int) number;
  return TRUE;
}

static gboolean
parse_word (const char *name, const char *text, const char *const *words, int *value)
{
  if (text == NULL)
    {
      return TRUE;
    }
  for (int i = 0; words[i] != NULL; i++)
    {
      if (strcmp (text, words[i]) == 0)
        {
          *value = i;
          return TRUE;
        }
    }
  g_autofree char *known = g_strjoinv (", ", (char **) words);
  usage ("%s is one of %s, not \"%s\"", name, known, text);
  return FALSE;
}

static gboolean
parse_values (Options *options, const Raw *raw)
{
  static const char *const on_suspend[] = { "continue", "pause", "kill", NULL };
  static const char *const acls[] = { "open", "creator", NULL };
  int suspend = ON_SUSPEND_CONTINUE;
  int acl = 0;

  if (!parse_seconds ("-w", raw->wait, &options->wait_ms)
      || !parse_seconds ("--session-timeout", raw->session_timeout, &options->session_timeout_ms)
      || !parse_seconds ("--connect-timeout", raw->connect_timeout, &options->connect_timeout_ms)
      || !parse_seconds ("--kill-after", raw->kill_after, &options->kill_after_ms)
      || !parse_seconds ("--interval", raw->interval, &options->interval_ms)
      || !parse_int ("--iterations", raw->iterations, 0, G_MAXINT, &options->iterations)
      || !parse_int ("-E", raw->code, 0, 255, &options->conflict_code)
      || !parse_int ("-N", raw->leases, 1, G_MAXINT, &options->leases)
      || !parse_word ("--on-suspend", raw->on_suspend, on_suspend, &suspend)
      || !parse_word ("--acl", raw->acl, acls, &acl))
    {
      return FALSE;
    }
  options->on_suspend = (OnSuspend) suspend;
  options->acl_creator = acl == 1;
  options->wait_ms = raw->nonblock ? 0 : options->wait_ms;
  if (raw->connect_timeout == NULL)
    {
      options->connect_timeout_ms = options->session_timeout_ms;
    }
  return TRUE;
}

/* Of the command line only: ZKFLOCK_OPTIONS serves all verbs. */
static gboolean
check_verb_options (const Options *options, const Raw *raw)
{
  const gboolean is_revoke = options->verb == VERB_REVOKE;
  const struct
  {
    const char *name;
    gboolean is_given;
  } of_locking[] = { { "-x", raw->exclusive },
                     { "-s", raw->shared },
                     { "-N", is_set (&raw->leases) },
                     { "--multi", raw->multi != NULL },
                     { "-n", raw->nonblock },
                     { "-w", is_set (&raw->wait) },
                     { "-E", is_set (&raw->code) && !is_revoke },
                     { "--kill-after", is_set (&raw->kill_after) },
                     { "--on-suspend", is_set (&raw->on_suspend) },
                     { "--revocable", raw->revocable },
                     { "--hold", raw->hold },
                     { "--mixed", raw->mixed },
                     { "--label", is_set (&raw->label) } };

  for (gsize i = 0; options->verb != VERB_LOCK && i < G_N_ELEMENTS (of_locking); i++)
    {
      if (of_locking[i].is_given)
        {
          usage ("%s applies to locking only", of_locking[i].name);
          return FALSE;
        }
    }
  return TRUE;
}

/* Checks which options may be combined. */
static gboolean
check_combination (const Options *options, const Raw *raw)
{
  const gboolean is_lock = options->verb == VERB_LOCK;

  if (raw->no_fork)
    {
      usage ("-F cannot exist here: the lock lives in the session of this process, which must keep "
             "running");
    }
  else if (raw->unlock)
    {
      usage ("-u cannot exist here: a lock is held by its process and released when that ends; "
             "\"zkflock revoke\" asks for it");
    }
  else if (raw->paths && options->verb != VERB_TREE)
    {
      usage ("--paths applies to tree only");
    }
  else if (raw->yes && options->verb != VERB_REAP)
    {
      usage ("-y applies to reap only");
    }
  else if (raw->shared + raw->exclusive + is_set (&raw->leases) > 1)
    {
      usage ("-s, -x and -N exclude each other");
    }
  else if (is_set (&raw->leases) && raw->multi != NULL)
    {
      usage ("--multi cannot be combined with -N");
    }
  else if (raw->revocable && raw->multi != NULL)
    {
      usage ("a multi-lock cannot be revoked");
    }
  else if (options->json && (is_lock || options->verb == VERB_REVOKE || options->verb == VERB_REAP))
    {
      usage ("--json applies to who, top, tree and doctor only");
    }
  else if (strlen (options->label) > MAX_LABEL_LENGTH)
    {
      usage ("--label takes at most %d bytes", MAX_LABEL_LENGTH);
    }
  else if (!g_utf8_validate (options->label, -1, NULL))
    {
      usage ("--label is not valid UTF-8");
    }
  else if (options->acl_creator && options->auth_file == NULL
           && !secure_has_identity (&options->secure))
    {
      usage (
          "--acl=creator needs --auth-file, --tls-cert or --sasl: the nodes would have no owner");
    }
  else if (options->session_timeout_ms <= 0 || options->session_timeout_ms > 3600 * 1000)
    {
      usage ("--session-timeout must be more than 0 and at most 3600 seconds");
    }
  else if (options->connect_timeout_ms <= 0 || options->connect_timeout_ms > 3600 * 1000)
    {
      usage ("--connect-timeout must be more than 0 and at most 3600 seconds");
    }
  else
    {
      return TRUE;
    }
  return FALSE;
}

static void
set_defaults (Options *options)
{
  *options = (Options){ .session_timeout_ms = 15000,
                        .wait_ms = -1,
                        .conflict_code = 1,
                        .kill_after_ms = 2000,
                        .interval_ms = 1000 };
}

static void
take (char **to, char **from)
{
  if (*from != NULL)
    {
      g_free (*to);
      *to = g_steal_pointer (from);
    }
}

/* FALSE: the settings of TLS and SASL make no sense; the reason has been printed. */
static gboolean
take_hosts (Options *options, Raw *raw)
{
  const char *hosts = g_getenv ("ZKFLOCK_HOSTS");

  options->secure = raw->secure;
  raw->secure = (Secure){ 0 };
  take (&options->hosts, &raw->hosts);
  if (options->hosts == NULL && hosts != NULL && *hosts != '\0')
    {
      options->hosts = g_strdup (hosts);
    }
  g_autofree char *mistake = secure_settle (&options->secure, options->hosts);
  if (mistake != NULL)
    {
      usage ("%s", mistake);
      return FALSE;
    }
  if (options->hosts == NULL)
    {
      options->hosts = g_strdup (options->secure.is_tls ? DEFAULT_SECURE_HOSTS : DEFAULT_HOSTS);
    }
  return TRUE;
}

/* g_get_user_name () writes a warning where the user has no entry, as in many containers. */
static char *
user_name (void)
{
  const struct passwd *entry = getpwuid (getuid ());
  return entry != NULL ? g_filename_display_name (entry->pw_name)
                       : g_strdup_printf ("%u", (guint) getuid ());
}

static void
take_strings (Options *options, Raw *raw)
{
  take (&options->auth_file, &raw->auth_file);
  take (&options->label, &raw->label);
  if (options->label == NULL)
    {
      g_autofree char *user = user_name ();
      options->label = g_strdup_printf ("%s@%s:%d", user, g_get_host_name (), (int) getpid ());
    }
  options->verbose = raw->verbose;
  options->json = raw->json;
  options->only_paths = raw->paths;
  options->agreed = raw->yes;
  options->revocable = raw->revocable;
  options->mixed = raw->mixed;
  options->hold = raw->hold;
  options->compression = raw->compression;
  options->mode = raw->shared             ? MODE_READ
                  : raw->exclusive        ? MODE_WRITE
                  : is_set (&raw->leases) ? MODE_SEMAPHORE
                                          : MODE_MUTEX;
}

/* words: PATH and the words after it. */
static gboolean
parse_lock_words (Options *options, char **words, char **multi)
{
  const guint n = g_strv_length (words);
  g_autoptr (GPtrArray) paths = g_ptr_array_new ();

  if (n == 0)
    {
      usage ("PATH is missing; see zkflock --help");
      return FALSE;
    }
  if (*words[0] != '/')
    {
      report_no_path (words[0]);
      return FALSE;
    }
  g_ptr_array_add (paths, g_strdup (words[0]));
  for (guint i = 0; multi != NULL && multi[i] != NULL; i++)
    {
      g_ptr_array_add (paths, g_strdup (multi[i]));
    }
  g_ptr_array_add (paths, NULL);
  options->paths = (char **) g_ptr_array_free (g_steal_pointer (&paths), FALSE);
  if (n == 1)
    {
      return TRUE;
    }
  if (options->hold)
    {
      usage ("--hold takes no COMMAND");
      return FALSE;
    }
  if (strcmp (words[1], "-c") == 0 || strcmp (words[1], "--command") == 0)
    {
      if (n != 3)
        {
          usage ("-c takes exactly one STRING");
          return FALSE;
        }
      const char *const shell[] = { "/bin/sh", "-c", words[2], NULL };
      options->command = g_strdupv ((char **) shell);
      return TRUE;
    }
  options->command = g_strdupv (words + (strcmp (words[1], "--") == 0 ? 2 : 1));
  if (options->command[0] == NULL || *options->command[0] == '\0')
    {
      usage ("COMMAND is missing");
      return FALSE;
    }
  return TRUE;
}

static gboolean
parse_verb_words (Options *options, char **words)
{
  const gboolean is_optional =
      options->verb == VERB_TREE || options->verb == VERB_DOCTOR || options->verb == VERB_TOP;
  const char *const root[] = { "/", NULL };
  const guint n = g_strv_length (words);

  if (n == 0 && !is_optional)
    {
      usage ("%s: PATH is missing", verb_names[options->verb]);
      return FALSE;
    }
  if (n > 1 && options->verb != VERB_TOP)
    {
      usage ("%s takes one PATH", verb_names[options->verb]);
      return FALSE;
    }
  options->paths = g_strdupv (n > 0 ? words : (char **) root);
  return TRUE;
}

static Verb
verb_of (const char *word)
{
  for (int i = VERB_WHO; word != NULL && i <= VERB_REAP; i++)
    {
      if (strcmp (word, verb_names[i]) == 0)
        {
          return (Verb) i;
        }
    }
  return VERB_LOCK;
}

static void
drop_separator (char **words)
{
  if (words[0] != NULL && strcmp (words[0], "--") == 0)
    {
      g_free (words[0]);
      memmove (words, words + 1, g_strv_length (words + 1) * sizeof *words + sizeof *words);
    }
}

/* Options, and the verb, which takes the place of the program's name. */
static gboolean
parse_options (Options *options, Raw *raw, char ***words)
{
  if (!parse_with_glib (raw, words, FALSE))
    {
      return FALSE;
    }
  options->verb = verb_of ((*words)[1]);
  if (options->verb == VERB_LOCK || raw->version)
    {
      return TRUE;
    }
  g_free ((*words)[0]);
  memmove (*words, *words + 1, g_strv_length (*words) * sizeof **words);
  return parse_with_glib (raw, words, TRUE);
}

static gboolean
parse (Options *options, Raw *raw, char ***words)
{
  if (!parse_options (options, raw, words))
    {
      return FALSE;
    }
  if (raw->version)
    {
      return TRUE;
    }
  drop_separator (*words + 1);
  take_strings (options, raw);
  return take_hosts (options, raw) && parse_values (options, raw)
         && check_combination (options, raw)
         && (options->verb == VERB_LOCK ? parse_lock_words (options, *words + 1, raw->multi)
                                        : parse_verb_words (options, *words + 1));
}

static void
clear_raw (Raw *raw)
{
  char **const strings[] = { &raw->wait,
                             &raw->code,
                             &raw->leases,
                             &raw->hosts,
                             &raw->session_timeout,
                             &raw->connect_timeout,
                             &raw->kill_after,
                             &raw->on_suspend,
                             &raw->label,
                             &raw->auth_file,
                             &raw->acl,
                             &raw->interval,
                             &raw->iterations };
  for (gsize i = 0; i < G_N_ELEMENTS (strings); i++)
    {
      g_free (*strings[i]);
    }
  g_strfreev (raw->multi);
  secure_clear (&raw->secure);
}

/* Puts the options of $ZKFLOCK_OPTIONS before those of the command line. */
static gboolean
add_environment (char ***words)
{
  const char *text = g_getenv ("ZKFLOCK_OPTIONS");
  g_auto (GStrv) options = NULL;
  g_autoptr (GError) error = NULL;
  Raw scratch = { 0 };

  if (text == NULL || text[strspn (text, " \t\n")] == '\0')
    {
      return TRUE;
    }
  if (!g_shell_parse_argv (text, NULL, &options, &error))
    {
      usage ("ZKFLOCK_OPTIONS: %s", error->message);
      return FALSE;
    }
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_strv_builder_add (builder, (*words)[0]);
  g_strv_builder_addv (builder, (const char **) options);
  g_auto (GStrv) alone = g_strv_builder_end (builder);
  g_strv_builder_add (builder, (*words)[0]);
  g_strv_builder_addv (builder, (const char **) options);
  g_strv_builder_addv (builder, (const char **) *words + 1);
  const gboolean parsed = parse_with_glib (&scratch, &alone, FALSE);
  clear_raw (&scratch);
  if (!parsed)
    {
      return FALSE;
    }
  if (g_strv_length (alone) > 1)
    {
      usage ("ZKFLOCK_OPTIONS holds options only, not \"%s\"", alone[1]);
      return FALSE;
    }
  g_strfreev (*words);
  *words = g_strv_builder_end (builder);
  return TRUE;
}

static gboolean
check_command_line (char **argv)
{
  Options options = { 0 };
  Raw scratch = { 0 };
  g_auto (GStrv) words = g_strdupv (argv);
  const gboolean good =
      parse_options (&options, &scratch, &words) && check_verb_options (&options, &scratch);

  clear_raw (&scratch);
  return good;
}

gboolean
options_parse (Options *options, int argc, char **argv, int *exit_code)
{
  Raw raw = { 0 };
  g_auto (GStrv) words = g_strdupv (argv);

  set_defaults (options);
  const gboolean parsed =
      check_command_line (argv) && add_environment (&words) && parse (options, &raw, &words);
  const gboolean version = raw.version;
  clear_raw (&raw);
  if (parsed && version)
    {
      print_versions ();
    }
  *exit_code = parsed ? 0 : EXIT_CODE_USAGE;
  return parsed && !version;
}

void
options_clear (Options *options)
{
  g_free (options->hosts);
  g_free (options->label);
  g_free (options->auth_file);
  secure_clear (&options->secure);
  g_strfreev (options->command);
  g_strfreev (options->paths);
}

const char *
mode_to_string (const Options *options)
{
  static const char *const names[] = { "mutex", "read", "write", "semaphore" };
  return g_strv_length (options->paths) > 1 ? "multi" : names[options->mode];
}
