/* While all is well, the lease clock keeps every hold, and grants every free lock.
 *
 * A client with a healthy connection sends what heartbeat.c and attempt_end.c send; what it knows
 * is lease_math.c's. CURATOR_TEST_SEED=S CURATOR_TEST_CASES=1 replays the case with the seed S.
 */
#include "base/lease_math.h"
#include "unit/lease_model.h"

#define N_CASES       3000
#define MAX_N_READERS 4

typedef struct
{
  int timeout_ms;
  int tick_ms; /* 0: not set */
  int heartbeat_ms;
  int n_readers;
  int64_t trip_us; /* an answer takes half of it or more */
  bool is_adopted; /* a handle of the program's: nobody knows when it was connected */
} Setup;

typedef struct
{
  ModelRand rand;
  Setup setup;
  CuratorLeaseTerms terms;
  CuratorLeaseEvidence evidence;
  int64_t start_us;
  int64_t now_us;
  /* Of the requests in flight; MODEL_NEVER if there is none. */
  int64_t beat_sent_us, beat_answer_us, beat_due_us;
  int64_t read_sent_us[MAX_N_READERS], read_answer_us[MAX_N_READERS];
} Client;

static int64_t
trip_us (Client *client)
{
  return client->setup.trip_us / 2 + model_rand_upto (&client->rand, client->setup.trip_us / 2);
}

static void
client_begin (Client *client)
{
  const Setup *setup = &client->setup;
  client->terms = curator_lease_terms (setup->timeout_ms, setup->tick_ms, setup->heartbeat_ms);
  client->start_us = 1 + model_rand_upto (&client->rand, INT64_C (1) << 40);
  if (!setup->is_adopted)
    curator_lease_note_leader (&client->evidence, client->start_us);
  client->now_us = client->start_us + trip_us (client);
  client->beat_answer_us = client->beat_due_us = MODEL_NEVER;
  for (int i = 0; i < MAX_N_READERS; i++) {
    client->read_sent_us[i] = client->now_us;
    client->read_answer_us[i] =
        i < setup->n_readers ? client->now_us + trip_us (client) : MODEL_NEVER;
  }
}

/* --- heartbeat.c --- */

static void
beat_send (Client *client)
{
  client->beat_due_us = MODEL_NEVER;
  client->beat_sent_us = client->now_us;
  client->beat_answer_us = client->now_us + trip_us (client);
}

static void
on_beat (Client *client)
{
  const CuratorLeaseTerms *terms = &client->terms;
  CuratorLeaseEvidence *evidence = &client->evidence;
  curator_lease_note_answer (evidence, terms, client->beat_sent_us, client->now_us);
  curator_lease_note_proof (evidence, terms, client->beat_sent_us, client->now_us);
  client->beat_answer_us = MODEL_NEVER;
  const int64_t age_us =
      model_least (curator_lease_proof_age (evidence, client->now_us), terms->period_us);
  const int64_t pause_us =
      curator_lease_is_bound_by_leader (evidence, terms)
          ? model_most (curator_lease_until_told (evidence, terms, client->now_us),
                        terms->period_us / 5)
          : model_most (terms->period_us - age_us, terms->period_us / 2);
  client->beat_due_us = client->now_us + model_least (pause_us, terms->period_us);
}

/* --- a program that reads --- */

static void
on_read (Client *client, int reader)
{
  curator_lease_note_answer (&client->evidence, &client->terms, client->read_sent_us[reader],
                             client->now_us);
  /* Some thousand reads for each session timeout are as good as a million. */
  const int64_t least_us = client->terms.session_us / 3000;
  client->read_sent_us[reader] = client->now_us;
  client->read_answer_us[reader] = client->now_us + model_most (trip_us (client), least_us);
}

static int64_t
next_event_us (const Client *client)
{
  int64_t next_us = model_least (client->beat_answer_us, client->beat_due_us);
  for (int i = 0; i < client->setup.n_readers; i++)
    next_us = model_least (next_us, client->read_answer_us[i]);
  return next_us;
}

static void
handle_event (Client *client)
{
  for (int i = 0; i < client->setup.n_readers; i++) {
    if (client->read_answer_us[i] <= client->now_us) {
      on_read (client, i);
      return;
    }
  }
  if (client->beat_answer_us <= client->now_us)
    on_beat (client);
  else
    beat_send (client);
}

/* --- what must be true --- */

static const char *
fault_in_hold (const Client *client, bool just_proven)
{
  const CuratorLeaseEvidence *evidence = &client->evidence;
  const CuratorLeaseTerms *terms = &client->terms;
  if (curator_lease_deadline (evidence, terms) <= client->now_us)
    return "a healthy hold is lost";
  if (curator_lease_until_suspect (evidence, terms, client->now_us) <= 0)
    return "a healthy hold is suspect";
  /* With longer intervals, only for some time after each heartbeat. */
  if ((just_proven || terms->period_us <= terms->session_us / 6)
      && !curator_lease_is_fresh (evidence, terms, client->now_us))
    return "the evidence of a healthy session is not fresh";
  return NULL;
}

/* In so long a lock is granted to a session of which the servers may have told nothing so far: half
 * a tick, late pings, and some trips. */
static int64_t
patience_us (const Client *client)
{
  const CuratorLeaseTerms *terms = &client->terms;
  return (terms->half_tick_us + terms->session_us / 30) * 3 / 2 + 4 * client->setup.trip_us + 10000;
}

/* A lock is granted soon after connecting, and held. */
static const char *
hold (Client *client)
{
  client_begin (client);
  beat_send (client);
  const int64_t end_us = client->start_us + client->terms.session_us * 14 / 10;
  const int64_t granted_us =
      client->now_us + (client->setup.is_adopted ? patience_us (client) : client->setup.trip_us);
  while (client->now_us < end_us) {
    client->now_us = next_event_us (client);
    const int64_t proof_us = client->evidence.proof_us;
    const char *fault = client->now_us > granted_us ? fault_in_hold (client, false) : NULL;
    if (fault != NULL)
      return fault;
    handle_event (client);
    const bool just_proven = client->evidence.proof_us > proof_us;
    fault = client->now_us > granted_us ? fault_in_hold (client, just_proven) : NULL;
    if (fault != NULL)
      return fault;
  }
  return NULL;
}

/* The client only reads, or sends nothing but what a silent session sends; then it locks. */
static const char *
lock_after_reading (Client *client)
{
  CuratorLeaseEvidence *evidence = &client->evidence;
  const CuratorLeaseTerms *terms = &client->terms;
  client_begin (client);
  const int64_t end_us = client->start_us + model_rand_upto (&client->rand, terms->session_us * 2);
  while (client->now_us < end_us) {
    if (client->setup.n_readers == 0) {
      const int64_t sent_us = client->now_us;
      curator_lease_note_answer (evidence, terms, sent_us, sent_us + trip_us (client));
      client->now_us += terms->session_us / 4;
      continue;
    }
    client->now_us = next_event_us (client);
    handle_event (client);
  }
  client->now_us = model_most (client->now_us, end_us + client->setup.trip_us);
  const int64_t asked_us = client->now_us;
  for (int i = 0; i < 10; i++) {
    const int64_t sent_us = client->now_us;
    client->now_us += trip_us (client);
    curator_lease_note_answer (evidence, terms, sent_us, client->now_us);
    curator_lease_note_proof (evidence, terms, sent_us, client->now_us);
    if (curator_lease_is_fresh (evidence, terms, client->now_us)) {
      return client->now_us - asked_us <= patience_us (client) ? NULL
                                                               : "a free lock is granted late";
    }
    const int64_t wait_us = curator_lease_until_fresh (evidence, terms, client->now_us);
    if (wait_us <= 0)
      return "a free lock is refused";
    client->now_us += wait_us;
  }
  return "a free lock is not granted";
}

/* --- a server goes away, and others serve --- */

#define DIAL_US   250000 /* of channel/patience.h, for an address that is away */
#define LOOKS_US  75000  /* heartbeat.c looks twice, and the thread of a channel once */
#define RESEND_US 250000

/* Goes on until the server goes away, in whatever state the client is. */
static void
be_healthy (Client *client, int64_t until_us)
{
  while (next_event_us (client) < until_us) {
    client->now_us = next_event_us (client);
    handle_event (client);
  }
}

/* When the client leaves it. Its host is off, or it acknowledges and does not answer. */
static int64_t
left_us (Client *client, bool is_off, int64_t dial_us)
{
  const CuratorLeaseTerms *terms = &client->terms;
  if (client->beat_due_us < MODEL_NEVER) {
    client->now_us = client->beat_due_us;
    client->beat_sent_us = client->now_us;
  }
  const int64_t left_us = curator_lease_deadline (&client->evidence, terms) - client->beat_sent_us
                          - dial_us - model_rand_upto (&client->rand, terms->session_us / 20);
  return client->beat_sent_us
         + (is_off ? curator_lease_unacked_us (terms->session_us, RESEND_US)
                   : curator_lease_silence_us (terms, left_us) + LOOKS_US);
}

static const char *
outlive_server (Client *client, int n_away, bool is_off)
{
  const CuratorLeaseTerms *terms = &client->terms;
  const int64_t dial_us = n_away * DIAL_US;
  client_begin (client);
  beat_send (client);
  const int64_t away_us =
      client->now_us + terms->session_us + model_rand_upto (&client->rand, terms->session_us);
  be_healthy (client, away_us);
  client->now_us = model_most (left_us (client, is_off, dial_us), away_us) + dial_us;
  /* The first request behind the reconnect. */
  const int64_t sent_us = client->now_us + trip_us (client);
  client->now_us = sent_us + trip_us (client);
  if (client->now_us >= curator_lease_deadline (&client->evidence, terms))
    return "a hold is lost with its server";
  curator_lease_note_proof (&client->evidence, terms, sent_us, client->now_us);
  return client->evidence.proof_us == sent_us ? NULL : "the other server proves nothing";
}

static const char *
run_case (const char *name, const char *(*run) (Client *), const Setup *setup, uint64_t seed)
{
  Client client = { .rand = { seed }, .setup = *setup };
  const char *fault = run (&client);
  if (fault != NULL) {
    print_error ("--- %s: %s after %" PRId64 " us: timeout %d ms, tick %d ms, heartbeat %d ms, %d "
                 "readers, round trip %" PRId64 " us%s: CURATOR_TEST_SEED=%" PRIu64
                 " CURATOR_TEST_CASES=1\n",
                 name, fault, client.now_us - client.start_us, setup->timeout_ms, setup->tick_ms,
                 setup->heartbeat_ms, setup->n_readers, setup->trip_us,
                 setup->is_adopted ? ", adopted" : "", seed);
  }
  return fault;
}

static Setup
any_setup (ModelRand *rand)
{
  static const int timeouts[] = { 2000,  4000,  6000,  10000, 15000,  20000,
                                  30000, 40000, 60000, 90000, 120000, 300000 };
  static const int ticks[] = { 0, 50, 100, 250, 500, 1000, 2000, 4000 };
  static const int heartbeats[] = { 0, 0, 5, 20, 50, 130, 250, 1000, 5000, 30000 };
  static const int64_t trips[] = { 200, 2000, 20000, 100000, 1000000 };
  Setup setup;
  CuratorLeaseTerms terms;
  do {
    setup.timeout_ms = model_rand_chance (rand, 50) ? timeouts[model_rand_upto (rand, 11)]
                                                    : 2000 + (int) model_rand_upto (rand, 118000);
    setup.tick_ms = ticks[model_rand_upto (rand, 7)];
    setup.heartbeat_ms = heartbeats[model_rand_upto (rand, 9)];
    terms = curator_lease_terms (setup.timeout_ms, setup.tick_ms, setup.heartbeat_ms);
  } while (setup.tick_ms * 2 > setup.timeout_ms || curator_lease_terms_are_too_short (&terms));
  setup.is_adopted = model_rand_chance (rand, 30);
  setup.n_readers = (int) model_rand_upto (rand, 2) * 2;
  /* A healthy connection answers within half of what still counts. */
  setup.trip_us = model_least (trips[model_rand_upto (rand, 4)], terms.session_us / 20);
  return setup;
}

static void
run_cases (const char *name, const char *(*run) (Client *), uint64_t n)
{
  const uint64_t first = model_first_seed (name, n);
  for (uint64_t i = 0; i < n; i++) {
    ModelRand rand = { first + i };
    const Setup setup = any_setup (&rand);
    assert_null (run_case (name, run, &setup, first + i));
  }
}

TEST (test_holds_are_kept)
{
  run_cases ("hold", hold, model_env_number ("CURATOR_TEST_CASES", N_CASES));
}

TEST (test_free_locks_are_granted)
{
  run_cases ("lock", lock_after_reading, model_env_number ("CURATOR_TEST_CASES", 10 * N_CASES));
}

/* Every session timeout from 6 s on, ticks up to that of the sample configuration, and lists of up to
 * seven hosts, of which all that may be away come first. */
TEST (test_holds_outlive_their_server)
{
  static const int ticks[] = { 0, 50, 100, 250, 500, 1000, 1500, 2000 };
  ModelRand rand = { model_first_seed ("outlive", 1) };

  for (int timeout_ms = 6000; timeout_ms <= 120000; timeout_ms += timeout_ms / 60) {
    for (gsize i = 0; i < G_N_ELEMENTS (ticks); i++) {
      for (int n_away = 1; n_away <= 3; n_away++) {
        const Setup setup = { .timeout_ms = timeout_ms,
                              .tick_ms = ticks[i],
                              .n_readers = 0,
                              .trip_us = (int64_t) timeout_ms * 20 };
        const CuratorLeaseTerms terms = curator_lease_terms (timeout_ms, ticks[i], 0);
        assert_true (curator_lease_outlives_server (&terms, n_away * DIAL_US));
        for (int phase = 0; phase < 20; phase++) {
          Client client = { .rand = { model_rand_next (&rand) }, .setup = setup };
          const char *fault = outlive_server (&client, n_away, phase % 2 == 0);
          if (fault != NULL)
            fail_msg ("%s: T = %d ms, tick %d ms, %d hosts away, %s", fault, timeout_ms, ticks[i],
                      n_away, phase % 2 == 0 ? "off" : "silent");
        }
      }
    }
  }
}

/* What the library says it can do, it can: with any session timeout, tick and interval. */
TEST (test_promised_to_outlive)
{
  ModelRand rand = { model_first_seed ("promised", 1) };
  guint n_promised = 0;

  for (guint64 i = 0; i < model_env_number ("CURATOR_TEST_CASES", 10 * N_CASES); i++) {
    Setup setup = any_setup (&rand);
    const int n_away = (int) model_rand_upto (&rand, 4);
    const CuratorLeaseTerms terms =
        curator_lease_terms (setup.timeout_ms, setup.tick_ms, setup.heartbeat_ms);
    setup.n_readers = 0;
    if (!curator_lease_outlives_server (&terms, n_away * DIAL_US))
      continue;
    n_promised++;
    Client client = { .rand = { model_rand_next (&rand) }, .setup = setup };
    const char *fault = outlive_server (&client, n_away, model_rand_chance (&rand, 50));
    if (fault != NULL)
      fail_msg ("%s: T = %d ms, tick %d ms, heartbeat %d ms, %d hosts away", fault,
                setup.timeout_ms, setup.tick_ms, setup.heartbeat_ms, n_away);
  }
  assert_true (n_promised > 0);
}

/* Many ticks to a session timeout, and round trips longer than the heartbeat interval. */
TEST (test_corners)
{
  static const Setup corners[] = {
    { 120000, 2000, 250, 0, 2000, false }, { 60000, 1000, 130, 0, 2000, false },
    { 40000, 250, 0, 4, 2000, false },     { 10000, 2000, 5, 0, 20000, false },
    { 40000, 2000, 5, 0, 20000, true },    { 4000, 2000, 5, 0, 200000, false },
    { 300000, 50, 0, 4, 200, false },      { 120000, 2000, 250, 4, 20000, true },
    { 10000, 0, 0, 0, 2000, true },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (corners); i++) {
    for (uint64_t seed = 0; seed < 10; seed++) {
      assert_null (run_case ("corner", hold, &corners[i], seed));
      assert_null (run_case ("corner", lock_after_reading, &corners[i], seed));
    }
  }
}

SUITE ("lease math liveness", NULL, NULL)
