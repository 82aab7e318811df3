/* A sleep that ends on time when the machine has slept, too, or when somebody wakes it.
 *
 * Curator has no counterpart: Java's timers stand still with the machine. A condition variable cannot
 * wait by CLOCK_BOOTTIME, a descriptor can. Threads: one waits, any sets or wakes it; nothing is shared but
 * the descriptors.
 */
#include "base/alarm.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

gboolean
curator_alarm_open (CuratorAlarm *alarm)
{
  if (alarm->timer_fd >= 0)
    return TRUE;
  alarm->timer_fd = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  alarm->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (alarm->timer_fd >= 0 && alarm->wake_fd >= 0)
    return TRUE;
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
  alarm->timer_fd = -1;
  alarm->wake_fd = -1;
}

static void
drain (int fd)
{
  guint64 count;
  while (read (fd, &count, sizeof count) < 0 && errno == EINTR)
    {
    }
}

void
curator_alarm_set (CuratorAlarm *alarm, gint64 delay_us)
{
  /* All zero would stop the timer. */
  const gint64 us = MAX (delay_us, 1);
  struct itimerspec when = { 0 };

  if (delay_us != G_MAXINT64)
    {
      when.it_value.tv_sec = (time_t) (us / G_USEC_PER_SEC);
      when.it_value.tv_nsec = (long) (us % G_USEC_PER_SEC) * 1000;
    }
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
    drain (alarm->wake_fd);
}

void
curator_alarm_wake (CuratorAlarm *alarm)
{
  const guint64 one = 1;
  while (alarm->wake_fd >= 0 && write (alarm->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
    {
    }
}
