/* The clock of a hold: LOST comes before any other grant.
 *
 * Time advances in ticks of T/30, or as set by -DT. A holder's client is connected to a follower,
 * which reports its active sessions when the leader pings it, every half of the servers' tick. Only
 * that keeps a session alive: a request that a follower forwards does not (LeaderZooKeeperServer's
 * submitLearnerRequest touches no session). The links may fail and recover at any moment.
 *
 * Left out: the rate of the clocks (covered by the guard's T/100); that expiry is rounded up to a
 * tick, and that a new leader restarts all session timeouts, which both add time. Two earlier
 * answers are remembered, not sixteen, which is weaker.
 *
 * An answer may take any time up to DELAY, at which the connection is dropped; a heartbeat may be
 * sent LATE after it is due. Neither matters for safety, and the main runs use the largest values.
 * The hold begins with any knowledge about the leader that suffices for a grant. Assumed: pings are
 * at most LAG late, pauses of the leader included.
 *
 * Each of these removes one precaution. NO_GUARD: no guard, and no tracking of what the leader was
 * told. READ_BEAT: a heartbeat that a server answers alone. FROM_SENDING: a request counts as
 * reported half a tick after it was sent instead of answered. PINGS: relies on libzookeeper's own
 * ping, every third of T.
 */
#ifndef T
#define T 30
#endif
#define H      (T / 6)
#define PROMPT ((T + 9) / 10)
#ifndef HALF
#define HALF 2 /* half of the servers' tick: 1 s where T is 15 s */
#endif
#ifdef NO_GUARD
#define GUARD  0
#define NO_TOLD
#else
#define GUARD (H + HALF + PROMPT)
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef DELAY
#define DELAY PROMPT
#endif
#ifndef LAG
#define LAG 0
#endif
#define SLACK 2 /* a ping may be T/30 late, and within one tick it may come last */

/* The heartbeat in flight. */
#define NONE      0
#define SENT      1
#define FORWARDED 2 /* the follower has it */
#define COMMITTED 3

#define OLD (T + 1)
#define LONG_AGO (PROMPT + HALF + SLACK) /* of an answer: any later proof is late enough */

byte proof;          /* ticks since the newest proof was sent */
byte answer;         /* the same since its answer */
byte earlier[2] = OLD; /* since two requests before were sent */
byte answers[2];
byte told;           /* since when the leader must know of the client, at the latest */
byte beat;
byte beat_age;
byte wait = H;       /* ticks until a heartbeat is due */
byte late;
bool heard = true;   /* the follower has something to report */
byte left;           /* ticks until the leader ends the session */
byte since_ping;
bool to_follower = true;
bool to_leader = true;
bool holds = true;

hidden byte i;
hidden byte youngest;

#define counts (beat_age <= PROMPT)
#ifdef NO_TOLD
#define in_time (proof < T - GUARD)
#else
#define in_time (proof < T - GUARD && told < T)
#endif
#define min(x, y) (x < y -> x : y)
#define max(x, y) (x > y -> x : y)

#ifdef FROM_SENDING
#define heard_of(i) (earlier[i] >= proof + HALF + SLACK)
#else
#define heard_of(i) (answers[i] >= proof + HALF + SLACK)
#endif

/* note_leader_knows: the leader was told of every answer older than half a tick when the newest proof was
 * sent. */
inline note_told ()
{
  youngest = proof;
  i = 0;
  do
  :: i < 2 ->
     if
     :: earlier[i] >= OLD
     :: earlier[i] < OLD && heard_of (i) -> told = min (told, earlier[i])
     :: else -> youngest = max (youngest, earlier[i])
     fi;
     i++
  :: else -> break
  od;
#ifdef PINGS
  told = min (told, youngest + T / 3 + HALF);
#endif
  youngest = 0;
  /* Discards knowledge that is older than the newest. */
  answers[0] = (earlier[0] >= told -> 0 : answers[0]);
  answers[1] = (earlier[1] >= told -> 0 : answers[1]);
  earlier[0] = (earlier[0] >= told -> OLD : earlier[0]);
  earlier[1] = (earlier[1] >= told -> OLD : earlier[1]);
  i = 0
}

#define is_bound_by_leader (told > proof + GUARD)

#define must_beat (beat == NONE && wait == 0 && to_follower && late >= LATE)
#define must_ping (since_ping >= HALF + LAG && to_leader)
#define less(x)   (x > 0 -> x - 1 : 0)
#define more(x)   (x < T + 1 -> x + 1 : x)

active proctype World ()
{
  /* The hold was granted just now, on an answer that arrived in time, perhaps two heartbeats ago. */
  do
  :: proof < 2 * H -> proof++
  :: break
  od;
  told = proof;
  do
  :: told + HALF + SLACK + PROMPT < T -> told++
  :: break
  od;
  left = T - told;
  if
  :: heard = true
  :: told == proof -> heard = false
  fi;
  holds = in_time;
  do
  /* Time advances, unless an action is due. */
  :: atomic {
       holds && !must_beat && !must_ping ->
       late = (beat == NONE && wait == 0 -> more (late) : 0);
       proof = more (proof);
       answer = min (answer + 1, LONG_AGO);
       earlier[0] = more (earlier[0]);
       earlier[1] = more (earlier[1]);
       answers[0] = (earlier[0] < OLD -> min (answers[0] + 1, LONG_AGO) : 0);
       answers[1] = (earlier[1] < OLD -> min (answers[1] + 1, LONG_AGO) : 0);
       told = more (told);
       beat_age = (beat != NONE -> more (beat_age) : 0);
       wait = less (wait);
       left = less (left);
       since_ping = (since_ping < HALF + LAG -> since_ping + 1 : since_ping);
       holds = in_time;
       if
       :: beat_age > DELAY -> to_follower = false; beat = NONE; beat_age = 0
       :: else
       fi
     }
  /* The client. */
  :: atomic { holds && beat == NONE && wait == 0 && to_follower -> beat = SENT; late = 0 }
  :: atomic {
       holds && to_follower && beat == COMMITTED ->
       if
       :: counts && beat_age < proof ->
          earlier[1] = earlier[0];
          answers[1] = answers[0];
          earlier[0] = proof;
          answers[0] = answer;
          proof = beat_age;
          answer = 0;
          note_told ()
       :: else
       fi;
       beat = NONE;
       beat_age = 0;
       wait = (is_bound_by_leader -> HALF + SLACK : max (H - min (proof, H), H / 2));
       wait = min (wait, H)
     }
  /* The follower. */
  :: atomic { to_follower && beat == SENT -> beat = FORWARDED; heard = true }
  /* The leader. */
#ifdef READ_BEAT
  :: atomic { beat == FORWARDED -> beat = COMMITTED }
#else
  :: atomic { to_leader && beat == FORWARDED -> beat = COMMITTED }
#endif
  :: atomic {
       to_leader && since_ping >= HALF ->
       left = (heard -> T : left);
       heard = false;
       since_ping = 0
     }
  :: atomic { left == 0 -> assert (!holds); break }
  /* The links. A client that reconnects is reported at once: its server asks the leader whether the
   * session is alive. */
  :: atomic { to_leader = false }
  :: atomic { to_follower -> to_follower = false; beat = NONE; beat_age = 0 }
  :: atomic {
       !to_follower && left > 0 ->
       to_follower = true;
       to_leader = true;
       left = T;
       heard = false;
       wait = 0
     }
  :: !holds -> break
  od
}
