#include "waiting.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Not by clock_gettime(), which tests/faults/machine_sleep.c replaces: histories need one clock. */
gint64
wait_now_ns (void)
{
  struct timespec now;
  syscall (SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

gint64
wait_now_ms (void)
{
  return wait_now_ns () / 1000000;
}

void
wait_ms (int ms)
{
  struct timespec rest = { ms / 1000, (ms % 1000) * 1000000L };
  while (nanosleep (&rest, &rest) < 0 && errno == EINTR) {
  }
}

gboolean
wait_until (WaitCondition condition, gpointer data, int timeout_ms)
{
  gint64 deadline = wait_now_ms () + timeout_ms;
  while (!condition (data)) {
    if (wait_now_ms () >= deadline)
      return FALSE;
    wait_ms (5);
  }
  return TRUE;
}
