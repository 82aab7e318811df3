/* A server that accepts a connection and does not answer: the holder asks the next one in time.
 *
 * libzookeeper alone waits 2/3 of the session timeout, which is longer than a lease lasts.
 */
#include "integration/fixture.h"
#include "support/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_CLIENTS      3
#define N_LOOK_ALIKE   4
#define MAX_SESSION_MS 120000

typedef struct
{
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  StateLog *log;
} Holder;

static void
holder_start (Holder *holder, const char *address, int session_ms)
{
  static int n_holders;
  g_autofree char *path = g_strdup_printf ("/silent/%d", n_holders++);

  holder->client = client_new (address);
  curator_client_set_session_timeout (holder->client, session_ms);
  holder->log = state_log_new (holder->client);
  client_start (holder->client);
  holder->lock = mutex_new (holder->client, path);
  holder->lease = lease_of (holder->lock);
}

static void
holder_end (Holder *holder)
{
  g_autoptr (GError) error = NULL;

  assert_int_equal (state_log_count (holder->log, CURATOR_CONNECTION_STATE_LOST), 0);
  assert_ok (curator_lease_release (holder->lease, LONG_MS, NULL, &error), &error);
  curator_lease_unref (holder->lease);
  curator_lock_unref (holder->lock);
  curator_client_close (holder->client);
  curator_client_unref (holder->client);
  state_log_free (holder->log);
}

/* All of them are connected again, and a quorum has confirmed that they still hold. */
static void
assert_survived (Holder *holders, int n, int times)
{
  for (int i = 0; i < n; i++) {
    assert_true (state_log_wait (holders[i].log, CURATOR_CONNECTION_STATE_RECONNECTED, times,
                                 MAX_SESSION_MS));
    assert_int_equal (state_log_count (holders[i].log, CURATOR_CONNECTION_STATE_LOST), 0);
    assert_soon (curator_lease_get_state (holders[i].lease) == CURATOR_LEASE_STATE_HELD);
  }
}

static int
connect_to (const char *address)
{
  struct sockaddr_in name;
  const int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int one = 1;

  assert_true (net_parse (address, &name));
  assert_true (setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
  assert_true (connect (fd, (struct sockaddr *) &name, sizeof name) == 0 || errno == EINPROGRESS);
  return fd;
}

/* Connections of the program's to the same server, as silent as ours. */
static void
look_alike_start (Fixture *fixture, int *fds)
{
  proxy_silence (fixture->proxy, N_LOOK_ALIKE);
  for (int i = 0; i < N_LOOK_ALIKE; i++)
    fds[i] = connect_to (fixture_proxy (fixture));
  assert_soon (proxy_silent_left (fixture->proxy) == 0);
}

static void
look_alike_end (const int *fds)
{
  for (int i = 0; i < N_LOOK_ALIKE; i++) {
    char byte;
    assert_int_equal (recv (fds[i], &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal (errno, EAGAIN);
    assert_int_equal (fcntl (fds[i], F_GETFD), 0);
    close (fds[i]);
  }
}

static void
test_accepted_in_silence (Fixture *fixture, int session_ms, int rounds)
{
  Holder holders[N_CLIENTS];

  for (int i = 0; i < N_CLIENTS; i++)
    holder_start (&holders[i], fixture_proxy (fixture), session_ms);
  for (int round = 1; round <= rounds; round++) {
    int fds[N_LOOK_ALIKE];
    look_alike_start (fixture, fds);
    proxy_silence (fixture->proxy, N_CLIENTS);
    proxy_cut (fixture->proxy);
    assert_survived (holders, N_CLIENTS, round);
    assert_int_equal (proxy_silent_left (fixture->proxy), 0);
    look_alike_end (fds);
  }
  for (int i = 0; i < N_CLIENTS; i++)
    holder_end (&holders[i]);
}

/* Three silent attempts take 0.4 of the session timeout, and a hold has 0.5 or more of it: the
 * rest, a tenth, is what a busy machine may take. */
TEST (test_silence_60_s)
{
  test_accepted_in_silence (fixture, 60000, 2);
}

TEST (test_silence_120_s)
{
  test_accepted_in_silence (fixture, MAX_SESSION_MS, 1);
}

/* An address that refuses connections, and later neither accepts nor refuses them. */
typedef struct
{
  int fd;
  char *address;
  int fillers[8];
  int n_fillers;
} Hole;

static void
hole_new (Hole *hole)
{
  struct sockaddr_in name;
  socklen_t length = sizeof name;

  assert_true (net_parse ("127.0.0.1:0", &name));
  hole->n_fillers = 0;
  hole->fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal (bind (hole->fd, (struct sockaddr *) &name, sizeof name), 0);
  assert_int_equal (getsockname (hole->fd, (struct sockaddr *) &name, &length), 0);
  hole->address = g_strdup_printf ("127.0.0.1:%d", ntohs (name.sin_port));
}

/* Nobody accepts what is in its queue, so that the system drops any further connection request. */
static void
hole_open (Hole *hole)
{
  assert_int_equal (listen (hole->fd, 0), 0);
  while (hole->n_fillers < (int) G_N_ELEMENTS (hole->fillers)) {
    struct pollfd made = { .fd = connect_to (hole->address), .events = POLLOUT };
    hole->fillers[hole->n_fillers++] = made.fd;
    if (poll (&made, 1, 100) == 0)
      return;
  }
  fail_msg ("the system accepts every connection");
}

static void
hole_free (Hole *hole)
{
  for (int i = 0; i < hole->n_fillers; i++)
    close (hole->fillers[i]);
  close (hole->fd);
  g_free (hole->address);
}

/* The client's other server does not even accept. */
TEST (test_no_handshake)
{
  Holder holder;
  Hole hole;

  hole_new (&hole);
  g_autofree char *both = g_strdup_printf ("%s,%s", fixture_proxy (fixture), hole.address);
  holder_start (&holder, both, 30000);
  hole_open (&hole);
  for (int round = 1; round <= 4; round++) {
    proxy_cut (fixture->proxy);
    assert_survived (&holder, 1, round);
  }
  holder_end (&holder);
  hole_free (&hole);
}

static gint spinning; /* atomic */

static void *
spin (void *data)
{
  while (g_atomic_int_get (&spinning) != 0) {
  }
  return NULL;
}

/* A standalone server is away for 1.5 s, and the machine is busy.
 *
 * The session is long, since a server may need many seconds to start on such a machine. A
 * connection that is lost in between still has to be replaced in time: libzookeeper alone waits 2/3
 * of any session.
 */
TEST (test_restart_of_the_server)
{
  Holder holders[N_CLIENTS];
  pthread_t threads[3];

  for (int i = 0; i < N_CLIENTS; i++)
    holder_start (&holders[i], fixture_server (fixture), MAX_SESSION_MS);
  g_atomic_int_set (&spinning, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, spin, NULL);
  for (int round = 1; round <= 2; round++) {
    zk_server_kill (fixture->server);
    g_usleep (1500000);
    assert_true (zk_server_relaunch (fixture->server));
    assert_true (zk_server_wait_serving (fixture->server, LONG_MS));
    assert_survived (holders, N_CLIENTS, round);
  }
  g_atomic_int_set (&spinning, 0);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
  for (int i = 0; i < N_CLIENTS; i++)
    holder_end (&holders[i]);
}

static int
start_patient (void **state)
{
  return fixture_start_for_sessions (state, MAX_SESSION_MS);
}

SUITE ("silent_server", start_patient, fixture_stop)
