/* The options as GOption parses them, before they are checked. */
#pragma once

#include "base/message.h"
#include "base/options.h"

typedef struct
{
  Options options; /* first: options_free() */
  gboolean exclusive, shared, nonblock, no_fork, close, unlock, version;
  /* As they are written, NULL where they are not given. */
  char *wait, *session_timeout, *connect_timeout, *kill_after, *max_hold, *min_hold, *interval;
  char *code, *leases, *on_suspend, *acl, *iterations, *status_fd;
  char **multi;
} RawOptions;

typedef enum
{
  OPTION_FLAG,
  OPTION_TEXT, /* taken as it is; a word would be converted from the locale, which is "C" for cron */
  OPTION_TEXTS,   /* one for each time that it is given */
  OPTION_SECONDS, /* gint64 milliseconds */
  OPTION_NUMBER,  /* int */
  OPTION_WORD     /* int, its index */
} OptionType;

typedef enum
{
  OPTION_IN_FILE = 1 << 0,        /* a key of the configuration files */
  OPTION_IN_ENVIRONMENT = 1 << 1, /* and a variable: ZKFLOCK_TLS_CA for --tls-ca */
} OptionUse;

typedef struct
{
  const char *name;
  char letter; /* or 0 */
  OptionType type;
  guint verbs; /* a bit for each that it applies to; 0: all */
  guint uses;  /* OptionUse */
  gsize given; /* offset in RawOptions of what GOption writes */
  gsize value; /* offset of what a SECONDS, NUMBER or WORD is parsed into */
  const char *argument;
  const char *help; /* NULL: not shown */
  int least, most;  /* of a NUMBER; most may be 0: no limit */
  const char *words[4];
} OptionRow;

/* Ends with a row without a name. */
extern const OptionRow option_rows[];

/* What GOption writes for the row: char *, or gboolean for a FLAG, or char ** for TEXTS. */
gpointer option_given (RawOptions *raw, const OptionRow *row);

/* The names of the verbs, in the order of Verb; that of VERB_LOCK is empty. */
extern const char *const options_verb_names[];

/* Prints a message about the options; FALSE. */
#define options_usage(...) (print_error (NULL, __VA_ARGS__), FALSE)

/* Takes the options out of argv. FALSE: the reason has been printed. */
gboolean options_parse_raw (RawOptions *raw, char ***argv, gboolean is_verb);
void options_clear_raw (RawOptions *raw);

/* Fills in what the files set: $ZKFLOCK_CONFIG alone if it is set, else
 * $XDG_CONFIG_HOME/zkflock.conf and, for what that leaves open, /etc/zkflock.conf. FALSE with
 * *exit_code after printing why a file cannot be used. */
gboolean config_read (RawOptions *defaults, int *exit_code);

/* The verb that word was meant to be, or NULL. verbs ends with NULL. */
const char *hint_verb (const char *word, const char *const *verbs);
/* The long name that word ("--nonblok", or "--lable=x") was meant to be, without its hyphens, or
 * NULL. rows ends with a row without a name. */
const char *hint_option (const char *word, const OptionRow *rows);

/* Digits, with a point among them or not, and nothing else. */
gboolean option_parse_seconds (const char *text, gint64 *ms);
/* Each is FALSE after printing why. */
gboolean options_parse_values (RawOptions *raw);
/* Of the command line only: ZKFLOCK_OPTIONS serves all verbs. */
gboolean options_check_verb (RawOptions *raw);
/* Which options may be combined. */
gboolean options_check_combination (const RawOptions *raw);
