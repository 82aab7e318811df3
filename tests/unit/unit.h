/* Shared by the unit tests: cmocka with the includes it needs, and repeatable random numbers. */
#pragma once

#include "support/suite.h"

/* A generator whose seed is printed; CURATOR_TEST_SEED in the environment repeats a run. */
static inline GRand *
unit_rand_new (const char *test)
{
  const char *wanted = g_getenv ("CURATOR_TEST_SEED");
  guint32 seed = wanted != NULL ? (guint32) g_ascii_strtoull (wanted, NULL, 0) : g_random_int ();

  print_message ("%s: CURATOR_TEST_SEED=%u\n", test, seed);
  return g_rand_new_with_seed (seed);
}

/* In main: warnings that a test provokes are not shown. */
static inline GLogWriterOutput
unit_swallow_warnings (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  return (level & G_LOG_LEVEL_MASK) < G_LOG_LEVEL_WARNING
             ? g_log_writer_default (level, fields, n_fields, data)
             : G_LOG_WRITER_HANDLED;
}
