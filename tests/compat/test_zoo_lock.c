/* What programs may rely on that were written for ZooKeeper's zoo_lock.h, beside the situations of
 * probes.c. */
#include "fixture.h"

#include <pthread.h>
#include <string.h>
#include <zoo_lock.h>

#define PATH "/zoo/lock"

/* A program with one handle and one mutex. */
typedef struct
{
  zhandle_t *zh;
  zkr_lock_mutex_t mutex;
  gint n_acquired; /* atomic */
  gint n_released;
  gboolean releases; /* in its completion */
  gboolean ends;     /* the thread that tells it of the lock */
} Party;

static void
on_event (zhandle_t *zh, int type, int state, const char *path, void *context)
{
}

static void
on_change (int rc, void *data)
{
  Party *party = data;
  g_atomic_int_inc (rc == 0 ? &party->n_acquired : &party->n_released);
  if (rc == 0 && party->releases)
    zkr_lock_unlock (&party->mutex);
  if (rc == 0 && party->ends)
    pthread_exit (NULL);
}

static zhandle_t *
open_handle (const char *address)
{
  zhandle_t *zh = zookeeper_init (address, on_event, SESSION_MS, NULL, NULL, 0);
  assert_non_null (zh);
  assert_soon (zoo_state (zh) == ZOO_CONNECTED_STATE);
  return zh;
}

static Party *
party_new (const char *address)
{
  Party *party = g_new0 (Party, 1);
  party->zh = open_handle (address);
  assert_int_equal (zkr_lock_init_cb (&party->mutex, party->zh, (char *) PATH, &ZOO_OPEN_ACL_UNSAFE,
                                      on_change, party),
                    ZOK);
  return party;
}

static void
party_free (Party *party)
{
  zkr_lock_destroy (&party->mutex);
  zookeeper_close (party->zh); /* zkr_lock_close_handle () */
  g_free (party);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Party, party_free)

static gboolean
is_owner (gpointer data)
{
  Party *party = data;
  return zkr_lock_isowner (&party->mutex);
}

TEST (test_turns)
{
  g_autoptr (Party) first = party_new (fixture_server (fixture));
  g_autoptr (Party) second = party_new (fixture_server (fixture));
  assert_string_equal (zkr_lock_getpath (&first->mutex), PATH);
  assert_false (zkr_lock_isowner (&first->mutex));
  assert_int_equal (zkr_lock_unlock (&first->mutex), ZSYSTEMERROR);

  assert_int_equal (zkr_lock_lock (&first->mutex), ZOK);
  assert_true (
      zkr_lock_isowner (&first->mutex)); /* a lock that is free is held when the call returns */
  assert_int_equal (zkr_lock_lock (&first->mutex), ZOK);
  assert_int_equal (zkr_lock_lock (&second->mutex), ZOK);
  assert_false (zkr_lock_isowner (&second->mutex));
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 2);
  /* What ZooKeeper's own test looks at. */
  assert_string_equal (first->mutex.id, first->mutex.ownerid);
  assert_string_equal (first->mutex.id, zkr_lock_getid (&second->mutex));
  assert_string_not_equal (second->mutex.id, second->mutex.ownerid);
  assert_int_equal (zkr_lock_lock_isowner (&second->mutex), 0);

  zkr_lock_mutex_t copy = first->mutex;
  assert_int_equal (zkr_lock_unlock (&copy), ZOK);
  assert_false (zkr_lock_isowner (&first->mutex));
  assert_null (first->mutex.id);
  assert_soon (g_atomic_int_get (&second->n_acquired) > 0);
  assert_true (zkr_lock_isowner (&second->mutex));
  assert_int_equal (zkr_lock_lock_isowner (&second->mutex), 1);
  assert_int_equal (zkr_lock_unlock (&second->mutex), ZOK);
  assert_int_equal (first->n_acquired, 1);
  assert_int_equal (first->n_released, 1);
  assert_int_equal (second->n_acquired, 1);
  assert_int_equal (second->n_released, 1);
  assert_children (fixture, PATH, 0, LONG_MS);
}

/* The mutex ends in each state: held, waiting, initialized again. */
TEST (test_ends)
{
  g_autoptr (Party) first = party_new (fixture_server (fixture));
  g_autoptr (Party) second = party_new (fixture_server (fixture));
  Party *third = party_new (fixture_server (fixture));
  zkr_lock_lock (&first->mutex);
  zkr_lock_lock (&second->mutex);
  zkr_lock_lock (&third->mutex);
  assert_int_equal (raw_zk_count_children (fixture->raw, PATH), 3);
  assert_int_equal (zkr_lock_destroy (&second->mutex), ZOK);
  assert_int_equal (zkr_lock_destroy (&second->mutex), ZOK);
  assert_children (fixture, PATH, 2, LONG_MS);
  assert_int_equal (zkr_lock_init (&first->mutex, first->zh, (char *) PATH, NULL), ZOK);
  assert_true (wait_until (is_owner, third, LONG_MS));
  assert_false (zkr_lock_isowner (&first->mutex));
  zookeeper_close (third->zh); /* with a lock that is held */
  assert_children (fixture, PATH, 0, LONG_MS);
  assert_false (zkr_lock_isowner (&third->mutex));
  assert_int_equal (zkr_lock_lock (&third->mutex), ZCLOSING);
  zkr_lock_destroy (&third->mutex);
  g_free (third);
  assert_int_equal (second->n_acquired, 0);
}

TEST (test_loss_is_told)
{
  g_autoptr (Party) party = party_new (fixture_proxy (fixture));
  assert_int_equal (zkr_lock_lock (&party->mutex), ZOK);
  assert_true (zkr_lock_isowner (&party->mutex));
  fixture_expire (fixture);
  assert_soon (!is_owner (party));
  assert_soon (g_atomic_int_get (&party->n_released) > 0);
  assert_int_equal (zkr_lock_lock (&party->mutex), ZSESSIONEXPIRED);
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZSYSTEMERROR);
  assert_int_equal (party->n_released, 1);
}

TEST (test_release_in_the_completion)
{
  g_autoptr (Party) party = party_new (fixture_server (fixture));
  party->releases = TRUE;
  assert_int_equal (zkr_lock_lock (&party->mutex), ZOK);
  assert_soon (g_atomic_int_get (&party->n_released) > 0);
  assert_int_equal (party->n_acquired, 1);
  assert_children (fixture, PATH, 0, LONG_MS);
}

/* A completion that ends its thread keeps nobody waiting, and the next one comes. */
TEST (test_completion_ends_its_thread)
{
  g_autoptr (Party) party = party_new (fixture_server (fixture));
  party->ends = TRUE;
  assert_int_equal (zkr_lock_lock (&party->mutex), ZOK);
  assert_soon (g_atomic_int_get (&party->n_acquired) > 0);
  assert_int_equal (zkr_lock_unlock (&party->mutex), ZOK);
  assert_int_equal (party->n_released, 1);
  assert_children (fixture, PATH, 0, LONG_MS);
}

TEST (test_arguments)
{
  g_autoptr (Party) party = party_new (fixture_server (fixture));
  zkr_lock_mutex_t mutex;
  assert_int_equal (zkr_lock_init (&mutex, NULL, (char *) PATH, NULL), ZBADARGUMENTS);
  assert_int_equal (zkr_lock_init (&mutex, party->zh, (char *) "relative", NULL), ZBADARGUMENTS);
  assert_int_equal (zkr_lock_lock (&mutex), ZBADARGUMENTS);
  assert_int_equal (zkr_lock_destroy (&mutex), ZOK);

  /* The nodes have the mutex' own permissions. */
  assert_int_equal (zkr_lock_init (&mutex, party->zh, (char *) "/zoo/read", &ZOO_READ_ACL_UNSAFE),
                    ZOK);
  assert_int_equal (zkr_lock_lock (&mutex), ZNOAUTH);
  assert_false (zkr_lock_isowner (&mutex));
  zkr_lock_setcallback (&mutex, on_change);
  assert_true (zkr_lock_getcallback (&mutex) == on_change);
  zkr_lock_destroy (&mutex);
}

int
main (void)
{
  zoo_set_debug_level (ZOO_LOG_LEVEL_WARN);
  return suite_run ("zoo lock", fixture_start, fixture_stop);
}
