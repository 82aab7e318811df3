/* The trace of a schedule: the last lines of it, and a hash over all. Runs with the baton.
 *
 * Names of lock nodes contain a UUID; the trace replaces each by a number, so that two runs of one
 * seed have the same trace even where UUIDs come from the system.
 */
#include "sim-private.h"
#include "support/suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define N_LINES     4096
#define TEXT_SIZE   121
#define UUID_LENGTH 36

struct _SimTraceLine
{
  gint64 us;
  char text[TEXT_SIZE];
};

static SimTraceLine *spare;

static gboolean
is_uuid (const char *text)
{
  for (int i = 0; i < UUID_LENGTH; i++)
    {
      gboolean dash = i == 8 || i == 13 || i == 18 || i == 23;

      if (dash ? text[i] != '-' : !g_ascii_isxdigit (text[i]))
        return FALSE;
    }
  return TRUE;
}

static int
alias_of (SimWorld *world, const char *uuid)
{
  char key[UUID_LENGTH + 1];
  gpointer found;

  memcpy (key, uuid, UUID_LENGTH);
  key[UUID_LENGTH] = '\0';
  if (world->aliases == NULL)
    world->aliases = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  found = g_hash_table_lookup (world->aliases, key);
  if (found == NULL)
    {
      found = GUINT_TO_POINTER (g_hash_table_size (world->aliases) + 1);
      g_hash_table_insert (world->aliases, g_strdup (key), found);
    }
  return (int) GPOINTER_TO_UINT (found);
}

static void
abbreviate (SimWorld *world, char *line)
{
  char *from = line;
  char *found;

  while ((found = strstr (from, "_c_")) != NULL)
    {
      char *uuid = found + 3;
      int length;

      from = uuid;
      if (!is_uuid (uuid))
        continue;
      length = snprintf (uuid, UUID_LENGTH, "<%d>", alias_of (world, uuid));
      uuid[length] = uuid[UUID_LENGTH];
      memmove (uuid + length, uuid + UUID_LENGTH, strlen (uuid + UUID_LENGTH) + 1);
    }
}

static void
add_to_hash (SimWorld *world, const SimTraceLine *line)
{
  const guint64 prime = G_GUINT64_CONSTANT (1099511628211);

  world->hash = (world->hash ^ (guint64) line->us) * prime;
  for (const char *c = line->text; *c != '\0'; c++)
    world->hash = (world->hash ^ (guchar) *c) * prime;
}

/* Formatted only when it is printed: most schedules are good, and nobody reads them. */
static void
print_line (const SimTraceLine *line)
{
  fprintf (stderr, "%8" G_GINT64_FORMAT ".%03d %s\n", line->us / 1000, (int) (line->us % 1000),
           line->text);
}

void
sim_trace (SimWorld *world, const char *format, ...)
{
  static int live = -1;
  char text[512];
  SimTraceLine *line;
  va_list args;

  if (live < 0)
    live = g_getenv ("SIM_TRACE") != NULL;
  va_start (args, format);
  vsnprintf (text, sizeof text, format, args);
  va_end (args);
  abbreviate (world, text);
  if (world->trace == NULL)
    world->trace = spare != NULL ? g_steal_pointer (&spare) : g_new (SimTraceLine, N_LINES);
  line = &world->trace[world->n_trace++ % N_LINES];
  line->us = world->now;
  g_strlcpy (line->text, text, TEXT_SIZE);
  add_to_hash (world, line);
  if (live > 0)
    print_line (line);
}

void
sim_trace_print (SimWorld *world)
{
  guint64 first = world->n_trace > N_LINES ? world->n_trace - N_LINES : 0;
  guint64 want = g_getenv ("SIM_TRACE_LINES") == NULL
                     ? 250
                     : g_ascii_strtoull (g_getenv ("SIM_TRACE_LINES"), NULL, 10);

  if (world->n_trace - first > want)
    first = world->n_trace - want;
  fprintf (stderr,
           "--- trace of seed %u, lines %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT ", ms\n",
           world->seed, first, world->n_trace);
  for (guint64 i = first; i < world->n_trace; i++)
    print_line (&world->trace[i % N_LINES]);
  fprintf (stderr, "--- %s\n", world->failure == NULL ? "no failure" : world->failure->str);
  if (world->label != NULL)
    fprintf (stderr, "--- in %s\n", world->label);
  fprintf (stderr, "--- replay: SIM_SEED=%u %s\n", world->seed,
           g_get_prgname () == NULL ? "(this test)" : g_get_prgname ());
}

void
sim_trace_free (SimWorld *world)
{
  /* The ring is large: the next world reuses it. */
  g_free (spare);
  spare = g_steal_pointer (&world->trace);
  g_clear_pointer (&world->aliases, g_hash_table_unref);
}

guint64
sim_world_trace_hash (SimWorld *world)
{
  return world->hash;
}

const char *
sim_op_name (SimOp op)
{
  static const char *const names[SIM_N_OPS] = { "create",   "remove", "get",       "exists",
                                                "children", "set",    "sync",      "check",
                                                "unwatch",  "close",  "remove-all" };

  return names[op];
}

const char *
sim_fault_name (SimFault fault)
{
  static const char *const names[SIM_N_FAULTS] = {
    "drop",   "quiet drop", "duplicate event", "silence", "deafness", "outage",
    "expiry", "pause",      "suspend",         "stop",    "stall",    "cut",
    "liar",   "lag",        "freeze",          "reaper",  "crash"
  };

  return names[fault];
}

const char *
sim_type_name (int type)
{
  return type == ZOO_CREATED_EVENT   ? "CREATED"
         : type == ZOO_DELETED_EVENT ? "DELETED"
         : type == ZOO_CHANGED_EVENT ? "CHANGED"
         : type == ZOO_CHILD_EVENT   ? "CHILD"
                                     : "?";
}

/* --- the library's messages ----------------------------------------------------------------- */

static GLogWriterOutput
swallow (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  if (g_getenv ("SIM_TRACE") == NULL && (level & G_LOG_LEVEL_MASK) >= G_LOG_LEVEL_WARNING)
    return G_LOG_WRITER_HANDLED;
  return g_log_writer_default (level, fields, n_fields, NULL);
}

void
sim_prepare (const char *program)
{
  g_set_prgname (program);
  g_log_set_writer_func (swallow, NULL, NULL);
  sim_pin_to_one_cpu ();
  sim_report_crashes ();
  if (g_getenv ("SIM_TEST") != NULL)
    cmocka_set_test_filter (g_getenv ("SIM_TEST"));
}
