/* probes [--must-be-right] SUBJECT [PROBE...]
 *
 * Puts a program with ZooKeeper's zoo_lock.h (probe_subject.c) into eight situations, and prints
 * for each a line "PROBE<tab>right" or "PROBE<tab>wrong<tab>what was seen". What counts is what
 * others see: the nodes on the server and their sessions, the frames that pass a proxy, whether a
 * process has ended, and when which process works, which it does as long as it takes itself for the
 * owner.
 *
 * Exits with 0; with 1 if the subject must be right and is not; with 2 if a probe could not be
 * made.
 */
#include "support/expire.h"
#include "support/metronome.h"
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_MS      10000 /* does not end before it should on a busy machine */
#define LONG_SESSION_MS 40000 /* outlives any delay of the machine */
#define LONG_MS         60000 /* for what must happen, without a promised bound */
#define SHORT_MS        1000  /* for what must not happen */
#define N_HERD          16
#define N_TOLD          2 /* a release may wake the next one, and one that watches out for it */
#define MOST            32

typedef struct
{
  pid_t pid;
  int in;
  pthread_t reader;
  int out;
  pthread_mutex_t mutex;
  int answers; /* mutex guards these */
  gboolean has_failed;
  gint64 session;     /* of the handle that was opened last */
  GArray *work[MOST]; /* gint64, ns */
} Subject;

typedef struct _Probe
{
  const char *name;
  void (*run) (struct _Probe *probe);
  const char *program;
  const char *server;
  int session_ms; /* of its subjects */
  RawZk *raw;
  Proxy *proxy;
  char *path;
  char *rehearsal; /* a path for finding out what the subject sends */
  GPtrArray *subjects;
  char *seen; /* what is wrong; NULL: nothing */
} Probe;

static void G_GNUC_PRINTF (2, 3) G_GNUC_NORETURN
    broken (const Probe *probe, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_printerr ("probes: %s: %s\n", probe->name, text);
  _exit (2);
}

/* Keeps what was seen first. */
static gboolean G_GNUC_PRINTF (3, 4) expect (Probe *probe, gboolean good, const char *format, ...)
{
  if (!good && probe->seen == NULL) {
    va_list arguments;
    va_start (arguments, format);
    probe->seen = g_strdup_vprintf (format, arguments);
    va_end (arguments);
  }
  return good;
}

static void
take_line (Subject *subject, char *line)
{
  g_auto (GStrv) words = g_strsplit (g_strchomp (line), " ", 3);
  pthread_mutex_lock (&subject->mutex);
  if (g_strcmp0 (words[0], "work") == 0 && words[1] != NULL && words[2] != NULL) {
    const gint64 now = g_ascii_strtoll (words[2], NULL, 10);
    g_array_append_val (subject->work[atoi (words[1]) % MOST], now);
  } else {
    subject->answers++;
    subject->has_failed |= g_strcmp0 (words[0], "done") != 0;
    if (words[0] != NULL && words[1] != NULL)
      subject->session = g_ascii_strtoll (words[1], NULL, 10);
  }
  pthread_mutex_unlock (&subject->mutex);
}

static gpointer
read_lines (gpointer data)
{
  Subject *subject = data;
  FILE *file = fdopen (subject->out, "r");
  char *line = NULL;
  size_t size = 0;
  while (getline (&line, &size, file) > 0)
    take_line (subject, line);
  free (line);
  fclose (file);
  return NULL;
}

static Subject *
subject_start (Probe *probe)
{
  char *argv[] = { (char *) probe->program, NULL };
  g_autoptr (GError) error = NULL;
  Subject *subject = g_new0 (Subject, 1);
  pthread_mutex_init (&subject->mutex, NULL);
  for (int i = 0; i < MOST; i++)
    subject->work[i] = g_array_new (FALSE, FALSE, sizeof (gint64));
  if (!g_spawn_async_with_pipes (NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                                 &subject->pid, &subject->in, &subject->out, NULL, &error))
    broken (probe, "%s", error->message);
  pthread_create (&subject->reader, NULL, read_lines, subject);
  g_ptr_array_add (probe->subjects, subject);
  return subject;
}

static void
subject_kill (Subject *subject)
{
  if (subject->pid != 0) {
    kill (subject->pid, SIGKILL);
    while (waitpid (subject->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    subject->pid = 0;
    pthread_join (subject->reader, NULL);
  }
}

static void
subject_free (gpointer data)
{
  Subject *subject = data;
  subject_kill (subject);
  close (subject->in);
  for (int i = 0; i < MOST; i++)
    g_array_unref (subject->work[i]);
  pthread_mutex_destroy (&subject->mutex);
  g_free (subject);
}

static int
answers (Subject *subject)
{
  pthread_mutex_lock (&subject->mutex);
  const int n = subject->answers;
  pthread_mutex_unlock (&subject->mutex);
  return n;
}

/* Returns the number of answers when it has answered. */
static int G_GNUC_PRINTF (3, 4) tell (Probe *probe, Subject *subject, const char *format, ...)
{
  const int n = answers (subject) + 1;
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *whole = g_strconcat (line, "\n", NULL);
  if (write (subject->in, whole, strlen (whole)) != (ssize_t) strlen (whole))
    broken (probe, "the subject has ended");
  return n;
}

static gboolean
wait_answer (Subject *subject, int n)
{
  return holds_within (answers (subject) >= n, LONG_MS);
}

/* Returns its session. */
static gint64
subject_open (Probe *probe, Subject *subject, int h, const char *address)
{
  if (!wait_answer (subject, tell (probe, subject, "open %d %s %d", h, address, probe->session_ms))
      || subject->has_failed)
    broken (probe, "the subject does not connect");
  return subject->session;
}

static void
subject_init (Probe *probe, Subject *subject, int m, int h, const char *path)
{
  if (!wait_answer (subject, tell (probe, subject, "init %d %d %s", m, h, path))
      || subject->has_failed)
    broken (probe, "the subject cannot initialize its mutex");
}

/* A subject with a handle 0 and a mutex 0 of the path. */
static Subject *
subject_at (Probe *probe, const char *address, const char *path)
{
  Subject *subject = subject_start (probe);
  subject_open (probe, subject, 0, address);
  subject_init (probe, subject, 0, 0, path);
  return subject;
}

/* When it first worked after that time; 0: it has not. */
static gint64
first_work (Subject *subject, int m, gint64 after_ns)
{
  gint64 found = 0;
  pthread_mutex_lock (&subject->mutex);
  for (guint i = 0; found == 0 && i < subject->work[m]->len; i++) {
    const gint64 at = g_array_index (subject->work[m], gint64, i);
    found = at > after_ns ? at : 0;
  }
  pthread_mutex_unlock (&subject->mutex);
  return found;
}

static gint64
last_work (Subject *subject, int m)
{
  pthread_mutex_lock (&subject->mutex);
  const GArray *work = subject->work[m];
  const gint64 last = work->len > 0 ? g_array_index (work, gint64, work->len - 1) : 0;
  pthread_mutex_unlock (&subject->mutex);
  return last;
}

static gboolean
wait_work (Subject *subject, int m, gint64 after_ns, int timeout_ms)
{
  return holds_within (first_work (subject, m, after_ns) != 0, timeout_ms);
}

/* Calls and waits; FALSE, and seen, if the call does not return. */
static gboolean
call (Probe *probe, Subject *subject, const char *what, int m)
{
  return expect (probe, wait_answer (subject, tell (probe, subject, "%s %d", what, m)),
                 "zkr_lock_%s () does not return", what);
}

/* Locks a lock that is free. A subject that cannot do even this is probed no further. */
static gboolean
hold (Probe *probe, Subject *subject, int m)
{
  return call (probe, subject, "lock", m)
         && expect (probe, wait_work (subject, m, 0, LONG_MS), "a free lock is not granted");
}

/* Joins a queue behind others. */
static gboolean
queue (Probe *probe, Subject *subject, int m, int n_children)
{
  return call (probe, subject, "lock", m)
         && expect (probe, raw_zk_wait_children (probe->raw, probe->path, n_children, LONG_MS),
                    "%d nodes instead of %d", raw_zk_count_children (probe->raw, probe->path),
                    n_children);
}

static gboolean
is_empty_soon (Probe *probe)
{
  return expect (probe, raw_zk_wait_children (probe->raw, probe->path, 0, LONG_MS),
                 "a node is left after the release");
}

static gboolean
is_create (const ProxyFrame *frame)
{
  return frame->type == PROXY_CREATE || frame->type == PROXY_CREATE2
         || frame->type == PROXY_CREATE_CONTAINER;
}

static gboolean
is_below (const ProxyFrame *frame, const char *path)
{
  return frame->path != NULL && g_str_has_prefix (frame->path, path)
         && frame->path[strlen (path)] == '/';
}

/* The number of the frame among the requests of its type, from 1. */
static int
ordinal (const GPtrArray *frames, guint at)
{
  const ProxyFrame *this = g_ptr_array_index (frames, at);
  int n = 0;
  for (guint i = 0; i <= at; i++) {
    const ProxyFrame *frame = g_ptr_array_index (frames, i);
    n += !frame->is_reply && frame->type == this->type;
  }
  return n;
}

/* The reply to the create of its node is lost with the connection: the server has the node, and the
 * subject does not know. */
static void
probe_lost_reply (Probe *probe)
{
  int type = 0;
  int k = 0;
  Subject *first = subject_at (probe, proxy_address (probe->proxy), probe->rehearsal);
  proxy_log_start (probe->proxy);
  if (!hold (probe, first, 0))
    return;
  g_autoptr (GPtrArray) frames = proxy_log_copy (probe->proxy);
  for (guint i = 0; i < frames->len && k == 0; i++) {
    const ProxyFrame *frame = g_ptr_array_index (frames, i);
    if (!frame->is_reply && is_create (frame) && is_below (frame, probe->rehearsal)) {
      type = frame->type;
      k = ordinal (frames, i);
    }
  }
  subject_kill (first);
  if (k == 0)
    broken (probe, "the subject creates no node");

  Subject *subject = subject_at (probe, proxy_address (probe->proxy), probe->path);
  proxy_arm (probe->proxy, type, k, 1, PROXY_CUT_BEFORE_REPLY);
  const int called = tell (probe, subject, "lock 0");
  if (!proxy_wait_fired (probe->proxy, 1, LONG_MS))
    broken (probe, "the reply was not lost");
  const gboolean works = wait_work (subject, 0, 0, LONG_MS);
  const int n = raw_zk_count_children (probe->raw, probe->path);
  if (expect (probe, wait_answer (subject, called), "zkr_lock_lock () does not return")
      && expect (probe, works,
                 n > 0 ? "its node is first in the queue, and it is never granted the lock"
                       : "never granted")
      && expect (probe, n == 1, "%d nodes of one lock", n) && call (probe, subject, "unlock", 0))
    is_empty_soon (probe);
}

/* What is in front goes away after the subject has listed the queue, and before it watches. */
static void
probe_gone_before_watch (Probe *probe)
{
  int type = 0;
  int k = 0;
  Subject *holder = subject_at (probe, probe->server, probe->rehearsal);
  subject_init (probe, holder, 1, 0, probe->path);
  Subject *first = subject_at (probe, proxy_address (probe->proxy), probe->rehearsal);
  proxy_log_start (probe->proxy);
  if (!hold (probe, holder, 0) || !hold (probe, holder, 1) || !call (probe, first, "lock", 0))
    return;
  g_auto (GStrv) names = raw_zk_children (probe->raw, probe->rehearsal);
  g_autofree char *in_front =
      g_strdup_printf ("%s/%s", probe->rehearsal, names != NULL ? names[0] : "");
  g_autoptr (GPtrArray) frames = proxy_log_copy (probe->proxy);
  gboolean watches = FALSE;
  for (guint i = 0; i < frames->len && !watches; i++) {
    const ProxyFrame *frame = g_ptr_array_index (frames, i);
    watches = !frame->is_reply && frame->watch && g_strcmp0 (frame->path, in_front) == 0;
    if (!frame->is_reply
        && (frame->type == PROXY_GET_CHILDREN || frame->type == PROXY_GET_CHILDREN2)
        && g_strcmp0 (frame->path, probe->rehearsal) == 0) {
      type = frame->type;
      k = ordinal (frames, i);
    }
  }
  subject_kill (first);
  if (!watches || k == 0)
    broken (probe, "the subject watches nothing, or has not listed the queue before");

  Subject *subject = subject_at (probe, proxy_address (probe->proxy), probe->path);
  proxy_arm (probe->proxy, type, k, 1, PROXY_HOLD_REPLY);
  const int called = tell (probe, subject, "lock 0");
  if (!proxy_wait_fired (probe->proxy, 1, LONG_MS)
      || !raw_zk_wait_children (probe->raw, probe->path, 2, LONG_MS))
    broken (probe, "the list was not held back");
  if (!call (probe, holder, "unlock", 1))
    return;
  if (!raw_zk_wait_children (probe->raw, probe->path, 1, LONG_MS))
    broken (probe, "the node in front is still there");
  proxy_let_go (probe->proxy);
  const gboolean works = wait_work (subject, 0, 0, LONG_MS);
  if (expect (probe, wait_answer (subject, called),
              "zkr_lock_lock () never returns: it waits for itself")
      && expect (probe, works, "never granted") && call (probe, subject, "unlock", 0))
    is_empty_soon (probe);
}

static void
probe_two_of_one_session (Probe *probe)
{
  Subject *subject = subject_at (probe, probe->server, probe->path);
  subject_init (probe, subject, 1, 0, probe->path);
  if (!hold (probe, subject, 0) || !call (probe, subject, "lock", 1))
    return;
  const gboolean both = wait_work (subject, 1, 0, SHORT_MS);
  const int n = raw_zk_count_children (probe->raw, probe->path);
  if (!expect (probe, !both, "both own the lock; the server has %d node%s", n, n == 1 ? "" : "s")
      || !expect (probe, n == 2, "%d nodes of two locks", n) || !call (probe, subject, "unlock", 0))
    return;
  if (expect (probe, wait_work (subject, 1, 0, LONG_MS), "the second is never granted the lock")
      && call (probe, subject, "unlock", 1))
    is_empty_soon (probe);
}

/* The server ends the session of the holder, which learns of it as soon as it is connected again.
 * That is not before the session is gone: a server that accepts a session while it ends it answers
 * nothing on that connection. */
static void
probe_session_ended (Probe *probe)
{
  Subject *holder = subject_at (probe, proxy_address (probe->proxy), probe->path);
  Subject *next = subject_at (probe, probe->server, probe->path);
  if (!hold (probe, holder, 0) || !queue (probe, next, 0, 2))
    return;
  proxy_set_mode (probe->proxy, PROXY_REFUSE);
  if (!expire_last_session (probe->proxy, probe->server, NULL))
    broken (probe, "the session was not ended");
  const gboolean works = wait_work (next, 0, 0, LONG_MS);
  proxy_set_mode (probe->proxy, PROXY_PASS);
  const gint64 told_ns = wait_now_ns ();
  if (!expect (probe, works, "the next in the queue is never granted the lock"))
    return;
  wait_ms (3 * SHORT_MS);
  const gint64 late_us = metronome_stalled_us (told_ns / 1000); /* the proxy was, too */
  expect (probe, last_work (holder, 0) < told_ns + (2 * SHORT_MS * 1000 + late_us) * 1000,
          "still an owner two seconds after another has become one");
}

/* The network of the holder falls silent. It has to stop before another is granted the lock. */
static void
probe_partition (Probe *probe)
{
  Subject *holder = subject_at (probe, proxy_address (probe->proxy), probe->path);
  Subject *next = subject_at (probe, probe->server, probe->path);
  if (!hold (probe, holder, 0) || !queue (probe, next, 0, 2))
    return;
  proxy_set_mode (probe->proxy, PROXY_HOLE);
  if (!expect (probe, wait_work (next, 0, 0, LONG_MS),
               "the next in the queue is never granted the lock"))
    return;
  const gint64 granted_ns = first_work (next, 0, 0);
  wait_ms (2 * SHORT_MS);
  const gint64 last_ns = last_work (holder, 0);
  expect (probe, last_ns<granted_ns, "still an owner %s another has become one", last_ns> granted_ns
                         + SHORT_MS * G_GINT64_CONSTANT (1000000)
                     ? "two seconds after"
                     : "when");
}

/* To how many sessions, besides the one that releases, the server has sent a watch event since the
 * log began. */
static guint
count_woken (Probe *probe, gint64 releasing)
{
  g_autoptr (GPtrArray) frames = proxy_log_copy (probe->proxy);
  g_autoptr (GHashTable) sessions = g_hash_table_new (g_int64_hash, g_int64_equal);
  for (guint i = 0; i < frames->len; i++) {
    ProxyFrame *frame = g_ptr_array_index (frames, i);
    if (frame->type == PROXY_EVENT && frame->session != releasing)
      g_hash_table_add (sessions, &frame->session);
  }
  return g_hash_table_size (sessions);
}

/* Sixteen sessions queue, the youngest first. Each release may wake few, and the next one has to be
 * among them. */
static void
probe_herd (Probe *probe)
{
  Subject *subject = subject_start (probe);
  gint64 sessions[N_HERD];
  guint most = 0;
  for (int i = 0; i < N_HERD; i++) {
    sessions[i] = subject_open (probe, subject, i, proxy_address (probe->proxy));
    subject_init (probe, subject, i, i, probe->path);
  }
  if (!hold (probe, subject, N_HERD - 1))
    return;
  for (int i = N_HERD - 2; i >= 0; i--)
    if (!queue (probe, subject, i, N_HERD - i))
      return;
  wait_ms (SHORT_MS);
  for (int i = N_HERD - 1; i > 0; i--) {
    proxy_log_start (probe->proxy);
    if (!call (probe, subject, "unlock", i)
        || !expect (probe, wait_work (subject, i - 1, 0, LONG_MS),
                    "number %d of %d is never granted the lock", N_HERD - i + 1, N_HERD))
      return;
    wait_ms (SHORT_MS / 10);
    most = MAX (most, count_woken (probe, sessions[i]));
  }
  expect (probe, most <= N_TOLD, "a release wakes %u of %d waiters", most, N_HERD - 1);
}

/* A waiter gives up. It must not come back when its turn would have been. */
static void
probe_abandoned_waiter (Probe *probe)
{
  Subject *holder = subject_at (probe, probe->server, probe->path);
  Subject *waiter = subject_at (probe, probe->server, probe->path);
  Subject *next = subject_at (probe, probe->server, probe->path);
  if (!hold (probe, holder, 0) || !queue (probe, waiter, 0, 2) || !call (probe, waiter, "unlock", 0)
      || !expect (probe, raw_zk_wait_children (probe->raw, probe->path, 1, LONG_MS),
                  "its node stays")
      || !call (probe, holder, "unlock", 0))
    return;
  if (expect (probe, !wait_work (waiter, 0, 0, SHORT_MS), "owns the lock that it has given up")
      && is_empty_soon (probe) && hold (probe, next, 0))
    expect (probe, first_work (waiter, 0, 0) == 0, "owns the lock that it has given up");
}

/* A process in the middle of the queue is killed, then the holder. */
static void
probe_crash (Probe *probe)
{
  Subject *holder = subject_at (probe, probe->server, probe->path);
  Subject *middle = subject_at (probe, probe->server, probe->path);
  Subject *last = subject_at (probe, probe->server, probe->path);
  if (!hold (probe, holder, 0) || !queue (probe, middle, 0, 2) || !queue (probe, last, 0, 3))
    return;
  subject_kill (middle);
  if (!expect (probe, raw_zk_wait_children (probe->raw, probe->path, 2, LONG_MS),
               "the node of a dead process stays"))
    return;
  wait_ms (SHORT_MS);
  if (!expect (probe, first_work (last, 0, 0) == 0, "granted while another holds the lock"))
    return;
  subject_kill (holder);
  if (expect (probe, wait_work (last, 0, 0, LONG_MS),
              "the next in the queue is never granted the lock")
      && expect (probe, raw_zk_wait_children (probe->raw, probe->path, 1, LONG_MS),
                 "the node of a dead process stays")) {
    g_auto (GStrv) names = raw_zk_children (probe->raw, probe->path);
    g_autofree char *node =
        g_strdup_printf ("%s/%s", probe->path, names != NULL && names[0] != NULL ? names[0] : "");
    expect (probe, raw_zk_owner (probe->raw, node) == last->session,
            "the node is not of the session that owns the lock");
  }
}

static const struct
{
  const char *name;
  void (*run) (Probe *probe);
  int session_ms;
} PROBES[] = {
  { "lost-create-reply", probe_lost_reply, LONG_SESSION_MS },
  { "gone-before-watch", probe_gone_before_watch, LONG_SESSION_MS },
  { "two-of-one-session", probe_two_of_one_session, LONG_SESSION_MS },
  { "session-ended", probe_session_ended, LONG_SESSION_MS },
  { "partition", probe_partition, SESSION_MS },
  { "herd", probe_herd, LONG_SESSION_MS },
  { "abandoned-waiter", probe_abandoned_waiter, LONG_SESSION_MS },
  { "crash", probe_crash, SESSION_MS },
};

static Probe *
probe_new (guint i, const char *program, const char *server)
{
  const char *name = PROBES[i].name;
  Probe *probe = g_new0 (Probe, 1);
  probe->name = name;
  probe->run = PROBES[i].run;
  probe->session_ms = PROBES[i].session_ms;
  probe->program = program;
  probe->server = server;
  probe->raw = raw_zk_open (server);
  probe->proxy = proxy_new (server);
  probe->path = g_strdup_printf ("/probes/%s", name);
  probe->rehearsal = g_strdup_printf ("/rehearsals/%s", name);
  probe->subjects = g_ptr_array_new_with_free_func (subject_free);
  if (probe->raw == NULL || probe->proxy == NULL
      || raw_zk_make_path (probe->raw, probe->path) != ZOK
      || raw_zk_make_path (probe->raw, probe->rehearsal) != ZOK)
    broken (probe, "no server, or no proxy");
  return probe;
}

static void
probe_free (Probe *probe)
{
  g_ptr_array_unref (probe->subjects);
  proxy_free (probe->proxy);
  raw_zk_close (probe->raw);
  g_free (probe->path);
  g_free (probe->rehearsal);
  g_free (probe->seen);
  g_free (probe);
}

/* Each has processes, a proxy and a path of its own. */
static gpointer
run (gpointer data)
{
  Probe *probe = data;
  probe->run (probe);
  return NULL;
}

int
main (int argc, char **argv)
{
  const gboolean strict = argc > 1 && g_str_equal (argv[1], "--must-be-right");
  const int first = strict ? 2 : 1;
  if (argc <= first) {
    g_printerr ("usage: probes [--must-be-right] SUBJECT [PROBE...]\n");
    return 2;
  }
  signal (SIGPIPE, SIG_IGN);
  metronome_start ();
  g_autoptr (ZkServer) server = zk_server_start (LONG_SESSION_MS / 20, NULL);
  if (server == NULL)
    return 2;
  Probe *probes[G_N_ELEMENTS (PROBES)];
  pthread_t threads[G_N_ELEMENTS (PROBES)];
  guint n = 0;
  for (guint i = 0; i < G_N_ELEMENTS (PROBES); i++)
    if (argc == first + 1
        || g_strv_contains ((const char *const *) argv + first + 1, PROBES[i].name))
      probes[n++] = probe_new (i, argv[first], zk_server_address (server));
  for (guint i = 0; i < n; i++)
    pthread_create (&threads[i], NULL, run, probes[i]);
  gboolean all_right = n > 0;
  for (guint i = 0; i < n; i++) {
    pthread_join (threads[i], NULL);
    const char *seen = probes[i]->seen;
    g_print ("%s\t%s%s\n", probes[i]->name, seen == NULL ? "right" : "wrong\t",
             seen != NULL ? seen : "");
    all_right &= seen == NULL;
    probe_free (probes[i]);
  }
  return strict && !all_right ? 1 : 0;
}
