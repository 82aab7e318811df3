/* P38: a holder whose clocks stand still during a pause, as those of a paused guest do, are set or
 * are slewed.
 *
 * The holder is another process of this program. It sees the clocks of machine_sleep.c, and writes
 * down until when it believed, by a clock that nobody touches. Where its host has set its wall
 * clock right, it does not believe beside the next holder; where nobody does, it believes until its
 * own clock says so, and the table shows for how long. Through the pause and after it the network
 * of the guest is silent: an answer would tell it sooner.
 */
#define SUITE_FIXTURE ZkServer *server
#include "machine_sleep.h"
#include "security.h"
#include "shared.h"
#include "support/metronome.h"
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_MS  8000
#define PATIENCE_MS 60000
#define NS_PER_MS   G_GINT64_CONSTANT (1000000)
#define HOUR_MS     3600000
/* Proofs that are late put a hold in doubt, too, and end it if they are later than LOSS_MS. Whether
 * they were is told by the machine, and by an observer, which writes to the server: a case with
 * other doubts than it should show is played again then. */
#define LATE_MS 500
#define LOSS_MS (SESSION_MS / 2)
#define N_PLAYS 5

/* Shared with the holder. */
typedef struct
{
  MachineClocks clocks;
  gint64 believed_ns; /* the last look that found time left, by wait_now_ns() */
  gint64 left_ms;
  gint64 n_suspects; /* by the listener, as the next */
  gint64 n_losses;
  gint64 has_address;
  char address[64]; /* to connect to */
  gint64 ends;
} Board;

typedef enum
{
  SEES_NOTHING, /* the hold goes on, and was never in doubt */
  SEES_DOUBT,   /* it is in doubt until the next proof, and goes on */
  SEES_END,     /* it is lost, and nobody else was granted it before */
  CANNOT_SEE
} Sight;

typedef struct
{
  const char *name;
  int pause_ms; /* of the guest, with all its clocks and its network */
  int late_ms;  /* after which the wall clock is set right; -1: never */
  int step_ms;  /* or it is only set by so much */
  int ppm;      /* or gains so much, for two session timeouts */
  Sight sight;
  Board *board;
  Proxy *proxy;
  pid_t pid;
  guint number;
  gint64 granted_ns; /* atomic: to the next holder */
  gint64 n_doubts;   /* in the last play */
  gboolean was_lost; /* at its end */
  gint64 late_us;    /* the machine, and the server, meanwhile */
  gint64 resumed_ns;
  gint64 right_ns; /* when the wall clock was right */
} Case;

static Case cases[] = {
  { "paused for 1.5 T, set right at once", SESSION_MS * 3 / 2, .sight = SEES_END },
  { "paused for 1.5 T, set right after 0.5 s", SESSION_MS * 3 / 2, 500, .sight = SEES_END },
  { "paused for 1.5 T, never set right", SESSION_MS * 3 / 2, -1, .sight = CANNOT_SEE },
  { "paused for 0.1 T, set right at once", SESSION_MS / 10, .sight = SEES_DOUBT },
  { "set forward by an hour", .step_ms = HOUR_MS, .sight = SEES_END },
  { "set forward by 0.1 T", .step_ms = SESSION_MS / 10, .sight = SEES_DOUBT },
  { "set back by 0.1 T", .step_ms = -SESSION_MS / 10, .sight = SEES_DOUBT },
  { "set back by an hour", .step_ms = -HOUR_MS, .sight = SEES_DOUBT },
  { "slewed by 500 ppm for 2 T", .ppm = 500, .sight = SEES_NOTHING },
  { "slewed by 2 % for 2 T", .ppm = 20000, .sight = SEES_NOTHING },
  { "slewed by -2 % for 2 T", .ppm = -20000, .sight = SEES_NOTHING },
};
#define N_CASES G_N_ELEMENTS (cases)

/* --- the holder ------------------------------------------------------------------------------- */

static CuratorClient *
client_new (const char *address)
{
  CuratorClient *client = security_client_for (address, SESSION_MS, ZK_SERVER_DEFAULT_TICK_MS);
  curator_client_set_connection_timeout (client, PATIENCE_MS);
  if (!curator_client_start (client, NULL))
    g_error ("the client does not start");
  return client;
}

static void
on_change (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Board *board = data;
  shared_add (state == CURATOR_LEASE_STATE_LOST ? &board->n_losses : &board->n_suspects,
              state != CURATOR_LEASE_STATE_HELD);
}

static CuratorLock *
lock_new (CuratorClient *client, guint lock_number)
{
  g_autofree char *path = g_strdup_printf ("/stopped/%u", lock_number);
  return curator_mutex_new (client, path, NULL);
}

/* A look counts from its beginning: the process may be stopped in the middle of it. */
static int
hold (Board *board, guint lock_number)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  while (!shared_get (&board->has_address))
    wait_ms (1);
  machine_sleep_begin (&board->clocks);
  g_autoptr (CuratorClient) client = client_new (board->address);
  g_autoptr (CuratorLock) lock = lock_new (client, lock_number);
  g_autoptr (CuratorLease) lease =
      curator_lock_acquire_lease (lock, CURATOR_WAIT_FOREVER, NULL, NULL);
  if (lease == NULL)
    return 1;
  curator_lease_add_listener (lease, on_change, board, NULL);
  while (!shared_get (&board->ends)) {
    const gint64 now_ns = wait_now_ns ();
    const gint64 left_ms = curator_lease_get_remaining_ms (lease);
    shared_set (&board->left_ms, left_ms);
    if (left_ms > 0)
      shared_set (&board->believed_ns, now_ns);
    wait_ms (1);
  }
  curator_client_close (client);
  return 0;
}

/* --- the laboratory --------------------------------------------------------------------------- */

static void
start_holder (Case *c)
{
  c->board =
      mmap (NULL, sizeof *c->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true (c->board != MAP_FAILED);
  c->pid = fork ();
  if (c->pid == 0)
    _exit (hold (c->board, c->number));
  assert_true (c->pid > 0);
}

static void
on_granted (CuratorLock *lock, CuratorLease *lease, const GError *error, gpointer data)
{
  shared_set (&((Case *) data)->granted_ns, lease != NULL ? wait_now_ns () : -1);
  g_clear_pointer (&lease, curator_lease_unref);
}

static void
pause_guest (Case *c)
{
  proxy_set_mode (c->proxy, PROXY_HOLE);
  kill (c->pid, SIGSTOP);
  waitid (P_PID, (id_t) c->pid, &(siginfo_t){ 0 }, WSTOPPED);
  const gint64 stopped_ns = wait_now_ns ();
  wait_ms (c->pause_ms);
  const gint64 slept_ms = (wait_now_ns () - stopped_ns) / NS_PER_MS;
  shared_add (&c->board->clocks.slept_ns, NS_PER_MS * slept_ms);
  shared_add (&c->board->clocks.stopped_ns, NS_PER_MS * slept_ms);
  shared_add (&c->board->clocks.wall_ns, c->late_ms != 0 ? -NS_PER_MS * slept_ms : 0);
  c->resumed_ns = c->right_ns = wait_now_ns ();
  kill (c->pid, SIGCONT);
  if (c->pause_ms < SESSION_MS)
    proxy_set_mode (c->proxy, PROXY_PASS);
  if (c->late_ms > 0) {
    wait_ms (c->late_ms);
    shared_add (&c->board->clocks.wall_ns, NS_PER_MS * slept_ms);
    c->right_ns = wait_now_ns ();
  }
}

/* A clock that is slewed goes on so when it is played again. */
static void
disturb (Case *c)
{
  MachineClocks *clocks = &c->board->clocks;
  if (c->pause_ms != 0) {
    pause_guest (c);
  } else if (c->step_ms != 0) {
    shared_add (&clocks->wall_ns, NS_PER_MS * c->step_ms);
    c->resumed_ns = c->right_ns = wait_now_ns ();
  } else if (shared_get (&clocks->wall_ppm) == 0) {
    shared_set (&clocks->gains_from_ns, wait_now_ns ());
    shared_set (&clocks->wall_ppm, c->ppm);
  }
}

static gboolean
is_lost (const Case *c)
{
  return shared_get (&c->board->left_ms) == 0;
}

static struct
{
  ZkServer *server;
  gint64 late_us; /* atomic: all answers that came late */
  gint64 ends;    /* atomic */
} observer;

static gpointer
observe_server (gpointer data)
{
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (observer.server));
  g_assert_nonnull (raw);
  raw_zk_create (raw, "/observer", "", ZOO_EPHEMERAL, NULL);
  while (!shared_get (&observer.ends)) {
    const gint64 asked_ns = wait_now_ns ();
    raw_zk_set (raw, "/observer", "");
    const gint64 took_ns = wait_now_ns () - asked_ns;
    if (took_ns >= LATE_MS * NS_PER_MS)
      shared_add (&observer.late_us, took_ns / 1000);
    wait_ms (50);
  }
  return NULL;
}

static gpointer
play (gpointer data)
{
  Case *c = data;
  gboolean again = TRUE;
  for (int i = 0; i < N_PLAYS && again; i++) {
    const gint64 began_us = wait_now_ns () / 1000;
    const gint64 late_before_us = shared_get (&observer.late_us);
    const gint64 n_before = shared_get (&c->board->n_suspects);
    disturb (c);
    wait_ms (SESSION_MS * 2);
    c->n_doubts = shared_get (&c->board->n_suspects) - n_before;
    c->was_lost = is_lost (c) || shared_get (&c->board->n_losses) > 0;
    c->late_us =
        MAX (shared_get (&observer.late_us) - late_before_us, metronome_stalled_us (began_us));
    const gboolean is_doubtful = c->sight == SEES_NOTHING || c->sight == SEES_DOUBT;
    again = c->late_us >= LATE_MS * 1000 && is_doubtful && !c->was_lost
            && c->n_doubts != (c->sight == SEES_DOUBT);
  }
  return NULL;
}

/* How long it believed after that moment. */
static double
believed_s (const Case *c, gint64 from_ns)
{
  return (double) MAX (shared_get (&c->board->believed_ns) - from_ns, 0) / 1e9;
}

static void
print_case (const Case *c)
{
  const gint64 granted_ns = shared_get (&c->granted_ns);
  const gboolean lost = is_lost (c);
  const gboolean had_successor = granted_ns > 0 && c->pause_ms >= SESSION_MS;
  g_autofree char *after = g_strdup_printf ("%.1f s", believed_s (c, c->right_ns));
  g_autofree char *beside =
      g_strdup_printf ("%.1f s", believed_s (c, MAX (granted_ns, c->resumed_ns)));
  print_message ("| %s | %s | %s | %s |\n", c->name,
                 lost              ? "LOST"
                 : c->n_doubts > 0 ? "SUSPECT, then HELD"
                                   : "HELD",
                 lost ? after : "–", had_successor ? beside : "–");
}

/* Looks are a millisecond apart, on a machine that may be busy: what was believed after the clock
 * was right is bounded by one look, which is one that began before. */
static void
judge (Case *c)
{
  const Board *board = c->board;
  if (c->sight == SEES_END) {
    assert_true (is_lost (c));
    assert_true (shared_get (&board->believed_ns) <= c->right_ns);
    assert_true (holds_within (shared_get (&board->n_losses) > 0, PATIENCE_MS));
  } else if (c->sight != CANNOT_SEE && c->was_lost) {
    assert_true (c->late_us >= LOSS_MS * 1000);
  } else if (c->sight != CANNOT_SEE) {
    assert_int_equal (c->n_doubts, c->sight == SEES_DOUBT);
  }
}

static void
end_case (Case *c)
{
  int status = 0;
  proxy_set_mode (c->proxy, PROXY_PASS);
  shared_set (&c->board->ends, TRUE);
  assert_int_equal (waitpid (c->pid, &status, 0), c->pid);
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
}

TEST (test_p38_stopped_clocks)
{
  GThread *players[N_CASES];
  CuratorClient *next = client_new (zk_server_address (server));
  observer.server = server;
  GThread *observing = g_thread_new ("observer", observe_server, NULL);

  for (guint i = 0; i < N_CASES; i++)
    assert_true (holds_within (shared_get (&cases[i].board->believed_ns) != 0, PATIENCE_MS));
  for (guint i = 0; i < N_CASES; i++) {
    g_autoptr (CuratorLock) lock = lock_new (next, i);
    curator_lock_acquire_then (lock, CURATOR_WAIT_FOREVER, NULL, on_granted, &cases[i]);
    players[i] = g_thread_new ("player", play, &cases[i]);
  }
  for (guint i = 0; i < N_CASES; i++)
    g_thread_join (players[i]);
  shared_set (&observer.ends, TRUE);
  g_thread_join (observing);
  for (guint i = 0; i < N_CASES; i++)
    print_case (&cases[i]);
  for (guint i = 0; i < N_CASES; i++) {
    judge (&cases[i]);
    end_case (&cases[i]);
    assert_true (holds_within (shared_get (&cases[i].granted_ns) > 0, PATIENCE_MS));
  }
  curator_client_close (next);
  curator_client_unref (next);
}

/* The holders are forked before the process has threads. */
static int
start (void **state)
{
  for (guint i = 0; i < N_CASES; i++) {
    cases[i].number = i;
    start_holder (&cases[i]);
  }
  metronome_start ();
  ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  *state = server;
  for (guint i = 0; server != NULL && i < N_CASES; i++) {
    Board *board = cases[i].board;
    cases[i].proxy = proxy_new (zk_server_address (server));
    g_strlcpy (board->address, proxy_address (cases[i].proxy), sizeof board->address);
    shared_set (&board->has_address, TRUE);
  }
  return server != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  for (guint i = 0; i < N_CASES; i++)
    proxy_free (cases[i].proxy);
  zk_server_stop (*state);
  return 0;
}

SUITE ("P38", start, stop)
