/* Lists of users' listeners, which run on the callback lane or the states lane; and what users give
 * with a function. */
#pragma once

#include "base/guards.h"
#include "base/refs.h"
#include "core/dispatch.h"

#include <glib-object.h>

typedef struct _CuratorListener CuratorListener;

/* Guarded by the client's mutex. All zero: empty. */
typedef struct
{
  GPtrArray *all CURATOR_GUARDED; /* CuratorListener */
  guint last_id CURATOR_GUARDED;
  gboolean on_state_lane; /* they run on the states lane */
} CuratorListeners;

static inline guint CURATOR_LOCKED
curator_listeners_count (const CuratorListeners *listeners)
{
  return listeners->all != NULL ? listeners->all->len : 0;
}

/* Calls a listener of one kind, without a lock. subject is what the listener was added to. */
typedef void (*CuratorListenerCall) (GCallback func, gpointer subject, int value,
                                     gpointer user_data);

guint curator_listeners_add (CuratorListeners *listeners, CuratorClient *client, GCallback func,
                             gpointer user_data, GDestroyNotify destroy) CURATOR_LOCKED;
/* Of all listeners from that index on. ref_subject takes a reference of subject for each listener,
 * or returns NULL if subject has lost its last one: then no listener runs. unref_subject drops it
 * after the call. Both may be NULL. */
void curator_listeners_notify (CuratorListeners *listeners, guint first, CuratorClient *client,
                               CuratorListenerCall call, gpointer subject,
                               gpointer (*ref_subject) (gpointer subject),
                               GDestroyNotify unref_subject, int value) CURATOR_LOCKED;
/* May run the user's destroy function. */
void curator_listeners_remove (CuratorListeners *listeners, CuratorClient *client,
                               guint id) CURATOR_UNLOCKED;
/* Removes all. Those that were notified before are still called, unless silently is TRUE. May run
 * the user's destroy functions. */
void curator_listeners_remove_all (CuratorListeners *listeners, CuratorClient *client,
                                   gboolean silently) CURATOR_UNLOCKED;
/* Calls destroy (may be NULL), which is the program's, for what it has given with a function: at
 * once where its functions may run, else as a callback of the client's. */
void curator_user_data_destroy (CuratorClient *client, GDestroyNotify destroy,
                                gpointer data) CURATOR_UNLOCKED;
/* Needs no lock: no other thread knows the list any more. */
void curator_listeners_clear (CuratorListeners *listeners);
