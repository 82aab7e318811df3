/* A distribution as 101 quantiles. Threads: one at a time for each Samples. */
#include "peer.h"

#define ENOUGH 200000 /* more do not change the quantiles */

void
samples_init (Samples *samples)
{
  samples->ns = g_array_new (FALSE, FALSE, sizeof (gint64));
}

void
samples_add (Samples *samples, gint64 ns)
{
  if (samples->ns->len < ENOUGH)
    g_array_append_val (samples->ns, ns);
}

void
samples_take (Samples *samples, Samples *from)
{
  g_array_append_vals (samples->ns, from->ns->data, from->ns->len);
  g_array_set_size (from->ns, 0);
}

void
samples_clear (Samples *samples)
{
  g_array_unref (samples->ns);
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const gint64 left = *(const gint64 *) a;
  const gint64 right = *(const gint64 *) b;
  return left < right ? -1 : left > right;
}

char *
samples_quantiles (Samples *samples)
{
  GString *text = g_string_new (NULL);
  const guint n = samples->ns->len;
  g_array_sort (samples->ns, compare);
  for (guint q = 0; n > 0 && q <= 100; q++) {
    const guint at = (guint) ((guint64) (n - 1) * q / 100);
    const gint64 ns = g_array_index (samples->ns, gint64, at);
    g_string_append_printf (text, "%s%.1f", q > 0 ? "," : "", (double) ns / 1000.0);
  }
  return g_string_free (text, FALSE);
}
