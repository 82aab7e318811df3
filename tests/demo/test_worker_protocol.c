/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol.h"

#include "support/suite.h"

TEST (a_grant_has_thread_time_node_and_token)
{
  g_auto (WorkerEvent) event = { .type = WORKER_ERROR };

  assert_true (worker_event_parse ("GRANTED 2 1799630972059 _c_33b4952e-lock-0000000007 4294967312",
                                   &event));
  assert_int_equal (event.type, WORKER_GRANTED);
  assert_int_equal (event.thread, 2);
  assert_int_equal (event.time_ns, G_GINT64_CONSTANT (1799630972059));
  assert_string_equal (event.text, "_c_33b4952e-lock-0000000007");
  assert_int_equal (event.token, G_GUINT64_CONSTANT (4294967312));
}

TEST (the_short_events_are_known)
{
  WorkerEvent event;

  assert_true (worker_event_parse ("QUEUED 1 5", &event));
  assert_int_equal (event.type, WORKER_QUEUED);
  assert_true (worker_event_parse ("RELEASED 3 6", &event));
  assert_int_equal (event.type, WORKER_RELEASED);
  assert_int_equal (event.thread, 3);
  assert_true (worker_event_parse ("DONE", &event));
  assert_int_equal (event.type, WORKER_DONE);
}

TEST (an_error_keeps_its_words)
{
  g_auto (WorkerEvent) event = { .type = WORKER_DONE };

  assert_true (worker_event_parse ("ERROR no connection to 127.0.0.1", &event));
  assert_int_equal (event.type, WORKER_ERROR);
  assert_string_equal (event.text, "no connection to 127.0.0.1");
}

TEST (anything_else_is_refused)
{
  const char *const lines[] = { "",
                                "HELLO",
                                "QUEUED",
                                "QUEUED 1",
                                "QUEUED one 5",
                                "QUEUED 0 5",
                                "QUEUED 1 5 6",
                                "GRANTED 1 5 node",
                                "GRANTED 1 5 node -1",
                                "GRANTED 1 5 node 0",
                                "RELEASED 1 99999999999999999999",
                                "DONE now" };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++) {
    WorkerEvent event;

    assert_false (worker_event_parse (lines[i], &event));
    assert_null (event.text);
  }
}

SUITE ("worker protocol", NULL, NULL)
