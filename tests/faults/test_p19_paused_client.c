/* P19: a holder that is stopped by a signal or a debugger, while its machine's clocks go on, and
 * resumed; for those that stop, too, see test_stopped_clocks.c. It cannot notice the loss while it
 * is stopped, but the first check after it resumes reports the loss. A write without a check is
 * refused by a resource that compares tokens, and corrupts one that does not. */
#define SUITE_FIXTURE ZkServer *server
#include "lab.h"
#include "shared.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#define N_PAUSES 6

typedef struct
{
  double pause; /* in session timeouts */
  const char *name;
  const char *recipe; /* NULL: a mutex */
} Pause;

static const Pause PAUSES[N_PAUSES] = {
  { 0.5, "client stopped for 0.5 T" },          { 0.9, "client stopped for 0.9 T" },
  { 1.1, "client stopped for 1.1 T" },          { 1.2, "client stopped for 1.2 T", "selector" },
  { 1.2, "client stopped for 1.2 T", "latch" }, { 2.0, "client stopped for 2 T" }
};

static void
go_on (Lab *lab, Duel *duel)
{
  const gint64 continued_ns = wait_now_ns ();
  RecordEvent grant;
  lab_continue_holder (lab, duel->a);
  const RecordEvent sample = lab_wait (lab, duel->a, RECORD_SAMPLE, continued_ns);
  const gboolean was_granted = lab_find (lab, duel->b, RECORD_ACQUIRE_RETURNED, 0, &grant)
                               && grant.time_ns <= sample.time_ns;
  print_message ("%-28s first look %4.1f ms after going on: %" G_GINT64_FORMAT
                 " ms left; %s by then\n",
                 duel->name, (double) (sample.time_ns - continued_ns) / 1e6, sample.timeout_ms,
                 was_granted ? "granted elsewhere" : "granted to nobody else");
  assert_true (!was_granted || sample.timeout_ms == 0);
}

TEST (test_p19_paused_client)
{
  Lab *lab = lab_new ("test_p19_paused_client");
  Duel duels[N_PAUSES];
  for (guint i = 0; i < N_PAUSES; i++) {
    duels[i] = (Duel){ .name = PAUSES[i].name,
                       .lock = i + 1,
                       .recipe = PAUSES[i].recipe,
                       .is_stopped = TRUE,
                       .holder_at = zk_server_address (server),
                       .waiter_at = zk_server_address (server) };
    duel_start (lab, &duels[i]);
  }
  for (guint i = 0; i < N_PAUSES; i++) {
    duels[i].fault_ns = wait_now_ns ();
    lab_stop_holder (lab, duels[i].a);
  }
  for (guint i = 0; i < N_PAUSES; i++) {
    const gint64 until = duels[i].fault_ns + (gint64) (PAUSES[i].pause * LAB_SESSION_MS * 1e6);
    wait_ms ((int) MAX ((until - wait_now_ns ()) / 1000000, 0));
    if (i == N_PAUSES - 1) {
      /* The later holder has been granted the lock and has written. */
      const guint64 token = lab_wait (lab, duels[i].b, RECORD_ACQUIRE_RETURNED, 0).token;
      assert_true (holds_within (shared_get (&lab->resource->fenced[duels[i].lock]) == token,
                                 LAB_PATIENCE_MS));
    }
    go_on (lab, &duels[i]);
  }
  for (guint i = 0; i < N_PAUSES; i++)
    duel_finish (lab, &duels[i]);
  assert_true (duels[N_PAUSES - 1].lost);

  const Resource *resource = lab->resource;
  print_message ("late writes: the fenced resource refused %" G_GUINT64_FORMAT
                 ", its twin was corrupted by %" G_GUINT64_FORMAT "\n",
                 resource->refused, resource->unfenced_stale);
  assert_int_equal (resource->stale, 0);
  assert_true (resource->refused > 0);
  assert_true (resource->unfenced_stale > 0);
  figures_add (lab->figures, "fenced_stale", (double) resource->stale);
  figures_add (lab->figures, "unfenced_stale", (double) resource->unfenced_stale);
  lab_finish (lab);
}

SUITE ("P19", lab_start, lab_stop)
