/* SPDX-License-Identifier: Apache-2.0
 * A server on epoll that never waits for a lock: the answer to its acquire wakes the loop by one
 * descriptor, the end of the hold by another. libuv, libevent and libev take both as well.
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
  int answered; /* readable when the next two are set */
  CuratorLease *lease;
  gboolean failed;
} Server;

/* On a thread of the library's: hands over and wakes the loop, no more. */
static void
on_acquired (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer user_data)
{
  Server *server = user_data;
  server->lease = lease;
  server->failed = lease == NULL;
  eventfd_write (server->answered, 1);
}

static void
watch (Server *server, int fd)
{
  struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
  epoll_ctl (server->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* FALSE when there is nothing left to do. */
static gboolean
turn (Server *server)
{
  struct epoll_event event;
  eventfd_t count;
  if (epoll_wait (server->epoll, &event, 1, 200) == 0)
    {
      /* Nothing happened: the server's other work. Here it is done soon. */
      if (server->lease != NULL)
        {
          curator_lease_release (server->lease, NULL);
        }
      return TRUE;
    }
  if (event.data.fd != server->answered)
    {
      g_print ("over: %s\n",
               curator_lease_state_to_string (curator_lease_get_state (server->lease)));
      return FALSE;
    }
  eventfd_read (server->answered, &count);
  if (server->failed)
    {
      return FALSE;
    }
  g_print ("ours: %s\n", curator_lease_get_node_path (server->lease));
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
  Server server = { .epoll = epoll_create1 (EPOLL_CLOEXEC), .answered = eventfd (0, EFD_CLOEXEC) };
  watch (&server, server.answered);
  curator_lock_acquire_async (lock, 10000, NULL, on_acquired, &server);
  while (turn (&server))
    {
    }
  const gboolean ok =
      server.lease != NULL && curator_lease_get_state (server.lease) == CURATOR_LEASE_RELEASED;
  g_clear_pointer (&server.lease, curator_lease_unref);
  close (server.answered);
  close (server.epoll);
  return ok ? 0 : 1;
}
