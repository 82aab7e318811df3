/* The options that GOption knows, and what it says about others. */
#include "base/message.h"
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

void
options_usage (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  print_error (NULL, "%s", text);
}

/* names: receives the long names of the entries. */
static void
add_entries (GOptionContext *context, GPtrArray *names, const GOptionEntry *entries)
{
  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    g_ptr_array_add (names, g_strdup (entry->long_name));
  g_option_context_add_main_entries (context, entries, NULL);
}

static void
add_lock_options (GOptionContext *context, GPtrArray *names, RawOptions *raw)
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
    { "wait", 'w', 0, G_OPTION_ARG_STRING, &raw->times.wait,
      "Wait at most this long; revoke: for the release", "SECONDS" },
    { "conflict-exit-code", 'E', 0, G_OPTION_ARG_STRING, &raw->code,
      "Exit code for conflict or timeout (1)", "CODE" },
    { "kill-after", 0, 0, G_OPTION_ARG_STRING, &raw->times.kill_after,
      "Time from TERM to KILL when the lock is about to be lost (2)", "SECONDS" },
    { "on-suspend", 0, 0, G_OPTION_ARG_STRING, &raw->on_suspend,
      "While the hold is in doubt: continue, pause or kill", "WHAT" },
    { "max-hold", 0, 0, G_OPTION_ARG_STRING, &raw->times.max_hold,
      "Hold at most this long: TERM before, KILL in time", "SECONDS" },
    { "min-hold", 0, 0, G_OPTION_ARG_STRING, &raw->times.min_hold,
      "Hold at least this long, also if the command ends sooner", "SECONDS" },
    { "revocable", 0, 0, G_OPTION_ARG_NONE, &raw->revocable,
      "End the command when another client asks for the lock", NULL },
    { "hold", 0, 0, G_OPTION_ARG_NONE, &raw->hold,
      "Without COMMAND: hold until a signal, not until stdin ends", NULL },
    { "mixed", 0, 0, G_OPTION_ARG_NONE, &raw->mixed,
      "Run beside locks of another kind at PATH, which do not exclude this one", NULL },
    { "label", 0, 0, G_OPTION_ARG_FILENAME, &raw->label,
      "Label that \"zkflock who\" shows (user@host:pid)", "TEXT" },
    { "status-fd", 0, 0, G_OPTION_ARG_STRING, &raw->status_fd,
      "Write what happens to this descriptor, as lines of JSON", "FD" },
    /* Other names that flock(1) has for the same. */
    { "timeout", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &raw->times.wait, NULL, NULL },
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
add_common_options (GOptionContext *context, GPtrArray *names, RawOptions *raw)
{
  const GOptionEntry entries[] = {
    { "hosts", 'Z', 0, G_OPTION_ARG_FILENAME, &raw->hosts,
      "Servers; default $ZKFLOCK_HOSTS, then " DEFAULT_HOSTS, "HOSTS" },
    { "session-timeout", 0, 0, G_OPTION_ARG_STRING, &raw->times.session_timeout,
      "Session timeout to request (15)", "SECONDS" },
    { "connect-timeout", 0, 0, G_OPTION_ARG_STRING, &raw->times.connect_timeout,
      "Give up connecting after this long (the session timeout)", "SECONDS" },
    { "auth-file", 0, 0, G_OPTION_ARG_FILENAME, &raw->auth_file,
      "File of scheme:credentials lines; mode 0600", "FILE" },
    { "acl", 0, 0, G_OPTION_ARG_STRING, &raw->acl, "Access to created nodes: open or creator",
      "WHAT" },
    { "compression", 0, 0, G_OPTION_ARG_NONE, &raw->compression,
      "Write payloads and requests in gzip, as Java's enableCompression", NULL },
    { "interval", 'i', 0, G_OPTION_ARG_STRING, &raw->times.interval,
      "top: time between refreshes (1)", "SECONDS" },
    { "iterations", 0, 0, G_OPTION_ARG_STRING, &raw->iterations,
      "top: number of refreshes (no limit)", "COUNT" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &raw->json, "who, top, tree, doctor: print JSON", NULL },
    { "paths", 0, 0, G_OPTION_ARG_NONE, &raw->paths, "tree: print only the paths", NULL },
    { "yes", 'y', 0, G_OPTION_ARG_NONE, &raw->yes, "reap: delete without a question", NULL },
    { "syslog", 0, 0, G_OPTION_ARG_NONE, &raw->syslog, "Send messages to syslog, too", NULL },
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
    options_usage ("%s; did you mean --%s?", error->message, hint);
  else
    options_usage ("%s; see zkflock --help", error->message);
}

static void
add_secure_options (GOptionContext *context, GPtrArray *names, RawOptions *raw)
{
  g_autofree GOptionEntry *entries = secure_new_entries (&raw->secure);
  add_entries (context, names, entries);
}

gboolean
options_parse_raw (RawOptions *raw, char ***argv, gboolean is_verb)
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

void
options_clear_raw (RawOptions *raw)
{
  char **const strings[] = { &raw->times.wait,
                             &raw->code,
                             &raw->leases,
                             &raw->hosts,
                             &raw->times.session_timeout,
                             &raw->times.connect_timeout,
                             &raw->times.kill_after,
                             &raw->on_suspend,
                             &raw->label,
                             &raw->auth_file,
                             &raw->acl,
                             &raw->times.interval,
                             &raw->iterations,
                             &raw->times.max_hold,
                             &raw->times.min_hold,
                             &raw->status_fd };
  for (gsize i = 0; i < G_N_ELEMENTS (strings); i++)
    g_free (*strings[i]);
  g_strfreev (raw->multi);
  secure_clear (&raw->secure);
}
