/* Says why a server was left; see link_report.h. Threads: the channel's; no lock. */
#include "channel/link_report.h"

#include <netdb.h>
#include <string.h>

void
curator_link_report (CuratorLink *link, const GError *error, gboolean is_final)
{
  CuratorEndpoints *endpoints = link->context->endpoints;
  const CuratorAddress *address = curator_endpoints_address (endpoints);
  const char *host = curator_endpoints_host (endpoints);
  char number[NI_MAXHOST] = "";

  if (address != NULL)
    {
      getnameinfo ((const struct sockaddr *) &address->name, address->length, number, sizeof number,
                   NULL, 0, NI_NUMERICHOST);
    }
  const gboolean both = *number != '\0' && strcmp (number, host) != 0;
  g_autofree char *server = g_strdup_printf ("%s:%u", host, curator_endpoints_port (endpoints));
  g_autoptr (GError) whole =
      g_error_new (error->domain, error->code, "%s%s%s%s: %s", server, both ? " (" : "",
                   both ? number : "", both ? ")" : "", error->message);
  link->context->failed (server, whole, is_final, link->context->data);
}

void
curator_link_report_loss (CuratorLink *link, const GError *error)
{
  g_autoptr (GError) whole = g_error_copy (error);
  g_prefix_error (&whole, "it opened the session and answered nothing: ");
  curator_link_report (link, whole, FALSE);
}
