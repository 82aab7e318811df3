/* The clock of leases: CLOCK_BOOTTIME, plus what CLOCK_REALTIME was set forward against it.
 *
 * Curator has no counterpart: Java's holders have no clock. Threads: any; no lock, atomics only.
 *
 * NOTES: CLOCK_BOOTTIME goes on while a machine sleeps, but not while a virtual machine is paused,
 * saved or moved by a host that stops its clocks. After that the host, or NTP, sets CLOCK_REALTIME
 * forward. Nobody can tell this from a clock that was wrong before, so every step forward is time
 * that has passed. A step back gives nothing back: the clock of leases is the later of what both
 * show.
 *
 * Only a jump makes holds doubtful. The clocks may also drift apart, so what is still none grows
 * with the time since they were compared.
 */
#include "base/lease_time.h"

/* A thread may have to wait for so long between its two readings. */
#define STEP_US G_GINT64_CONSTANT (100000)
/* Clocks that drift apart by less than 1/40 are slewed. */
#define SLEW_SHARE 40
#define COMPARE_US G_USEC_PER_SEC
/* Readings that are no further apart are of one moment. */
#define EXACT_US 1000

static gint64
raise_to (_Atomic gint64 *value, gint64 least)
{
  gint64 old = atomic_load (value);
  while (old < least && !atomic_compare_exchange_weak (value, &old, least)) {
  }
  return MAX (old, least);
}

/* Compares the clocks, unless somebody had to wait between the readings. If CLOCK_REALTIME has
 * fallen behind, slowly or at once, what it gains from now on counts again. FALSE: not now, or
 * another thread has done it. */
static gboolean
compare (CuratorLeaseTime *time, gint64 behind_us, gint64 gained_us, gint64 boottime_us,
         gint64 between_us)
{
  if (between_us < 0 || between_us > EXACT_US
      || (gained_us < 0
          && !atomic_compare_exchange_strong (&time->behind_us, &behind_us, behind_us - gained_us)))
    return FALSE;
  raise_to (&time->compared_us, boottime_us);
  return TRUE;
}

gint64
curator_lease_time_read (CuratorLeaseTime *time, CuratorReadClock read, gpointer data)
{
  /* Before the clocks: what others find meanwhile is newer. */
  const gint64 ahead_us = atomic_load (&time->ahead_us);
  gint64 behind_us = atomic_load (&time->behind_us);
  const gint64 compared_us = atomic_load (&time->compared_us);
  /* In this order CLOCK_REALTIME may seem to be late, but never early. */
  const gint64 realtime_us = read (CLOCK_REALTIME, data);
  const gint64 boottime_us = read (CLOCK_BOOTTIME, data);

  const gint64 first_us = boottime_us + ahead_us - realtime_us;
  if (behind_us == G_MININT64
      && atomic_compare_exchange_strong (&time->behind_us, &behind_us, first_us))
    behind_us = first_us;
  const gint64 since_us = boottime_us - compared_us;
  const gint64 allowed_us = STEP_US + MAX (since_us, 0) / SLEW_SHARE;
  const gint64 gained_us = realtime_us + behind_us - (boottime_us + ahead_us);
  const gboolean has_fallen = gained_us < -allowed_us;
  const gboolean is_exact = (has_fallen || since_us >= COMPARE_US)
                            && compare (time, behind_us, gained_us, boottime_us,
                                        read (CLOCK_REALTIME, data) - realtime_us);
  const gint64 now_us = boottime_us + raise_to (&time->ahead_us, ahead_us + MAX (gained_us, 0));
  if (gained_us > allowed_us || (has_fallen && is_exact))
    raise_to (&time->stepped_us, now_us);
  return now_us;
}

gint64
curator_lease_time_stepped (CuratorLeaseTime *time)
{
  return atomic_load (&time->stepped_us);
}

static CuratorLeaseTime machine = CURATOR_LEASE_TIME_INIT;

static gint64
read_machine (clockid_t clock, gpointer data)
{
  struct timespec now;
  clock_gettime (clock, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

gint64
curator_lease_time_us (void)
{
  return curator_lease_time_read (&machine, read_machine, NULL);
}

gint64
curator_lease_time_stepped_us (void)
{
  return curator_lease_time_stepped (&machine);
}
