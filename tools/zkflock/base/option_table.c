/* The options, one row each, and what GOption says about others. */
#include "base/options-private.h"

#include <string.h>

static const char SUMMARY[] =
    "Runs a command while holding a ZooKeeper lock that Apache Curator programs share.\n\n"
    "  zkflock [OPTION…] PATH COMMAND [ARG…]   run COMMAND while holding PATH\n"
    "  zkflock [OPTION…] PATH -c STRING        run STRING by /bin/sh\n"
    "  zkflock [OPTION…] PATH                  print the token and hold until stdin ends\n"
    "  zkflock who|top|tree|revoke|wait|doctor|reap [OPTION…] [PATH…]";

const char *const options_verb_names[] = { "",       "who",  "top",  "tree", "revoke",
                                           "doctor", "reap", "wait", NULL };

#define BIT(verb)    (1U << VERB_##verb)
#define LOCKS        BIT (LOCK)
#define ASKS         (BIT (LOCK) | BIT (WAIT) | BIT (REVOKE))
#define FILES        OPTION_IN_FILE
#define EVERYWHERE   (OPTION_IN_FILE | OPTION_IN_ENVIRONMENT)
#define RAW(field)   G_STRUCT_OFFSET (RawOptions, field)
#define VALUE(field) G_STRUCT_OFFSET (RawOptions, options.field)

const OptionRow option_rows[] = {
  { "exclusive", 'x', OPTION_FLAG, LOCKS, 0, RAW (exclusive), 0, NULL,
    "Take the write side of a read-write lock" },
  { "shared", 's', OPTION_FLAG, LOCKS, 0, RAW (shared), 0, NULL,
    "Take the read side of a read-write lock" },
  { "leases", 'N', OPTION_NUMBER, LOCKS, 0, RAW (leases), VALUE (leases), "COUNT",
    "Take one of COUNT leases of a semaphore", .least = 1 },
  { "multi", 0, OPTION_TEXTS, LOCKS, 0, RAW (multi), 0, "PATH",
    "Another path; all are held or none" },
  { "nonblock", 'n', OPTION_FLAG, LOCKS | BIT (WAIT), 0, RAW (nonblock), 0, NULL,
    "Fail instead of waiting" },
  { "wait", 'w', OPTION_SECONDS, ASKS, 0, RAW (wait), VALUE (wait_ms), "SECONDS",
    "Wait at most this long; revoke: for the release" },
  { "conflict-exit-code", 'E', OPTION_NUMBER, ASKS, 0, RAW (code), VALUE (conflict_code), "CODE",
    "Exit code for conflict or timeout (1)", .most = 255 },
  { "kill-after", 0, OPTION_SECONDS, LOCKS, FILES, RAW (kill_after), VALUE (kill_after_ms),
    "SECONDS", "Time from TERM to KILL when the lock is about to be lost (2)" },
  { "on-suspend", 0, OPTION_WORD, LOCKS, 0, RAW (on_suspend), VALUE (on_suspend), "WHAT",
    "While the hold is in doubt: continue, pause or kill",
    .words = { "continue", "pause", "kill" } },
  { "max-hold", 0, OPTION_SECONDS, LOCKS, 0, RAW (max_hold), VALUE (max_hold_ms), "SECONDS",
    "Hold at most this long: TERM before, KILL in time" },
  { "min-hold", 0, OPTION_SECONDS, LOCKS, 0, RAW (min_hold), VALUE (min_hold_ms), "SECONDS",
    "Hold at least this long, also if the command ends sooner" },
  { "revocable", 0, OPTION_FLAG, LOCKS, 0, VALUE (revocable), 0, NULL,
    "End the command when another client asks for the lock" },
  { "hold", 0, OPTION_FLAG, LOCKS, 0, VALUE (hold), 0, NULL,
    "Without COMMAND: hold until a signal, not until stdin ends" },
  { "mixed", 0, OPTION_FLAG, LOCKS, 0, VALUE (mixed), 0, NULL,
    "Run beside locks of another kind at PATH, which do not exclude this one" },
  { "label", 0, OPTION_TEXT, LOCKS, FILES, VALUE (label), 0, "TEXT",
    "Label that \"zkflock who\" shows (user@host:pid)" },
  { "status-fd", 0, OPTION_NUMBER, LOCKS, 0, RAW (status_fd), VALUE (status_fd), "FD",
    "Write what happens to this descriptor, as lines of JSON" },
  /* Other names that flock(1) has for the same. */
  { "timeout", 0, OPTION_SECONDS, ASKS, 0, RAW (wait), VALUE (wait_ms) },
  { "nb", 0, OPTION_FLAG, LOCKS | BIT (WAIT), 0, RAW (nonblock) },
  { "e", 'e', OPTION_FLAG, LOCKS, 0, RAW (exclusive) },
  { "close", 'o', OPTION_FLAG, LOCKS, 0, RAW (close) },
  { "unlock", 'u', OPTION_FLAG, LOCKS, 0, RAW (unlock) },
  { "no-fork", 'F', OPTION_FLAG, LOCKS, 0, RAW (no_fork) },
  { "hosts", 'Z', OPTION_TEXT, 0, EVERYWHERE, VALUE (hosts), 0, "HOSTS",
    "Servers; default $ZKFLOCK_HOSTS" },
  { "session-timeout", 0, OPTION_SECONDS, 0, FILES, RAW (session_timeout),
    VALUE (session_timeout_ms), "SECONDS", "Session timeout to request (30)" },
  { "connect-timeout", 0, OPTION_SECONDS, 0, FILES, RAW (connect_timeout),
    VALUE (connect_timeout_ms), "SECONDS",
    "Give up connecting after this long (the session timeout)" },
  { "auth-file", 0, OPTION_TEXT, 0, FILES, VALUE (auth_file), 0, "FILE",
    "File of scheme:credentials lines; mode 0600" },
  { "acl", 0, OPTION_WORD, LOCKS, FILES, RAW (acl), VALUE (acl_creator), "WHAT",
    "Access to created nodes: open or creator", .words = { "open", "creator" } },
  { "compression", 0, OPTION_FLAG, LOCKS | BIT (REVOKE), 0, VALUE (compression), 0, NULL,
    "Write payloads and requests in gzip, as Java's enableCompression" },
  { "interval", 'i', OPTION_SECONDS, BIT (TOP), 0, RAW (interval), VALUE (top.interval_ms),
    "SECONDS", "top: time between refreshes (1)" },
  { "iterations", 0, OPTION_NUMBER, BIT (TOP), 0, RAW (iterations), VALUE (top.iterations), "COUNT",
    "top: number of refreshes (no limit)" },
  { "json", 0, OPTION_FLAG, BIT (WHO) | BIT (TOP) | BIT (TREE) | BIT (DOCTOR), 0, VALUE (json), 0,
    NULL, "who, top, tree, doctor: print JSON" },
  { "paths", 0, OPTION_FLAG, BIT (TREE), 0, VALUE (only_paths), 0, NULL,
    "tree: print only the paths" },
  { "yes", 'y', OPTION_FLAG, BIT (REAP), 0, VALUE (agreed), 0, NULL,
    "reap: delete without a question" },
  { "syslog", 0, OPTION_FLAG, 0, 0, VALUE (syslog), 0, NULL, "Send messages to syslog, too" },
  { "verbose", 0, OPTION_FLAG, 0, 0, VALUE (verbose), 0, NULL, "Report each step with its time" },
  { "version", 'V', OPTION_FLAG, 0, 0, RAW (version), 0, NULL, "Show versions" },
  { "tls-ca", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.tls_ca), 0, "FILE",
    "TLS: the CAs to trust instead of the system's" },
  { "tls-crl", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.tls_crl), 0, "FILE",
    "TLS: the CAs' list of revoked certificates; none is looked up without" },
  { "tls-cert", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.tls_cert), 0, "FILE",
    "TLS: our certificate" },
  { "tls-key", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.tls_key), 0, "FILE",
    "TLS: its key, if not in the same file" },
  { "tls-key-password-file", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.tls_key_password_file), 0,
    "FILE", "TLS: the password of the key; mode 0600" },
  { "tls-server-name", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.tls_server_name), 0, "NAME",
    "TLS: the name in the servers' certificates, if not the host's" },
  { "sasl", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.sasl_mechanism), 0, "WHAT",
    "Authenticate by SASL: digest or gssapi" },
  { "sasl-user", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.sasl_user), 0, "NAME",
    "SASL digest: the user" },
  { "sasl-password-file", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.sasl_password_file), 0,
    "FILE", "SASL digest: the password; mode 0600" },
  { "sasl-server-principal", 0, OPTION_TEXT, 0, EVERYWHERE, VALUE (secure.sasl_server_principal), 0,
    "SERVICE[/NAME]", "SASL gssapi: the servers' principal (zookeeper/HOST)" },
  { NULL },
};

gpointer
option_given (RawOptions *raw, const OptionRow *row)
{
  return (char *) raw + row->given;
}

/* name: NULL for that of the letter. */
static const OptionRow *
find_row (const char *name, char letter)
{
  for (const OptionRow *row = option_rows; row->name != NULL; row++)
    if (name != NULL ? strcmp (row->name, name) == 0 : row->letter == letter)
      return row;
  return NULL;
}

/* Where the value begins of the last option in a word of short ones, such as "-nw5"; 0: it has no
 * option with a value. */
static gsize
find_value (const char *word)
{
  for (gsize i = 1; word[i] != '\0'; i++) {
    const OptionRow *row = find_row (NULL, word[i]);
    if (row == NULL)
      return 0;
    if (row->type != OPTION_FLAG)
      return i + 1;
  }
  return 0;
}

/* GOption wants the value of a short option in the next word: -w5 becomes -w 5. */
static void
detach_values (char ***argv, gboolean is_verb)
{
  GPtrArray *words = g_ptr_array_new ();
  gboolean is_over = FALSE; /* no option follows */
  gboolean is_value = TRUE; /* as the program's name */

  for (char **word = *argv; *word != NULL; word++) {
    const gboolean is_long = g_str_has_prefix (*word, "--");
    const gboolean is_option = !is_over && !is_value && **word == '-' && (*word)[1] != '\0';
    const gsize start = is_option && !is_long ? find_value (*word) : 0;
    const OptionRow *row = is_option && is_long ? find_row (*word + 2, 0) : NULL;
    is_over = is_over || (!is_value && (is_option ? strcmp (*word, "--") == 0 : !is_verb));
    is_value = (start > 0 && (*word)[start] == '\0') || (row != NULL && row->type != OPTION_FLAG);
    if (start > 0 && !is_value)
      g_ptr_array_add (words, g_strndup (*word, start));
    g_ptr_array_add (words, g_strdup (start > 0 && !is_value ? *word + start : *word));
  }
  g_ptr_array_add (words, NULL);
  g_strfreev (*argv);
  *argv = (char **) g_ptr_array_free (words, FALSE);
}

gboolean
options_parse_raw (RawOptions *raw, char ***argv, gboolean is_verb)
{
  static const GOptionArg args[] = {
    [OPTION_FLAG] = G_OPTION_ARG_NONE,
    [OPTION_TEXT] = G_OPTION_ARG_FILENAME,
    [OPTION_SECONDS] = G_OPTION_ARG_STRING,
    [OPTION_NUMBER] = G_OPTION_ARG_STRING,
    [OPTION_TEXTS] = G_OPTION_ARG_FILENAME_ARRAY,
    [OPTION_WORD] = G_OPTION_ARG_STRING,
  };
  GOptionEntry entries[G_N_ELEMENTS (option_rows)] = { 0 };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; option_rows[i].name != NULL; i++) {
    const OptionRow *row = &option_rows[i];
    entries[i] = (GOptionEntry){ .long_name = row->name,
                                 .short_name = row->letter,
                                 .flags = row->help == NULL ? G_OPTION_FLAG_HIDDEN : 0,
                                 .arg = args[row->type],
                                 .arg_data = option_given (raw, row),
                                 .description = row->help,
                                 .arg_description = row->argument };
  }
  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_summary (context, SUMMARY);
  g_option_context_set_strict_posix (context, !is_verb);
  detach_values (argv, is_verb);
  if (g_option_context_parse_strv (context, argv, &error))
    return TRUE;
  /* GLib's message names the option. */
  const char *word = strstr (error->message, "--");
  const char *hint =
      g_error_matches (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION) && word != NULL
          ? hint_option (word, option_rows)
          : NULL;
  return hint != NULL ? options_usage ("%s; did you mean --%s?", error->message, hint)
                      : options_usage ("%s; see zkflock --help", error->message);
}

void
options_clear_raw (RawOptions *raw)
{
  for (const OptionRow *row = option_rows; row->name != NULL; row++)
    if (row->type != OPTION_FLAG && row->type != OPTION_TEXTS)
      g_clear_pointer ((char **) option_given (raw, row), g_free);
  g_clear_pointer (&raw->multi, g_strfreev);
}
