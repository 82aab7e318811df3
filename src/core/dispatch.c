/* The lanes of a client: timers, callbacks, state listeners, session work and questions; and who
 * waits for its end.
 *
 * Mirrors the executors of ConnectionStateManager and of the background calls, and the EventThread.
 * Threads: any; guarded by the client's mutex. A lane's thread unlocks it to run a job, but not to
 * fire a timer. The threads are detached and own a memory reference of the client, so the last
 * reference may be dropped on any of them.
 */
#include "core/dispatch.h"

#include "base/alarm.h"
#include "base/fork_gate.h"
#include "base/guards.h"
#include "base/thread_start.h"
#include "base/threads.h"
#include "channel/channel_error.h"
#include "core/client-record.h"
#include "core/cond_init.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/task.h"
#include "core/timers.h"

#include <errno.h>
#include <time.h>

typedef struct
{
  CuratorClient *client;
  CuratorLane lane;
} LaneStart;

struct _CuratorDispatch
{
  CuratorTimers timers;
  CuratorAlarm alarm;                     /* the timer thread waits for it; open while that runs */
  gint64 asleep_until_us CURATOR_GUARDED; /* the timer thread, monotonic; 0 while it is awake */
  GQueue jobs[CURATOR_N_LANES] CURATOR_GUARDED; /* CuratorTask; the timer thread has none */
  pthread_cond_t work_added[CURATOR_N_LANES];
  gboolean running[CURATOR_N_LANES] CURATOR_GUARDED;
  CuratorExpected expected[CURATOR_N_LANES] CURATOR_GUARDED;
  CuratorTimer *shortage_timer CURATOR_GUARDED; /* while a lane has work and no thread */
  gboolean stopping CURATOR_GUARDED;
  guint n_lanes CURATOR_GUARDED;         /* whose threads have not ended */
  CuratorAfter *waiting CURATOR_GUARDED; /* for the end of all of them */
};

#define SHORTAGE_US (10 * 1000) /* between two looks, where no descriptor or thread can be had */
/* How long close() waits for the server and for callbacks: longer than a handle needs to close. */
#define CLOSE_PATIENCE_US (10 * G_USEC_PER_SEC)

CuratorDispatch *
curator_dispatch_new (void)
{
  CuratorDispatch *dispatch = g_new0 (CuratorDispatch, 1);
  for (int clock = 0; clock < CURATOR_N_CLOCKS; clock++)
    dispatch->timers.queues[clock] = g_sequence_new (g_free);
  dispatch->alarm = (CuratorAlarm){ -1, -1 };
  for (int lane = 0; lane < CURATOR_N_LANES; lane++) {
    g_queue_init (&dispatch->jobs[lane]);
    curator_cond_init (&dispatch->work_added[lane], TRUE);
  }
  return dispatch;
}

void
curator_dispatch_free (CuratorDispatch *dispatch)
{
  for (int lane = 0; lane < CURATOR_N_LANES; lane++) {
    while (!g_queue_is_empty (&dispatch->jobs[lane]))
      g_free (g_queue_pop_head (&dispatch->jobs[lane]));
    pthread_cond_destroy (&dispatch->work_added[lane]);
  }
  for (int clock = 0; clock < CURATOR_N_CLOCKS; clock++)
    g_sequence_free (dispatch->timers.queues[clock]);
  curator_alarm_close (&dispatch->alarm);
  g_free (dispatch);
}

CuratorTimer *
curator_timer_add (CuratorClient *client, CuratorTimerClock clock, gint64 when_us, CuratorWork func,
                   gpointer data)
{
  CuratorDispatch *dispatch = client->dispatch;
  CuratorTimer *timer = curator_timers_insert (&dispatch->timers, clock, when_us, func, data);
  const gint64 due_us = curator_timers_due_us (client, clock, when_us);

  /* Most timers are cancelled before they fire, and the lane sleeps on. An alarm counts from the
   * moment it is set, so the clock is read anew here and in wait_for_timer(). */
  if (due_us < dispatch->asleep_until_us) {
    dispatch->asleep_until_us = due_us;
    curator_alarm_set (&dispatch->alarm, due_us - curator_client_now_us (client));
  }
  return timer;
}

CuratorTimer *
curator_timer_after (CuratorClient *client, gint64 delay_us, CuratorWork func, gpointer data)
{
  return curator_timer_add (client, CURATOR_CLOCK_RUNNING,
                            curator_locked_now_us (client) + delay_us, func, data);
}

void
curator_timer_cancel (CuratorClient *client, CuratorTimer **timer)
{
  if (*timer != NULL) {
    g_sequence_remove ((*timer)->place);
    *timer = NULL;
  }
}

static gboolean start_lane (CuratorClient *client, CuratorLane lane, GError **error) CURATOR_LOCKED;

static gboolean
is_ours (CuratorLane lane)
{
  return lane == CURATOR_LANE_TIMERS || lane == CURATOR_LANE_SESSION;
}

/* With a GMainContext of the user's only cancellations need a thread. */
static CURATOR_LOCKED gboolean
start_expected (CuratorClient *client, GError **error)
{
  CuratorDispatch *dispatch = client->dispatch;
  const CuratorExpected least = client->settings.callback_context == NULL
                                    ? CURATOR_EXPECTED_CALLBACKS
                                    : CURATOR_EXPECTED_CANCEL;
  for (int lane = 0; lane < CURATOR_N_LANES; lane++) {
    const gboolean is_expected = is_ours (lane) || dispatch->expected[lane] >= least;
    if ((is_expected || !g_queue_is_empty (&dispatch->jobs[lane])) && !dispatch->running[lane]
        && !start_lane (client, lane, error))
      return FALSE;
  }
  return TRUE;
}

/* Runs on the timer thread: a thread could not be had when its work came. */
static CURATOR_LOCKED void
start_missing (gpointer data)
{
  CuratorClient *client = data;
  const gboolean done = start_expected (client, NULL);
  client->dispatch->shortage_timer =
      done ? NULL : curator_timer_after (client, SHORTAGE_US, start_missing, client);
}

static CURATOR_LOCKED void
push_job (CuratorClient *client, CuratorLane lane, CuratorWork func, gpointer data,
          GDestroyNotify destroy)
{
  CuratorDispatch *dispatch = client->dispatch;
  g_queue_push_tail (&dispatch->jobs[lane], curator_task_new (func, data, destroy));
  /* A client that is not started yet, or is closed, still owes callbacks. */
  if (client->ops->threads && !dispatch->running[lane] && !start_lane (client, lane, NULL)
      && dispatch->shortage_timer == NULL) {
    curator_warn ("cannot start a thread: a callback is delayed");
    dispatch->shortage_timer = curator_timer_after (client, SHORTAGE_US, start_missing, client);
  }
  pthread_cond_signal (&dispatch->work_added[lane]);
}

void
curator_dispatch_push (CuratorClient *client, CuratorLane lane, CuratorWork func, gpointer data,
                       GDestroyNotify destroy)
{
  const gboolean is_callback = lane == CURATOR_LANE_CALLS || lane == CURATOR_LANE_STATES;
  if (!is_callback || client->settings.callback_context == NULL) {
    push_job (client, lane, func, data, destroy);
    return;
  }
  CuratorTask *job = curator_task_new (func, data, destroy);
  GSource *source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, curator_task_run, job, curator_task_free);
  g_source_attach (source, client->settings.callback_context);
  g_source_unref (source);
}

static void
cancel (gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
}

void
curator_dispatch_cancel (CuratorClient *client, GCancellable *cancellable)
{
  push_job (client, CURATOR_LANE_STATES, cancel, g_object_ref (cancellable), g_object_unref);
}

gint64
curator_dispatch_ready_at (CuratorClient *client, CuratorLane lane)
{
  if (lane == CURATOR_LANE_TIMERS) {
    gint64 due_us;
    curator_timers_first (&client->dispatch->timers, client, &due_us);
    return due_us;
  }
  return g_queue_is_empty (&client->dispatch->jobs[lane]) ? G_MAXINT64 : 0;
}

/* Timers fire with the mutex held, jobs run without it. */
static CURATOR_UNLOCKS gboolean
step_and_unlock (CuratorClient *client, CuratorLane lane)
{
  if (curator_dispatch_ready_at (client, lane) > curator_locked_now_us (client)) {
    curator_client_unlock (client);
    return FALSE;
  }
  if (lane == CURATOR_LANE_TIMERS) {
    gint64 due_us;
    CuratorTimer *first = curator_timers_first (&client->dispatch->timers, client, &due_us);
    g_assert (first != NULL);
    const CuratorTimer timer = *first;
    g_sequence_remove (first->place);
    timer.func (timer.data);
    curator_client_unlock (client);
    return TRUE;
  }
  CuratorTask *job = g_queue_pop_head (&client->dispatch->jobs[lane]);
  curator_client_unlock (client);
  if (is_ours (lane)) {
    CURATOR_INSIDE_GATE;
    curator_task_run (job);
    curator_task_free (job);
    return TRUE;
  }
  pthread_cleanup_push (curator_task_free, job);
  curator_task_run (job);
  pthread_cleanup_pop (TRUE);
  return TRUE;
}

gboolean
curator_dispatch_step (CuratorClient *client, CuratorLane lane)
{
  const CuratorThreadRole before = curator_thread_change_role (client, is_ours (lane));

  curator_client_memory_ref (client);
  curator_client_lock (client);
  const gboolean stepped = step_and_unlock (client, lane);
  curator_thread_change_role (before.client, before.is_ours);
  curator_client_memory_unref (client);
  return stepped;
}

/* Called with the client's mutex held, which is given back while waiting. By hand, since no
 * condition variable knows its clock. Without a descriptor it looks again and again. */
static CURATOR_NOT_ANALYSED void
wait_for_timer (CuratorClient *client, gint64 until_us)
{
  CuratorAlarm *alarm = &client->dispatch->alarm;
  client->dispatch->asleep_until_us = until_us;
  const gint64 delay_us =
      until_us == G_MAXINT64 ? G_MAXINT64 : until_us - curator_client_now_us (client);

  const gboolean is_open = curator_alarm_open (alarm);
  /* Set with the mutex held, so that an earlier timer is not forgotten. */
  curator_alarm_set (alarm, delay_us);
  curator_client_unlock (client);
  if (is_open)
    curator_alarm_wait (alarm);
  else
    g_usleep ((gulong) CLAMP (delay_us, 0, SHORTAGE_US));
  curator_client_lock (client);
  client->dispatch->asleep_until_us = 0;
}

/* The timer thread is the last one while somebody waits for the end. */
static CURATOR_LOCKED gboolean
may_end (CuratorClient *client, CuratorLane lane)
{
  CuratorDispatch *dispatch = client->dispatch;
  return dispatch->stopping && (lane == CURATOR_LANE_SESSION || client->sessions_open == 0)
         && (lane != CURATOR_LANE_TIMERS || dispatch->waiting == NULL || dispatch->n_lanes <= 1)
         && curator_dispatch_ready_at (client, lane) > curator_locked_now_us (client);
}

/* What waits for the end runs: it has come, or is too late. */
static CURATOR_LOCKED void
run_waiting (CuratorClient *client)
{
  CuratorAfter *after;

  while ((after = client->dispatch->waiting) != NULL) {
    client->dispatch->waiting = after->next;
    curator_client_after_unlock (client, after->func, after->data);
    g_free (after);
  }
}

static CURATOR_LOCKED gboolean
has_ended (CuratorClient *client)
{
  return client->sessions_open == 0 && client->dispatch->n_lanes == 0;
}

static CURATOR_LOCKED void
one_has_ended (CuratorClient *client)
{
  client->ops->wake (client->ops, &client->ended);
  if (has_ended (client))
    run_waiting (client);
}

void
curator_dispatch_session_ended (CuratorClient *client)
{
  client->sessions_open--;
  one_has_ended (client);
}

/* A callback may have ended the thread. */
static CURATOR_UNLOCKED void
lane_ended (void *data)
{
  const LaneStart *start = data;
  CuratorClient *client = start->client;

  curator_client_lock (client);
  client->dispatch->running[start->lane] = FALSE;
  if (!may_end (client, start->lane))
    start_lane (client, start->lane, NULL);
  client->dispatch->n_lanes--;
  one_has_ended (client);
  curator_alarm_wake (&client->dispatch->alarm);
  curator_client_unlock (client);
  curator_client_memory_unref (client);
  g_free (data);
}

static CURATOR_UNLOCKED void *
run_lane (void *data)
{
  const LaneStart *start = data;
  CuratorClient *client = start->client;

  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, NULL);
  curator_thread_change_role (client, is_ours (start->lane));
  pthread_cleanup_push (lane_ended, data);
  curator_client_lock (client);
  while (!may_end (client, start->lane)) {
    const gint64 when = curator_dispatch_ready_at (client, start->lane);
    if (when <= curator_locked_now_us (client)) {
      step_and_unlock (client, start->lane);
      curator_client_lock (client);
    } else if (start->lane == CURATOR_LANE_TIMERS) {
      wait_for_timer (client, when);
    } else {
      curator_locked_forget_clocks (client);
      curator_gate_cond_wait (&client->dispatch->work_added[start->lane], &client->mutex, NULL);
    }
  }
  curator_client_unlock (client);
  pthread_cleanup_pop (TRUE);
  return NULL;
}

static gboolean
start_lane (CuratorClient *client, CuratorLane lane, GError **error)
{
  static const char *const names[CURATOR_N_LANES] = { [CURATOR_LANE_TIMERS] = "curator-timers",
                                                      [CURATOR_LANE_CALLS] = "curator-calls",
                                                      [CURATOR_LANE_SESSION] = "curator-session",
                                                      [CURATOR_LANE_STATES] = "curator-states",
                                                      [CURATOR_LANE_QUESTIONS] = "curator-asks" };
  LaneStart *start = g_new (LaneStart, 1);

  *start = (LaneStart){ client, lane };
  curator_client_memory_ref (client);
  const int failed = curator_thread_start_detached (names[lane], run_lane, start);
  if (failed != 0) {
    curator_client_memory_unref (client);
    g_free (start);
    g_autofree char *why = curator_shortage_describe (failed);
    return CURATOR_REFUSE (error, CURATOR_ERROR_RESOURCES,
                           "cannot start a thread of the client: %s", why);
  }
  client->dispatch->n_lanes++;
  client->dispatch->running[lane] = TRUE;
  return TRUE;
}

void
curator_dispatch_expect (CuratorClient *client, CuratorLane lane, CuratorExpected what)
{
  client->dispatch->expected[lane] = MAX (client->dispatch->expected[lane], what);
  if (client->dispatch->running[CURATOR_LANE_TIMERS])
    start_expected (client, NULL);
}

gboolean
curator_dispatch_start (CuratorClient *client, GError **error)
{
  if (!client->ops->threads || start_expected (client, error))
    return TRUE;
  curator_dispatch_stop (client);
  return FALSE;
}

void
curator_dispatch_stop (CuratorClient *client)
{
  client->dispatch->stopping = TRUE;
  for (int lane = 0; lane < CURATOR_N_LANES; lane++)
    pthread_cond_broadcast (&client->dispatch->work_added[lane]);
  curator_alarm_wake (&client->dispatch->alarm);
}

static CURATOR_LOCKED void
warn_of_patience (const CuratorClient *client)
{
  curator_warn ("close does not wait any longer: %s", client->sessions_open > 0
                                                          ? "the session is not closed yet"
                                                          : "a callback has not returned");
}

/* A thread that serves another client waits for no callback: two of them could close each other's.
 * The end of a session waits for no callback either; a program may close its own handle next, also
 * where it has closed the client in one. */
static CURATOR_LOCKED gboolean
must_wait (const CuratorClient *client)
{
  const CuratorClient *served = curator_thread_role ().client;
  return (client->sessions_open > 0 && (served != client || client->ops->is_shared))
         || (client->dispatch->n_lanes > 0 && served == NULL);
}

void
curator_dispatch_join (CuratorClient *client)
{
  const gint64 until_us = curator_client_now_us (client) + CLOSE_PATIENCE_US;
  const struct timespec until = { until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000 };
  gboolean in_time = TRUE;

  while (in_time && must_wait (client)) {
    curator_locked_forget_clocks (client);
    if (client->ops->threads)
      in_time = curator_gate_cond_wait (&client->ended, &client->mutex, &until) != ETIMEDOUT;
    else
      client->ops->wait (client->ops, &client->ended, &client->mutex);
  }
  if (!in_time)
    warn_of_patience (client);
}

/* Runs on the timer thread. */
static CURATOR_LOCKED void
on_patience_over (gpointer data)
{
  CuratorClient *client = data;

  if (client->dispatch->waiting != NULL)
    warn_of_patience (client);
  run_waiting (client);
}

void
curator_dispatch_end_then (CuratorClient *client, CuratorWork func, gpointer data)
{
  CuratorDispatch *dispatch = client->dispatch;

  if (has_ended (client)) {
    curator_client_after_unlock (client, func, data);
    return;
  }
  CuratorAfter *after = g_new (CuratorAfter, 1);
  *after = (CuratorAfter){ dispatch->waiting, func, data };
  dispatch->waiting = after;
  if (client->ops->threads && !dispatch->running[CURATOR_LANE_TIMERS])
    start_lane (client, CURATOR_LANE_TIMERS, NULL);
  curator_timer_after (client, CLOSE_PATIENCE_US, on_patience_over, client);
}
