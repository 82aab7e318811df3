/* chaos [--seconds N] [--epoch SECONDS] [--seed S] [--only KIND,…] [--worker FILE] [--secured]
 * [--verbose]
 *
 * The driver: runs an ensemble, workers and faults, and judges each epoch. At the end of an epoch
 * all faults are healed and all workers quiet: then no residue may be left on the servers, no call
 * may be in flight, and the history must be good. See chaos.h for the workers. */
#include "chaos_judge.h"
#include "chaos_servers.h"
#include "resource.h"
#include "security.h"
#include "support/four_letter.h"
#include "support/history.h"
#include "support/process.h"
#include "support/raw_zk.h"
#include "support/scratch.h"
#include "support/waiting.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define N_THREADS  (CHAOS_THREADS + CHAOS_ACTORS) /* of a worker, that take turns */
#define AGREE_MS   20000                          /* until lagging servers have caught up */
#define TELL_MS    1000                           /* for workers to say what they know */
#define OUTPUT_END 20000 /* characters of a process's output that are shown */
#define PATIENCE_MS                                                                                \
  60000 /* for a call to end, once all faults are healed and while one server leads */
#define LOOK_MS        20
#define MAX_ELECTIONS  3   /* of the servers, while calls are to end */
#define CHILD_DIES_MS  100 /* with its parent */
#define WATCH_EVENTS   50000
#define LATE_ANSWER_MS 500
#define OBSERVED       "/observed" /* nobody else's */
#define LONG_RUN_S     600         /* in which every kind of disturbance must come */

static gint seconds = 75;
static gint epoch_seconds = 45;
static gint64 seed_given = -1;
static gboolean verbose;
static gboolean secured;
static char *only;
static char *worker;

static const GOptionEntry OPTIONS[] = {
  { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "Total duration", "N" },
  { "epoch", 0, 0, G_OPTION_ARG_INT, &epoch_seconds, "Duration of an epoch", "N" },
  { "seed", 0, 0, G_OPTION_ARG_INT64, &seed_given, "Repeat the faults of that run", "S" },
  { "only", 0, 0, G_OPTION_ARG_STRING, &only, "Only these kinds of disturbance", "KIND,…" },
  { "worker", 0, 0, G_OPTION_ARG_FILENAME, &worker, "Another worker, with a planted bug", "FILE" },
  { "secured", 0, 0, G_OPTION_ARG_NONE, &secured, "Clients use TLS, and those of one slot SASL",
    NULL },
  { "verbose", 0, 0, G_OPTION_ARG_NONE, &verbose, "Print each fault", NULL },
  { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL }
};

static void
fail (ChaosScene *scene, const char *figure, guint n)
{
  figures_add (scene->figures, figure, n);
  if (n > 0) {
    g_printerr ("chaos: %s: %u\n", figure, n);
    scene->failures += n;
  }
}

static char *
output_of (const ChaosScene *scene, int process)
{
  return g_strdup_printf ("%s/%d.out", scene->directory, process);
}

static void
start_worker (ChaosScene *scene, ChaosSlot *slot)
{
  GRand *rand = scene->rand;
  slot->process = ++scene->last_process;
  g_assert (slot->process < CHAOS_PROCESSES);
  /* Every second process has a time namespace, with another boot time. */
  const gboolean sleeps = chaos_kinds_has (&scene->kinds, CHAOS_KIND_SLEEP);
  scene->cells->starts[slot->process] =
      (ChaosStart){ .session_ms = slot->session_ms,
                    .seed = g_rand_int (rand),
                    .boot_offset_s =
                        g_rand_boolean (rand) && sleeps ? g_rand_int_range (rand, 1, 1000000) : 0,
                    .slot = (guint32) (slot - scene->slots) };
  g_autofree char *process = g_strdup_printf ("%d", slot->process);
  g_autofree char *output = output_of (scene, slot->process);
  const char *const argv[] = { worker != NULL ? worker : CHAOS_WORKER, slot->connect_string,
                               process, scene->directory, NULL };
  slot->pid = process_spawn ((char *const *) argv, output);
  g_assert (slot->pid != 0);
}

static void
note_death (ChaosScene *scene, int process)
{
  Recorder *recorder = recorder_open (scene->directory, process, 2000, 1);
  recorder_add (recorder, (RecordEvent){ .op = RECORD_PROCESS_DIED });
  recorder_close (recorder);
}

/* Until the workers end. */
static void *
watch_clock (void *data)
{
  ChaosScene *scene = data;
  Recorder *recorder =
      recorder_open (scene->directory, CHAOS_MACHINE, CHAOS_CLOCK_THREAD, WATCH_EVENTS);
  while (shared_get (&scene->cells->phase) != CHAOS_END)
    chaos_watch (recorder);
  recorder_close (recorder);
  return NULL;
}

/* Servers whose disk is slow have not run either: what they are asked to write is answered late. */
static void *
observe_servers (void *data)
{
  ChaosScene *scene = data;
  RawZk *raw = NULL;
  Recorder *recorder =
      recorder_open (scene->directory, CHAOS_MACHINE, CHAOS_SERVERS_THREAD, WATCH_EVENTS);
  while (shared_get (&scene->cells->phase) != CHAOS_END) {
    const gint64 asked_ms = wait_now_ms ();
    if (raw == NULL || raw_zk_is_expired (raw)) {
      raw_zk_close (raw);
      raw = raw_zk_open (zk_ensemble_connect_string (scene->ensemble));
    }
    if (raw != NULL && raw_zk_set (raw, OBSERVED, "") == ZNONODE)
      raw_zk_create (raw, OBSERVED, "", ZOO_PERSISTENT, NULL);
    const gint64 took_ms = wait_now_ms () - asked_ms;
    if (took_ms >= LATE_ANSWER_MS)
      recorder_add (recorder, (RecordEvent){ .op = RECORD_STALL, .timeout_ms = took_ms });
    wait_ms (TICK_OF_WATCH_MS);
  }
  raw_zk_close (raw);
  recorder_close (recorder);
  return NULL;
}

/* Its logs are kept; a new process takes over its slot and its path. A child of fork dies with its
 * parent, but nobody is told. */
static void
replace_worker (ChaosScene *scene, ChaosSlot *slot)
{
  process_kill (slot->pid);
  note_death (scene, slot->process);
  const int child = (int) shared_get (&scene->cells->child[slot->process]);
  if (child != 0) {
    wait_ms (CHILD_DIES_MS);
    note_death (scene, child);
  }
  start_worker (scene, slot);
}

static int
count_fds (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/fd", pid);
  GDir *dir = g_dir_open (path, 0, NULL);
  int n = 0;
  while (dir != NULL && g_dir_read_name (dir) != NULL)
    n++;
  g_clear_pointer (&dir, g_dir_close);
  return n;
}

/* Its descriptors are counted while it is connected, which the first need not be when the last one
 * is. */
static gboolean
all_ready (ChaosScene *scene)
{
  gboolean all = TRUE;
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    ChaosSlot *slot = &scene->slots[i];
    if (shared_get (&scene->cells->ready[slot->process]) != 0)
      slot->usual_fds = MAX (slot->usual_fds, count_fds (slot->pid));
    else
      all = FALSE;
  }
  return all;
}

/* Threads whose turn has not ended. */
static guint
count_busy (ChaosScene *scene)
{
  guint busy = 0;
  for (int i = 0; i < CHAOS_WORKERS; i++)
    busy += N_THREADS - shared_get (&scene->cells->idle[scene->slots[i].process]);
  return busy;
}

static const char *
server_address (const ChaosScene *scene, int i)
{
  return zk_server_address (zk_ensemble_server (scene->ensemble, i));
}

/* Who leads: each leader has an epoch of its own, the upper half of its zxid. -1: nobody serves as
 * leader. */
static gint64
epoch_of_leader (ChaosScene *scene)
{
  const int leader = zk_ensemble_leader (scene->ensemble);
  const gint64 zxid = leader >= 0 ? four_letter_zxid (server_address (scene, leader)) : -1;
  return zxid >= 0 ? zxid >> 32 : -1;
}

/* Without servers no call can end. A busy machine may cost them their quorum although no fault is
 * left: the patience begins anew with their next leader. */
static void
wait_until_idle (ChaosScene *scene)
{
  guint elections = 0;
  gint64 before = epoch_of_leader (scene);
  while (!holds_within (count_busy (scene) == 0, PATIENCE_MS) && elections < MAX_ELECTIONS
         && (before < 0 || epoch_of_leader (scene) != before)) {
    elections++;
    if (!zk_ensemble_wait_whole (scene->ensemble, 2 * PATIENCE_MS))
      fail (scene, "ensemble_broken", 1);
    before = epoch_of_leader (scene);
  }
  figures_add (scene->figures, "elections_without_fault", elections);
}

/* The number of threads whose turn does not end. */
static guint
wait_for_quiet (ChaosScene *scene)
{
  shared_set (&scene->cells->phase, CHAOS_QUIET);
  wait_until_idle (scene);
  const guint busy = count_busy (scene);
  for (int i = 0; i < CHAOS_WORKERS && busy > 0; i++) {
    g_printerr ("%u threads do not end their turn; those of process %d:\n", busy,
                scene->slots[i].process);
    chaos_print_stacks (scene->slots[i].pid);
  }
  return busy;
}

/* Adds the ephemeral nodes below the path, a line each. */
static void
add_ephemerals (RawZk *raw, const char *path, GString *view)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  for (char **name = names; name != NULL && *name != NULL; name++) {
    g_autofree char *child = g_strconcat (path, "/", *name, NULL);
    const gint64 owner = raw_zk_owner (raw, child);
    if (owner > 0)
      g_string_append_printf (view, "%s of session 0x%" G_GINT64_MODIFIER "x\n", child, owner);
    add_ephemerals (raw, child, view);
  }
}

/* The ephemeral nodes that a server knows, or all of them. */
static char *
view_of (const char *servers)
{
  g_autoptr (RawZk) raw = raw_zk_open (servers);
  GString *view = g_string_new (raw != NULL ? "" : "no answer\n");
  if (raw != NULL)
    add_ephemerals (raw, CHAOS_ROOT, view);
  return g_string_free (view, FALSE);
}

static gboolean
servers_agree (ChaosScene *scene)
{
  g_autofree char *first = view_of (server_address (scene, 0));
  g_autofree char *second = view_of (server_address (scene, 1));
  g_autofree char *third = view_of (server_address (scene, 2));
  return strcmp (first, second) == 0 && strcmp (second, third) == 0;
}

static guint
count_watches (ChaosScene *scene)
{
  guint n = 0;
  for (int i = 0; i < 3; i++) {
    const int watches = four_letter_total_watches (server_address (scene, i));
    n += watches >= 0 ? (guint) watches : 1; /* one that does not answer may have some */
  }
  return n;
}

static guint
count_leaked_fds (ChaosScene *scene)
{
  guint leaked = 0;
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    const ChaosSlot *slot = &scene->slots[i];
    leaked += (guint) MAX (count_fds (slot->pid) - slot->usual_fds, 0);
  }
  return leaked;
}

static void
tell_servers (ChaosScene *scene)
{
  static const char *const words[] = { "srvr", "wchp", "cons", "dump" };
  for (int i = 0; i < 3; i++) {
    for (gsize w = 0; w < G_N_ELEMENTS (words); w++) {
      g_autofree char *answer = four_letter (server_address (scene, i), words[w], 2000);
      g_printerr ("%s %s:\n%s\n", server_address (scene, i), words[w], answer);
    }
  }
}

/* The servers' transactions show what became of a node and of its session. */
static void
keep_data (ChaosScene *scene)
{
  for (int i = 0; i < 3; i++) {
    ZkServer *server = zk_ensemble_server (scene->ensemble, i);
    g_autofree char *copy = g_strdup_printf ("%s/server-%d", scene->directory, i);
    const char *const argv[] = { "cp", "-r", zk_server_data_dir (server), copy, NULL };
    g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
                  NULL);
  }
}

static void
print_output (ChaosScene *scene, int process)
{
  g_autofree char *path = output_of (scene, process);
  g_autofree char *text = NULL;
  gsize length = 0;
  g_file_get_contents (path, &text, &length, NULL);
  g_printerr ("process %d ends with:\n%s\n", process,
              text == NULL ? "" : text + (length > OUTPUT_END ? length - OUTPUT_END : 0));
}

/* A node is left: prints what servers and clients know of it. */
static void
tell_all (ChaosScene *scene)
{
  tell_servers (scene);
  shared_set (&scene->cells->tell, 1);
  wait_ms (TELL_MS);
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    chaos_print_stacks (scene->slots[i].pid);
    print_output (scene, scene->slots[i].process);
  }
  keep_data (scene);
}

/* All faults are healed and all workers quiet: a node that still exists would stay forever. */
static void
look_for_residue (ChaosScene *scene)
{
  const char *servers = zk_ensemble_connect_string (scene->ensemble);
  const gint64 deadline_ms = wait_now_ms () + PATIENCE_MS;
  g_autofree char *left = view_of (servers);
  while (*left != '\0' && wait_now_ms () < deadline_ms) {
    wait_ms (LOOK_MS);
    g_free (left);
    left = view_of (servers);
  }
  guint orphans = 0;
  for (const char *line = left; *line != '\0'; line = strchr (line, '\n') + 1)
    orphans++;
  fail (scene, "orphans", orphans);
  if (orphans > 0) {
    g_printerr ("left behind:\n%s", left);
    tell_all (scene);
  }
  guint n = 0;
  (void) holds_within ((n = count_watches (scene)) == 0, PATIENCE_MS);
  fail (scene, "watches", n);
  if (n > 0)
    tell_servers (scene);
  (void) holds_within ((n = count_leaked_fds (scene)) == 0, PATIENCE_MS);
  fail (scene, "fds", n);
}

static void
end_watch (ChaosScene *scene)
{
  shared_set (&scene->cells->phase, CHAOS_END);
  pthread_join (scene->watcher, NULL);
  pthread_join (scene->observer, NULL);
}

static void
end_workers (ChaosScene *scene)
{
  guint hangs = 0;
  guint crashes = 0;
  end_watch (scene);
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    int status = 0;
    ChaosSlot *slot = &scene->slots[i];
    const gboolean ended =
        process_wait (slot->pid, scene->failures == 0 ? PATIENCE_MS : 5000, &status);
    if (!ended)
      process_kill (slot->pid);
    const gboolean crashed = ended && (!WIFEXITED (status) || WEXITSTATUS (status) != 0);
    hangs += !ended;
    crashes += crashed;
    slot->pid = 0;
    if (!ended || crashed || shared_get (&scene->cells->unexpected) > 0)
      print_output (scene, slot->process);
  }
  fail (scene, "hangs_at_close", hangs);
  fail (scene, "crashes", crashes);
}

/* What the actors of the workers have done. */
static void
note_actors (ChaosScene *scene)
{
  ChaosCells *cells = scene->cells;
  ChaosKinds *kinds = &scene->kinds;
  kinds->happened[CHAOS_KIND_FORKS] += cells->n_children;
  kinds->took_effect[CHAOS_KIND_FORKS] += cells->lived;
  kinds->happened[CHAOS_KIND_BLOCKS] += cells->blocks;
  kinds->took_effect[CHAOS_KIND_BLOCKS] += cells->blocks;
  kinds->happened[CHAOS_KIND_ENDS] += cells->ends;
  kinds->took_effect[CHAOS_KIND_ENDS] += cells->ends_in_calls;
  chaos_faults_note_effects (scene);
  fail (scene, "fork_hangs", cells->fork_hangs);
  fail (scene, "fork_failures", cells->fork_failures);
  fail (scene, "slow_ends", cells->slow_ends);
  fail (scene, "unexpected_errors", cells->unexpected);
  fail (scene, "dead_reentries", cells->dead_reentries);
  figures_add (scene->figures, "in_namespace", cells->in_namespace);
}

static void
judge (ChaosScene *scene)
{
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  if (!recorder_read_all (scene->directory, events)) {
    fail (scene, "unreadable", 1);
    return;
  }
  history_add_events (scene->directory, events);
  note_actors (scene);
  scene->failures += chaos_judge (events, scene);
  figures_add (scene->figures, "faults", scene->faults->len);
}

/* Of the clients in a slot. */
static Security
security_of (int slot)
{
  return !secured ? SECURITY_NONE : slot == 0 ? SECURITY_SASL : SECURITY_TLS;
}

/* An address at which there is no server, in one of the ways; NULL: there are fewer ways. */
static const char *
absent_address (ChaosScene *scene, guint way)
{
  static const HostWay ways[] = { HOST_DROPS, HOST_SILENT, HOST_CLOSES, HOST_REFUSES };
  if (!chaos_kinds_has (&scene->kinds, CHAOS_KIND_ABSENT) || way >= G_N_ELEMENTS (ways))
    return NULL;
  if (scene->absent == NULL)
    scene->absent = hosts_new (server_address (scene, 0), G_N_ELEMENTS (ways), FALSE);
  hosts_set (scene->absent, way, ways[way]);
  scene->kinds.happened[CHAOS_KIND_ABSENT]++;
  return hosts_address (scene->absent, way);
}

/* Every second slot knows its servers by their names, if they can move. absent: an address of its
 * list at which there is none, or NULL. */
static void
name_servers (ChaosScene *scene, int i, const char *absent)
{
  ChaosSlot *slot = &scene->slots[i];
  g_autoptr (GString) hosts = g_string_new (NULL);
  slot->by_name =
      i % 2 == 0 && (chaos_kinds_has (&scene->kinds, CHAOS_KIND_MOVES) || scene->hostile != NULL);
  slot->names = &scene->cells->names[i];
  for (int s = 0; s < 3; s++) {
    const char *address = proxy_address (slot->proxies[s]);
    const char *port = strrchr (address, ':');
    g_autofree char *name = g_strdup_printf ("zk-%d.test", s);
    if (absent != NULL && s == i % 3)
      g_string_append_printf (hosts, "%s%s", s > 0 ? "," : "", absent);
    g_string_append_printf (hosts, "%s%s%s", hosts->len > 0 ? "," : "",
                            slot->by_name ? name : address, slot->by_name ? port : "");
    slot->accepted_before[s] = -1;
    if (scene->hostile != NULL)
      chaos_hostile_listen (scene->hostile, atoi (port + 1));
  }
  chaos_faults_tell_hosts (slot);
  slot->names->absent = absent != NULL ? resolver_host (absent) : 0;
  slot->names->wrong = scene->hostile != NULL ? chaos_hostile_host (scene->hostile) : 0;
  slot->connect_string = security_connect_string (hosts->str, security_of (i));
}

static gboolean
open_servers (ChaosScene *scene)
{
  static const int sessions[] = { 3000, 4000, CHAOS_LONGEST_SESSION_MS };
  if (!chaos_servers_start (scene))
    return FALSE;
  scene->hostile = chaos_kinds_has (&scene->kinds, CHAOS_KIND_HOSTILE)
                       ? chaos_hostile_new (g_rand_int (scene->rand))
                       : NULL;
  /* All ways are met at once; that of a slot is another one with each ensemble. */
  const guint way = g_rand_int (scene->rand) % CHAOS_WORKERS;
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    ChaosSlot *slot = &scene->slots[i];
    *slot = (ChaosSlot){ .session_ms = sessions[i % 3] };
    for (int s = 0; s < 3; s++)
      slot->proxies[s] =
          security_proxy_new (zk_ensemble_server (scene->ensemble, s), security_of (i));
    name_servers (scene, i, absent_address (scene, (way + (guint) i) % CHAOS_WORKERS));
  }
  if (scene->hostile != NULL)
    chaos_hostile_start (scene->hostile);
  return TRUE;
}

static void
close_servers (ChaosScene *scene)
{
  for (int i = 0; i < CHAOS_WORKERS; i++) {
    for (int s = 0; s < 3; s++)
      proxy_free (scene->slots[i].proxies[s]);
    g_free (scene->slots[i].connect_string);
  }
  g_clear_pointer (&scene->hostile, chaos_hostile_free);
  g_clear_pointer (&scene->absent, hosts_free);
  zk_ensemble_stop (scene->ensemble);
}

static void
tell_resource (ChaosScene *scene)
{
  Resource *resource = resource_open (scene->directory);
  fail (scene, "fenced_stale", (guint) resource->stale);
  figures_add (scene->figures, "unfenced_stale", (double) resource->unfenced_stale);
  resource_close (resource);
}

static void
begin_epoch (ChaosScene *scene)
{
  scene->last_process = 0;
  shared_set (&scene->cells->chosen, scene->kinds.chosen);
  g_array_set_size (scene->faults, 0);
  scene->third = chaos_third_new (&scene->kinds, g_rand_int (scene->rand),
                                  zk_ensemble_connect_string (scene->ensemble), scene->directory);
  for (int i = 0; i < CHAOS_WORKERS; i++)
    start_worker (scene, &scene->slots[i]);
  if (pthread_create (&scene->watcher, NULL, watch_clock, scene) != 0
      || pthread_create (&scene->observer, NULL, observe_servers, scene) != 0)
    g_error ("no thread");
  fail (scene, "not_connected", !holds_within (all_ready (scene), 2 * PATIENCE_MS));
}

/* Servers that fail often may diverge: a follower that loses its leader can lose transactions that
 * a quorum has committed (ZOOKEEPER-4712, ZOOKEEPER-4785; seen with 3.8.0). No lock is safe on such
 * servers, so the epoch does not count. It is reported, and fresh servers take over. */
static void
void_epoch (ChaosScene *scene)
{
  g_print ("chaos: the servers hold different data; this epoch is void\n");
  for (int i = 0; i < CHAOS_WORKERS; i++)
    process_kill (scene->slots[i].pid);
  end_watch (scene);
}

static void
end_epoch (ChaosScene *scene, guint hanging, guint robbed)
{
  fail (scene, "hangs", hanging);
  if (hanging == 0)
    look_for_residue (scene);
  else
    tell_servers (scene);
  end_workers (scene);
  judge (scene);
  tell_resource (scene);
  fail (scene, "robbed_third_parties", robbed);
}

/* TRUE if it was judged. */
static gboolean
play_epoch (ChaosScene *scene, gint64 end_ms)
{
  begin_epoch (scene);
  shared_set (&scene->cells->phase, CHAOS_RUN);
  while (wait_now_ms () < end_ms && scene->failures == 0)
    if (!chaos_round (scene))
      fail (scene, "ensemble_broken", 1);
  if (!chaos_third_heal (scene->third, TRUE, PATIENCE_MS))
    fail (scene, "third_parties_left_something", 1);
  const guint robbed = chaos_third_free (scene->third);
  const guint hanging = wait_for_quiet (scene);
  const gboolean agree = holds_within (servers_agree (scene), AGREE_MS);
  figures_add (scene->figures, "void_epochs", agree ? 0 : 1);
  if (agree)
    end_epoch (scene, hanging, robbed);
  else
    void_epoch (scene);
  return agree;
}

/* On servers of its own. TRUE if it was judged. */
static gboolean
run_epoch (ChaosScene *scene, gint64 end_ms)
{
  gboolean judged = FALSE;
  scene->directory = scratch_new ("chaos");
  scene->cells = shared_map (scene->directory, CHAOS_CELLS, sizeof (ChaosCells));
  g_assert (scene->cells != NULL);
  if (open_servers (scene)) {
    judged = play_epoch (scene, MIN (end_ms, wait_now_ms () + (gint64) epoch_seconds * 1000));
    close_servers (scene);
  } else {
    fail (scene, "no_ensemble", 1);
  }
  munmap (scene->cells, sizeof *scene->cells);
  if (scene->failures > 0)
    g_printerr ("chaos: the logs are kept in %s\n", scene->directory);
  else
    scratch_remove (g_steal_pointer (&scene->directory));
  g_free (scene->directory);
  return judged;
}

int
main (int argc, char **argv)
{
  static ChaosScene scene;
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, OPTIONS, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || argc != 1) {
    g_printerr ("chaos: %s\n", error != NULL ? error->message : "unknown argument");
    return 64;
  }
  if (!chaos_kinds_choose (&scene.kinds, only))
    return 64;
  /* GLib's own allocator does not survive a fork while other threads use it. */
  g_setenv ("G_SLICE", "always-malloc", TRUE);
  const guint32 seed = seed_given >= 0 ? (guint32) seed_given : g_random_int ();
  g_print ("chaos: seed %u\n", seed);
  g_random_set_seed (seed);
  scene.figures = figures_open ("chaos");
  scene.rand = g_rand_new_with_seed (seed);
  scene.faults = g_array_new (FALSE, TRUE, sizeof (ChaosFault));
  scene.verbose = verbose;
  scene.security = secured ? security_folder () : NULL;
  scene.replace = replace_worker;
  scene.timeouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (chaos_kinds_has (&scene.kinds, CHAOS_KIND_DISK) && !chaos_servers_may_mount ()) {
    g_print ("chaos: without disk: no right to mount one\n");
    scene.kinds.chosen &= ~(1U << CHAOS_KIND_DISK);
  }
  if (scene.figures == NULL)
    g_error ("no file for the figures");
  const gint64 end_ms = wait_now_ms () + (gint64) seconds * 1000;
  guint judged = 0;
  while ((judged == 0 || wait_now_ms () < end_ms) && scene.failures == 0)
    judged += run_epoch (&scene, judged == 0 ? G_MAXINT64 : end_ms);
  figures_add (scene.figures, "shortened", scene.shortened);
  figures_add (scene.figures, "lengthened", scene.lengthened);
  const guint missing = chaos_kinds_report (&scene.kinds, scene.figures);
  if (seconds >= LONG_RUN_S || only != NULL) /* a short run of all kinds may miss some */
    fail (&scene, "kinds_without_effect", missing);
  g_hash_table_unref (scene.timeouts);
  g_array_unref (scene.faults);
  g_rand_free (scene.rand);
  fclose (scene.figures);
  g_print ("chaos: seed %u: %s\n", seed, scene.failures == 0 ? "good" : "BAD");
  return scene.failures == 0 ? 0 : 1;
}
