/* Guarded writes: a check of the hold inside a transaction of the program's. */
#define THREADED 1 /* declares the synchronous calls */
#include "integration/program.h"
#include "support/held_lease.h"

/* A transaction that creates a node if the hold that op checks exists. */
static int
write_guarded (zhandle_t *zh, const zoo_op_t *op, const char *path)
{
  zoo_op_t ops[2] = { *op };
  zoo_op_result_t results[2];
  zoo_create_op_init (&ops[1], path, "x", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
  return zoo_multi (zh, 2, ops, results);
}

TEST (test_p25_while_held_only)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) program = program_open (fixture_server (fixture));
  g_autoptr (CuratorClient) client = program_client (program);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/guard/lock");
  zoo_op_t op;

  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  assert_ok (curator_lease_init_check_op (lease, &op, &error), &error);
  assert_int_equal (write_guarded (program->zh, &op, "/guard/held"), ZOK);
  assert_true (raw_zk_exists (fixture->raw, "/guard/held"));

  assert_released (lock);
  assert_int_equal (write_guarded (program->zh, &op, "/guard/released"), ZNONODE);
  assert_false (raw_zk_exists (fixture->raw, "/guard/released"));
  assert_false (curator_lease_init_check_op (lease, &op, &error));
  assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
}

/* The hold is lost and the client does not know yet: the server refuses. */
PROXY_TEST (test_p25_lost_without_notice)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Program) other = program_open (fixture_server (fixture));
  g_autoptr (CuratorLock) lock = mutex_new (client, "/guard/lost");
  zoo_op_t op;

  assert_true (program_wait_connected (other, LONG_MS));
  assert_acquired (lock);
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  assert_ok (curator_lease_init_check_op (lease, &op, &error), &error);
  assert_int_equal (raw_zk_delete (fixture->raw, curator_lease_get_node_path (lease)), ZOK);
  assert_int_equal (write_guarded (other->zh, &op, "/guard/unseen"), ZNONODE);
  assert_false (raw_zk_exists (fixture->raw, "/guard/unseen"));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  curator_client_close (client);
  assert_false (curator_lease_init_check_op (lease, &op, &error));
  assert_curator_error (&error, CURATOR_ERROR_LOCK_LOST);
}

/* The handle has a chroot and the client a namespace: both see the node under its path. */
TEST (test_chroot)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *address = g_strconcat (fixture_server (fixture), "/app", NULL);
  assert_int_equal (raw_zk_make_path (fixture->raw, "/app"), ZOK);
  g_autoptr (Program) program = program_open (address);
  g_autoptr (CuratorClient) client = program_client (program);
  assert_ok (curator_client_set_namespace (client, "team", &error), &error);
  client_start (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/guarded");
  zoo_op_t op;

  assert_acquired (lock);
  assert_children (fixture, "/app/team/guarded", 1, LONG_MS);
  assert_ok (curator_lease_init_check_op (held_lease (lock), &op, &error), &error);
  assert_int_equal (write_guarded (program->zh, &op, "/team/data"), ZOK);
  assert_true (raw_zk_exists (fixture->raw, "/app/team/data"));
  assert_released (lock);
  assert_no_residue (fixture, "/app/team/guarded", LONG_MS);
}

CLIENT_TEST (test_shared_name_is_refused)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorLock) lock = curator_fixed_node_lock_new (client, "/guard/fixed", &error);
  zoo_op_t op;

  assert_ok (lock != NULL && curator_lock_acquire (lock, LONG_MS, NULL, &error), &error);
  assert_false (curator_lease_init_check_op (held_lease (lock), &op, &error));
  assert_curator_error (&error, CURATOR_ERROR_UNSUPPORTED);
  assert_released (lock);
}

SUITE ("guarded_write", fixture_start_calm, fixture_stop)
