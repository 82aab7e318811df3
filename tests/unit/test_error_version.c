/* Error domains, the version and the names of states. */
#include "unit.h"

#include <curator/curator.h>

TEST (test_domains_keep_their_names)
{
  assert_string_equal (g_quark_to_string (CURATOR_ERROR), "curator-error-quark");
  assert_string_equal (g_quark_to_string (CURATOR_ZK_ERROR), "curator-zk-error-quark");
}

/* Programs are compiled against these numbers: append, never insert. */
TEST (test_codes_keep_their_numbers)
{
  static const CuratorError codes[] = {
    CURATOR_ERROR_INVALID_ARGUMENT, CURATOR_ERROR_NOT_STARTED,        CURATOR_ERROR_CLOSED,
    CURATOR_ERROR_TIMED_OUT,        CURATOR_ERROR_NOT_OWNER,          CURATOR_ERROR_LOCK_LOST,
    CURATOR_ERROR_RELEASE_PENDING,  CURATOR_ERROR_CONNECTION_LOST,    CURATOR_ERROR_SESSION_EXPIRED,
    CURATOR_ERROR_AUTH_FAILED,      CURATOR_ERROR_SEQUENCE_EXHAUSTED, CURATOR_ERROR_UNSUPPORTED,
    CURATOR_ERROR_FORKED,           CURATOR_ERROR_LIMIT_EXCEEDED,     CURATOR_ERROR_NO_ANSWER,
    CURATOR_ERROR_RESOURCES,        CURATOR_ERROR_ALREADY_STARTED
  };

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    assert_int_equal (codes[i], i);
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
  static const char *const connection[] = { "CONNECTED", "SUSPENDED", "RECONNECTED",
                                            "LOST",      "READ_ONLY", "UNKNOWN" };
  static const char *const lease[] = { "HELD", "SUSPECT", "LOST", "RELEASED", "UNKNOWN" };

  for (guint i = 0; i < G_N_ELEMENTS (connection); i++)
    assert_string_equal (curator_connection_state_to_string ((CuratorConnectionState) i),
                         connection[i]);
  for (guint i = 0; i < G_N_ELEMENTS (lease); i++)
    assert_string_equal (curator_lease_state_to_string ((CuratorLeaseState) i), lease[i]);
}

SUITE ("error version", NULL, NULL)
