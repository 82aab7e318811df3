/* The settings of TLS and SASL.
 *
 * Mirrors ZKClientConfig. Threads: one thread sets them, before start. No lock.
 */
#include "core/client-record.h"

#include "base/fork_gate.h"
#include "base/tag.h"
#include "channel/channel_error.h"
#include "channel/tls_credentials.h"
#include "channel/tls_settings.h"
#include "client/settings.h"
#include "core/monitor.h"

static gboolean
check_settable (CuratorClient *client, gboolean is_built_in, const char *what, GError **error)
{
  if (!curator_client_check_forked (client, error))
    return FALSE;
  g_return_val_if_fail (curator_settings_are_open (client), FALSE);
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
