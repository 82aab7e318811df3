/* chaos [--seconds N] [--epoch SECONDS] [--seed S] [--only KIND,…] [--worker FILE] [--secured]
 * [--verbose]
 *
 * The driver: runs an ensemble, workers and faults, and judges each epoch. At the end of an epoch
 * all faults are healed and all workers quiet: then no residue may be left on the servers, no call
 * may be in flight, and the history must be good. See chaos.h for the workers. */
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
#include <sys/wait.h>

#define N_THREADS  (CHAOS_THREADS + CHAOS_ACTORS) /* of a worker, that take turns */
#define AGREE_MS   20000                          /* until lagging servers have caught up */
#define TELL_MS    1000                           /* for workers to say what they know */
#define OUTPUT_END 20000 /* characters of a process's output that are shown */
#define PATIENCE_MS                                                                                \
  60000 /* for a call to end, once all faults are healed and while one server leads */
#define MAX_ELECTIONS   3   /* of the servers, while calls are to end */
#define ENSEMBLE_EPOCHS 3   /* after which another ensemble takes over */
#define CHILD_DIES_MS   100 /* with its parent */
#define WATCH_EVENTS    50000
#define LATE_ANSWER_MS  500
#define OBSERVED        "/observed" /* nobody else's */
#define LONG_RUN_S      600         /* in which every kind of disturbance must come */

/* Of the addresses in the lists of servers at which there is none. */
static const HostWay absent_ways[] = { HOST_DROPS, HOST_SILENT, HOST_CLOSES, HOST_REFUSES };

typedef struct
{
  ChaosScene scene;
  char *directory; /* of the epoch */
  char *resource_directory;
  ChaosCells *cells;
  pthread_t watcher; /* of an epoch */
  pthread_t observer;
  Figures *figures;
  int last_process;
  int session_ms[CHAOS_NUMBERS];
  guint failures;
} Chaos;

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
fail (Chaos *chaos, const char *figure, guint n)
{
  figures_add (chaos->figures, figure, n);
  if (n > 0)
    {
      g_printerr ("chaos: %s: %u\n", figure, n);
      chaos->failures += n;
    }
}

static char *
output_of (const Chaos *chaos, int process)
{
  return g_strdup_printf ("%s/%d.out", chaos->directory, process);
}

/* Of a time namespace for the process, in seconds; "0": none. */
static char *
boot_offset (Chaos *chaos)
{
  const gboolean own = g_rand_boolean (chaos->scene.rand);
  const int offset_s = g_rand_int_range (chaos->scene.rand, 1, 1000000);
  return g_strdup_printf (
      "%d", own && chaos_kinds_has (&chaos->scene.kinds, CHAOS_KIND_SLEEP) ? offset_s : 0);
}

static void
start_worker (Chaos *chaos, int i)
{
  ChaosSlot *slot = &chaos->scene.slots[i];
  slot->process = ++chaos->last_process;
  g_assert (slot->process < CHAOS_PROCESSES);
  chaos->session_ms[slot->process] = slot->session_ms;
  g_autofree char *session = g_strdup_printf ("%d", slot->session_ms);
  g_autofree char *tick = g_strdup_printf ("%d", CHAOS_TICK_MS);
  g_autofree char *offset = boot_offset (chaos);
  g_autofree char *slept = NULL;
  g_autofree char *process = g_strdup_printf ("%d", slot->process);
  g_autofree char *seed = g_strdup_printf ("%u", g_rand_int (chaos->scene.rand));
  g_autofree char *output = output_of (chaos, slot->process);
  const char *const argv[] = { worker != NULL ? worker : CHAOS_WORKER,
                               slot->connect_string,
                               session,
                               tick,
                               process,
                               seed,
                               chaos->directory,
                               chaos->resource_directory,
                               offset,
                               slot->names_path,
                               NULL };
  slept = g_strdup_printf ("%s/%d.slept", chaos->directory, slot->process);
  chaos_clocks_close (slot->clocks);
  slot->clocks = chaos_clocks_open (slept);
  g_assert (slot->clocks != NULL);
  slot->pid = process_spawn ((char *const *) argv, output);
  g_assert (slot->pid != 0);
}

static void
note_death (Chaos *chaos, int process)
{
  RecordEvent event = { .op = RECORD_PROCESS_DIED, .time_ns = wait_now_ns () };
  Recorder *recorder = recorder_open (chaos->directory, process, 2000, 1);
  recorder_add (recorder, event);
  recorder_close (recorder);
}

/* A child of fork dies with its parent, but nobody is told. */
static void
note_death_of_child (Chaos *chaos, int parent)
{
  const int child = (int) chaos_cell (&chaos->cells->child[parent]);
  if (child != 0)
    {
      wait_ms (CHILD_DIES_MS);
      note_death (chaos, child);
    }
}

/* Until the workers end. */
static void *
watch_clock (void *data)
{
  Chaos *chaos = data;
  Recorder *recorder =
      recorder_open (chaos->directory, CHAOS_MACHINE, CHAOS_CLOCK_THREAD, WATCH_EVENTS);
  while (chaos_cell (&chaos->cells->phase) != CHAOS_END)
    chaos_watch (recorder);
  recorder_close (recorder);
  return NULL;
}

/* Servers whose disk is slow have not run either: what they are asked to write is answered late. */
static void *
observe_servers (void *data)
{
  Chaos *chaos = data;
  RawZk *raw = NULL;
  Recorder *recorder =
      recorder_open (chaos->directory, CHAOS_MACHINE, CHAOS_SERVERS_THREAD, WATCH_EVENTS);
  while (chaos_cell (&chaos->cells->phase) != CHAOS_END)
    {
      const gint64 asked_ms = wait_now_ms ();
      if (raw == NULL || raw_zk_is_expired (raw))
        {
          raw_zk_close (raw);
          raw = raw_zk_open (zk_ensemble_connect_string (chaos->scene.ensemble));
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

/* Its logs are kept; a new process takes over its slot and its path. */
static void
replace_worker (gpointer data, int i)
{
  Chaos *chaos = data;
  ChaosSlot *slot = &chaos->scene.slots[i];
  process_kill (slot->pid);
  note_death (chaos, slot->process);
  note_death_of_child (chaos, slot->process);
  start_worker (chaos, i);
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
all_ready (gpointer data)
{
  Chaos *chaos = data;
  gboolean all = TRUE;
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      ChaosSlot *slot = &chaos->scene.slots[i];
      if (chaos_cell (&chaos->cells->ready[slot->process]) != 0)
        slot->usual_fds = MAX (slot->usual_fds, count_fds (slot->pid));
      else
        all = FALSE;
    }
  return all;
}

static gboolean
all_idle (gpointer data)
{
  Chaos *chaos = data;
  for (int i = 0; i < CHAOS_WORKERS; i++)
    if (chaos_cell (&chaos->cells->idle[chaos->scene.slots[i].process]) != N_THREADS)
      return FALSE;
  return TRUE;
}

/* Who leads: each leader has an epoch of its own, the upper half of its zxid. -1: nobody serves as
 * leader. */
static gint64
epoch_of_leader (Chaos *chaos)
{
  ZkEnsemble *ensemble = chaos->scene.ensemble;
  const int leader = zk_ensemble_leader (ensemble);
  const gint64 zxid =
      leader >= 0 ? four_letter_zxid (zk_server_address (zk_ensemble_server (ensemble, leader)))
                  : -1;
  return zxid >= 0 ? zxid >> 32 : -1;
}

/* Without servers no call can end. A busy machine may cost them their quorum although no fault is
 * left: the patience begins anew with their next leader. */
static void
wait_until_idle (Chaos *chaos)
{
  guint elections = 0;
  gint64 before = epoch_of_leader (chaos);
  while (!wait_until (all_idle, chaos, PATIENCE_MS) && elections < MAX_ELECTIONS
         && (before < 0 || epoch_of_leader (chaos) != before))
    {
      elections++;
      if (!zk_ensemble_wait_whole (chaos->scene.ensemble, 2 * PATIENCE_MS))
        fail (chaos, "ensemble_broken", 1);
      before = epoch_of_leader (chaos);
    }
  figures_add (chaos->figures, "elections_without_fault", elections);
}

/* The number of threads whose turn does not end. */
static guint
wait_for_quiet (Chaos *chaos)
{
  guint hanging = 0;
  const gint64 began = wait_now_ms ();
  chaos_cell_set (&chaos->cells->phase, CHAOS_QUIET);
  wait_until_idle (chaos);
  figures_add (chaos->figures, "quiet_ms", (double) (wait_now_ms () - began));
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      const ChaosSlot *slot = &chaos->scene.slots[i];
      const guint idle = chaos_cell (&chaos->cells->idle[slot->process]);
      hanging += N_THREADS - idle;
      if (idle != N_THREADS)
        {
          g_printerr ("process %d: %u threads do not end their turn\n", slot->process,
                      N_THREADS - idle);
          chaos_print_stacks (slot->pid);
        }
    }
  return hanging;
}

static guint
count_ephemerals (RawZk *raw, const char *path, gboolean print)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  guint n = 0;
  for (char **name = names; name != NULL && *name != NULL; name++)
    {
      g_autofree char *child = g_strconcat (path, "/", *name, NULL);
      const gint64 owner = raw_zk_owner (raw, child);
      if (owner > 0 && print)
        g_printerr ("left behind: %s of session 0x%" G_GINT64_MODIFIER "x\n", child, owner);
      n += owner > 0 ? 1 : count_ephemerals (raw, child, print);
    }
  return n;
}

static void
add_view (RawZk *raw, const char *path, GString *view)
{
  g_auto (GStrv) names = raw_zk_children (raw, path);
  for (char **name = names; name != NULL && *name != NULL; name++)
    {
      g_autofree char *child = g_strconcat (path, "/", *name, NULL);
      if (raw_zk_owner (raw, child) > 0)
        g_string_append_printf (view, "%s\n", child);
      add_view (raw, child, view);
    }
}

static gboolean
servers_agree (gpointer data)
{
  Chaos *chaos = data;
  GString *views[3];
  for (int i = 0; i < 3; i++)
    {
      RawZk *raw = raw_zk_open (zk_server_address (zk_ensemble_server (chaos->scene.ensemble, i)));
      views[i] = g_string_new (raw != NULL ? "" : "no answer");
      if (raw != NULL)
        {
          add_view (raw, CHAOS_ROOT, views[i]);
          raw_zk_close (raw);
        }
    }
  const gboolean agree = g_string_equal (views[0], views[1]) && g_string_equal (views[1], views[2]);
  for (int i = 0; i < 3; i++)
    g_string_free (views[i], TRUE);
  return agree;
}

static gboolean
nothing_left (gpointer raw)
{
  return count_ephemerals (raw, CHAOS_ROOT, FALSE) == 0;
}

static guint
count_watches (Chaos *chaos)
{
  guint n = 0;
  for (int i = 0; i < 3; i++)
    {
      const int watches = four_letter_total_watches (
          zk_server_address (zk_ensemble_server (chaos->scene.ensemble, i)));
      n += watches >= 0 ? (guint) watches : 1; /* one that does not answer may have some */
    }
  return n;
}

static gboolean
no_watches (gpointer chaos)
{
  return count_watches (chaos) == 0;
}

static guint
count_leaked_fds (Chaos *chaos)
{
  guint leaked = 0;
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      const ChaosSlot *slot = &chaos->scene.slots[i];
      leaked += (guint) MAX (count_fds (slot->pid) - slot->usual_fds, 0);
    }
  return leaked;
}

static gboolean
no_leaked_fds (gpointer chaos)
{
  return count_leaked_fds (chaos) == 0;
}

static void
tell_servers (Chaos *chaos)
{
  static const char *const words[] = { "srvr", "wchp", "cons", "dump" };
  for (int i = 0; i < 3; i++)
    {
      const char *server = zk_server_address (zk_ensemble_server (chaos->scene.ensemble, i));
      for (gsize w = 0; w < G_N_ELEMENTS (words); w++)
        {
          g_autofree char *answer = four_letter (server, words[w], 2000);
          g_printerr ("%s %s:\n%s\n", server, words[w], answer);
        }
    }
}

/* The servers' transactions show what became of a node and of its session. */
static void
keep_data (Chaos *chaos)
{
  for (int i = 0; i < 3; i++)
    {
      ZkServer *server = zk_ensemble_server (chaos->scene.ensemble, i);
      g_autofree char *copy = g_strdup_printf ("%s/server-%d", chaos->directory, i);
      const char *const argv[] = { "cp", "-r", zk_server_data_dir (server), copy, NULL };
      g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
                    NULL);
    }
}

static void
print_output (Chaos *chaos, int process)
{
  g_autofree char *path = output_of (chaos, process);
  g_autofree char *text = NULL;
  gsize length = 0;
  g_file_get_contents (path, &text, &length, NULL);
  g_printerr ("process %d ends with:\n%s\n", process,
              text == NULL ? "" : text + (length > OUTPUT_END ? length - OUTPUT_END : 0));
}

/* A node is left: prints what servers and clients know of it. */
static void
tell_all (Chaos *chaos)
{
  tell_servers (chaos);
  chaos_cell_set (&chaos->cells->tell, 1);
  wait_ms (TELL_MS);
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      chaos_print_stacks (chaos->scene.slots[i].pid);
      print_output (chaos, chaos->scene.slots[i].process);
    }
  keep_data (chaos);
}

/* All faults are healed and all workers quiet: a node that still exists would stay forever. */
static void
look_for_residue (Chaos *chaos)
{
  RawZk *raw = raw_zk_open (zk_ensemble_connect_string (chaos->scene.ensemble));
  if (raw == NULL)
    {
      fail (chaos, "no_observer", 1);
      return;
    }
  wait_until (nothing_left, raw, PATIENCE_MS);
  const guint orphans = count_ephemerals (raw, CHAOS_ROOT, TRUE);
  fail (chaos, "orphans", orphans);
  raw_zk_close (raw);
  if (orphans > 0)
    tell_all (chaos);
  wait_until (no_watches, chaos, PATIENCE_MS);
  fail (chaos, "watches", count_watches (chaos));
  wait_until (no_leaked_fds, chaos, PATIENCE_MS);
  fail (chaos, "fds", count_leaked_fds (chaos));
}

/* A call hangs: prints ephemeral nodes, watches and connections. */
static void
tell_residue (Chaos *chaos)
{
  RawZk *raw = raw_zk_open (zk_ensemble_connect_string (chaos->scene.ensemble));
  if (raw != NULL)
    {
      count_ephemerals (raw, CHAOS_ROOT, TRUE);
      raw_zk_close (raw);
    }
  tell_servers (chaos);
}

static void
end_watch (Chaos *chaos)
{
  chaos_cell_set (&chaos->cells->phase, CHAOS_END);
  pthread_join (chaos->watcher, NULL);
  pthread_join (chaos->observer, NULL);
}

static void
end_workers (Chaos *chaos)
{
  guint hangs = 0;
  guint crashes = 0;
  end_watch (chaos);
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      int status = 0;
      ChaosSlot *slot = &chaos->scene.slots[i];
      const gboolean ended =
          process_wait (slot->pid, chaos->failures == 0 ? PATIENCE_MS : 5000, &status);
      if (!ended)
        process_kill (slot->pid);
      const gboolean crashed = ended && (!WIFEXITED (status) || WEXITSTATUS (status) != 0);
      hangs += !ended;
      crashes += crashed;
      slot->pid = 0;
      if (!ended || crashed || chaos_cell (&chaos->cells->unexpected) > 0)
        print_output (chaos, slot->process);
    }
  fail (chaos, "hangs_at_close", hangs);
  fail (chaos, "crashes", crashes);
}

/* The timeouts of children of fork, and what the actors of the workers have done. */
static void
note_actors (Chaos *chaos)
{
  ChaosCells *cells = chaos->cells;
  ChaosKinds *kinds = &chaos->scene.kinds;
  for (guint i = 0; i < cells->n_children; i++)
    {
      const int number = CHAOS_PROCESSES + (int) i;
      chaos->session_ms[number] = chaos->session_ms[cells->lives_in[number]];
    }
  chaos_kinds_count_several (kinds, CHAOS_KIND_FORKS, cells->n_children);
  chaos_kinds_add_effects (kinds, CHAOS_KIND_FORKS, cells->lived);
  chaos_kinds_count_several (kinds, CHAOS_KIND_BLOCKS, cells->blocks);
  chaos_kinds_add_effects (kinds, CHAOS_KIND_BLOCKS, cells->blocks);
  chaos_kinds_count_several (kinds, CHAOS_KIND_ENDS, cells->ends);
  chaos_kinds_add_effects (kinds, CHAOS_KIND_ENDS, cells->ends_in_calls);
  chaos_faults_note_effects (&chaos->scene);
  fail (chaos, "fork_hangs", cells->fork_hangs);
  fail (chaos, "fork_failures", cells->fork_failures);
  fail (chaos, "slow_ends", cells->slow_ends);
  figures_add (chaos->figures, "slowest_child_ms", cells->slowest_child_ms);
}

static void
judge (Chaos *chaos)
{
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  if (!recorder_read_all (chaos->directory, events))
    {
      fail (chaos, "unreadable", 1);
      return;
    }
  history_add_events (chaos->directory, events);
  note_actors (chaos);
  const ChaosCase of = { .cells = chaos->cells,
                         .faults = chaos->scene.faults,
                         .session_ms = chaos->session_ms,
                         .unequal = chaos->scene.unequal,
                         .figures = chaos->figures,
                         .kinds = &chaos->scene.kinds };
  chaos->failures += chaos_judge (events, &of);
  figures_add (chaos->figures, "faults", chaos->scene.faults->len);
  fail (chaos, "unexpected_errors", chaos_cell (&chaos->cells->unexpected));
  figures_add (chaos->figures, "in_namespace", chaos_cell (&chaos->cells->in_namespace));
  fail (chaos, "robbed_third_parties", chaos_third_robbed (chaos->scene.third));
  fail (chaos, "dead_reentries", chaos_cell (&chaos->cells->dead_reentries));
}

static void
begin_epoch (Chaos *chaos)
{
  chaos->directory = scratch_new ("chaos");
  chaos->cells = chaos_cells_open (chaos->directory);
  chaos->last_process = 0;
  chaos_cell_set (&chaos->cells->chosen, chaos->scene.kinds.chosen);
  g_array_set_size (chaos->scene.faults, 0);
  chaos_third_begin_epoch (chaos->scene.third, chaos->directory);
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      start_worker (chaos, i);
      chaos->scene.slots[i].usual_fds = 0;
    }
  if (pthread_create (&chaos->watcher, NULL, watch_clock, chaos) != 0
      || pthread_create (&chaos->observer, NULL, observe_servers, chaos) != 0)
    g_error ("no thread");
  if (!wait_until (all_ready, chaos, 2 * PATIENCE_MS))
    fail (chaos, "not_connected", 1);
}

/* Of the clients in a slot. */
static Security
security_of (int slot)
{
  return !secured ? SECURITY_NONE : slot == 0 ? SECURITY_SASL : SECURITY_TLS;
}

/* All ways are met at once; that of a slot is another one with each ensemble. */
static void
open_absent (ChaosScene *scene)
{
  scene->first_absent = g_rand_int_range (scene->rand, 0, CHAOS_WORKERS);
  scene->absent = NULL;
  if (!chaos_kinds_has (&scene->kinds, CHAOS_KIND_ABSENT))
    return;
  scene->absent = hosts_new (zk_server_address (zk_ensemble_server (scene->ensemble, 0)),
                             G_N_ELEMENTS (absent_ways), FALSE);
  for (guint way = 0; way < G_N_ELEMENTS (absent_ways); way++)
    hosts_set (scene->absent, way, absent_ways[way]);
}

/* An address of the slot's list at which there is no server; NULL: this slot has none. */
static const char *
absent_address (ChaosScene *scene, int i)
{
  const guint way = (guint) (scene->first_absent + i) % CHAOS_WORKERS;
  if (scene->absent == NULL || way >= G_N_ELEMENTS (absent_ways))
    return NULL;
  const char *address = hosts_address (scene->absent, way);
  scene->slots[i].names->absent = chaos_faults_host (address);
  chaos_kinds_count (&scene->kinds, CHAOS_KIND_ABSENT);
  return address;
}

/* Every second slot knows its servers by their names, if they can move. */
static void
name_servers (Chaos *chaos, int i)
{
  ChaosScene *scene = &chaos->scene;
  ChaosSlot *slot = &scene->slots[i];
  g_autoptr (GString) hosts = g_string_new (NULL);
  slot->by_name =
      i % 2 == 0 && (chaos_kinds_has (&scene->kinds, CHAOS_KIND_MOVES) || scene->hostile != NULL);
  slot->names_path = g_strdup_printf ("%s/%d.names", chaos->resource_directory, i);
  slot->names = chaos_names_open (slot->names_path);
  g_assert (slot->names != NULL);
  const char *absent = absent_address (scene, i);
  for (int s = 0; s < 3; s++)
    {
      const char *address = proxy_address (slot->proxies[s]);
      const char *port = strrchr (address, ':');
      g_autofree char *name = chaos_name (s);
      if (absent != NULL && s == i % 3)
        g_string_append_printf (hosts, "%s%s", s > 0 ? "," : "", absent);
      g_string_append_printf (hosts, "%s%s%s", hosts->len > 0 ? "," : "",
                              slot->by_name ? name : address, slot->by_name ? port : "");
      slot->accepted_before[s] = -1;
      if (scene->hostile != NULL)
        chaos_hostile_listen (scene->hostile, atoi (port + 1));
    }
  chaos_faults_tell_hosts (slot);
  slot->names->hostile = scene->hostile != NULL ? chaos_hostile_host (scene->hostile) : 0;
  slot->connect_string = security_connect_string (hosts->str, security_of (i));
}

static gboolean
open_servers (Chaos *chaos)
{
  ChaosScene *scene = &chaos->scene;
  static const int sessions[] = { 3000, 4000, CHAOS_LONGEST_SESSION_MS };
  if (!chaos_servers_start (scene))
    return FALSE;
  chaos->resource_directory = scratch_new ("resource");
  scene->hostile_counted = 0;
  scene->hostile = chaos_kinds_has (&scene->kinds, CHAOS_KIND_HOSTILE)
                       ? chaos_hostile_new (g_rand_int (scene->rand))
                       : NULL;
  open_absent (scene);
  chaos_third_use (scene->third, zk_ensemble_connect_string (scene->ensemble));
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      ChaosSlot *slot = &scene->slots[i];
      slot->session_ms = sessions[i % 3];
      for (int s = 0; s < 3; s++)
        {
          slot->proxies[s] =
              security_proxy_new (zk_ensemble_server (scene->ensemble, s), security_of (i));
        }
      name_servers (chaos, i);
    }
  if (scene->hostile != NULL)
    chaos_hostile_start (scene->hostile);
  return TRUE;
}

static void
close_servers (Chaos *chaos)
{
  ChaosScene *scene = &chaos->scene;
  for (int i = 0; i < CHAOS_WORKERS; i++)
    {
      for (int s = 0; s < 3; s++)
        proxy_free (scene->slots[i].proxies[s]);
      g_free (scene->slots[i].connect_string);
      g_free (scene->slots[i].names_path);
      chaos_names_close (scene->slots[i].names);
    }
  g_clear_pointer (&scene->hostile, chaos_hostile_free);
  g_clear_pointer (&scene->absent, hosts_free);
  zk_ensemble_stop (scene->ensemble);
  scratch_remove (chaos->resource_directory);
}

static void
tell_resource (Chaos *chaos)
{
  ResourceFigures figures;
  Resource *resource = resource_open (chaos->resource_directory);
  resource_get_figures (resource, &figures);
  resource_close (resource);
  fail (chaos, "fenced_stale", (guint) figures.stale);
  figures_add (chaos->figures, "fenced_accepted", (double) figures.accepted);
  figures_add (chaos->figures, "fenced_refused", (double) figures.refused);
  figures_add (chaos->figures, "unfenced_stale", (double) figures.unfenced_stale);
}

static void
replace_servers (Chaos *chaos)
{
  tell_resource (chaos);
  close_servers (chaos);
  if (!open_servers (chaos))
    fail (chaos, "no_ensemble", 1);
}

/* Servers that fail often may diverge: a follower that loses its leader can lose transactions that
 * a quorum has committed (ZOOKEEPER-4712, ZOOKEEPER-4785; seen with 3.8.0). No lock is safe on such
 * servers, so the epoch does not count. It is reported, and fresh servers take over. */
static void
void_epoch (Chaos *chaos)
{
  g_print ("chaos: the servers hold different data; this epoch is void\n");
  for (int i = 0; i < CHAOS_WORKERS; i++)
    process_kill (chaos->scene.slots[i].pid);
  end_watch (chaos);
  replace_servers (chaos);
}

static void
end_epoch (Chaos *chaos, guint hanging)
{
  fail (chaos, "hangs", hanging);
  if (hanging == 0)
    look_for_residue (chaos);
  else
    tell_residue (chaos);
  end_workers (chaos);
  judge (chaos);
}

/* TRUE if it was judged. */
static gboolean
run_epoch (Chaos *chaos, gint64 until_ms)
{
  begin_epoch (chaos);
  chaos_cell_set (&chaos->cells->phase, CHAOS_RUN);
  while (wait_now_ms () < until_ms && chaos->failures == 0)
    if (!chaos_round (&chaos->scene))
      fail (chaos, "ensemble_broken", 1);
  if (!chaos_third_heal (chaos->scene.third, TRUE, PATIENCE_MS))
    fail (chaos, "third_parties_left_something", 1);
  chaos_third_end_epoch (chaos->scene.third);
  const guint hanging = wait_for_quiet (chaos);
  const gboolean agree = wait_until (servers_agree, chaos, AGREE_MS);
  figures_add (chaos->figures, "void_epochs", agree ? 0 : 1);
  if (agree)
    end_epoch (chaos, hanging);
  else
    void_epoch (chaos);
  chaos_cells_close (chaos->cells);
  if (chaos->failures == 0)
    {
      scratch_remove (chaos->directory);
    }
  else
    {
      g_printerr ("chaos: the logs are kept in %s\n", chaos->directory);
      g_free (chaos->directory);
    }
  return agree;
}

/* A short run of all kinds may miss some. */
static void
report_kinds (Chaos *chaos)
{
  const guint missing = chaos_kinds_report (&chaos->scene.kinds, chaos->figures);
  if (seconds >= LONG_RUN_S || only != NULL)
    fail (chaos, "kinds_without_effect", missing);
}

int
main (int argc, char **argv)
{
  static Chaos chaos;
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, OPTIONS, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || argc != 1)
    {
      g_printerr ("chaos: %s\n", error != NULL ? error->message : "unknown argument");
      return 64;
    }
  if (!chaos_kinds_choose (&chaos.scene.kinds, only))
    {
      g_autofree char *list = chaos_kinds_list ();
      g_printerr ("chaos: the kinds are %s\n", list);
      return 64;
    }
  /* GLib's own allocator does not survive a fork while other threads use it. */
  g_setenv ("G_SLICE", "always-malloc", TRUE);
  const guint32 seed = seed_given >= 0 ? (guint32) seed_given : g_random_int ();
  g_print ("chaos: seed %u\n", seed);
  chaos.figures = figures_open ("chaos");
  chaos.scene.rand = g_rand_new_with_seed (seed);
  chaos.scene.faults = g_array_new (FALSE, TRUE, sizeof (ChaosFault));
  chaos.scene.verbose = verbose;
  chaos.scene.security = secured ? security_folder () : NULL;
  chaos.scene.third = chaos_third_new (&chaos.scene.kinds, seed);
  chaos.scene.replace = replace_worker;
  chaos.scene.timeouts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  chaos.scene.data = &chaos;
  if (!chaos_servers_may_mount ())
    chaos_kinds_leave_out (&chaos.scene.kinds, CHAOS_KIND_DISK, "no right to mount a disk");
  if (chaos.figures == NULL || !open_servers (&chaos))
    {
      g_printerr ("chaos: no ensemble, or no file for the figures\n");
      return 1;
    }
  const gint64 end = wait_now_ms () + (gint64) seconds * 1000;
  guint judged = 0;
  guint epochs = 0;
  while ((judged == 0 || wait_now_ms () < end) && chaos.failures == 0)
    {
      const gint64 longest = wait_now_ms () + (gint64) epoch_seconds * 1000;
      judged += run_epoch (&chaos, judged == 0 ? longest : MIN (end, longest));
      if (++epochs % ENSEMBLE_EPOCHS == 0 && chaos.failures == 0 && wait_now_ms () < end)
        replace_servers (&chaos);
    }
  tell_resource (&chaos);
  close_servers (&chaos);
  figures_add (chaos.figures, "shortened", chaos.scene.shortened);
  figures_add (chaos.figures, "lengthened", chaos.scene.lengthened);
  report_kinds (&chaos);
  g_hash_table_unref (chaos.scene.timeouts);
  chaos_third_free (chaos.scene.third);
  g_array_unref (chaos.scene.faults);
  g_rand_free (chaos.scene.rand);
  figures_close (chaos.figures);
  g_print ("chaos: seed %u: %s\n", seed, chaos.failures == 0 ? "good" : "BAD");
  return chaos.failures == 0 ? 0 : 1;
}
