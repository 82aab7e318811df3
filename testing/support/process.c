#include "process.h"

#include "waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only async-signal-safe calls here: the test may have threads. Every descriptor is closed, because
 * libzookeeper's sockets are not CLOEXEC and the child would keep them open. */
static G_GNUC_NORETURN void
run_child (char *const *argv, int output_fd, pid_t parent)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (126);
  sigset_t none;
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  dup2 (output_fd, STDOUT_FILENO);
  dup2 (output_fd, STDERR_FILENO);
  close_range (3, ~0U, 0);
  execv (argv[0], argv);
  _exit (127);
}

pid_t
process_spawn (char *const *argv, const char *output)
{
  int output_fd = open (output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_t parent = getpid ();
  pid_t pid = output_fd >= 0 ? fork () : -1;
  if (pid == 0)
    run_child (argv, output_fd, parent);
  if (output_fd >= 0)
    close (output_fd);
  return pid > 0 ? pid : 0;
}

gboolean
process_wait (pid_t pid, int timeout_ms, int *status)
{
  gint64 deadline = wait_now_ms () + timeout_ms;
  pid_t ended;
  while ((ended = waitpid (pid, status, WNOHANG)) == 0 && wait_now_ms () < deadline)
    wait_ms (5);
  return ended == pid;
}

void
process_kill (pid_t pid)
{
  kill (pid, SIGKILL);
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR) {
  }
}
