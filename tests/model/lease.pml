/* The clock of a hold: LOST before anybody else can be granted.
 *
 * Time goes in ticks of T/30. A holder's client talks to a follower, which tells the leader whom it
 * has heard of when the leader pings it, every half of the servers' tick. Only that keeps a session
 * alive: the request that a follower passes on is no sign of life (LeaderZooKeeperServer's
 * submitLearnerRequest touches nothing). The links may fail at any moment and come back.
 *
 * Left out: the rate of the clocks (the guard's T/100 is for it); that the end of a session is
 * rounded up to a tick, and that a new leader starts all sessions afresh, both of which give time.
 * Of earlier proofs two are remembered, not sixteen, which is less to rely on.
 *
 * Assumed, with what a -D makes of it: an answer comes within DELAY, or the connection is dropped; a
 * heartbeat goes out LATE after it is due at most; pings are LAG late at most, pauses of the leader
 * included; and the session was heard of IDLE before the proof that the hold began with: no longer
 * ago than the library's own ping. NO_GUARD, NO_TOLD (the deadline is the newest proof's alone) and
 * READ_BEAT (a heartbeat that a server answers alone) take one precaution away.
 *
 * DELAY and LATE may be of any size with -DANSWER=4 -DNO_PINGS: if an earlier proof counts as told
 * half a tick after its answer, and the library's pings are not relied on between heartbeats.
 */
#define T      30
#define H      5  /* T/6 */
#define PROMPT 3  /* T/10 */
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
#ifndef ANSWER
#define ANSWER 0
#endif
#ifndef IDLE
#define IDLE (T / 3)
#endif

/* The heartbeat on its way. */
#define NONE      0
#define SENT      1
#define FORWARDED 2 /* the follower has it */
#define COMMITTED 3

#define OLD (T + 1)

byte proof;          /* ticks since the newest proof was sent */
byte earlier[2] = OLD; /* the same of the two before */
byte told = T / 3 + HALF; /* ticks since when the leader must know of the client, at the latest */
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

/* note_known: a proof half a tick older than the newest was told; before the eldest of the others
 * the library has pinged. */
inline note_told ()
{
  youngest = proof;
  i = 0;
  do
  :: i < 2 ->
     if
     :: earlier[i] >= OLD
     :: earlier[i] < OLD && earlier[i] >= proof + HALF + ANSWER -> told = min (told, earlier[i])
     :: else -> youngest = max (youngest, earlier[i])
     fi;
     i++
  :: else -> break
  od;
#ifndef NO_PINGS
  told = min (told, youngest + T / 3 + HALF);
#endif
  youngest = 0;
  /* What says less than is known already makes no difference any more. */
  earlier[0] = (earlier[0] >= told -> OLD : earlier[0]);
  earlier[1] = (earlier[1] >= told -> OLD : earlier[1]);
  i = 0
}

#define is_young (told > proof + T / 3)

#define must_beat (beat == NONE && wait == 0 && to_follower && late >= LATE)
#define must_ping (since_ping >= HALF + LAG && to_leader)
#define less(x)   (x > 0 -> x - 1 : 0)
#define more(x)   (x < T + 1 -> x + 1 : x)

active proctype World ()
{
  left = T;
  do
  :: left > T - IDLE -> left--
  :: break
  od;
  do
  /* Time goes on, unless something has to be done first. */
  :: atomic {
       holds && !must_beat && !must_ping ->
       late = (beat == NONE && wait == 0 -> more (late) : 0);
       proof = more (proof);
       earlier[0] = more (earlier[0]);
       earlier[1] = more (earlier[1]);
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
          earlier[0] = proof;
          proof = beat_age;
          note_told ()
       :: else
       fi;
       beat = NONE;
       beat_age = 0;
       wait = (is_young -> HALF : max (H - min (proof, H), H / 2));
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
  /* The links. A client that is back has been heard of: the leader is asked whether its session
   * lives. */
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
