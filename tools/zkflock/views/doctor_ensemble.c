/* doctor: whether the servers of the connect string are one ensemble, so that their locks exclude.
 *
 * Threads: the main one. */
#include "views/doctor_ensemble.h"

#include <string.h>

/* Of the connections that a server takes from one address. */
#define CONNECTIONS_WARNING 0.8

static gboolean
is_mode (const Server *server, const char *mode)
{
  return g_strcmp0 (server->mode, mode) == 0;
}

/* Our connection is to one server, so where two list it they are one, with two names in the string. */
static gboolean
is_the_same (Doctor *doctor, const Server *one, const Server *other)
{
  const gint64 session = curator_client_get_session_id (doctor->client);
  return one->sessions != NULL && other->sessions != NULL
         && g_hash_table_contains (one->sessions, &session)
         && g_hash_table_contains (other->sessions, &session);
}

/* One of them is of no ensemble, or each leads one. */
static gboolean
are_apart (Doctor *doctor, const Server *one, const Server *other)
{
  return (is_mode (one, "standalone") || is_mode (other, "standalone")
          || (is_mode (one, "leader") && is_mode (other, "leader")))
         && !is_the_same (doctor, one, other);
}

static gboolean
have_other_members (const Server *one, const Server *other)
{
  return one->members != NULL && other->members != NULL
         && strcmp (one->members, other->members) != 0;
}

/* Compares it with those before it in the string; one finding is enough. */
static void
check_belongs (Doctor *doctor, guint i)
{
  const Server *server = g_ptr_array_index (doctor->servers, i);

  for (guint k = 0; k < i; k++)
    {
      const Server *other = g_ptr_array_index (doctor->servers, k);
      if (are_apart (doctor, server, other) || have_other_members (server, other))
        {
          doctor_report (doctor, LEVEL_PROBLEM, "ensemble", server->address,
                         "it is %s%s, and no member of the ensemble of %s: a lock at one excludes "
                         "nobody at the other; name the members of one ensemble",
                         is_mode (server, "standalone") ? "" : "a ",
                         server->mode != NULL ? server->mode : "server", other->address);
          return;
        }
    }
}

static void
check_vote (Doctor *doctor, const Server *server)
{
  if (is_mode (server, "observer"))
    {
      doctor_report (doctor, LEVEL_WARNING, "observer", server->address,
                     "it is an observer: it has no vote, and its clients lose their sessions when it "
                     "is cut off from the members; name members that vote");
    }
}

/* The most connections of one client's address. */
static guint
count_most (const Server *server)
{
  g_autoptr (GHashTable) counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer address;
  guint most = 0;

  g_hash_table_iter_init (&iter, server->sessions);
  while (g_hash_table_iter_next (&iter, NULL, &address))
    {
      const char *colon = strrchr (address, ':');
      char *host =
          colon != NULL ? g_strndup (address, (gsize) (colon - (char *) address)) : g_strdup (address);
      const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, host)) + 1;
      g_hash_table_insert (counts, host, GUINT_TO_POINTER (n));
      most = MAX (most, n);
    }
  return most;
}

static void
check_connections (Doctor *doctor, const Server *server)
{
  const guint most = server->sessions != NULL ? count_most (server) : 0;

  if (server->max_connections > 0 && most >= CONNECTIONS_WARNING * (double) server->max_connections)
    {
      doctor_report (doctor, LEVEL_WARNING, "connections", server->address,
                     "%u of the %d connections that it takes from one address are in use "
                     "(maxClientCnxns): the next ones are closed at once",
                     most, (int) server->max_connections);
    }
}

void
doctor_check_ensemble (Doctor *doctor)
{
  for (guint i = 0; i < doctor->servers->len; i++)
    {
      const Server *server = g_ptr_array_index (doctor->servers, i);
      check_belongs (doctor, i);
      check_vote (doctor, server);
      check_connections (doctor, server);
    }
}
