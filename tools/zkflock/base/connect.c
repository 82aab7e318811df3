#include "base/connect.h"

#include "base/auth.h"
#include "base/outcome.h"

#include <string.h>
#include <zookeeper/zookeeper.jute.h>

#define ALL_PERMISSIONS 0x1f
#define RETRY_PAUSE_MS  250
/* Of the questions to the servers after a failure. */
#define PROBE_TIMEOUT_MS 1000
#define PROBE_WAIT_MS    2000
#define PROBE_POLL_MS    10

static void
use_creator_acl (CuratorClient *client)
{
  /* ZOO_CREATOR_ALL_ACL: the identity that the connection is authenticated as. */
  struct ACL entry = { .perms = ALL_PERMISSIONS,
                       .id = { .scheme = (char *) "auth", .id = (char *) "" } };
  const struct ACL_vector acl = { .count = 1, .data = &entry };
  curator_client_set_acl (client, &acl);
}

CuratorClient *
connect_start (const Options *options, int *exit_code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) credentials = NULL;

  if (options->auth_file != NULL)
    {
      credentials = auth_read (options->auth_file, &error);
      if (credentials == NULL)
        {
          print_error (options->paths[0], "%s", error->message);
          *exit_code = EXIT_CODE_REFUSED;
          return NULL;
        }
    }
  /* Retry until the session, and with it the place in the queue, must have expired. */
  g_autoptr (CuratorRetryPolicy) policy =
      curator_retry_policy_new_until_elapsed (2 * options->session_timeout_ms, RETRY_PAUSE_MS);
  g_autoptr (CuratorClient) client = curator_client_new (options->hosts, policy);
  curator_client_set_session_timeout (client, options->session_timeout_ms);
  curator_client_set_connection_timeout (client, options->connect_timeout_ms);
  curator_client_set_default_data (client, options->label, strlen (options->label));
  /* Views write nothing, and read labels in either form. */
  curator_client_set_compression (
      client, options->compression || (options->verb != VERB_LOCK && options->verb != VERB_REVOKE));
  if (options->verb == VERB_LOCK)
    {
      curator_client_set_callback_context (client, g_main_context_default ());
    }
  if (credentials != NULL)
    {
      auth_apply (client, credentials);
    }
  if (options->acl_creator)
    {
      use_creator_acl (client);
    }
  if (!curator_client_start (client, &error))
    {
      *exit_code = fail_with (options, error);
      return NULL;
    }
  return g_steal_pointer (&client);
}

static int
report_cause (const Options *options, CuratorClient *client)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  print_error (options->paths[0], "%s", error != NULL ? error->message : "the connection is lost");
  return EXIT_CODE_UNREACHABLE;
}

int
connect_report_failure (const Options *options, CuratorClient *client, Probe *probe)
{
  if (!probe_is_possible (options->hosts))
    {
      return report_cause (options, client);
    }
  Probe *asked = probe == NULL ? probe_start (options->hosts, PROBE_TIMEOUT_MS) : NULL;
  const gint64 until = g_get_monotonic_time () + PROBE_WAIT_MS * 1000;

  while (asked != NULL && !probe_is_complete (asked) && g_get_monotonic_time () < until)
    {
      g_usleep (PROBE_POLL_MS * 1000);
    }
  g_autofree char *hosts = curator_escape_name (options->hosts, -1);
  g_autofree char *causes = probe_describe (probe != NULL ? probe : asked);
  print_error (options->paths[0], "no server of %s could be reached: %s", hosts, causes);
  probe_free (asked);
  return EXIT_CODE_UNREACHABLE;
}

/* A chroot follows the last server, which may begin with "tls://". */
static gboolean
has_chroot (const char *hosts)
{
  const char *comma = strrchr (hosts, ',');
  const char *last = comma != NULL ? comma + 1 : hosts;
  const char *scheme_end = strstr (last, "://");
  return strchr (scheme_end != NULL ? scheme_end + 3 : last, '/') != NULL;
}

/* A read below a chroot that does not exist would find a free lock. */
static gboolean
check_chroot (CuratorClient *client, const Options *options, GError **error)
{
  g_auto (GStrv) found = has_chroot (options->hosts)
                             ? curator_find_locks (client, "/", 1, NULL, error)
                             : g_new0 (char *, 1);
  return found != NULL;
}

CuratorClient *
connect_and_wait (const Options *options, int *exit_code)
{
  g_autoptr (CuratorClient) client = connect_start (options, exit_code);
  g_autoptr (GError) error = NULL;

  if (client == NULL)
    {
      return NULL;
    }
  if (curator_client_block_until_connected (client, options->connect_timeout_ms, NULL, &error)
      && check_chroot (client, options, &error))
    {
      return g_steal_pointer (&client);
    }
  if (is_no_answer (error))
    {
      *exit_code = connect_report_failure (options, client, NULL);
      return NULL;
    }
  *exit_code = exit_code_of (options, error);
  print_error (options->paths[0], "%s", error->message);
  return NULL;
}
