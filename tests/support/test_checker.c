/* The checker must reject bad histories, each for its reason and with its pair, and accept good
 * ones.
 *
 * Histories are written as "ms actor verb arguments; …". An actor is a letter for the process and a
 * digit for the thread (1 if left out). Verbs:
 *   ask [m|r|w|sPERMITS/LIMIT] [tMS]   acquire called (kind stays the actor's until named again)
 *   got TOKEN [SESSION], busy, cancelled, failed      how it returned
 *   drop [TOKEN], dropped, pending, refused           release called; how it returned
 *   suspect TOKEN, sample TOKEN tLEFT, lost TOKEN, deadline TOKEN, ended SESSION, died, wrote TOKEN
 *   taken TOKEN [SESSION] tMS      a third party deleted the node; maybe: or did not
 */
#include "checker.h"
#include "scratch.h"
#include "support/suite.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_ACTORS 256

static const struct
{
  const char *verb;
  RecordOp op;
  RecordResult result;
} VERBS[] = { { "ask", RECORD_ACQUIRE_CALLED, RECORD_OK },
              { "got", RECORD_ACQUIRE_RETURNED, RECORD_OK },
              { "busy", RECORD_ACQUIRE_RETURNED, RECORD_TIMED_OUT },
              { "cancelled", RECORD_ACQUIRE_RETURNED, RECORD_CANCELLED },
              { "failed", RECORD_ACQUIRE_RETURNED, RECORD_FAILED },
              { "drop", RECORD_RELEASE_CALLED, RECORD_OK },
              { "dropped", RECORD_RELEASE_RETURNED, RECORD_OK },
              { "pending", RECORD_RELEASE_RETURNED, RECORD_PENDING },
              { "refused", RECORD_RELEASE_RETURNED, RECORD_FAILED },
              { "lost", RECORD_LOST, RECORD_OK },
              { "deadline", RECORD_DEADLINE, RECORD_OK },
              { "ended", RECORD_SESSION_ENDED, RECORD_OK },
              { "died", RECORD_PROCESS_DIED, RECORD_OK },
              { "wrote", RECORD_RESOURCE_WRITE, RECORD_OK },
              { "suspect", RECORD_SUSPECT, RECORD_OK },
              { "sample", RECORD_SAMPLE, RECORD_OK },
              { "taken", RECORD_NODE_TAKEN, RECORD_OK },
              { "maybe", RECORD_NODE_TAKEN, RECORD_PENDING } };

static void
parse_verb (const char *word, RecordEvent *event)
{
  for (gsize i = 0; i < G_N_ELEMENTS (VERBS); i++) {
    if (strcmp (word, VERBS[i].verb) == 0) {
      event->op = VERBS[i].op;
      event->result = VERBS[i].result;
      return;
    }
  }
  fail_msg ("unknown verb %s", word);
}

static void
parse_kind (const char *word, RecordEvent *event)
{
  const char *slash = strchr (word, '/');
  event->kind = *word == 'm'   ? RECORD_MUTEX
                : *word == 'r' ? RECORD_READ
                : *word == 'w' ? RECORD_WRITE
                               : RECORD_SEMAPHORE;
  event->permits = *word == 's' ? (gint16) atoi (word + 1) : 1;
  event->limit = slash != NULL ? (gint16) atoi (slash + 1) : 1;
}

static void
parse_argument (const char *word, RecordEvent *event)
{
  if (*word == 't')
    event->timeout_ms = atoi (word + 1);
  else if (g_ascii_isalpha (*word))
    parse_kind (word, event);
  else if (event->op == RECORD_SESSION_ENDED || event->token != 0)
    event->session = atoi (word);
  else
    event->token = (guint64) atoi (word);
}

static RecordEvent
parse_event (const char *text, RecordEvent *actors)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  const char *actor = words[1];
  guint id =
      ((guint) (*actor - 'a') * 8 + (actor[1] != '\0' ? (guint) (actor[1] - '0') : 1)) % N_ACTORS;
  RecordEvent event = { .time_ns = g_ascii_strtoll (words[0], NULL, 10) * 1000000,
                        .process = *actor - 'a' + 1,
                        .thread = actor[1] != '\0' ? actor[1] - '0' : 1,
                        .timeout_ms = -1,
                        .kind = actors[id].kind,
                        .permits = MAX (actors[id].permits, 1),
                        .limit = MAX (actors[id].limit, 1) };
  parse_verb (words[2], &event);
  event.spare = event.op == RECORD_NODE_TAKEN ? (guint64) event.time_ns : 0;
  for (char **word = words + 3; *word != NULL; word++)
    parse_argument (*word, &event);
  actors[id] = event;
  return event;
}

static GArray *
parse_history (const char *text)
{
  RecordEvent actors[N_ACTORS] = { 0 };
  GArray *events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  g_auto (GStrv) parts = g_strsplit (text, "; ", -1);
  for (char **part = parts; *part != NULL; part++) {
    RecordEvent event = parse_event (*part, actors);
    event.serial = events->len;
    g_array_append_val (events, event);
  }
  return events;
}

static const CheckerRules RULES = { .max_overrun_ms = 100, .residue_ms = 20 };

static const struct
{
  CheckKind kind;
  guint first;
  guint second;
  const char *history;
} BAD[] = {
  /* two holders */
  { CHECK_TWO_HOLDERS, 1, 3, "0 a ask; 1 a got 5; 2 b ask; 3 b got 6; 4 a drop 5; 5 a dropped" },
  { CHECK_TWO_HOLDERS, 1, 3, "0 a ask; 1 a got 5; 2 a2 ask; 3 a2 got 6" },
  { CHECK_TWO_HOLDERS, 1, 6,
    "0 a ask; 1 a got 5; 2 a ask; 3 a got 5; 4 a drop 5; 5 b ask; 6 b got 7" },
  { CHECK_TWO_HOLDERS, 1, 3, "0 a ask w; 1 a got 5; 2 b ask r; 3 b got 6" },
  { CHECK_TWO_HOLDERS, 1, 3, "0 a ask r; 1 a got 5; 2 b ask w; 3 b got 6" },
  { CHECK_TWO_HOLDERS, 3, 6,
    "0 a ask r; 1 a got 5; 2 b ask r; 3 b got 6; 4 a drop 5; 4 a2 ask w; 5 a2 got 9; 6 b drop 6" },
  { CHECK_TWO_HOLDERS, 1, 3, "0 a ask w; 1 a got 5; 2 b ask w; 3 b got 6" },
  { CHECK_FORGED_TOKEN, 3, 3, "0 a ask; 1 a got 5; 2 b ask; 3 b lost 5; 4 b got 6" },
  { CHECK_TWO_HOLDERS, 1, 4, "0 a ask; 1 a got 5; 2 b ask; 3 c died; 4 b got 6" },
  { CHECK_TWO_HOLDERS, 1, 4, "0 a ask; 1 a got 5 70; 2 b ask; 3 a ended 70; 4 b got 6 71" },
  { CHECK_TWO_HOLDERS, 1, 3, "0 a ask w; 1 a got 5; 2 a2 ask r; 3 a2 got 6" },
  /* too many permits */
  { CHECK_TOO_MANY_PERMITS, 1, 3, "0 a ask s1/1; 1 a got 5; 2 b ask s1/1; 3 b got 6" },
  { CHECK_TOO_MANY_PERMITS, 1, 5,
    "0 a ask s1/2; 1 a got 5; 2 b ask s1/2; 3 b got 6; 4 c ask s1/2; 5 c got 7" },
  { CHECK_TOO_MANY_PERMITS, 1, 3, "0 a ask s2/3; 1 a got 5; 2 b ask s2/3; 3 b got 6" },
  { CHECK_TOO_MANY_PERMITS, 1, 1, "0 a ask s4/3; 1 a got 5" },
  { CHECK_TOO_MANY_PERMITS, 3, 8,
    "0 a ask s1/2; 1 a got 5; 2 b ask s1/2; 3 b got 6; 4 a drop 5; 5 a ask s1/2; 6 a got 7; "
    "7 c ask s1/1; 8 c got 8" },
  /* tokens */
  { CHECK_TOKEN_NOT_RISING, 1, 5,
    "0 a ask; 1 a got 5; 2 a drop 5; 3 a dropped; 4 b ask; 5 b got 4" },
  { CHECK_TOKEN_NOT_RISING, 4, 7,
    "0 a ask; 1 a got 3; 2 a drop 3; 3 b ask; 4 b got 9; 5 b drop 9; 6 c ask; 7 c got 5" },
  { CHECK_TOKEN_NOT_RISING, 1, 4, "0 a ask w; 1 a got 5; 2 a drop 5; 3 b ask r; 4 b got 4" },
  { CHECK_TOKEN_NOT_RISING, 1, 4, "0 a ask r; 1 a got 5; 2 a drop 5; 3 b ask w; 4 b got 4" },
  { CHECK_TOKEN_TWICE, 1, 4, "0 a ask; 1 a got 5; 2 a drop 5; 3 b ask; 4 b got 5" },
  { CHECK_TOKEN_TWICE, 1, 4, "0 a ask; 1 a got 5; 2 a drop 5; 3 a ask; 4 a got 5" },
  { CHECK_TOKEN_TWICE, 1, 3, "0 a ask s1/2; 1 a got 5; 2 b ask s1/2; 3 b got 5" },
  { CHECK_NO_TOKEN, 0, 1, "0 a ask; 1 a got 0" },
  { CHECK_REENTRY_TOKEN, 1, 3, "0 a ask; 1 a got 5; 2 a ask; 3 a got 6" },
  { CHECK_REENTRY_TOKEN, 1, 3, "0 a ask r; 1 a got 5; 2 a ask r; 3 a got 6" },
  /* ended sessions and dead processes */
  { CHECK_DEAD_SESSION, 1, 2, "0 a ask; 1 a ended 70; 2 a got 5 70" },
  { CHECK_DEAD_SESSION, 0, 4, "0 a ended 70; 1 b ask; 2 b failed; 3 a ask; 4 a got 5 70" },
  { CHECK_AFTER_DEATH, 1, 2, "0 a ask; 1 a died; 2 a got 5" },
  { CHECK_AFTER_DEATH, 2, 3, "0 a ask; 1 a got 5; 2 a died; 3 a drop 5" },
  /* negative answers */
  { CHECK_FALSE_BUSY, 0, 1, "0 a ask t0; 1 a busy" },
  { CHECK_FALSE_BUSY, 4, 5, "0 a ask; 1 a got 5; 2 a drop 5; 3 a dropped; 4 b ask t0; 5 b busy" },
  { CHECK_FALSE_BUSY, 2, 3, "0 a ask r; 1 a got 5; 2 b ask r t0; 3 b busy" },
  { CHECK_FALSE_BUSY, 2, 3, "0 a ask s1/3; 1 a got 5; 2 b ask s2/3 t0; 3 b busy" },
  { CHECK_FALSE_BUSY, 2, 3, "0 a ask t5; 5 a busy; 40 b ask t0; 41 b busy" },
  { CHECK_EARLY_TIMEOUT, 2, 3, "0 a ask; 1 a got 5; 2 b ask t100; 60 b busy" },
  { CHECK_EARLY_TIMEOUT, 2, 3, "0 a ask; 1 a got 5; 2 b ask; 60 b busy" },
  { CHECK_LATE_RETURN, 2, 3, "0 a ask; 1 a got 5; 2 b ask t100; 260 b busy" },
  { CHECK_LATE_RETURN, 0, 1, "0 a ask t100; 260 a got 5" },
  { CHECK_LATE_RETURN, 2, 3, "0 a ask; 1 a got 5; 2 b ask t50; 300 b failed" },
  /* calls that do not return, releases without a hold */
  { CHECK_NEVER_RETURNED, 0, 0, "0 a ask" },
  { CHECK_NEVER_RETURNED, 2, 4, "0 a ask; 1 a got 5; 2 b ask t10; 3 a drop 5; 9000 a dropped" },
  { CHECK_RELEASE_OF_NOTHING, 0, 1, "0 a drop; 1 a dropped" },
  { CHECK_RELEASE_OF_NOTHING, 2, 3, "0 a ask; 1 a got 5; 2 b drop 5; 3 b dropped" },
  /* the resource */
  { CHECK_STALE_WRITE, 5, 6,
    "0 a ask; 1 a got 5; 2 a lost 5; 3 b ask; 4 b got 6; 5 b wrote 6; 6 a wrote 5" },
  { CHECK_FORGED_TOKEN, 0, 0, "0 a wrote 5" },
  { CHECK_FORGED_TOKEN, 2, 2, "0 a ask; 1 a got 5; 2 a lost 9" },
  /* a holder that believes on after it received a loss */
  { CHECK_CONFIDENT_LOSER, 2, 4, "0 a ask; 1 a got 5; 2 a lost 5; 3 b ask; 4 a sample 5 t10" },
  { CHECK_CONFIDENT_LOSER, 2, 3, "0 a ask; 1 a got 5; 2 a deadline 5; 3 a sample 5 t1" },
  { CHECK_FORGED_TOKEN, 2, 2, "0 a ask; 1 a got 5; 2 a sample 6 t10" },
  { CHECK_FORGED_TOKEN, 1, 1, "0 a ask; 1 a suspect 5; 2 a got 5" },
  /* a third party deletes the node: its holder may believe for some time, and only this holder */
  { CHECK_TWO_HOLDERS, 1, 4,
    "0 a ask; 1 a got 5; 2 t taken 5 t10; 3 b ask; 13 b got 6; 14 a lost 5" },
  { CHECK_TWO_HOLDERS, 1, 4,
    "0 a ask; 1 a got 5; 2 t taken 4 t10; 3 b ask; 4 b got 6; 5 a lost 5" },
  { CHECK_TWO_HOLDERS, 1, 4,
    "0 a ask; 1 a got 5 70; 2 t taken 4 70 t10; 3 b ask; 4 b got 6; 5 a lost 5" },
  { CHECK_TOO_MANY_PERMITS, 1, 4,
    "0 a ask s1/1; 1 a got 5 70; 2 t taken 4 71 t10; 3 b ask s1/1; 4 b got 6 72; 5 a lost 5" },
  { CHECK_LATE_LOSS, 2, 3, "0 a ask; 1 a got 5; 2 t taken 5 t10; 13 a drop 5" },
  { CHECK_LATE_LOSS, 2, 3, "0 a ask; 1 a got 5; 2 t taken 5 t10; 13 a lost 5" },
  { CHECK_LATE_LOSS, 1, 3, "0 a ask; 1 t taken 5 t10; 2 a got 5; 13 a deadline 5" },
  { CHECK_LATE_LOSS, 1, 3, "0 a ask; 1 t taken 5 t10; 40 a got 5; 51 a drop 5" },
  /* the recording */
  { CHECK_MALFORMED, 0, 0, "0 a got 5" },
  { CHECK_MALFORMED, 0, 1, "0 a ask; 1 a ask; 2 a got 5" },
  { CHECK_MALFORMED, 2, 2, "0 a ask; 1 a got 5; 2 a dropped" },
};

static const char *const GOOD[] = {
  /* a third party deletes the node; another is granted the lock before the holder knows */
  "0 a ask; 1 a got 5; 2 t taken 5 t10; 3 b ask; 4 b got 6; 12 a lost 5; 13 a drop 5; 14 a dropped",
  "0 a ask; 1 t taken 5 t10; 2 b ask; 3 b got 6; 4 a got 5; 11 a deadline 5",
  "0 a ask; 1 t taken 5 t10; 40 a got 5; 49 a drop 5; 50 a dropped",
  "0 a ask; 1 a got 5; 2 t maybe 5 t10; 3 b ask; 4 b got 6; 5 b drop 6; 6 b dropped; 20 a drop 5",
  ("0 a ask s1/1; 1 a got 5 70; 2 t taken 4 70 t10; 3 b ask s1/1; 4 b got 6 71; 5 a lost 5"),
  "0 a ask; 1 a got 5; 2 t taken 5 t10; 3 a died; 4 b ask; 40 b got 6",
  "0 a ask; 1 a got 5; 2 a drop 5; 3 a dropped; 4 b ask; 5 b got 6; 6 b drop 6; 7 b dropped",
  /* handed over before the release has returned */
  "0 a ask; 1 a got 5; 2 b ask; 3 a drop 5; 4 b got 6; 5 a dropped; 6 b drop 6; 7 b dropped",
  /* re-entry */
  ("0 a ask; 1 a got 5; 2 a ask; 3 a got 5; 4 a drop 5; 5 a dropped; 6 a drop 5; 7 a dropped; "
   "8 b ask; 9 b got 6"),
  /* lost, reported, granted to another; the loser's release comes late and succeeds */
  "0 a ask; 1 a got 5 70; 2 b ask; 3 a lost 5; 4 b got 6 71; 5 a drop 5; 6 a dropped",
  "0 a ask; 1 a got 5; 2 a deadline 5; 3 b ask; 4 b got 6",
  "0 a ask; 1 a got 5; 2 a sample 5 t9; 3 a suspect 5; 11 a lost 5; 12 a sample 5 t0; 13 b ask; 14 "
  "b got 6",
  "0 a ask; 1 a got 5; 2 a died; 3 b ask; 4 b got 6",
  "0 a ask; 1 a died",
  /* readers together, a writer after them, a reader under its own write lock */
  "0 a ask r; 1 a got 5; 2 b ask r; 3 b got 6; 4 a drop 5; 5 b drop 6; 6 c ask w; 7 c got 7",
  "0 a ask w; 1 a got 5; 2 a ask r; 3 a got 6; 4 a drop 6",
  /* readers need not come in the order of their tokens */
  "0 a ask r; 0 b ask r; 1 b got 6; 2 a got 5",
  /* permits */
  "0 a ask s2/3; 1 a got 5; 2 b ask s1/3; 3 b got 6; 4 a drop 5; 5 c ask s2/3; 6 c got 7",
  "0 a ask s1/2; 1 a got 5; 2 a2 ask s1/2; 3 a2 got 6; 4 a3 ask s1/2 t0; 5 a3 busy",
  /* justly busy: held; queued ahead; just released; given up a moment ago */
  "0 a ask; 1 a got 5; 2 b ask t0; 3 b busy",
  "0 a ask; 1 b ask t0; 2 b busy; 3 a got 5",
  "0 a ask; 1 a got 5; 2 b ask t0; 3 a drop 5; 4 a dropped; 5 b busy",
  "0 a ask t5; 5 a failed; 15 b ask t0; 16 b busy",
  "0 a ask; 1 a got 5; 2 a drop 5; 3 a pending; 4 b ask t0; 500 b busy",
  "0 a ask; 1 a got 5; 2 a died; 3 b ask t0; 4 b busy",
  /* timeouts on time, cancelled early, a refused release without a hold */
  "0 a ask; 1 a got 5; 2 b ask t100; 102 b busy; 103 c ask; 110 c cancelled",
  "0 a drop; 1 a refused",
  /* the fenced resource refuses a stale writer, so no write is recorded */
  "0 a ask; 1 a got 5; 2 a wrote 5; 3 a lost 5; 4 b ask; 5 b got 6; 6 b wrote 6",
};

TEST (test_rejects_bad)
{
  gsize rejected = 0;
  assert_true (G_N_ELEMENTS (BAD) >= 40);
  for (gsize i = 0; i < G_N_ELEMENTS (BAD); i++) {
    g_autoptr (GArray) events = parse_history (BAD[i].history);
    g_autoptr (GPtrArray) violations = checker_run (events, &RULES);
    const CheckViolation *first = violations->len > 0 ? g_ptr_array_index (violations, 0) : NULL;
    if (first == NULL || first->kind != BAD[i].kind || first->first != BAD[i].first
        || first->second != BAD[i].second) {
      fail_msg ("history %zu (%s): wanted %s %u %u, first found: %s", i, BAD[i].history,
                check_kind_to_string (BAD[i].kind), BAD[i].first, BAD[i].second,
                first != NULL ? first->text : "nothing");
    }
    assert_non_null (strstr (first->text, check_kind_to_string (first->kind)));
    rejected++;
  }
  print_message ("bad histories rejected: %zu of %zu\n", rejected, G_N_ELEMENTS (BAD));
}

TEST (test_accepts_good)
{
  for (gsize i = 0; i < G_N_ELEMENTS (GOOD); i++) {
    g_autoptr (GArray) events = parse_history (GOOD[i]);
    g_autoptr (GPtrArray) violations = checker_run (events, &RULES);
    if (checker_print (violations) != 0)
      fail_msg ("history %zu is good: %s", i, GOOD[i]);
  }
}

static void
record_and_die (const char *directory)
{
  Recorder *recorder = recorder_open (directory, 7, 1, 16);
  recorder_add (recorder, (RecordEvent){ .op = RECORD_ACQUIRE_CALLED, .timeout_ms = -1 });
  recorder_add (recorder, (RecordEvent){ .op = RECORD_ACQUIRE_RETURNED, .token = 5 });
  kill (getpid (), SIGKILL);
}

TEST (test_log_survives_sigkill)
{
  char *directory = scratch_new ("log");
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  pid_t pid = fork ();
  if (pid == 0) {
    record_and_die (directory);
    _exit (1);
  }
  assert_int_equal (waitpid (pid, NULL, 0), pid);
  assert_true (recorder_read_all (directory, events));
  assert_int_equal (events->len, 2);
  assert_int_equal (g_array_index (events, RecordEvent, 1).token, 5);
  assert_int_equal (g_array_index (events, RecordEvent, 1).process, 7);
  scratch_remove (directory);
}

TEST (test_full_log_is_an_error)
{
  char *directory = scratch_new ("log");
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  Recorder *recorder = recorder_open (directory, 1, 1, 2);
  for (int i = 0; i < 3; i++)
    recorder_add (recorder, (RecordEvent){ .op = RECORD_ACQUIRE_CALLED });
  recorder_close (recorder);
  assert_false (recorder_read_all (directory, events));
  scratch_remove (directory);
}

TEST (test_imports_worker_lines)
{
  g_autoptr (GArray) events = g_array_new (FALSE, TRUE, sizeof (RecordEvent));
  RecordEvent model = { .process = 3, .lock = 9, .permits = 1, .limit = 1, .timeout_ms = -1 };
  assert_true (recorder_import_line ("QUEUED 2 1000", &model, events));
  assert_true (recorder_import_line ("GRANTED 2 2000 _c_x-lock-0000000000 77", &model, events));
  assert_true (recorder_import_line ("RELEASED 2 3000", &model, events));
  assert_false (recorder_import_line ("READY", &model, events));
  assert_false (recorder_import_line ("GRANTED 2 2000", &model, events));
  assert_int_equal (events->len, 4);
  const RecordEvent *grant = &g_array_index (events, RecordEvent, 1);
  assert_int_equal (grant->token, 77);
  assert_int_equal (grant->time_ns, 2000);
  assert_int_equal (grant->process, 3);
  assert_int_equal (grant->thread, 2);
  assert_int_equal (g_array_index (events, RecordEvent, 2).token, 77);
  g_autoptr (GPtrArray) violations = checker_run (events, &RULES);
  assert_int_equal (checker_print (violations), 0);
}

SUITE ("checker", NULL, NULL)
