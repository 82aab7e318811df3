#include "runner/group.h"

#include <curator/curator.h>
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DESCRIBED 3

/* /proc/PID/stat: "pid (name) state ppid pgrp ..."; the name may hold any character, also ')'. */
static gboolean
runs_in (const char *pid, pid_t group, char **name)
{
  g_autofree char *path = g_build_filename ("/proc", pid, "stat", NULL);
  g_autofree char *text = NULL;
  char state;
  int parent;
  int found;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    {
      return FALSE;
    }
  const char *rest = strrchr (text, ')');
  const char *begin = strchr (text, '(');
  if (rest == NULL || begin == NULL || sscanf (rest + 1, " %c %d %d", &state, &parent, &found) != 3
      || found != group || state == 'Z' || state == 'X')
    {
      return FALSE;
    }
  if (name != NULL)
    {
      *name = curator_escape_name (begin + 1, rest - begin - 1);
    }
  return TRUE;
}

gboolean
group_is_alive (pid_t group)
{
  DIR *proc = opendir ("/proc");
  gboolean alive = FALSE;

  if (proc == NULL)
    {
      /* Without /proc, zombies count as alive; the leader is one until it is reaped. */
      return kill (-group, 0) == 0 || errno == EPERM;
    }
  for (const struct dirent *entry; !alive && (entry = readdir (proc)) != NULL;)
    {
      alive = g_ascii_isdigit (entry->d_name[0]) && runs_in (entry->d_name, group, NULL);
    }
  closedir (proc);
  return alive;
}

static char *
user_of (const char *pid)
{
  g_autofree char *path = g_build_filename ("/proc", pid, NULL);
  struct stat info;

  if (stat (path, &info) != 0)
    {
      return g_strdup ("unknown");
    }
  const struct passwd *user = getpwuid (info.st_uid);
  return user != NULL ? g_strdup (user->pw_name) : g_strdup_printf ("%u", info.st_uid);
}

char *
group_describe (pid_t group)
{
  DIR *proc = opendir ("/proc");
  GString *all = g_string_new (NULL);
  int n = 0;

  for (const struct dirent *entry; proc != NULL && (entry = readdir (proc)) != NULL;)
    {
      g_autofree char *name = NULL;
      if (!g_ascii_isdigit (entry->d_name[0]) || !runs_in (entry->d_name, group, &name))
        {
          continue;
        }
      if (++n <= MAX_DESCRIBED)
        {
          g_autofree char *user = user_of (entry->d_name);
          g_string_append_printf (all, "%s%s (%s, user %s)", n > 1 ? ", " : "", entry->d_name, name,
                                  user);
        }
    }
  if (n > MAX_DESCRIBED)
    {
      g_string_append_printf (all, " and %d more", n - MAX_DESCRIBED);
    }
  if (proc != NULL)
    {
      closedir (proc);
    }
  return g_string_free (all, FALSE);
}
