/* Time for tests: one monotonic clock, and waiting for a condition with a bound. */
#pragma once

#include <glib.h>

gint64 wait_now_ns (void); /* CLOCK_MONOTONIC */
gint64 wait_now_ms (void);
void wait_ms (int ms);

typedef gboolean (*WaitCondition) (gpointer data);

/* Polls every few milliseconds; TRUE as soon as the condition holds, FALSE after timeout_ms. */
gboolean wait_until (WaitCondition condition, gpointer data, int timeout_ms);

/* Waits until the condition holds, and says whether it does. */
#define holds_within(condition, timeout_ms)                                                        \
  (__extension__({                                                                                 \
    const gint64 until_ms = wait_now_ms () + (timeout_ms);                                         \
    gboolean came_true;                                                                            \
    while (!(came_true = (condition)) && wait_now_ms () <= until_ms)                               \
      wait_ms (2);                                                                                 \
    came_true;                                                                                     \
  }))
