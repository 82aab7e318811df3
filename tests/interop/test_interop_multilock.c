/* Multi-locks of the same eight mutexes in C and Java: the members that C takes together neither
 * deadlock with the one after another of Java, nor starve it. */
#include "contest_test.h"

#define N_MEMBERS 8
#define PATHS     "paths:8"
/* Acquisitions in each contest, where the environment sets it. Then each contest is also held with
 * members that C acquires one after another, and the rates are printed. */
#define TOTAL_VARIABLE "CURATOR_TEST_MULTILOCK_ACQUISITIONS"
#define SHORT_TOTAL    60
/* Contests of the two kinds alternate after so many. */
#define ROUND 500

typedef struct
{
  const char *name;
  const char *c_recipe;
  int n_c_processes;
} Shape;

static const Shape shapes[] = {
  { "one process in C, one in Java", PATHS, 1 },
  { "two in C, one in Java", PATHS, 2 },
  { "two in C, sorted, one in Java", PATHS ":sorted", 2 },
};

/* All of Java's come last. */
static GArray *
hold_contest (ZkServer *server, const char *path, const char *c_recipe, int n_c, int each)
{
  ContestProcess processes[4] = { { NULL, FALSE, 0, 0 } };
  const ContestPlan plan = { .connect_string = zk_server_address (server),
                             .path = path,
                             .processes = processes,
                             .hold_ms = 1,
                             .limit = 1 };
  for (int i = 0; i <= n_c; i++)
    processes[i] = (ContestProcess){ i < n_c ? c_recipe : PATHS, i == n_c, 1, each };
  GArray *events = contest_run (&plan, 60000 + each * 500);
  assert_non_null (events);
  assert_good_history (events);
  for (int i = 0; i <= n_c; i++)
    assert_int_equal (contest_grants (events, i + 1), each);
  for (int i = 0; i < N_MEMBERS; i++)
    {
      g_autofree char *member = g_strdup_printf ("%s/%d", path, i);
      assert_none_below (server, member);
    }
  return events;
}

typedef struct
{
  int grants;
  double seconds;
} Rate;

/* While all processes competed. */
static void
add_common (Rate *rate, const GArray *events, int n_processes)
{
  gint64 from = 0;
  gint64 to = G_MAXINT64;
  for (int process = 1; process <= n_processes; process++)
    {
      gint64 first = G_MAXINT64;
      gint64 last = 0;
      for (guint i = 0; i < events->len; i++)
        {
          const RecordEvent *event = &g_array_index (events, RecordEvent, i);
          first = event->process == process ? MIN (first, event->time_ns) : first;
          last = event->process == process ? MAX (last, event->time_ns) : last;
        }
      from = MAX (from, first);
      to = MIN (to, last);
    }
  for (guint i = 0; i < events->len; i++)
    {
      const RecordEvent *event = &g_array_index (events, RecordEvent, i);
      rate->grants +=
          event->op == RECORD_ACQUIRE_RETURNED && event->time_ns >= from && event->time_ns <= to;
    }
  rate->seconds += to > from ? (double) (to - from) / 1e9 : 0;
}

static double
per_second (const Rate *rate)
{
  return rate->seconds > 0 ? rate->grants / rate->seconds : 0;
}

static void
contend (ZkServer *server, const Shape *shape, int total, gboolean compare)
{
  static int serial;
  Rate together = { 0 };
  Rate apart = { 0 };
  const int n_processes = shape->n_c_processes + 1;

  for (int left = total; left > 0; left -= ROUND)
    {
      const int each = (MIN (left, ROUND) + n_processes - 1) / n_processes;
      g_autofree char *path = g_strdup_printf ("/interop/multi/%d", ++serial);
      g_autoptr (GArray) events =
          hold_contest (server, path, shape->c_recipe, shape->n_c_processes, each);
      add_common (&together, events, n_processes);
      if (compare)
        {
          g_autofree char *other = g_strconcat (path, "-apart", NULL);
          g_autoptr (GArray) others =
              hold_contest (server, other, PATHS ":apart", shape->n_c_processes, each);
          add_common (&apart, others, n_processes);
        }
    }
  print_message ("%s: %.1f acquisitions a second while all competed", shape->name,
                 per_second (&together));
  if (compare)
    print_message (", and %.1f where C takes one member after another", per_second (&apart));
  print_message ("\n");
}

TEST (test_multilock)
{
  const char *given = g_getenv (TOTAL_VARIABLE);
  const int total = given != NULL ? (int) g_ascii_strtoll (given, NULL, 10) : SHORT_TOTAL;

  assert_true (total > 0);
  for (gsize i = given != NULL ? 0 : 1; i < G_N_ELEMENTS (shapes); i++)
    contend (server, &shapes[i], total, given != NULL);
}

SUITE ("interop: multi-locks", contest_server_start, contest_server_stop)
