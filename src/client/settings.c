/* The settings of a client: set before start, then checked, then constant.
 *
 * Mirrors CuratorFrameworkFactory.Builder and ZKClientConfig. Threads: one thread sets them, before start; any thread
 * reads them afterwards, without a lock, except for the default data: see host_address.h.
 */
#include "client/settings.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "base/server_list.h"
#include "base/tag.h"
#include "channel/channel_error.h"
#include "channel/tls_credentials.h"
#include "channel/tls_settings.h"
#include "core/client-record.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/namespace.h"
#include "core/payload.h"
#include "zk/features.h"
#include "zk/zk_secured.h"

#include <curator/zookeeper.h>

#include <string.h>
#include <unistd.h>

#define DEFAULT_SESSION_TIMEOUT_MS    60000
#define DEFAULT_CONNECTION_TIMEOUT_MS 15000
#define SHORTEST_HEARTBEAT_MS         100
/* libzookeeper gives a connection a third of it to open, and doubles it in an int. */
#define MIN_SESSION_MS 10
#define MAX_SESSION_MS (G_MAXINT32 / 2)

static void
free_auth (gpointer data)
{
  CuratorAuth *auth = data;
  gsize length;
  /* Do not leave credentials in freed memory. */
  gpointer bytes = (gpointer) g_bytes_get_data (auth->auth, &length);
  if (bytes != NULL)
    explicit_bzero (bytes, length);
  g_bytes_unref (auth->auth);
  g_free (auth->scheme);
  g_free (auth);
}

void
curator_settings_init (CuratorClient *client, const char *connect_string,
                       CuratorRetryPolicy *retry_policy)
{
  client->connect_string = g_strdup (connect_string != NULL ? connect_string : "");
  curator_namespace_update (client);
  client->settings.session_timeout_ms = DEFAULT_SESSION_TIMEOUT_MS;
  client->settings.connection_timeout_ms = DEFAULT_CONNECTION_TIMEOUT_MS;
  client->settings.retry_policy = retry_policy != NULL
                                      ? curator_retry_policy_ref (retry_policy)
                                      : curator_retry_policy_new_exponential_backoff (1000, 3);
  client->settings.auths = g_ptr_array_new_with_free_func (free_auth);
}

void
curator_settings_clear (CuratorClient *client)
{
  curator_retry_policy_unref (client->settings.retry_policy);
  curator_gate_enter ();
  g_free (client->connect_string);
  g_clear_pointer (&client->settings.servers, curator_connect_string_free);
  g_free (client->settings.namespace_);
  g_free (client->settings.prefix);
  g_ptr_array_unref (client->settings.auths);
  g_clear_pointer (&client->settings.tls, curator_tls_unref);
  g_clear_pointer (&client->settings.sasl, curator_sasl_settings_unref);
  deallocate_ACL_vector (&client->settings.acl);
  g_clear_pointer (&client->default_data, g_bytes_unref);
  curator_gate_leave ();
  g_clear_pointer (&client->settings.callback_context, g_main_context_unref);
  if (client->settings.trace_destroy != NULL)
    client->settings.trace_destroy (client->settings.trace_data);
}

/* Before start: then a setter may write. */
static gboolean
called_before_start (CuratorClient *client)
{
  return curator_client_check_forked (client, NULL)
         && g_atomic_int_get (&client->life) == CURATOR_LIFE_LATENT;
}

/* The setters cannot fail: an invalid value is stored as 0, which start refuses. */
static int
storable_ms (gint64 ms, int least, int most)
{
  return ms >= least && ms <= most ? (int) ms : 0;
}

void
curator_client_set_session_timeout (CuratorClient *client, gint64 timeout_ms)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  client->settings.session_timeout_ms = storable_ms (timeout_ms, MIN_SESSION_MS, MAX_SESSION_MS);
}

void
curator_client_set_connection_timeout (CuratorClient *client, gint64 timeout_ms)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  client->settings.connection_timeout_ms = storable_ms (timeout_ms, 1, G_MAXINT32);
}

void
curator_client_set_server_tick (CuratorClient *client, gint64 tick_ms)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  client->settings.has_server_tick = TRUE;
  client->settings.server_tick_ms = storable_ms (tick_ms, 1, G_MAXINT32);
}

void
curator_client_set_heartbeat_interval (CuratorClient *client, gint64 interval_ms)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  client->settings.has_heartbeat = TRUE;
  client->settings.heartbeat_ms = storable_ms (interval_ms, 1, G_MAXINT32);
  if (interval_ms > 0 && interval_ms < SHORTEST_HEARTBEAT_MS) {
    curator_warn ("a heartbeat every %d ms is a write for each: the interval becomes %d ms",
                  client->settings.heartbeat_ms, SHORTEST_HEARTBEAT_MS);
    client->settings.heartbeat_ms = SHORTEST_HEARTBEAT_MS;
  }
}

gboolean
curator_client_set_namespace (CuratorClient *client, const char *namespace_, GError **error)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client) && (error == NULL || *error == NULL), FALSE);
  if (!curator_client_check_forked (client, error))
    return FALSE;
  g_return_val_if_fail (called_before_start (client), FALSE);
  const gboolean is_set = namespace_ != NULL && *namespace_ != '\0';
  if (is_set && !curator_namespace_validate (namespace_, error))
    return FALSE;
  g_free (client->settings.namespace_);
  client->settings.namespace_ = is_set ? g_strdup (namespace_) : NULL;
  curator_namespace_update (client);
  return TRUE;
}

CURATOR_GETTER (const char *, curator_client_get_namespace, const CuratorClient, CLIENT,
                settings.namespace_, NULL)

void
curator_client_add_auth (CuratorClient *client, const char *scheme, const void *auth, gsize length)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && scheme != NULL && (auth != NULL || length == 0));
  g_return_if_fail (called_before_start (client));
  CuratorAuth *entry = g_new (CuratorAuth, 1);
  *entry = (CuratorAuth){ g_strdup (scheme), g_bytes_new (auth, length) };
  g_ptr_array_add (client->settings.auths, entry);
}

static void
add_entry (CuratorClient *client, const char *scheme, const char *id, gint32 permissions)
{
  struct ACL_vector *acl = &client->settings.acl;
  acl->data = g_renew (struct ACL, acl->data, (gsize) acl->count + 1);
  acl->data[acl->count++] =
      (struct ACL){ .perms = permissions, .id = { g_strdup (scheme), g_strdup (id) } };
}

void
curator_client_add_acl (CuratorClient *client, const char *scheme, const char *id,
                        guint permissions)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client) && scheme != NULL
                    && id != NULL);
  g_return_if_fail (permissions != 0 && (permissions & ~CURATOR_PERMISSIONS_ALL) == 0);
  add_entry (client, scheme, id, (gint32) permissions);
}

static gboolean
is_acl (const struct ACL_vector *acl)
{
  gboolean is_whole = acl->count == 0 || (acl->count > 0 && acl->data != NULL);
  for (int i = 0; is_whole && i < acl->count; i++)
    is_whole = acl->data[i].id.scheme != NULL && acl->data[i].id.id != NULL;
  return is_whole;
}

void
curator_client_set_acl (CuratorClient *client, const struct ACL_vector *acl)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client)
                    && (acl == NULL || is_acl (acl)));
  deallocate_ACL_vector (&client->settings.acl);
  client->settings.acl = (struct ACL_vector){ 0 };
  for (int i = 0; acl != NULL && i < acl->count; i++)
    add_entry (client, acl->data[i].id.scheme, acl->data[i].id.id, acl->data[i].perms);
}

void
curator_client_set_default_data (CuratorClient *client, const void *data, gsize length)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  g_clear_pointer (&client->default_data, g_bytes_unref);
  client->default_data = curator_payload_new (data, length);
}

void
curator_client_set_compression (CuratorClient *client, gboolean compression)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  client->settings.compression = compression != FALSE;
}

void
curator_client_set_follow_configuration (CuratorClient *client, gboolean follow)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  client->settings.follows_configuration = follow != FALSE;
}

void
curator_client_set_callback_context (CuratorClient *client, GMainContext *context)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  g_return_if_fail (curator_is_foreign (context));
  g_clear_pointer (&client->settings.callback_context, g_main_context_unref);
  client->settings.callback_context = context != NULL ? g_main_context_ref (context) : NULL;
}

void
curator_client_set_trace (CuratorClient *client, CuratorTraceFunc func, gpointer user_data,
                          GDestroyNotify destroy)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client) && called_before_start (client));
  if (client->settings.trace_destroy != NULL)
    client->settings.trace_destroy (client->settings.trace_data);
  client->settings.trace = func;
  client->settings.trace_data = user_data;
  client->settings.trace_destroy = destroy;
}

static gboolean
check_settable (CuratorClient *client, gboolean is_built_in, const char *what, GError **error)
{
  if (!curator_client_check_forked (client, error))
    return FALSE;
  g_return_val_if_fail (called_before_start (client), FALSE);
  if (client->ops->is_shared)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "%s can only be set for a client with a connection of its own", what);
  return is_built_in || curator_channel_unsupported (error, what);
}

gboolean
curator_client_set_tls (CuratorClient *client, CuratorTls *tls, GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && CURATOR_IS_TLS (tls), error, FALSE);
  if (!check_settable (client, curator_tls_is_built_in (), "TLS", error))
    return FALSE;
  CURATOR_INSIDE_GATE;
  if (tls->crl_file != NULL) {
    /* Only now it is known which CAs the lists belong to. */
    g_autoptr (CuratorTlsCredentials) probe = curator_tls_credentials_load (tls, error);
    if (probe == NULL)
      return FALSE;
  }
  g_clear_pointer (&client->settings.tls, curator_tls_unref);
  client->settings.tls = curator_tls_copy (tls);
  return TRUE;
}

static gboolean
take_sasl (CuratorClient *client, CuratorSaslSettings *settings, GError **error)
{
  if (!check_settable (client, curator_sasl_is_built_in (), "SASL", error)) {
    curator_sasl_settings_unref (settings);
    return FALSE;
  }
  g_clear_pointer (&client->settings.sasl, curator_sasl_settings_unref);
  client->settings.sasl = settings;
  return TRUE;
}

gboolean
curator_client_set_sasl_digest (CuratorClient *client, const char *user, const char *password,
                                GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client) && user != NULL && password != NULL, error, FALSE);
  return take_sasl (client, curator_sasl_settings_new_digest (user, password), error);
}

gboolean
curator_client_set_sasl_gssapi (CuratorClient *client, const char *service, const char *server_name,
                                GError **error)
{
  CURATOR_CHECK_CALL (CURATOR_IS_CLIENT (client), error, FALSE);
  return take_sasl (client, curator_sasl_settings_new_gssapi (service, server_name), error);
}

/* What the setters cannot refuse. */
static gboolean
check_settings (CuratorClient *client, GError **error)
{
  const CuratorSettings *settings = &client->settings;
  const char *bad = settings->connection_timeout_ms == 0 ? "connection timeout"
                    : settings->has_server_tick && settings->server_tick_ms == 0 ? "server tick"
                    : settings->has_heartbeat && settings->heartbeat_ms == 0 ? "heartbeat interval"
                                                                             : NULL;

  if (settings->session_timeout_ms == 0)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the session timeout is not between %d and %d ms", MIN_SESSION_MS,
                           MAX_SESSION_MS);
  if (bad != NULL)
    return CURATOR_REFUSE (error, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the %s is not between 1 and %d ms", bad, G_MAXINT32);
  for (guint i = 0; i < settings->auths->len; i++) {
    const CuratorAuth *auth = g_ptr_array_index (settings->auths, i);
    if (!curator_features_check_auth_scheme (auth->scheme, error))
      return FALSE;
  }
  if (!client->ops->is_shared
      && !curator_features_check_connect_string (client->connect_string, error))
    return FALSE;
  if (settings->follows_configuration && client->ops->is_shared)
    return CURATOR_REFUSE (error, CURATOR_ERROR_UNSUPPORTED,
                           "the client uses the program's handle, whose servers it cannot change: "
                           "it cannot follow the configuration of the ensemble");
  return client->default_data == NULL
         || curator_check_payload (g_bytes_get_size (client->default_data), error);
}

void
curator_settings_give_ports (CuratorClient *client, CuratorConnectString *servers)
{
  for (guint i = 0; client->settings.tls != NULL && i < servers->hosts->len; i++) {
    CuratorHostPort *host = servers->hosts->pdata[i];
    host->port = host->has_port ? host->port : CURATOR_DEFAULT_SECURE_PORT;
  }
}

static gboolean
prepare_servers (CuratorClient *client, GError **error)
{
  curator_not_shared ();
  client->settings.servers = curator_connect_string_parse (client->connect_string, error);
  if (client->settings.servers == NULL)
    return FALSE;
  if (client->settings.servers->is_tls && client->settings.tls == NULL)
    client->settings.tls = curator_tls_new ();
  if ((client->settings.tls != NULL && !curator_tls_load (error))
      || (client->settings.sasl != NULL && !curator_sasl_load (client->settings.sasl, error)))
    return FALSE;
  curator_settings_give_ports (client, client->settings.servers);
  g_clear_pointer (&client->known, g_ptr_array_unref);
  if ((client->settings.tls != NULL || client->settings.sasl != NULL)
      && client->ops->dup_failure == NULL)
    client->ops = curator_zk_ops_secured (client);
  client->known = curator_servers_new (client->settings.servers->hosts);
  return TRUE;
}

gboolean
curator_settings_prepare (CuratorClient *client, GError **error)
{
  CURATOR_INSIDE_GATE;
  if (!check_settings (client, error))
    return FALSE;
  g_clear_pointer (&client->settings.servers, curator_connect_string_free);
  if (!client->ops->is_shared && !prepare_servers (client, error))
    return FALSE;
  if (client->default_data == NULL) {
    /* The payload until the host's address is known, and where there is none. */
    char name[256] = "";
    gethostname (name, sizeof name - 1);
    client->default_data = g_bytes_new (name, strlen (name));
    client->settings.wants_address = TRUE;
  }
  if (client->settings.acl.count == 0)
    curator_client_add_acl (client, "world", "anyone", CURATOR_PERMISSIONS_ALL);
  return TRUE;
}
