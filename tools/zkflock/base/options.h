/* The options of the command line, checked. */
#pragma once

#include "base/secure.h"

#include <glib.h>

typedef enum
{
  VERB_LOCK,
  VERB_WHO,
  VERB_TOP,
  VERB_TREE,
  VERB_REVOKE,
  VERB_DOCTOR,
  VERB_REAP,
  VERB_WAIT
} Verb;

typedef enum
{
  MODE_MUTEX,
  MODE_READ,
  MODE_WRITE,
  MODE_SEMAPHORE
} Mode;

typedef enum
{
  ON_SUSPEND_CONTINUE,
  ON_SUSPEND_PAUSE,
  ON_SUSPEND_KILL
} OnSuspend;

typedef struct
{
  gint64 interval_ms; /* between two refreshes */
  int iterations;     /* 0: no limit */
} TopOptions;

typedef struct
{
  Verb verb;
  char *hosts;
  gint64 session_timeout_ms;
  gint64 connect_timeout_ms;
  char *label;
  char *auth_file;
  Secure secure;
  gboolean acl_creator;
  gboolean compression;
  gboolean verbose;
  gboolean syslog; /* messages go there, too */
  gboolean json;
  gboolean only_paths; /* of tree */
  gboolean agreed;     /* of reap: the user has said yes */

  /* Of the verb lock. */
  Mode mode;
  int leases;
  gint64 wait_ms; /* also of wait and revoke, for the whole run; or CURATOR_WAIT_FOREVER */
  gboolean waits; /* revoke waits for the release: the command line has -w */
  int conflict_code;
  gint64 kill_after_ms;
  OnSuspend on_suspend;
  gint64 max_hold_ms; /* 0: no maximum */
  gint64 min_hold_ms;
  int status_fd; /* -1: none */
  gboolean revocable;
  gboolean hold;  /* without a command: until a signal, whatever standard input does */
  gboolean mixed; /* beside locks of another kind, which it does not exclude */
  char **command; /* NULL: hold without a command */

  TopOptions top;

  char **paths; /* at least one; several for a multi-lock or top */
} Options;

/* Returns NULL if the program must end with *exit_code; the reason has been printed. */
Options *options_parse (int argc, char **argv, int *exit_code);
/* NULL is allowed. */
void options_free (Options *options);

const char *mode_to_string (const Options *options);
