#include "ensemble.h"

#include "support/process.h"
#include "support/waiting.h"

#include <string.h>

ZkEnsemble *
lab_start_ensemble (int sync_limit)
{
  const ZkEnsembleSetup setup = { .tick_ms = LAB_TICK_MS,
                                  .sync_limit = sync_limit,
                                  .by_links = TRUE,
                                  .security = security_usual () != SECURITY_NONE
                                                  ? security_folder ()
                                                  : NULL };
  return zk_server_available () ? zk_ensemble_start_as (&setup) : NULL;
}

int
lab_stop_ensemble (void **state)
{
  zk_ensemble_stop (*state);
  return 0;
}

const char *
lab_server (ZkEnsemble *ensemble, int member)
{
  return zk_server_address (zk_ensemble_server (ensemble, member));
}

int
lab_wait_leader (ZkEnsemble *ensemble)
{
  int leader = -1;
  assert_true (zk_ensemble_wait_whole (ensemble, LAB_PATIENCE_MS));
  assert_true (holds_within ((leader = zk_ensemble_leader (ensemble)) >= 0, LAB_PATIENCE_MS));
  return leader;
}

/* --- the control: Java Curator, which believes by the state of its connection ------------------- */

typedef struct
{
  guint lock;
  char *output;
  pid_t holder;
  int waiter;
} Control;

/* When it first printed that word, on the recorder's clock; 0: not yet. */
static gint64
said_ns (const Control *control, const char *word)
{
  g_autofree char *text = NULL;
  g_autofree char *line = g_strconcat (word, " ", NULL);
  const char *said =
      g_file_get_contents (control->output, &text, NULL, NULL) ? strstr (text, line) : NULL;
  return said != NULL ? g_ascii_strtoll (said + strlen (line), NULL, 10) : 0;
}

static void
start_control (Lab *lab, Control *control, const Duel *beside)
{
  g_autofree char *path = g_strdup_printf ("/faults/%u", control->lock);
  g_autofree char *session = g_strdup_printf ("%d", LAB_SESSION_MS);
  const char *const argv[] = { CONTROL_JAVA,
                               "-Xmx64m",
                               "-XX:+UseSerialGC",
                               "-XX:TieredStopAtLevel=1",
                               "-XX:-UsePerfData",
                               "-cp",
                               CONTROL_CLASSPATH,
                               "HolderPeer",
                               beside->holder_at,
                               path,
                               session,
                               NULL };
  control->output = g_strdup_printf ("%s/control-%u", lab->directory, control->lock);
  control->holder = process_spawn ((char *const *) argv, control->output);
  assert_true (control->holder != 0);
  if (!holds_within (said_ns (control, "GRANTED") != 0, LAB_PATIENCE_MS))
    fail_msg ("Java Curator was not granted its lock");
  control->waiter = lab_start_holder (lab, beside->waiter_at, control->lock, NULL);
  lab_wait_queue (beside->waiter_at, control->lock, 2);
}

/* Waits for both; returns how long both were confident holders. */
static double
end_control (Lab *lab, Control *control)
{
  const RecordEvent grant = lab_wait (lab, control->waiter, RECORD_ACQUIRE_RETURNED, 0);
  assert_true (holds_within (said_ns (control, "SUSPENDED") != 0, LAB_PATIENCE_MS));
  const double overlap_ms = (double) (said_ns (control, "SUSPENDED") - grant.time_ns) / 1e6;
  process_kill (control->holder);
  g_free (control->output);
  lab_end_holder (lab, control->waiter);
  return overlap_ms;
}

/* --- separation ------------------------------------------------------------------------------- */

gboolean
lab_separate (Lab *lab, ZkEnsemble *ensemble, const Separation *how, guint first_lock)
{
  static const char *const recipes[] = { NULL, "selector", "latch" };
  const int leader = lab_wait_leader (ensemble);
  const int follower = (leader + 1) % 3;
  Duel duels[G_N_ELEMENTS (recipes)];
  Control control = { .lock = first_lock };
  double overlap_ms = 0;
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++) {
    duels[i] = (Duel){ .name = how->name,
                       .lock = first_lock + 1 + i,
                       .recipe = recipes[i],
                       .holder_at = lab_server (ensemble, how->is_deposed ? leader : follower),
                       .waiter_at = lab_server (ensemble, how->is_deposed ? follower : leader) };
    if (i == 0 && how->has_control)
      start_control (lab, &control, &duels[i]);
    duel_start (lab, &duels[i]);
  }

  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    duels[i].fault_ns = wait_now_ns ();
  if (how->is_deposed)
    zk_links_depose (zk_ensemble_links (ensemble), leader);
  else
    zk_links_set_all (zk_ensemble_links (ensemble), follower, PROXY_HOLE);
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++)
    lab_wait_granted (lab, duels[i].b);
  if (how->has_control)
    overlap_ms = end_control (lab, &control);
  zk_links_heal (zk_ensemble_links (ensemble));
  for (guint i = 0; i < G_N_ELEMENTS (recipes); i++) {
    duel_finish (lab, &duels[i]);
    assert_true (duels[i].lost);
  }
  const gint64 took_ms = (duels[0].grant_ns - duels[0].fault_ns) / 1000000;
  if (how->longest_ms > 0 && took_ms > how->longest_ms) {
    print_message ("no leader in time: granted elsewhere after %d ms\n", (int) took_ms);
    return FALSE;
  }
  if (how->has_control) {
    print_message ("control, Java Curator        two confident holders for %.0f ms\n", overlap_ms);
    figures_add (lab->figures, "control_overlap_ms", overlap_ms);
    assert_true (overlap_ms > 0);
  }
  return TRUE;
}
