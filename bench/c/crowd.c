/* Contenders, each with a thread and a session of its own, on one path. */
#include "peer.h"

#include <pthread.h>

typedef struct
{
  pthread_t thread;
  Recipe recipe;
  pthread_barrier_t *start;
  const int *stop;
  gulong hold_us;
  gint64 ops;   /* granted before the end */
  gint64 total; /* including those granted later */
  Samples waits;
} Contender;

static void *
contend (void *data)
{
  Contender *me = data;
  pthread_barrier_wait (me->start);
  while (!g_atomic_int_get (me->stop)) {
    const gint64 began = peer_now_ns ();
    recipe_acquire (&me->recipe);
    if (!g_atomic_int_get (me->stop)) {
      samples_add (&me->waits, peer_now_ns () - began);
      me->ops++;
    }
    if (me->hold_us > 0)
      g_usleep (me->hold_us);
    recipe_release (&me->recipe);
    me->total++;
  }
  return NULL;
}

/* Of "rw" one in ten writes; with "apart" each has a path of its own. */
static void
contender_init (Contender *me, const Request *request, int i)
{
  g_autoptr (GHashTable) values = g_hash_table_new (g_str_hash, g_str_equal);
  const Request mine = { request->verb, values };
  g_autofree char *path = request_flag (request, "apart")
                              ? g_strdup_printf ("%s-%d", request_text (request, "path"), i)
                              : g_strdup (request_text (request, "path"));
  GHashTableIter iter;
  gpointer key;
  gpointer value;
  g_hash_table_iter_init (&iter, request->values);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_hash_table_insert (values, key, value);
  g_hash_table_insert (values, (gpointer) "path", path);
  if (g_strcmp0 (g_hash_table_lookup (values, "recipe"), "rw") == 0) {
    g_hash_table_insert (values, (gpointer) "recipe", (gpointer) (i % 10 == 0 ? "write" : "read"));
  }
  recipe_init_asked (&me->recipe, &mine, i);
  samples_init (&me->waits);
  me->hold_us =
      request_flag (request, "hold_ms") ? (gulong) request_number (request, "hold_ms") * 1000 : 0;
}

/* crowd server= path= n= ms= [recipe=] [async=1] [apart=1] [hold_ms=]: ready; ok ops= ns= (of the
 * window) total= (with those granted after its end) q= (of waits) */
void
verb_crowd (const Request *request)
{
  const int n = (int) request_number (request, "n");
  g_autofree Contender *contenders = g_new0 (Contender, n);
  pthread_barrier_t start;
  int stop = 0;
  gint64 ops = 0;
  gint64 total = 0;
  pthread_barrier_init (&start, NULL, (unsigned) n + 1);
  for (int i = 0; i < n; i++) {
    contender_init (&contenders[i], request, i);
    contenders[i].start = &start;
    contenders[i].stop = &stop;
    pthread_create (&contenders[i].thread, NULL, contend, &contenders[i]);
  }
  peer_ready_steady ("n=%d", n);
  pthread_barrier_wait (&start);
  const gint64 began = peer_now_ns ();
  g_usleep ((gulong) request_number (request, "ms") * 1000);
  g_atomic_int_set (&stop, 1);
  const gint64 ns = peer_now_ns () - began;
  Samples all;
  samples_init (&all);
  for (int i = 0; i < n; i++) {
    pthread_join (contenders[i].thread, NULL);
    ops += contenders[i].ops;
    total += contenders[i].total;
    samples_take (&all, &contenders[i].waits);
    samples_clear (&contenders[i].waits);
    recipe_clear (&contenders[i].recipe);
  }
  pthread_barrier_destroy (&start);
  g_autofree char *quantiles = samples_quantiles (&all);
  peer_reply ("ops=%" G_GINT64_FORMAT " ns=%" G_GINT64_FORMAT " total=%" G_GINT64_FORMAT " q=%s",
              ops, ns, total, quantiles);
  samples_clear (&all);
}
