/* The client that the options describe. */
#include "base/connect.h"

#include "base/kind.h"
#include "base/outcome.h"
#include "base/secret.h"

#include <string.h>

#define RETRY_PAUSE_MS 250
#define CLOSE_POLL_MS  1
/* Of the questions to the servers after a failure. */
#define PROBE_TIMEOUT_MS 1000
#define PROBE_WAIT_MS    4000
#define PROBE_POLL_MS    10
#define CONNECT_POLL_MS  100

/* Of an error before the client has tried to connect. */
static int
code_of_setting (const Options *options, const GError *error)
{
  if (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_UNSUPPORTED))
    return EXIT_CODE_USAGE;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES))
    return EXIT_CODE_SHORTAGE;
  return error->domain == G_IO_ERROR ? EXIT_CODE_REFUSED : exit_code_of (options, error);
}

/* Reads the files that the options name; nothing is connected before. */
static gboolean
add_credentials (const Options *options, CuratorClient *client, int *exit_code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) credentials = NULL;

  if (options->secure.is_tls && !secure_set_tls (&options->secure, client, &error)) {
    /* Its files may be right again at the next start, so this is no usage error. */
    *exit_code =
        g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT) ? EXIT_CODE_TLS : 0;
  }
  if (error == NULL && options->auth_file != NULL)
    credentials = credentials_read (options->auth_file, &error);
  if (error == NULL && secure_set_sasl (&options->secure, client, &error)) {
    if (credentials != NULL)
      credentials_apply (client, credentials);
    return TRUE;
  }
  print_error (options->paths[0], "%s", error->message);
  *exit_code = *exit_code != 0 ? *exit_code : code_of_setting (options, error);
  return FALSE;
}

CuratorClient *
connect_start (const Options *options, int *exit_code)
{
  g_autoptr (GError) error = NULL;

  *exit_code = 0;
  /* Retry until the session, and with it the place in the queue, must have expired. */
  g_autoptr (CuratorRetryPolicy) policy =
      curator_retry_policy_new_until_elapsed (2 * options->session_timeout_ms, RETRY_PAUSE_MS);
  g_autoptr (CuratorClient) client = curator_client_new (options->hosts, policy);
  curator_client_set_session_timeout (client, options->session_timeout_ms);
  curator_client_set_connection_timeout (client, options->connect_timeout_ms);
  g_autofree char *label = options->mode == MODE_SEMAPHORE
                               ? kind_label_with_count (options->label, options->leases)
                               : g_strdup (options->label);
  curator_client_set_default_data (client, label, strlen (label));
  /* Views write nothing, and read labels in either form. */
  curator_client_set_compression (
      client, options->compression || (options->verb != VERB_LOCK && options->verb != VERB_REVOKE));
  if (options->verb == VERB_LOCK)
    curator_client_set_callback_context (client, g_main_context_default ());
  if (!add_credentials (options, client, exit_code))
    return NULL;
  if (options->acl_creator)
    curator_client_add_acl (client, "auth", "", CURATOR_PERMISSIONS_ALL);
  if (!curator_client_start (client, &error)) {
    print_error (options->paths[0], "%s", error->message);
    *exit_code = code_of_setting (options, error);
    return NULL;
  }
  return g_steal_pointer (&client);
}

/* The newest attempt to connect has ended otherwise than without an answer. */
static gboolean
has_failed (CuratorClient *client)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  return !g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT);
}

/* No wait will help: every server has refused TLS, or has a certificate that was refused; or this
 * machine is short of something. */
static gboolean
is_refused (const Options *options, CuratorClient *client, Probe *probe)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  const int code = error != NULL ? exit_code_of_cause (error) : 0;
  return code == EXIT_CODE_SHORTAGE
         || (code == EXIT_CODE_TLS && options->secure.is_tls && probe_causes (probe) == CAUSE_TLS);
}

/* Each server has answered in its way. A server that closes the connection, to the client, too, will
 * not do for a try. One that is read-only has waited for a quorum longer than an election takes: who
 * only looks need not wait for more. */
static gboolean
is_answered (const Options *options, CuratorClient *client, guint causes)
{
  const guint refusals = CAUSES_FINAL | (has_failed (client) ? CAUSE_CLOSED : 0);
  const gboolean looks = options->verb != VERB_LOCK && options->verb != VERB_WAIT;

  return causes != 0 && (causes & ~refusals) == 0
         && (options->wait_ms == 0 || (looks && (causes & CAUSE_READ_ONLY) != 0));
}

gboolean
connect_is_over (const Options *options, CuratorClient *client, Probe **probe)
{
  const gint64 left_ms =
      MIN (options->connect_timeout_ms - outcome_elapsed_ms (), outcome_left_ms (options));
  /* A handshake takes longer, and the client knows when it has failed. */
  const gboolean knows_cause = !secure_is_used (&options->secure) || has_failed (client);

  if (left_ms <= 0)
    return TRUE;
  if (*probe == NULL && knows_cause)
    *probe = probe_start (options, left_ms / 2);
  return is_refused (options, client, *probe)
         || (knows_cause && is_answered (options, client, probe_causes (*probe)));
}

int
connect_report_failure (const Options *options, CuratorClient *client, Probe *probe)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  const int code = error != NULL ? exit_code_of_cause (error) : EXIT_CODE_UNREACHABLE;
  const gint64 most_ms = options->wait_ms == CURATOR_WAIT_FOREVER ? PROBE_WAIT_MS : LAST_ANSWER_MS;
  const gint64 until_us = g_get_monotonic_time () + most_ms * 1000;

  if (code != EXIT_CODE_UNREACHABLE) {
    print_error (options->paths[0], "%s", error->message);
    return code;
  }
  Probe *started = probe == NULL ? probe_start (options, PROBE_TIMEOUT_MS) : NULL;
  probe = probe != NULL ? probe : started;
  while ((probe_causes (probe) & CAUSE_PENDING) != 0 && g_get_monotonic_time () < until_us)
    g_usleep (PROBE_POLL_MS * 1000);
  const guint found = probe_causes (probe);
  g_autofree char *hosts = curator_escape_name (options->hosts, -1);
  g_autofree char *causes = probe_describe (probe);
  const gboolean adds = error != NULL && (found & CAUSE_SERVES) != 0;
  print_error (options->paths[0], "no server of %s could be reached: %s%s%s%s", hosts, causes,
               adds ? " (" : "", adds ? error->message : "", adds ? ")" : "");
  probe_free (started);
  return options->secure.is_tls && found == CAUSE_TLS ? EXIT_CODE_TLS : EXIT_CODE_UNREACHABLE;
}

/* A read below a chroot that does not exist would find a free lock. A chroot follows the last
 * server, which may begin with "tls://". */
static gboolean
check_chroot (CuratorClient *client, const Options *options, GError **error)
{
  const char *comma = strrchr (options->hosts, ',');
  const char *last = comma != NULL ? comma + 1 : options->hosts;
  const char *scheme_end = strstr (last, "://");

  if (strchr (scheme_end != NULL ? scheme_end + 3 : last, '/') == NULL)
    return TRUE;
  g_auto (GStrv) found = curator_client_find_locks (
      client, "/", 1, NULL, outcome_answer_ms (options, options->connect_timeout_ms), NULL, error);
  return found != NULL;
}

static gboolean
wait_connected (const Options *options, CuratorClient *client, Probe **probe, GError **error)
{
  for (;;) {
    g_autoptr (GError) failure = NULL;
    if (curator_client_block_until_connected (client, CONNECT_POLL_MS, NULL, &failure))
      return TRUE;
    if (!is_no_answer (failure) || connect_is_over (options, client, probe)) {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  }
}

CuratorClient *
connect_and_wait (const Options *options, int *exit_code)
{
  g_autoptr (CuratorClient) client = connect_start (options, exit_code);
  g_autoptr (GError) error = NULL;
  Probe *probe = NULL;

  if (client == NULL)
    return NULL;
  if (wait_connected (options, client, &probe, &error) && check_chroot (client, options, &error)) {
    probe_free (probe);
    return g_steal_pointer (&client);
  }
  if (is_no_answer (error)) {
    *exit_code = connect_report_failure (options, client, probe);
  } else {
    *exit_code = exit_code_of (options, error);
    print_error (options->paths[0], "%s", error->message);
  }
  probe_free (probe);
  return NULL;
}

static gint is_closed; /* atomic */

static gpointer
close_client (gpointer client)
{
  curator_client_close (client);
  g_atomic_int_set (&is_closed, TRUE);
  return NULL;
}

gboolean
connect_close (const Options *options, CuratorClient *client)
{
  const gint64 until_us = g_get_monotonic_time () + outcome_close_ms (options) * 1000;
  g_autoptr (GThread) thread = g_thread_try_new ("close", close_client, client, NULL);

  while (thread != NULL && !g_atomic_int_get (&is_closed) && g_get_monotonic_time () < until_us)
    g_usleep (CLOSE_POLL_MS * 1000);
  return g_atomic_int_get (&is_closed);
}
