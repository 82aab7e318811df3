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

/* Each is FALSE after printing why. */
gboolean options_parse_values (Options *options, const RawOptions *raw);
/* Of the command line only: ZKFLOCK_OPTIONS serves all verbs. */
gboolean options_check_verb (const Options *options, const RawOptions *raw);
/* Which options may be combined. */
gboolean options_check_combination (const Options *options, const RawOptions *raw);

#endif
