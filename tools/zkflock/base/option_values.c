/* The values of the options, and which of them may be combined. */
#include "base/kind.h"
#include "base/options-private.h"

#include <curator/curator.h>
#include <string.h>

typedef struct
{
  gboolean is_wrong;
  const char *why;
} Rule;

/* As flock(1) names it, where it has the option. */
static char *
shown_name (const OptionRow *row)
{
  return (row->verbs & 1U << VERB_LOCK) != 0 && row->letter != 0
             ? g_strdup_printf ("-%c", row->letter)
             : g_strconcat ("--", row->name, NULL);
}

/* Whoever means "+5", " 5" or "0x10" gets no other number than one who means "5". */
static gboolean
parse_number (const char *text, gboolean is_whole, double least, double most, double *number)
{
  const char *point = is_whole ? NULL : strchr (text, '.');
  const gsize length = strlen (text);

  *number = g_ascii_strtod (text, NULL);
  return strspn (text, "0123456789.") == length && length > (point != NULL ? 1 : 0)
         && strrchr (text, '.') == point && *number >= least && *number <= most;
}

gboolean
option_parse_seconds (const char *text, gint64 *ms)
{
  double seconds;

  if (!parse_number (text, FALSE, 0, 1e6, &seconds))
    return FALSE;
  /* Round up to 1: 0 has a meaning of its own. */
  *ms = seconds > 0 ? MAX ((gint64) (seconds * 1000 + 0.5), 1) : 0;
  return TRUE;
}

static gboolean
parse_word (const char *name, const char *text, const char *const *words, int *value)
{
  for (*value = 0; words[*value] != NULL; ++*value)
    if (strcmp (text, words[*value]) == 0)
      return TRUE;
  g_autofree char *known = g_strjoinv (", ", (char **) words);
  return options_usage ("%s is one of %s, not \"%s\"", name, known, text);
}

static gboolean
parse_value (RawOptions *raw, const OptionRow *row)
{
  gpointer value = (char *) raw + row->value;
  const char *text = row->type != OPTION_FLAG ? *(char **) option_given (raw, row) : NULL;
  const int most = row->most > 0 ? row->most : G_MAXINT;
  g_autofree char *name = shown_name (row);
  double number;

  if (text == NULL)
    return TRUE;
  if (row->type == OPTION_WORD)
    return parse_word (name, text, row->words, value);
  if (row->type == OPTION_SECONDS && !option_parse_seconds (text, value))
    return options_usage ("%s takes a number of seconds, not \"%s\"", name, text);
  if (row->type == OPTION_NUMBER) {
    if (!parse_number (text, TRUE, row->least, most, &number))
      return options_usage ("%s takes a number from %d to %d, not \"%s\"", name, row->least, most,
                            text);
    *(int *) value = (int) number;
  }
  return TRUE;
}

gboolean
options_parse_values (RawOptions *raw)
{
  Options *options = &raw->options;

  for (const OptionRow *row = option_rows; row->name != NULL; row++)
    if (!parse_value (raw, row))
      return FALSE;
  if (raw->nonblock && options->verb != VERB_REVOKE)
    options->wait_ms = 0;
  /* That of the environment is for other calls. */
  if (options->verb != VERB_LOCK && options->verb != VERB_WAIT && !options->waits)
    options->wait_ms = CURATOR_WAIT_FOREVER;
  if (raw->connect_timeout == NULL)
    options->connect_timeout_ms = options->session_timeout_ms;
  return TRUE;
}

/* For example "who, top, tree and doctor". */
static char *
describe_verbs (guint verbs)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; verbs >> i != 0; i++) {
    const char *name = i == VERB_LOCK ? "locking" : options_verb_names[i];
    if ((verbs >> i & 1) != 0)
      g_string_append_printf (text, "%s%s",
                              text->len == 0    ? ""
                              : verbs >> i == 1 ? " and "
                                                : ", ",
                              name);
  }
  return g_string_free (text, FALSE);
}

gboolean
options_check_verb (RawOptions *raw)
{
  for (const OptionRow *row = option_rows; row->name != NULL; row++) {
    const gpointer given = option_given (raw, row);
    const gboolean is_given =
        row->type == OPTION_FLAG ? *(gboolean *) given : *(gpointer *) given != NULL;
    if (is_given && row->verbs != 0 && (row->verbs & 1U << raw->options.verb) == 0) {
      g_autofree char *name = shown_name (row);
      g_autofree char *verbs = describe_verbs (row->verbs);
      return options_usage ("%s applies to %s only", name, verbs);
    }
  }
  return TRUE;
}

/* "SERVICE" or "SERVICE/NAME". */
static gboolean
is_principal (const char *text)
{
  const char *slash = strchr (text, '/');

  return *text != '\0' && *text != '/' && strchr (text, '@') == NULL
         && (slash == NULL || (slash[1] != '\0' && strchr (slash + 1, '/') == NULL));
}

static gboolean
check_rules (const Rule *rules, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (rules[i].is_wrong)
      return options_usage ("%s", rules[i].why);
  return TRUE;
}

static gboolean
check_secure (const Secure *secure)
{
  const char *principal = secure->sasl_server_principal;
  const gboolean has_login = secure->sasl_user != NULL || secure->sasl_password_file != NULL;
  const Rule rules[] = {
    { secure->tls_cert == NULL && secure->tls_key != NULL, "--tls-key needs --tls-cert" },
    { secure->tls_cert == NULL && secure->tls_key_password_file != NULL,
      "--tls-key-password-file needs --tls-cert" },
    { secure->sasl == SASL_DIGEST
          && (secure->sasl_user == NULL || secure->sasl_password_file == NULL),
      "--sasl=digest needs --sasl-user and --sasl-password-file" },
    { secure->sasl == SASL_DIGEST && principal != NULL,
      "--sasl-server-principal applies to --sasl=gssapi only" },
    { secure->sasl == SASL_GSSAPI && has_login,
      "--sasl-user and --sasl-password-file apply to --sasl=digest only: gssapi uses the tickets "
      "of kinit" },
    { secure->sasl == SASL_NONE && (has_login || principal != NULL),
      "--sasl-user, --sasl-password-file and --sasl-server-principal need --sasl" },
    { principal != NULL && !is_principal (principal),
      "--sasl-server-principal takes SERVICE or SERVICE/NAME, without a realm" },
  };

  return check_rules (rules, G_N_ELEMENTS (rules));
}

gboolean
options_check_combination (const RawOptions *raw)
{
  const Options *options = &raw->options;
  const Rule rules[] = {
    { raw->no_fork,
      "-F cannot exist here: the lock lives in the session of this process, which must "
      "keep running" },
    { raw->unlock,
      "-u cannot exist here: a lock is held by its process and released when that ends; "
      "\"zkflock revoke\" asks for it" },
    { raw->shared + raw->exclusive + (raw->leases != NULL) > 1,
      "-s, -x and -N exclude each other" },
    { raw->leases != NULL && raw->multi != NULL, "--multi cannot be combined with -N" },
    { options->revocable && raw->multi != NULL, "a multi-lock cannot be revoked" },
    { raw->max_hold != NULL && options->max_hold_ms == 0, "--max-hold must be more than 0" },
    { options->max_hold_ms > 0 && options->min_hold_ms > options->max_hold_ms,
      "--min-hold must not be longer than --max-hold" },
    { strlen (options->label) > MAX_LABEL_LENGTH,
      "--label takes at most " G_STRINGIFY (MAX_LABEL_LENGTH) " bytes" },
    { !g_utf8_validate (options->label, -1, NULL), "--label is not valid UTF-8" },
    { options->acl_creator && options->auth_file == NULL && !secure_has_identity (&options->secure),
      "--acl=creator needs --auth-file, --tls-cert or --sasl: the nodes would have no owner" },
    { options->session_timeout_ms < 10 || options->session_timeout_ms > 3600 * 1000,
      "--session-timeout must be at least 0.01 and at most 3600 seconds" },
    { options->connect_timeout_ms <= 0 || options->connect_timeout_ms > 3600 * 1000,
      "--connect-timeout must be more than 0 and at most 3600 seconds" },
  };

  return check_rules (rules, G_N_ELEMENTS (rules)) && check_secure (&options->secure);
}
