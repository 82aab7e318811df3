/* Sessions that end at once, one after the other: the pause before the next one, and what ends it.
 *
 * Varied are how many there were, how long a session may last, and who names other servers
 * meanwhile.
 */
#include "sim_machine.h"
#include "support/suite.h"

#define N_SCHEDULES 10
#define ELSEWHERE   "127.0.0.2:2181"
/* As many bring the longest pause. */
#define MANY 8
/* The longest pause, and time to connect. */
#define LONG_MS 7000
/* Without a pause, or after the shortest. */
#define SOON_MS 1000
#define CONFIG  "server.1=127.0.0.2:2888:3888:participant;" ELSEWHERE "\nversion=100000000"

static SimWorld *
world_new (guint32 seed)
{
  SimConfig config;

  sim_config_calm (&config);
  config.tick_ms = 200;
  return sim_world_new (seed, &config);
}

static Machine *
machine_with_timeouts (SimWorld *world, int session_ms, int connection_ms)
{
  Machine *machine = machine_new_latent (world, "A", NULL);

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

static gboolean
is_lost (Machine *machine)
{
  return curator_client_get_connection_state (machine->client) == CURATOR_CONNECTION_STATE_LOST;
}

/* FALSE: not within that time. */
static gboolean
run_until (Machine *machine, gboolean (*is_so) (Machine *machine), int within_ms)
{
  for (int ms = 0; ms < within_ms && !is_so (machine); ms++)
    sim_world_run_for (machine->world, 1);
  return is_so (machine);
}

static gboolean
connects (Machine *machine, int within_ms)
{
  return run_until (machine, is_connected, within_ms);
}

static void
end_session (Machine *machine)
{
  sim_world_strike (machine->world, SIM_FAULT_EXPIRE, machine->process, 0);
  assert_true (run_until (machine, is_lost, LONG_MS));
}

static void
end_sessions (Machine *machine, int n)
{
  for (int i = 0; i < n; i++)
    {
      assert_true (connects (machine, LONG_MS));
      end_session (machine);
    }
}

static void
finish (Machine *machine)
{
  SimWorld *world = machine->world;

  machine_free (machine);
  assert_false (sim_world_failed (world));
  sim_world_free (world);
}

/* The time of a session does not pass during the pause before it, however short it is. */
TEST (test_client_connects_again)
{
  static const int timeouts[][2] = {
    { 400, 100 }, { 1000, 500 }, { 2000, 4000 }, { 30000, 15000 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (timeouts); i++)
    {
      for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
        {
          Machine *machine =
              machine_with_timeouts (world_new (seed), timeouts[i][0], timeouts[i][1]);
          assert_true (curator_client_start (machine->client, NULL));
          end_sessions (machine, 1 + (int) seed);
          assert_true (connects (machine, LONG_MS));
          finish (machine);
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
  Machine *machine = machine_with_timeouts (world_new (seed), 6000, 4000);

  curator_client_set_follow_configuration (machine->client, teller == BY_CONFIGURATION);
  assert_true (curator_client_start (machine->client, NULL));
  end_sessions (machine, MANY);
  if (teller == BY_PROGRAM)
    {
      assert_true (curator_client_update_servers (machine->client, ELSEWHERE, NULL));
    }
  else if (teller == BY_CONFIGURATION)
    {
      assert_true (connects (machine, LONG_MS));
      assert_true (sim_world_put (machine->world, "/zookeeper", "", 0));
      assert_true (sim_world_put (machine->world, "/zookeeper/config", CONFIG, 0));
      end_session (machine);
      /* It is read by the next session. */
      assert_true (connects (machine, LONG_MS));
      sim_world_run_for (machine->world, SOON_MS / 2);
      end_session (machine);
    }
  assert_int_equal (connects (machine, SOON_MS), teller != BY_NOBODY);
  assert_true (connects (machine, LONG_MS));
  finish (machine);
}

TEST (test_other_servers_end_the_pause)
{
  for (Teller teller = BY_NOBODY; teller < N_TELLERS; teller++)
    for (guint32 seed = 0; seed < N_SCHEDULES; seed++)
      check_pause (seed, teller);
}

SIM_SUITE ("test_sim_short_sessions")
