/* The nodes of a mutex on the server, read by another client: names, owners, payload, parents, ACL.
 * They must equal those of Apache Curator, byte for byte. */
#include "integration/fixture.h"
#include "support/held_lease.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_PARTICIPANTS 4

/* The node grants this to one only. */
static void
assert_acl (RawZk *raw, const char *path, const char *scheme, const char *id, int permissions)
{
  struct ACL_vector acl;
  assert_int_equal (raw_zk_get_acl (raw, path, &acl), ZOK);
  assert_int_equal (acl.count, 1);
  assert_string_equal (acl.data[0].id.scheme, scheme);
  assert_true (g_str_has_prefix (acl.data[0].id.id, id));
  assert_int_equal (acl.data[0].perms, permissions);
  deallocate_ACL_vector (&acl);
}

/* InetAddress.getLocalHost ().getHostAddress (): the first IPv4 address of the host's own name; the
 * name itself if it has none. */
static char *
host_address (void)
{
  char name[256] = "";
  char text[256] = "";
  const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
  struct addrinfo *found = NULL;
  gethostname (name, sizeof name - 1);
  if (getaddrinfo (name, NULL, &hints, &found) != 0)
    return g_strdup (name);
  getnameinfo (found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
  freeaddrinfo (found);
  return g_strdup (text);
}

CLIENT_TEST (test_node)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = mutex_new (client, "/wire/node");
  assert_ok (curator_lock_acquire (lock, CURATOR_WAIT_FOREVER, NULL, &error), &error);

  g_auto (GStrv) names = raw_zk_children (fixture->raw, "/wire/node");
  assert_int_equal (g_strv_length (names), 1);
  assert_true (g_regex_match_simple ("^_c_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}"
                                     "-[0-9a-f]{12}-lock-[0-9]{10}$",
                                     names[0], 0, 0));
  CuratorLease *lease = held_lease (lock);
  g_autofree char *path = g_strconcat ("/wire/node/", names[0], NULL);
  assert_string_equal (curator_lease_get_node_path (lease), path);
  assert_string_equal (curator_lease_get_node_name (lease), names[0]);

  struct Stat stat;
  g_autoptr (GBytes) data = NULL;
  assert_int_equal (raw_zk_get (fixture->raw, path, &data, &stat), ZOK);
  assert_int_equal (stat.ephemeralOwner, curator_client_get_session_id (client));
  assert_int_equal (stat.version, 0);
  assert_int_equal (stat.czxid, curator_lease_get_fencing_token (lease));
  assert_int_equal (curator_lease_get_session_id (lease), stat.ephemeralOwner);
  g_autofree char *address = host_address ();
  gsize length = 0;
  const char *bytes = data != NULL ? g_bytes_get_data (data, &length) : "";
  assert_int_equal (length, strlen (address));
  assert_memory_equal (bytes != NULL ? bytes : "", address, length);
  g_autoptr (GBytes) same = data_of (lease);
  assert_int_equal (g_bytes_get_size (same), length);

  assert_acl (fixture->raw, path, "world", "anyone", ZOO_PERM_ALL);

  assert_released (lock);
  assert_true (raw_zk_count_children (fixture->raw, "/wire/node") <= 0);
  assert_no_residue (fixture, "/wire/node", LONG_MS);
}

/* The numbers under one parent continue; the prefix is new for every acquisition. */
CLIENT_TEST (test_every_acquisition_has_its_name)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/wire/names");
  g_autofree char *before = g_strdup ("");
  raw_zk_make_path (fixture->raw, "/wire/names");
  for (int i = 0; i < 3; i++) {
    assert_acquired (lock);
    const char *name = curator_lease_get_node_name (held_lease (lock));
    g_autofree char *number = g_strdup_printf ("-lock-%010d", i);
    assert_true (g_str_has_suffix (name, number));
    assert_int_not_equal (strncmp (name, before, 39), 0);
    g_free (before);
    before = g_strdup (name);
    assert_released (lock);
  }
}

TEST (test_default_data)
{
  static const struct
  {
    const char *path;
    const char *data;
    gsize length;
  } cases[] = { { "/wire/data/some", "a\0b", 3 }, { "/wire/data/none", NULL, 0 } };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
    curator_client_set_default_data (client, cases[i].data, cases[i].length);
    client_start (client);
    g_autoptr (CuratorLock) lock = mutex_new (client, cases[i].path);
    assert_acquired (lock);
    const char *path = curator_lease_get_node_path (held_lease (lock));
    g_autoptr (GBytes) data = NULL;
    assert_int_equal (raw_zk_get (fixture->raw, path, &data, NULL), ZOK);
    assert_int_equal (data != NULL ? g_bytes_get_size (data) : 0, cases[i].length);
    if (cases[i].length > 0)
      assert_memory_equal (g_bytes_get_data (data, NULL), cases[i].data, cases[i].length);
    assert_released (lock);
  }
}

/* Parents are containers with an empty, not a null, payload: unused, they are deleted one by
 * one. */
CLIENT_TEST (test_parents_are_containers)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/boxes/a/b");
  assert_acquired (lock);
  static const char *const parents[] = { "/boxes", "/boxes/a", "/boxes/a/b" };
  for (gsize i = 0; i < G_N_ELEMENTS (parents); i++) {
    struct Stat stat;
    g_autoptr (GBytes) data = NULL;
    assert_int_equal (raw_zk_get (fixture->raw, parents[i], &data, &stat), ZOK);
    assert_non_null (data);
    assert_int_equal (g_bytes_get_size (data), 0);
    assert_int_equal (stat.ephemeralOwner, 0);
  }
  assert_released (lock);
  assert_true (raw_zk_wait_gone (fixture->raw, "/boxes", LONG_MS));
}

/* Containers are deleted and recreated during the contest; no call fails. */
CLIENT_TEST (test_p4_acquire_survives_reaped_parents)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/brief/x/y");
  guint64 token = 0;
  for (int i = 0; i < 40; i++) {
    assert_acquired (lock);
    guint64 next = curator_lease_get_fencing_token (held_lease (lock));
    assert_true (next > token);
    token = next;
    assert_released (lock);
    wait_ms (i * 3);
  }
}

/* Of a mutex and of a semaphore mutex. */
TEST (test_namespace)
{
  static const struct
  {
    KindNew lock;
    const char *queue;
  } kinds[] = { { mutex_new, "/jobs/nightly" }, { semaphore_mutex_new, "/jobs/nightly/leases" } };
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  assert_ok (curator_client_set_namespace (client, "team", &error), &error);
  client_start (client);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++) {
    g_autoptr (CuratorLock) lock = kinds[i].lock (client, "/jobs/nightly");
    g_autofree char *queue = g_strconcat ("/team", kinds[i].queue, NULL);
    assert_acquired (lock);
    g_auto (GStrv) names = raw_zk_children (fixture->raw, queue);
    assert_non_null (names);
    assert_int_equal (g_strv_length (names), 1);
    g_autofree char *path = g_strconcat (kinds[i].queue, "/", names[0], NULL);
    assert_string_equal (curator_lease_get_node_path (held_lease (lock)), path);
    g_auto (GStrv) participants = participants_of (lock);
    assert_string_equal (participants[0], path);
    assert_false (raw_zk_exists (fixture->raw, "/jobs"));
    assert_released (lock);
    assert_no_residue (fixture, queue, LONG_MS);
  }
}

TEST (test_chroot)
{
  raw_zk_make_path (fixture->raw, "/root/app");
  g_autofree char *address = g_strconcat (fixture_server (fixture), "/root/app", NULL);
  g_autoptr (CuratorClient) client = client_connect (address);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/l");
  g_autoptr (CuratorLock) second = mutex_new (client, "/l");
  assert_acquired (lock);
  assert_true (g_str_has_prefix (curator_lease_get_node_path (held_lease (lock)), "/l/_c_"));
  assert_int_equal (raw_zk_count_children (fixture->raw, "/root/app/l"), 1);

  /* A waiter is woken by the path of a watch, so that path must respect the chroot, too. */
  g_autoptr (Contender) waiter = contender_start (second, LONG_MS, NULL);
  assert_children (fixture, "/root/app/l", 2, LONG_MS);
  assert_released (lock);
  contender_assert_granted (waiter);
}

/* A typo in the chroot must not become a private lock. */
TEST (test_missing_chroot)
{
  g_autofree char *address = g_strconcat (fixture_server (fixture), "/typo/app", NULL);
  g_autoptr (CuratorClient) client = client_connect (address);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/a/b");
  g_autoptr (CuratorLock) fixed = curator_fixed_node_lock_new (client, "/c", NULL);
  g_autoptr (CuratorSharedCount) count = curator_shared_count_new (client, "/d/e", 1, NULL);
  for (int made = 0; made < 2; made++) {
    for (int i = 0; i < 3; i++) {
      g_autoptr (GError) error = NULL;
      assert_false (i == 0 ? curator_lock_acquire (lock, LONG_MS, NULL, &error)
                    : i == 1
                        ? curator_lock_acquire (fixed, LONG_MS, NULL, &error)
                        : curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error));
      assert_non_null (strstr (error->message, "the chroot /typo/app"));
      assert_error (&error, CURATOR_ZK_ERROR, ZNONODE);
    }
    assert_int_equal (raw_zk_exists (fixture->raw, "/typo"), made);
    raw_zk_make_path (fixture->raw, "/typo");
  }
  raw_zk_make_path (fixture->raw, "/typo/app");
  g_autoptr (GError) error = NULL;
  assert_acquired (lock);
  assert_released (lock);
  assert_ok (curator_shared_count_start (count, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
}

static void
acquire_and_release (CuratorLock *lock)
{
  assert_acquired (lock);
  assert_released (lock);
}

/* Each pair of recipes on one path: a warning, once. Two of one recipe: none. */
CLIENT_TEST (test_mixed_recipes)
{
  for (int kinds = 0; kinds < 9; kinds++) {
    g_autofree char *path = g_strdup_printf ("/mixed/%d", kinds);
    g_autoptr (CuratorLock) mutex = mutex_new (client, path);
    g_autoptr (CuratorLock) permit = curator_semaphore_mutex_new (client, path, NULL);
    g_autoptr (CuratorRwLock) rw_lock = curator_rw_lock_new (client, path, NULL, 0, NULL);
    CuratorLock *locks[] = { mutex, curator_rw_lock_get_write_lock (rw_lock), permit };
    CuratorLock *first = locks[kinds % 3];
    CuratorLock *second = locks[kinds / 3];
    const int expected = first == second ? 0 : 1;
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorLease) lease = lease_of (first);
    (void) warnings_taken ();
    if (first == second)
      assert_ok (curator_lease_release (lease, CURATOR_WAIT_DEFAULT, NULL, &error), &error);
    acquire_and_release (second);
    acquire_and_release (second);
    assert_int_equal (warnings_taken (), expected);
  }
}

TEST (test_acl)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_add_auth (client, "digest", "joe:secret", strlen ("joe:secret"));
  curator_client_add_acl (client, "auth", "", CURATOR_PERMISSIONS_ALL);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/private/lock");
  assert_acquired (lock);
  g_autofree char *node = g_strdup (curator_lease_get_node_path (held_lease (lock)));
  assert_int_equal (raw_zk_get (fixture->raw, node, NULL, NULL), ZNOAUTH);

  RawZk *joe = raw_zk_open (fixture_server (fixture));
  assert_int_equal (raw_zk_add_auth (joe, "digest", "joe:secret"), ZOK);
  const char *const paths[] = { "/private", "/private/lock", node };
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    assert_acl (joe, paths[i], "digest", "joe:", ZOO_PERM_ALL);
  raw_zk_close (joe);

  /* A client without the password gets a clear error and leaves no residue. */
  g_autoptr (CuratorClient) stranger = client_connect (fixture_server (fixture));
  g_autoptr (CuratorLock) theirs = mutex_new (stranger, "/private/lock");
  assert_false (curator_lock_acquire (theirs, LONG_MS, NULL, &error));
  assert_error (&error, CURATOR_ZK_ERROR, ZNOAUTH);
  assert_released (lock);
}

/* TestLockACLs.testLockACLs, testACLsCreatingParents: nodes and the parents created for them. */
TEST (test_lock_acls)
{
  g_autoptr (GError) error = NULL;
  const CuratorPermissions all_but_admin = CURATOR_PERMISSIONS_ALL & ~CURATOR_PERMISSIONS_ADMIN;
  g_autoptr (CuratorClient) client = client_new (fixture_server (fixture));
  curator_client_add_acl (client, "ip", "127.0.0.0/8", all_but_admin);
  assert_ok (curator_client_set_namespace (client, "acls", &error), &error);
  client_start (client);
  g_autoptr (CuratorLock) lock = writer_new (client, "/parent/locks");
  assert_acquired (lock);
  g_autofree char *node =
      g_strconcat ("/acls", curator_lease_get_node_path (held_lease (lock)), NULL);
  const char *const paths[] = { "/acls", "/acls/parent", "/acls/parent/locks", node };
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    assert_acl (fixture->raw, paths[i], "ip", "127.0.0.0/8", all_but_admin);
  assert_released (lock);
}

CLIENT_TEST (test_participants_in_order)
{
  g_autoptr (CuratorLock) lock = mutex_new (client, "/wire/order");
  g_auto (GStrv) nobody = participants_of (lock);
  assert_int_equal (g_strv_length (nobody), 0);

  Contender *contenders[N_PARTICIPANTS];
  for (int i = 0; i < N_PARTICIPANTS; i++) {
    contenders[i] = contender_start (lock, LONG_MS, NULL);
    assert_children (fixture, "/wire/order", i + 1, LONG_MS);
  }
  g_auto (GStrv) nodes = participants_of (lock);
  g_auto (GStrv) names = raw_zk_children (fixture->raw, "/wire/order");
  assert_int_equal (g_strv_length (nodes), N_PARTICIPANTS);
  for (int i = 0; i < N_PARTICIPANTS; i++) {
    g_autofree char *path = g_strconcat ("/wire/order/", names[i], NULL);
    assert_string_equal (nodes[i], path);
  }
  for (int i = 0; i < N_PARTICIPANTS; i++) {
    contender_assert_granted (contenders[i]);
    assert_string_equal (contenders[i]->node, nodes[i]);
    contender_free (contenders[i]);
  }
  assert_no_residue (fixture, "/wire/order", LONG_MS);
}

int
main (void)
{
  warnings_count ("do not exclude each other");
  return suite_run ("wire", fixture_start_with_reaper, fixture_stop);
}
