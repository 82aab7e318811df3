/* One ZooKeeper session: its handle, and its requests, watches and holds.
 *
 * Mirrors the part of Curator's ConnectionState that owns a ZooKeeper handle. Threads: any; guarded
 * by the client's mutex. A session never changes its id: expiry, loss by our clock or another id on
 * reconnect end it, and the client opens the next one.
 */
#ifndef CURATOR_SESSION_H
#define CURATOR_SESSION_H

#include "base/guards.h"
#include "base/lease_math.h"
#include "core/client-record.h"

#include <glib.h>
#include <stdatomic.h>

typedef struct _CuratorRequest CuratorRequest;
typedef struct _CuratorSessionHook CuratorSessionHook;

typedef enum
{
  CURATOR_SESSION_OPENING, /* never connected yet */
  CURATOR_SESSION_CONNECTED,
  CURATOR_SESSION_DISCONNECTED,
  CURATOR_SESSION_DEAD /* final */
} CuratorSessionState;

/* Called when the session dies. */
struct _CuratorSessionHook
{
  GList link;
  CuratorSession *session CURATOR_GUARDED; /* NULL while not added */
  /* Called when the session is connected, and each time that it is again. May be NULL; must neither
   * add nor remove a hook. */
  void (*connected) (CuratorSessionHook *hook);
  void (*died) (CuratorSessionHook *hook); /* with the mutex held; unlinked before */
};

/* Of the paths on which the session was behind another contender, the last ones by their hashes. */
#define CURATOR_N_CONTENDED 64

typedef struct
{
  guint hash;
  gint64 seen_us; /* monotonic; 0: unused */
} CuratorContended;

struct _CuratorSession
{
  CuratorRefs refs;
  CuratorClient *client;
  guint epoch;
  /* Only the session lane writes it, with the mutex held, so that lane reads it without. NULL until
   * opened and after it was closed. */
  CuratorZkHandle *handle;
  gint64 id; /* constant once connected */
  CuratorSessionState state CURATOR_GUARDED;
  /* The least that a server has granted; until then the wanted one. */
  int timeout_ms CURATOR_GUARDED;
  CuratorTimer *loss_timer CURATOR_GUARDED;        /* SUSPENDED for too long, or never connected */
  CuratorTimer *reopen_timer CURATOR_GUARDED;      /* to open a handle again */
  CuratorTimer *attempt_timer CURATOR_GUARDED;     /* checks the attempt to reconnect */
  void (*open) (gpointer session) CURATOR_GUARDED; /* waits for the servers' addresses; or NULL */
  CuratorTimer *servers_timer CURATOR_GUARDED;     /* see session_servers.c */
  gint64 servers_since_us CURATOR_GUARDED;         /* connected; see there */
  guint attempts_ended CURATOR_GUARDED;            /* by us, since the disconnection */

  gint64 opened_us CURATOR_GUARDED; /* monotonic; 0: there has been no handle */
  gboolean ever_connected CURATOR_GUARDED;
  /* Closing on a shared handle: our nodes and watches are being deleted. */
  gboolean cleaning_up CURATOR_GUARDED;
  void (*drained) (CuratorSession *session); /* called when in_flight is empty; or NULL */
  CuratorTimer *drain_timer CURATOR_GUARDED;

  /* The quickest answer since the last connect: about what the network takes. */
  gint64 least_answer_us CURATOR_GUARDED;
  gint64 quiet_since_us CURATOR_GUARDED; /* CLOCK_BOOTTIME; while something is in flight */
  GQueue in_flight CURATOR_GUARDED;      /* CuratorRequest sent to the library */
  GQueue backlog CURATOR_GUARDED;        /* CuratorRequest not sent yet */
  GHashTable *watches CURATOR_GUARDED;   /* full path and kind -> CuratorWatchEntry */
  gsize watched_bytes CURATOR_GUARDED;
  guint64 n_rereads CURATOR_GUARDED; /* of watched nodes */
  GQueue hooks CURATOR_GUARDED;      /* CuratorSessionHook */
  GHashTable *lines CURATOR_GUARDED; /* full path -> CuratorLocalQueue, see lock/local_queue.h */
  CuratorContended
      contended[CURATOR_N_CONTENDED] CURATOR_GUARDED; /* by hash, see lock/local_queue.h */
  GQueue idle_lines CURATOR_GUARDED;                  /* those that nobody uses, the oldest first */

  /* The lease clock; see lease_clock.h. */
  GQueue held CURATOR_GUARDED; /* CuratorStake, as in the next two */
  GQueue near CURATOR_GUARDED; /* waiting right behind what holds the lock */
  GQueue far CURATOR_GUARDED;  /* waiting further back, or nobody knows where */
  CuratorLeaseTerms terms CURATOR_GUARDED;
  CuratorLeaseEvidence evidence CURATOR_GUARDED;
  /* Of all holds of this session, by CLOCK_BOOTTIME; 0 while there is no proof. Written with the mutex
   * held, read without it. */
  _Atomic gint64 deadline_us;
  gint64 connecting_us
      CURATOR_GUARDED;               /* CLOCK_BOOTTIME of the first attempt; 0: used or unknown */
  gboolean end_seen CURATOR_GUARDED; /* a hold was over by the clock; the timer ends the others */
  gboolean lapsed CURATOR_GUARDED;   /* the clock ended holds, and LOST is the state told last */
  gboolean suspect CURATOR_GUARDED;  /* what the held stakes were told last */
  gint64 asked_us CURATOR_GUARDED;   /* CLOCK_BOOTTIME when anything was sent last, or 0 */
  CuratorTimer *idle_timer CURATOR_GUARDED;
  CuratorTimer *beat_timer CURATOR_GUARDED;
  /* By CLOCK_BOOTTIME: when beat_timer is due, the newest heartbeat was sent, and the far nodes are
   * checked next. */
  gint64 beat_due_us CURATOR_GUARDED;
  gint64 beat_sent_us CURATOR_GUARDED;
  gint64 far_due_us CURATOR_GUARDED;
  CuratorTimer *lapse_timer CURATOR_GUARDED;
  CuratorRequest *beat CURATOR_GUARDED;   /* the check in flight */
  GPtrArray *beat_stakes CURATOR_GUARDED; /* what it checks; NULL where a stake was removed */
  gboolean was_late CURATOR_GUARDED;      /* the newest answer to one, so that it proved nothing */
};

CuratorSession *curator_session_ref (CuratorSession *session);
void curator_session_unref (CuratorSession *session);

void curator_session_add_hook (CuratorSession *session, CuratorSessionHook *hook) CURATOR_LOCKED;
void curator_session_remove_hook (CuratorSessionHook *hook) CURATOR_LOCKED;
/* TRUE while the session's nodes may still exist and be ours. */
gboolean curator_session_is_current (CuratorSession *session) CURATOR_LOCKED;
/* The current session has a connection. */
gboolean curator_client_is_connected (CuratorClient *client) CURATOR_LOCKED;

#endif
