/* A client of one member is closed while the multi-lock waits: the call of its thread returns when
 * nothing is held for it any more, so that the thread may use the other members at once. */
#include "integration/taking.h"

/* Further operations of the closing client: they end between the multi-lock and its last member. */
#define N_FILLERS 3000
#define N_ENTRIES 2000

typedef struct
{
  CuratorLock *whole;
  CuratorLock *member; /* of the client that stays */
  gboolean has_level;  /* the thread holds the member already */
  pthread_t thread;

  gboolean acquired;
  GError *error;
  gboolean owned_at_return;
  int n_refused;
  gboolean owned_at_end;
} Owner;

static void *
own (void *data)
{
  Owner *owner = data;

  if (owner->has_level && !curator_lock_acquire (owner->member, LONG_MS, NULL, &owner->error))
    return NULL;
  owner->acquired = curator_lock_acquire (owner->whole, CURATOR_WAIT_FOREVER, NULL, &owner->error);
  owner->owned_at_return = curator_lock_is_owned_by_current_thread (owner->member);
  for (int i = 0; owner->owned_at_return && i < N_ENTRIES; i++) {
    owner->n_refused += !curator_lock_acquire (owner->member, 0, NULL, NULL);
    owner->n_refused += !curator_lock_release (owner->member, CURATOR_WAIT_DEFAULT, NULL, NULL);
  }
  if (owner->has_level)
    owner->n_refused += !curator_lock_release (owner->member, CURATOR_WAIT_DEFAULT, NULL, NULL);
  owner->owned_at_end = curator_lock_is_owned_by_current_thread (owner->member);
  return NULL;
}

static void
close_under (Fixture *fixture, gboolean has_level)
{
  g_autoptr (CuratorClient) staying = client_connect (fixture_server (fixture));
  g_autoptr (CuratorClient) closing = client_connect (fixture_proxy (fixture));
  g_autoptr (CuratorLock) third_held = mutex_new (staying, "/close/third");
  g_autoptr (CuratorLock) one = mutex_new (closing, "/close/first");
  g_autoptr (CuratorLock) two = mutex_new (staying, "/close/second");
  g_autoptr (CuratorLock) three = mutex_new (closing, "/close/third");
  g_autoptr (CuratorLock) filler = mutex_new (closing, "/close/filled");
  CuratorLock *const members[] = { one, two, three };
  g_autoptr (CuratorLock) whole = curator_multi_lock_new (members, G_N_ELEMENTS (members));
  Taking *blocker = taking_of_lock (third_held);
  Taking *fillers[N_FILLERS];
  Owner owner = { .whole = whole, .member = two, .has_level = has_level };

  proxy_arm (fixture->proxy, PROXY_ANY_REQUEST, 1, 1, PROXY_HOLD_REPLY);
  assert_int_equal (pthread_create (&owner.thread, NULL, own, &owner), 0);
  assert_true (proxy_wait_fired (fixture->proxy, 1, LONG_MS));
  for (int i = 0; i < N_FILLERS; i++)
    fillers[i] = taking_start_lock (filler, CURATOR_WAIT_FOREVER, NULL);
  proxy_disarm (fixture->proxy);
  proxy_let_go (fixture->proxy);
  assert_children (fixture, "/close/third", 2, LONG_MS);
  curator_client_close (closing);
  assert_int_equal (pthread_join (owner.thread, NULL), 0);

  assert_false (owner.acquired);
  assert_curator_error (&owner.error, CURATOR_ERROR_CLOSED);
  assert_int_equal (owner.owned_at_return, has_level);
  assert_int_equal (owner.n_refused, 0);
  assert_false (owner.owned_at_end);
  assert_no_residue (fixture, "/close/second", LONG_MS);
  for (int i = 0; i < N_FILLERS; i++)
    taking_free (fillers[i]);
  taking_free (blocker);
}

TEST (test_close_under_a_waiting_thread)
{
  close_under (fixture, FALSE);
}

TEST (test_close_under_a_thread_that_holds_a_member)
{
  close_under (fixture, TRUE);
}

SUITE ("closing a client of a multi-lock", fixture_start_calm, fixture_stop)
