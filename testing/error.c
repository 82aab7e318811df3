#include "keeper.h"
#include "support/zk_server.h"
#include "testing-private.h"

G_DEFINE_QUARK (curator - test - error, curator_test_error)

gboolean
testing_check_machine (GError **error)
{
  if (!keeper_is_here ()) {
    testing_fail (error, "A child of fork () cannot start servers after its parent has done so");
    return FALSE;
  }
  g_autofree char *missing = zk_server_missing ();
  if (missing != NULL)
    g_set_error_literal (error, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_MISSING, missing);
  return missing == NULL;
}

void
testing_fail (GError **error, const char *sentence)
{
  g_set_error_literal (error, CURATOR_TEST_ERROR, CURATOR_TEST_ERROR_FAILED, sentence);
}
