/* A process that enforces the deadline when zkflock cannot.
 *
 * The supervisor ends the command by its own timer, but not while zkflock is stopped. After kill -9
 * of zkflock the kernel kills the process group, but not what has left it. So a small process,
 * forked before any thread exists, kills the whole group and the control group when zkflock has
 * ended or when the last deadline it was given passes.
 *
 * Nothing of the command outlives the guard either: its end kills the process group
 * (dead_switch.h), and zkflock, which notices it, the control group. A guard that is stopped ends
 * by itself shortly after the last deadline it knows.
 */
#include "runner/guard.h"

#include "runner/dead_switch.h"
#include "runner/title.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NEVER   (G_MAXINT64 / 2)
#define NEAR_US 100000
/* Of a second each. A busy machine may take long to end what was killed. */
#define REMOVE_ROUNDS 60

struct _GuardBoard
{
  _Atomic gint64 deadline_us;
  _Atomic gint64 wall_us; /* how far CLOCK_REALTIME was ahead when that was set */
  _Atomic gint64 slack_us;
  _Atomic int is_armed;
  _Atomic int has_killed;
};

gint64
boottime_us (void)
{
  struct timespec now;
  clock_gettime (CLOCK_BOOTTIME, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

static void
kill_group (GuardBoard *board, pid_t group, const Cgroup *cgroup)
{
  if (atomic_load (&board->is_armed)) {
    cgroup_kill (cgroup);
    kill (-group, SIGKILL);
  }
}

static struct timespec
timespec_of (gint64 us)
{
  return (struct timespec){ .tv_sec = (time_t) (us / G_USEC_PER_SEC),
                            .tv_nsec = (long) (us % G_USEC_PER_SEC) * 1000 };
}

/* Wakes the guard at the deadline, or long enough before it to learn of a later one. The timer
 * counts suspended time, so it fires as soon as the machine resumes. */
static void
set_timer (int timer, gint64 deadline_us, gint64 now_us)
{
  const gint64 left_us = MAX (deadline_us - now_us, 1);
  const gint64 wait_us = left_us > NEAR_US ? left_us / 2 : left_us;
  const struct itimerspec when = { .it_value = timespec_of (wait_us) };
  timerfd_settime (timer, 0, &when, NULL);
}

/* The kernel kills the guard at that moment, also while it is stopped. Suspended time does not
 * count: when the machine resumes, the guard comes first. */
static void
set_own_end (timer_t timer, gint64 left_us)
{
  const struct itimerspec when = { .it_value = timespec_of (MAX (left_us, 1)) };
  const struct itimerspec none = { 0 };
  timer_settime (timer, 0, left_us < NEVER / 2 ? &when : &none, NULL);
}

/* Reads the deadline and acts on it. */
static void
check_board (GuardBoard *board, pid_t group, const Cgroup *cgroup, int timer, timer_t own_end)
{
  /* In this order: until zkflock knows of a step, its deadline is the one of before. */
  const gint64 set_us = atomic_load (&board->deadline_us);
  const gint64 now = MAX (boottime_us (), g_get_real_time () - atomic_load (&board->wall_us));

  if (now >= set_us) {
    atomic_store (&board->has_killed, 1);
    kill_group (board, group, cgroup);
    /* Kill once; zkflock reports the loss. */
    atomic_store (&board->deadline_us, NEVER);
  }
  const gint64 deadline = atomic_load (&board->deadline_us);
  set_timer (timer, deadline, now);
  set_own_end (own_end, deadline - now + atomic_load (&board->slack_us));
}

/* A byte on the socket: the board has changed, to be answered. End of file: zkflock has ended. */
G_GNUC_NORETURN static void
run_guard (int fd, GuardBoard *board, pid_t group, Cgroup cgroup)
{
  struct sigevent kill_own = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
  timer_t own_end = 0;
  sigset_t all;
  char byte;

  sigfillset (&all);
  sigprocmask (SIG_SETMASK, &all, NULL);
  setpgid (0, 0);
  title_set ("lock-guard");
  /* What a parent of zkflock reads or waits for is not the guard's. */
  const int null = open ("/dev/null", O_RDWR);
  for (int standard = 0; null >= 0 && standard <= 2; standard++)
    dup2 (null, standard);
  close (null);
  const int timer = timerfd_create (CLOCK_BOOTTIME, 0);
  const gboolean is_ready = timer >= 0 && dead_switch_set (group)
                            && timer_create (CLOCK_MONOTONIC, &kill_own, &own_end) == 0;
  const int error = is_ready ? 0 : errno;
  send (fd, &error, sizeof error, MSG_NOSIGNAL);
  if (error != 0)
    _exit (1);
  struct pollfd polls[] = { { .fd = fd, .events = POLLIN }, { .fd = timer, .events = POLLIN } };
  for (;;) {
    poll (polls, G_N_ELEMENTS (polls), -1);
    const gboolean is_asked = polls[0].revents != 0;
    if (is_asked && read (fd, &byte, 1) <= 0) {
      kill_group (board, group, &cgroup);
      set_own_end (own_end, NEVER);
      /* Nobody waits for the guard of a zkflock that was killed. */
      int rounds = atomic_load (&board->is_armed) ? REMOVE_ROUNDS : 1;
      while (rounds-- > 0 && !cgroup_remove (&cgroup))
        continue;
      _exit (0);
    }
    check_board (board, group, &cgroup, timer, own_end);
    if (is_asked)
      send (fd, "", 1, MSG_NOSIGNAL);
  }
}

/* The guard has ended, or ends now that nobody has the other end. */
static gboolean
give_up (Guard *guard, int error)
{
  close (guard->fd);
  if (guard->pid > 0)
    waitpid (guard->pid, NULL, 0);
  errno = error;
  return FALSE;
}

gboolean
guard_start (Guard *guard, pid_t group, const Cgroup *cgroup)
{
  int ends[2];

  *guard = (Guard){ .fd = -1, .cgroup = cgroup };
  guard->board =
      mmap (NULL, sizeof *guard->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (guard->board == MAP_FAILED || socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return FALSE;
  atomic_store (&guard->board->deadline_us, NEVER);
  const pid_t pid = fork ();
  if (pid == 0) {
    /* The other descriptors are zkflock's as well, whose end is the guard's. */
    close (ends[1]);
    run_guard (ends[0], guard->board, group, *cgroup);
  }
  const int fork_error = errno;
  int error = ECHILD;

  close (ends[0]);
  guard->pid = pid;
  guard->fd = ends[1];
  if (pid < 0)
    return give_up (guard, fork_error);
  if (read (guard->fd, &error, sizeof error) != sizeof error || error != 0)
    return give_up (guard, error);
  return dead_switch_set (group) || give_up (guard, errno);
}

void
guard_arm (Guard *guard, gint64 deadline_us, gint64 slack_us)
{
  struct pollfd answer = { .fd = guard->fd, .events = POLLIN };

  atomic_store (&guard->board->slack_us, slack_us);
  guard_set_deadline (guard, deadline_us);
  atomic_store (&guard->board->is_armed, 1);
  send (guard->fd, "", 1, MSG_NOSIGNAL);
  poll (&answer, 1, (int) MAX ((deadline_us - boottime_us ()) / 1000, 0));
}

void
guard_set_deadline (Guard *guard, gint64 deadline_us)
{
  /* A guest that was paused with its clocks has only its wall clock to see it by. */
  const gint64 now = boottime_us ();
  atomic_store (&guard->board->wall_us, g_get_real_time () - now);
  atomic_store (&guard->board->deadline_us, deadline_us);
}

gboolean
guard_has_killed (Guard *guard)
{
  return atomic_load (&guard->board->has_killed) != 0;
}

gboolean
child_has_ended (pid_t pid)
{
  siginfo_t info = { 0 };
  return waitid (P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

void
guard_dismiss (Guard *guard)
{
  atomic_store (&guard->board->is_armed, 0);
  kill (guard->pid, SIGCONT); /* it may be stopped */
  close (guard->fd);
}

gboolean
guard_wait (Guard *guard)
{
  int status = 0;

  if (guard->pid > 0)
    waitpid (guard->pid, &status, 0);
  guard->pid = 0;
  if (WIFSIGNALED (status))
    cgroup_remove (guard->cgroup);
  return WIFSIGNALED (status);
}
