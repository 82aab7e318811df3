/* Revocation between the languages: C requests it of a holder in Java, Java of holders in C. */
#define SUITE_FIXTURE Fixture *fixture
#include "support/held_lease.h"
#include "support/process.h"
#include "support/raw_zk.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

#define LONG_MS 30000

typedef struct
{
  ZkServer *server;
  CuratorClient *client;
} Fixture;

typedef struct
{
  pid_t pid;
  char *output;
} Peer;

static Peer
peer_start (Fixture *fixture, const char *command, const char *first, const char *second)
{
  Peer peer = { 0 };
  const char *const argv[] = { CONTEST_JAVA,
                               "-Xmx128m",
                               "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1",
                               "-XX:-UsePerfData",
                               "-cp",
                               CONTEST_CLASSPATH,
                               "RevocationPeer",
                               zk_server_address (fixture->server),
                               command,
                               first,
                               second,
                               NULL };
  int fd = g_file_open_tmp ("curator-revocation-XXXXXX", &peer.output, NULL);
  assert_true (fd >= 0);
  g_close (fd, NULL);
  peer.pid = process_spawn ((char *const *) argv, peer.output);
  assert_true (peer.pid > 0);
  return peer;
}

static gboolean
has_node (gpointer data)
{
  Peer *peer = data;
  g_autofree char *text = NULL;
  g_file_get_contents (peer->output, &text, NULL, NULL);
  return text != NULL
         && (g_regex_match_simple ("HOLDING .*\n", text, 0, 0) || strstr (text, "ERROR") != NULL);
}

/* Its whole output, once it has exited successfully. */
static char *
peer_end (Peer *peer)
{
  int status = 0;
  char *text = NULL;
  const gboolean ended = process_wait (peer->pid, LONG_MS, &status);
  if (!ended)
    process_kill (peer->pid);
  g_file_get_contents (peer->output, &text, NULL, NULL);
  g_unlink (peer->output);
  g_free (peer->output);
  if (!ended || !WIFEXITED (status) || WEXITSTATUS (status) != 0)
    fail_msg ("the peer failed:\n%s", text);
  return text;
}

static void
check (gboolean good, GError **error)
{
  if (!good || *error != NULL)
    fail_msg ("%s", *error != NULL ? (*error)->message : "failed without an error");
}

/* Holders of each kind in Java, found among the participants and requested to release from C. */
static void
ask_java (Fixture *fixture, const char *path, const char *kind, CuratorLock *lock)
{
  g_autoptr (GError) error = NULL;
  Peer peer = peer_start (fixture, "hold", path, kind);
  assert_true (wait_until (has_node, &peer, LONG_MS));
  g_auto (GStrv) nodes =
      curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  check (nodes != NULL, &error);
  assert_int_equal (g_strv_length (nodes), 1);
  check (
      curator_client_attempt_revoke (fixture->client, nodes[0], CURATOR_WAIT_DEFAULT, NULL, &error),
      &error);
  g_autofree char *output = peer_end (&peer);
  g_autofree char *wanted = g_strdup_printf ("HOLDING %s\nREVOKED\nRELEASED\n", nodes[0]);
  assert_string_equal (output, wanted);
  check (curator_lock_acquire (lock, 5000, NULL, &error), &error);
  check (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

TEST (test_c_asks_java)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) mutex = curator_mutex_new (fixture->client, "/ask/mutex", &error);
  g_autoptr (CuratorRwLock) rw_lock =
      curator_rw_lock_new (fixture->client, "/ask/rw", NULL, 0, &error);
  ask_java (fixture, "/ask/mutex", "mutex", mutex);
  ask_java (fixture, "/ask/rw", "write", curator_rw_lock_get_write_lock (rw_lock));
  ask_java (fixture, "/ask/rw", "read", curator_rw_lock_get_read_lock (rw_lock));
}

static void
on_asked (CuratorLock *lock, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

static void
on_lease_asked (CuratorSemaphore *semaphore, CuratorLease *lease, gpointer user_data)
{
  g_atomic_int_inc ((int *) user_data);
}

static gboolean
is_positive (gpointer counter)
{
  return g_atomic_int_get ((int *) counter) > 0;
}

/* Java requests a mutex and a lease of a semaphore; each listener is called once. One JVM requests
 * both, because its start takes longest. */
TEST (test_java_asks_c)
{
  g_autoptr (GError) error = NULL;
  int mutex_asked = 0;
  int lease_asked = 0;
  g_autoptr (CuratorLock) mutex = curator_mutex_new (fixture->client, "/asked/mutex", &error);
  check (curator_lock_make_revocable (mutex, on_asked, &mutex_asked, NULL, &error), &error);
  check (curator_lock_acquire (mutex, 5000, NULL, &error), &error);
  g_autoptr (CuratorSemaphore) semaphore =
      curator_semaphore_new (fixture->client, "/asked/semaphore", 2, &error);
  check (curator_semaphore_make_revocable (semaphore, on_lease_asked, &lease_asked, NULL, &error),
         &error);
  g_autoptr (CuratorLease) lease = curator_semaphore_acquire (semaphore, 5000, NULL, &error);
  check (lease != NULL, &error);
  Peer peer = peer_start (fixture, "ask", curator_lease_get_node_path (held_lease (mutex)),
                          curator_lease_get_node_path (lease));
  assert_true (wait_until (is_positive, &mutex_asked, LONG_MS));
  assert_true (wait_until (is_positive, &lease_asked, LONG_MS));
  g_autofree char *output = peer_end (&peer);
  assert_string_equal (output, "ASKED\nASKED\n");
  wait_ms (200);
  assert_int_equal (g_atomic_int_get (&mutex_asked), 1);
  assert_int_equal (g_atomic_int_get (&lease_asked), 1);
  check (curator_lock_release (mutex, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  check (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

/* Payloads in gzip: Java reads what C has compressed, and C understands Java's compressed
 * request. */
TEST (test_compressed)
{
  g_autoptr (GError) error = NULL;
  int asked = 0;
  g_autoptr (CuratorClient) client = curator_client_new (zk_server_address (fixture->server), NULL);
  curator_client_set_compression (client, TRUE);
  curator_client_set_default_data (client, "a label", 7);
  check (curator_client_start (client, &error), &error);
  g_autoptr (CuratorLock) plain = curator_mutex_new (client, "/packed/plain", &error);
  check (curator_lock_acquire (plain, LONG_MS, NULL, &error), &error);
  g_autoptr (CuratorLock) revocable = curator_mutex_new (client, "/packed/revocable", &error);
  check (curator_lock_make_revocable (revocable, on_asked, &asked, NULL, &error), &error);
  check (curator_lock_acquire (revocable, LONG_MS, NULL, &error), &error);
  Peer peer =
      peer_start (fixture, "ask-compressed", curator_lease_get_node_path (held_lease (plain)),
                  curator_lease_get_node_path (held_lease (revocable)));
  g_autofree char *output = peer_end (&peer);
  assert_string_equal (output, "READ a label\nASKED\nREAD \nASKED\n");
  assert_true (wait_until (is_positive, &asked, LONG_MS));
  check (curator_lock_release (plain, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
  check (curator_lock_release (revocable, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

static int
start (void **state)
{
  Fixture *fixture = g_new0 (Fixture, 1);
  *state = fixture;
  fixture->server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  if (fixture->server == NULL)
    return -1;
  fixture->client = curator_client_new (zk_server_address (fixture->server), NULL);
  return curator_client_start (fixture->client, NULL) ? 0 : -1;
}

static int
stop (void **state)
{
  Fixture *fixture = *state;
  curator_client_close (fixture->client);
  curator_client_unref (fixture->client);
  zk_server_stop (fixture->server);
  g_free (fixture);
  return 0;
}

SUITE ("interop: revocation", start, stop)
