/* Clients of the test's own process that keep a lock, and their session, whatever happens to the
 * servers. */
#pragma once

#include "security.h"
#include "support/suite.h"

#define KEPT_PATIENCE_MS 60000

typedef struct
{
  const char *name;
  CuratorClient *client;
  CuratorLock *lock;
  CuratorLease *lease;
  gint64 session;
} Kept;

/* Starts the client and acquires the lock. */
void kept_begin (Kept *kept, const char *name, CuratorClient *client, int session_ms);
void kept_end (Kept *kept);
/* Waits while the hold is in doubt. A lost one is lost for good. */
gboolean kept_is_lost (const Kept *kept);
/* Asserts that it is not lost, in the same session. */
void kept_check (const Kept *kept);
/* Asserts that its client acquires and releases another lock. */
void kept_acquire_other (const Kept *kept, const char *when);
