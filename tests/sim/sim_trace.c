/* The trace of a schedule: the last lines of it, and a hash over all. Runs with the baton. */
#include "sim-private.h"

#include <stdarg.h>
#include <stdio.h>

#define N_LINES 250

typedef struct
{
  gint64 us;
  char text[160];
} Line;

/* A ring, of the only world at a time. Formatted when it is printed: most schedules are good, and
 * nobody reads them. */
static Line lines[N_LINES];

static void
print_line (const Line *line)
{
  fprintf (stderr, "%8" G_GINT64_FORMAT ".%03d %s\n", line->us / 1000, (int) (line->us % 1000),
           line->text);
}

void
sim_trace (SimWorld *world, const char *format, ...)
{
  const guint64 prime = G_GUINT64_CONSTANT (1099511628211);
  static int live = -1;
  Line *line = &lines[world->n_trace++ % N_LINES];
  va_list args;

  if (live < 0)
    live = g_getenv ("SIM_TRACE") != NULL;
  line->us = world->now;
  va_start (args, format);
  vsnprintf (line->text, sizeof line->text, format, args);
  va_end (args);
  world->hash = (world->hash ^ (guint64) line->us) * prime;
  for (const char *c = line->text; *c != '\0'; c++)
    world->hash = (world->hash ^ (guchar) *c) * prime;
  if (live > 0)
    print_line (line);
}

void
sim_trace_print (SimWorld *world)
{
  const guint64 first = world->n_trace > N_LINES ? world->n_trace - N_LINES : 0;

  fprintf (stderr, "--- trace of seed %u, from line %" G_GUINT64_FORMAT ", ms\n", world->seed,
           first);
  for (guint64 i = first; i < world->n_trace; i++)
    print_line (&lines[i % N_LINES]);
  fprintf (stderr, "--- %s\n--- replay: SIM_SEED=%u %s\n",
           world->failure == NULL ? "no failure" : world->failure, world->seed, g_get_prgname ());
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
  return type == ZOO_CREATED_EVENT   ? "created"
         : type == ZOO_DELETED_EVENT ? "deleted"
         : type == ZOO_CHANGED_EVENT ? "changed"
                                     : "child";
}
