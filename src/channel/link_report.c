/* Says why a server was left; see link_report.h. Threads: the channel's; no lock. */
#include "channel/link_report.h"

static char *
dup_server (CuratorEndpoints *endpoints)
{
  g_autofree char *port = g_strdup_printf ("%u", curator_endpoints_port (endpoints));
  return curator_address_join (curator_endpoints_host (endpoints), port);
}

void
curator_link_report (CuratorLink *link, const GError *error, gboolean is_final)
{
  CuratorEndpoints *endpoints = link->context->endpoints;
  const CuratorAddress *address = curator_endpoints_address (endpoints);
  g_autofree char *number = address != NULL ? curator_address_dup_host (address) : NULL;
  const gboolean both = number != NULL && !curator_endpoints_is_numeric (endpoints);
  g_autofree char *server = dup_server (endpoints);
  g_autoptr (GError) whole =
      g_error_new (error->domain, error->code, "%s%s%s%s: %s", server, both ? " (" : "",
                   both ? number : "", both ? ")" : "", error->message);
  link->context->failed (server, whole, is_final, link->context->data);
}

void
curator_link_report_open (CuratorLink *link)
{
  if (link->context->opened == NULL)
    return;
  g_autofree char *server = dup_server (link->context->endpoints);
  link->context->opened (server, link->context->data);
}

void
curator_link_report_loss (CuratorLink *link, const GError *error)
{
  g_autoptr (GError) whole = g_error_copy (error);
  g_prefix_error (&whole, "it opened the session and answered nothing: ");
  curator_link_report (link, whole, FALSE);
}
