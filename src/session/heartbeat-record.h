/* The record of a session's heartbeat, which the session embeds. All times by CLOCK_BOOTTIME. */
#pragma once

#include "core/dispatch.h"

#include <glib.h>

typedef struct _CuratorRequest CuratorRequest;

typedef struct
{
  CuratorTimer *idle_timer;
  CuratorTimer *timer;
  gint64 due_us;           /* of timer */
  gint64 sent_us;          /* the newest heartbeat */
  gint64 far_due_us;       /* the next check of far nodes */
  CuratorRequest *request; /* the check in flight */
  GPtrArray *stakes;       /* what it checks; NULL where a stake was removed */
  gboolean was_late;       /* the newest answer to one, so that it proved nothing */
} CuratorHeartbeat;
