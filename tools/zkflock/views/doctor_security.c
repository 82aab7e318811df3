/* doctor: certificates that expire soon or are not valid, clear text where TLS could be used, and
 * servers that do not require SASL. */
#include "views/doctor_security.h"

#include <string.h>

#define SECONDS_PER_DAY     86400
#define WARNING_DAYS        30
#define DEFAULT_SECURE_PORT 2281
#define TIMEOUT_MS          3000

static void
check_expiry (Doctor *doctor, const char *subject, const char *what, gint64 expires_at)
{
  const gint64 left = expires_at - g_get_real_time () / G_USEC_PER_SEC;
  g_autoptr (GDateTime) date = g_date_time_new_from_unix_utc (expires_at);
  g_autofree char *shown = date != NULL ? g_date_time_format (date, "%Y-%m-%d") : NULL;

  if (expires_at == 0 || left > WARNING_DAYS * SECONDS_PER_DAY)
    return;
  doctor_report (doctor, left > 0 ? LEVEL_WARNING : LEVEL_PROBLEM, "certificate", subject,
                 "%s %s on %s: renew it", what, left > 0 ? "expires" : "has expired", shown);
}

/* Only a server that does not show its configuration is tried. */
static void
check_clear_text (Doctor *doctor, const Server *server)
{
  const char *colon = strrchr (server->address, ':');
  const gboolean has_port = colon != NULL && strchr (colon, ']') == NULL;
  g_autofree char *secure = g_strdup_printf (
      "%.*s:%d", (int) (has_port ? (gsize) (colon - server->address) : strlen (server->address)),
      server->address, server->secure_port > 0 ? server->secure_port : DEFAULT_SECURE_PORT);

  if (server->secure_port > 0 || (!server->allows_conf && dial_offers_tls (secure, TIMEOUT_MS))) {
    doctor_report (doctor, LEVEL_WARNING, "clear text", server->address,
                   "the connection is in clear text, and the server offers TLS: use tls://%s",
                   secure);
  }
}

/* A client of the same connection without any identity: no user, and no certificate. */
static gboolean
serves_strangers (const Options *options)
{
  Secure secure = options->secure;
  g_autoptr (CuratorClient) stranger = curator_client_new (options->hosts, NULL);

  secure.tls_cert = NULL;
  secure.tls_key = NULL;
  if ((secure.is_tls && !secure_set_tls (&secure, stranger, NULL))
      || !curator_client_start (stranger, NULL))
    return FALSE;
  /* A server that requires an authentication takes the session, and then no request. */
  g_auto (GStrv) found = curator_client_find_locks (stranger, "/", 1, NULL, TIMEOUT_MS, NULL, NULL);
  return found != NULL;
}

void
doctor_check_security (Doctor *doctor)
{
  const Secure *secure = &doctor->options->secure;

  if (secure->tls_cert != NULL) {
    g_autofree char *file = curator_escape_name (secure->tls_cert, -1);
    check_expiry (doctor, file, "our certificate", dial_get_own_expiry (doctor->dial));
  }
  if (secure->sasl != SASL_NONE && serves_strangers (doctor->options)) {
    g_autofree char *hosts = curator_escape_name (doctor->options->hosts, -1);
    doctor_report (doctor, LEVEL_WARNING, "sasl", hosts,
                   "clients without SASL are served, too, and take locks wherever the ACLs are "
                   "open: set enforce.auth.enabled and enforce.auth.schemes at every server");
  }
  for (guint i = 0; i < doctor->servers->len; i++) {
    const Server *server = g_ptr_array_index (doctor->servers, i);
    if (server->certificate.refusal != NULL)
      doctor_report (doctor, LEVEL_PROBLEM, "certificate", server->address, "%s",
                     server->certificate.refusal);
    else if (secure->is_tls)
      check_expiry (doctor, server->address, "its certificate", server->certificate.expires_at);
    else if (server->trouble == NULL)
      check_clear_text (doctor, server);
  }
}
