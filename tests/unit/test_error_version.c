/* Error domains, the version and the names of states. */
#include "unit.h"

#include <curator/curator.h>

TEST (test_domains_are_distinct_and_stable)
{
  assert_int_not_equal (CURATOR_ERROR, 0);
  assert_int_not_equal (CURATOR_ZK_ERROR, 0);
  assert_int_not_equal (CURATOR_ERROR, CURATOR_ZK_ERROR);
  assert_int_equal (CURATOR_ERROR, curator_error_quark ());
  assert_string_equal (g_quark_to_string (CURATOR_ERROR), "curator-error-quark");
  assert_string_equal (g_quark_to_string (CURATOR_ZK_ERROR), "curator-zk-error-quark");
}

/* Programs are compiled against these numbers: append, never insert. */
TEST (test_codes_keep_their_numbers)
{
  assert_int_equal (CURATOR_ERROR_INVALID_ARGUMENT, 0);
  assert_int_equal (CURATOR_ERROR_NOT_STARTED, 1);
  assert_int_equal (CURATOR_ERROR_CLOSED, 2);
  assert_int_equal (CURATOR_ERROR_TIMED_OUT, 3);
  assert_int_equal (CURATOR_ERROR_NOT_OWNER, 4);
  assert_int_equal (CURATOR_ERROR_LOCK_LOST, 5);
  assert_int_equal (CURATOR_ERROR_RELEASE_PENDING, 6);
  assert_int_equal (CURATOR_ERROR_CONNECTION_LOST, 7);
  assert_int_equal (CURATOR_ERROR_SESSION_EXPIRED, 8);
  assert_int_equal (CURATOR_ERROR_AUTH_FAILED, 9);
  assert_int_equal (CURATOR_ERROR_SEQUENCE_EXHAUSTED, 10);
  assert_int_equal (CURATOR_ERROR_UNSUPPORTED, 11);
  assert_int_equal (CURATOR_ERROR_FORKED, 12);
  assert_int_equal (CURATOR_ERROR_LIMIT_EXCEEDED, 13);
  assert_int_equal (CURATOR_ERROR_NO_ANSWER, 14);
  assert_int_equal (CURATOR_ERROR_RESOURCES, 15);
  assert_int_equal (CURATOR_ERROR_ALREADY_STARTED, 16);
}

TEST (test_version_is_that_of_the_headers)
{
  g_autofree char *expected =
      g_strdup_printf ("%d.%d.%d%s", CURATOR_MAJOR_VERSION, CURATOR_MINOR_VERSION,
                       CURATOR_MICRO_VERSION, CURATOR_VERSION_SUFFIX);

  assert_string_equal (curator_get_version (), expected);
#if !CURATOR_CHECK_VERSION(0, 2, 99)
#error "a later minor version counts for more than any micro version"
#endif
  assert_true (
      CURATOR_CHECK_VERSION (CURATOR_MAJOR_VERSION, CURATOR_MINOR_VERSION, CURATOR_MICRO_VERSION));
  assert_false (CURATOR_CHECK_VERSION (CURATOR_MAJOR_VERSION, CURATOR_MINOR_VERSION,
                                       CURATOR_MICRO_VERSION + 1));
  assert_false (CURATOR_CHECK_VERSION (CURATOR_MAJOR_VERSION, CURATOR_MINOR_VERSION + 1, 0));
  assert_false (CURATOR_CHECK_VERSION (CURATOR_MAJOR_VERSION + 1, 0, 0));
}

TEST (test_state_names)
{
  static const char *const connection[] = { "CONNECTED", "SUSPENDED", "RECONNECTED", "LOST",
                                            "READ_ONLY" };
  static const char *const lease[] = { "HELD", "SUSPECT", "LOST", "RELEASED" };

  for (guint i = 0; i < G_N_ELEMENTS (connection); i++)
    {
      assert_string_equal (curator_connection_state_to_string ((CuratorConnectionState) i),
                           connection[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (lease); i++)
    assert_string_equal (curator_lease_state_to_string ((CuratorLeaseState) i), lease[i]);
  assert_string_equal (curator_connection_state_to_string ((CuratorConnectionState) 7), "UNKNOWN");
  assert_string_equal (curator_lease_state_to_string ((CuratorLeaseState) 7), "UNKNOWN");
}

SUITE ("error version", NULL, NULL)
