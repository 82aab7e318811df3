/* Read-write locks in C and Java on one path: readers overlap, writers never, and no writer of
 * either language is granted during a downgrade in C. */
#include "contest_test.h"

TEST (test_readers_and_writers)
{
  g_autoptr (GArray) events = contest_three (server, "/interop/rw", "rw", "rw", 6, 70, 2, 1);
  const int readers = contest_peak (events, RECORD_READ, 0, G_MAXINT64);
  print_message ("at most %d readers and %d writer at a time\n", readers,
                 contest_peak (events, RECORD_WRITE, 0, G_MAXINT64));
  assert_true (readers > 1);
  assert_int_equal (contest_peak (events, RECORD_WRITE, 0, G_MAXINT64), 1);
  assert_none_below (server, "/interop/rw");
}

/* The read node of a writer is created after the nodes of the waiting writers, so its token is
 * higher than theirs. Between writers tokens still rise. */
static gboolean
is_token_of_a_reader (const GArray *events, const CheckViolation *violation)
{
  const RecordEvent *first = &g_array_index (events, RecordEvent, violation->first);
  return violation->kind == CHECK_TOKEN_NOT_RISING && first->kind == RECORD_READ;
}

TEST (test_downgrade)
{
  const ContestProcess processes[] = { { "downgrade", FALSE, 3, 60 },
                                       { "downgrade", FALSE, 3, 60 },
                                       { "write", FALSE, 2, 60 },
                                       { "write", TRUE, 4, 60 },
                                       { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = "/interop/downgrade",
                             .processes = processes,
                             .hold_ms = 2,
                             .limit = 1 };
  const CheckerRules rules = { .residue_ms = 1000 };
  g_autoptr (GArray) events = contest_run (&plan, 90000);
  assert_non_null (events);
  g_autoptr (GPtrArray) violations = checker_run (events, &rules);
  g_autoptr (GPtrArray) bad = g_ptr_array_new ();
  for (guint i = 0; i < violations->len; i++)
    if (!is_token_of_a_reader (events, g_ptr_array_index (violations, i)))
      g_ptr_array_add (bad, g_ptr_array_index (violations, i));
  assert_int_equal (checker_print (bad), 0);
  assert_int_equal (contest_grants (events, 0), 2 * 360 + 120 + 240);
  assert_none_below (server, "/interop/downgrade");
}

SUITE ("interop: read-write locks", contest_server_start, contest_server_stop)
