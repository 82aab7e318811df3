/* doctor: whether the servers of the connect string are one ensemble, so that their locks exclude,
 * and what else shows about each of them.
 *
 * Threads: the main one. */
#include "views/doctor_ensemble.h"

#include <string.h>

/* Of the connections that a server takes from one address. */
#define CONNECTIONS_WARNING 0.8
#define CLOCK_WARNING_MS    2000

static gboolean
is_mode (const Server *server, const char *mode)
{
  return g_strcmp0 (server->mode, mode) == 0;
}

/* One of them is of no ensemble, or each leads one, or they name other members. Our connection is
 * to one server, so where two list it they are one, with two names in the string. */
static gboolean
are_apart (Doctor *doctor, const Server *one, const Server *other)
{
  const gint64 session = curator_client_get_session_id (doctor->client);
  const gboolean have_two_modes = is_mode (one, "standalone") || is_mode (other, "standalone")
                                  || (is_mode (one, "leader") && is_mode (other, "leader"));
  return (have_two_modes
          && !(server_has_session (one, session) && server_has_session (other, session)))
         || (one->members != NULL && other->members != NULL
             && strcmp (one->members, other->members) != 0);
}

/* Compares it with those before it in the string; one finding is enough. */
static void
check_belongs (Doctor *doctor, guint i)
{
  const Server *server = g_ptr_array_index (doctor->servers, i);

  for (guint k = 0; k < i; k++) {
    const Server *other = g_ptr_array_index (doctor->servers, k);
    if (are_apart (doctor, server, other)) {
      doctor_report (doctor, LEVEL_PROBLEM, "ensemble", server->address,
                     "it is %s%s, and no member of the ensemble of %s: a lock at one excludes "
                     "nobody at the other; name the members of one ensemble",
                     is_mode (server, "standalone") ? "" : "a ",
                     server->mode != NULL ? server->mode : "server", other->address);
      return;
    }
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
  while (g_hash_table_iter_next (&iter, NULL, &address)) {
    const char *colon = strrchr (address, ':');
    char *host = colon != NULL ? g_strndup (address, (gsize) (colon - (char *) address))
                               : g_strdup (address);
    const guint n = GPOINTER_TO_UINT (g_hash_table_lookup (counts, host)) + 1;
    g_hash_table_insert (counts, host, GUINT_TO_POINTER (n));
    most = MAX (most, n);
  }
  return most;
}

/* Our own connection was made between the start and now; where it is, the newest one is not
 * older. */
static void
check_clock (Doctor *doctor, const Server *server)
{
  const gboolean has_ours =
      server_has_session (server, curator_client_get_session_id (doctor->client));
  const gint64 ahead_ms = server->newest_ms - g_get_real_time () / 1000;
  const gint64 behind_ms = has_ours ? doctor->began_ms - server->newest_ms : 0;

  if (server->newest_ms > 0 && MAX (ahead_ms, behind_ms) > CLOCK_WARNING_MS)
    doctor_report (
        doctor, LEVEL_WARNING, "clocks", server->address,
        "its clock is %d s %s that of this machine: who, tree and top show wrong ages, no "
        "lock depends on it; set both by NTP",
        (int) (MAX (ahead_ms, behind_ms) / 1000), ahead_ms > behind_ms ? "ahead of" : "behind");
}

/* A name may stand for several servers, so this is no more than a note. */
static void
check_names_all (Doctor *doctor)
{
  const char *members = NULL;
  guint n = 0;

  for (guint i = 0; i < doctor->servers->len && members == NULL; i++)
    members = ((const Server *) g_ptr_array_index (doctor->servers, i))->members;
  g_auto (GStrv) lines = g_strsplit (members != NULL ? members : "", "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    n += strstr (*line, ":observer") == NULL;
  if (n > doctor->servers->len)
    doctor_report (
        doctor, LEVEL_NOTE, "members", doctor->options->hosts,
        "the ensemble has %u members that vote, the connect string %u servers: while those "
        "are away, the others are not asked; name all",
        n, doctor->servers->len);
}

void
doctor_check_ensemble (Doctor *doctor)
{
  for (guint i = 0; i < doctor->servers->len; i++) {
    const Server *server = g_ptr_array_index (doctor->servers, i);
    const guint most = server->sessions != NULL ? count_most (server) : 0;
    check_belongs (doctor, i);
    if (is_mode (server, "observer"))
      doctor_report (
          doctor, LEVEL_WARNING, "observer", server->address,
          "it is an observer: it has no vote, and its clients lose their sessions when it "
          "is cut off from the members; name members that vote");
    if (server->max_connections > 0
        && most >= CONNECTIONS_WARNING * (double) server->max_connections)
      doctor_report (doctor, LEVEL_WARNING, "connections", server->address,
                     "%u of the %d connections that it takes from one address are in use "
                     "(maxClientCnxns): the next ones are closed at once",
                     most, (int) server->max_connections);
    check_clock (doctor, server);
  }
  check_names_all (doctor);
}
