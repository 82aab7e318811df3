/* The clock of leases on random histories of a machine: paused with its clocks, set right after a
 * while, set forward or back, slewed, with threads that have to wait in the middle of a look and
 * with other threads' looks there.
 */
#include "base/lease_time.h"
#include "unit.h"

#define N_CASES   20000
#define N_LOOKS   40
#define SECOND_US ((gint64) G_USEC_PER_SEC)

typedef struct
{
  GRand *rand;
  CuratorLeaseTime time;
  gint64 true_us;
  gint64 stopped_us; /* CLOCK_BOOTTIME lags by that */
  gint64 wall_us;    /* CLOCK_REALTIME is ahead by that */
  double gain;       /* and gains so much */
  double gained_us;
  gboolean is_busy; /* looks are interrupted */
  gboolean is_inside;
  gint64 newest_us; /* of all looks that have ended */
} Machine;

static void
pass (Machine *machine, gint64 us)
{
  machine->true_us += us;
  machine->gained_us += machine->gain * (double) us;
}

static gint64
below (Machine *machine, gint64 limit)
{
  return (gint64) (g_rand_double (machine->rand) * (double) limit);
}

static gint64 look (Machine *machine);

/* The thread has to wait, and meanwhile another one looks. */
static void
interrupt (Machine *machine)
{
  pass (machine, below (machine, g_rand_boolean (machine->rand) ? 2000 : 40000));
  if (!machine->is_inside && g_rand_boolean (machine->rand)) {
    machine->is_inside = TRUE;
    look (machine);
    machine->is_inside = FALSE;
  }
}

static gint64
read_clock (clockid_t clock, gpointer data)
{
  Machine *machine = data;
  if (machine->is_busy && g_rand_int_range (machine->rand, 0, 4) == 0)
    interrupt (machine);
  return clock == CLOCK_REALTIME ? machine->true_us + machine->wall_us + (gint64) machine->gained_us
                                 : machine->true_us - machine->stopped_us;
}

static gint64
look (Machine *machine)
{
  const gint64 before_us = machine->newest_us;
  const gint64 now_us = curator_lease_time_read (&machine->time, read_clock, machine);
  assert_true (now_us >= before_us);
  machine->newest_us = MAX (machine->newest_us, now_us);
  return now_us;
}

static Machine
machine_new (GRand *rand)
{
  Machine machine = { .rand = rand,
                      .time = CURATOR_LEASE_TIME_INIT,
                      .true_us = below (&(Machine){ .rand = rand }, 1000 * SECOND_US),
                      .is_busy = g_rand_boolean (rand) };
  machine.wall_us = g_rand_boolean (rand) ? 1700000000 * SECOND_US : 0;
  look (&machine);
  /* What a thread that had to wait saw first is put right. */
  machine.is_busy = FALSE;
  look (&machine);
  machine.is_busy = g_rand_boolean (rand);
  return machine;
}

/* Whatever happens: no less has passed than really has, as soon as the wall clock is right, and
 * what CLOCK_BOOTTIME says has passed at any time. */
TEST (test_pauses_count)
{
  g_autoptr (GRand) rand = unit_rand_new ("test_pauses_count");
  for (int c = 0; c < N_CASES; c++) {
    Machine machine = machine_new (rand);
    for (int i = 0; i < N_LOOKS; i++) {
      const gint64 from_us = look (&machine);
      const gint64 began_us = machine.true_us;
      const gint64 lag_us = machine.stopped_us;
      const gint64 paused_us = below (&machine, g_rand_int_range (rand, 1, 100) * SECOND_US);
      pass (&machine, paused_us);
      machine.stopped_us += paused_us;
      machine.wall_us -= paused_us;
      for (int looks = g_rand_int_range (rand, 0, 3); looks > 0; looks--) {
        pass (&machine, below (&machine, SECOND_US));
        const gint64 passed_us = machine.true_us - began_us - (machine.stopped_us - lag_us);
        assert_true (look (&machine) - from_us >= passed_us);
      }
      machine.wall_us += paused_us;
      const gint64 passed_us = machine.true_us - began_us;
      const gint64 now_us = look (&machine);
      assert_true (now_us - from_us >= passed_us);
      if (!machine.is_busy) {
        assert_true (now_us - from_us <= passed_us);
        assert_true (paused_us < SECOND_US || curator_lease_time_stepped (&machine.time) > from_us);
      }
    }
  }
}

/* A step back gives nothing back and hides nothing that follows; every step is noticed. */
TEST (test_steps_back)
{
  g_autoptr (GRand) rand = unit_rand_new ("test_steps_back");
  for (int c = 0; c < N_CASES; c++) {
    Machine machine = machine_new (rand);
    machine.is_busy = FALSE;
    for (int i = 0; i < N_LOOKS; i++) {
      const gint64 from_us = look (&machine);
      const gint64 began_us = machine.true_us;
      const gint64 step_us = below (&machine, 4000 * SECOND_US) - 2000 * SECOND_US;
      /* Time has passed: a step in the microsecond of the last look has its moment. */
      pass (&machine, 1 + below (&machine, 3 * SECOND_US));
      machine.wall_us += step_us;
      const gint64 passed_us = look (&machine) - from_us - MAX (step_us, 0);
      const gint64 missed_us = machine.true_us - began_us - passed_us;
      /* A step back that is small enough for a slew, just before. */
      assert_in_range (missed_us, 0, SECOND_US / 5);
      assert_true (ABS (step_us) < SECOND_US
                   || curator_lease_time_stepped (&machine.time) > from_us);
    }
  }
}

/* A slew is no jump, however seldom and in whatever state anybody looks. */
TEST (test_slews)
{
  static const double gains[] = { 0, 0.0005, -0.0005, 0.02, -0.02 };
  g_autoptr (GRand) rand = unit_rand_new ("test_slews");
  for (int c = 0; c < N_CASES; c++) {
    Machine machine = machine_new (rand);
    machine.gain = gains[g_rand_int_range (rand, 0, G_N_ELEMENTS (gains))];
    const gint64 stepped_us = curator_lease_time_stepped (&machine.time);
    const gint64 longest_us = g_rand_boolean (rand) ? 100 * SECOND_US : SECOND_US / 10;
    const gint64 from_us = look (&machine);
    const gint64 began_us = machine.true_us;
    for (int i = 0; i < N_LOOKS; i++) {
      pass (&machine, below (&machine, longest_us));
      look (&machine);
    }
    const double passed_us = (double) (machine.true_us - began_us);
    const double seen_us = (double) (look (&machine) - from_us);
    assert_int_equal (curator_lease_time_stepped (&machine.time), stepped_us);
    assert_true (seen_us <= passed_us * (1 + MAX (machine.gain, 0)) + N_LOOKS * 2000.0 + 100000);
  }
}

SUITE ("lease time", NULL, NULL)
