/* A list of user's functions that are told something, by id, on the callback lane or as news. */
#ifndef CURATOR_LISTENERS_H
#define CURATOR_LISTENERS_H

#include "client/dispatch.h"
#include "guards.h"
#include "refs.h"

#include <glib-object.h>

typedef struct _CuratorListener CuratorListener;

/* A list of users' functions. Guarded by the client's mutex; zeroed is empty. */
typedef struct
{
  GPtrArray *all CURATOR_GUARDED; /* CuratorListener */
  guint last_id CURATOR_GUARDED;
  gboolean on_state_lane; /* told on the news lane */
} CuratorListeners;

/* @locks none; how a listener of one kind is called. subject is whatever was told about. */
typedef void (*CuratorListenerCall) (GCallback func, gpointer subject, int value,
                                     gpointer user_data);

/* @locks client mutex required. */
guint curator_listeners_add (CuratorListeners *listeners, GCallback func, gpointer user_data,
                             GDestroyNotify destroy) CURATOR_LOCKED;
/* @locks client mutex required. ref_subject makes a reference of subject for each listener, or
 * returns NULL if subject is at its end and nobody needs to be told; unref_subject drops it after
 * the call. Both may be NULL. */
void curator_listeners_notify (CuratorListeners *listeners, CuratorClient *client,
                               CuratorListenerCall call, gpointer subject,
                               gpointer (*ref_subject) (gpointer subject),
                               GDestroyNotify unref_subject, int value) CURATOR_LOCKED;
/* The same for the listener added last only. */
void curator_listeners_notify_newest (CuratorListeners *listeners, CuratorClient *client,
                                      CuratorListenerCall call, gpointer subject,
                                      gpointer (*ref_subject) (gpointer subject),
                                      GDestroyNotify unref_subject, int value) CURATOR_LOCKED;
/* @locks client mutex NOT held: the user's destroy function may run. */
void curator_listeners_remove (CuratorListeners *listeners, CuratorClient *client,
                               guint id) CURATOR_UNLOCKED;
/* @locks none: whoever calls is the last to know the list. */
void curator_listeners_clear (CuratorListeners *listeners);

#endif
