/* The servers of a client; see server_list.h. Threads: any; no lock. */
#include "base/server_list.h"

#include "base/connect_string.h"
#include "base/lookup.h"

#include <string.h>

static void
server_free (gpointer data)
{
  CuratorServer *server = data;
  g_free (server->host);
  g_strfreev (server->addresses);
  g_strfreev (server->former);
  g_free (server->why);
  g_free (server);
}

static gboolean
is_address (const CuratorHostPort *host)
{
  g_autoptr (GPtrArray) found = curator_lookup_digits (host->host, host->port);
  return found->len > 0;
}

GPtrArray *
curator_servers_new (GPtrArray *hosts)
{
  GPtrArray *servers = g_ptr_array_new_with_free_func (server_free);

  for (guint i = 0; i < hosts->len; i++)
    {
      const CuratorHostPort *host = hosts->pdata[i];
      CuratorServer *server = g_new0 (CuratorServer, 1);
      server->host = g_strdup (host->host);
      server->port = host->port;
      server->is_numeric = is_address (host);
      if (server->is_numeric)
        {
          server->addresses = g_new0 (char *, 2);
          server->addresses[0] = g_strdup (host->host);
        }
      g_ptr_array_add (servers, server);
    }
  return servers;
}

static char **
join_vectors (char **first, char **second)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  for (char **one = first; one != NULL && *one != NULL; one++)
    g_ptr_array_add (all, g_strdup (*one));
  for (char **one = second; one != NULL && *one != NULL; one++)
    {
      if (!g_ptr_array_find_with_equal_func (all, *one, g_str_equal, NULL))
        g_ptr_array_add (all, g_strdup (*one));
    }
  g_ptr_array_add (all, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&all), FALSE);
}

GPtrArray *
curator_servers_copy (GPtrArray *servers, gboolean with_former)
{
  GPtrArray *copies = g_ptr_array_new_with_free_func (server_free);

  for (guint i = 0; i < servers->len; i++)
    {
      const CuratorServer *server = servers->pdata[i];
      CuratorServer *copy = g_new0 (CuratorServer, 1);
      copy->host = g_strdup (server->host);
      copy->port = server->port;
      copy->is_numeric = server->is_numeric;
      copy->addresses = join_vectors (server->addresses, with_former ? server->former : NULL);
      copy->why = g_strdup (server->why);
      g_ptr_array_add (copies, copy);
    }
  return copies;
}

static const CuratorServer *
find (GPtrArray *servers, const char *host)
{
  for (guint i = 0; i < servers->len; i++)
    {
      const CuratorServer *server = servers->pdata[i];
      if (g_str_equal (server->host, host))
        return server;
    }
  return NULL;
}

void
curator_servers_inherit (GPtrArray *servers, GPtrArray *older)
{
  for (guint i = 0; i < servers->len; i++)
    {
      CuratorServer *server = servers->pdata[i];
      const CuratorServer *same = find (older, server->host);
      if (!server->is_numeric && same != NULL)
        {
          server->addresses = g_strdupv (same->addresses);
          server->former = g_strdupv (same->former);
        }
    }
}

static gboolean
same_words (const char *const *words, const char *const *others)
{
  while (*words != NULL && g_strcmp0 (*words, *others) == 0)
    {
      words++;
      others++;
    }
  return *words == NULL && *others == NULL;
}

static gboolean
server_equal (const CuratorServer *one, const CuratorServer *other)
{
  static const char *const none[] = { NULL };
  const char *const *its = (const char *const *) one->addresses;
  const char *const *others = (const char *const *) other->addresses;

  return g_str_equal (one->host, other->host) && one->port == other->port
         && same_words (its != NULL ? its : none, others != NULL ? others : none);
}

gboolean
curator_servers_equal (GPtrArray *servers, GPtrArray *others)
{
  gboolean equal = servers->len == others->len;

  for (guint i = 0; equal && i < servers->len; i++)
    equal = server_equal (servers->pdata[i], others->pdata[i]);
  return equal;
}

gboolean
curator_servers_have_names (GPtrArray *servers)
{
  for (guint i = 0; i < servers->len; i++)
    {
      if (!((const CuratorServer *) servers->pdata[i])->is_numeric)
        return TRUE;
    }
  return FALSE;
}

void
curator_server_resolved (CuratorServer *server, char **addresses, char *why)
{
  g_free (server->why);
  server->why = why;
  if (addresses == NULL)
    return;
  if (server->addresses == NULL
      || same_words ((const char *const *) addresses, (const char *const *) server->addresses))
    {
      g_strfreev (server->addresses);
    }
  else
    {
      g_strfreev (server->former);
      server->former = server->addresses;
    }
  server->addresses = addresses;
}

static void
add_all (GPtrArray *all, char **addresses, guint16 port)
{
  for (char **address = addresses; address != NULL && *address != NULL; address++)
    {
      char *entry = g_strdup_printf ("%s:%u", *address, port);
      if (g_ptr_array_find_with_equal_func (all, entry, g_str_equal, NULL))
        {
          g_free (entry);
          continue;
        }
      g_ptr_array_add (all, entry);
    }
}

char *
curator_servers_join (GPtrArray *servers)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < servers->len; i++)
    {
      const CuratorServer *server = servers->pdata[i];
      add_all (all, server->addresses, server->port);
    }
  if (all->len == 0)
    return NULL;
  if (all->len % 2 == 0)
    g_ptr_array_add (all, g_strdup (all->pdata[0]));
  g_ptr_array_add (all, NULL);
  return g_strjoinv (",", (char **) all->pdata);
}

char *
curator_servers_dup_why (GPtrArray *servers)
{
  for (guint i = 0; i < servers->len; i++)
    {
      const CuratorServer *server = servers->pdata[i];
      if (server->why != NULL)
        return g_strdup_printf ("%s: %s", server->host, server->why);
    }
  return g_strdup ("no answer to the look-up of the host names");
}

char *
curator_address_to_string (const struct sockaddr *address, socklen_t length)
{
  char number[NI_MAXHOST];
  char port[NI_MAXSERV];

  return getnameinfo (address, length, number, sizeof number, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV)
                 == 0
             ? g_strconcat (number, ":", port, NULL)
             : NULL;
}

gboolean
curator_servers_list_contains (const char *list, const char *address)
{
  g_auto (GStrv) entries = g_strsplit (list, ",", -1);
  return g_strv_contains ((const char *const *) entries, address);
}
