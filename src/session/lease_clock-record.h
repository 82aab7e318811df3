/* The record of a lease clock, which a session embeds. */
#pragma once

#include "base/guards.h"
#include "base/lease_math.h"
#include "core/dispatch.h"

#include <glib.h>

typedef struct
{
  CuratorLeaseTerms terms CURATOR_GUARDED;
  CuratorLeaseEvidence evidence CURATOR_GUARDED;
  /* Of all holds of this session, by CLOCK_BOOTTIME; 0 while there is no proof. Written with the
   * mutex held, read without it. */
  _Atomic gint64 deadline_us;
  /* CLOCK_BOOTTIME of the first attempt to connect; 0: used or unknown. */
  gint64 connecting_us CURATOR_GUARDED;
  gboolean end_seen CURATOR_GUARDED; /* a hold was over by the clock; the timer ends the others */
  gboolean lapsed CURATOR_GUARDED;   /* the clock ended holds, and LOST is the state told last */
  gboolean suspect CURATOR_GUARDED;  /* the holds of this session are SUSPECT */
  CuratorTimer *lapse_timer CURATOR_GUARDED;
} CuratorLeaseClock;
