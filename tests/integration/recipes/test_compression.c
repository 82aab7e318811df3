/* Compression of payloads: what a client writes, what it reads, and how clients with and without it
 * understand each other. */
#include "integration/taking.h"

#include "base/gzip.h"

#include <string.h>

#define LABEL "a label"

static CuratorClient *
start_client (const char *address, gboolean compression)
{
  CuratorClient *client = client_new (address);
  curator_client_set_connection_timeout (client, LONG_SESSION_MS);
  curator_client_set_default_data (client, LABEL, strlen (LABEL));
  curator_client_set_compression (client, compression);
  client_start (client);
  return client;
}

static void
assert_bytes (GBytes *bytes, const char *text)
{
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;
  assert_int_equal (length, strlen (text));
  assert_memory_equal (length > 0 ? data : text, text, length);
}

/* The node's payload is this text: in gzip, or as it is. */
static void
assert_written (Fixture *fixture, const char *path, gboolean compression, const char *text)
{
  g_autoptr (GBytes) data = NULL;
  assert_int_equal (raw_zk_get (fixture->raw, path, &data, NULL), ZOK);
  g_autoptr (GBytes) plain =
      compression ? curator_gunzip (g_bytes_get_data (data, NULL), g_bytes_get_size (data), 4096)
                  : NULL;
  assert_int_equal (plain != NULL, compression);
  assert_bytes (compression ? plain : data, text);
}

static void
assert_child_written (Fixture *fixture, const char *parent, gboolean compression, const char *text)
{
  g_auto (GStrv) names = raw_zk_children (fixture->raw, parent);
  assert_int_equal (g_strv_length (names), 1);
  g_autofree char *path = g_strconcat (parent, "/", names[0], NULL);
  assert_written (fixture, path, compression, text);
}

static void
check_nodes (Fixture *fixture, gboolean compression)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = start_client (fixture_server (fixture), compression);
  g_autoptr (CuratorLock) mutex = mutex_new (client, "/gzip/mutex");
  g_autoptr (CuratorLock) fixed = fixed_node_new (client, "/gzip/fixed");
  g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (client, "/gzip/rw", "of rw", 5, &error);
  g_autoptr (CuratorSemaphore) semaphore = semaphore_new (client, "/gzip/semaphore", 2);
  curator_semaphore_set_node_data (semaphore, "of lease", 8);
  g_autoptr (Taking) held = taking_of_lock (mutex);
  g_autoptr (Taking) writing = taking_of_lock (curator_rw_lock_get_write_lock (rw_lock));
  g_autoptr (Taking) leased = taking_of (semaphore, 1);
  g_autoptr (Taking) alone = taking_of_lock (fixed);
  assert_child_written (fixture, "/gzip/mutex", compression, LABEL);
  assert_child_written (fixture, "/gzip/rw", compression, "of rw");
  assert_child_written (fixture, "/gzip/semaphore/leases", compression, "of lease");

  g_autoptr (GBytes) own = data_of (taking_lease (leased, 0));
  assert_bytes (own, "of lease");
  g_autoptr (CuratorInspection) view =
      curator_client_inspect (client, "/gzip/mutex", CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (view != NULL, &error);
  const CuratorParticipant *first = curator_inspection_get_participant (view, 0);
  assert_bytes (curator_participant_get_data (first), LABEL);
  taking_give_back (alone);
  taking_give_back (held);
  taking_give_back (writing);
  taking_give_back (leased);
  assert_no_residue (fixture, "/gzip/mutex", LONG_MS);
}

TEST (test_nodes)
{
  check_nodes (fixture, FALSE);
  check_nodes (fixture, TRUE);
}

/* The empty payload of a revocable node is a gzip stream too: Java cannot read an empty one. */
TEST (test_revocable_node)
{
  Ear ear = { 0 };
  g_autoptr (CuratorClient) client = start_client (fixture_server (fixture), TRUE);
  g_autoptr (CuratorLock) lock = revocable_new (client, "/gzip/revocable", &ear);
  g_autoptr (Taking) held = taking_of_lock (lock);
  assert_child_written (fixture, "/gzip/revocable", TRUE, "");
  taking_give_back (held);
}

TEST (test_leader_id)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = start_client (fixture_server (fixture), TRUE);
  g_autoptr (CuratorLeaderLatch) latch =
      curator_leader_latch_new (client, "/gzip/leader", "me", &error);
  assert_ok (curator_leader_latch_start (latch, &error), &error);
  assert_ok (curator_leader_latch_await (latch, LONG_MS, NULL, &error), &error);
  assert_child_written (fixture, "/gzip/leader", TRUE, "me");
  g_autoptr (GPtrArray) all =
      curator_leader_latch_get_participants (latch, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (all != NULL, &error);
  assert_int_equal (all->len, 1);
  assert_string_equal (curator_leader_participant_get_id (g_ptr_array_index (all, 0)), "me");
  curator_leader_latch_close (latch, CURATOR_LEADER_LATCH_CLOSE_MODE_SILENT);
}

/* The lost reply of a create, with the payload that tells whose node it is. */
TEST (test_lost_reply)
{
  g_autoptr (CuratorClient) client = start_client (fixture_proxy (fixture), TRUE);
  g_autoptr (CuratorLock) lock = fixed_node_new (client, "/gzip-fixed");
  proxy_arm (fixture->proxy, PROXY_CREATE2, 1, 1, PROXY_CUT_BEFORE_REPLY);
  g_autoptr (Taking) held = taking_start_lock (lock, LONG_MS, NULL);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  taking_assert_granted (held);
  taking_give_back (held);
  assert_false (raw_zk_exists (fixture->raw, "/gzip-fixed"));
}

static void
ask (Fixture *fixture, gboolean holder_compresses, gboolean asker_compresses)
{
  Ear ear = { 0 };
  g_autoptr (CuratorClient) client = start_client (fixture_server (fixture), holder_compresses);
  g_autoptr (CuratorClient) other = start_client (fixture_server (fixture), asker_compresses);
  g_autoptr (CuratorLock) lock = revocable_new (client, "/gzip/asked", &ear);
  g_autoptr (Taking) held = taking_of_lock (lock);
  const char *node = curator_lease_get_node_path (taking_lease (held, 0));
  ask_back (other, node);
  assert_written (fixture, node, asker_compresses, "__REVOKE__");
  assert_counter (&ear.asked, 1, LONG_MS);
  taking_give_back (held);
}

TEST (test_revocation)
{
  for (int i = 0; i < 4; i++)
    ask (fixture, i % 2 == 1, i / 2 == 1);
}

/* A follower of either kind sees what a writer of either kind writes, also as the seed. */
TEST (test_shared_count)
{
  for (int i = 0; i < 4; i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorClient) client = start_client (fixture_server (fixture), i % 2 == 1);
    g_autoptr (CuratorClient) other = start_client (fixture_server (fixture), i / 2 == 1);
    g_autofree char *path = g_strdup_printf ("/gzip-count-%d", i);
    g_autoptr (CuratorSharedCount) writer = shared_count_of (client, path, 7);
    g_autoptr (CuratorSharedCount) follower = shared_count_of (other, path, 8);
    assert_int_equal (curator_shared_count_get (follower), 7);
    struct Stat stat;
    assert_int_equal (raw_zk_stat (fixture->raw, path, &stat), ZOK);
    assert_true ((stat.dataLength == 4) == (i % 2 == 0));
    for (gint32 value = -1; value < 3; value++) {
      assert_ok (curator_shared_count_set (writer, value, CURATOR_WAIT_DEFAULT, NULL, &error),
                 &error);
      assert_soon (curator_shared_count_get (follower) == value);
    }
  }
}

/* Streams that are broken or too large: as they are for payloads, refused for counts and no
 * request. */
TEST (test_broken)
{
  g_autoptr (GError) error = NULL;
  Ear ear = { 0 };
  g_autoptr (CuratorClient) client = start_client (fixture_server (fixture), TRUE);
  g_autoptr (CuratorLock) lock = revocable_new (client, "/gzip/broken", &ear);
  g_autoptr (Taking) held = taking_of_lock (lock);
  CuratorLease *lease = taking_lease (held, 0);
  g_autofree char *zeros = g_malloc0 (64 << 20);
  g_autoptr (GBytes) contents = g_bytes_new_static (zeros, 64 << 20);
  g_autoptr (GBytes) bomb = curator_gzip (contents);
  g_autoptr (GBytes) cut = g_bytes_new_from_bytes (bomb, 0, 20);
  GBytes *const cases[] = { bomb, cut };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    assert_int_equal (
        raw_zk_set_bytes (fixture->raw, curator_lease_get_node_path (lease), cases[i]), ZOK);
    g_autoptr (GBytes) read = data_of (lease);
    assert_true (read != NULL && g_bytes_equal (read, cases[i]));
    g_autoptr (CuratorInspection) view =
        curator_client_inspect (client, "/gzip/broken", CURATOR_WAIT_DEFAULT, NULL, &error);
    assert_ok (view != NULL, &error);
    const CuratorParticipant *first = curator_inspection_get_participant (view, 0);
    assert_true (g_bytes_equal (curator_participant_get_data (first), cases[i]));

    g_autoptr (CuratorSharedCount) count =
        curator_shared_count_new (client, "/gzip-broken", 1, &error);
    raw_zk_make_path (fixture->raw, "/gzip-broken");
    raw_zk_set_bytes (fixture->raw, "/gzip-broken", cases[i]);
    assert_false (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error));
    assert_curator_error (&error, CURATOR_ERROR_INVALID_ARGUMENT);
  }
  /* This request is seen after the others, so they were none. */
  ask_back (client, curator_lease_get_node_path (lease));
  assert_counter (&ear.asked, 1, LONG_MS);
  assert_int_equal (g_atomic_int_get (&ear.asked), 1);
  taking_give_back (held);
}

/* GLib creates its classes of converters at their first use, under locks that ThreadSanitizer does
 * not see. Before the first thread, that is no race. */
static int
start (void **state)
{
  g_autoptr (GBytes) plain = g_bytes_new_static (LABEL, strlen (LABEL));
  g_autoptr (GBytes) packed = curator_gzip (plain);
  g_autoptr (GBytes) again =
      curator_gunzip (g_bytes_get_data (packed, NULL), g_bytes_get_size (packed), strlen (LABEL));
  return again != NULL ? fixture_start_calm (state) : -1;
}

SUITE ("compression", start, fixture_stop)
