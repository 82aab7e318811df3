#include "chaos_faults.h"

#include "support/waiting.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define HEAL_MS 120000

typedef enum
{
  LEADER_FROZEN,
  FOLLOWER_FROZEN,
  LEADER_KILLED,
  FOLLOWER_KILLED,
  FOLLOWER_SILENT,
  FOLLOWER_REFUSED,
  FOLLOWER_MUTE,
  LEADER_SILENT,
  LEADER_DEPOSED,
  MEMBERS_SLOW,
  N_SERVER_FAULTS
} ServerFault;

typedef enum
{
  CLIENT_KILLED,
  CLIENT_STOPPED,
  PATH_SILENT,
  PATH_SILENT_TO_SERVER,
  PATH_SILENT_TO_CLIENT,
  PATH_REFUSED,
  PATH_CUT,
  PATH_SLOW,
  N_CLIENT_FAULTS
} ClientFault;

static const char *const server_names[N_SERVER_FAULTS] = {
  "leader frozen",    "follower frozen", "leader killed", "follower killed", "follower silent",
  "follower refused", "follower mute",   "leader silent", "leader deposed",  "members slow"
};
static const char *const client_names[N_CLIENT_FAULTS] = {
  "client killed",         "client stopped", "path silent", "path silent to server",
  "path silent to client", "path refused",   "path cut",    "path slow"
};

/* The faults that a round has begun and must end. */
typedef struct
{
  gboolean at_servers;
  ServerFault server_fault;
  int member;
  gboolean at_client[CHAOS_WORKERS];
  ClientFault client_fault[CHAOS_WORKERS];
  guint noted; /* index of its first fault */
} Round;

static void
note_fault (ChaosScene *scene, ChaosFaultKind kind, int process)
{
  const ChaosFault fault = { kind, process, wait_now_ns (), G_MAXINT64 };
  g_array_append_val (scene->faults, fault);
}

static void
print_fault (ChaosScene *scene, const char *name, int who)
{
  if (scene->verbose)
    {
      g_print ("  %s (%d)\n", name, who);
    }
}

static void
begin_at_servers (ChaosScene *scene, Round *round)
{
  ZkLinks *links = zk_ensemble_links (scene->ensemble);
  const int leader = MAX (zk_ensemble_leader (scene->ensemble), 0);
  const int follower = (leader + g_rand_int_range (scene->rand, 1, 3)) % 3;
  const int delay_ms = g_rand_int_range (scene->rand, 5, 150);
  round->at_servers = TRUE;
  round->server_fault = (ServerFault) g_rand_int_range (scene->rand, 0, N_SERVER_FAULTS);
  const gboolean leads =
      round->server_fault == LEADER_FROZEN || round->server_fault == LEADER_KILLED;
  round->member = leads ? leader : follower;
  note_fault (scene, CHAOS_AT_SERVERS, 0);
  print_fault (scene, server_names[round->server_fault], round->member);
  switch (round->server_fault)
    {
    case LEADER_FROZEN:
    case FOLLOWER_FROZEN:
      zk_server_freeze (zk_ensemble_server (scene->ensemble, round->member));
      break;
    case LEADER_KILLED:
    case FOLLOWER_KILLED:
      zk_server_kill (zk_ensemble_server (scene->ensemble, round->member));
      break;
    case FOLLOWER_SILENT:
      zk_links_set_all (links, follower, PROXY_HOLE);
      break;
    case FOLLOWER_REFUSED:
      zk_links_set_all (links, follower, PROXY_REFUSE);
      break;
    case FOLLOWER_MUTE:
      zk_links_mute (links, follower, leader);
      break;
    case LEADER_SILENT:
      zk_links_set_all (links, leader, PROXY_HOLE);
      break;
    case LEADER_DEPOSED:
      zk_links_depose (links, leader);
      break;
    case MEMBERS_SLOW:
    case N_SERVER_FAULTS:
    default:
      zk_links_delay (links, 0, 1, delay_ms);
      zk_links_delay (links, 0, 2, delay_ms);
      zk_links_delay (links, 1, 2, delay_ms);
      break;
    }
}

static gboolean
end_at_servers (ChaosScene *scene, const Round *round)
{
  ZkServer *server = zk_ensemble_server (scene->ensemble, round->member);
  if (round->server_fault == LEADER_FROZEN || round->server_fault == FOLLOWER_FROZEN)
    {
      zk_server_thaw (server);
    }
  if (round->server_fault == LEADER_KILLED || round->server_fault == FOLLOWER_KILLED)
    {
      zk_server_relaunch (server);
    }
  zk_links_heal (zk_ensemble_links (scene->ensemble));
  return zk_ensemble_wait_whole (scene->ensemble, HEAL_MS);
}

static void
set_path (ChaosSlot *slot, ProxyMode mode, int delay_ms)
{
  for (int i = 0; i < 3; i++)
    {
      proxy_set_delay (slot->proxies[i], delay_ms, delay_ms);
      proxy_set_mode (slot->proxies[i], mode);
    }
}

static void
stop_process (pid_t pid)
{
  int status;
  kill (pid, SIGSTOP);
  while (waitpid (pid, &status, WUNTRACED) < 0 && errno == EINTR)
    {
    }
}

static void
begin_at_client (ChaosScene *scene, Round *round, int i)
{
  ChaosSlot *slot = &scene->slots[i];
  const int delay_ms = g_rand_int_range (scene->rand, 10, 500);
  const ClientFault fault = (ClientFault) g_rand_int_range (scene->rand, 0, N_CLIENT_FAULTS);
  round->at_client[i] = TRUE;
  round->client_fault[i] = fault;
  print_fault (scene, client_names[fault], slot->process);
  switch (fault)
    {
    case CLIENT_KILLED:
      note_fault (scene, CHAOS_KILLED, slot->process);
      scene->replace (scene->data, i);
      break;
    case CLIENT_STOPPED:
      note_fault (scene, CHAOS_STOPPED, slot->process);
      stop_process (slot->pid);
      break;
    case PATH_SILENT:
    case PATH_SILENT_TO_SERVER:
    case PATH_SILENT_TO_CLIENT:
      note_fault (scene, CHAOS_PATH_SILENT, slot->process);
      set_path (slot,
                fault == PATH_SILENT             ? PROXY_HOLE
                : fault == PATH_SILENT_TO_SERVER ? PROXY_HOLE_TO_SERVER
                                                 : PROXY_HOLE_TO_CLIENT,
                0);
      break;
    case PATH_REFUSED:
      note_fault (scene, CHAOS_PATH_BAD, slot->process);
      set_path (slot, PROXY_REFUSE, 0);
      break;
    case PATH_CUT:
      note_fault (scene, CHAOS_PATH_BAD, slot->process);
      for (int p = 0; p < 3; p++)
        {
          proxy_cut (slot->proxies[p]);
        }
      break;
    case PATH_SLOW:
    case N_CLIENT_FAULTS:
    default:
      note_fault (scene, CHAOS_PATH_BAD, slot->process);
      set_path (slot, PROXY_PASS, delay_ms);
      break;
    }
}

static void
end_at_client (ChaosScene *scene, const Round *round, int i)
{
  ChaosSlot *slot = &scene->slots[i];
  if (round->client_fault[i] == CLIENT_STOPPED)
    {
      kill (slot->pid, SIGCONT);
    }
  set_path (slot, PROXY_PASS, 0);
}

static void
begin (ChaosScene *scene, Round *round)
{
  const int n_clients = g_rand_int_range (scene->rand, 1, 4);
  if (g_rand_int_range (scene->rand, 0, 100) < 50)
    {
      begin_at_servers (scene, round);
    }
  for (int n = 0; n < n_clients; n++)
    {
      const int i = g_rand_int_range (scene->rand, 0, CHAOS_WORKERS);
      if (!round->at_client[i])
        {
          begin_at_client (scene, round, i);
        }
    }
}

gboolean
chaos_round (ChaosScene *scene)
{
  Round round = { .noted = scene->faults->len };
  gboolean whole = TRUE;
  begin (scene, &round);
  wait_ms (g_rand_int_range (scene->rand, 300, 6000));
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      if (round.at_client[i])
        {
          end_at_client (scene, &round, i);
        }
    }
  if (round.at_servers)
    {
      whole = end_at_servers (scene, &round);
    }
  for (guint i = round.noted; i < scene->faults->len; i++)
    {
      g_array_index (scene->faults, ChaosFault, i).to_ns = wait_now_ns ();
    }
  wait_ms (g_rand_int_range (scene->rand, 200, 2000));
  return whole;
}
