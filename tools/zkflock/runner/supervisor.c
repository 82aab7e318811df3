/* Supervises the command, on the main thread only.
 *
 * NOTES: the lease's remaining time is read anew at each check and never stored. A timer on a clock
 * that counts suspended time triggers the next check. The group leader stays unreaped until its
 * group is dead, so that the kernel cannot reuse the group's id; where /proc does not help, until
 * the leader is dead.
 */
#include "runner/supervisor.h"

#include "base/json.h"
#include "base/moments.h"
#include "base/outcome.h"
#include "base/status.h"
#include "channel/channel_error.h"
#include "runner/group.h"
#include "runner/signals.h"
#include "runner/terminal.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUP_POLL_MS 10
#define STOP_CHECK_MS 200
/* A busy machine may take so long to end a process that was killed. Counted in looks, of which a
 * machine that stands still takes none. */
#define KILL_LOOKS 200

struct _Supervisor
{
  const SupervisorJob *job;
  GMainLoop *loop;
  pid_t group;
  int timer_fd;
  gint64 most_left_ms; /* of the hold, ever */
  Moments moments;
  Moments limit; /* before the maximum of the hold */
  Terminal terminal;

  gboolean running; /* supervise() iterates the main loop */
  gboolean ended;   /* the group leader has exited */
  siginfo_t end;
  gboolean group_dead;
  gint64 kill_at_us; /* CLOCK_BOOTTIME; 0: not set */
  gboolean guard_ended;
  int n_terms;      /* SIGTERMs that zkflock received */
  gboolean paused;  /* by zkflock, while the hold is in doubt */
  gboolean stopped; /* by the terminal or another process */
  guint stop_timer;
  gboolean asked_for_loss; /* TERM was sent, and the hold is still in danger */
  gint64 obeys_until_us;   /* CLOCK_BOOTTIME: an end until then is the answer to that TERM */
  gboolean obeyed;         /* whatever its exit code is */
  gboolean killed_for_loss;
  gboolean asked_for_maximum; /* TERM was sent: the hold has nearly lasted its maximum */
  gboolean killed_for_maximum;
  int n_looks;             /* at the command by the timer, since the first KILL; 0 before */
  gboolean signal_refused; /* no process of the group may be signalled; reported */
  gboolean named_leftovers;
  gboolean doubted; /* TERM was sent by --on-suspend=kill */
  char *survivors;  /* what could not be killed, or NULL */
  gint64 left_at_death_ms;
};

static void
kill_group (Supervisor *self, int signal)
{
  if (signal == SIGKILL) {
    if (self->n_looks == 0)
      status_event ("kill");
    self->n_looks = MAX (self->n_looks, 1);
    cgroup_kill (self->job->cgroup);
  } else if (signal == SIGTERM) {
    cgroup_signal_others (self->job->cgroup, self->group, signal);
  }
  if (kill (-self->group, signal) == 0 || errno != EPERM || self->signal_refused
      || (signal == SIGKILL && self->job->cgroup->fd >= 0))
    return;
  g_autofree char *running = group_describe (self->group);
  if (*running == '\0')
    return;
  self->signal_refused = self->job->cgroup->fd < 0;
  print_error (self->job->path, "signal %d cannot be sent to the command: %s: %s", signal,
               g_strerror (EPERM), running);
}

static gboolean
is_alive (Supervisor *self)
{
  return group_is_alive (self->group, self->ended) || cgroup_is_alive (self->job->cgroup);
}

/* A control group stops processes of other users too. */
static void
pause_group (Supervisor *self, gboolean pause)
{
  if (self->job->cgroup->fd >= 0)
    cgroup_freeze (self->job->cgroup, pause);
  else
    kill_group (self, pause ? SIGSTOP : SIGCONT);
  self->paused = pause;
}

static void
note_left (Supervisor *self, gint64 left_ms)
{
  self->most_left_ms = MAX (self->most_left_ms, left_ms);
  self->moments = moments_of (self->job->session_timeout_ms, self->job->options->kill_after_ms,
                              self->most_left_ms);
}

static gint64
remaining_ms (Supervisor *self)
{
  return curator_lease_get_state (self->job->lease) == CURATOR_LEASE_STATE_LOST
             ? 0
             : curator_lease_get_remaining_ms (self->job->lease);
}

/* Until the maximum of the hold, which no answer of a server moves. */
static gint64
maximum_left_ms (Supervisor *self)
{
  const gint64 ends_us = self->job->ends_us;
  return ends_us == G_MAXINT64 ? G_MAXINT64 : MAX ((ends_us - boottime_us ()) / 1000, 0);
}

/* When the guard kills the command. */
static gint64
guard_deadline_us (Supervisor *self, gint64 left_ms)
{
  const gint64 by_hold_us = boottime_us () + MAX (left_ms - self->moments.kill / 2, 0) * 1000;
  return MIN (by_hold_us, self->job->ends_us - self->limit.kill / 2 * 1000);
}

/* A stopped group acts on SIGTERM only once it continues. After KILL there is nobody to ask. */
static void
ask_to_end (Supervisor *self, const char *reason)
{
  if (self->n_looks > 0)
    return;
  GString *event = status_begin ("term");

  json_string (event, "reason", reason, -1);
  status_send (event);
  kill_group (self, SIGTERM);
  if (self->paused)
    pause_group (self, FALSE);
  kill_group (self, SIGCONT);
}

static void
react_to_doubt (Supervisor *self, gint64 left_ms)
{
  const OnSuspend what = self->job->options->on_suspend;
  const CuratorLeaseState state = curator_lease_get_state (self->job->lease);
  const gboolean in_doubt = state == CURATOR_LEASE_STATE_SUSPECT || left_ms <= self->moments.doubt;

  if (state != CURATOR_LEASE_STATE_LOST)
    status_note_hold (in_doubt, left_ms);
  if (in_doubt && what == ON_SUSPEND_PAUSE && !self->paused && !self->asked_for_loss) {
    print_verbose (self->job->options, "the hold is in doubt: the command is stopped");
    pause_group (self, TRUE);
  } else if (!in_doubt && state == CURATOR_LEASE_STATE_HELD && self->paused) {
    print_verbose (self->job->options, "the hold is proven again: the command continues");
    pause_group (self, FALSE);
  } else if (in_doubt && what == ON_SUSPEND_KILL && self->kill_at_us == 0) {
    print_verbose (self->job->options, "the hold is in doubt: TERM to the command");
    self->doubted = TRUE;
    self->kill_at_us = boottime_us () + (self->moments.term - self->moments.kill) * 1000;
    ask_to_end (self, "doubt");
  }
}

/* The hold is as good as ever, but is over when it has lasted its maximum. */
static void
check_maximum (Supervisor *self, gint64 left_ms)
{
  if (left_ms <= self->limit.term && !self->asked_for_maximum && !self->ended) {
    print_verbose (self->job->options,
                   "the hold has nearly lasted its maximum: TERM to the command");
    self->asked_for_maximum = TRUE;
    ask_to_end (self, "maximum");
  }
  if (left_ms <= self->limit.kill) {
    self->killed_for_maximum = TRUE;
    kill_group (self, SIGKILL);
  }
}

static void
check_deadline (Supervisor *self, gint64 left_ms)
{
  if (left_ms <= self->moments.kill) {
    if (!self->killed_for_loss)
      print_verbose (self->job->options, "the hold is about to end: KILL to the command");
    self->killed_for_loss = TRUE;
    kill_group (self, SIGKILL);
  } else if (self->doubted && !self->ended) {
    if (boottime_us () >= self->kill_at_us)
      kill_group (self, SIGKILL);
  } else if (left_ms <= self->moments.term) {
    if (!self->asked_for_loss) {
      print_verbose (self->job->options,
                     "the hold ends in %d ms unless the server answers: TERM to the command",
                     (int) left_ms);
      self->asked_for_loss = TRUE;
      self->obeys_until_us = boottime_us () + (self->moments.term - self->moments.kill) * 1000;
      ask_to_end (self, "loss");
    }
  } else if (self->asked_for_loss && !self->ended) {
    print_verbose (self->job->options, "the hold is proven again: no KILL");
    self->asked_for_loss = FALSE;
  }
}

/* The leader has exited. End what it left in its group, which would run without the lock. The lock
 * is not let go under a process that runs, also if it cannot be killed. */
static void
clear_group (Supervisor *self)
{
  if (!is_alive (self)) {
    self->group_dead = TRUE;
    self->left_at_death_ms = remaining_ms (self);
    g_main_loop_quit (self->loop);
    return;
  }
  if (self->kill_at_us == 0) {
    print_verbose (self->job->options,
                   "the command has exited and left processes in its group: TERM to them");
    self->kill_at_us = boottime_us () + (self->moments.term - self->moments.kill) * 1000;
    ask_to_end (self, "leftovers");
  } else if (boottime_us () >= self->kill_at_us || self->asked_for_loss || self->killed_for_loss) {
    kill_group (self, SIGKILL);
    if (self->named_leftovers || self->n_looks < KILL_LOOKS)
      return;
    self->named_leftovers = TRUE;
    g_autofree char *running = group_describe (self->group);
    print_error (self->job->path,
                 "the command has ended, but the lock is held until these do, which cannot be "
                 "killed: %s",
                 *running != '\0' ? running : "processes of its control group");
  }
}

/* Milliseconds until the next check is due. */
static gint64
next_check_ms (Supervisor *self, gint64 left_ms, gint64 limit_ms)
{
  if (self->ended || self->killed_for_loss || self->killed_for_maximum)
    return GROUP_POLL_MS;
  gint64 wait_ms = CLAMP (self->job->session_timeout_ms / 12, 20, 1000);
  const gint64 thresholds[] = { self->moments.kill, self->moments.term, self->moments.doubt };
  for (gsize i = 0; i < G_N_ELEMENTS (thresholds); i++)
    if (left_ms > thresholds[i])
      wait_ms = MIN (wait_ms, left_ms - thresholds[i]);
  if (limit_ms != G_MAXINT64) {
    const gint64 next = limit_ms > self->limit.term ? self->limit.term : self->limit.kill;
    wait_ms = MIN (wait_ms, limit_ms - next);
  }
  if (self->kill_at_us != 0)
    wait_ms = MIN (wait_ms, (self->kill_at_us - boottime_us ()) / 1000);
  return MAX (wait_ms, self->doubted ? GROUP_POLL_MS : 1);
}

/* The hold has ended and something of the command runs on: nothing more can be done. */
static gboolean
has_survived (Supervisor *self, gint64 left_ms)
{
  const gboolean was_given_time = self->signal_refused || self->n_looks >= KILL_LOOKS;

  if ((!self->killed_for_loss && !self->killed_for_maximum) || left_ms > 0 || !was_given_time
      || !is_alive (self))
    return FALSE;
  self->survivors = group_describe (self->group);
  if (*self->survivors == '\0') {
    g_free (self->survivors);
    self->survivors = g_strdup ("a process that has left its process group");
  }
  g_main_loop_quit (self->loop);
  return TRUE;
}

static void
check_lease (Supervisor *self)
{
  const gint64 left_ms = remaining_ms (self);
  const gint64 limit_ms = maximum_left_ms (self);

  if (self->group_dead || self->survivors != NULL || has_survived (self, MIN (left_ms, limit_ms)))
    return;
  note_left (self, left_ms);
  guard_set_deadline (self->job->guard, guard_deadline_us (self, left_ms));
  check_maximum (self, limit_ms);
  if (!self->ended && !self->killed_for_loss)
    react_to_doubt (self, left_ms);
  if (!self->killed_for_loss)
    check_deadline (self, left_ms);
  if (self->ended)
    clear_group (self);
  const gint64 ms = next_check_ms (self, left_ms, limit_ms);
  const struct itimerspec when = { .it_value = { .tv_sec = (time_t) (ms / 1000),
                                                 .tv_nsec = (long) (ms % 1000) * 1000000 } };
  timerfd_settime (self->timer_fd, 0, &when, NULL);
}

static void
continue_command (Supervisor *self)
{
  if (self->killed_for_loss || self->ended)
    return;
  if (self->stopped)
    terminal_give (&self->terminal);
  self->stopped = FALSE;
  if (!self->paused)
    kill_group (self, SIGCONT);
}

/* The kernel does not stop an orphaned process group, so no SIGCONT would ever follow: continue the
 * command. */
static gboolean
on_not_stopped (gpointer data)
{
  Supervisor *self = data;
  self->stop_timer = 0;
  if (self->stopped)
    continue_command (self);
  return G_SOURCE_REMOVE;
}

/* Ctrl-Z stopped the command, or the command needs the terminal. The shell sees a stop only if
 * zkflock's own group stops too and the shell gets its terminal back. Nothing renews the lease
 * during the stop; the guard enforces the deadline. A plain SIGSTOP concerns the command alone. */
static void
follow_stop (Supervisor *self, int signal)
{
  if (self->terminal.fd < 0 || signal == SIGSTOP)
    return;
  if ((signal == SIGTTIN || signal == SIGTTOU) && terminal_give (&self->terminal)) {
    kill_group (self, SIGCONT);
    return;
  }
  self->stopped = TRUE;
  if (self->stop_timer == 0)
    self->stop_timer = g_timeout_add (STOP_CHECK_MS, on_not_stopped, self);
  terminal_take_back (&self->terminal);
  kill (0, SIGTSTP);
}

static void
on_child (Supervisor *self)
{
  siginfo_t info = { 0 };

  /* The guard's end has killed the process group. Without one the rest is not safe either. */
  self->guard_ended = self->guard_ended || child_has_ended (self->job->guard->pid);
  if (self->guard_ended)
    kill_group (self, SIGKILL);
  if (waitid (P_PID, (id_t) self->group, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0)
    follow_stop (self, info.si_status);
  info.si_pid = 0;
  if (!self->ended && waitid (P_PID, (id_t) self->group, &info, WEXITED | WNOHANG | WNOWAIT) == 0
      && info.si_pid != 0) {
    self->ended = TRUE;
    self->end = info;
    self->kill_at_us = 0;
    self->obeyed =
        boottime_us () < self->obeys_until_us
        || (self->obeys_until_us != 0 && info.si_code == CLD_KILLED && info.si_status == SIGTERM);
    check_lease (self);
  }
}

static void
on_signal (int signal, gpointer data)
{
  Supervisor *self = data;

  if (signal == SIGCHLD) {
    on_child (self);
    return;
  }
  if (signal == SIGCONT) {
    /* Much time may have passed: a command whose lock is lost must not run again. */
    check_lease (self);
    continue_command (self);
    return;
  }
  print_verbose (self->job->options, "signal %d goes to the command", signal);
  if (signal == SIGTERM && ++self->n_terms > 1)
    signal = SIGKILL;
  kill_group (self, signal);
}

static gboolean
on_timer (int fd, GIOCondition condition, gpointer data)
{
  Supervisor *self = data;
  guint64 times;
  if (read (fd, &times, sizeof times) == (gssize) sizeof times) {
    self->n_looks += self->n_looks > 0;
    check_lease (self);
  }
  return G_SOURCE_CONTINUE;
}

static void
on_lease (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  check_lease (data);
}

void
supervisor_revoke (Supervisor *self)
{
  if (self->running && !self->ended) {
    print_verbose (self->job->options, "another client asks for the lock: TERM to the command");
    ask_to_end (self, "revoked");
  }
}

static int
report_loss (Supervisor *self)
{
  const char *path = self->job->path;

  if (self->left_at_death_ms > 0) {
    print_error (path,
                 "lock lost: the command was dead %d ms before anybody else could hold the lock",
                 (int) self->left_at_death_ms);
  } else if (guard_has_killed (self->job->guard) || self->guard_ended) {
    print_error (path, "lock lost: the command was killed in time while zkflock was stopped");
  } else {
    print_error (path, "lock lost: the hold ended before the command did");
  }
  return EXIT_CODE_LOST;
}

static int
exit_code (Supervisor *self, gboolean *lost)
{
  const gboolean by_signal = self->end.si_code != CLD_EXITED;

  if (self->survivors != NULL) {
    *lost = TRUE;
    print_error (self->job->path, "%s, and the command could not be killed; running: %s",
                 self->killed_for_maximum ? "held for its maximum" : "lock lost", self->survivors);
    return EXIT_CODE_NOT_KILLED;
  }
  /* The lock is still held then, and is released like any other. */
  if (self->left_at_death_ms > 0
      && (self->asked_for_maximum
          || (guard_has_killed (self->job->guard) && maximum_left_ms (self) == 0))) {
    print_error (self->job->path, "held for its maximum of %g s: the command was ended",
                 (double) self->job->options->max_hold_ms / 1000);
    status_set_verdict ("maximum");
    return EXIT_CODE_LOST;
  }
  *lost = self->killed_for_loss || self->asked_for_loss || guard_has_killed (self->job->guard)
          || (self->doubted && self->left_at_death_ms == 0);
  if (*lost)
    return report_loss (self);
  if (self->doubted || self->obeyed) {
    print_error (self->job->path, "the hold was in doubt: the command was ended; the lock was not "
                                  "lost");
    status_set_verdict ("doubt");
    return EXIT_CODE_LOST;
  }
  if (self->guard_ended && by_signal && self->end.si_status == SIGKILL) {
    print_error (self->job->path,
                 "a helper process of zkflock was killed, and the command with it");
    status_set_verdict ("helper killed");
    return EXIT_CODE_SIGNAL + SIGKILL;
  }
  status_set_verdict ("command");
  return by_signal ? EXIT_CODE_SIGNAL + self->end.si_status : self->end.si_status;
}

static int
report_exec_failure (const SupervisorJob *job, int error)
{
  g_autofree char *command = curator_escape_name (job->options->command[0], -1);
  g_autofree char *what = g_strconcat ("cannot run ", command, NULL);

  if (curator_is_shortage (error))
    return report_shortage (job->path, what, error);
  print_error (job->path, "%s: %s", what, g_strerror (error));
  return error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
}

static void
supervise (Supervisor *self)
{
  GSource *source = g_unix_fd_source_new (self->timer_fd, G_IO_IN);
  g_source_set_priority (source, G_PRIORITY_HIGH);
  g_source_set_callback (source, (GSourceFunc) G_CALLBACK (on_timer), self, NULL);
  g_source_attach (source, NULL);
  const guint listener = curator_lease_add_listener (self->job->lease, on_lease, self, NULL);
  self->running = TRUE;
  signals_set_handler (on_signal, self);
  on_child (self); /* the command may have exited already */
  check_lease (self);
  if (!self->group_dead && self->survivors == NULL)
    g_main_loop_run (self->loop);
  signals_set_handler (NULL, NULL);
  self->running = FALSE;
  if (self->stop_timer != 0)
    g_source_remove (self->stop_timer);
  curator_lease_remove_listener (self->job->lease, listener);
  g_source_destroy (source);
  g_source_unref (source);
}

Supervisor *
supervisor_new (const SupervisorJob *job)
{
  const int timer_fd = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

  if (timer_fd < 0)
    return NULL;
  Supervisor *self = g_new0 (Supervisor, 1);
  self->job = job;
  self->group = job->launcher->pid;
  self->limit = moments_of (job->options->max_hold_ms, job->options->kill_after_ms, 0);
  note_left (self, remaining_ms (self));
  self->timer_fd = timer_fd;
  self->loop = g_main_loop_new (NULL, FALSE);
  return self;
}

void
supervisor_free (Supervisor *self)
{
  g_main_loop_unref (self->loop);
  close (self->timer_fd);
  g_free (self->survivors);
  g_free (self);
}

int
supervisor_run (Supervisor *self, SupervisorEnd *end)
{
  const SupervisorJob *job = self->job;

  *end = (SupervisorEnd){ 0 };
  terminal_open (&self->terminal, self->group);
  guard_arm (job->guard, guard_deadline_us (self, remaining_ms (self)),
             self->moments.kill / 2 * 1000);
  if (terminal_is_standard (&self->terminal))
    terminal_give (&self->terminal);
  /* Only now, with the guard armed: zkflock may have been stopped since the grant. */
  if (remaining_ms (self) > 0 && maximum_left_ms (self) > 0)
    launcher_go (job->launcher, job->environment);
  print_verbose (job->options, "the command runs as process %d", (int) self->group);
  GString *event = status_begin ("started");
  json_int (event, "pid", self->group);
  status_send (event);
  supervise (self);
  /* Without zkflock the command would be in the script's group and Ctrl-C would reach the script,
   * so zkflock passes that signal on. */
  const int signal = self->end.si_code == CLD_EXITED ? 0 : self->end.si_status;
  if (terminal_take_back (&self->terminal) && (signal == SIGINT || signal == SIGQUIT))
    terminal_pass_signal (signal);
  terminal_close (&self->terminal);
  const int error = launcher_close (job->launcher);
  guard_dismiss (job->guard);
  /* The command dies a moment before a guard that was killed has ended. */
  if (self->end.si_code != CLD_EXITED)
    self->guard_ended = guard_wait (job->guard) || self->guard_ended;
  end->started = error == 0;
  if (end->started && self->ended)
    status_note_command (self->end.si_code != CLD_EXITED, self->end.si_status);
  const int code = error != 0 ? report_exec_failure (job, error) : exit_code (self, &end->lost);
  waitpid (self->group, NULL, self->survivors != NULL ? WNOHANG : 0);
  return code;
}
