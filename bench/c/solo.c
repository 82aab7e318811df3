/* One thread without contention: acquire, release, repeat. And one that only holds. */
#include "peer.h"

/* solo server= path= recipe= ms= | ops= [async=1]: ok ops= ns= q= (of acquire and release) */
void
verb_solo (const Request *request)
{
  const gint64 ops_wanted =
      request_flag (request, "ops") ? request_number (request, "ops") : G_MAXINT64;
  const gint64 ms = request_flag (request, "ms") ? request_number (request, "ms") : 3600 * 1000;
  Recipe recipe;
  Samples samples;
  recipe_init_asked (&recipe, request, 0);
  samples_init (&samples);

  const gint64 began = peer_now_ns ();
  gint64 now = began;
  gint64 ops = 0;
  while (ops < ops_wanted && now - began < ms * 1000000) {
    recipe_acquire (&recipe);
    recipe_release (&recipe);
    const gint64 then = now;
    now = peer_now_ns ();
    samples_add (&samples, now - then);
    ops++;
  }
  g_autofree char *quantiles = samples_quantiles (&samples);
  peer_reply ("ops=%" G_GINT64_FORMAT " ns=%" G_GINT64_FORMAT " q=%s", ops, now - began, quantiles);
  samples_clear (&samples);
  recipe_clear (&recipe);
}

/* hold server= path= ms=: ready timeout_ms=; ok ns=. Holds for that long from "go" on. */
void
verb_hold (const Request *request)
{
  CuratorClient *client = peer_session (request, "server", 0);
  Recipe recipe;
  recipe_init (&recipe, "mutex", client, request_text (request, "path"), FALSE);
  recipe_acquire (&recipe);
  peer_ready_steady ("timeout_ms=%" G_GINT64_FORMAT,
                     curator_client_get_session_timeout_ms (client));
  const gint64 began = peer_now_ns ();
  g_usleep ((gulong) request_number (request, "ms") * 1000);
  peer_reply ("ops=1 ns=%" G_GINT64_FORMAT, peer_now_ns () - began);
  recipe_release (&recipe);
  recipe_clear (&recipe);
}
