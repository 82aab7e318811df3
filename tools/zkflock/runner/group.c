#include "runner/group.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* /proc/PID/stat: "pid (name) state ppid pgrp ..."; the name may hold any character, also ')'. */
static gboolean
runs_in (const char *pid, pid_t group)
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
  return rest != NULL && sscanf (rest + 1, " %c %d %d", &state, &parent, &found) == 3
         && found == group && state != 'Z' && state != 'X';
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
      alive = g_ascii_isdigit (entry->d_name[0]) && runs_in (entry->d_name, group);
    }
  closedir (proc);
  return alive;
}
