/* Asynchronous acquires of a lock or of several leases of a semaphore. The test's thread starts
 * them, inspects them and releases their leases. */
#pragma once

#include "fixture.h"

typedef struct
{
  gint refs;     /* atomic: one by the test, one by the callback until it has run */
  gint returned; /* atomic: the next block is valid */
  gint times;    /* atomic: how often the callback was called */

  GPtrArray *leases; /* of CuratorLease; NULL on error */
  GError *error;
  gint64 returned_ms;
} Taking;

CuratorSemaphore *semaphore_new (CuratorClient *client, const char *path, guint max_leases);
CuratorRwLock *rw_lock_new (CuratorClient *client, const char *path);
/* Started. */
CuratorSharedCount *shared_count_of (CuratorClient *client, const char *path, gint32 seed);

Taking *taking_start (CuratorSemaphore *semaphore, int n, gint64 timeout_ms,
                      GCancellable *cancellable);
Taking *taking_start_lock (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable);
/* Starts it and waits for the grant; the test fails after LONG_MS. */
Taking *taking_of (CuratorSemaphore *semaphore, int n);
Taking *taking_of_lock (CuratorLock *lock);
gboolean taking_wait (Taking *taking, int timeout_ms);
gboolean taking_has_returned (Taking *taking);
/* Waits and asserts that the leases were granted. */
void taking_assert_granted (Taking *taking);
/* Waits until one of them is granted, and returns its index; entries may be NULL. */
int takings_wait (Taking *const takings[], int n);
/* Asserts that nothing is granted for a while. */
void taking_assert_waits (Taking *taking);
CuratorLease *taking_lease (Taking *taking, guint i); /* borrowed */
/* Releases every lease and asserts that the server confirmed. */
void taking_give_back (Taking *taking);
/* Drops leases still held; waits for an outstanding callback. */
void taking_free (Taking *taking);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Taking, taking_free)

/* What a program hears of requests for revocation. */
typedef struct
{
  int asked; /* atomic, like the rest */
  int destroyed;
  CuratorLease *lease; /* of a semaphore: the one named last; only its address is used */
} Ear;
void ear_on_asked (CuratorLock *lock, gpointer ear);
void ear_on_lease_asked (CuratorSemaphore *semaphore, CuratorLease *lease, gpointer ear);
void ear_on_destroyed (gpointer ear);
/* A mutex that asks back. */
CuratorLock *revocable_new (CuratorClient *client, const char *path, Ear *ear);
void ask_back (CuratorClient *client, const char *node);

/* Waits until the state of a lease is this one. */
void assert_lease_state (CuratorLease *lease, CuratorLeaseState state, int timeout_ms);
/* Waits for an atomic counter to reach n. */
void assert_counter (int *counter, int n, int timeout_ms);
