/* A leader, its followers, and a client whose session they expire: what happens on the wire.
 *
 * Knows nothing of the lease clock. One history has two results: what the client saw (when it sent
 * each request and when the answer came) and the earliest moment at which the leader may expire the
 * session. All times are the client's, in microseconds.
 *
 * The leader expires a session T after the last time it was told about it, by a clock that is up to
 * 1 % faster or slower. ZooKeeper rounds that up to a tick: here it is not, so the earliest moment
 * counts. A follower handles a ping of the leader every half tick, late by no more than late_us
 * (pauses of the leader and the follower, and delays of the link, included), and replies with
 * whether it has heard from the client since. It answers a read alone. It forwards a transaction to
 * the leader behind what it has replied before. Each connection keeps the order of its messages.
 * Every pong and every connect request carries the timeout of its connection, even when it arrives
 * after the client has moved to another server.
 */
#pragma once

#include "unit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#define MODEL_NEVER    (INT64_MAX / 2)
#define MODEL_N_EVENTS 160U

typedef struct
{
  uint64_t state;
} ModelRand;

static inline uint64_t
model_rand_next (ModelRand *rand)
{
  uint64_t z = (rand->state += UINT64_C (0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* From 0 to most, both included. */
static inline int64_t
model_rand_upto (ModelRand *rand, int64_t most)
{
  return most <= 0 ? 0 : (int64_t) (model_rand_next (rand) % ((uint64_t) most + 1));
}

static inline bool
model_rand_chance (ModelRand *rand, int percent)
{
  return model_rand_upto (rand, 99) < percent;
}

static inline int64_t
model_least (int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static inline int64_t
model_most (int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static inline uint64_t
model_env_number (const char *name, uint64_t otherwise)
{
  const char *text = g_getenv (name);
  return text == NULL ? otherwise : strtoull (text, NULL, 0);
}

/* The seed of the first of n cases; each other case has the next one. */
static inline uint64_t
model_first_seed (const char *name, uint64_t n)
{
  const uint64_t first =
      model_env_number ("CURATOR_TEST_SEED", (uint64_t) g_random_int () << 32 | g_random_int ());
  print_message ("%s: %" PRIu64 " cases from CURATOR_TEST_SEED=%" PRIu64 "\n", name, n, first);
  return first;
}

typedef enum
{
  MODEL_CREATED,     /* the session was created, as asked for at sent_us */
  MODEL_READ,        /* a follower has answered a read */
  MODEL_PROOF,       /* a transaction was committed */
  MODEL_RECONNECTED, /* a server has granted the timeout that is in the event */
} ModelKind;

typedef struct
{
  ModelKind kind;
  int timeout_ms;
  int64_t sent_us;
  int64_t now_us;
} ModelEvent;

typedef struct
{
  /* Chosen before. */
  int timeout_ms;       /* of the first connection */
  int64_t half_tick_us; /* of the servers */
  int64_t late_us;      /* of the pings, at most */
  int rate_ppm;         /* how much faster the leader's clock is */
  int64_t start_us;
  /* Of the servers. */
  int64_t link_us;    /* the newest message from the follower arrived at the leader then */
  int64_t request_us; /* the newest request arrived at the follower then */
  int64_t answer_us;  /* the newest answer arrived at the client then */
  int64_t ping_us;    /* the follower handles its next ping then */
  int64_t cut_us;     /* from then on nothing passes between follower and leader */
  int64_t return_us;  /* an answer takes so much longer */
  int latency;        /* how the messages are delayed: 0 not at all ... 3 for long */
  int lateness;       /* of the pings, in percent of what is allowed; -1: any */
  bool heard;         /* the follower has something to tell */
  bool stuck;         /* a transaction without an answer holds up what was sent after it */
  int64_t stale_us;   /* a pong of the previous follower arrives at the leader then */
  int stale_ms;       /* and carries that timeout */
  bool expired;
  int64_t expiry_us; /* the earliest moment at which the leader expires the session */
  int64_t lazy_us;   /* a leader that is paused then may commit for so much longer */
  /* Seen by the client. */
  unsigned n_events;
  ModelEvent events[MODEL_N_EVENTS];
} ModelHistory;

static inline void
model_note (ModelHistory *history, ModelKind kind, int64_t sent_us, int64_t now_us)
{
  if (history->n_events < MODEL_N_EVENTS) {
    const ModelEvent event = { kind, history->timeout_ms, sent_us, now_us };
    history->events[history->n_events++] = event;
  }
}

static inline void
model_touch_one (ModelHistory *history, int64_t at_us, int timeout_ms)
{
  if (at_us >= history->expiry_us)
    history->expired = true;
  if (!history->expired) {
    history->expiry_us =
        at_us + (int64_t) timeout_ms * 1000 * 1000000 / (1000000 + history->rate_ppm);
  }
}

/* What arrives at the leader is handled in the order of arrival. */
static inline void
model_touch (ModelHistory *history, int64_t at_us, int timeout_ms)
{
  if (history->stale_us <= at_us) {
    model_touch_one (history, history->stale_us, history->stale_ms);
    history->stale_us = MODEL_NEVER;
  }
  if (at_us < MODEL_NEVER)
    model_touch_one (history, at_us, timeout_ms);
}

static inline int64_t
model_latency (ModelHistory *history, ModelRand *rand)
{
  static const int shares[] = { 1000000000, 2000, 100, 20 };
  const int64_t timeout_us = (int64_t) history->timeout_ms * 1000;
  if (history->latency > 0 && model_rand_chance (rand, 3))
    return model_rand_upto (rand, timeout_us / 3);
  return model_rand_upto (rand, timeout_us / shares[history->latency]);
}

static inline void
model_next_ping (ModelHistory *history, ModelRand *rand)
{
  history->ping_us += history->half_tick_us
                      + (history->lateness < 0 ? model_rand_upto (rand, history->late_us)
                                               : history->late_us * history->lateness / 100);
}

/* The pings that the follower handles before that moment. */
static inline void
model_pings (ModelHistory *history, ModelRand *rand, int64_t until_us)
{
  while (history->ping_us < until_us && history->ping_us < history->cut_us) {
    if (!history->heard) {
      /* Nothing changes until there is something to tell. */
      const int64_t longest = history->half_tick_us + history->late_us;
      const int64_t left = (model_least (until_us, history->cut_us) - history->ping_us) / longest;
      history->ping_us += left > 2 ? (left - 1) * longest : 0;
    }
    history->link_us =
        model_most (history->link_us, history->ping_us + model_latency (history, rand) / 4);
    if (history->heard) {
      model_touch (history, history->link_us, history->timeout_ms);
      history->heard = false;
    }
    model_next_ping (history, rand);
  }
}

/* The client sends a request; cut: the follower loses its leader right after the answer. */
static inline void
model_request (ModelHistory *history, ModelRand *rand, ModelKind kind, int64_t sent_us, bool cut)
{
  history->request_us = model_most (history->request_us, sent_us + model_latency (history, rand));
  model_pings (history, rand, history->request_us);
  history->heard = true;
  int64_t done_us = history->request_us;
  if (kind == MODEL_PROOF) {
    const int64_t at_us =
        model_most (history->link_us, history->request_us + model_latency (history, rand));
    done_us = at_us + model_latency (history, rand) / 4;
    history->stuck = history->stuck || done_us >= history->cut_us || history->expired
                     || at_us >= history->expiry_us + history->lazy_us;
    history->link_us = history->request_us < history->cut_us ? at_us : history->link_us;
    if (cut && !history->stuck)
      history->cut_us = done_us + 1;
  }
  if (!history->stuck) {
    history->answer_us = model_most (history->answer_us,
                                     done_us + model_latency (history, rand) + history->return_us);
    model_note (history, kind, sent_us, history->answer_us);
  }
}

/* The client does nothing in between: an answer that comes is seen at the end. */
static inline void
model_pause (ModelHistory *history, int64_t from_us, int64_t until_us)
{
  for (unsigned i = history->n_events; i > 0 && history->events[i - 1].now_us > from_us; i--)
    history->events[i - 1].now_us = model_most (history->events[i - 1].now_us, until_us);
  if (history->answer_us > from_us)
    history->answer_us = model_most (history->answer_us, until_us);
}

/* A connection to a server that has just been made. */
static inline void
model_connection (ModelHistory *history, ModelRand *rand, int64_t leader_us, int64_t now_us)
{
  history->link_us = leader_us;
  history->request_us = history->answer_us = now_us;
  history->cut_us = MODEL_NEVER;
  history->ping_us = leader_us + model_rand_upto (rand, history->half_tick_us + history->late_us);
  history->heard = history->stuck = false;
}

/* The connection is lost at lost_us; the client asks another server, or the same, at sent_us. */
static inline void
model_reconnect (ModelHistory *history, ModelRand *rand, int64_t lost_us, int64_t sent_us,
                 int timeout_ms)
{
  while (history->n_events > 0 && history->events[history->n_events - 1].now_us > lost_us)
    history->n_events--;
  model_pings (history, rand, lost_us);
  if (history->heard && history->ping_us < history->cut_us && history->stale_us == MODEL_NEVER) {
    history->stale_us = model_most (history->link_us, history->ping_us);
    history->stale_ms = history->timeout_ms;
  }
  const int64_t at_us =
      model_most (sent_us, history->link_us) + model_rand_upto (rand, (int64_t) timeout_ms * 10);
  const int64_t now_us = at_us + model_rand_upto (rand, (int64_t) timeout_ms * 50);
  history->timeout_ms = timeout_ms;
  model_touch (history, at_us, timeout_ms);
  model_connection (history, rand, at_us, now_us);
  if (!history->expired)
    model_note (history, MODEL_RECONNECTED, sent_us, now_us);
}

static inline void
model_begin (ModelHistory *history, ModelRand *rand)
{
  const int64_t at_us = history->start_us + model_latency (history, rand);
  history->stale_us = MODEL_NEVER;
  history->expiry_us = MODEL_NEVER;
  history->n_events = 0;
  history->expired = false;
  model_touch (history, at_us, history->timeout_ms);
  model_connection (history, rand, at_us, at_us + model_latency (history, rand));
  model_note (history, MODEL_CREATED, history->start_us, history->answer_us);
}

/* The client is not heard any more. */
static inline void
model_end (ModelHistory *history, ModelRand *rand)
{
  if (history->heard && history->ping_us < history->cut_us)
    model_pings (history, rand, history->ping_us + 1);
  model_touch (history, MODEL_NEVER, history->timeout_ms);
  history->expired = true;
}
