/* Leader latches with a listener that records. */
#ifndef CURATOR_TEST_LATCHES_H
#define CURATOR_TEST_LATCHES_H

#include "integration/fixture.h"

typedef struct
{
  CuratorLeaderLatch *latch;
  pthread_mutex_t mutex;
  GString *changes; /* what the listener heard: "+" leads, "-" leads no more */
  gboolean destroyed;
} Latch;

/* Not started. id: may be NULL. */
Latch *latch_new (CuratorClient *client, const char *path, const char *id);
void latch_start (Latch *latch);
/* Started at once. */
Latch *latch_start_new (CuratorClient *client, const char *path, const char *id);
/* Starts n latches, each when the one before it has its node. */
void latches_start (Fixture *fixture, CuratorClient *client, const char *path, Latch **latches,
                    int n);
/* Waits until it leads; the test fails after LONG_MS. */
void latch_assert_leads (Latch *latch);
gboolean latch_leads (gpointer latch);
gboolean latch_leads_not (gpointer latch);
/* Waits until the listener has heard exactly this. */
void latch_assert_heard (Latch *latch, const char *changes);
char *latch_heard (Latch *latch);
/* How many of them lead now. */
int latches_leading (Latch **latches, int n);
/* Waits until one of them leads, and returns it. */
Latch *latches_wait (Latch **latches, int n);
/* Closes it silently and waits until the listener cannot be called again. */
void latch_free (Latch *latch);
void latches_free (Latch **latches, int n);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Latch, latch_free)

#endif
