/* Semaphores in C and Java on one path: never more leases than there are. */
#include "contest_test.h"

TEST (test_sizes)
{
  static const int sizes[] = { 1, 3, 10 };

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      const int size = sizes[i];
      g_autofree char *path = g_strdup_printf ("/interop/semaphore-%d", size);
      g_autofree char *recipe = g_strdup_printf ("semaphore:%d", size);
      g_autoptr (GArray) events =
          contest_three (server, path, recipe, recipe, 6, 60, size > 1 ? 5 : 1, size);
      const int peak = contest_peak (events, RECORD_SEMAPHORE, 0, G_MAXINT64);
      print_message ("%d leases: at most %d at a time\n", size, peak);
      assert_true (peak <= size && peak >= MIN (size, 3));
      assert_semaphore_is_free (server, path);
    }
}

/* Leases wanted two at a time in C, one at a time in Java. */
TEST (test_several_at_a_time)
{
  g_array_unref (
      contest_three (server, "/interop/several", "semaphore:3:2", "semaphore:3", 3, 60, 2, 3));
  assert_semaphore_is_free (server, "/interop/several");
}

SUITE ("interop: semaphores", contest_server_start, contest_server_stop)
