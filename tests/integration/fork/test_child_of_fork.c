/* The child of a fork: every call is refused at once, sends nothing and does not block.
 *
 * The parent's threads do not exist in the child, and one may have held the client's mutex, so the
 * child must not lock it. The test holds it while it forks.
 */
#include "integration/fixture.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "support/held_lease.h"

#include <curator/zookeeper.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* The analysis sees that the mutex is never unlocked. */
#define HOLD_MUTEX FALSE
#else
#define HOLD_MUTEX TRUE
#endif

void __gcov_dump (void) __attribute__ ((weak));

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  int n_wrong;
} Child;

static void
expect (Child *child, gboolean as_wanted, const char *what)
{
  if (!as_wanted)
    {
      fprintf (stderr, "in the child of a fork: expectation failed: %s\n", what);
      child->n_wrong++;
    }
}

#define EXPECT(child, expectation) expect ((child), (expectation), #expectation)
#define EXPECT_FORKED(child, call)                                                                 \
  G_STMT_START                                                                                     \
  {                                                                                                \
    GError *error = NULL;                                                                          \
    EXPECT (child, !(call));                                                                       \
    EXPECT (child, g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_FORKED));                  \
    g_clear_error (&error);                                                                        \
  }                                                                                                \
  G_STMT_END

static void
nobody_is_told (CuratorClient *client, CuratorConnectionState state, gpointer data)
{
}

static void
no_lease_is_told (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
}

static void
use_client (Child *child)
{
  CuratorClient *client = child->client;
  guint64 counters[4] = { 1, 1, 1, 1 };

  EXPECT_FORKED (child, curator_client_start (client, &error));
  EXPECT_FORKED (child, curator_client_block_until_connected (client, -1, NULL, &error));
  EXPECT_FORKED (
      child, curator_client_attempt_revoke (client, "/fork/a", CURATOR_WAIT_DEFAULT, NULL, &error));
  EXPECT_FORKED (child, curator_mutex_new (client, "/fork/b", &error) != NULL);
  EXPECT (child, curator_client_get_connection_state (client) == CURATOR_CONNECTION_STATE_LOST);
  EXPECT (child, curator_client_get_session_id (client) == 0);
  EXPECT (child, curator_client_get_session_timeout_ms (client) == 0);
  EXPECT (child, curator_client_dup_server (client) == NULL);
  EXPECT (child, curator_client_add_state_listener (client, nobody_is_told, NULL, NULL) == 0);
  curator_client_remove_state_listener (client, 1);
  EXPECT (child, curator_client_get_counters (client, counters, 4) > 4 && counters[0] == 0);
  EXPECT (child, curator_client_format_metrics (client) == NULL);
}

static void
use_lock (Child *child)
{
  CuratorLock *lock = child->lock;

  EXPECT_FORKED (child, curator_lock_acquire (lock, -1, NULL, &error));
  EXPECT_FORKED (child, curator_lock_acquire_lease (lock, -1, NULL, &error) != NULL);
  EXPECT_FORKED (child, curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error));
  EXPECT_FORKED (
      child, curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error) != NULL);
  EXPECT_FORKED (child, curator_lock_make_revocable (lock, NULL, NULL, NULL, &error));
  EXPECT (child, !curator_lock_is_acquired_in_this_process (lock));
  EXPECT (child, curator_lock_get_max_hold_ms (lock) == 0);
  EXPECT (child, curator_lock_get_client (lock) == child->client);
  EXPECT (child, !curator_lock_is_owned_by_current_thread (lock));
  EXPECT (child, held_lease (lock) == NULL);
}

static void
use_lease (Child *child)
{
  CuratorLease *lease = child->lease;
  zoo_op_t op;

  EXPECT (child, curator_lease_get_state (lease) == CURATOR_LEASE_LOST);
  EXPECT (child, curator_lease_get_remaining_ms (lease) == 0);
  EXPECT (child, curator_lease_get_lost_reason (lease) == CURATOR_LOST_REASON_NONE);
  EXPECT (child, curator_lease_get_fd (lease) == -1);
  EXPECT (child, curator_lease_add_listener (lease, no_lease_is_told, NULL, NULL) == 0);
  curator_lease_remove_listener (lease, 1);
  EXPECT_FORKED (child, curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error) != NULL);
  EXPECT_FORKED (child, curator_lease_init_check_op (lease, &op, &error));
  EXPECT_FORKED (child, curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error));
}

static int
use_everything (Child child)
{
  alarm (60);
  use_client (&child);
  use_lock (&child);
  use_lease (&child);
  curator_lease_unref (child.lease);
  curator_lock_unref (child.lock);
  curator_client_close (child.client);
  curator_client_unref (child.client);
  if (__gcov_dump != NULL)
    __gcov_dump ();
  return child.n_wrong;
}

TEST (test_everything_is_refused)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/fork/lock");
  assert_acquired (lock);
  CuratorLease *lease = held_lease (lock);
  const Child child = { client, lock, lease, 0 };
  int status = 0;

  if (HOLD_MUTEX)
    curator_client_lock (client);
  const pid_t pid = fork ();
  if (pid == 0)
    _exit (use_everything (child));
  if (HOLD_MUTEX)
    curator_client_unlock (client);
  assert_int_equal (waitpid (pid, &status, 0), pid);
  assert_true (WIFEXITED (status));
  assert_int_equal (WEXITSTATUS (status), 0);

  assert_int_equal (curator_lease_get_state (lease), CURATOR_LEASE_HELD);
  assert_int_equal (raw_zk_count_children (fixture->raw, "/fork/lock"), 1);
  assert_released (lock);
  assert_no_residue (fixture, "/fork/lock", 3000);
}

/* The allocator of one sanitizer does not survive a fork at any moment; the other one allows no
 * thread after it. */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__

#define CHILD_SECONDS     20
#define CHILD_CONNECTS_MS 8000 /* of the 16 s that a resolver without threads takes */

static void *
look_up_quarks (void *data)
{
  gint *stop = data;
  while (!g_atomic_int_get (stop))
    g_quark_from_static_string ("curator-error-quark");
  return NULL;
}

/* The lock around GLib's quarks is hardly ever free: in the child it may be locked for ever. */
TEST (test_errors_need_no_lock_of_glib)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  pthread_t threads[4];
  gint stop = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, look_up_quarks, &stop);
  for (int i = 0; i < 50; i++)
    {
      const pid_t pid = fork ();
      int status = 0;
      if (pid == 0)
        {
          g_autoptr (GError) error = NULL;
          alarm (CHILD_SECONDS);
          _exit (!curator_client_start (client, &error) && error->code == CURATOR_ERROR_FORKED ? 0
                                                                                               : 1);
        }
      assert_int_equal (waitpid (pid, &status, 0), pid);
      if (status != 0)
        fail_msg ("child %d: status 0x%x", i, (unsigned) status);
    }
  g_atomic_int_set (&stop, 1);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
}

#define NAME "server.test"

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

/* In place of the C library's: knows one name more. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
  return real (g_strcmp0 (node, NAME) == 0 ? "localhost" : node, service, hints, found);
}

static int
connect_by_name (const char *address)
{
  g_autoptr (CuratorClient) client = curator_client_new (address, NULL);

  alarm (CHILD_SECONDS);
  return curator_client_start (client, NULL)
                 && curator_client_block_until_connected (client, CHILD_CONNECTS_MS, NULL, NULL)
             ? 0
             : 1;
}

/* The parent has looked the name up, too, and the threads that did are not in the child. */
TEST (test_names_are_looked_up_in_the_child)
{
  Proxy *named = proxy_new_raw (fixture_server (fixture), "127.0.0.1");
  g_autofree char *address = g_strdup_printf (NAME "%s", strrchr (proxy_address (named), ':'));

  for (int i = 0; i < 8; i++)
    {
      g_autoptr (CuratorClient) client = client_new (address);
      int status = 0;
      client_start (client);
      g_usleep ((gulong) i * 10000);
      const pid_t pid = fork ();
      if (pid == 0)
        _exit (connect_by_name (address));
      assert_int_equal (waitpid (pid, &status, 0), pid);
      if (status != 0)
        fail_msg ("child %d: status 0x%x", i, (unsigned) status);
    }
  proxy_free (named);
}

#endif

SUITE ("child_of_fork", fixture_start, fixture_stop)
