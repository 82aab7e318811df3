#include "runner/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FREE_FD   10
#define REMOVE_PAUSE_MS 5
#define REMOVE_TRIES    200

struct _GuardBoard
{
  _Atomic gint64 deadline_us;
  _Atomic gint64 group; /* 0: none */
  _Atomic int has_killed;
};

gint64
boottime_us (void)
{
  struct timespec now;
  clock_gettime (CLOCK_BOOTTIME, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* Moves the kept descriptors to 3 and the numbers that follow; -1 is kept as -1, with its number closed. */
static void
close_all_but (int **kept, int n)
{
  const int null = open ("/dev/null", O_RDWR);

  for (int fd = 0; fd <= 2; fd++)
    {
      dup2 (null, fd);
    }
  for (int i = 0; i < n; i++)
    {
      *kept[i] = *kept[i] >= 0 ? fcntl (*kept[i], F_DUPFD, FIRST_FREE_FD) : -1;
    }
  for (int i = 0; i < n; i++)
    {
      /* A pipe of the launcher that stays open here keeps the launcher waiting. */
      close (3 + i);
      *kept[i] = *kept[i] >= 0 ? dup2 (*kept[i], 3 + i) : -1;
    }
  close_range (3 + (unsigned) n, ~0U, 0);
}

static void
kill_group (GuardBoard *board, const Cgroup *cgroup)
{
  const pid_t group = (pid_t) atomic_load (&board->group);
  if (group > 1)
    {
      cgroup_kill (cgroup);
      kill (-group, SIGKILL);
    }
}

/* What was killed a moment ago is still in it. */
static void
remove_cgroup (const Cgroup *cgroup)
{
  const struct timespec pause = { .tv_nsec = REMOVE_PAUSE_MS * 1000000 };

  for (int i = 0; i < REMOVE_TRIES && !cgroup_remove (cgroup); i++)
    {
      nanosleep (&pause, NULL);
    }
}

/* The timer counts suspended time, so it fires as soon as the machine resumes. */
static void
set_timer (int timer, gint64 at_us)
{
  const struct itimerspec when = { .it_value = { .tv_sec = (time_t) (at_us / G_USEC_PER_SEC),
                                                 .tv_nsec =
                                                     (long) (at_us % G_USEC_PER_SEC) * 1000 } };
  timerfd_settime (timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* A byte on the pipe: the board has changed. End of file: zkflock has ended. */
G_GNUC_NORETURN static void
run_guard (int fd, GuardBoard *board, Cgroup cgroup)
{
  sigset_t all;
  char byte;

  sigfillset (&all);
  sigprocmask (SIG_SETMASK, &all, NULL);
  setpgid (0, 0);
  prctl (PR_SET_NAME, "zkflock-guard");
  close_all_but ((int *[]){ &fd, &cgroup.fd, &cgroup.parent_fd }, 3);
  const int timer = timerfd_create (CLOCK_BOOTTIME, 0);
  struct pollfd polls[] = { { .fd = fd, .events = POLLIN }, { .fd = timer, .events = POLLIN } };
  for (;;)
    {
      poll (polls, G_N_ELEMENTS (polls), -1);
      if (polls[0].revents != 0 && read (fd, &byte, 1) <= 0)
        {
          kill_group (board, &cgroup);
          remove_cgroup (&cgroup);
          _exit (0);
        }
      const gint64 deadline = atomic_load (&board->deadline_us);
      if (boottime_us () >= deadline)
        {
          atomic_store (&board->has_killed, 1);
          kill_group (board, &cgroup);
          /* Kill once; zkflock reports the loss. */
          atomic_store (&board->deadline_us, G_MAXINT64 / 2);
        }
      set_timer (timer, atomic_load (&board->deadline_us));
    }
}

gboolean
guard_start (Guard *guard, const Cgroup *cgroup)
{
  int ends[2];

  *guard = (Guard){ .fd = -1 };
  guard->board =
      mmap (NULL, sizeof *guard->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (guard->board == MAP_FAILED || pipe2 (ends, O_CLOEXEC) != 0)
    {
      return FALSE;
    }
  atomic_store (&guard->board->deadline_us, G_MAXINT64 / 2);
  const pid_t pid = fork ();
  if (pid == 0)
    {
      run_guard (ends[0], guard->board, *cgroup);
    }
  close (ends[0]);
  guard->pid = pid;
  guard->fd = ends[1];
  return pid > 0;
}

void
guard_arm (Guard *guard, pid_t group, gint64 deadline_us)
{
  atomic_store (&guard->board->deadline_us, deadline_us);
  atomic_store (&guard->board->group, group);
  while (write (guard->fd, "", 1) < 0 && errno == EINTR)
    {
    }
}

void
guard_set_deadline (Guard *guard, gint64 deadline_us)
{
  atomic_store (&guard->board->deadline_us, deadline_us);
}

gboolean
guard_has_killed (Guard *guard)
{
  return atomic_load (&guard->board->has_killed) != 0;
}

void
guard_dismiss (Guard *guard)
{
  atomic_store (&guard->board->group, 0);
  close (guard->fd);
  waitpid (guard->pid, NULL, 0);
}
