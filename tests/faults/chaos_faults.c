#include "chaos_faults.h"

#include "chaos_servers.h"
#include "support/waiting.h"

#include <signal.h>
#include <sys/wait.h>

#define HEAL_MS 120000

/* Bits of the kinds that a round's choice is among. */
#define SERVER_KINDS (1U << CHAOS_KIND_ROLLING | 1U << CHAOS_KIND_RECONFIG | 1U << CHAOS_KIND_DISK)
#define NAME_KINDS   (1U << CHAOS_KIND_MOVES | 1U << CHAOS_KIND_HOSTILE)
#define CLIENT_KINDS                                                                               \
  (1U << CHAOS_KIND_PATHS | 1U << CHAOS_KIND_PROCESSES | 1U << CHAOS_KIND_SLEEP                    \
   | 1U << CHAOS_KIND_SESSIONS | NAME_KINDS)

/* How a member of the ensemble fails. */
typedef struct
{
  const char *name;
  gboolean leads; /* it is the leader */
  void (*at_server) (ZkServer *server);
  void (*at_links) (ZkLinks *links, int member);
  ProxyMode links; /* if it is neither of these */
} ServerFault;

/* What happens to a worker's process or its paths. */
typedef struct
{
  const char *name;
  ChaosKind kind;
  ChaosFaultKind noted;
  ProxyMode path;
  void (*begin) (ChaosScene *scene, ChaosSlot *slot);
} ClientFault;

/* The faults that a round has begun and must end. */
typedef struct
{
  ChaosKind server_kind; /* CHAOS_KINDS: none */
  guint third_kinds;     /* bits */
  int member;
  const ClientFault *at_client[CHAOS_WORKERS];
  gint64 began_ns[CHAOS_WORKERS];
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

/* --- servers ---------------------------------------------------------------------------------- */

static void
mute (ZkLinks *links, int member)
{
  zk_links_mute (links, member, (member + 1) % 3);
  zk_links_mute (links, member, (member + 2) % 3);
}

static void
slow_down (ZkLinks *links, int member)
{
  const int delay_ms = g_random_int_range (5, 150);
  for (int i = 0; i < 3; i++)
    zk_links_delay (links, i, (i + 1) % 3, delay_ms);
}

/* The first four need no links. */
static const ServerFault server_faults[] = {
  { "leader frozen", TRUE, .at_server = zk_server_freeze },
  { "follower frozen", FALSE, .at_server = zk_server_freeze },
  { "leader killed", TRUE, .at_server = zk_server_kill },
  { "follower killed", FALSE, .at_server = zk_server_kill },
  { "follower silent", FALSE, .links = PROXY_HOLE },
  { "follower refused", FALSE, .links = PROXY_REFUSE },
  { "follower mute", FALSE, .at_links = mute },
  { "leader silent", TRUE, .links = PROXY_HOLE },
  { "leader deposed", TRUE, .at_links = zk_links_depose },
  { "members slow", FALSE, .at_links = slow_down },
};
#define N_WITHOUT_LINKS 4

static void
fail_server (ChaosScene *scene, Round *round)
{
  ZkLinks *links = zk_ensemble_links (scene->ensemble);
  const int leader = MAX (zk_ensemble_leader (scene->ensemble), 0);
  const int follower = (leader + g_rand_int_range (scene->rand, 1, 3)) % 3;
  const ServerFault *fault = &server_faults[g_rand_int_range (
      scene->rand, 0, links != NULL ? G_N_ELEMENTS (server_faults) : N_WITHOUT_LINKS)];
  round->member = fault->leads ? leader : follower;
  print_fault (scene, fault->name, round->member);
  if (fault->at_server != NULL)
    fault->at_server (zk_ensemble_server (scene->ensemble, round->member));
  else if (fault->at_links != NULL)
    fault->at_links (links, round->member);
  else
    zk_links_set_all (links, round->member, fault->links);
}

static gboolean
repair_server (ChaosScene *scene, int member)
{
  ZkServer *server = zk_ensemble_server (scene->ensemble, member);
  zk_server_thaw (server);
  if (zk_server_pid (server) == 0)
    zk_server_relaunch (server);
  if (zk_ensemble_links (scene->ensemble) != NULL)
    zk_links_heal (zk_ensemble_links (scene->ensemble));
  return TRUE;
}

static void
fill_disk (ChaosScene *scene, Round *round)
{
  round->member = g_rand_int_range (scene->rand, 0, 3);
  print_fault (scene, "disk full", round->member);
  zk_server_fill_disk (zk_ensemble_server (scene->ensemble, round->member));
}

/* Those that take their time themselves have no beginning. */
static const struct
{
  const char *name;
  void (*begin) (ChaosScene *scene, Round *round);
  gboolean (*change) (ChaosScene *scene);
  gboolean (*end) (ChaosScene *scene, int member);
} at_servers[CHAOS_KINDS + 1] = {
  [CHAOS_KIND_SERVERS] = { .begin = fail_server, .end = repair_server },
  [CHAOS_KIND_DISK] = { .begin = fill_disk, .end = chaos_servers_free_disk },
  [CHAOS_KIND_ROLLING] = { "another configuration, member by member",
                           .change = chaos_servers_roll },
  [CHAOS_KIND_RECONFIG] = { "a member leaves and joins", .change = chaos_servers_reconfig },
};

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
  if (round->server_kind == CHAOS_KINDS)
    return;
  note_fault (scene, CHAOS_AT_SERVERS, 0);
  scene->kinds.happened[round->server_kind]++;
  if (at_servers[round->server_kind].begin != NULL)
    at_servers[round->server_kind].begin (scene, round);
}

static gboolean
change_servers (ChaosScene *scene, const Round *round)
{
  if (at_servers[round->server_kind].change == NULL)
    return TRUE;
  print_fault (scene, at_servers[round->server_kind].name, 0);
  return at_servers[round->server_kind].change (scene);
}

static gboolean
end_at_servers (ChaosScene *scene, const Round *round)
{
  const gboolean fine = at_servers[round->server_kind].end == NULL
                        || at_servers[round->server_kind].end (scene, round->member);
  return (round->server_kind == CHAOS_KINDS || zk_ensemble_wait_whole (scene->ensemble, HEAL_MS))
         && fine;
}

/* --- clients ---------------------------------------------------------------------------------- */

static void
set_path (ChaosSlot *slot, ProxyMode mode, int delay_ms)
{
  for (int i = 0; i < 3; i++) {
    proxy_set_delay (slot->proxies[i], delay_ms, delay_ms);
    proxy_set_mode (slot->proxies[i], mode);
  }
}

static void
replace_process (ChaosScene *scene, ChaosSlot *slot)
{
  scene->replace (scene, slot);
}

static void
stop_process (ChaosScene *scene, ChaosSlot *slot)
{
  kill (slot->pid, SIGSTOP);
  waitid (P_PID, (id_t) slot->pid, &(siginfo_t){ 0 }, WSTOPPED | WEXITED | WNOWAIT);
}

static void
cut_paths (ChaosScene *scene, ChaosSlot *slot)
{
  for (int p = 0; p < 3; p++)
    proxy_cut (slot->proxies[p]);
}

static void
slow_paths (ChaosScene *scene, ChaosSlot *slot)
{
  set_path (slot, PROXY_PASS, g_rand_int_range (scene->rand, 10, 500));
}

/* The client reaches only one member now, with another limit of session timeouts. */
static void
change_member (ChaosScene *scene, ChaosSlot *slot)
{
  const int only = g_rand_int_range (scene->rand, 0, 3);
  for (int p = 0; p < 3; p++)
    proxy_set_mode (slot->proxies[p], p == only ? PROXY_PASS : PROXY_REFUSE);
}

void
chaos_faults_tell_hosts (ChaosSlot *slot)
{
  for (int p = 0; p < 3; p++)
    shared_set (&slot->names->hosts[p], resolver_host (proxy_address (slot->proxies[p])));
}

/* Some of them, or all. What the resolver says of it may be wrong for a while. */
static void
move_servers (ChaosScene *scene, ChaosSlot *slot)
{
  const int which = g_rand_int_range (scene->rand, 1, 1 << 3);
  shared_set (&slot->names->mode,
              (guint32) g_rand_int_range (scene->rand, RESOLVER_RIGHT, RESOLVER_WRONG));
  for (int p = 0; p < 3; p++) {
    if ((which & (1 << p)) != 0) {
      proxy_move (slot->proxies[p]);
      slot->accepted_before[p] = proxy_accepted (slot->proxies[p]);
    }
  }
  chaos_faults_tell_hosts (slot);
}

static void
turn_hostile (ChaosScene *scene, ChaosSlot *slot)
{
  shared_set (&slot->names->mode, RESOLVER_WRONG);
}

static const ClientFault client_faults[] = {
  { "client killed", CHAOS_KIND_PROCESSES, CHAOS_KILLED, .begin = replace_process },
  { "client stopped", CHAOS_KIND_PROCESSES, CHAOS_STOPPED, .begin = stop_process },
  { "path silent", CHAOS_KIND_PATHS, CHAOS_PATH_SILENT, PROXY_HOLE },
  { "path silent to server", CHAOS_KIND_PATHS, CHAOS_PATH_SILENT, PROXY_HOLE_TO_SERVER },
  { "path silent to client", CHAOS_KIND_PATHS, CHAOS_PATH_SILENT, PROXY_HOLE_TO_CLIENT },
  { "path refused", CHAOS_KIND_PATHS, CHAOS_PATH_BAD, PROXY_REFUSE },
  { "path cut", CHAOS_KIND_PATHS, CHAOS_PATH_BAD, .begin = cut_paths },
  { "path slow", CHAOS_KIND_PATHS, CHAOS_PATH_BAD, .begin = slow_paths },
  { "machine asleep", CHAOS_KIND_SLEEP, CHAOS_ASLEEP, .begin = stop_process },
  { "member changed", CHAOS_KIND_SESSIONS, CHAOS_PATH_BAD, .begin = change_member },
  { "servers moved", CHAOS_KIND_MOVES, CHAOS_PATH_BAD, .begin = move_servers },
  { "hostile host", CHAOS_KIND_HOSTILE, CHAOS_PATH_BAD, PROXY_REFUSE, turn_hostile },
};

void
chaos_faults_note_effects (ChaosScene *scene)
{
  if (scene->hostile != NULL)
    scene->kinds.took_effect[CHAOS_KIND_HOSTILE] += chaos_hostile_served (scene->hostile);
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    ChaosSlot *slot = &scene->slots[i];
    scene->kinds.took_effect[CHAOS_KIND_ABSENT] +=
        __atomic_exchange_n (&slot->names->dials, 0, __ATOMIC_SEQ_CST);
    for (int p = 0; p < 3; p++) {
      if (slot->accepted_before[p] >= 0
          && proxy_accepted (slot->proxies[p]) > slot->accepted_before[p]) {
        slot->accepted_before[p] = -1;
        scene->kinds.took_effect[CHAOS_KIND_MOVES]++;
      }
    }
  }
}

/* NULL: there is none of the chosen kinds. */
static const ClientFault *
choose_client_fault (ChaosScene *scene, const ChaosSlot *slot)
{
  const ClientFault *found[G_N_ELEMENTS (client_faults)];
  guint n = 0;
  const guint among = CLIENT_KINDS & (scene->unequal ? ~0U : ~(1U << CHAOS_KIND_SESSIONS))
                      & (slot->by_name ? ~0U : ~NAME_KINDS);
  const ChaosKind kind = chaos_kinds_pick (&scene->kinds, scene->rand, among);
  const guint drawn = g_rand_int (scene->rand);
  for (guint i = 0; i < G_N_ELEMENTS (client_faults); i++)
    if (client_faults[i].kind == kind)
      found[n++] = &client_faults[i];
  return n > 0 ? found[drawn % n] : NULL;
}

static void
begin_at_client (ChaosScene *scene, Round *round, int i)
{
  ChaosSlot *slot = &scene->slots[i];
  const ClientFault *fault = choose_client_fault (scene, slot);
  round->at_client[i] = fault;
  if (fault == NULL)
    return;
  scene->kinds.happened[fault->kind]++;
  print_fault (scene, fault->name, slot->process);
  note_fault (scene, fault->noted, slot->process);
  if (fault->path != PROXY_PASS)
    set_path (slot, fault->path, 0);
  if (fault->begin != NULL)
    fault->begin (scene, slot);
  round->began_ns[i] = wait_now_ns ();
}

static void
end_at_client (ChaosScene *scene, const Round *round, int i)
{
  ChaosSlot *slot = &scene->slots[i];
  if (round->at_client[i]->kind == CHAOS_KIND_SLEEP) {
    MachineClocks *clocks = &scene->cells->clocks[slot->process];
    const gint64 slept_ns = wait_now_ns () - round->began_ns[i];
    /* Half of the machines are guests, whose other clocks stop, too. That on the wall is set
       * right at once. */
    shared_add (&clocks->stopped_ns, slept_ns % 2 != 0 ? slept_ns : 0);
    shared_add (&clocks->slept_ns, slept_ns);
  }
  kill (slot->pid, SIGCONT);
  shared_set (&slot->names->mode, RESOLVER_RIGHT);
  set_path (slot, PROXY_PASS, 0);
}

/* --- a round ---------------------------------------------------------------------------------- */

static void
begin (ChaosScene *scene, Round *round)
{
  const int n_clients = g_rand_int_range (scene->rand, 1, 4);
  round->server_kind = CHAOS_KINDS;
  round->third_kinds = scene->kinds.chosen & CHAOS_THIRD_KINDS & g_rand_int (scene->rand);
  if (g_rand_int_range (scene->rand, 0, 100)
      < (chaos_kinds_has (&scene->kinds, CHAOS_KIND_SERVERS) ? 60 : 100))
    begin_at_servers (scene, round);
  for (int n = 0; n < n_clients; n++) {
    const int i = g_rand_int_range (scene->rand, 0, CHAOS_WORKERS);
    if (round->at_client[i] == NULL)
      begin_at_client (scene, round, i);
  }
  if ((round->third_kinds & (1U << CHAOS_KIND_ACL)) != 0)
    note_fault (scene, CHAOS_ACL, 0);
  if ((round->third_kinds & (1U << CHAOS_KIND_QUOTA)) != 0)
    note_fault (scene, CHAOS_QUOTA, 0);
  if (round->third_kinds != 0) {
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
  while (round->third_kinds != 0 && wait_now_ms () < until) {
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
  stay (scene, &round, g_rand_int_range (scene->rand, 300, 6000));
  gboolean whole = change_servers (scene, &round);
  chaos_servers_note_sessions (scene);
  for (int i = 0; i < CHAOS_WORKERS; i++)
    if (round.at_client[i] != NULL)
      end_at_client (scene, &round, i);
  whole = end_at_servers (scene, &round) && whole;
  whole = chaos_third_heal (scene->third, FALSE, HEAL_MS) && whole;
  for (guint i = round.noted; i < scene->faults->len; i++)
    g_array_index (scene->faults, ChaosFault, i).to_ns = wait_now_ns ();
  wait_ms (g_rand_int_range (scene->rand, 200, 2000));
  return whole;
}
