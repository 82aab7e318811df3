/* One ZooKeeper session: its handle, and its requests, watches and holds.
 *
 * A session never changes its id: expiry, loss by our clock or another id on reconnect end it, and
 * the client opens the next one.
 */
#pragma once

#include "base/guards.h"
#include "base/lease_math.h"
#include "base/link.h"
#include "channel/patience.h"
#include "core/client-record.h"

#include <glib.h>

typedef struct _CuratorSessionHook CuratorSessionHook;
typedef struct _CuratorRequest CuratorRequest;

typedef enum
{
  CURATOR_SESSION_OPENING, /* never connected yet */
  CURATOR_SESSION_CONNECTED,
  CURATOR_SESSION_DISCONNECTED,
  CURATOR_SESSION_DEAD /* final */
} CuratorSessionState;

/* How often the heartbeat checks a node. */
typedef enum
{
  CURATOR_STAKE_HELD,
  CURATOR_STAKE_NEAR, /* waits right behind what holds the lock */
  CURATOR_STAKE_FAR,  /* waits further back, or nobody knows where */
  CURATOR_N_STAKE_KINDS
} CuratorStakeKind;

/* Called when the session dies. */
struct _CuratorSessionHook
{
  CuratorLink place;
  CuratorSession *session CURATOR_GUARDED; /* NULL while not added */
  /* Called when the session is connected, and each time that it is again. May be NULL; must neither
   * add nor remove a hook. */
  void (*connected) (CuratorSessionHook *hook);
  void (*died) (CuratorSessionHook *hook); /* with the mutex held; unlinked before */
};

/* How the session gets the addresses of its servers; see client/session_servers.c. */
typedef struct
{
  void (*open) (gpointer session); /* waits for them; or NULL */
  CuratorTimer *pause;             /* until they are looked up */
  CuratorTimer *timer;
  gint64 since_us; /* when it connected */
} CuratorServerSearch;

/* How long a request may be, as the server's refusals show. */
typedef struct
{
  gsize most_bytes;       /* 0: no limit */
  gboolean has_answered;  /* since the last connect */
  gboolean long_was_lost; /* a long request, with the last connection */
} CuratorSessionRoom;

/* Of the handle, since there is no connection; see client/connect_deadline.c. */
typedef struct
{
  CuratorTimer *timer; /* the next check */
  gint64 since_us;
  CuratorPatience spent;
  guint n_pauses; /* of the handle, cut short */
} CuratorAttempts;

/* Of lease_clock.c. */
typedef struct
{
  CuratorLeaseTerms terms CURATOR_GUARDED;
  CuratorLeaseEvidence evidence CURATOR_GUARDED;
  /* Of all holds of this session, by CLOCK_BOOTTIME; 0 while there is no proof. Written with the
   * mutex held, read without it. */
  _Atomic gint64 deadline_us;
  /* CLOCK_BOOTTIME of the first attempt to connect; 0: used or unknown. */
  gint64 connecting_us CURATOR_GUARDED;
  gboolean end_seen CURATOR_GUARDED; /* a hold was over by the clock; the timer ends the others */
  gboolean lapsed CURATOR_GUARDED;   /* the clock ended holds, and LOST is the state told last */
  gboolean suspect CURATOR_GUARDED;  /* the holds of this session are SUSPECT */
  CuratorTimer *lapse_timer CURATOR_GUARDED;
} CuratorLeaseClock;

/* Of heartbeat.c. All times by CLOCK_BOOTTIME. */
typedef struct
{
  CuratorTimer *idle_timer;
  CuratorTimer *timer;
  gint64 due_us;               /* of timer */
  gint64 sent_us;              /* the newest heartbeat */
  gint64 far_due_us;           /* the next check of far nodes */
  CuratorRequest *request;     /* the check in flight */
  GPtrArray *stakes;           /* what it checks; NULL where a stake was removed */
  gboolean was_late;           /* the newest answer to one, so that it proved nothing */
  CuratorTimer *silence_timer; /* how long the request may be unanswered */
  gint64 silence_us;           /* the least for which nothing has come then */
  gboolean is_told;            /* that a hold may be lost with its server */
} CuratorHeartbeat;

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
  char *server CURATOR_GUARDED; /* "host:port" of the newest connection; or NULL */
  /* The least that a server has granted; until then the wanted one. */
  int timeout_ms CURATOR_GUARDED;
  CuratorTimer *loss_timer CURATOR_GUARDED; /* SUSPENDED for too long, or never connected */
  CuratorServerSearch seeking CURATOR_GUARDED;
  CuratorAttempts attempts CURATOR_GUARDED;

  gint64 opened_us CURATOR_GUARDED; /* monotonic; 0: there has been no handle */
  gboolean ever_connected CURATOR_GUARDED;
  /* Closing on a shared handle: our nodes and watches are being deleted. */
  gboolean cleaning_up CURATOR_GUARDED;
  void (*drained) (CuratorSession *session); /* called when in_flight is empty; or NULL */
  /* Called when a request is answered with an auth failure. */
  void (*refused) (CuratorSession *session, int rc);
  CuratorTimer *drain_timer CURATOR_GUARDED;

  GQueue in_flight CURATOR_GUARDED;    /* CuratorRequest sent to the library */
  GQueue backlog CURATOR_GUARDED;      /* CuratorRequest not sent yet */
  gboolean collects CURATOR_GUARDED;   /* requests go to the backlog */
  GHashTable *watches CURATOR_GUARDED; /* full path and kind -> CuratorWatchEntry */
  gsize watched_bytes CURATOR_GUARDED;
  CuratorSessionRoom room CURATOR_GUARDED;
  guint64 n_rereads CURATOR_GUARDED;           /* of watched nodes */
  GQueue hooks CURATOR_GUARDED;                /* CuratorSessionHook */
  CuratorAttachment *attached CURATOR_GUARDED; /* what upper layers keep here */

  GQueue stakes[CURATOR_N_STAKE_KINDS] CURATOR_GUARDED; /* CuratorStake, see stakes.h */
  gint64 asked_us CURATOR_GUARDED; /* CLOCK_BOOTTIME when anything was sent last, or 0 */
  CuratorLeaseClock clock;
  CuratorHeartbeat beat CURATOR_GUARDED;
};

CuratorSession *curator_session_ref (CuratorSession *session);
void curator_session_unref (CuratorSession *session);

/* Takes it from the session where it is. */
void curator_session_add_hook (CuratorSession *session, CuratorSessionHook *hook) CURATOR_LOCKED;
void curator_session_remove_hook (CuratorSessionHook *hook) CURATOR_LOCKED;
/* The current session has a connection. */
gboolean curator_client_is_connected (CuratorClient *client) CURATOR_LOCKED;
