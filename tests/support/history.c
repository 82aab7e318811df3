/* A hold is two operations. It is acquired between the call and its return. It is released after
 * its holder has stopped to believe: until the release has returned, if the server has confirmed
 * it, otherwise at any time later. */
#include "history.h"

#include <stdio.h>

typedef struct
{
  const RecordEvent *grant;
  int depth;
  gint64 over_ns; /* since when its holder does not believe; 0: it does */
} Hold;

typedef struct
{
  const char *name;
  GHashTable *calls; /* actor to RecordEvent */
  GPtrArray *holds;  /* Hold, those that are believed or being released */
  GPtrArray *taken;  /* RecordEvent */
} Export;

static FILE *
file (void)
{
  static FILE *stream;
  const char *path = g_getenv ("CURATOR_HISTORY");
  if (stream == NULL && path != NULL) {
    stream = fopen (path, "ae");
    g_assert (stream != NULL);
  }
  return stream;
}

gboolean
history_is_wanted (void)
{
  return file () != NULL;
}

void
history_add (const HistoryOp *op)
{
  char end[24] = "-";
  if (!history_is_wanted ())
    return;
  if (op->end != HISTORY_OPEN)
    g_snprintf (end, sizeof end, "%" G_GINT64_FORMAT, op->end);
  fprintf (file (),
           "%s %s %s %s %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT " %s %" G_GUINT64_FORMAT
           " %d %d\n",
           op->op, op->kind, op->lock, op->process, op->hold, op->start, end, op->token,
           op->permits, op->limit);
  fflush (file ());
}

/* --- recorded events -------------------------------------------------------------------------- */

static void
write_op (const Export *export, const RecordEvent *grant, const char *op, gint64 start, gint64 end)
{
  static const char *const kinds[RECORD_N_KINDS] = { "mutex", "read", "write", "permit" };
  g_autofree char *lock = g_strdup_printf ("%s/%u", export->name, grant->lock);
  g_autofree char *process = g_strdup_printf ("%d/%d", grant->process, grant->thread);
  const HistoryOp line = { .op = op,
                           .kind = kinds[grant->kind],
                           .lock = lock,
                           .process = process,
                           .hold = grant->token,
                           .start = start,
                           .end = end,
                           .token = grant->token,
                           .permits = grant->permits,
                           .limit = grant->limit };
  history_add (&line);
}

static void
end_hold (Export *export, Hold *hold, gint64 over_ns, gint64 end)
{
  write_op (export, hold->grant, "release", over_ns, end);
  g_ptr_array_remove (export->holds, hold);
}

static Hold *
hold_of (Export *export, const RecordEvent *event)
{
  for (guint i = export->holds->len; i > 0; i--) {
    Hold *hold = export->holds->pdata[i - 1];
    if (record_is_of_hold (event, hold->grant))
      return hold;
  }
  return NULL;
}

/* A hold whose node was taken before the grant is no hold, whatever its holder may still
 * believe. */
static void
on_grant (Export *export, const RecordEvent *event)
{
  g_autofree char *actor = record_dup_actor (event);
  const RecordEvent *call = g_hash_table_lookup (export->calls, actor);
  Hold *own = event->kind != RECORD_SEMAPHORE ? hold_of (export, event) : NULL;
  for (guint i = 0; i < export->taken->len; i++)
    if (record_may_have_ended (export->taken->pdata[i], event))
      return;
  if (own != NULL && own->grant->thread == event->thread) {
    own->depth++;
    return;
  }
  Hold *hold = g_new0 (Hold, 1);
  hold->grant = event;
  hold->depth = 1;
  g_ptr_array_add (export->holds, hold);
  write_op (export, event, "acquire", call != NULL ? call->time_ns : event->time_ns,
            event->time_ns);
}

static void
on_release (Export *export, const RecordEvent *event)
{
  Hold *hold = hold_of (export, event);
  if (hold != NULL && event->op == RECORD_RELEASE_CALLED && --hold->depth == 0) {
    hold->over_ns = event->time_ns;
  } else if (hold != NULL && event->op == RECORD_RELEASE_RETURNED && hold->over_ns != 0) {
    end_hold (export, hold, hold->over_ns,
              event->result == RECORD_OK ? event->time_ns : HISTORY_OPEN);
  }
}

/* At the latest with this event. */
static void
end_at (Export *export, Hold *hold, const RecordEvent *event)
{
  end_hold (export, hold, hold->over_ns != 0 ? hold->over_ns : event->time_ns, HISTORY_OPEN);
}

static void
end_holds (Export *export, const RecordEvent *event)
{
  for (guint i = export->holds->len; i > 0; i--) {
    Hold *hold = export->holds->pdata[i - 1];
    if (event->op == RECORD_PROCESS_DIED ? hold->grant->process == event->process
                                         : record_may_have_ended (event, hold->grant)) {
      end_at (export, hold, event);
    }
  }
}

static void
add_event (Export *export, RecordEvent *event)
{
  const RecordOp op = event->op;
  Hold *lost = op == RECORD_LOST || op == RECORD_DEADLINE ? hold_of (export, event) : NULL;
  if (op == RECORD_ACQUIRE_CALLED)
    g_hash_table_replace (export->calls, record_dup_actor (event), event);
  if (op == RECORD_ACQUIRE_RETURNED && event->result == RECORD_OK)
    on_grant (export, event);
  if (op == RECORD_RELEASE_CALLED || op == RECORD_RELEASE_RETURNED)
    on_release (export, event);
  if (op == RECORD_NODE_TAKEN)
    g_ptr_array_add (export->taken, event);
  if (op == RECORD_NODE_TAKEN || op == RECORD_PROCESS_DIED)
    end_holds (export, event);
  if (lost != NULL)
    end_at (export, lost, event);
}

void
history_add_events (const char *name, const GArray *events)
{
  Export export = { .name = name,
                    .calls = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                    .holds = g_ptr_array_new_with_free_func (g_free),
                    .taken = g_ptr_array_new () };
  for (guint i = 0; i < events->len && history_is_wanted (); i++)
    add_event (&export, &g_array_index (events, RecordEvent, i));
  g_hash_table_unref (export.calls);
  g_ptr_array_unref (export.holds);
  g_ptr_array_unref (export.taken);
}
