/* The controlling terminal: which process group reads its keys and receives Ctrl-C and Ctrl-Z.
 *
 * The command has a process group of its own and would be stopped when it reads the terminal, so
 * zkflock makes that group the foreground one. It does so at once if standard input and output are
 * the terminal. In a pipeline (zkflock PATH COMMAND | less) other processes of zkflock's group may
 * need the terminal; then the command gets it when it first uses it.
 */
#include "runner/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int passed_signal;

void
terminal_open (Terminal *terminal, pid_t group)
{
  terminal->group = group;
  terminal->fd = open ("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

void
terminal_close (Terminal *terminal)
{
  if (terminal->fd >= 0)
    close (terminal->fd);
  terminal->fd = -1;
}

gboolean
terminal_is_standard (const Terminal *terminal)
{
  return terminal->fd >= 0 && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO);
}

/* With SIGTTOU blocked, even a background group could take the terminal, so check that zkflock's
 * group has it. */
gboolean
terminal_give (Terminal *terminal)
{
  return terminal->fd >= 0 && tcgetpgrp (terminal->fd) == getpgrp ()
         && tcsetpgrp (terminal->fd, terminal->group) == 0;
}

gboolean
terminal_take_back (Terminal *terminal)
{
  return terminal->fd >= 0 && tcgetpgrp (terminal->fd) == terminal->group
         && tcsetpgrp (terminal->fd, getpgrp ()) == 0;
}

void
terminal_pass_signal (int signal)
{
  const struct timespec now = { 0 };
  sigset_t own;

  sigemptyset (&own);
  sigaddset (&own, signal);
  kill (0, signal);
  /* The signal is blocked and pending here; left pending, it would abort the release of the
   * lock. */
  sigtimedwait (&own, NULL, &now);
  passed_signal = signal;
}

void
terminal_follow_signal (void)
{
  const struct rlimit no_core = { 0 };
  sigset_t own;

  if (passed_signal == 0)
    return;
  setrlimit (RLIMIT_CORE, &no_core);
  sigemptyset (&own);
  sigaddset (&own, passed_signal);
  raise (passed_signal);
  sigprocmask (SIG_UNBLOCK, &own, NULL);
}
