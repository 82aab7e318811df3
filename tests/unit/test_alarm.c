/* The alarm that the timer thread waits for, on real descriptors, and the order of timers of both
 * clocks. */
#include "base/alarm.h"
#include "core/client-record.h"
#include "core/dispatch-private.h"
#include "core/dispatch.h"
#include "core/monitor.h"
#include "unit.h"

#include "curator/curator.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LONG_US (3600 * (gint64) G_USEC_PER_SEC) /* a test that waits so long is ended */

/* --- the alarm -------------------------------------------------------------------------------- */

static gint64
waited_us (CuratorAlarm *alarm, gint64 delay_us)
{
  const gint64 before = g_get_monotonic_time ();
  curator_alarm_set (alarm, delay_us);
  curator_alarm_wait (alarm);
  return g_get_monotonic_time () - before;
}

TEST (test_expires)
{
  CuratorAlarm alarm = { -1, -1 };
  assert_true (curator_alarm_open (&alarm));
  assert_true (curator_alarm_open (&alarm));
  assert_in_range (waited_us (&alarm, 30000), 29000, LONG_US);
  /* An expiry that was waited for does not end the next wait. */
  assert_in_range (waited_us (&alarm, 30000), 29000, LONG_US);
  assert_in_range (waited_us (&alarm, 0), 0, LONG_US);
  assert_in_range (waited_us (&alarm, -5), 0, LONG_US);
  curator_alarm_close (&alarm);
  curator_alarm_close (&alarm);
}

TEST (test_woken_before)
{
  CuratorAlarm alarm = { -1, -1 };
  curator_alarm_wake (&alarm);
  assert_true (curator_alarm_open (&alarm));
  curator_alarm_wake (&alarm);
  curator_alarm_wake (&alarm);
  assert_in_range (waited_us (&alarm, G_MAXINT64), 0, LONG_US);
  /* Both wake-ups ended the same wait. */
  assert_in_range (waited_us (&alarm, 30000), 29000, LONG_US);
  curator_alarm_close (&alarm);
}

static gpointer
wake_later (gpointer alarm)
{
  g_usleep (50000);
  curator_alarm_wake (alarm);
  return NULL;
}

TEST (test_woken_meanwhile)
{
  static const gint64 delays[] = { LONG_US, G_MAXINT64 };
  CuratorAlarm alarm = { -1, -1 };
  assert_true (curator_alarm_open (&alarm));
  for (gsize i = 0; i < G_N_ELEMENTS (delays); i++)
    {
      GThread *thread = g_thread_new ("waker", wake_later, &alarm);
      assert_in_range (waited_us (&alarm, delays[i]), 0, LONG_US - 1);
      g_thread_join (thread);
    }
  curator_alarm_close (&alarm);
}

static gpointer
set_later (gpointer alarm)
{
  g_usleep (50000);
  curator_alarm_set (alarm, 1000);
  return NULL;
}

/* A wait ends by the time that was set last, whether that is earlier or later. */
TEST (test_set_meanwhile)
{
  static const gint64 delays[] = { LONG_US, G_MAXINT64, 51000 };
  CuratorAlarm alarm = { -1, -1 };
  curator_alarm_set (&alarm, 0);
  assert_true (curator_alarm_open (&alarm));
  for (gsize i = 0; i < G_N_ELEMENTS (delays); i++)
    {
      const gint64 before = g_get_monotonic_time ();
      curator_alarm_set (&alarm, delays[i]);
      GThread *thread = g_thread_new ("setter", set_later, &alarm);
      curator_alarm_wait (&alarm);
      assert_true (g_get_monotonic_time () - before >= 49000);
      g_thread_join (thread);
    }
  curator_alarm_set (&alarm, 0);
  curator_alarm_set (&alarm, 30000);
  assert_in_range (waited_us (&alarm, 30000), 29000, LONG_US);
  curator_alarm_close (&alarm);
}

/* With no descriptor, or only one, it does not open, keeps none, and opens later. */
TEST (test_no_descriptor)
{
  struct rlimit before;
  CuratorAlarm alarm = { -1, -1 };

  assert_int_equal (getrlimit (RLIMIT_NOFILE, &before), 0);
  const int next = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  close (next);
  for (int n_free = 0; n_free < 2; n_free++)
    {
      const struct rlimit few = { .rlim_cur = (rlim_t) (next + n_free),
                                  .rlim_max = before.rlim_max };
      assert_int_equal (setrlimit (RLIMIT_NOFILE, &few), 0);
      const gboolean opened = curator_alarm_open (&alarm);
      assert_int_equal (setrlimit (RLIMIT_NOFILE, &before), 0);
      assert_false (opened);
      assert_int_equal (alarm.timer_fd, -1);
      assert_int_equal (alarm.wake_fd, -1);
      const int again = open ("/dev/null", O_RDONLY | O_CLOEXEC);
      assert_int_equal (again, next);
      close (again);
    }
  assert_true (curator_alarm_open (&alarm));
  curator_alarm_close (&alarm);
}

/* --- timers of two clocks --------------------------------------------------------------------- */

static gint64 monotonic; /* what the machine's clocks show */
static gint64 asleep;    /* for how long it has slept */
static GString *fired;

static gint64
monotonic_us (CuratorZkOps *ops)
{
  return monotonic;
}

static gint64
boottime_us (CuratorZkOps *ops)
{
  return monotonic + asleep;
}

static void
random_bytes (CuratorZkOps *ops, guint8 *bytes, gsize length)
{
  memset (bytes, 7, length);
}

static char names[] = "aBcDEx";

static CURATOR_LOCKED void
fire (gpointer name)
{
  g_string_append_c (fired, *(const char *) name);
}

static void
expect_fired (CuratorClient *client, const char *expected)
{
  while (curator_dispatch_step (client, CURATOR_LANE_TIMERS))
    {
    }
  assert_string_equal (fired->str, expected);
  g_string_truncate (fired, 0);
}

TEST (test_machine_sleeps)
{
  CuratorZkOps ops = { .boottime_us = boottime_us,
                       .monotonic_us = monotonic_us,
                       .random = random_bytes };
  monotonic = 1000000;
  asleep = 500000;
  fired = g_string_new (NULL);
  CuratorClient *client = curator_client_new_with_ops ("127.0.0.1:1", NULL, &ops);
  curator_client_lock (client);
  curator_timer_after (client, 100, fire, &names[0]);
  curator_timer_at_boottime (client, boottime_us (NULL) + 200, fire, &names[1]);
  curator_timer_after (client, 300, fire, &names[2]);
  curator_timer_at_boottime (client, boottime_us (NULL) + 50, fire, &names[3]);
  CuratorTimer *cancelled =
      curator_timer_at_boottime (client, boottime_us (NULL) + 10, fire, &names[5]);
  curator_timer_at_boottime (client, boottime_us (NULL) + 5000, fire, &names[4]);
  curator_timer_cancel (client, &cancelled);
  curator_client_unlock (client);
  expect_fired (client, "");
  assert_int_equal (curator_dispatch_ready_at (client, CURATOR_LANE_TIMERS), monotonic + 50);
  monotonic += 120;
  expect_fired (client, "Da");
  /* What is due by boot time fires at once after the sleep; the others have to wait. */
  asleep += 1000;
  assert_in_range (curator_dispatch_ready_at (client, CURATOR_LANE_TIMERS), 0, monotonic);
  expect_fired (client, "B");
  assert_int_equal (curator_dispatch_ready_at (client, CURATOR_LANE_TIMERS), monotonic + 180);
  monotonic += 180;
  expect_fired (client, "c");
  asleep += 5000;
  expect_fired (client, "E");
  assert_int_equal (curator_dispatch_ready_at (client, CURATOR_LANE_TIMERS), G_MAXINT64);
  curator_client_unref (client);
  g_string_free (fired, TRUE);
}

SUITE ("alarm", NULL, NULL)
