/* The library's clocks: waits do not depend on the wall clock, and leases only become shorter by
 * it.
 *
 * The C library's clock_gettime is hidden behind ours, which lets the wall clock step.
 */
#include "core/client-record.h"
#include "core/zk_ops.h"
#include "unit.h"

#include "curator/curator.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOUR_US (3600 * (gint64) G_USEC_PER_SEC)

static gint step_s; /* atomic */

int
clock_gettime (clockid_t clock, struct timespec *now)
{
  const int rc = (int) syscall (SYS_clock_gettime, clock, now);

  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    now->tv_sec += g_atomic_int_get (&step_s);
  return rc;
}

static gint64
wall_us (void)
{
  struct timespec now;
  clock_gettime (CLOCK_REALTIME, &now);
  return (gint64) now.tv_sec * G_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* The clocks of deadlines, timeouts and leases. A step forward may be the end of a pause in which
 * every clock stood still; a step back gives nothing back. */
TEST (test_wall_clock_steps)
{
  CuratorZkOps *ops = curator_zk_ops_real ();
  static const int steps[] = { 3600, -3600, 7200 };

  for (gsize i = 0; i < G_N_ELEMENTS (steps); i++) {
    const gint64 wall = wall_us ();
    const gint64 boottime = ops->clocks.boottime_us (ops);
    const gint64 monotonic = ops->clocks.monotonic_us (ops);

    g_atomic_int_add (&step_s, steps[i]);
    assert_true (ABS (wall_us () - wall) > HOUR_US / 2);
    const gint64 passed = ops->clocks.boottime_us (ops) - boottime;
    assert_in_range (passed - MAX (steps[i], 0) * (gint64) G_USEC_PER_SEC, 0, HOUR_US / 2);
    assert_in_range (ops->clocks.stepped_us (ops), boottime, boottime + passed);
    assert_in_range (ops->clocks.monotonic_us (ops) - monotonic, 0, HOUR_US / 2);
  }
}

static gint is_waiting; /* atomic */

static gpointer
step_back_while_waiting (gpointer data)
{
  while (!g_atomic_int_get (&is_waiting))
    g_thread_yield ();
  g_atomic_int_add (&step_s, -3600);
  return NULL;
}

/* No server listens at port 1: the call has to end by its own timeout. */
TEST (test_timeout_over_a_step)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_one_time (10);
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", policy);
  g_autoptr (GError) error = NULL;
  GThread *thread = g_thread_new ("stepper", step_back_while_waiting, NULL);
  const gint64 before = g_get_monotonic_time ();

  assert_true (curator_client_start (client, NULL));
  g_atomic_int_set (&is_waiting, TRUE);
  assert_false (curator_client_block_until_connected (client, 500, NULL, &error));
  assert_true (g_get_monotonic_time () - before >= 500 * 1000);
  g_thread_join (thread);
  curator_client_close (client);
}

int
main (void)
{
  g_log_set_writer_func (unit_swallow_warnings, NULL, NULL);
  return suite_run ("clocks", NULL, NULL);
}
