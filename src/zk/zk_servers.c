/* Another list of servers for a living handle; see zk_servers.h.
 *
 * Mirrors ZooKeeper.updateServerList(). Threads: any sets a list, with the client's mutex; the
 * library's IO thread takes it over.
 *
 * NOTES: zoo_set_servers() closes the socket and frees the list of hosts without regard for the IO
 * thread, which may be using both. So it runs on that thread: in the log callback, when the library
 * reports that a connection has failed and does not use either any more. The callback has no
 * context; the thread's name tells whose it is. Of a connection that was alive the library then
 * forgets the event. A request that fails with that connection stands for it: the answer comes
 * behind the events that are not delivered yet. A list in which only ports differ counts as the
 * same: a server that cannot exist comes between.
 */
#include "zk/zk_servers.h"

#include "base/fork_gate.h"
#include "base/server_list.h"
#include "core/log.h"
#include "zk/io_lookups.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOBODY     "255.255.255.255:1"
#define N_LOCKINGS 2 /* for one message */
#define PAUSE_US   200
#define MOST_LOOKS 100

/* Of zookeeper_log.h, which cannot be included from <zookeeper/>. */
extern ZooLogLevel logLevel;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static GPtrArray *handles;
static ZooLogLevel level; /* before the fork */

static gboolean
all_rest (void)
{
  for (guint i = 0; i < handles->len; i++) {
    CuratorZkHandle *handle = handles->pdata[i];
    if (!curator_io_thread_rests (&handle->io))
      return FALSE;
  }
  return TRUE;
}

/* libzookeeper's threads format the local time of each message, twice under a lock of the C
 * library's that would stay locked in the child. So they begin none from here on, and who has begun
 * one ends it: tzset() waits for that lock. A connection that fails meanwhile is not noted: the
 * look-up that follows has ended when the threads rest. Where nobody sees that, a pause has to do. */
static void
begin_fork (void)
{
  pthread_mutex_lock (&mutex);
  level = logLevel;
  zoo_set_debug_level ((ZooLogLevel) 0);
  for (int i = 0; i < N_LOCKINGS; i++) {
    int looks = 0;
    do {
      g_usleep (PAUSE_US);
    } while (++looks < MOST_LOOKS && !all_rest ());
    tzset ();
  }
}

static void
end_fork (void)
{
  zoo_set_debug_level (level);
  pthread_mutex_unlock (&mutex);
}

/* The child of a fork may have clients of its own: it must find the mutex free. fork() waits for
 * look-ups first: who ends one may need the mutex. */
static void
create_handles (void)
{
  curator_lookup_watch_forks ();
  handles = g_ptr_array_new ();
  curator_gate_at_fork (begin_fork, end_fork, end_fork);
}

void
curator_zk_servers_add (CuratorZkHandle *handle, const char *addresses)
{
  pthread_once (&once, create_handles);
  handle->addresses = g_strdup (addresses);
  pthread_mutex_lock (&mutex);
  g_ptr_array_add (handles, handle);
  pthread_mutex_unlock (&mutex);
}

/* The IO thread may be using the handle until zookeeper_close() has joined it. */
void
curator_zk_servers_remove (CuratorZkHandle *handle)
{
  pthread_mutex_lock (&mutex);
  g_ptr_array_remove_fast (handles, handle);
  pthread_mutex_unlock (&mutex);
}

/* The handle whose IO thread this is, or NULL. It lives until zookeeper_close() has joined the
 * thread. */
static CuratorZkHandle *
find_own (void)
{
  char name[16] = "";
  CuratorZkHandle *own = NULL;

  pthread_getname_np (pthread_self (), name, sizeof name);
  pthread_once (&once, create_handles);
  pthread_mutex_lock (&mutex);
  for (guint i = 0; i < handles->len && own == NULL; i++) {
    CuratorZkHandle *handle = handles->pdata[i];
    own = strcmp (handle->io.name, name) == 0 ? handle : NULL;
  }
  pthread_mutex_unlock (&mutex);
  return own;
}

/* Runs on the completion thread. */
static void
on_lost (int rc, const struct Stat *stat, const void *data)
{
  const CuratorZkHandle *handle = data;
  handle->watch (handle->zh, ZOO_SESSION_EVENT, ZOO_CONNECTING_STATE, "", handle->watch_context);
}

/* Runs on the IO thread, which closes the socket next. */
static void
on_failure (void)
{
  const int error = errno;
  CuratorZkHandle *handle = find_own ();

  if (handle == NULL)
    return;
  pthread_mutex_lock (&mutex);
  g_autofree char *addresses = g_steal_pointer (&handle->next_addresses);
  if (addresses != NULL) {
    g_free (handle->addresses);
    handle->addresses = g_strdup (addresses);
  }
  pthread_mutex_unlock (&mutex);
  if (addresses == NULL || zoo_state (handle->zh) < 0)
    return;
  const gboolean was_connected = zoo_state (handle->zh) == ZOO_CONNECTED_STATE;
  curator_lookup_enter (CURATOR_LOOKUP_BY_LIBRARY);
  zoo_set_servers (handle->zh, NOBODY);
  zoo_set_servers (handle->zh, addresses);
  curator_lookup_leave (CURATOR_LOOKUP_BY_LIBRARY);
  if (was_connected)
    zoo_aexists (handle->zh, "/", FALSE, on_lost, handle);
  errno = error;
}

void
curator_zk_servers_log_line (const char *line)
{
  const char *socket = strstr (line, ": Socket ");
  const gboolean failed = socket != NULL && strstr (socket, " zk retcode=") != NULL;
  CuratorZkHandle *own = failed ? find_own () : NULL;
  gboolean is_ours = FALSE; /* the end of an attempt by us */

  /* Not inside the gate, which may be closed until this is known, and without the mutex, which
   * fork() takes after that of the look-ups. */
  if (own != NULL) {
    curator_io_lookups_note_failure (&own->lookups, own->zh);
    is_ours = atomic_exchange (&own->socket.is_ended, FALSE);
  }
  CURATOR_INSIDE_GATE;
  /* The library tells the cause in ", errno=N(…): …". That of such an end is not the true one. */
  const char *cause = is_ours ? strstr (line, ", errno=") : NULL;
  g_autofree char *told =
      cause == NULL
          ? g_strdup (line)
          : g_strdup_printf ("%.*s, errno=%d(%s): given up for the next server",
                             (int) (cause - line), line, ETIMEDOUT, g_strerror (ETIMEDOUT));
  curator_log_zookeeper_line (told);
  if (failed)
    on_failure ();
}

/* FALSE also while TCP is not connected. */
static gboolean
is_peer_among (int sock, GPtrArray *servers)
{
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;

  if (getpeername (sock, (struct sockaddr *) &peer, &length) != 0)
    return FALSE;
  const CuratorAddress address = curator_address_new (&peer, length);
  g_autoptr (GPtrArray) all = curator_servers_dup_addresses (servers);
  return g_ptr_array_find_with_equal_func (all, &address, curator_address_equal, NULL);
}

gboolean
curator_zk_servers_set (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers,
                        const char *addresses, gboolean leave)
{
  pthread_mutex_lock (&mutex);
  const gboolean differs = strcmp (handle->addresses, addresses) != 0;
  g_free (handle->next_addresses);
  handle->next_addresses = differs ? g_strdup (addresses) : NULL;
  pthread_mutex_unlock (&mutex);
  if (!differs || !leave)
    return TRUE;
  const int sock = curator_io_thread_dup_socket (&handle->io);
  if (sock < 0)
    return FALSE;
  const gboolean stays = is_peer_among (sock, servers);
  if (!stays)
    shutdown (sock, SHUT_RDWR);
  close (sock);
  return stays;
}
