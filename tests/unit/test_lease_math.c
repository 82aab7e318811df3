/* The lease clock never outlives the session: its arithmetic against random histories of a model.
 *
 * CURATOR_TEST_SEED=S CURATOR_TEST_CASES=1 replays the case with the seed S; more cases are run
 * with CURATOR_TEST_CASES=100000000.
 */
#include "base/lease_math.h"
#include "unit/lease_model.h"

#define N_CASES 200000

/* What the client was told by its user and the servers, and what the servers really do. */
typedef struct
{
  ModelRand rand;
  ModelHistory history;
  int timeouts_ms[3];
  unsigned n_connections;
  int least_ms; /* of the timeouts */
  int tick_ms;
  int heartbeat_ms;
  int64_t period_us;
} Case;

static int
any_timeout_ms (ModelRand *rand)
{
  static const int usual[] = { 2000, 4000, 6000, 10000, 15000, 20000, 30000, 40000, 60000, 120000 };
  return model_rand_chance (rand, 60) ? usual[model_rand_upto (rand, 9)]
                                      : (int) (1000 + model_rand_upto (rand, 119000));
}

static void
case_choose_times (Case *c, unsigned n_connections)
{
  static const int ticks[] = { 50, 100, 250, 500, 1000, 2000, 2000, 4000 };
  ModelRand *rand = &c->rand;
  ModelHistory *history = &c->history;
  c->n_connections = n_connections;
  c->least_ms = INT32_MAX;
  for (unsigned i = 0; i < n_connections; i++) {
    c->timeouts_ms[i] =
        i > 0 && model_rand_chance (rand, 20) ? c->timeouts_ms[i - 1] : any_timeout_ms (rand);
    c->least_ms = c->least_ms < c->timeouts_ms[i] ? c->least_ms : c->timeouts_ms[i];
  }
  /* Servers grant two ticks or more. */
  const int tick_ms =
      (int) model_least (ticks[model_rand_upto (rand, 7)], model_least (c->least_ms / 2, 2000));
  c->tick_ms = tick_ms;
  if (model_rand_chance (rand, 25))
    c->tick_ms = 0;
  c->heartbeat_ms =
      model_rand_chance (rand, 50) ? 0 : (int) (5 + model_rand_upto (rand, c->least_ms / 4));
  const int64_t least_us = (int64_t) c->least_ms * 1000;
  c->period_us = c->heartbeat_ms == 0
                     ? least_us / 6
                     : model_least ((int64_t) c->heartbeat_ms * 1000, least_us / 4);
  history->timeout_ms = c->timeouts_ms[0];
  history->half_tick_us = (int64_t) tick_ms * 500;
  history->rate_ppm =
      model_rand_chance (rand, 50) ? 10000 : (int) model_rand_upto (rand, 20000) - 10000;
  history->lateness = model_rand_chance (rand, 40) ? -1 : (model_rand_chance (rand, 50) ? 100 : 0);
  history->start_us = 1 + model_rand_upto (rand, INT64_C (1) << 40);
}

/* A session in which anything may happen to the client, but the leader's pings come in time. */
static int64_t
any_gap_us (Case *c)
{
  ModelRand *rand = &c->rand;
  const int64_t timeout_us = (int64_t) c->history.timeout_ms * 1000;
  const int64_t told_us = c->history.half_tick_us + c->history.late_us;
  switch (model_rand_upto (rand, 5)) {
  case 0:
    return model_rand_upto (rand, timeout_us / 200);
  case 1:
  case 2:
    return told_us + model_rand_upto (rand, timeout_us / 50);
  case 3:
    return c->period_us + model_rand_upto (rand, timeout_us / 20);
  case 4:
    return model_rand_upto (rand, timeout_us / 4);
  default:
    return model_rand_upto (rand, timeout_us * 7 / 10);
  }
}

static int64_t
connection_run (Case *c, int64_t at_us, bool is_last)
{
  ModelRand *rand = &c->rand;
  const unsigned n = 2 + (unsigned) model_rand_upto (rand, 12);
  const unsigned cut = (unsigned) model_rand_upto (rand, is_last ? n - 1 : 3 * n);
  const int reads = (int) model_rand_upto (rand, 80);
  for (unsigned i = 0; i < n; i++) {
    const bool read = i != cut && model_rand_chance (rand, reads);
    model_request (&c->history, rand, read ? MODEL_READ : MODEL_PROOF, at_us, i == cut);
    const int64_t gap_us = any_gap_us (c);
    if (model_rand_chance (rand, 5))
      model_pause (&c->history, at_us + model_rand_upto (rand, gap_us), at_us + gap_us);
    at_us += gap_us;
  }
  return at_us;
}

static void
case_disturbed (Case *c)
{
  ModelRand *rand = &c->rand;
  case_choose_times (c, 1 + (unsigned) model_rand_upto (rand, 3) % 3);
  ModelHistory *history = &c->history;
  history->late_us = (int64_t) c->least_ms * 1000 / 30;
  history->lazy_us = model_rand_chance (rand, 50) ? 0 : model_rand_upto (rand, history->late_us);
  history->latency = (int) model_rand_upto (rand, 3);
  model_begin (history, rand);
  int64_t at_us = history->answer_us;
  for (unsigned i = 0; i < c->n_connections; i++) {
    if (i > 0) {
      const int64_t lost_us = at_us;
      at_us += model_rand_upto (rand, (int64_t) c->least_ms * 300);
      model_reconnect (history, rand, lost_us, at_us, c->timeouts_ms[i]);
      at_us = history->answer_us;
    }
    at_us = connection_run (c, at_us, i + 1 == c->n_connections);
  }
  model_end (history, rand);
}

/* A session that sends something every heartbeat interval, so that the leader may be paused for as
 * long as an answer may take, at the worst moment: when the follower has heard from the client just
 * after a ping, the next ping is late, and the follower is cut off before it comes. */
static void
case_regular (Case *c)
{
  ModelRand *rand = &c->rand;
  ModelHistory *history = &c->history;
  case_choose_times (c, 1);
  history->late_us = (int64_t) c->least_ms * 100;
  history->latency = 0;
  history->return_us = model_rand_chance (rand, 50) ? 0 : model_rand_upto (rand, history->late_us);
  history->lazy_us = 0;
  model_begin (history, rand);
  int64_t at_us = history->answer_us;
  for (int64_t n = model_rand_upto (rand, 20); n > 0; n--) {
    model_request (history, rand, n % 2 == 0 ? MODEL_READ : MODEL_PROOF, at_us, false);
    at_us += c->period_us / 2 + model_rand_upto (rand, c->period_us / 2);
  }
  const int64_t instant_us = 1 + model_rand_upto (rand, c->period_us / 1000);
  const int64_t next_us = at_us + c->period_us;
  model_request (history, rand, MODEL_PROOF, at_us, false);
  for (int64_t left_us = c->period_us - instant_us; left_us > 0; left_us -= history->half_tick_us) {
    history->ping_us = next_us - left_us;
    model_pings (history, rand, history->ping_us + 1);
  }
  /* The last one came just before the next request. */
  history->ping_us = next_us - instant_us;
  model_pings (history, rand, history->ping_us + 1);
  history->ping_us = next_us - instant_us + history->half_tick_us + history->late_us;
  for (at_us = next_us; at_us + c->period_us < history->ping_us - instant_us; at_us += c->period_us)
    model_request (history, rand, MODEL_READ, at_us, false);
  model_request (history, rand, MODEL_PROOF, at_us, false);
  model_request (history, rand, MODEL_PROOF, model_most (at_us, history->ping_us - instant_us),
                 true);
  model_end (history, rand);
}

static void
print_case (const Case *c)
{
  static const char *const kinds[] = { "created", "read", "proof", "reconnected" };
  const ModelHistory *history = &c->history;
  print_error ("tick %d ms (half a tick is %" PRId64 " us), heartbeat %d ms, rate %+d ppm\n",
               c->tick_ms, history->half_tick_us, c->heartbeat_ms, history->rate_ppm);
  for (unsigned i = 0; i < history->n_events; i++) {
    const ModelEvent *event = &history->events[i];
    print_error ("  %-11s sent %9" PRId64 " answered %9" PRId64 " timeout %d ms\n",
                 kinds[event->kind], event->sent_us - history->start_us,
                 event->now_us - history->start_us, event->timeout_ms);
  }
  print_error ("  expired at %" PRId64 "\n", history->expiry_us - history->start_us);
}

static void
take_event (const Case *c, const ModelEvent *event, CuratorLeaseEvidence *evidence,
            CuratorLeaseTerms *terms, int *timeout_ms)
{
  if (event->kind == MODEL_CREATED || event->kind == MODEL_RECONNECTED) {
    *timeout_ms = curator_lease_session_ms (*timeout_ms, event->timeout_ms);
    *terms = curator_lease_terms (*timeout_ms, c->tick_ms, c->heartbeat_ms);
  }
  if (event->kind == MODEL_CREATED)
    curator_lease_note_leader (evidence, event->sent_us);
  if (event->kind == MODEL_READ || event->kind == MODEL_PROOF)
    curator_lease_note_answer (evidence, terms, event->sent_us, event->now_us);
  if (event->kind == MODEL_PROOF)
    curator_lease_note_proof (evidence, terms, event->sent_us, event->now_us);
}

/* The clocks have jumped at that moment: nothing is good enough before a proof that was sent later,
 * and the deadline is what it was. */
static bool
doubts_a_jump (CuratorLeaseEvidence evidence, const CuratorLeaseTerms *terms, int64_t now_us)
{
  const int64_t deadline_us = curator_lease_deadline (&evidence, terms);
  curator_lease_note_step (&evidence, now_us);
  curator_lease_note_step (&evidence, now_us - 1);
  const bool doubts = curator_lease_until_suspect (&evidence, terms, now_us) == 0
                      && !curator_lease_is_fresh (&evidence, terms, now_us)
                      && curator_lease_deadline (&evidence, terms) == deadline_us;
  curator_lease_note_proof (&evidence, terms, now_us - 1, now_us);
  const bool doubts_on = curator_lease_until_suspect (&evidence, terms, now_us) == 0;
  curator_lease_note_proof (&evidence, terms, now_us + 1, now_us + 1);
  return doubts && doubts_on && curator_lease_until_suspect (&evidence, terms, now_us + 1) > 0;
}

/* What is wrong, or NULL. */
static const char *
judge (const Case *c, int64_t *n_held)
{
  const ModelHistory *history = &c->history;
  CuratorLeaseEvidence evidence = { 0 };
  CuratorLeaseTerms terms = { 0 };
  int timeout_ms = 0;
  int64_t deadline_us = 0;
  for (unsigned i = 0; i < history->n_events; i++) {
    const ModelEvent *event = &history->events[i];
    const int64_t before_us = deadline_us;
    take_event (c, event, &evidence, &terms, &timeout_ms);
    deadline_us = curator_lease_deadline (&evidence, &terms);
    const int64_t now_us = event->now_us;
    const int64_t next_us = i + 1 < history->n_events ? event[1].now_us : MODEL_NEVER;
    const int64_t over_us = model_most (now_us, history->expiry_us);
    *n_held += deadline_us > now_us;
    if (deadline_us > over_us && next_us > over_us)
      return "a hold outlives its session";
    if (event->kind == MODEL_PROOF && now_us - event->sent_us > terms.session_us / 10
        && deadline_us > before_us)
      return "a slow answer proves a hold";
    if (curator_lease_is_fresh (&evidence, &terms, now_us)
        && deadline_us - now_us <= terms.session_us / 10)
      return "fresh evidence for a hold that ends before an answer has to come";
    if (evidence.proof_us != 0 && evidence.proof_us < now_us
        && !doubts_a_jump (evidence, &terms, now_us))
      return "a jump of the clocks leaves no doubt";
  }
  return NULL;
}

static void
run_cases (const char *name, void (*generate) (Case *), uint64_t n)
{
  const uint64_t first = model_first_seed (name, n);
  int64_t n_held = 0;
  for (uint64_t i = 0; i < n; i++) {
    Case c = { .rand = { first + i } };
    /* Neighbouring seeds are not alike. */
    c.rand.state = model_rand_next (&c.rand);
    generate (&c);
    const char *fault = judge (&c, &n_held);
    if (fault != NULL) {
      print_case (&c);
      print_error ("--- %s: %s, case %" PRIu64 ": CURATOR_TEST_SEED=%" PRIu64
                   " CURATOR_TEST_CASES=1\n",
                   name, fault, i + 1, first + i);
      fail ();
    }
  }
  print_message ("%s: %.1f answers a case left time to hold\n", name, (double) n_held / (double) n);
  assert_true (n < 1000 || n_held > (int64_t) n);
}

TEST (test_disturbed)
{
  run_cases ("disturbed", case_disturbed, model_env_number ("CURATOR_TEST_CASES", N_CASES));
}

TEST (test_regular)
{
  run_cases ("regular", case_regular, (model_env_number ("CURATOR_TEST_CASES", N_CASES) + 1) / 2);
}

/* How long a hold lasts into a silence, in milliseconds: docs/java-to-c.md and docs/moving.md say
 * it of these session timeouts, with the heartbeats and the tick that nobody has set. */
static int64_t
lasts_into_silence_ms (int session_ms, bool begins_before_a_beat)
{
  const CuratorLeaseTerms terms = curator_lease_terms (session_ms, 0, 0);
  CuratorLeaseEvidence evidence = { 0 };
  int64_t sent_us = 1;
  for (; sent_us < 20 * terms.period_us; sent_us += terms.period_us) {
    curator_lease_note_answer (&evidence, &terms, sent_us, sent_us);
    assert_true (curator_lease_note_proof (&evidence, &terms, sent_us, sent_us));
  }
  /* The next one would have been sent now. */
  const int64_t silent_us = begins_before_a_beat ? sent_us : sent_us - terms.period_us;
  return (curator_lease_deadline (&evidence, &terms) - silent_us) / 1000;
}

TEST (test_silence_as_documented)
{
  static const struct
  {
    int session_ms;
    int shortest_ms;
    int longest_ms;
    int outage_ms; /* (T - 2 s) / 1.8 */
  } said[] = { { 8000, 3500, 4800, 3333 }, { 60000, 32000, 42000, 32222 } };
  for (unsigned i = 0; i < sizeof said / sizeof said[0]; i++) {
    const int64_t shortest_ms = lasts_into_silence_ms (said[i].session_ms, true);
    const int64_t longest_ms = lasts_into_silence_ms (said[i].session_ms, false);
    const int rounded_ms = said[i].session_ms / 100;
    assert_in_range (shortest_ms, said[i].shortest_ms - rounded_ms,
                     said[i].shortest_ms + rounded_ms);
    assert_in_range (longest_ms, said[i].longest_ms - rounded_ms, said[i].longest_ms + rounded_ms);
    assert_true (shortest_ms >= said[i].outage_ms);
  }
}

SUITE ("lease math", NULL, NULL)
