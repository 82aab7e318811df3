/* Which processes of a process group still run. */
#include "runner/group.h"

#include <curator/curator.h>
#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DESCRIBED 3

/* Whether /proc shows every process, by the numbers of our own namespace. */
static gboolean
proc_shows_all (void)
{
  char self[16] = "";
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  gboolean all = FALSE;

  if (mounts == NULL)
    return FALSE;
  for (const struct mntent *entry; (entry = getmntent (mounts)) != NULL;)
    if (strcmp (entry->mnt_dir, "/proc") == 0)
      all = strcmp (entry->mnt_type, "proc") == 0 && hasmntopt (entry, "hidepid") == NULL;
  endmntent (mounts);
  return all && readlink ("/proc/self", self, sizeof self - 1) > 0 && atoi (self) == getpid ();
}

/* 0 at the end. */
static pid_t
next_pid (DIR *proc)
{
  for (const struct dirent *entry; proc != NULL && (entry = readdir (proc)) != NULL;)
    if (g_ascii_isdigit (entry->d_name[0]))
      return (pid_t) strtol (entry->d_name, NULL, 10);
  return 0;
}

/* For kernels without pidfd_open(). */
static gboolean
is_zombie (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int) pid);
  g_autofree char *text = NULL;
  siginfo_t info = { 0 };

  if (waitid (P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    return info.si_pid == pid;
  /* "pid (name) state ppid …"; the name may hold any character, also ')'. */
  const char *rest = g_file_get_contents (path, &text, NULL, NULL) ? strrchr (text, ')') : NULL;
  return rest != NULL && (rest[2] == 'Z' || rest[2] == 'X');
}

/* Zombies do not run. It may be asked of processes of other users, and needs no /proc. */
static gboolean
runs_in (pid_t pid, pid_t group)
{
  if (getpgid (pid) != group)
    return FALSE;
  const int fd = (int) syscall (SYS_pidfd_open, pid, 0);
  struct pollfd end = { .fd = fd, .events = POLLIN };
  if (fd < 0) {
    /* EINVAL: a thread. */
    return errno != ESRCH && errno != EINVAL && !is_zombie (pid);
  }
  const gboolean running = poll (&end, 1, 0) == 0;
  close (fd);
  return running;
}

gboolean
group_is_alive (pid_t group, gboolean leader_ended)
{
  DIR *proc = proc_shows_all () ? opendir ("/proc") : NULL;
  pid_t pid;

  if (proc == NULL) {
    /* By the kernel's word alone, which counts zombies. The leader is one of its own until it is
     * reaped; then the group's number stays in use as long as there is anybody in it. */
    if (leader_ended)
      waitpid (group, NULL, WNOHANG);
    return kill (-group, 0) == 0 || errno != ESRCH;
  }
  do {
    pid = next_pid (proc);
  } while (pid > 0 && !runs_in (pid, group));
  closedir (proc);
  return pid > 0;
}

/* Its name and user may be hidden. */
static char *
describe (pid_t pid)
{
  g_autofree char *folder = g_strdup_printf ("/proc/%d", (int) pid);
  g_autofree char *file = g_build_filename (folder, "comm", NULL);
  g_autofree char *text = NULL;
  struct stat info;

  if (stat (folder, &info) != 0 || !g_file_get_contents (file, &text, NULL, NULL))
    return g_strdup_printf ("%d", (int) pid);
  const struct passwd *user = getpwuid (info.st_uid);
  g_autofree char *name = curator_escape_name (g_strchomp (text), -1);
  return user != NULL ? g_strdup_printf ("%d (%s, user %s)", (int) pid, name, user->pw_name)
                      : g_strdup_printf ("%d (%s, user %u)", (int) pid, name, info.st_uid);
}

char *
group_describe (pid_t group)
{
  DIR *proc = opendir ("/proc");
  GString *all = g_string_new (NULL);
  int n = 0;

  for (pid_t pid; (pid = next_pid (proc)) > 0;) {
    if (runs_in (pid, group) && ++n <= MAX_DESCRIBED) {
      g_autofree char *text = describe (pid);
      g_string_append_printf (all, "%s%s", n > 1 ? ", " : "", text);
    }
  }
  if (proc != NULL)
    closedir (proc);
  if (n > MAX_DESCRIBED)
    g_string_append_printf (all, " and %d more", n - MAX_DESCRIBED);
  if (n == 0 && !proc_shows_all ())
    g_string_append_printf (all, "processes of group %d, which /proc does not show", (int) group);
  return g_string_free (all, FALSE);
}
