/* Runs the command under its lock, from the options to the exit code. The order matters: signals
 * are blocked and the helpers forked before the first thread exists. The client, the wait, the
 * command and the release follow. */
#include "lock.h"

#include "base/connect.h"
#include "base/json.h"
#include "base/notify.h"
#include "base/outcome.h"
#include "base/outlet.h"
#include "base/status.h"
#include "conflict.h"
#include "contest.h"
#include "hold.h"
#include "kinds.h"
#include "place.h"
#include "runner/signals.h"
#include "runner/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define RELEASE_MS      5000 /* bound of the release; a lock that is kept ends with the session */
#define CONNECT_POLL_MS 20
#define OUTAGE_MS       1000 /* a shorter outage is not worth a message */

typedef struct
{
  guint timer; /* the connection is lost, and may be back at once */
  gboolean told;
} Outage;

typedef struct
{
  gboolean is_done;
  gboolean unconfirmed; /* the release; valid once it is done */
} Closing;

typedef struct
{
  const Options *options;
  gboolean has_helpers;
  Launcher launcher;
  Guard guard;
  Cgroup cgroup;
  int cgroup_error; /* why there is none, or 0 */
  CuratorClient *client;
  GCancellable *cancellable;
  Contest *contest;
  Supervisor *supervisor; /* while a command runs, else NULL */
  Hold *hold;             /* while the lock is held without a command, else NULL */
  CuratorLease *lease;
  gint64 since_us; /* CLOCK_BOOTTIME, of the grant */
  GError *error;
  gboolean decided;      /* the contest has its result */
  GCancellable *looking; /* for other kinds of lock */
  gboolean has_looked;   /* once while it waits; again when the lock is granted */
  char *conflict;        /* a lock of another kind, or NULL */
  gboolean revoked;      /* before there was anything to end */
  int signal;            /* the signal that ended the wait, or 0 */
  gboolean unreachable;
  gboolean was_connected;
  Outage outage;
  Place *place;
  GMainLoop *loop;
  guint connect_timer;
  guint late_timer; /* of --wait and --max-hold, while a lock that is granted waits for a look */
  Probe *probe;     /* why there is no connection yet, or NULL */
  Closing closing;
} Run;

static gboolean
has_connected (CuratorClient *client)
{
  const CuratorConnectionState state = curator_client_get_connection_state (client);
  return state == CURATOR_CONNECTION_STATE_CONNECTED
         || state == CURATOR_CONNECTION_STATE_RECONNECTED;
}

static void
on_looked (const char *conflict, const GError *error, gpointer data)
{
  Run *run = data;

  if (run->decided && run->lease == NULL)
    return; /* the wait has failed in the meantime, and its error says why */
  run->conflict = g_strdup (conflict);
  if (run->decided || conflict != NULL) {
    run->error = error != NULL ? g_error_copy (error) : NULL;
    g_main_loop_quit (run->loop);
  }
}

/* What began before the grant says nothing about the time since. */
static void
look_for_other_kinds (Run *run)
{
  if (run->looking != NULL) {
    g_cancellable_cancel (run->looking);
    g_object_unref (run->looking);
  }
  run->looking = g_cancellable_new ();
  run->has_looked = TRUE;
  kinds_look (run->options, run->client, !run->decided, run->looking, on_looked, run);
}

static void
note_connected (Run *run)
{
  if (!run->was_connected) {
    run->was_connected = TRUE;
    print_verbose (run->options, "connected");
    status_event ("connected");
  }
}

static gint64
ends_us (const Run *run)
{
  const gint64 max_ms = run->options->max_hold_ms;
  return max_ms > 0 ? run->since_us + max_ms * 1000 : G_MAXINT64;
}

/* What is left of --wait, which has begun with zkflock. */
static gint64
wait_left_ms (const Run *run)
{
  const gint64 wait_ms = run->options->wait_ms;
  return wait_ms != CURATOR_WAIT_FOREVER ? wait_ms - outcome_elapsed_ms () : wait_ms;
}

static gboolean
on_late (gpointer data)
{
  Run *run = data;

  run->late_timer = 0;
  if (boottime_us () >= ends_us (run)) {
    status_set_verdict ("maximum");
    run->error = g_error_new (CURATOR_ERROR, CURATOR_ERROR_LOCK_LOST,
                              "held for its maximum of %g s before the command could start",
                              (double) run->options->max_hold_ms / 1000);
  } else {
    run->error = g_error_new_literal (
        CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER,
        "granted, but no server has told in time whether the path is used otherwise");
  }
  g_main_loop_quit (run->loop);
  return G_SOURCE_REMOVE;
}

static void
on_granted (CuratorLease *lease, const GError *error, gpointer data)
{
  Run *run = data;
  run->decided = TRUE;
  run->since_us = boottime_us ();
  run->lease = lease;
  if (lease != NULL)
    note_connected (run);
  run->error = error != NULL ? g_error_copy (error) : NULL;
  if (lease == NULL || run->options->mixed || g_cancellable_is_cancelled (run->cancellable)) {
    g_main_loop_quit (run->loop);
    return;
  }
  /* The command starts as soon as no other kind of lock is found. */
  const gint64 maximum_ms = run->options->max_hold_ms;
  const gint64 late_ms = outcome_answer_ms (run->options, maximum_ms > 0 ? maximum_ms : G_MAXINT);
  g_clear_pointer (&run->place, place_stop);
  look_for_other_kinds (run);
  run->late_timer = g_timeout_add ((guint) late_ms, on_late, run);
}

static void
on_revoked (gpointer data)
{
  Run *run = data;

  if (run->supervisor != NULL)
    supervisor_revoke (run->supervisor);
  else if (run->hold != NULL)
    hold_revoke (run->hold);
  run->revoked = TRUE;
}

static void
on_signal (int signal, gpointer data)
{
  Run *run = data;

  if (signal_stops (signal)) {
    run->signal = signal;
    g_main_loop_quit (run->loop);
  } else if (signal == SIGCHLD && run->has_helpers
             && (child_has_ended (run->launcher.pid) || child_has_ended (run->guard.pid))) {
    /* Without the launcher the command cannot be run, and without the guard not safely. */
    print_error (run->options->paths[0], "a helper process of zkflock was killed");
    run->signal = SIGKILL;
    g_main_loop_quit (run->loop);
  }
}

static gboolean
on_connect_timer (gpointer data)
{
  Run *run = data;

  /* The connection may be lost again already. */
  if (curator_client_get_session_id (run->client) != 0) {
    note_connected (run);
    if (!run->options->mixed && !run->has_looked)
      look_for_other_kinds (run);
    run->connect_timer = 0;
    return G_SOURCE_REMOVE;
  }
  if (!connect_is_over (run->options, run->client, &run->probe))
    return G_SOURCE_CONTINUE;
  run->unreachable = TRUE;
  run->connect_timer = 0;
  g_main_loop_quit (run->loop);
  return G_SOURCE_REMOVE;
}

static gboolean
on_outage (gpointer data)
{
  Run *run = data;
  g_autoptr (GError) cause = curator_client_dup_connection_error (run->client);

  run->outage.timer = 0;
  run->outage.told = TRUE;
  print_error (run->options->paths[0], "no server answers any more%s%s; still waiting",
               cause != NULL ? ": " : "", cause != NULL ? cause->message : "");
  notify_status ("waiting: no server answers");
  place_forget (run->place);
  return G_SOURCE_REMOVE;
}

/* While it waits. What was known about the queue is not true any more. */
static void
on_state (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
  Run *run = data;

  if (state == CURATOR_CONNECTION_STATE_SUSPENDED || state == CURATOR_CONNECTION_STATE_LOST) {
    if (run->outage.timer == 0 && !run->outage.told)
      run->outage.timer = g_timeout_add (OUTAGE_MS, on_outage, run);
    return;
  }
  g_clear_handle_id (&run->outage.timer, g_source_remove);
  if (run->outage.told) {
    run->outage.told = FALSE;
    print_error (run->options->paths[0], "a server answers again; still waiting");
    notify_status ("waiting");
  }
}

/* Iterates the main loop until the contest has a result, a signal comes or no server is found. */
static void
iterate_until_decided (Run *run)
{
  print_verbose (run->options, "waiting for the lock (%s)", mode_to_string (run->options));
  notify_status ("connecting");
  GString *event = status_begin ("waiting");
  json_begin (event, "paths", '[');
  for (char **path = run->options->paths; *path != NULL; path++)
    json_string (event, NULL, *path, -1);
  json_end (event, ']');
  json_string (event, "mode", mode_to_string (run->options), -1);
  status_send (event);
  signals_set_handler (on_signal, run);
  on_signal (SIGCHLD, run);
  run->connect_timer = g_timeout_add (CONNECT_POLL_MS, on_connect_timer, run);
  run->place = place_start (run->options, run->client);
  const guint listener = curator_client_add_state_listener (run->client, on_state, run, NULL);
  if (run->signal == 0)
    g_main_loop_run (run->loop);
  curator_client_remove_state_listener (run->client, listener);
  g_clear_handle_id (&run->connect_timer, g_source_remove);
  g_clear_handle_id (&run->late_timer, g_source_remove);
  g_clear_handle_id (&run->outage.timer, g_source_remove);
  g_clear_pointer (&run->place, place_stop);
  signals_set_handler (NULL, NULL);
}

/* The exit code of a wait that ended without a lease; reports why. */
static int
report_failed_wait (Run *run)
{
  g_cancellable_cancel (run->cancellable);
  g_cancellable_cancel (run->looking);
  if (run->signal != 0) {
    print_verbose (run->options, "signal %d: giving up the place in the queue", run->signal);
    return EXIT_CODE_SIGNAL + run->signal;
  }
  if (run->conflict != NULL) {
    print_error (run->options->paths[0], "%s", run->conflict);
    return EXIT_CODE_USAGE;
  }
  /* Without a connection, a timeout does not prove that there is another holder. */
  if (run->unreachable || (!has_connected (run->client) && is_no_answer (run->error)))
    return connect_report_failure (run->options, run->client, run->probe);
  const int code = fail_with (run->options, run->error);
  if (g_error_matches (run->error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    conflict_report (run->options, run->client);
  return code;
}

/* Returns TRUE with run->lease once the lock is held. Otherwise FALSE with *exit_code, which may be
 * 0: -E sets the code of a conflict. */
static gboolean
wait_for_lock (Run *run, int *exit_code)
{
  g_autoptr (GError) error = NULL;

  run->cancellable = g_cancellable_new ();
  run->contest = contest_start (run->options, run->client, wait_left_ms (run), run->cancellable,
                                on_granted, on_revoked, run, &error);
  if (run->contest == NULL) {
    *exit_code = fail_with (run->options, error);
    return FALSE;
  }
  /* Without a control group, the process group alone is killed. Where the kernel has not forked the
   * launcher into it, it takes some milliseconds to move a process, so that is done while the
   * servers answer. */
  if (run->launcher.is_in_cgroup
      || (run->cgroup.fd >= 0 && cgroup_add (&run->cgroup, run->launcher.pid)))
    print_verbose (run->options, "the command has a control group of its own");
  else if (run->options->command != NULL)
    print_verbose (run->options,
                   "no control group (%s): only the command's process group is killed",
                   g_strerror (run->cgroup_error != 0 ? run->cgroup_error : errno));
  iterate_until_decided (run);
  if (run->signal == 0 && run->lease != NULL && run->conflict == NULL && run->error == NULL)
    return TRUE;
  *exit_code = report_failed_wait (run);
  return FALSE;
}

/* NULL-terminated, for launcher_go(). */
static char **
make_environment (Run *run)
{
  const char *around = g_getenv ("CURATOR_LOCK_SESSIONS");
  const gint64 session = curator_lease_get_session_id (run->lease);
  char *const entries[] = {
    g_strdup_printf ("CURATOR_LOCK_PATH=%s", contest_get_path (run->contest)),
    g_strdup_printf ("CURATOR_LOCK_NODE=%s", curator_lease_get_node_path (run->lease)),
    g_strdup_printf ("CURATOR_LOCK_TOKEN=%" G_GUINT64_FORMAT,
                     curator_lease_get_fencing_token (run->lease)),
    g_strdup_printf ("CURATOR_LOCK_SESSION=0x%" G_GINT64_MODIFIER "x", session),
    g_strdup_printf ("CURATOR_LOCK_SESSIONS=0x%" G_GINT64_MODIFIER "x%s%s", session,
                     around != NULL ? " " : "", around != NULL ? around : ""),
    g_strdup_printf ("CURATOR_LOCK_MODE=%s", mode_to_string (run->options)),
    /* Unset: only zkflock may notify the service manager. */
    g_strdup ("NOTIFY_SOCKET"),
    g_strdup ("WATCHDOG_USEC"),
    g_strdup ("WATCHDOG_PID"),
    NULL,
  };
  return g_memdup (entries, sizeof entries);
}

static int
run_command (Run *run, gboolean *lost)
{
  g_auto (GStrv) environment = make_environment (run);
  const SupervisorJob job = { .options = run->options,
                              .path = run->options->paths[0],
                              .launcher = &run->launcher,
                              .guard = &run->guard,
                              .cgroup = &run->cgroup,
                              .lease = run->lease,
                              .session_timeout_ms =
                                  curator_client_get_session_timeout_ms (run->client),
                              .ends_us = ends_us (run),
                              .environment = (const char *const *) environment };
  SupervisorEnd end;
  run->supervisor = supervisor_new (&job);
  if (run->supervisor == NULL)
    return report_shortage (run->options->paths[0], "cannot start the command", errno);
  run->has_helpers = FALSE;
  const int code = supervisor_run (run->supervisor, &end);
  g_clear_pointer (&run->supervisor, supervisor_free);
  *lost = end.lost;
  if (!end.lost && end.started && run->options->min_hold_ms > 0) {
    guard_wait (&run->guard);
    *lost = !linger (run->options, run->lease, run->since_us + run->options->min_hold_ms * 1000);
  }
  return code;
}

static int
use_lock (Run *run, gboolean *lost)
{
  /* The hold may have ended between the grant and now. */
  if (curator_lease_get_remaining_ms (run->lease) == 0) {
    *lost = TRUE;
    print_error (run->options->paths[0], "lock lost before the command was started");
    return EXIT_CODE_LOST;
  }
  const char *node = curator_lease_get_node_path (run->lease);
  const guint64 token = curator_lease_get_fencing_token (run->lease);
  print_verbose (run->options, "granted, node %s, token %" G_GUINT64_FORMAT, node, token);
  GString *event = status_begin ("granted");
  json_string (event, "path", contest_get_path (run->contest), -1);
  json_string (event, "node", node, -1);
  json_int (event, "token", (gint64) token);
  json_string (event, "mode", mode_to_string (run->options), -1);
  status_send (event);
  notify_send ("READY=1\nSTATUS=holding the lock");
  if (run->revoked) {
    print_verbose (run->options, "another client has asked for the lock already");
    status_set_verdict ("revoked");
    return run->options->command == NULL ? 0 : EXIT_CODE_SIGNAL + SIGTERM;
  }
  if (run->options->command == NULL)
    return hold_run (run->options, run->lease, ends_us (run), &run->hold, lost);
  return run_command (run, lost);
}

static gboolean
on_closed (gpointer data)
{
  Run *run = data;
  run->closing.is_done = TRUE;
  return G_SOURCE_REMOVE;
}

/* Both wait for the server. */
static void *
release_and_close (void *data)
{
  Run *run = data;
  g_autoptr (GError) error = NULL;

  if (run->lease != NULL
      && !curator_lease_release (run->lease, CURATOR_WAIT_DEFAULT, NULL, &error)) {
    print_verbose (run->options, "%s", error->message);
    run->closing.unconfirmed = TRUE;
  }
  curator_client_close (run->client);
  g_idle_add_full (G_PRIORITY_DEFAULT, on_closed, run, NULL);
  return NULL;
}

static gboolean
on_bound_passed (gpointer data)
{
  *(gboolean *) data = TRUE;
  return G_SOURCE_CONTINUE; /* removed by close_within(), which may have the other result already */
}

/* Returns FALSE if the client is still busy; what is left then ends with the session. */
static gboolean
close_within (Run *run, gint64 bound_ms)
{
  gboolean over = FALSE;
  pthread_t thread;

  signals_set_handler (signals_note_stop, &over);
  const guint timer = g_timeout_add ((guint) bound_ms, on_bound_passed, &over);
  while (!over && kinds_is_looking ())
    g_main_context_iteration (NULL, TRUE);
  /* On a thread of its own, so that this one can bound its time; GLib's way to start one ends the
   * process where a filter refuses threads. */
  if (pthread_create (&thread, NULL, release_and_close, run) == 0)
    pthread_detach (thread);
  else
    release_and_close (run);
  while (!over && !run->closing.is_done)
    g_main_context_iteration (NULL, TRUE);
  signals_set_handler (NULL, NULL);
  g_source_remove (timer);
  if (run->closing.is_done)
    return TRUE;
  if (bound_ms > CLOSE_MS) {
    print_error (run->options->paths[0],
                 "release not confirmed: the lock is freed when the session ends");
  }
  return FALSE;
}

static void
dismiss_helpers (Run *run)
{
  if (run->has_helpers) {
    launcher_dismiss (&run->launcher);
    guard_dismiss (&run->guard);
    guard_wait (&run->guard);
    run->has_helpers = FALSE;
  }
}

/* SUSPECT, and HELD again. The loss is reported once, at the end. */
static void
on_lease_state (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  const CuratorLeaseState now = curator_lease_get_state (lease);
  if (now != CURATOR_LEASE_STATE_LOST)
    status_note_hold (now == CURATOR_LEASE_STATE_SUSPECT, curator_lease_get_remaining_ms (lease));
}

static int
run_with_client (Run *run)
{
  gboolean lost = FALSE;
  int code = EXIT_CODE_UNREACHABLE;
  const gboolean granted = wait_for_lock (run, &code);

  if (granted) {
    const guint listener = curator_lease_add_listener (run->lease, on_lease_state, NULL, NULL);
    code = use_lock (run, &lost);
    curator_lease_remove_listener (run->lease, listener);
  }
  dismiss_helpers (run);
  const gint64 bound_ms = granted && !lost ? MIN (run->options->session_timeout_ms, RELEASE_MS)
                                           : outcome_close_ms (run->options);
  notify_send ("STOPPING=1");
  if (!run->was_connected && curator_client_get_session_id (run->client) == 0) {
    /* There never was a session, so there is nothing to release. */
    status_finish (code);
    _exit (code);
  }
  if (granted && !lost)
    print_verbose (run->options, "releasing; this may take up to %d s", (int) (bound_ms / 1000));
  const gboolean closed = close_within (run, bound_ms);
  /* Ends while the servers answer. */
  guard_wait (&run->guard);
  if (granted) {
    GString *event = status_begin (lost ? "lost" : "released");
    if (!lost)
      json_bool (event, "confirmed", closed && !run->closing.unconfirmed);
    status_send (event);
  }
  if (!closed) {
    status_finish (code);
    /* The library's threads still use the memory that a normal exit would free. */
    _exit (code);
  }
  if (run->contest != NULL && run->decided)
    contest_free (run->contest);
  g_clear_pointer (&run->lease, curator_lease_unref);
  return code;
}

/* FALSE with errno, and nothing is left of them. */
static gboolean
start_helpers (Run *run)
{
  run->cgroup_error = cgroup_create (&run->cgroup) ? 0 : errno;
  const gboolean has_launcher =
      launcher_start (&run->launcher, run->options->command, &run->cgroup);
  run->has_helpers = has_launcher && guard_start (&run->guard, run->launcher.pid, &run->cgroup);
  if (run->has_helpers) {
    signals_keep_children (run->launcher.pid, run->guard.pid);
    return TRUE;
  }
  const int error = errno;
  if (has_launcher)
    launcher_dismiss (&run->launcher);
  cgroup_remove (&run->cgroup);
  errno = error;
  return FALSE;
}

/* Nothing is held yet, and the message may have to wait for its reader: a signal ends that. */
static int
report_no_start (Run *run, const char *what)
{
  const int error = errno;

  dismiss_helpers (run);
  signals_restore ();
  return report_shortage (run->options->paths[0], what, error);
}

/* The helpers are forked before the first thread. Nothing is asked of a server before all is
 * there. */
static int
start_and_run (Run *run)
{
  const Options *options = run->options;
  int code = EXIT_CODE_UNREACHABLE;

  notify_open ();
  hold_open (options);
  if (options->command != NULL && !start_helpers (run))
    return report_no_start (run, "cannot start a helper process");
  run->loop = g_main_loop_new (NULL, FALSE);
  if (!outlets_start () || !signals_start ())
    return report_no_start (run, "cannot start");
  notify_watchdog ();
  run->client = connect_start (options, &code);
  if (run->client == NULL) {
    dismiss_helpers (run);
    return code;
  }
  code = run_with_client (run);
  curator_client_unref (run->client);
  return code;
}

int
lock_and_run (const Options *options)
{
  Run run = { .options = options, .cgroup = { .parent_fd = -1, .fd = -1 } };

  /* Opens those of the descriptors 0 to 2 that are closed, so that no other file takes their
   * number. */
  int fd;
  do {
    fd = open ("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2)
    close (fd);
  signals_block ();
  const int code = start_and_run (&run);
  cgroup_close (&run.cgroup);
  probe_free (run.probe);
  g_clear_object (&run.cancellable);
  g_clear_object (&run.looking);
  g_free (run.conflict);
  g_clear_error (&run.error);
  g_clear_pointer (&run.loop, g_main_loop_unref);
  return code;
}
