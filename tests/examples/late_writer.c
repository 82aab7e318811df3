/* late_KIND CONNECT-STRING LOCK RESOURCE ROUND BODY [stop]
 *
 * A holder that checks its lease and then writes twice, to an object with the example's guard and
 * to one without. With "stop" it is stopped between the check and the writes, until somebody
 * continues it. Prints whether the check found the lock held, then which writes were accepted. */
#include "late_writer.h"

#include <curator/curator.h>

#include <signal.h>
#include <stdlib.h>

#define SESSION_MS 8000 /* a holder that is late by 2 s still holds when it looks */
#define WAIT_MS    120000

static int
fail (const GError *error)
{
  g_printerr ("late_writer: %s\n", error->message);
  return 1;
}

static int
hold_and_write (CuratorLock *lock, const char *round, const char *body, gboolean stops)
{
  g_autofree char *guarded = g_strconcat ("guarded-", round, NULL);
  g_autofree char *plain = g_strconcat ("plain-", round, NULL);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  const guint64 token = curator_lease_get_fencing_token (lease);
  const gboolean held = curator_lease_get_state (lease) == CURATOR_LEASE_STATE_HELD;
  g_print ("held %d token %" G_GUINT64_FORMAT "\n", held, token);
  if (stops && !late_resource_stops)
    raise (SIGSTOP);
  const gboolean first = late_write_guarded (guarded, token, body);
  const gboolean second = late_write_plain (plain, token, body);
  g_print ("accepted %d %d\n", first, second);
  return held ? 0 : 1;
}

int
main (int argc, char **argv)
{
  if (argc < 6)
    return 64;
  const gboolean stops = argc > 6;
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = curator_client_new (argv[1], NULL);
  curator_client_set_session_timeout (client, SESSION_MS);
  late_open (argv[3], stops);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, argv[2], NULL);
  if (!curator_client_start (client, &error) || !curator_lock_acquire (lock, WAIT_MS, NULL, &error))
    return fail (error);
  const int status = hold_and_write (lock, argv[4], argv[5], stops);
  late_close ();
  curator_client_close (client);
  return status;
}
