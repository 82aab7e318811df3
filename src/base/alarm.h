/* A sleep that ends on time when the machine has slept, too, or when somebody wakes it or sets the
 * wall clock. */
#pragma once

#include <glib.h>

typedef struct
{
  int timer_fd; /* of CLOCK_BOOTTIME */
  int wake_fd;  /* a timer of CLOCK_REALTIME */
} CuratorAlarm;

/* Harmless when it is open already. FALSE when no descriptors can be had. */
gboolean curator_alarm_open (CuratorAlarm *alarm);
/* Harmless when it is not open. */
void curator_alarm_close (CuratorAlarm *alarm);
/* From any thread; harmless when it is not open. The present wait, or else the next one, ends after
 * delay_us microseconds, sleep of the machine included; G_MAXINT64: when it is woken. Replaces what
 * was set before, and wakes nobody. */
void curator_alarm_set (CuratorAlarm *alarm, gint64 delay_us);
/* Blocks until the time that was set, or until CLOCK_REALTIME is set. One thread at a time. */
void curator_alarm_wait (CuratorAlarm *alarm);
/* From any thread; harmless when it is not open. Ends the present wait, or else the next one. */
void curator_alarm_wake (CuratorAlarm *alarm);
