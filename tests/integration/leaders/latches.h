/* Leader latches with a listener that records. */
#pragma once

#include "integration/fixture.h"

typedef struct
{
  CuratorLeaderLatch *latch;
  char changes[64]; /* what the listener heard: "+" leads, "-" leads no more */
  gint n_changes;   /* atomic, like the next */
  gint destroyed;
} Latch;

/* Not started. id: may be NULL. */
Latch *latch_new (CuratorClient *client, const char *path, const char *id);
void latch_start (Latch *latch);
/* Started at once. */
Latch *latch_start_new (CuratorClient *client, const char *path, const char *id);
/* Several, of one election. */
typedef struct
{
  int n;
  Latch *of[10];
} Latches;
/* Starts n latches, each when the one before it has its node. */
Latches latches_start (Fixture *fixture, CuratorClient *client, const char *path, int n);
/* How many of them lead now. */
int latches_leading (const Latches *latches);
void latches_clear (Latches *latches);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Latches, latches_clear)

/* Waits until it leads; the test fails after LONG_MS. */
void latch_assert_leads (Latch *latch);
gboolean latch_leads (Latch *latch);
/* Waits until the listener has heard exactly this. */
void latch_assert_heard (Latch *latch, const char *changes);
/* Closes it silently and waits until the listener cannot be called again. */
void latch_free (Latch *latch);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Latch, latch_free)
