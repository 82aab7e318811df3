/* SPDX-License-Identifier: Apache-2.0
 * A hold in an event loop: a descriptor becomes readable when the hold ends. The loop here is
 * poll(); the descriptor works with epoll, libuv and libevent too.
 *
 * usage: lease_fd CONNECT-STRING
 */
#include <curator/curator.h>
#include <poll.h>

static int
fail (const GError *error)
{
  g_printerr ("lease_fd: %s\n", error->message);
  return 1;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error);

  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/fd", &error);
  g_autoptr (CuratorLease) lease =
      lock != NULL ? curator_lock_acquire_lease (lock, 10000, NULL, &error) : NULL;
  if (lease == NULL)
    return fail (error);
  struct pollfd events[] = { { curator_lease_get_fd (lease), POLLIN,
                               0 } /* and those of your program */ };
  for (int turns = 0; poll (events, G_N_ELEMENTS (events), 200) == 0; turns++) {
    g_print ("turn %d, the lease is %s\n", turns,
             curator_lease_state_to_string (curator_lease_get_state (lease)));
    if (turns == 2) {
      curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL,
                             NULL); /* any end of the hold wakes the loop */
    }
  }
  CuratorLeaseState end = curator_lease_get_state (lease);
  g_print ("ended: %s\n", curator_lease_state_to_string (end));
  return end == CURATOR_LEASE_STATE_RELEASED ? 0 : 1;
}
