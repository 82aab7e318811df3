/* SPDX-License-Identifier: Apache-2.0
 * A custom retry policy for the time when no server answers. The policy decides and the library
 * waits, within the timeout of the caller. This one retries five times, after growing sleeps.
 *
 * usage: retry_policy CONNECT-STRING
 */
#include <curator/curator.h>

static gboolean
sleep_longer_each_time (guint retry_count, gint64 elapsed_ms, const GError *error, gint64 *sleep_ms,
                        gpointer user_data)
{
  g_printerr ("retry_policy: %s\n", error->message);
  *sleep_ms = 100 * (retry_count + 1);
  return retry_count < 5;
}

int
main (int argc, char **argv)
{
  /* retry.h has ready-made policies: exponential backoff, n times, without a limit ... */
  g_autoptr (CuratorRetryPolicy) policy =
      curator_retry_policy_new_custom (sleep_longer_each_time, NULL, NULL);
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", policy);
  /* How long one request waits for a connection before the policy decides. */
  curator_client_set_connection_timeout (client, 2000);

  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/retry", &error);
  if (lock == NULL || !curator_client_start (client, &error)
      || !curator_lock_acquire (lock, 30000, NULL, &error)) {
    gboolean gave_up = g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST);
    g_printerr ("retry_policy: %s%s\n", error->message, gave_up ? " (policy used up)" : "");
    return 1;
  }
  g_print ("held\n");
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, NULL) ? 0 : 1;
}
