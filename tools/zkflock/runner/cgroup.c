#include "runner/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NONE                                                                                       \
  (Cgroup)                                                                                         \
  {                                                                                                \
    .parent_fd = -1, .fd = -1                                                                      \
  }

static char *
find_mount (void)
{
  FILE *mounts = setmntent ("/proc/self/mounts", "re");
  char *found = NULL;

  if (mounts == NULL)
    {
      return NULL;
    }
  for (const struct mntent *entry; found == NULL && (entry = getmntent (mounts)) != NULL;)
    {
      found = strcmp (entry->mnt_type, "cgroup2") == 0 ? g_strdup (entry->mnt_dir) : NULL;
    }
  endmntent (mounts);
  return found;
}

/* The folder of this process's control group: the line "0::/path" of /proc/self/cgroup. */
static char *
find_own (void)
{
  g_autofree char *mount = find_mount ();
  g_autofree char *text = NULL;

  if (mount == NULL || !g_file_get_contents ("/proc/self/cgroup", &text, NULL, NULL))
    {
      return NULL;
    }
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      if (g_str_has_prefix (*line, "0::/"))
        {
          return g_strconcat (mount, *line + strlen ("0::"), NULL);
        }
    }
  return NULL;
}

static gboolean
write_file (const Cgroup *cgroup, const char *name, const char *text)
{
  const int fd = cgroup->fd >= 0 ? openat (cgroup->fd, name, O_WRONLY | O_CLOEXEC) : -1;
  if (fd < 0)
    {
      return FALSE;
    }
  const gboolean written = write (fd, text, strlen (text)) == (gssize) strlen (text);
  close (fd);
  return written;
}

/* Returns a length of 0 if the file cannot be read. */
static gsize
read_file (const Cgroup *cgroup, const char *name, char *text, gsize size)
{
  const int fd = cgroup->fd >= 0 ? openat (cgroup->fd, name, O_RDONLY | O_CLOEXEC) : -1;
  const gssize length = fd >= 0 ? read (fd, text, size - 1) : 0;

  if (fd >= 0)
    {
      close (fd);
    }
  text[MAX (length, 0)] = '\0';
  return (gsize) MAX (length, 0);
}

static gboolean
make_folder (Cgroup *cgroup)
{
  g_snprintf (cgroup->name, sizeof cgroup->name, "zkflock-%d", (int) getpid ());
  /* One of that name was left behind by an earlier process of this number. */
  if (mkdirat (cgroup->parent_fd, cgroup->name, 0755) != 0
      && (errno != EEXIST || !cgroup_remove (cgroup)
          || mkdirat (cgroup->parent_fd, cgroup->name, 0755) != 0))
    {
      return FALSE;
    }
  cgroup->fd = openat (cgroup->parent_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return cgroup->fd >= 0;
}

gboolean
cgroup_create (Cgroup *cgroup)
{
  g_autofree char *own = find_own ();

  *cgroup = NONE;
  cgroup->parent_fd = own != NULL ? open (own, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (cgroup->parent_fd < 0)
    {
      return FALSE;
    }
  if (!make_folder (cgroup) || faccessat (cgroup->fd, "cgroup.kill", W_OK, AT_EACCESS) != 0)
    {
      cgroup_remove (cgroup);
      cgroup_close (cgroup);
      return FALSE;
    }
  return TRUE;
}

gboolean
cgroup_add (Cgroup *cgroup, pid_t pid)
{
  char text[32];

  g_snprintf (text, sizeof text, "%d", (int) pid);
  if (write_file (cgroup, "cgroup.procs", text))
    {
      return TRUE;
    }
  cgroup_remove (cgroup);
  cgroup_close (cgroup);
  return FALSE;
}

void
cgroup_signal_others (const Cgroup *cgroup, pid_t group, int signal)
{
  char text[16384];

  if (read_file (cgroup, "cgroup.procs", text, sizeof text) == 0)
    {
      return;
    }
  for (char *at = text; *at != '\0';)
    {
      const pid_t pid = (pid_t) strtol (at, &at, 10);
      if (pid > 1 && getpgid (pid) != group)
        {
          kill (pid, signal);
        }
      at += strspn (at, "\n");
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
  char text[256];
  return read_file (cgroup, "cgroup.events", text, sizeof text) > 0
         && strstr (text, "populated 1") != NULL;
}

gboolean
cgroup_remove (const Cgroup *cgroup)
{
  return cgroup->parent_fd < 0 || unlinkat (cgroup->parent_fd, cgroup->name, AT_REMOVEDIR) == 0
         || errno == ENOENT;
}

void
cgroup_close (Cgroup *cgroup)
{
  if (cgroup->fd >= 0)
    {
      close (cgroup->fd);
    }
  if (cgroup->parent_fd >= 0)
    {
      close (cgroup->parent_fd);
    }
  *cgroup = NONE;
}
