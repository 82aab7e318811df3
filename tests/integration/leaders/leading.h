/* Leader selectors whose function records and returns on command or when it is cancelled. */
#ifndef CURATOR_TEST_LEADING_H
#define CURATOR_TEST_LEADING_H

#include "integration/fixture.h"

/* Counts the leaders of one election, each from the entry of its function until its return or the
 * cancellation of its cancellable. */
typedef struct
{
  gint now;  /* atomic */
  gint most; /* atomic; the most at one time */
} Reign;

typedef struct
{
  CuratorLeaderSelector *selector;
  Reign *reign; /* or NULL */

  pthread_mutex_t mutex; /* guards the rest */
  pthread_cond_t changed;
  int entered;      /* how often the function was called */
  int left;         /* how often it returned */
  int cancelled;    /* how often it saw its cancellable cancelled */
  gboolean told;    /* to return */
  gboolean at_once; /* every call returns at once */
  gboolean destroyed;
  CuratorLease *lease; /* of the newest call */
  GCancellable *cancellable;
  GArray *tokens; /* guint64, of all calls */
  gboolean led_at_entry;
  gboolean held_at_cancellation; /* the lease was provable when the cancellation was seen */
} Leading;

/* A selector that is not started. id, reign: may be NULL. */
Leading *leading_new (CuratorClient *client, const char *path, const char *id, Reign *reign);
void leading_start (Leading *leading);
/* Started at once. */
Leading *leading_start_new (CuratorClient *client, const char *path, const char *id, Reign *reign);
/* Wait for the n-th entry and return; the test fails after LONG_MS. */
void leading_assert_entered (Leading *leading, int n);
void leading_assert_left (Leading *leading, int n);
int leading_entered (Leading *leading);
int leading_left (Leading *leading);
int leading_cancelled (Leading *leading);
/* The fencing token of the n-th call. */
guint64 leading_token (Leading *leading, int n);
/* The call in progress, or the next one, returns. */
void leading_tell_return (Leading *leading);
/* The newest call's lease and cancellable; borrowed. */
CuratorLease *leading_lease (Leading *leading);
GCancellable *leading_cancellable (Leading *leading);
/* Closes the selector and waits until its function cannot be called again. */
void leading_free (Leading *leading);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Leading, leading_free)

/* The ids of an election, the leader's first, joined by commas; asserts that only the first leads.
 * Frees participants. */
char *leading_join_ids (GPtrArray *participants);

#endif
