/* A control group of the command's own.
 *
 * Signals reach neither a process of another user (sudo, set-uid) nor one that has left the process
 * group (setsid). The kernel kills both with the control group they are in. It needs cgroup v2 with
 * cgroup.kill, and a control group of zkflock's that it may write to: as root, or one that systemd
 * has delegated.
 */
#include "runner/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PREFIX          "zkflock."
#define MAKE_TRIES      3
#define REMOVE_PAUSE_MS 5
#define REMOVE_TRIES    200
#define SIGNAL_ROUNDS   20 /* for a command that goes on forking */

#define NONE                                                                                       \
  (Cgroup)                                                                                         \
  {                                                                                                \
    .parent_fd = -1, .fd = -1                                                                      \
  }

/* The folder of this process's control group: the line "0::/path" of /proc/self/cgroup. */
static char *
find_own (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  g_autofree char *mount = NULL;
  g_autofree char *text = NULL;

  if (mounts == NULL)
    return NULL;
  for (const struct mntent *entry; mount == NULL && (entry = getmntent (mounts)) != NULL;)
    mount = strcmp (entry->mnt_type, "cgroup2") == 0 ? g_strdup (entry->mnt_dir) : NULL;
  endmntent (mounts);
  if (mount == NULL || !g_file_get_contents ("/proc/self/cgroup", &text, NULL, NULL))
    return NULL;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix (*line, "0::/"))
      return g_strconcat (mount, *line + strlen ("0::"), NULL);
  return NULL;
}

static gboolean
may_kill (const Cgroup *cgroup)
{
  const int fd = openat (cgroup->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static gboolean
write_file (const Cgroup *cgroup, const char *name, const char *text)
{
  const int fd = cgroup->fd >= 0 ? openat (cgroup->fd, name, O_WRONLY | O_CLOEXEC) : -1;
  if (fd < 0)
    return FALSE;
  const gboolean written = write (fd, text, strlen (text)) == (gssize) strlen (text);
  close (fd);
  return written;
}

/* A folder is in use while somebody holds a lock on it, which ends with its last descriptor: that
 * of zkflock or of its guard. */
static gboolean
open_folder (Cgroup *cgroup)
{
  cgroup->fd = openat (cgroup->parent_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup->fd >= 0 && flock (cgroup->fd, LOCK_EX | LOCK_NB) == 0)
    return TRUE;
  if (cgroup->fd >= 0)
    close (cgroup->fd);
  cgroup->fd = -1;
  return FALSE;
}

static gboolean
make_folder (Cgroup *cgroup)
{
  struct stat info;

  for (int i = 0; i < MAKE_TRIES; i++) {
    g_snprintf (cgroup->name, sizeof cgroup->name, PREFIX "%d-%08x", (int) getpid (),
                g_random_int ());
    if (mkdirat (cgroup->parent_fd, cgroup->name, 0755) != 0)
      return FALSE;
    /* Another one that sweeps may have removed it before it was locked. */
    if (open_folder (cgroup) && fstatat (cgroup->parent_fd, cgroup->name, &info, 0) == 0)
      return TRUE;
  }
  return FALSE;
}

/* Ends and removes what was left by others whose guards were killed with them. */
static void
sweep (int parent_fd)
{
  const int fd = openat (parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fd >= 0 ? fdopendir (fd) : NULL;

  for (const struct dirent *entry; folder != NULL && (entry = readdir (folder)) != NULL;) {
    Cgroup left = { .parent_fd = parent_fd };
    if (g_str_has_prefix (entry->d_name, PREFIX)
        && g_strlcpy (left.name, entry->d_name, sizeof left.name) < sizeof left.name
        && open_folder (&left)) {
      cgroup_kill (&left);
      cgroup_remove (&left);
      close (left.fd);
    }
  }
  if (folder != NULL)
    closedir (folder);
}

gboolean
cgroup_create (Cgroup *cgroup)
{
  g_autofree char *own = find_own ();

  *cgroup = NONE;
  errno = ENOTSUP;
  cgroup->parent_fd = own != NULL ? open (own, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (cgroup->parent_fd < 0)
    return FALSE;
  if (!make_folder (cgroup) || !may_kill (cgroup)) {
    const int error = errno;
    cgroup_remove (cgroup);
    cgroup_close (cgroup);
    errno = error;
    return FALSE;
  }
  sweep (cgroup->parent_fd);
  return TRUE;
}

pid_t
cgroup_fork (const Cgroup *cgroup)
{
#if defined CLONE_INTO_CGROUP && defined SYS_clone3
  struct clone_args arguments = { .flags = CLONE_INTO_CGROUP,
                                  .exit_signal = SIGCHLD,
                                  .cgroup = (guint64) cgroup->fd };

  return cgroup->fd >= 0 ? (pid_t) syscall (SYS_clone3, &arguments, sizeof arguments) : -1;
#else
  return -1;
#endif
}

void
cgroup_forget (const Cgroup *cgroup)
{
  if (cgroup->fd >= 0)
    close (cgroup->fd);
  if (cgroup->parent_fd >= 0)
    close (cgroup->parent_fd);
}

gboolean
cgroup_add (Cgroup *cgroup, pid_t pid)
{
  char text[32];

  g_snprintf (text, sizeof text, "%d", (int) pid);
  if (write_file (cgroup, "cgroup.procs", text))
    return TRUE;
  const int error = errno;
  cgroup_remove (cgroup);
  cgroup_close (cgroup);
  errno = error;
  return FALSE;
}

/* Whether there was one that is not in told. */
static gboolean
signal_new_ones (const Cgroup *cgroup, pid_t group, int signal, GHashTable *told)
{
  const int fd = cgroup->fd >= 0 ? openat (cgroup->fd, "cgroup.procs", O_RDONLY | O_CLOEXEC) : -1;
  FILE *procs = fd >= 0 ? fdopen (fd, "r") : NULL;
  gboolean found = FALSE;
  int pid;

  while (procs != NULL && fscanf (procs, "%d", &pid) == 1) {
    if (pid > 1 && getpgid (pid) != group && g_hash_table_add (told, GINT_TO_POINTER (pid))) {
      kill (pid, signal);
      found = TRUE;
    }
  }
  if (procs != NULL)
    fclose (procs);
  else if (fd >= 0)
    close (fd);
  return found;
}

void
cgroup_signal_others (const Cgroup *cgroup, pid_t group, int signal)
{
  g_autoptr (GHashTable) told = g_hash_table_new (NULL, NULL);

  for (int i = 0; i < SIGNAL_ROUNDS && signal_new_ones (cgroup, group, signal, told); i++) {
    /* Those that were told may have had children meanwhile. */
  }
}

void
cgroup_kill (const Cgroup *cgroup)
{
  write_file (cgroup, "cgroup.kill", "1");
}

void
cgroup_freeze (const Cgroup *cgroup, gboolean freeze)
{
  write_file (cgroup, "cgroup.freeze", freeze ? "1" : "0");
}

gboolean
cgroup_is_alive (const Cgroup *cgroup)
{
  const int fd = cgroup->fd >= 0 ? openat (cgroup->fd, "cgroup.events", O_RDONLY | O_CLOEXEC) : -1;
  char text[256] = "";

  if (fd >= 0) {
    (void) !read (fd, text, sizeof text - 1);
    close (fd);
  }
  return strstr (text, "populated 1") != NULL;
}

/* The control groups that the command has made, such as those of another zkflock. */
static void
remove_folders_in (int parent_fd)
{
  const int fd = openat (parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fd >= 0 ? fdopendir (fd) : NULL;

  for (const struct dirent *entry; folder != NULL && (entry = readdir (folder)) != NULL;) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      const int child = openat (parent_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (child >= 0) {
        remove_folders_in (child);
        close (child);
      }
      unlinkat (parent_fd, entry->d_name, AT_REMOVEDIR);
    }
  }
  if (folder != NULL)
    closedir (folder);
}

static gboolean
try_to_remove (const Cgroup *cgroup)
{
  if (cgroup->fd >= 0 && !cgroup_is_alive (cgroup))
    remove_folders_in (cgroup->fd);
  return cgroup->parent_fd < 0 || unlinkat (cgroup->parent_fd, cgroup->name, AT_REMOVEDIR) == 0
         || errno == ENOENT;
}

gboolean
cgroup_remove (const Cgroup *cgroup)
{
  const struct timespec pause = { .tv_nsec = REMOVE_PAUSE_MS * 1000000 };
  gboolean removed = try_to_remove (cgroup);

  /* What was killed a moment ago is still in it. */
  for (int i = 0; i < REMOVE_TRIES && !removed; i++) {
    nanosleep (&pause, NULL);
    removed = try_to_remove (cgroup);
  }
  return removed;
}

void
cgroup_close (Cgroup *cgroup)
{
  cgroup_forget (cgroup);
  *cgroup = NONE;
}
