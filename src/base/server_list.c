/* The servers of a client; see server_list.h. Threads: any; no lock. */
#include "base/server_list.h"

#include "base/connect_string.h"

static void
server_free (gpointer data)
{
  CuratorServer *server = data;
  g_free (server->host);
  g_ptr_array_unref (server->addresses);
  g_ptr_array_unref (server->former);
  g_free (server->why);
  g_free (server);
}

static void
add_addresses (GPtrArray *addresses, GPtrArray *others)
{
  for (guint i = 0; i < others->len; i++)
    curator_address_add_once (addresses, others->pdata[i]);
}

static CuratorServer *
add_server (GPtrArray *servers, const char *host, guint16 port)
{
  CuratorServer *server = g_new0 (CuratorServer, 1);
  server->host = g_strdup (host);
  server->port = port;
  server->addresses = g_ptr_array_new_with_free_func (g_free);
  server->former = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (servers, server);
  return server;
}

GPtrArray *
curator_servers_new (GPtrArray *hosts)
{
  GPtrArray *servers = g_ptr_array_new_with_free_func (server_free);

  for (guint i = 0; i < hosts->len; i++) {
    const CuratorHostPort *host = hosts->pdata[i];
    CuratorServer *server = add_server (servers, host->host, host->port);
    CuratorAddress address;
    server->is_numeric = curator_address_of_host (host->host, host->port, &address);
    if (server->is_numeric)
      curator_address_add_once (server->addresses, &address);
  }
  return servers;
}

GPtrArray *
curator_servers_copy (GPtrArray *servers, gboolean with_former)
{
  GPtrArray *copies = g_ptr_array_new_with_free_func (server_free);

  for (guint i = 0; i < servers->len; i++) {
    const CuratorServer *server = servers->pdata[i];
    CuratorServer *copy = add_server (copies, server->host, server->port);
    copy->is_numeric = server->is_numeric;
    copy->why = g_strdup (server->why);
    add_addresses (copy->addresses, server->addresses);
    if (with_former)
      add_addresses (copy->addresses, server->former);
  }
  return copies;
}

static gboolean
is_of_host (gconstpointer server, gconstpointer host)
{
  return g_str_equal (((const CuratorServer *) server)->host, host);
}

void
curator_servers_inherit (GPtrArray *servers, GPtrArray *older)
{
  for (guint i = 0; i < servers->len; i++) {
    CuratorServer *server = servers->pdata[i];
    guint at;
    if (!server->is_numeric
        && g_ptr_array_find_with_equal_func (older, server->host, is_of_host, &at)) {
      const CuratorServer *same = older->pdata[at];
      curator_server_resolved (server, same->addresses, NULL);
      g_ptr_array_set_size (server->former, 0);
      add_addresses (server->former, same->former);
    }
  }
}

static gboolean
same_addresses (GPtrArray *addresses, GPtrArray *others)
{
  gboolean same = addresses->len == others->len;

  for (guint i = 0; same && i < addresses->len; i++)
    same = curator_address_equal (addresses->pdata[i], others->pdata[i]);
  return same;
}

gboolean
curator_servers_equal (GPtrArray *servers, GPtrArray *others)
{
  gboolean equal = servers->len == others->len;

  for (guint i = 0; equal && i < servers->len; i++) {
    const CuratorServer *one = servers->pdata[i];
    const CuratorServer *other = others->pdata[i];
    equal = g_str_equal (one->host, other->host) && one->port == other->port
            && same_addresses (one->addresses, other->addresses);
  }
  return equal;
}

gboolean
curator_servers_have_names (GPtrArray *servers)
{
  for (guint i = 0; i < servers->len; i++)
    if (!((const CuratorServer *) servers->pdata[i])->is_numeric)
      return TRUE;
  return FALSE;
}

void
curator_server_resolved (CuratorServer *server, GPtrArray *addresses, const char *why)
{
  g_free (server->why);
  server->why = g_strdup (why);
  if (addresses == NULL || addresses->len == 0)
    return;
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < addresses->len; i++) {
    CuratorAddress address = *(const CuratorAddress *) addresses->pdata[i];
    curator_address_set_port (&address, server->port);
    curator_address_add_once (found, &address);
  }
  if (same_addresses (found, server->addresses))
    return;
  if (server->addresses->len > 0) {
    g_ptr_array_unref (server->former);
    server->former = g_ptr_array_ref (server->addresses);
  }
  g_ptr_array_unref (server->addresses);
  server->addresses = g_steal_pointer (&found);
}

GPtrArray *
curator_servers_dup_addresses (GPtrArray *servers)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < servers->len; i++)
    add_addresses (all, ((const CuratorServer *) servers->pdata[i])->addresses);
  return all;
}

char *
curator_servers_dup_name_of (GPtrArray *servers, const CuratorAddress *address)
{
  for (guint i = 0; i < servers->len; i++) {
    const CuratorServer *server = servers->pdata[i];
    if (g_ptr_array_find_with_equal_func (server->addresses, address, curator_address_equal,
                                          NULL)) {
      g_autofree char *port = g_strdup_printf ("%u", server->port);
      return curator_address_join (server->host, port);
    }
  }
  return curator_address_write (address);
}

char *
curator_servers_join (GPtrArray *servers)
{
  g_autoptr (GPtrArray) all = curator_servers_dup_addresses (servers);
  const guint n_entries = all->len > 0 ? all->len | 1 : 0;
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < n_entries; i++) {
    const CuratorAddress *address = all->pdata[i % all->len];
    g_autofree char *host = curator_address_dup_host (address);
    g_string_append_printf (list, "%s%s:%u", i > 0 ? "," : "", host,
                            curator_address_port (address));
  }
  return g_string_free (list, all->len == 0);
}

guint
curator_servers_n_addresses (GPtrArray *servers)
{
  g_autoptr (GPtrArray) all = curator_servers_dup_addresses (servers);
  return all->len;
}

char *
curator_servers_dup_why (GPtrArray *servers)
{
  for (guint i = 0; i < servers->len; i++) {
    const CuratorServer *server = servers->pdata[i];
    if (server->why != NULL)
      return g_strdup_printf ("%s: %s", server->host, server->why);
  }
  return g_strdup ("no answer to the look-up of the host names");
}
