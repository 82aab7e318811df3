/* Replies that lie, generated: each field of each kind of reply, in each way, in clear text and
 * through the channel. Each in a process of its own, which takes a lock, looks at it and releases
 * it. Nothing of ours crashes, memory is bounded, no call goes on for ever, and an error about a
 * reply names the server and the reply. What kills libzookeeper is what SECURITY.md says.
 */
#include "lying_server.h"

#define SUITE_FIXTURE void *none
#define SUITE_SETUP   NULL
#include "integration/fixture.h"
#include "support/sanitized.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL_MS   1500
#define CHILD_S   60
#define N_AT_ONCE 12
#define MOST_MORE (64 * 1024) /* KiB */

/* How a process has ended. */
enum
{
  ENDED_WELL = 0,
  DIED = 91,
  NEVER_ENDED = 92
};

/* What SECURITY.md says about libzookeeper: of a reply that ends before it should, it passes on what
 * it has not read. */
static gboolean
is_known_to_kill (const Lie *lie)
{
  const char *field = lying_server_field (lie->reply, lie->field);
  const gboolean becomes_event = strcmp (field, "xid") == 0 && lie->lie == LIE_MINUS_ONE;

  return lie->reply == REPLY_CREATE || lie->reply == REPLY_DATA || lie->reply == REPLY_EVENT
         || becomes_event;
}

typedef struct
{
  Lie lie;
  gboolean is_secured;
  pid_t pid;
  int from;
} Cell;

static struct
{
  Party party;
  long honest_kib[2];
  guint n_cells;
  guint n_deaths[N_REPLIES];
} world;

/* --- the process ------------------------------------------------------------------------------ */

static GString *said;

static GLogWriterOutput
keep (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  static GMutex mutex;

  g_mutex_lock (&mutex);
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp (fields[i].key, "MESSAGE") == 0)
      g_string_append_printf (said, "%s\n", (const char *) fields[i].value);
  g_mutex_unlock (&mutex);
  return G_LOG_WRITER_HANDLED;
}

static void
on_death (int number)
{
  _exit (DIED);
}

static void
on_alarm (int number)
{
  _exit (NEVER_ENDED);
}

static void
note_error (const char *what, GError **error)
{
  g_string_append_printf (said, "%s: %s\n", what, *error != NULL ? (*error)->message : "done");
  g_clear_error (error);
}

static void
be_a_client (const Cell *cell, int to)
{
  const int deaths[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
  g_autofree char *address = lying_server_start (cell->lie.reply < N_REPLIES ? &cell->lie : NULL,
                                                 cell->is_secured ? &world.party : NULL);
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_n_times (2, 20);
  CuratorClient *client = curator_client_new (address, policy);
  GError *error = NULL;
  struct rusage used;

  for (gsize i = 0; i < G_N_ELEMENTS (deaths); i++)
    signal (deaths[i], on_death);
  signal (SIGALRM, on_alarm);
  alarm (CHILD_S);
  said = g_string_new (NULL);
  g_string_append_printf (said, "server %s\n", address);
  g_log_set_writer_func (keep, NULL, NULL);
  curator_client_set_session_timeout (client, SESSION_MS);
  curator_client_set_connection_timeout (client, CALL_MS);
  if (cell->is_secured) {
    g_autoptr (CuratorTls) tls = curator_tls_new ();
    curator_tls_set_verify (tls, FALSE);
    if (!curator_client_set_tls (client, tls, &error))
      _exit (1);
  }
  CuratorLock *lock = curator_mutex_new (client, "/p", &error);
  if (!curator_client_start (client, &error))
    _exit (1);
  if (curator_lock_acquire (lock, CALL_MS, NULL, &error))
    note_error ("acquire", &error);
  else
    note_error ("acquire failed", &error);
  CuratorInspection *inspection = curator_client_inspect (client, "/p", CALL_MS, NULL, &error);
  g_clear_pointer (&inspection, curator_inspection_unref);
  note_error ("inspect", &error);
  (void) !curator_lock_release (lock, CALL_MS, NULL, &error);
  note_error ("release", &error);
  error = curator_client_dup_connection_error (client);
  note_error ("connection", &error);
  curator_lock_unref (lock);
  curator_client_close (client);
  curator_client_unref (client);
  getrusage (RUSAGE_SELF, &used);
  g_string_append_printf (said, "peak %ld\n", used.ru_maxrss);
  (void) !write (to, said->str, MIN (said->len, 60000));
  _exit (ENDED_WELL);
}

/* --- the judgement ---------------------------------------------------------------------------- */

static void
cell_start (Cell *cell)
{
  int fds[2];

  assert_int_equal (pipe (fds), 0);
  fflush (NULL);
  cell->pid = fork ();
  if (cell->pid == 0) {
    close (fds[0]);
    be_a_client (cell, fds[1]);
  }
  close (fds[1]);
  cell->from = fds[0];
}

static char *
cell_end (Cell *cell, int *code)
{
  GString *text = g_string_new (NULL);
  char bytes[4096];
  gssize n;
  int status;

  while ((n = read (cell->from, bytes, sizeof bytes)) > 0)
    g_string_append_len (text, bytes, n);
  close (cell->from);
  assert_int_equal (waitpid (cell->pid, &status, 0), cell->pid);
  *code = WIFEXITED (status) ? WEXITSTATUS (status) : DIED;
  return g_string_free (text, FALSE);
}

static long
peak_of (const char *text)
{
  const char *peak = g_strrstr (text, "peak ");
  return peak != NULL ? (long) g_ascii_strtoll (peak + strlen ("peak "), NULL, 10) : 0;
}

static gboolean
cell_check (Cell *cell)
{
  const Lie *lie = &cell->lie;
  int code;
  g_autofree char *text = cell_end (cell, &code);
  const char *field = lying_server_field (lie->reply, lie->field);
  const char *what = NULL;
  const gboolean is_of_count = lie->reply == REPLY_CHILDREN && strcmp (field, "count") == 0;

  world.n_cells++;
  if (code == DIED) {
    world.n_deaths[lie->reply]++;
    what = is_known_to_kill (lie) ? NULL : "kills";
  } else if (code != ENDED_WELL) {
    what = "never ends";
  } else if (peak_of (text) > world.honest_kib[cell->is_secured] + MOST_MORE) {
    what = "takes too much memory";
  } else if (is_of_count
             && (lie->lie == LIE_ONE_MORE || lie->lie == LIE_MINUS_ONE || lie->lie == LIE_MOST)
             && strstr (text, "the server's list of children") == NULL) {
    what = "is not told";
  }
  if (what != NULL)
    print_error ("%s, %s, %s%s: %s\n%s\n", lying_replies[lie->reply], field, lying_lies[lie->lie],
                 cell->is_secured ? ", TLS" : "", what, text);
  return what == NULL;
}

static GArray *
all_cells (void)
{
  GArray *cells = g_array_new (FALSE, TRUE, sizeof (Cell));

  for (int is_secured = 0; is_secured <= 1; is_secured++)
    for (ReplyKind reply = REPLY_CONNECT; reply < N_REPLIES; reply++)
      for (guint field = 0; lying_server_field (reply, field) != NULL; field++)
        for (LieKind lie = LIE_MINUS_ONE; lie < N_LIES; lie++) {
          const Cell cell = { .lie = { reply, field, lie }, .is_secured = is_secured };
          if (lying_server_applies (&cell.lie))
            g_array_append_val (cells, cell);
        }
  return cells;
}

TEST (test_honest_replies)
{
  if (IS_SANITIZED)
    skip ();
  for (int is_secured = 0; is_secured <= 1; is_secured++) {
    Cell cell = { .lie = { .reply = N_REPLIES }, .is_secured = is_secured };
    int code;
    cell_start (&cell);
    g_autofree char *text = cell_end (&cell, &code);
    if (code != ENDED_WELL
        || strstr (text, "acquire: done\ninspect: done\nrelease: done\n") == NULL)
      fail_msg ("an honest server: %d\n%s", code, text);
    world.honest_kib[is_secured] = peak_of (text);
  }
}

TEST (test_every_lie)
{
  if (IS_SANITIZED)
    skip ();
  g_autoptr (GArray) cells = all_cells ();
  gboolean good = TRUE;

  for (guint i = 0; i < cells->len + N_AT_ONCE; i++) {
    if (i >= N_AT_ONCE && i - N_AT_ONCE < cells->len)
      good = cell_check (&g_array_index (cells, Cell, i - N_AT_ONCE)) && good;
    if (i < cells->len)
      cell_start (&g_array_index (cells, Cell, i));
  }
  print_message ("%u cells\n", world.n_cells);
  for (ReplyKind reply = REPLY_CONNECT; reply < N_REPLIES; reply++)
    print_message ("%s: %u deaths\n", lying_replies[reply], world.n_deaths[reply]);
  assert_true (good);
  /* The list in SECURITY.md is still true. */
  assert_true (world.n_deaths[REPLY_CREATE] > 0 && world.n_deaths[REPLY_DATA] > 0
               && world.n_deaths[REPLY_EVENT] > 0);
}

static int
start (void **state)
{
  world.party = party_new ("liar", NULL, 0);
  return 0;
}

static int
stop (void **state)
{
  party_clear (&world.party);
  return 0;
}

SUITE ("lying_replies", start, stop)
