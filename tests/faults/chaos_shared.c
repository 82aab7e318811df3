#include "chaos.h"

#include "support/waiting.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STALL_MS 100

const ChaosLock chaos_locks[CHAOS_LOCKS] = {
  { CHAOS_MUTEX, 1, 0 },           { CHAOS_MUTEX, 1, 0 },
  { CHAOS_MUTEX, 1, 0 },           { CHAOS_MUTEX, 1, 0 },
  { CHAOS_MUTEX, 1, 0 },           { CHAOS_MUTEX, 1, 0 },
  { CHAOS_SEMAPHORE_MUTEX, 1, 0 }, { CHAOS_SEMAPHORE_MUTEX, 1, 0 },
  { CHAOS_SEMAPHORE, 3, 0 },       { CHAOS_SEMAPHORE, 2, 0 },
  { CHAOS_SEMAPHORE, 5, 0 },       { CHAOS_RW_LOCK, 1, 0 },
  { CHAOS_RW_LOCK, 1, 0 },         { CHAOS_RW_LOCK, 1, 0 },
  { CHAOS_RW_LOCK, 1, 0 },         { CHAOS_SEMAPHORE_MUTEX, 1, 0 },
  { CHAOS_MULTI, 1, 0 },           { CHAOS_MULTI, 1, 1 },
  { CHAOS_FIXED, 1, 0 },           { CHAOS_FIXED, 1, 0 }
};

char *
chaos_path (guint lock)
{
  return g_strdup_printf (CHAOS_ROOT "/%u", lock);
}

gboolean
chaos_write (const char *path, const char *text)
{
  const int fd = open (path, O_WRONLY | O_CLOEXEC);
  const gssize n = fd >= 0 ? write (fd, text, strlen (text)) : -1;
  if (fd >= 0)
    close (fd);
  return n == (gssize) strlen (text);
}

int
chaos_watch (Recorder *recorder)
{
  const gint64 before_ms = wait_now_ms ();
  wait_ms (TICK_OF_WATCH_MS);
  const gint64 late_ms = wait_now_ms () - before_ms - TICK_OF_WATCH_MS;
  if (late_ms < STALL_MS)
    return 0;
  recorder_add (recorder, (RecordEvent){ .op = RECORD_STALL, .timeout_ms = late_ms });
  return (int) late_ms;
}

void
chaos_print_stacks (pid_t pid)
{
  g_autofree char *command = g_strdup_printf (
      "gdb -batch -p %d -ex 'thread apply all bt 20' 2>/dev/null | grep -E '^(#|Thread)'", pid);
  g_autofree char *text = NULL;
  const char *const argv[] = { "/bin/sh", "-c", command, NULL };
  g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &text, NULL, NULL, NULL);
  g_printerr ("%s\n", text != NULL ? text : "");
}
