/* The machine of a process sleeps: see machine_sleep.c. */
#pragma once

#include <glib.h>

/* What another process changes while this one is stopped. Nanoseconds. */
typedef struct
{
  gint64 slept_ns; /* CLOCK_MONOTONIC lags by this */
  gint64
      stopped_ns;  /* and CLOCK_BOOTTIME: the machine is a guest, and was paused with its clocks */
  gint64 wall_ns;  /* CLOCK_REALTIME was set forward by this */
  gint64 wall_ppm; /* and gains so much */
  gint64 gains_from_ns; /* since then, by wait_now_ns() */
} MachineClocks;

/* From now on the process sees these clocks. */
void machine_sleep_begin (const MachineClocks *clocks);
