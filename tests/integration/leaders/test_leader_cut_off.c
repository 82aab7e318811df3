/* A leader that is cut off: its cancellable is cancelled, and it no longer says that it leads,
 * before the next candidate leads. */
#include "latches.h"
#include "leading.h"

#define LONGER_SESSION_MS 10000

/* Samples a leader until it does not lead. */
typedef struct
{
  Leading *leading; /* one of both is NULL */
  Latch *latch;
  gint64 led_last_ns; /* the end of the last sample that said so */
} Sampler;

static gpointer
sample (gpointer data)
{
  Sampler *sampler = data;
  for (;;)
    {
      const gboolean leads =
          sampler->latch != NULL
              ? latch_leads (sampler->latch)
              : curator_leader_selector_has_leadership (sampler->leading->selector);
      if (!leads)
        return NULL;
      sampler->led_last_ns = wait_now_ns ();
      g_usleep (500);
    }
}

static void
note_time (GCancellable *cancellable, gpointer when_ns)
{
  *(gint64 *) when_ns = wait_now_ns ();
}

typedef struct
{
  Leading *leading;
  Latch *latch;
  gint64 led_first_ns;
} Next;

static gpointer
await_next (gpointer data)
{
  Next *next = data;
  while (next->latch != NULL ? !latch_leads (next->latch) : leading_entered (next->leading) == 0)
    g_usleep (200);
  next->led_first_ns = wait_now_ns ();
  return NULL;
}

static void
print_margin (const char *what, gint64 cut_ns, gint64 end_ns, gint64 next_ns)
{
  print_message ("%-24s ended %+6d ms, next leader %+6d ms, margin %d ms\n", what,
                 (int) ((end_ns - cut_ns) / 1000000), (int) ((next_ns - cut_ns) / 1000000),
                 (int) ((next_ns - end_ns) / 1000000));
  assert_true (end_ns > cut_ns);
  assert_true (end_ns < next_ns);
}

/* Both recipes by both rules at once: four elections, each with a leader that is cut off. */
TEST (test_cut_off)
{
  static const char *const paths[] = { "/test/selector", "/test/loose-selector", "/test/latch",
                                       "/test/loose-latch" };
  g_autoptr (CuratorClient) cut = client_connect_for (fixture_proxy (fixture), LONGER_SESSION_MS);
  g_autoptr (CuratorClient) direct =
      client_connect_for (fixture_server (fixture), LONGER_SESSION_MS);
  Leading *leading[2];
  Latch *latches[2];
  gint64 cancelled_ns[2] = { 0, 0 };
  Sampler samplers[4] = { { 0 } };
  Next next[4] = { { 0 } };
  GThread *threads[8];
  for (int i = 0; i < 2; i++)
    {
      leading[i] = leading_new (cut, paths[i], NULL, NULL);
      curator_leader_selector_set_until_lost (leading[i]->selector, i == 1);
      leading_start (leading[i]);
      leading_assert_entered (leading[i], 1);
      g_cancellable_connect (leading_cancellable (leading[i]), G_CALLBACK (note_time),
                             &cancelled_ns[i], NULL);
      latches[i] = latch_new (cut, paths[2 + i], NULL);
      curator_leader_latch_set_until_lost (latches[i]->latch, i == 1);
      latch_start (latches[i]);
      latch_assert_leads (latches[i]);
      samplers[i].leading = leading[i];
      samplers[2 + i].latch = latches[i];
      next[i].leading = leading_start_new (direct, paths[i], NULL, NULL);
      next[2 + i].latch = latch_start_new (direct, paths[2 + i], NULL);
    }
  for (int i = 0; i < 4; i++)
    assert_children (fixture, paths[i], 2, LONG_MS);
  const gint64 cut_ns = wait_now_ns ();
  proxy_set_mode (fixture->proxy, PROXY_HOLE);
  for (int i = 0; i < 4; i++)
    {
      threads[i] = g_thread_new ("sample", sample, &samplers[i]);
      threads[4 + i] = g_thread_new ("next", await_next, &next[i]);
    }
  for (int i = 0; i < 8; i++)
    g_thread_join (threads[i]);
  for (int i = 0; i < 2; i++)
    {
      leading_assert_left (leading[i], 1);
      print_margin (i == 0 ? "cancellable" : "cancellable, until lost", cut_ns, cancelled_ns[i],
                    next[i].led_first_ns);
    }
  static const char *const names[] = { "selector", "selector, until lost", "latch",
                                       "latch, until lost" };
  for (int i = 0; i < 4; i++)
    print_margin (names[i], cut_ns, samplers[i].led_last_ns, next[i].led_first_ns);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  latches_free (latches, 2);
  for (int i = 0; i < 2; i++)
    {
      leading_free (leading[i]);
      leading_free (next[i].leading);
      latch_free (next[2 + i].latch);
    }
}

SUITE ("leaders that are cut off", fixture_start, fixture_stop)
