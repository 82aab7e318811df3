/* Each duration is counted in the bucket between whose limits it lies. */
#include "base/histogram.h"
#include "unit.h"

static const CuratorScale scales[] = {
  { .first_us = 1000, .doublings = 2, .n_limits = 9 },
  { .first_us = 1000, .doublings = 2, .n_limits = 14 },
  { .first_us = 250, .doublings = 1, .n_limits = 17 },
};

static guint
bucket_by_search (const CuratorScale *scale, gint64 duration_us)
{
  guint bucket = 0;
  while (bucket < scale->n_limits && duration_us >= curator_scale_limit_us (scale, bucket))
    bucket++;
  return bucket;
}

/* Half of them next to a limit. */
TEST (test_any_duration)
{
  g_autoptr (GRand) rand = unit_rand_new (__func__);
  for (int i = 0; i < 300000; i++) {
    const CuratorScale *scale = &scales[g_rand_int_range (rand, 0, G_N_ELEMENTS (scales))];
    gint64 duration = (gint64) g_rand_int (rand) << g_rand_int_range (rand, 0, 31)
                      >> g_rand_int_range (rand, 0, 31);
    if (i % 2 == 0)
      duration = curator_scale_limit_us (
                     scale, (guint) g_rand_int_range (rand, 0, (gint32) scale->n_limits))
                 + g_rand_int_range (rand, -1, 2);
    assert_int_equal (curator_scale_bucket (scale, duration), bucket_by_search (scale, duration));
  }
}

TEST (test_extremes)
{
  for (gsize i = 0; i < G_N_ELEMENTS (scales); i++) {
    CuratorHistogram histogram = { 0 };
    curator_histogram_add (&histogram, &scales[i], G_MININT64);
    curator_histogram_add (&histogram, &scales[i], 0);
    assert_int_equal (histogram.counts[0], 2);
    assert_int_equal (histogram.sum_us, 0);
    curator_histogram_add (&histogram, &scales[i], G_MAXINT64);
    assert_int_equal (histogram.counts[scales[i].n_limits], 1);
    assert_true (histogram.sum_us == G_MAXINT64);
    assert_true (scales[i].n_limits < CURATOR_MAX_BUCKETS);
  }
}

SUITE ("histogram", NULL, NULL)
