/* Tries that are refused. Threads: the main one. */
#include "peer.h"

static void
expect_refusal (CuratorLock *lock)
{
  g_autoptr (GError) error = NULL;
  if (curator_lock_acquire (lock, 0, NULL, &error)
      || !g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT))
    peer_die ("a try should have been refused", error);
}

/* try server= observe= path= ops= [own=1]: ok ops= ns= q=. Another session holds the mutex, by way
 * of "observe", or the same one with "own". */
void
verb_try (const Request *request)
{
  const gint64 ops = request_number (request, "ops");
  const gboolean own = request_flag (request, "own");
  const char *path = request_text (request, "path");
  Recipe holder;
  Recipe other;
  Samples samples;
  recipe_init (&holder, "mutex", peer_session (request, own ? "server" : "observe", own ? 0 : 1),
               path, FALSE);
  recipe_init (&other, "mutex", peer_session (request, "server", 0), path, FALSE);
  recipe_acquire (&holder);
  samples_init (&samples);

  peer_ready_steady ("ops=%" G_GINT64_FORMAT, ops);
  const gint64 began = peer_now_ns ();
  gint64 now = began;
  for (gint64 i = 0; i < ops; i++) {
    expect_refusal (other.lock);
    const gint64 then = now;
    now = peer_now_ns ();
    samples_add (&samples, now - then);
  }
  g_autofree char *quantiles = samples_quantiles (&samples);
  peer_ready_steady ("ops=%" G_GINT64_FORMAT " q=%s", ops, quantiles);
  samples_clear (&samples);
  recipe_clear (&other);
  recipe_release (&holder);
  recipe_clear (&holder);
  peer_reply ("ops=%" G_GINT64_FORMAT " ns=%" G_GINT64_FORMAT, ops, now - began);
}
