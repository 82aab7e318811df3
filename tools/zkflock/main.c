/* zkflock: flock(1) for a ZooKeeper ensemble. */
#include "base/connect.h"
#include "base/needs.h"
#include "base/options.h"
#include "base/outcome.h"
#include "base/outlet.h"
#include "base/status.h"
#include "hold.h"
#include "lock.h"
#include "runner/terminal.h"
#include "runner/title.h"
#include "views/views.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

static gboolean
open_status (const Options *options)
{
  if (options->status_fd < 0 || status_open (options->status_fd))
    return TRUE;
  print_error (NULL, "--status-fd: cannot write to descriptor %d: %s", options->status_fd,
               g_strerror (errno));
  return FALSE;
}

/* *is_busy: becomes whether a thread still works for a client. */
static int
run_verb (const Options *options, gboolean *is_busy)
{
  static int (*const views[]) (const Options *, CuratorClient *) = {
    [VERB_WHO] = who_run,       [VERB_TOP] = top_run,       [VERB_TREE] = tree_run,
    [VERB_REVOKE] = revoke_run, [VERB_DOCTOR] = doctor_run, [VERB_REAP] = reap_run,
    [VERB_WAIT] = wait_run,
  };
  int code = 0;

  if (options->verb == VERB_LOCK)
    return lock_and_run (options);
  /* Both have a deadline, which no reader of messages moves. Without a thread they are written. */
  if (options->verb == VERB_WAIT || options->verb == VERB_REVOKE)
    (void) outlets_start ();
  CuratorClient *client = connect_and_wait (options, &code);
  if (client == NULL)
    return code;
  code = views[options->verb](options, client);
  *is_busy = !connect_close (options, client);
  if (!*is_busy)
    curator_client_unref (client);
  return code;
}

int
main (int argc, char **argv)
{
  int code;
  gboolean is_busy = FALSE;

  title_init (argc, argv);
  setlocale (LC_ALL, "");
  Options *options = options_parse (argc, argv, &code);
  if (options != NULL) {
    outcome_start_clock ();
    if (options->syslog)
      message_use_syslog ();
    /* top draws on the whole screen. */
    choose_logs (options->verbose            ? LOGS_ALL
                 : options->verb == VERB_TOP ? LOGS_CRITICAL
                                             : LOGS_WARNINGS);
    code = !needs_are_met (options->paths[0]) ? EXIT_CODE_SHORTAGE
           : open_status (options)            ? run_verb (options, &is_busy)
                                              : EXIT_CODE_USAGE;
  }
  outlets_finish ();
  code = hold_check_token (code);
  const gboolean is_view = options == NULL || options->verb != VERB_LOCK;
  /* A full disk shows up at the last write. */
  if (is_view && (fflush (stdout) != 0 || ferror (stdout))) {
    print_error (NULL, "cannot write to standard output: %s", g_strerror (errno));
    code = EXIT_CODE_OUTPUT;
  }
  status_finish (code);
  options_free (options);
  terminal_follow_signal ();
  if (is_busy || probe_is_running ()) {
    fflush (stdout);
    _exit (code);
  }
  return code;
}
