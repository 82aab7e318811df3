/* Timers come in the order in which they are due, and those of one moment in the order in which
 * they were set, whatever was cancelled in between. The moments are random: soon and late, with many
 * ties. */
#include "core/timers.h"
#include "unit.h"

#define N_STEPS      20000
#define MOST_PENDING 100
#define MOMENT_US    10

static void
do_nothing (gpointer data)
{
}

static gint64
choose_moment (GRand *rand, gint64 now_us)
{
  static const int delays_us[] = { 0, 10, 50, 5000 };
  const int delay_us = delays_us[g_rand_int_range (rand, 0, G_N_ELEMENTS (delays_us))];
  return (now_us + g_rand_int_range (rand, 0, delay_us + 1)) / MOMENT_US * MOMENT_US;
}

/* pending: in the order in which they were set. */
static guint
find_first (const GPtrArray *pending)
{
  guint first = 0;
  for (guint i = 1; i < pending->len; i++) {
    const CuratorTimer *timer = g_ptr_array_index (pending, i);
    if (timer->when_us < ((CuratorTimer *) g_ptr_array_index (pending, first))->when_us)
      first = i;
  }
  return first;
}

static void
check_first (CuratorTimers *timers, const GPtrArray *pending)
{
  gint64 due_us;
  curator_not_shared ();
  const CuratorTimer *first = curator_timers_first (timers, NULL, &due_us);
  assert_ptr_equal (first,
                    pending->len > 0 ? g_ptr_array_index (pending, find_first (pending)) : NULL);
  assert_true (due_us == (first != NULL ? first->when_us : G_MAXINT64));
}

TEST (test_order)
{
  g_autoptr (GRand) rand = unit_rand_new ("order");
  g_autoptr (GPtrArray) pending = g_ptr_array_new ();
  CuratorTimers timers = { 0 };
  curator_not_shared ();
  curator_timers_init (&timers);
  for (guint step = 0; step < N_STEPS; step++) {
    if (g_rand_int_range (rand, 0, MOST_PENDING) >= (gint) pending->len) {
      g_ptr_array_add (pending,
                       curator_timers_insert (&timers, CURATOR_CLOCK_RUNNING,
                                              choose_moment (rand, step), do_nothing, NULL));
    } else {
      const guint ended = g_rand_boolean (rand)
                              ? find_first (pending)
                              : (guint) g_rand_int_range (rand, 0, (gint) pending->len);
      curator_timers_remove (&timers, g_ptr_array_remove_index (pending, ended));
    }
    check_first (&timers, pending);
  }
  curator_timers_clear (&timers);
}

SUITE ("timers", NULL, NULL)
