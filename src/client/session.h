/* One ZooKeeper session: a handle, its epoch, what is under way on it, watched by it, held in it.
 *
 * Mirrors the part of Curator's ConnectionState that owns a ZooKeeper handle. A session never
 * changes its id: expiry, loss by our clock or another id on reconnect end it, and the client opens
 * the next one. Everything is guarded by the client's mutex.
 */
#ifndef CURATOR_SESSION_H
#define CURATOR_SESSION_H

#include "client/client-private.h"
#include "guards.h"

#include <gio/gio.h>

typedef struct _CuratorRequest CuratorRequest;
typedef struct _CuratorSessionHook CuratorSessionHook;

typedef enum
{
  CURATOR_SESSION_OPENING, /* no CONNECTED seen yet */
  CURATOR_SESSION_CONNECTED,
  CURATOR_SESSION_DISCONNECTED,
  CURATOR_SESSION_DEAD /* final */
} CuratorSessionState;

/* Something bound to a session that must be told when the session dies. */
struct _CuratorSessionHook
{
  GList link;
  CuratorSession *session CURATOR_GUARDED; /* NULL while not added */
  void (*died) (CuratorSessionHook *hook); /* @locks client mutex held; the hook is unlinked */
};

/* Answers remembered by the lease clock, by CLOCK_BOOTTIME. */
#define CURATOR_N_MARKS 16
typedef struct
{
  gint64 sent_us;
  gint64 answered_us;
} CuratorMark;

struct _CuratorSession
{
  CuratorRefs refs;
  CuratorClient *client;
  guint epoch;
  /* Written on the session lane only, with the mutex held; so that lane reads them without it. NULL until
   * opened and after it was closed. */
  CuratorZkHandle *handle;
  CuratorSessionState state CURATOR_GUARDED;
  gint64 id;                      /* constant once connected */
  int timeout_ms CURATOR_GUARDED; /* negotiated, then constant; the wanted one until connected */
  CuratorTimer *loss_timer CURATOR_GUARDED;   /* SUSPENDED for too long, or never connected */
  CuratorTimer *reopen_timer CURATOR_GUARDED; /* no handle could be made */
  GCancellable *resolving;                    /* as handle */
  gboolean ever_connected CURATOR_GUARDED;

  void (*drained) (CuratorSession *session); /* when nothing is in flight any more; or NULL */
  gboolean cleaning_up
      CURATOR_GUARDED; /* nor anything of ours on the server: the session goes on */
  CuratorTimer *drain_timer CURATOR_GUARDED;

  GQueue in_flight CURATOR_GUARDED;    /* CuratorRequest sent to the library */
  GQueue backlog CURATOR_GUARDED;      /* CuratorRequest waiting for a place in flight */
  GHashTable *watches CURATOR_GUARDED; /* full path and kind -> CuratorWatchEntry */
  gsize watched_bytes CURATOR_GUARDED;
  guint64 n_rereads CURATOR_GUARDED; /* of what is watched */
  GQueue hooks CURATOR_GUARDED;      /* CuratorSessionHook */
  GHashTable *lines CURATOR_GUARDED; /* full path -> CuratorLine, see lock/line.h */

  /* The lease clock; see lease_clock.h. */
  GQueue held CURATOR_GUARDED;     /* CuratorStake */
  GQueue waiting CURATOR_GUARDED;  /* CuratorStake */
  gint64 proof_us CURATOR_GUARDED; /* CLOCK_BOOTTIME when the newest prompt proof was sent, or 0 */
  CuratorMark marks[CURATOR_N_MARKS] CURATOR_GUARDED; /* some answers, a ring */
  guint n_marks CURATOR_GUARDED;
  gint64 known_us CURATOR_GUARDED; /* since when, at the latest, the leader must know of us */
  gint64 connecting_us
      CURATOR_GUARDED;              /* CLOCK_BOOTTIME when it was asked for; 0: used or unknown */
  gboolean suspect CURATOR_GUARDED; /* what the held stakes were told last */
  gint64 asked_us CURATOR_GUARDED;  /* CLOCK_BOOTTIME when anything was sent last, or 0 */
  CuratorTimer *idle_timer CURATOR_GUARDED;
  CuratorTimer *beat_timer CURATOR_GUARDED;
  CuratorTimer *lapse_timer CURATOR_GUARDED;
  CuratorRequest *beat CURATOR_GUARDED;   /* the check under way */
  GPtrArray *beat_stakes CURATOR_GUARDED; /* what it checks, NULL where one has left since */
};

CuratorSession *curator_session_ref (CuratorSession *session);
void curator_session_unref (CuratorSession *session);

void curator_session_add_hook (CuratorSession *session, CuratorSessionHook *hook) CURATOR_LOCKED;
void curator_session_remove_hook (CuratorSessionHook *hook) CURATOR_LOCKED;
/* TRUE while nodes of this session can still be ours. */
gboolean curator_session_is_current (CuratorSession *session) CURATOR_LOCKED;
/* The present session has a connection. */
gboolean curator_client_is_connected (CuratorClient *client) CURATOR_LOCKED;

#endif
