#include "chaos.h"

#include "support/waiting.h"

#include <fcntl.h>
#include <sys/mman.h>
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

char *
chaos_fixed_path (guint lock)
{
  return g_strdup_printf (CHAOS_ROOT "/%u/node", lock);
}

static void *
map_file (const char *path, gsize size)
{
  const int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *memory = MAP_FAILED;
  if (fd >= 0 && ftruncate (fd, (off_t) size) == 0)
    memory = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0)
    close (fd);
  return memory != MAP_FAILED ? memory : NULL;
}

ChaosCells *
chaos_cells_open (const char *directory)
{
  g_autofree char *path = g_build_filename (directory, "chaos.cells", NULL);
  return map_file (path, sizeof (ChaosCells));
}

void
chaos_cells_close (ChaosCells *cells)
{
  munmap (cells, sizeof *cells);
}

ChaosNames *
chaos_names_open (const char *path)
{
  return map_file (path, sizeof (ChaosNames));
}

void
chaos_names_close (ChaosNames *names)
{
  if (names != NULL)
    munmap (names, sizeof *names);
}

char *
chaos_name (int member)
{
  return g_strdup_printf ("zk-%d.chaos", member);
}

MachineClocks *
chaos_clocks_open (const char *path)
{
  return map_file (path, sizeof (MachineClocks));
}

void
chaos_clocks_close (MachineClocks *clocks)
{
  if (clocks != NULL)
    munmap (clocks, sizeof *clocks);
}

guint32
chaos_cell (const guint32 *cell)
{
  return __atomic_load_n (cell, __ATOMIC_SEQ_CST);
}

void
chaos_cell_set (guint32 *cell, guint32 value)
{
  __atomic_store_n (cell, value, __ATOMIC_SEQ_CST);
}

void
chaos_cell_add (guint32 *cell, int value)
{
  __atomic_fetch_add (cell, (guint32) value, __ATOMIC_SEQ_CST);
}

void
chaos_cell_raise (guint32 *cell, guint32 value)
{
  guint32 before = chaos_cell (cell);
  while (before < value
         && !__atomic_compare_exchange_n (cell, &before, value, FALSE, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST))
    {
    }
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
