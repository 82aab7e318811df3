/* A histogram of durations with fixed buckets, each a power of two longer than the one before. */
#pragma once

#include <glib.h>

#define CURATOR_MAX_BUCKETS 20

typedef struct
{
  gint64 first_us; /* limit of the first bucket */
  guint doublings; /* from one limit to the next */
  guint n_limits;  /* the last bucket has none: n_limits + 1 buckets */
} CuratorScale;

typedef struct
{
  guint64 counts[CURATOR_MAX_BUCKETS]; /* of each bucket alone */
  guint64 sum_us;
} CuratorHistogram;

/* The bucket of a duration that is below its limit and not below the limit before. */
guint curator_scale_bucket (const CuratorScale *scale, gint64 duration_us);
gint64 curator_scale_limit_us (const CuratorScale *scale, guint bucket);
void curator_histogram_add (CuratorHistogram *histogram, const CuratorScale *scale,
                            gint64 duration_us);
