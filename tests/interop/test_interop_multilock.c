/* Multi-locks of the same eight mutexes in C and Java: the members that C takes together neither
 * deadlock with the one after another of Java, nor starve it. */
#include "contest_test.h"

#define PATHS "paths:8"
/* Acquisitions in each contest, where the environment sets it. Then each contest is also held with
 * members that C acquires one after another, and the rates are printed. */
#define TOTAL_VARIABLE "CURATOR_TEST_MULTILOCK_ACQUISITIONS"
#define SHORT_TOTAL    60
/* Contests of the two kinds alternate after so many. */
#define ROUND 500

typedef struct
{
  const char *c_recipe;
  int n_c_processes;
} Shape;

static const Shape shapes[] = { { PATHS, 1 }, { PATHS, 2 }, { PATHS ":sorted", 2 } };

typedef struct
{
  int grants;
  double seconds;
} Rate;

/* Adds what happened while all processes competed. */
static void
hold_contest (Fixture *fixture, const char *path, const char *c_recipe, int n_c, int each,
              Rate *rate)
{
  const ContestPlan plan = { .connect_string = fixture_server (fixture),
                             .path = path,
                             .c_recipe = c_recipe,
                             .java_recipe = PATHS,
                             .n_c = n_c,
                             .threads = 1,
                             .acquisitions = each,
                             .hold_ms = 1 };
  g_autoptr (GArray) events = assert_contest (fixture->raw, &plan);
  gint64 from_ns;
  gint64 to_ns;
  contest_common_time (events, 1, n_c + 1, &from_ns, &to_ns);
  rate->grants += contest_grants (events, 0, from_ns, to_ns);
  rate->seconds += to_ns > from_ns ? (double) (to_ns - from_ns) / 1e9 : 0;
}

static double
per_second (const Rate *rate)
{
  return rate->seconds > 0 ? rate->grants / rate->seconds : 0;
}

static void
contend (Fixture *fixture, const Shape *shape, int total, gboolean compare)
{
  static int serial;
  Rate together = { 0 };
  Rate apart = { 0 };
  const int n_processes = shape->n_c_processes + 1;

  for (int left = total; left > 0; left -= ROUND) {
    const int each = (MIN (left, ROUND) + n_processes - 1) / n_processes;
    g_autofree char *path = g_strdup_printf ("/interop/multi/%d", ++serial);
    hold_contest (fixture, path, shape->c_recipe, shape->n_c_processes, each, &together);
    if (compare) {
      g_autofree char *other = g_strconcat (path, "-apart", NULL);
      hold_contest (fixture, other, PATHS ":apart", shape->n_c_processes, each, &apart);
    }
  }
  print_message ("%s, %d processes in C: %.1f acquisitions a second while all competed",
                 shape->c_recipe, shape->n_c_processes, per_second (&together));
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
    contend (fixture, &shapes[i], total, given != NULL);
}

SUITE ("interop: multi-locks", fixture_start_slow, fixture_stop)
