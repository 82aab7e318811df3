#include "chaos_faults.h"

#include "chaos_servers.h"
#include "support/net.h"
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
  MACHINE_ASLEEP,
  MEMBER_CHANGED,
  SERVERS_MOVED,
  SERVERS_HOSTILE,
  N_CLIENT_FAULTS
} ClientFault;

/* Bits of the kinds that a round's choice is among. */
#define SERVER_KINDS (1U << CHAOS_KIND_ROLLING | 1U << CHAOS_KIND_RECONFIG | 1U << CHAOS_KIND_DISK)
#define NAME_KINDS   (1U << CHAOS_KIND_MOVES | 1U << CHAOS_KIND_HOSTILE)
#define CLIENT_KINDS                                                                               \
  (1U << CHAOS_KIND_PATHS | 1U << CHAOS_KIND_PROCESSES | 1U << CHAOS_KIND_SLEEP                    \
   | 1U << CHAOS_KIND_SESSIONS | NAME_KINDS)

static const char *const server_names[N_SERVER_FAULTS] = {
  "leader frozen",    "follower frozen", "leader killed", "follower killed", "follower silent",
  "follower refused", "follower mute",   "leader silent", "leader deposed",  "members slow"
};
static const char *const client_names[N_CLIENT_FAULTS] = {
  "client killed",         "client stopped", "path silent",   "path silent to server",
  "path silent to client", "path refused",   "path cut",      "path slow",
  "machine asleep",        "member changed", "servers moved", "hostile host"
};

/* The faults that a round has begun and must end. */
typedef struct
{
  ChaosKind server_kind; /* CHAOS_KINDS: none */
  guint third_kinds;     /* bits */
  ServerFault server_fault;
  int member;
  gboolean at_client[CHAOS_WORKERS];
  gint64 stopped_ns[CHAOS_WORKERS];
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
    g_print ("  %s (%d)\n", name, who);
}

static void
begin_server_fault (ChaosScene *scene, Round *round)
{
  ZkLinks *links = zk_ensemble_links (scene->ensemble);
  const int leader = MAX (zk_ensemble_leader (scene->ensemble), 0);
  const int follower = (leader + g_rand_int_range (scene->rand, 1, 3)) % 3;
  const int delay_ms = g_rand_int_range (scene->rand, 5, 150);
  /* The first four need no links. */
  round->server_fault = (ServerFault) g_rand_int_range (
      scene->rand, 0, links != NULL ? N_SERVER_FAULTS : FOLLOWER_KILLED + 1);
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
end_server_fault (ChaosScene *scene, const Round *round)
{
  ZkServer *server = zk_ensemble_server (scene->ensemble, round->member);
  if (round->server_fault == LEADER_FROZEN || round->server_fault == FOLLOWER_FROZEN)
    zk_server_thaw (server);
  if (round->server_fault == LEADER_KILLED || round->server_fault == FOLLOWER_KILLED)
    zk_server_relaunch (server);
  if (zk_ensemble_links (scene->ensemble) != NULL)
    zk_links_heal (zk_ensemble_links (scene->ensemble));
  return TRUE;
}

static void
begin_at_servers (ChaosScene *scene, Round *round)
{
  const guint changes =
      scene->setup.reconfig ? SERVER_KINDS : SERVER_KINDS & ~(1U << CHAOS_KIND_RECONFIG);
  const gboolean fails = g_rand_boolean (scene->rand);
  round->server_kind = chaos_kinds_pick_rarest (&scene->kinds, changes);
  if (chaos_kinds_has (&scene->kinds, CHAOS_KIND_SERVERS)
      && (fails || round->server_kind == CHAOS_KINDS))
    round->server_kind = CHAOS_KIND_SERVERS;
  switch ((int) round->server_kind)
    {
    case CHAOS_KIND_SERVERS:
      chaos_kinds_count (&scene->kinds, CHAOS_KIND_SERVERS);
      begin_server_fault (scene, round);
      break;
    case CHAOS_KIND_DISK:
      round->member = g_rand_int_range (scene->rand, 0, 3);
      note_fault (scene, CHAOS_AT_SERVERS, 0);
      print_fault (scene, "disk full", round->member);
      chaos_servers_fill_disk (scene, round->member);
      break;
    case CHAOS_KIND_ROLLING:
    case CHAOS_KIND_RECONFIG:
      note_fault (scene, CHAOS_AT_SERVERS, 0);
      break;
    default:
      break;
    }
}

/* These take their time themselves. */
static gboolean
change_servers (ChaosScene *scene, const Round *round)
{
  if (round->server_kind == CHAOS_KIND_ROLLING)
    {
      print_fault (scene, "another configuration, member by member", 0);
      chaos_kinds_count (&scene->kinds, CHAOS_KIND_ROLLING);
      return chaos_servers_roll (scene);
    }
  if (round->server_kind == CHAOS_KIND_RECONFIG)
    {
      print_fault (scene, "a member leaves and joins", 0);
      chaos_kinds_count (&scene->kinds, CHAOS_KIND_RECONFIG);
      return chaos_servers_reconfig (scene);
    }
  return TRUE;
}

static gboolean
end_at_servers (ChaosScene *scene, const Round *round)
{
  gboolean fine = TRUE;
  if (round->server_kind == CHAOS_KIND_SERVERS)
    fine = end_server_fault (scene, round);
  if (round->server_kind == CHAOS_KIND_DISK)
    fine = chaos_servers_free_disk (scene, round->member);
  return (round->server_kind == CHAOS_KINDS || zk_ensemble_wait_whole (scene->ensemble, HEAL_MS))
         && fine;
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

/* The client reaches only one member now, with another limit of session timeouts. */
static void
change_member (ChaosScene *scene, ChaosSlot *slot)
{
  const int only = g_rand_int_range (scene->rand, 0, 3);
  for (int p = 0; p < 3; p++)
    proxy_set_mode (slot->proxies[p], p == only ? PROXY_PASS : PROXY_REFUSE);
}

guint32
chaos_faults_host (const char *address)
{
  struct sockaddr_in name;
  net_parse (address, &name);
  return name.sin_addr.s_addr;
}

void
chaos_faults_tell_hosts (ChaosSlot *slot)
{
  for (int p = 0; p < 3; p++)
    chaos_cell_set (&slot->names->hosts[p], chaos_faults_host (proxy_address (slot->proxies[p])));
}

/* Some of them, or all. What the resolver says of it may be wrong for a while. */
static void
move_servers (ChaosScene *scene, ChaosSlot *slot)
{
  static const ChaosNamesMode modes[] = { CHAOS_NAMES_RIGHT, CHAOS_NAMES_SEVERAL,
                                          CHAOS_NAMES_UNKNOWN, CHAOS_NAMES_HANG };
  const int mode = g_rand_int_range (scene->rand, 0, G_N_ELEMENTS (modes));
  const int which = g_rand_int_range (scene->rand, 1, 1 << 3);
  chaos_cell_set (&slot->names->mode, modes[mode]);
  for (int p = 0; p < 3; p++)
    {
      if ((which & (1 << p)) != 0)
        {
          proxy_move (slot->proxies[p]);
          slot->accepted_before[p] = proxy_accepted (slot->proxies[p]);
        }
    }
  chaos_faults_tell_hosts (slot);
}

static void
turn_hostile (ChaosSlot *slot)
{
  chaos_cell_set (&slot->names->mode, CHAOS_NAMES_WRONG);
  set_path (slot, PROXY_REFUSE, 0);
}

void
chaos_faults_note_effects (ChaosScene *scene)
{
  const guint served = scene->hostile != NULL ? chaos_hostile_served (scene->hostile) : 0;
  chaos_kinds_add_effects (&scene->kinds, CHAOS_KIND_HOSTILE, served - scene->hostile_counted);
  scene->hostile_counted = served;
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      ChaosSlot *slot = &scene->slots[i];
      chaos_kinds_add_effects (&scene->kinds, CHAOS_KIND_ABSENT,
                               __atomic_exchange_n (&slot->names->dials, 0, __ATOMIC_SEQ_CST));
      for (int p = 0; p < 3; p++)
        {
          if (slot->accepted_before[p] >= 0
              && proxy_accepted (slot->proxies[p]) > slot->accepted_before[p])
            {
              slot->accepted_before[p] = -1;
              chaos_kinds_add_effects (&scene->kinds, CHAOS_KIND_MOVES, 1);
            }
        }
    }
}

static ClientFault
choose_client_fault (ChaosScene *scene, const ChaosSlot *slot)
{
  guint among = CLIENT_KINDS;
  if (!scene->unequal)
    among &= ~(1U << CHAOS_KIND_SESSIONS);
  if (!slot->by_name)
    among &= ~NAME_KINDS;
  const ChaosKind kind = chaos_kinds_pick (&scene->kinds, scene->rand, among);
  const int path = g_rand_int_range (scene->rand, PATH_SILENT, PATH_SLOW + 1);
  const gboolean kill_it = g_rand_boolean (scene->rand);
  if (kind == CHAOS_KINDS)
    return N_CLIENT_FAULTS;
  chaos_kinds_count (&scene->kinds, kind);
  return kind == CHAOS_KIND_PATHS       ? (ClientFault) path
         : kind == CHAOS_KIND_PROCESSES ? (kill_it ? CLIENT_KILLED : CLIENT_STOPPED)
         : kind == CHAOS_KIND_SLEEP     ? MACHINE_ASLEEP
         : kind == CHAOS_KIND_MOVES     ? SERVERS_MOVED
         : kind == CHAOS_KIND_HOSTILE   ? SERVERS_HOSTILE
                                        : MEMBER_CHANGED;
}

static void
begin_at_client (ChaosScene *scene, Round *round, int i)
{
  ChaosSlot *slot = &scene->slots[i];
  const int delay_ms = g_rand_int_range (scene->rand, 10, 500);
  const ClientFault fault = choose_client_fault (scene, slot);
  if (fault == N_CLIENT_FAULTS)
    return;
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
    case MACHINE_ASLEEP:
      note_fault (scene, CHAOS_ASLEEP, slot->process);
      stop_process (slot->pid);
      round->stopped_ns[i] = wait_now_ns ();
      break;
    case MEMBER_CHANGED:
      note_fault (scene, CHAOS_PATH_BAD, slot->process);
      change_member (scene, slot);
      break;
    case SERVERS_MOVED:
      note_fault (scene, CHAOS_PATH_BAD, slot->process);
      move_servers (scene, slot);
      break;
    case SERVERS_HOSTILE:
      note_fault (scene, CHAOS_PATH_BAD, slot->process);
      turn_hostile (slot);
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
        proxy_cut (slot->proxies[p]);
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
  if (round->client_fault[i] == MACHINE_ASLEEP)
    {
      const gint64 slept_ns = wait_now_ns () - round->stopped_ns[i];
      /* Half of the machines are guests, whose other clocks stop, too. That on the wall is set
       * right at once. */
      __atomic_fetch_add (&slot->clocks->stopped_ns, slept_ns % 2 != 0 ? slept_ns : 0,
                          __ATOMIC_SEQ_CST);
      __atomic_fetch_add (&slot->clocks->slept_ns, slept_ns, __ATOMIC_SEQ_CST);
    }
  if (round->client_fault[i] == CLIENT_STOPPED || round->client_fault[i] == MACHINE_ASLEEP)
    kill (slot->pid, SIGCONT);
  chaos_cell_set (&slot->names->mode, CHAOS_NAMES_RIGHT);
  set_path (slot, PROXY_PASS, 0);
}

static void
begin (ChaosScene *scene, Round *round)
{
  const int n_clients = g_rand_int_range (scene->rand, 1, 4);
  round->server_kind = CHAOS_KINDS;
  round->third_kinds = scene->kinds.chosen & CHAOS_THIRD_KINDS & g_rand_int (scene->rand);
  if (g_rand_int_range (scene->rand, 0, 100)
      < (chaos_kinds_has (&scene->kinds, CHAOS_KIND_SERVERS) ? 60 : 100))
    begin_at_servers (scene, round);
  for (int n = 0; n < n_clients; n++)
    {
      const int i = g_rand_int_range (scene->rand, 0, CHAOS_WORKERS);
      if (!round->at_client[i])
        begin_at_client (scene, round, i);
    }
}

static void
note_third (ChaosScene *scene, const Round *round)
{
  if ((round->third_kinds & (1U << CHAOS_KIND_ACL)) != 0)
    note_fault (scene, CHAOS_ACL, 0);
  if ((round->third_kinds & (1U << CHAOS_KIND_QUOTA)) != 0)
    note_fault (scene, CHAOS_QUOTA, 0);
  if (round->third_kinds != 0)
    {
      note_fault (scene, CHAOS_THIRD_PARTY, 0);
      print_fault (scene, "third parties", (int) round->third_kinds);
    }
}

/* Third parties disturb while the other faults last. */
static void
stay (ChaosScene *scene, const Round *round, int ms)
{
  const gint64 until = wait_now_ms () + ms;
  g_autoptr (GRand) rand = g_rand_new_with_seed (g_rand_int (scene->rand));
  while (round->third_kinds != 0 && wait_now_ms () < until)
    {
      ChaosKinds of_round = { .chosen = round->third_kinds };
      chaos_third_disturb (scene->third, chaos_kinds_pick (&of_round, rand, ~0U));
      wait_ms ((int) CLAMP (until - wait_now_ms (), 0, g_rand_int_range (rand, 10, 400)));
    }
  wait_ms ((int) MAX (until - wait_now_ms (), 0));
}

gboolean
chaos_round (ChaosScene *scene)
{
  Round round = { .noted = scene->faults->len };
  chaos_servers_note_sessions (scene);
  chaos_faults_note_effects (scene);
  begin (scene, &round);
  note_third (scene, &round);
  stay (scene, &round, g_rand_int_range (scene->rand, 300, 6000));
  gboolean whole = change_servers (scene, &round);
  chaos_servers_note_sessions (scene);
  for (int i = 0; i < CHAOS_WORKERS; i++)
    if (round.at_client[i])
      end_at_client (scene, &round, i);
  whole = end_at_servers (scene, &round) && whole;
  whole = chaos_third_heal (scene->third, FALSE, HEAL_MS) && whole;
  for (guint i = round.noted; i < scene->faults->len; i++)
    g_array_index (scene->faults, ChaosFault, i).to_ns = wait_now_ns ();
  wait_ms (g_rand_int_range (scene->rand, 200, 2000));
  return whole;
}
