/* The clock of leases: CLOCK_BOOTTIME, plus what CLOCK_REALTIME was set forward against it. */
#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <time.h>

/* What has been seen of the two clocks. Microseconds; points in time are of the clock of leases. */
typedef struct
{
  _Atomic gint64 ahead_us;    /* of CLOCK_BOOTTIME; never falls */
  _Atomic gint64 behind_us;   /* what CLOCK_REALTIME lacks to show the same; never falls */
  _Atomic gint64 compared_us; /* by CLOCK_BOOTTIME: when behind_us was brought up to date */
  _Atomic gint64 stepped_us;  /* when the clocks were last found to have jumped; 0: never */
} CuratorLeaseTime;

#define CURATOR_LEASE_TIME_INIT                                                                    \
  {                                                                                                \
    .behind_us = G_MININT64                                                                        \
  }

typedef gint64 (*CuratorReadClock) (clockid_t clock, gpointer data);

/* Never falls. From any thread, without a lock. */
gint64 curator_lease_time_read (CuratorLeaseTime *time, CuratorReadClock read, gpointer data);
/* When a jump was found last, by the same clock; 0: never. A slew of 2 % is none. */
gint64 curator_lease_time_stepped (CuratorLeaseTime *time);

/* The same of this machine's clocks, for the whole process. */
gint64 curator_lease_time_us (void);
gint64 curator_lease_time_stepped_us (void);
