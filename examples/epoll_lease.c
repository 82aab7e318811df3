/* SPDX-License-Identifier: Apache-2.0
 * A server on epoll that never blocks on a lock: one descriptor wakes the loop when the acquire has
 * a result, another when the hold ends. Both work with libuv, libevent and libev too.
 *
 * usage: epoll_lease CONNECT-STRING
 */
#include <curator/curator.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct
{
  int epoll;
  int acquired; /* eventfd: readable once the next two are set */
  CuratorLease *lease;
  gboolean failed;
} Server;

/* Runs on a thread of the library: only stores the result and wakes the loop. */
static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Server *server = user_data;
  server->lease = lease;
  server->failed = lease == NULL;
  eventfd_write (server->acquired, 1);
}

static void
watch (Server *server, int fd)
{
  struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
  epoll_ctl (server->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Handles one event. Returns FALSE at the end. */
static gboolean
handle_event (Server *server)
{
  struct epoll_event event;
  eventfd_t count;
  if (epoll_wait (server->epoll, &event, 1, 200) == 0)
    {
      /* No event: a server would do other work here. */
      if (server->lease != NULL)
        curator_lease_release (server->lease, CURATOR_WAIT_DEFAULT, NULL, NULL);
      return TRUE;
    }
  if (event.data.fd != server->acquired)
    {
      g_print ("ended: %s\n",
               curator_lease_state_to_string (curator_lease_get_state (server->lease)));
      return FALSE;
    }
  eventfd_read (server->acquired, &count);
  if (server->failed)
    return FALSE;
  g_print ("held: %s\n", curator_lease_get_node_path (server->lease));
  watch (server, curator_lease_get_fd (server->lease));
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/epoll", &error);
  if (lock == NULL || !curator_client_start (client, &error))
    {
      g_printerr ("epoll_lease: %s\n", error->message);
      return 1;
    }
  Server server = { .epoll = epoll_create1 (EPOLL_CLOEXEC), .acquired = eventfd (0, EFD_CLOEXEC) };
  watch (&server, server.acquired);
  curator_lock_acquire_then (lock, 10000, NULL, on_acquired, &server);
  while (handle_event (&server))
    {
    }
  const gboolean ok =
      server.lease != NULL && curator_lease_get_state (server.lease) == CURATOR_LEASE_RELEASED;
  g_clear_pointer (&server.lease, curator_lease_unref);
  close (server.acquired);
  close (server.epoll);
  return ok ? 0 : 1;
}
