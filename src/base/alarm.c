/* A sleep that ends on time also when the machine has slept, and that ends when somebody wakes it or
 * sets the wall clock.
 *
 * Curator has no counterpart: Java's timers stand still with the machine. A condition variable
 * cannot wait by CLOCK_BOOTTIME, a descriptor can. Threads: one waits, any sets or wakes it;
 * nothing is shared but the descriptors.
 *
 * NOTES: who wakes it sets a timer of CLOCK_REALTIME to a moment that has passed. Until then that
 * timer is set to one that never comes, and the kernel ends it when the clock is set.
 */
#include "base/alarm.h"

#include <errno.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define YEAR_2200_S ((time_t) G_GINT64_CONSTANT (7258118400))

/* A kernel that cannot tell when the clock is set wakes all the same. */
static void
wait_for_wake (int fd)
{
  const gboolean is_small = sizeof (time_t) == sizeof (gint32);
  const struct itimerspec never = { .it_value.tv_sec = is_small ? G_MAXINT32 : YEAR_2200_S };
  if (timerfd_settime (fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) != 0
      && errno == EINVAL)
    timerfd_settime (fd, TFD_TIMER_ABSTIME, &never, NULL);
}

gboolean
curator_alarm_open (CuratorAlarm *alarm)
{
  if (alarm->timer_fd >= 0)
    return TRUE;
  alarm->timer_fd = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  alarm->wake_fd = timerfd_create (CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (alarm->timer_fd >= 0 && alarm->wake_fd >= 0) {
    wait_for_wake (alarm->wake_fd);
    return TRUE;
  }
  curator_alarm_close (alarm);
  return FALSE;
}

void
curator_alarm_close (CuratorAlarm *alarm)
{
  if (alarm->timer_fd >= 0)
    close (alarm->timer_fd);
  if (alarm->wake_fd >= 0)
    close (alarm->wake_fd);
  *alarm = (CuratorAlarm){ -1, -1 };
}

void
curator_alarm_set (CuratorAlarm *alarm, gint64 delay_us)
{
  /* All zero stops the timer. */
  const gint64 us = delay_us == G_MAXINT64 ? 0 : MAX (delay_us, 1);
  const struct itimerspec when = { .it_value = { (time_t) (us / G_USEC_PER_SEC),
                                                 (long) (us % G_USEC_PER_SEC) * 1000 } };
  if (alarm->timer_fd >= 0)
    timerfd_settime (alarm->timer_fd, 0, &when, NULL);
}

void
curator_alarm_wait (CuratorAlarm *alarm)
{
  struct pollfd fds[] = { { .fd = alarm->wake_fd, .events = POLLIN },
                          { .fd = alarm->timer_fd, .events = POLLIN } };

  poll (fds, G_N_ELEMENTS (fds), -1);
  if (fds[0].revents != 0)
    wait_for_wake (alarm->wake_fd);
}

void
curator_alarm_wake (CuratorAlarm *alarm)
{
  const struct itimerspec past = { .it_value.tv_nsec = 1 };
  if (alarm->wake_fd >= 0)
    timerfd_settime (alarm->wake_fd, TFD_TIMER_ABSTIME, &past, NULL);
}
