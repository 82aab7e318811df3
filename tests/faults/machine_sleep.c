/* What a process sees when its machine sleeps.
 *
 * The driver stops the process instead (SIGSTOP), and before it continues adds the length of the
 * stop to a number in a file that both map. CLOCK_MONOTONIC lags behind by this number, as does
 * every wait that counts by it; CLOCK_BOOTTIME and its timers go on, and so do the servers. A guest
 * that its host pauses loses CLOCK_BOOTTIME, too. Its timers still go on here, so that they are
 * early; and nobody tells the process when its CLOCK_REALTIME is set.
 *
 * These functions replace those of the C library for the whole program, because the dynamic linker
 * finds the program's own first. GLib waits for a condition by the system call itself. */
#include "machine_sleep.h"

#include "shared.h"
#include "support/waiting.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REPLACES  __attribute__ ((visibility ("default")))
#define NS_PER_S  1000000000
#define NS_PER_MS 1000000
/* Seconds of the wall clock are more than this, and those since the start of a machine are less. */
#define LONGEST_UPTIME_S 1000000000

static const MachineClocks wakeful;
static const MachineClocks *clocks = &wakeful; /* the machine never sleeps */

void
machine_sleep_begin (const MachineClocks *of_process)
{
  clocks = of_process;
}

static gint64
lag_ns (void)
{
  return shared_get (&clocks->slept_ns);
}

/* By how much that clock is ahead of the machine's own. */
static gint64
ahead_ns (clockid_t clock)
{
  const gint64 ppm = shared_get (&clocks->wall_ppm);
  switch (clock) {
  case CLOCK_MONOTONIC:
  case CLOCK_MONOTONIC_COARSE:
    return -lag_ns ();
  case CLOCK_BOOTTIME:
    return -shared_get (&clocks->stopped_ns);
  case CLOCK_REALTIME:
  case CLOCK_REALTIME_COARSE:
    return shared_get (&clocks->wall_ns)
           + (ppm != 0 ? (wait_now_ns () - shared_get (&clocks->gains_from_ns)) / 1000000 * ppm
                       : 0);
  default:
    return 0;
  }
}

/* The C library's own function. Any thread looks it up; they find the same. */
static gpointer
find (gpointer *symbol, const char *name)
{
  gpointer found = g_atomic_pointer_get (symbol);
  if (found == NULL) {
    found = dlsym (RTLD_NEXT, name);
    g_atomic_pointer_set (symbol, found);
  }
  return found;
}

static __typeof__ (&syscall)
system_call (void)
{
  static gpointer symbol;
  return (__typeof__ (&syscall)) find (&symbol, "syscall");
}

static gint64
to_ns (const struct timespec *time)
{
  return (gint64) time->tv_sec * NS_PER_S + time->tv_nsec;
}

static struct timespec
from_ns (gint64 ns)
{
  return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

/* The machine may sleep between the two looks. */
REPLACES int
clock_gettime (clockid_t clock, struct timespec *time)
{
  gint64 before;
  gint64 ahead;
  int rc;
  do {
    before = lag_ns ();
    ahead = ahead_ns (clock);
    rc = (int) system_call () (SYS_clock_gettime, clock, time);
  } while (lag_ns () != before);
  if (rc == 0)
    *time = from_ns (to_ns (time) + ahead);
  return rc;
}

static gint64
now_ns (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return to_ns (&now);
}

REPLACES int
ppoll (struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
  const gint64 until = timeout != NULL ? now_ns () + to_ns (timeout) : 0;
  int ready;
  do {
    struct timespec left = from_ns (timeout != NULL ? MAX (until - now_ns (), 0) : 0);
    ready = (int) system_call () (SYS_ppoll, fds, n, timeout != NULL ? &left : NULL, mask,
                                  (long) (_NSIG / 8));
  } while (ready == 0 && timeout != NULL && now_ns () < until);
  return ready;
}

REPLACES int
poll (struct pollfd *fds, nfds_t n, int timeout_ms)
{
  const struct timespec timeout = from_ns ((gint64) MAX (timeout_ms, 0) * NS_PER_MS);
  return ppoll (fds, n, timeout_ms >= 0 ? &timeout : NULL, NULL);
}

/* The clock of the condition is not known; its numbers show it. */
REPLACES int
pthread_cond_timedwait (pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
  static gpointer symbol;
  const __typeof__ (&pthread_cond_timedwait) real_wait =
      (__typeof__ (&pthread_cond_timedwait)) find (&symbol, "pthread_cond_timedwait");
  int rc;
  const gboolean lags = until->tv_sec < LONGEST_UPTIME_S;
  do {
    const struct timespec real = from_ns (to_ns (until) + (lags ? lag_ns () : 0));
    rc = real_wait (cond, mutex, &real);
  } while (rc == ETIMEDOUT && lags && now_ns () < to_ns (until));
  return rc;
}

static long
wait_for_futex (const long *a)
{
  struct timespec timeout;
  memcpy (&timeout, (const void *) a[3], sizeof timeout); /* NOLINT(performance-no-int-to-ptr) */
  const gint64 until = now_ns () + to_ns (&timeout);
  long rc;
  do {
    timeout = from_ns (MAX (until - now_ns (), 0));
    rc = system_call () (SYS_futex, a[0], a[1], a[2], &timeout, a[4], a[5]);
  } while (rc != 0 && errno == ETIMEDOUT && now_ns () < until);
  return rc;
}

/* Nobody knows how many arguments there are; AddressSanitizer does not see the rest. */
REPLACES __attribute__ ((no_sanitize_address)) long
syscall (long number, ...)
{
  va_list arguments;
  long a[6];
  va_start (arguments, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg (arguments, long);
  va_end (arguments);
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && a[3] != 0)
    return wait_for_futex (a);
  return system_call () (number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
