/* The values of the options, and which of them may be combined. */
#include "base/options-private.h"

#include "base/kind.h"

#include <string.h>

static gboolean
is_set (char *const *text)
{
  return *text != NULL;
}

static gboolean
parse_seconds (const char *name, const char *text, gint64 *ms)
{
  char *end = NULL;
  const double seconds = text != NULL ? g_ascii_strtod (text, &end) : 0;

  if (text == NULL)
    return TRUE;
  if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e6))
    {
      options_usage ("%s takes a number of seconds, not \"%s\"", name, text);
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
    return TRUE;
  if (!g_ascii_string_to_signed (text, 10, least, most, &number, NULL))
    {
      options_usage ("%s takes a number from %d to %d, not \"%s\"", name, least, most, text);
      return FALSE;
    }
  *value = (int) number;
  return TRUE;
}

static gboolean
parse_word (const char *name, const char *text, const char *const *words, int *value)
{
  if (text == NULL)
    return TRUE;
  for (int i = 0; words[i] != NULL; i++)
    {
      if (strcmp (text, words[i]) == 0)
        {
          *value = i;
          return TRUE;
        }
    }
  g_autofree char *known = g_strjoinv (", ", (char **) words);
  options_usage ("%s is one of %s, not \"%s\"", name, known, text);
  return FALSE;
}

gboolean
options_parse_values (Options *options, const RawOptions *raw)
{
  static const char *const on_suspend[] = { "continue", "pause", "kill", NULL };
  static const char *const acls[] = { "open", "creator", NULL };
  int suspend = ON_SUSPEND_CONTINUE;
  int acl = 0;

  if (!parse_seconds ("-w", raw->times.wait, &options->wait_ms)
      || !parse_seconds ("--session-timeout", raw->times.session_timeout,
                         &options->session_timeout_ms)
      || !parse_seconds ("--connect-timeout", raw->times.connect_timeout,
                         &options->connect_timeout_ms)
      || !parse_seconds ("--kill-after", raw->times.kill_after, &options->kill_after_ms)
      || !parse_seconds ("--max-hold", raw->times.max_hold, &options->max_hold_ms)
      || !parse_seconds ("--min-hold", raw->times.min_hold, &options->min_hold_ms)
      || !parse_int ("--status-fd", raw->status_fd, 0, G_MAXINT, &options->status_fd)
      || !parse_seconds ("--interval", raw->times.interval, &options->top.interval_ms)
      || !parse_int ("--iterations", raw->iterations, 0, G_MAXINT, &options->top.iterations)
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
  if (raw->times.connect_timeout == NULL)
    options->connect_timeout_ms = options->session_timeout_ms;
  return TRUE;
}

gboolean
options_check_verb (const Options *options, const RawOptions *raw)
{
  const gboolean is_revoke = options->verb == VERB_REVOKE;
  const gboolean is_wait = options->verb == VERB_WAIT;
  const struct
  {
    const char *name;
    gboolean is_given;
  } of_locking[] = { { "-x", raw->exclusive },
                     { "-s", raw->shared },
                     { "-N", is_set (&raw->leases) },
                     { "--multi", raw->multi != NULL },
                     { "-n", raw->nonblock && !is_wait },
                     { "-w", is_set (&raw->times.wait) && !is_revoke && !is_wait },
                     { "-E", is_set (&raw->code) && !is_revoke && !is_wait },
                     { "--kill-after", is_set (&raw->times.kill_after) },
                     { "--max-hold", is_set (&raw->times.max_hold) },
                     { "--min-hold", is_set (&raw->times.min_hold) },
                     { "--status-fd", is_set (&raw->status_fd) },
                     { "--on-suspend", is_set (&raw->on_suspend) },
                     { "--revocable", raw->revocable },
                     { "--hold", raw->hold },
                     { "--mixed", raw->mixed },
                     { "--label", is_set (&raw->label) } };

  for (gsize i = 0; options->verb != VERB_LOCK && i < G_N_ELEMENTS (of_locking); i++)
    {
      if (of_locking[i].is_given)
        {
          options_usage ("%s applies to locking only", of_locking[i].name);
          return FALSE;
        }
    }
  return TRUE;
}

/* Whether the verb and the kind of lock take the options. */
static gboolean
fits_verb (const Options *options, const RawOptions *raw)
{
  if (raw->no_fork)
    {
      options_usage (
          "-F cannot exist here: the lock lives in the session of this process, which must keep "
          "running");
    }
  else if (raw->unlock)
    {
      options_usage (
          "-u cannot exist here: a lock is held by its process and released when that ends; "
          "\"zkflock revoke\" asks for it");
    }
  else if (raw->paths && options->verb != VERB_TREE)
    {
      options_usage ("--paths applies to tree only");
    }
  else if (raw->yes && options->verb != VERB_REAP)
    {
      options_usage ("-y applies to reap only");
    }
  else if (raw->shared + raw->exclusive + is_set (&raw->leases) > 1)
    {
      options_usage ("-s, -x and -N exclude each other");
    }
  else if (is_set (&raw->leases) && raw->multi != NULL)
    {
      options_usage ("--multi cannot be combined with -N");
    }
  else if (raw->revocable && raw->multi != NULL)
    {
      options_usage ("a multi-lock cannot be revoked");
    }
  else if (options->json
           && (options->verb == VERB_LOCK || options->verb == VERB_REVOKE
               || options->verb == VERB_WAIT || options->verb == VERB_REAP))
    {
      options_usage ("--json applies to who, top, tree and doctor only");
    }
  else
    {
      return TRUE;
    }
  return FALSE;
}

static gboolean
has_valid_values (const Options *options, const RawOptions *raw)
{
  if (is_set (&raw->times.max_hold) && options->max_hold_ms == 0)
    {
      options_usage ("--max-hold must be more than 0");
    }
  else if (options->max_hold_ms > 0 && options->min_hold_ms > options->max_hold_ms)
    {
      options_usage ("--min-hold must not be longer than --max-hold");
    }
  else if (strlen (options->label) > MAX_LABEL_LENGTH)
    {
      options_usage ("--label takes at most %d bytes", MAX_LABEL_LENGTH);
    }
  else if (!g_utf8_validate (options->label, -1, NULL))
    {
      options_usage ("--label is not valid UTF-8");
    }
  else if (options->acl_creator && options->auth_file == NULL
           && !secure_has_identity (&options->secure))
    {
      options_usage (
          "--acl=creator needs --auth-file, --tls-cert or --sasl: the nodes would have no owner");
    }
  else if (options->session_timeout_ms < 10 || options->session_timeout_ms > 3600 * 1000)
    {
      options_usage ("--session-timeout must be at least 0.01 and at most 3600 seconds");
    }
  else if (options->connect_timeout_ms <= 0 || options->connect_timeout_ms > 3600 * 1000)
    {
      options_usage ("--connect-timeout must be more than 0 and at most 3600 seconds");
    }
  else
    {
      return TRUE;
    }
  return FALSE;
}

gboolean
options_check_combination (const Options *options, const RawOptions *raw)
{
  return fits_verb (options, raw) && has_valid_values (options, raw);
}
