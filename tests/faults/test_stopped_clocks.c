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
#include "support/metronome.h"
#include "support/proxy.h"
#include "support/raw_zk.h"
#include "support/suite.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include "curator/curator.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_MS  8000
#define PATIENCE_MS 60000
#define NS_PER_MS   1000000
#define HOUR_MS     3600000
/* A hold is in doubt, too, while its proofs are late. A case that shows other doubts than it should
 * is played again if the machine was late by so much meanwhile, or the server, which an observer
 * writes to. */
#define LATE_MS 500
#define N_PLAYS 5

/* Shared with the holder. */
typedef struct
{
  MachineClocks clocks;
  gint64 believed_ns; /* the last look that found time left, by wait_now_ns() */
  gint64 looked_ns;
  gint64 left_ms;
  int n_suspects; /* by the listener, as the next */
  int n_losses;
  int has_address;
  char address[64]; /* to connect to */
  int ends;
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
  ZkServer *server;
  Proxy *proxy;
  pid_t pid;
  guint number;
  gint64 granted_ns; /* atomic: to the next holder */
  int doubted;       /* how often, before it was played */
  gint64 began_us;
  gint64 resumed_ns;
  gint64 right_ns; /* when the wall clock was right */
} Case;

/* The name, the pause, how late the wall clock is set right, a step, a gain. */
#define CASE(what, pause, late, step, gain, sees)                                                  \
  {                                                                                                \
    .name = what, .pause_ms = pause, .late_ms = late, .step_ms = step, .ppm = gain, .sight = sees  \
  }

static Case cases[] = {
  CASE ("paused for 1.5 T, set right at once", SESSION_MS * 3 / 2, 0, 0, 0, SEES_END),
  CASE ("paused for 1.5 T, set right after 0.5 s", SESSION_MS * 3 / 2, 500, 0, 0, SEES_END),
  CASE ("paused for 1.5 T, never set right", SESSION_MS * 3 / 2, -1, 0, 0, CANNOT_SEE),
  CASE ("paused for 0.1 T, set right at once", SESSION_MS / 10, 0, 0, 0, SEES_DOUBT),
  CASE ("set forward by an hour", 0, 0, HOUR_MS, 0, SEES_END),
  CASE ("set forward by 0.1 T", 0, 0, SESSION_MS / 10, 0, SEES_DOUBT),
  CASE ("set back by 0.1 T", 0, 0, -SESSION_MS / 10, 0, SEES_DOUBT),
  CASE ("set back by an hour", 0, 0, -HOUR_MS, 0, SEES_DOUBT),
  CASE ("slewed by 500 ppm for 2 T", 0, 0, 0, 500, SEES_NOTHING),
  CASE ("slewed by 2 % for 2 T", 0, 0, 0, 20000, SEES_NOTHING),
  CASE ("slewed by -2 % for 2 T", 0, 0, 0, -20000, SEES_NOTHING),
};

/* --- the holder ------------------------------------------------------------------------------- */

static gint64
number (const gint64 *value)
{
  return __atomic_load_n (value, __ATOMIC_SEQ_CST);
}

static void
set_number (gint64 *value, gint64 to)
{
  __atomic_store_n (value, to, __ATOMIC_SEQ_CST);
}

static CuratorClient *
client_new (const char *address)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = curator_client_new (address, policy);
  curator_client_set_session_timeout (client, SESSION_MS);
  curator_client_set_connection_timeout (client, PATIENCE_MS);
  curator_client_set_server_tick (client, ZK_SERVER_DEFAULT_TICK_MS);
  if (!curator_client_start (client, NULL))
    g_error ("the client does not start");
  return client;
}

static void
on_change (CuratorLease *lease, CuratorLeaseState state, gpointer data)
{
  Board *board = data;
  __atomic_add_fetch (state == CURATOR_LEASE_LOST ? &board->n_losses : &board->n_suspects,
                      state != CURATOR_LEASE_HELD, __ATOMIC_SEQ_CST);
}

static CuratorLease *
acquire (CuratorClient *client, guint lock_number)
{
  g_autofree char *path = g_strdup_printf ("/stopped/%u", lock_number);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, path, NULL);
  g_autoptr (GError) error = NULL;
  CuratorLease *lease = curator_lock_acquire_lease (lock, CURATOR_WAIT_FOREVER, NULL, &error);
  if (lease == NULL)
    g_printerr ("%s: %s\n", path, error->message);
  return lease;
}

/* A look counts from its beginning: the process may be stopped in the middle of it. */
static int
hold (Board *board, guint lock_number)
{
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  while (!__atomic_load_n (&board->has_address, __ATOMIC_SEQ_CST))
    wait_ms (1);
  machine_sleep_begin (&board->clocks);
  g_autoptr (CuratorClient) client = client_new (board->address);
  g_autoptr (CuratorLease) lease = acquire (client, lock_number);
  if (lease == NULL)
    return 1;
  curator_lease_add_listener (lease, on_change, board, NULL);
  while (!__atomic_load_n (&board->ends, __ATOMIC_SEQ_CST))
    {
      const gint64 now_ns = wait_now_ns ();
      const gint64 left_ms = curator_lease_get_remaining_ms (lease);
      set_number (&board->left_ms, left_ms);
      if (left_ms > 0)
        set_number (&board->believed_ns, now_ns);
      set_number (&board->looked_ns, now_ns);
      wait_ms (1);
    }
  curator_client_close (client);
  return 0;
}

/* --- the laboratory --------------------------------------------------------------------------- */

static gboolean
holds (gpointer data)
{
  return number (&((Case *) data)->board->believed_ns) != 0;
}

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

static gpointer
wait_for_grant (gpointer data)
{
  Case *c = data;
  g_autoptr (CuratorClient) client = client_new (zk_server_address (c->server));
  g_autoptr (CuratorLease) lease = acquire (client, c->number);
  set_number (&c->granted_ns, lease != NULL ? wait_now_ns () : -1);
  curator_client_close (client);
  return NULL;
}

static void
add (gint64 *value, gint64 ms)
{
  __atomic_add_fetch (value, ms * NS_PER_MS, __ATOMIC_SEQ_CST);
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
  add (&c->board->clocks.slept_ns, slept_ms);
  add (&c->board->clocks.stopped_ns, slept_ms);
  add (&c->board->clocks.wall_ns, c->late_ms != 0 ? -slept_ms : 0);
  c->resumed_ns = c->right_ns = wait_now_ns ();
  kill (c->pid, SIGCONT);
  if (c->pause_ms < SESSION_MS)
    proxy_set_mode (c->proxy, PROXY_PASS);
  if (c->late_ms > 0)
    {
      wait_ms (c->late_ms);
      add (&c->board->clocks.wall_ns, slept_ms);
      c->right_ns = wait_now_ns ();
    }
}

static int
n_suspects (const Case *c)
{
  return __atomic_load_n (&c->board->n_suspects, __ATOMIC_SEQ_CST);
}

/* A clock that is slewed goes on so when it is played again. */
static void
disturb (Case *c)
{
  MachineClocks *clocks = &c->board->clocks;
  if (c->pause_ms != 0)
    {
      pause_guest (c);
    }
  else if (c->step_ms != 0)
    {
      add (&clocks->wall_ns, c->step_ms);
      c->resumed_ns = c->right_ns = wait_now_ns ();
    }
  else if (number (&clocks->wall_ppm) == 0)
    {
      set_number (&clocks->gains_from_ns, wait_now_ns ());
      set_number (&clocks->wall_ppm, c->ppm);
    }
}

static gboolean
is_lost (const Case *c)
{
  return number (&c->board->left_ms) == 0;
}

static int
n_doubts (const Case *c)
{
  return n_suspects (c) - c->doubted;
}

static gboolean
is_doubted_otherwise (const Case *c)
{
  return (c->sight == SEES_NOTHING || c->sight == SEES_DOUBT) && !is_lost (c)
         && n_doubts (c) != (c->sight == SEES_DOUBT);
}

static struct
{
  ZkServer *server;
  gint64 late_us; /* atomic: when an answer has come late, last */
  int ends;       /* atomic */
} observer;

static gpointer
observe_server (gpointer data)
{
  g_autoptr (RawZk) raw = raw_zk_open (zk_server_address (observer.server));
  g_assert_nonnull (raw);
  raw_zk_create (raw, "/observer", "", ZOO_EPHEMERAL, NULL);
  while (!__atomic_load_n (&observer.ends, __ATOMIC_SEQ_CST))
    {
      const gint64 asked_ns = wait_now_ns ();
      raw_zk_set (raw, "/observer", "");
      if (wait_now_ns () - asked_ns >= (gint64) LATE_MS * NS_PER_MS)
        set_number (&observer.late_us, wait_now_ns () / 1000);
      wait_ms (50);
    }
  return NULL;
}

static gboolean
was_late_since (gint64 since_us)
{
  return number (&observer.late_us) >= since_us
         || metronome_stalled_us (since_us) >= (gint64) LATE_MS * 1000;
}

static gpointer
play (gpointer data)
{
  Case *c = data;
  gboolean again = TRUE;
  for (int i = 0; i < N_PLAYS && again; i++)
    {
      c->doubted = n_suspects (c);
      c->began_us = wait_now_ns () / 1000;
      disturb (c);
      wait_ms (SESSION_MS * 2);
      again = is_doubted_otherwise (c) && was_late_since (c->began_us);
    }
  return NULL;
}

/* How long it believed after that moment. */
static double
believed_s (const Case *c, gint64 from_ns)
{
  return (double) MAX (number (&c->board->believed_ns) - from_ns, 0) / 1e9;
}

static void
print_case (const Case *c)
{
  const gint64 granted_ns = number (&c->granted_ns);
  const gboolean lost = is_lost (c);
  const gboolean had_successor = granted_ns > 0 && c->pause_ms >= SESSION_MS;
  g_autofree char *after = g_strdup_printf ("%.1f s", believed_s (c, c->right_ns));
  g_autofree char *beside =
      g_strdup_printf ("%.1f s", believed_s (c, MAX (granted_ns, c->resumed_ns)));
  print_message ("| %s | %s | %s | %s |\n", c->name,
                 lost               ? "LOST"
                 : n_doubts (c) > 0 ? "SUSPECT, then HELD"
                                    : "HELD",
                 lost ? after : "–", had_successor ? beside : "–");
}

static gboolean
is_told (gpointer data)
{
  const Case *c = data;
  return __atomic_load_n (&c->board->n_losses, __ATOMIC_SEQ_CST) > 0;
}

/* Looks are a millisecond apart, on a machine that may be busy: what was believed after the clock
 * was right is bounded by one look, which is one that began before. */
static void
judge (Case *c)
{
  const Board *board = c->board;
  if (c->sight == SEES_END)
    {
      assert_true (is_lost (c));
      assert_true (number (&board->believed_ns) <= c->right_ns);
      assert_true (wait_until (is_told, c, PATIENCE_MS));
    }
  else if (c->sight != CANNOT_SEE)
    {
      assert_false (is_lost (c));
      assert_int_equal (board->n_losses, 0);
      assert_int_equal (n_doubts (c), c->sight == SEES_DOUBT);
    }
}

static void
end_case (Case *c)
{
  int status = 0;
  proxy_set_mode (c->proxy, PROXY_PASS);
  __atomic_store_n (&c->board->ends, TRUE, __ATOMIC_SEQ_CST);
  assert_int_equal (waitpid (c->pid, &status, 0), c->pid);
  assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
}

TEST (test_p38_stopped_clocks)
{
  GThread *players[G_N_ELEMENTS (cases)];
  GThread *next[G_N_ELEMENTS (cases)];
  observer.server = server;
  GThread *observing = g_thread_new ("observer", observe_server, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      cases[i].server = server;
      assert_true (wait_until (holds, &cases[i], PATIENCE_MS));
    }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      next[i] = g_thread_new ("next", wait_for_grant, &cases[i]);
      players[i] = g_thread_new ("player", play, &cases[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_thread_join (players[i]);
  __atomic_store_n (&observer.ends, TRUE, __ATOMIC_SEQ_CST);
  g_thread_join (observing);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    print_case (&cases[i]);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      judge (&cases[i]);
      end_case (&cases[i]);
      g_thread_join (next[i]);
      assert_true (cases[i].granted_ns > 0);
    }
}

/* The holders are forked before the process has threads. */
static int
start (void **state)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      cases[i].number = i;
      start_holder (&cases[i]);
    }
  metronome_start ();
  ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  *state = server;
  for (guint i = 0; server != NULL && i < G_N_ELEMENTS (cases); i++)
    {
      Board *board = cases[i].board;
      cases[i].proxy = proxy_new (zk_server_address (server));
      g_strlcpy (board->address, proxy_address (cases[i].proxy), sizeof board->address);
      __atomic_store_n (&board->has_address, TRUE, __ATOMIC_SEQ_CST);
    }
  return server != NULL ? 0 : -1;
}

static int
stop (void **state)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    proxy_free (cases[i].proxy);
  zk_server_stop (*state);
  return 0;
}

SUITE ("P38", start, stop)
