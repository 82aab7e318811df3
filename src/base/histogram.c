/* Durations in buckets.
 *
 * Curator has no counterpart: it passes each duration to its TracerDriver. Threads: any; no lock,
 * the caller guards the histogram. The bucket is computed without a loop, because each request adds
 * a duration.
 */
#include "base/histogram.h"

guint
curator_scale_bucket (const CuratorScale *scale, gint64 duration_us)
{
  if (duration_us < scale->first_us)
    return 0;
  /* gulong may have 32 bits. */
  const gint64 most = G_GINT64_CONSTANT (1) << 31;
  const gulong multiple = (gulong) MIN (duration_us / scale->first_us, most);
  const guint bucket = (g_bit_storage (multiple) + scale->doublings - 1) / scale->doublings;
  return MIN (bucket, scale->n_limits);
}

gint64
curator_scale_limit_us (const CuratorScale *scale, guint bucket)
{
  return scale->first_us << (bucket * scale->doublings);
}

void
curator_histogram_add (CuratorHistogram *histogram, const CuratorScale *scale, gint64 duration_us)
{
  histogram->counts[curator_scale_bucket (scale, duration_us)]++;
  histogram->sum_us += (guint64) MAX (duration_us, 0);
}
