/* The protocol of one lock path: grants and residue.
 *
 * Without time. The clock is replaced by one assumption, that a server expires no session whose
 * lease is VALID; lease.pml checks that.
 *
 * Modelled: N clients with one acquire and release each; the queue in order of creation (node
 * numbers are czxid order); sessions that first are refused (closing) and then lose their nodes;
 * creates that are sent, executed and answered, with the connection lost at any point between;
 * reads of any prefix of the history that the client has not seen beyond yet; sync; watches;
 * cancellation; crashes; the reaper. Faults of all kinds share one budget, FAULTS.
 *
 * Merged into one step, without an observable difference: a read and its answer (a late answer is a
 * staler prefix), a delete and its answer (a delete whose answer is lost is sent again), a check
 * and its answer (one that comes too late does not count). A create of an old connection may be
 * executed until the session reconnects, not after: the server closes the old connection first, and
 * the leader refuses requests by another server for a session that has moved.
 *
 * Left out: parents, read-write locks and semaphores, nodes deleted by third parties, the end of
 * the sequence numbers. The clients are symmetric, so they begin in order of their numbers.
 *
 * Every run ends, because every retry uses up some of the budget. So "in the end" means: when no
 * step is possible any more. A waiter that sleeps forever is an invalid end state.
 *
 * Each of these removes one precaution: NO_SESSION_CHECK NO_PROOF NO_RELIST NO_WATCH_READ NO_REAPER
 * NO_SYNC.
 */
#ifndef N
#define N 3
#endif
#ifndef FAULTS
#define FAULTS 2
#endif

#define NODES 8
#define NONE  15

/* The state of the call. */
#define IDLE       0
#define CREATING   1 /* until the answer; the pipe has its progress */
#define FINDING    2 /* a create of unknown outcome */
#define LISTING    3
#define ARMING     4 /* about to read and watch pred */
#define WAITING    5
#define CONFIRMING 6
#define ASLEEP     7 /* watches a node that will never change: only with NO_WATCH_READ */
#define HELD       8
#define LOST       9
#define ENDED      10 /* released, failed or cancelled; the reaper may have work */
#define CRASHED    11

#define in_attempt(c) (pc[c] >= CREATING && pc[c] <= ASLEEP)
#define is_busy(c)    (pc[c] != IDLE && pc[c] != CRASHED && !is_over (c))
#define reads_queue(c) (pc[c] >= LISTING && pc[c] <= ASLEEP)
#define is_over(c) \
  (pc[c] == ENDED && to_delete[c] == 0 && to_find[c] == 0 && pipe[c] == EMPTY && closing[c] == 0)

/* The pipe; only creates are modelled in it. */
#define EMPTY    0
#define SENT     1
#define ANSWERED 2

/* The state of the session by the client's own clock. */
#define UNPROVEN 0
#define VALID    1
#define LAPSED   2

byte pc[N];
byte pipe[N];
byte lease[N];
bool connected[N];
byte guid[N];      /* of the attempt; a new one for every start */
byte session[N];
bool refused[N];   /* the servers no longer know the session */
byte closing[N];   /* bit set of refused sessions that still have their nodes */
byte view[N];      /* a transaction that the client cannot look behind: less than it has seen */
byte node[N];
byte pred[N];
byte to_delete[N]; /* the reaper: bit set of nodes */
byte to_find[N];   /* and of GUIDs */

/* The history. */
byte z = 1;
byte n_nodes;
byte owner[NODES];
byte owner_guid[NODES];
byte owner_session[NODES];
byte born[NODES];
byte died[NODES]; /* 0: exists */

byte last_token;
byte faults = FAULTS;

hidden byte i;
hidden byte v;
hidden byte p;

#define exists(n)     (n < n_nodes && died[n] == 0)
#define sees(t, n)    (n < n_nodes && born[n] <= t && (died[n] == 0 || died[n] > t))

/* A server that may lag, but not behind what this client has seen. */
inline look (c)
{
  v = view[c];
  do
  :: v < z -> v++
  :: break
  od
}

/* Normalises state that no client can observe any more. */
inline bury (n, t)
{
  died[n] = t;
  if
  :: t == 1 -> owner[n] = 0; owner_guid[n] = 0; owner_session[n] = 0; born[n] = 0
  :: else
  fi
}

/* The time of the next deletions, in p. Only readers of the queue can observe it. */
inline time_of_death ()
{
  p = 1;
  v = 0;
  do
  :: v < N -> p = (reads_queue (v) -> z + 1 : p); v++
  :: else -> break
  od;
  z = (p == 1 -> z : p);
  v = 0
}

inline kill (n)
{
  if
  :: exists (n) -> time_of_death (); bury (n, p)
  :: else
  fi
}

/* Where a create is to be sent, it is sent as soon as there is a connection. */
inline create (c)
{
  pc[c] = CREATING;
  pipe[c] = (connected[c] && !refused[c] -> SENT : EMPTY);
  view[c] = 0
}

/* discard_node: a node that exists or may exist goes to the reaper. */
inline leave (c)
{
#ifndef NO_REAPER
  if
  :: node[c] != NONE -> to_delete[c] = to_delete[c] | (1 << node[c])
  :: else
  fi;
  if
  :: pc[c] == FINDING -> to_find[c] = to_find[c] | (1 << guid[c])
  :: else
  fi;
#endif
  node[c] = NONE;
  pred[c] = NONE;
  view[c] = 0
}

inline restart (c)
{
  leave (c);
  guid[c]++;
  create (c)
}

inline grant (c)
{
  assert (exists (node[c]));
  assert (owner_session[node[c]] == session[c] && !refused[c]);
  i = 0;
  do
  :: i < node[c] -> assert (!exists (i)); i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < N -> assert (pc[i] != HELD); i++
  :: else -> break
  od;
  assert (node[c] + 1 > last_token);
  last_token = node[c] + 1;
  pred[c] = NONE;
  pc[c] = HELD
}

inline win (c)
{
#ifdef NO_PROOF
  grant (c)
#else
  if
  :: lease[c] == VALID -> grant (c)
  :: else -> pc[c] = CONFIRMING
  fi
#endif
}

/* The highest node with this GUID that is seen at v, in p. */
inline seek (c, g)
{
  p = NONE;
  i = 0;
  do
  :: i < n_nodes ->
     if
     :: owner[i] == c && owner_guid[i] == g && sees (v, i) -> p = i
     :: else
     fi;
     i++
  :: else -> break
  od
}

inline sync_and_look (c)
{
#ifdef NO_SYNC
  look (c)
#else
  v = z;
#endif
}

proctype Client (byte c)
{
  do
  /* The call. */
  :: atomic { pc[c] == IDLE && (c == 0 || pc[c - 1] != IDLE) -> create (c) }
  :: atomic {
       pipe[c] == ANSWERED && connected[c] ->
       pipe[c] = EMPTY;
       v = z;
       seek (c, guid[c]);
       lease[c] = (refused[c] -> lease[c] : VALID);
       if
       :: pc[c] == CREATING && p == NONE -> restart (c) /* its session has expired by now */
       :: pc[c] == CREATING && p != NONE -> node[c] = p; pc[c] = LISTING; view[c] = born[p]
       :: else ->
#ifndef NO_REAPER
          to_delete[c] = (p == NONE -> to_delete[c] : to_delete[c] | (1 << p))
#endif
          skip
       fi
     }
  :: atomic {
       pc[c] == FINDING && connected[c] && !refused[c] ->
       sync_and_look (c);
       seek (c, guid[c]);
       if
       :: p != NONE -> node[c] = p; pc[c] = LISTING; view[c] = born[p]
       :: else -> create (c)
       fi
     }
  :: atomic {
       pc[c] == LISTING && connected[c] ->
       look (c);
       if
       :: !sees (v, node[c]) -> restart (c)
       :: else ->
          p = NONE;
          i = 0;
          do
          :: i < node[c] -> p = (sees (v, i) -> i : p); i++
          :: else -> break
          od;
          if
          :: p == NONE -> win (c)
          :: else -> pred[c] = p; pc[c] = ARMING
          fi
       fi
     }
  :: atomic {
       pc[c] == ARMING && connected[c] ->
       look (c);
       if
       :: sees (v, pred[c]) -> pc[c] = WAITING
       :: else ->
          view[c] = died[pred[c]];
          pred[c] = NONE;
#ifdef NO_WATCH_READ
          pc[c] = ASLEEP
#else
          pc[c] = LISTING
#endif
       fi
     }
  :: atomic {
       pc[c] == WAITING && connected[c] && died[pred[c]] != 0 ->
       view[c] = died[pred[c]];
       pred[c] = NONE;
#ifdef NO_RELIST
       win (c)
#else
       pc[c] = LISTING
#endif
     }
  :: atomic {
       pc[c] == CONFIRMING && connected[c] && !refused[c] ->
       if
       :: exists (node[c]) -> lease[c] = VALID; grant (c)
       :: else -> restart (c)
       fi
     }
  :: atomic { pc[c] == HELD || pc[c] == LOST -> leave (c); pc[c] = ENDED }

  /* The reaper. */
  :: atomic {
       to_delete[c] != 0 && connected[c] && !refused[c] ->
       i = 0;
       do
       :: (to_delete[c] & (1 << i)) == 0 -> i++
       :: else -> break
       od;
       kill (i);
       to_delete[c] = to_delete[c] & ~(1 << i)
     }
  :: atomic {
       to_find[c] != 0 && connected[c] && !refused[c] ->
       sync_and_look (c);
       i = 0;
       do
       :: i < n_nodes ->
          if
          :: owner[i] == c && (to_find[c] & (1 << owner_guid[i])) != 0 && sees (v, i) ->
             to_delete[c] = to_delete[c] | (1 << i)
          :: else
          fi;
          i++
       :: else -> break
       od;
       to_find[c] = 0
     }

  /* The servers. A request may be executed although its connection is gone. */
  :: atomic {
       pipe[c] == SENT && !refused[c] ->
       assert (n_nodes < NODES);
       z++;
       owner[n_nodes] = c;
       owner_guid[n_nodes] = guid[c];
       owner_session[n_nodes] = session[c];
       born[n_nodes] = z;
       n_nodes++;
       pipe[c] = ANSWERED
     }
  :: atomic {
       lease[c] == LAPSED && !refused[c] && pc[c] != IDLE && !is_over (c) ->
       assert (pc[c] != HELD);
       refused[c] = true;
       closing[c] = closing[c] | (1 << session[c])
     }
  :: atomic {
       closing[c] != 0 ->
       time_of_death ();
       i = 0;
       do
       :: i < n_nodes ->
          if
          :: owner[i] == c && exists (i) && (closing[c] & (1 << owner_session[i])) != 0 -> bury (i, p)
          :: else
          fi;
          i++
       :: else -> break
       od;
       closing[c] = 0
     }

  /* The connection. */
  :: atomic {
       is_busy (c) && !connected[c] && !refused[c] ->
       connected[c] = true;
       pipe[c] = (pc[c] == CREATING -> SENT : EMPTY)
     }
  :: atomic {
       is_busy (c) && refused[c] ->
       if
       :: pipe[c] != EMPTY && pc[c] == CREATING -> pc[c] = FINDING
#ifndef NO_REAPER
       :: pipe[c] != EMPTY && pc[c] == ENDED -> to_find[c] = to_find[c] | (1 << guid[c])
#endif
       :: else
       fi;
       pipe[c] = EMPTY;
       refused[c] = false;
       connected[c] = true;
       if
       :: !in_attempt (c)
#ifdef NO_SESSION_CHECK
       :: in_attempt (c) -> pc[c] = (node[c] == NONE -> FINDING : LISTING); view[c] = 1
#else
       :: in_attempt (c) -> restart (c)
#endif
       fi;
       session[c]++;
       lease[c] = UNPROVEN
     }

  /* Faults. */
  :: atomic {
       faults > 0 && is_busy (c) && connected[c] ->
       faults--;
       connected[c] = false;
       if
       :: pipe[c] != EMPTY && pc[c] == CREATING -> pc[c] = FINDING
#ifndef NO_REAPER
       :: pipe[c] != EMPTY && pc[c] == ENDED -> to_find[c] = to_find[c] | (1 << guid[c])
#endif
       :: else
       fi
     }
  :: atomic {
       faults > 0 && is_busy (c) && lease[c] != LAPSED && !refused[c] ->
       faults--;
       lease[c] = LAPSED;
       pc[c] = (pc[c] == HELD -> LOST : pc[c])
     }
  :: atomic { faults > 0 && in_attempt (c) -> faults--; leave (c); pc[c] = ENDED }
  :: atomic {
       faults > 0 && is_busy (c) ->
       faults--;
       pc[c] = CRASHED;
       lease[c] = LAPSED;
       connected[c] = false;
       node[c] = NONE;
       pred[c] = NONE;
       view[c] = 0;
       to_delete[c] = 0;
       to_find[c] = 0
     }

  :: atomic {
       is_over (c) || (pc[c] == CRASHED && refused[c] && closing[c] == 0) ->
       lease[c] = UNPROVEN;
       connected[c] = false;
       refused[c] = false;
       guid[c] = 0;
       session[c] = 0;
       view[c] = 0;
       pipe[c] = EMPTY;
       pc[c] = ENDED;
       break
     }
  od
}

init
{
  atomic {
    i = 0;
    do
    :: i < N -> connected[i] = true; node[i] = NONE; pred[i] = NONE; run Client (i); i++
    :: else -> break
    od
  };
  _nr_pr == 1;
  atomic {
    i = 0;
    do
    :: i < n_nodes -> assert (!exists (i)); i++
    :: else -> break
    od
  }
}
