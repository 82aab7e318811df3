/* The process that becomes the command.
 *
 * It is forked before any thread exists, so that no lock in it is in an undefined state, and blocks
 * on a pipe until the lock is granted. Then it receives its environment and calls exec. The kernel
 * kills it when zkflock dies (PDEATHSIG), before as well as after the exec.
 */
#include "runner/launcher.h"

#include "base/exit_code.h"
#include "runner/signals.h"
#include "runner/title.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static gboolean
read_all (int fd, void *buffer, gsize length)
{
  for (gsize done = 0; done < length;) {
    const gssize n = read (fd, (char *) buffer + done, length - done);
    if (n == 0 || (n < 0 && errno != EINTR))
      return FALSE;
    done += n > 0 ? (gsize) n : 0;
  }
  return TRUE;
}

static gboolean
write_all (int fd, const void *buffer, gsize length)
{
  for (gsize done = 0; done < length;) {
    const gssize n = write (fd, (const char *) buffer + done, length - done);
    if (n < 0 && errno != EINTR)
      return FALSE;
    done += n > 0 ? (gsize) n : 0;
  }
  return TRUE;
}

/* Instead of the command. */
G_GNUC_NORETURN static void
fail (int error_fd, int error)
{
  write_all (error_fd, &error, sizeof error);
  _exit (error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE);
}

G_GNUC_NORETURN static void
run_launcher (int grant_fd, int error_fd, pid_t parent, char *const *argv)
{
  guint32 length;

  /* The parent may have died before PDEATHSIG was set. */
  if (prctl (PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid () != parent
      || !read_all (grant_fd, &length, sizeof length))
    _exit (0);
  char *text = malloc (length + 1);
  if (text == NULL)
    fail (error_fd, errno);
  if (!read_all (grant_fd, text, length))
    _exit (0);
  text[length] = '\0';
  for (char *entry = text; entry < text + length; entry += strlen (entry) + 1)
    if ((strchr (entry, '=') != NULL ? putenv (entry) : unsetenv (entry)) != 0)
      fail (error_fd, errno);
  signals_restore ();
  execvp (argv[0], argv);
  fail (error_fd, errno);
}

gboolean
launcher_start (Launcher *launcher, char *const *argv, const Cgroup *cgroup)
{
  int grant[2] = { -1, -1 };
  int error[2] = { -1, -1 };
  const pid_t parent = getpid ();

  if (pipe2 (grant, O_CLOEXEC) != 0 || pipe2 (error, O_CLOEXEC) != 0)
    return FALSE;
  pid_t pid = cgroup_fork (cgroup);
  const gboolean is_in_cgroup = pid >= 0;
  pid = is_in_cgroup ? pid : fork ();
  if (pid < 0)
    return FALSE;
  if (pid == 0) {
    setpgid (0, 0);
    close (grant[1]);
    close (error[0]);
    cgroup_forget (cgroup);
    title_set ("lock-launcher");
    run_launcher (grant[0], error[1], parent, argv);
  }
  /* Parent and child both set the group, so that neither continues before it exists. */
  setpgid (pid, pid);
  close (grant[0]);
  close (error[1]);
  *launcher = (Launcher){
    .pid = pid, .is_in_cgroup = is_in_cgroup, .grant_fd = grant[1], .error_fd = error[0]
  };
  return TRUE;
}

void
launcher_go (Launcher *launcher, const char *const *environment)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint32 length = 0;

  g_byte_array_append (bytes, (const guint8 *) &length, sizeof length);
  for (gsize i = 0; environment[i] != NULL; i++) {
    g_byte_array_append (bytes, (const guint8 *) environment[i],
                         (guint) strlen (environment[i]) + 1);
  }
  length = bytes->len - (guint32) sizeof length;
  memcpy (bytes->data, &length, sizeof length);
  write_all (launcher->grant_fd, bytes->data, bytes->len);
}

int
launcher_close (Launcher *launcher)
{
  int error = 0;

  /* A successful exec closed the pipe without writing to it. */
  fcntl (launcher->error_fd, F_SETFL, O_NONBLOCK);
  if (!read_all (launcher->error_fd, &error, sizeof error))
    error = 0;
  close (launcher->grant_fd);
  close (launcher->error_fd);
  return error;
}

void
launcher_dismiss (Launcher *launcher)
{
  kill (launcher->pid, SIGKILL); /* it may be stopped */
  launcher_close (launcher);
  waitpid (launcher->pid, NULL, 0);
}
