/* SPDX-License-Identifier: Apache-2.0
 * How long to insist when the servers do not answer. A policy decides and the library waits, within
 * the time that the caller gave. This one tries five times, a little later each time.
 *
 * usage: retry_policy CONNECT-STRING
 */
#include <curator/curator.h>

static gboolean
a_little_later (int retry_count, gint64 elapsed_ms, gint64 *sleep_ms, gpointer user_data)
{
  *sleep_ms = 100 * (retry_count + 1);
  return retry_count < 5;
}

int
main (int argc, char **argv)
{
  /* Ready-made ones: exponential backoff with or without a bound, n times, for ever ... */
  g_autoptr (CuratorRetryPolicy) policy =
      curator_retry_policy_new_custom (a_little_later, NULL, NULL);
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", policy);
  /* One request waits so long for a connection before the policy is asked. */
  curator_client_set_connection_timeout (client, 2000);

  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/retry", &error);
  if (lock == NULL || !curator_client_start (client, &error)
      || !curator_lock_acquire (lock, 30000, NULL, &error))
    {
      gboolean gave_up = g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST);
      g_printerr ("retry_policy: %s%s\n", error->message, gave_up ? " (policy used up)" : "");
      return 1;
    }
  g_print ("held\n");
  return curator_lock_release (lock, NULL) ? 0 : 1;
}
