/* The alarm that the timer thread waits for, on real descriptors. The order of its timers: sim/. */
#include "base/alarm.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LONG_US (3600 * (gint64) G_USEC_PER_SEC) /* a test that waits so long is ended */

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

static gpointer
set_later (gpointer alarm)
{
  g_usleep (50000);
  curator_alarm_set (alarm, 1000);
  return NULL;
}

/* A wait ends when somebody wakes it, or by the time that was set last, whether that is earlier or
 * later. */
TEST (test_meanwhile)
{
  static const struct
  {
    GThreadFunc meanwhile;
    gint64 delay_us;
  } waits[] = { { wake_later, LONG_US },
                { wake_later, G_MAXINT64 },
                { set_later, LONG_US },
                { set_later, G_MAXINT64 },
                { set_later, 51000 } };
  CuratorAlarm alarm = { -1, -1 };
  curator_alarm_set (&alarm, 0);
  assert_true (curator_alarm_open (&alarm));
  for (gsize i = 0; i < G_N_ELEMENTS (waits); i++) {
    const gint64 before = g_get_monotonic_time ();
    curator_alarm_set (&alarm, waits[i].delay_us);
    GThread *thread = g_thread_new ("meanwhile", waits[i].meanwhile, &alarm);
    curator_alarm_wait (&alarm);
    assert_true (g_get_monotonic_time () - before >= 49000);
    g_thread_join (thread);
  }
  curator_alarm_set (&alarm, 0);
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
  for (int n_free = 0; n_free < 2; n_free++) {
    const struct rlimit few = { .rlim_cur = (rlim_t) (next + n_free), .rlim_max = before.rlim_max };
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

SUITE ("alarm", NULL, NULL)
