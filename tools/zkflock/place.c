/* Reports the place in the queue to systemd and to --verbose. It costs reads, so it runs for those
 * only. */
#include "place.h"

#include "base/notify.h"
#include "base/outcome.h"

#define FIRST_READ_MS 300
#define READ_MS       3000

struct _Place
{
  gint refs; /* atomic; the owner, and each read in flight */
  const Options *options;
  CuratorClient *client;
  guint timer;
  guint last_position;
  gboolean stopped;
};

static void schedule (Place *place, guint ms);

static void
place_unref (gpointer data)
{
  Place *place = data;
  if (g_atomic_int_dec_and_test (&place->refs))
    {
      curator_client_unref (place->client);
      g_free (place);
    }
}

/* Runs on a thread of its own, because reading blocks. Returns the first path in whose queue this
 * session waits: the paths of a multi-lock are acquired in turn. */
static void
read_queue (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Place *place = data;

  for (char **path = place->options->paths; *path != NULL; path++)
    {
      g_autoptr (CuratorInspection) inspection =
          curator_inspect (place->client, *path, 0, NULL, NULL);
      const gint64 session = curator_client_get_session_id (place->client);
      const guint n = inspection != NULL ? curator_inspection_get_n_participants (inspection) : 0;
      for (guint i = 0; i < n; i++)
        {
          const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
          if (curator_participant_get_session_id (one) == session
              && curator_participant_get_position (one) > 0)
            {
              g_task_return_pointer (task, g_steal_pointer (&inspection),
                                     (GDestroyNotify) curator_inspection_unref);
              return;
            }
        }
    }
  g_task_return_pointer (task, NULL, NULL);
}

static const CuratorParticipant *
find_own (Place *place, CuratorInspection *inspection)
{
  const gint64 session = curator_client_get_session_id (place->client);

  for (guint i = 0; i < curator_inspection_get_n_participants (inspection); i++)
    {
      const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
      if (curator_participant_get_session_id (one) == session
          && curator_participant_get_position (one) > 0)
        {
          return one;
        }
    }
  return NULL;
}

static void
report (Place *place, CuratorInspection *inspection)
{
  const CuratorParticipant *own = find_own (place, inspection);
  const CuratorParticipant *first = curator_inspection_get_participant (inspection, 0);
  const guint position = own != NULL ? curator_participant_get_position (own) : 0;

  if (position == 0 || position == place->last_position)
    return;
  gsize length;
  const char *bytes = g_bytes_get_data (curator_participant_get_data (first), &length);
  g_autofree char *label = curator_escape_name (bytes, (gssize) length);
  place->last_position = position;
  print_verbose (place->options, "waiting: %u of %u, held by %s", position,
                 curator_inspection_get_n_waiting (inspection), label);
  notify_status ("waiting: %u of %u, held by %s", position,
                 curator_inspection_get_n_waiting (inspection), label);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer data)
{
  Place *place = data;
  CuratorInspection *inspection = g_task_propagate_pointer (G_TASK (result), NULL);

  if (!place->stopped)
    {
      if (inspection != NULL)
        report (place, inspection);
      schedule (place, READ_MS);
    }
  g_clear_pointer (&inspection, curator_inspection_unref);
  place_unref (place);
}

static gboolean
on_timer (gpointer data)
{
  Place *place = data;
  place->timer = 0;
  g_atomic_int_inc (&place->refs);
  GTask *task = g_task_new (NULL, NULL, on_read, place);
  g_task_set_task_data (task, place, NULL);
  g_task_run_in_thread (task, read_queue);
  g_object_unref (task);
  return G_SOURCE_REMOVE;
}

static void
schedule (Place *place, guint ms)
{
  place->timer = g_timeout_add (ms, on_timer, place);
}

Place *
place_start (const Options *options, CuratorClient *client)
{
  if (!options->verbose && !notify_is_wanted ())
    return NULL;
  Place *place = g_new0 (Place, 1);
  g_atomic_int_set (&place->refs, 1);
  place->options = options;
  place->client = curator_client_ref (client);
  schedule (place, FIRST_READ_MS);
  return place;
}

void
place_forget (Place *place)
{
  if (place != NULL)
    place->last_position = 0;
}

void
place_stop (Place *place)
{
  if (place == NULL)
    return;
  place->stopped = TRUE;
  if (place->timer != 0)
    g_source_remove (place->timer);
  place_unref (place);
}
