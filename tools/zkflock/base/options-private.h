/* The options as GOption parses them, before they are checked. */
#ifndef ZKFLOCK_OPTIONS_PRIVATE_H
#define ZKFLOCK_OPTIONS_PRIVATE_H

#include "base/options.h"

#define DEFAULT_HOSTS        "localhost:2181"
#define DEFAULT_SECURE_HOSTS "tls://localhost:2281"

/* As they are written, in seconds. */
typedef struct
{
  char *wait, *session_timeout, *connect_timeout, *kill_after, *max_hold, *min_hold, *interval;
} RawTimes;

typedef struct
{
  gboolean exclusive, shared, nonblock, no_fork, close, unlock, verbose, json, paths, yes, version,
      revocable, hold, mixed, compression, syslog;
  RawTimes times;
  char *code, *leases, *hosts, *on_suspend, *label, *auth_file, *acl, *iterations, *status_fd;
  Secure secure;
  char **multi;
} RawOptions;

/* The names of the verbs, in the order of Verb; that of VERB_LOCK is empty. */
extern const char *const options_verb_names[];

/* A message about the options. */
void options_usage (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Takes the options out of argv. FALSE: the reason has been printed. */
gboolean options_parse_raw (RawOptions *raw, char ***argv, gboolean is_verb);
void options_clear_raw (RawOptions *raw);

/* Fills in what the files set: $ZKFLOCK_CONFIG alone if it is set, else $XDG_CONFIG_HOME/zkflock.conf
 * and, for what that leaves open, /etc/zkflock.conf. FALSE with *exit_code after printing why a file
 * cannot be used. */
gboolean config_read (RawOptions *defaults, int *exit_code);

/* The verb that word was meant to be, or NULL. verbs ends with NULL. */
const char *hint_verb (const char *word, const char *const *verbs);
/* The long name that word ("--nonblok", or "--lable=x") was meant to be, or NULL. names: of char *,
 * without the hyphens. */
const char *hint_option (const char *word, GPtrArray *names);

/* Each is FALSE after printing why. */
gboolean options_parse_values (Options *options, const RawOptions *raw);
/* Of the command line only: ZKFLOCK_OPTIONS serves all verbs. */
gboolean options_check_verb (const Options *options, const RawOptions *raw);
/* Which options may be combined. */
gboolean options_check_combination (const Options *options, const RawOptions *raw);

#endif
