/* Sessions that end at once, one after the other: the pause before the next one, and what ends it.
 *
 * Varied are how many there were, how long a session may last, and who names other servers
 * meanwhile.
 */
#include "sim_machine.h"

#define N_SCHEDULES 10
#define ELSEWHERE   "127.0.0.2:2181"
/* As many bring the longest pause. */
#define MANY 8
/* The longest pause, and time to connect. */
#define LONG_MS 7000
/* Without a pause, or after the shortest. */
#define SOON_MS 1000
#define CONFIG  "server.1=127.0.0.2:2888:3888:participant;" ELSEWHERE "\nversion=100000000"

static Machine *
machine_new_brief (SimWorld *world, int session_ms, int connection_ms)
{
  Machine *machine = machine_new_latent (world, "A", curator_retry_policy_new_forever (100));

  world->config.tick_ms = 200;
  curator_client_set_session_timeout (machine->client, session_ms);
  curator_client_set_connection_timeout (machine->client, connection_ms);
  return machine;
}

static gboolean
is_connected (Machine *machine)
{
  const CuratorConnectionState state = curator_client_get_connection_state (machine->client);
  return state == CURATOR_CONNECTION_STATE_CONNECTED
         || state == CURATOR_CONNECTION_STATE_RECONNECTED;
}

/* FALSE: not within that time. */
static gboolean
connects (Machine *machine, int within_ms)
{
  RUN_UNTIL (machine->world, is_connected (machine), within_ms);
  return is_connected (machine);
}

static void
end_session (Machine *machine)
{
  assert_true (connects (machine, LONG_MS));
  sim_world_strike (machine->world, SIM_FAULT_EXPIRE, machine->process, 0);
  RUN_UNTIL (machine->world,
             curator_client_get_connection_state (machine->client) == CURATOR_CONNECTION_STATE_LOST,
             LONG_MS);
  assert_int_equal (curator_client_get_connection_state (machine->client),
                    CURATOR_CONNECTION_STATE_LOST);
}

/* The time of a session does not pass during the pause before it, however short it is. */
TEST (test_client_connects_again)
{
  static const int timeouts[][2] = {
    { 400, 100 }, { 1000, 500 }, { 2000, 4000 }, { 30000, 15000 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (timeouts); i++) {
    for (guint32 seed = 0; seed < N_SCHEDULES; seed++) {
      GOOD_WORLD world = sim_world_new_calm (seed, 3);
      g_autoptr (Machine) machine = machine_new_brief (world, timeouts[i][0], timeouts[i][1]);
      assert_true (curator_client_start (machine->client, NULL));
      for (guint32 n = 0; n <= seed; n++)
        end_session (machine);
      assert_true (connects (machine, LONG_MS));
    }
  }
}

/* What tells the client of other servers during a pause, or just before one. */
typedef enum
{
  BY_NOBODY,
  BY_PROGRAM,
  BY_CONFIGURATION,
  N_TELLERS
} Teller;

static void
check_pause (guint32 seed, Teller teller)
{
  GOOD_WORLD world = sim_world_new_calm (seed, 3);
  g_autoptr (Machine) machine = machine_new_brief (world, 6000, 4000);

  curator_client_set_follow_configuration (machine->client, teller == BY_CONFIGURATION);
  assert_true (curator_client_start (machine->client, NULL));
  for (int n = 0; n < MANY; n++)
    end_session (machine);
  if (teller == BY_PROGRAM) {
    assert_true (curator_client_update_servers (machine->client, ELSEWHERE, NULL));
  } else if (teller == BY_CONFIGURATION) {
    assert_true (connects (machine, LONG_MS));
    assert_true (sim_world_put (world, "/zookeeper", "", 0));
    assert_true (sim_world_put (world, "/zookeeper/config", CONFIG, 0));
    end_session (machine);
    /* It is read by the next session. */
    assert_true (connects (machine, LONG_MS));
    sim_world_run_for (world, SOON_MS / 2);
    end_session (machine);
  }
  assert_int_equal (connects (machine, SOON_MS), teller != BY_NOBODY);
  assert_true (connects (machine, LONG_MS));
}

TEST (test_other_servers_end_the_pause)
{
  for (Teller teller = BY_NOBODY; teller < N_TELLERS; teller++)
    for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
      check_pause (seed, teller);
}

SIM_SUITE ("test_sim_short_sessions")
