/* Resolves host names, so that libzookeeper never does.
 *
 * Mirrors HostProvider. Threads: the session lane only; no lock.
 *
 * NOTES: libzookeeper resolves names on every turn of its loop, and one failure silences the whole
 * client. Numeric addresses cannot fail. With an even number of addresses it skips half of them
 * after the first round, so one address is listed twice.
 */
#include "client/resolve.h"

#include "curator/error.h"

static void
add_address (GPtrArray *found, GInetAddress *address, guint16 port)
{
  g_autofree char *number = g_inet_address_to_string (address);
  /* IPv6 needs no brackets: libzookeeper splits off the port at the last colon. */
  g_ptr_array_add (found, g_strdup_printf ("%s:%u", number, port));
}

static gboolean
resolve_host (GPtrArray *found, const CuratorHostPort *host, GCancellable *cancellable,
              GError **error)
{
  g_autoptr (GInetAddress) numeric = g_inet_address_new_from_string (host->host);
  if (numeric != NULL)
    {
      add_address (found, numeric, host->port);
      return TRUE;
    }

  g_autoptr (GResolver) resolver = g_resolver_get_default ();
  GList *addresses = g_resolver_lookup_by_name (resolver, host->host, cancellable, error);
  for (GList *link = addresses; link != NULL; link = link->next)
    {
      add_address (found, link->data, host->port);
    }
  g_resolver_free_addresses (addresses);
  return addresses != NULL;
}

char *
curator_resolve (const CuratorConnectString *servers, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) first_error = NULL;

  /* A name without an address is skipped if another name has one. */
  for (guint i = 0; i < servers->hosts->len; i++)
    {
      resolve_host (found, g_ptr_array_index (servers->hosts, i), cancellable,
                    first_error == NULL ? &first_error : NULL);
    }
  if (found->len == 0)
    {
      g_propagate_error (error, g_steal_pointer (&first_error));
      return NULL;
    }
  if (found->len % 2 == 0)
    {
      g_ptr_array_add (found, g_strdup (g_ptr_array_index (found, 0)));
    }
  g_ptr_array_add (found, NULL);
  return g_strjoinv (",", (char **) found->pdata);
}
