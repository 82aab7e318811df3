/* Leader selectors whose function records and returns on command or when it is cancelled. */
#pragma once

#include "integration/fixture.h"

/* The leaders of one election, each from the entry of its function until its return or the
 * cancellation of its cancellable. */
typedef struct
{
  gint now;      /* atomic, as all of it */
  gint mistakes; /* two at one time, or a token that is not higher than the one before */
  guint64 token; /* the newest */
} Reign;

typedef struct
{
  CuratorLeaderSelector *selector;
  Reign *reign;     /* or NULL */
  gboolean at_once; /* every call returns at once; set before the start */

  gint entered;   /* how often the function was called; atomic, like the next */
  gint left;      /* how often it returned */
  gint cancelled; /* how often it saw its cancellable cancelled */
  gint told;      /* the call in progress, or the next one, is to return */
  gint destroyed;

  CuratorLease *lease; /* of the newest call, like the rest: written before entered or left are */
  GCancellable *cancellable;
  gboolean led_at_entry;
  gboolean held_at_cancellation; /* the lease was provable when the cancellation was seen */
} Leading;

/* A selector that is not started. id, reign: may be NULL. */
Leading *leading_new (CuratorClient *client, const char *path, const char *id, Reign *reign);
void leading_start (Leading *leading);
/* Started at once. */
Leading *leading_start_new (CuratorClient *client, const char *path, const char *id, Reign *reign);
/* Wait for the n-th entry and return. */
#define leading_assert_entered(leading, n)                                                         \
  assert_soon (g_atomic_int_get (&(leading)->entered) >= (n))
#define leading_assert_left(leading, n) assert_soon (g_atomic_int_get (&(leading)->left) >= (n))
gboolean leading_leads (Leading *leading);
/* Its function runs. */
gboolean leading_is_inside (Leading *leading);
/* Closes the selector and waits until its function cannot be called again. Of any thread. */
void leading_free (Leading *leading);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Leading, leading_free)
