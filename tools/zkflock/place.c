/* Reports the place in the queue to systemd and to --verbose. It costs reads, so it runs for those
 * only. */
#include "place.h"

#include "base/notify.h"
#include "base/outcome.h"

#define FIRST_READ_MS 300
#define READ_MS       3000

struct _Place
{
  const Options *options;
  CuratorClient *client;
  GCancellable *stopped;
  char **reading; /* the path that is read, or NULL */
  guint timer;
  guint last_position;
};

static void read_path (Place *place, char **path);
static void schedule (Place *place, guint ms);

static void
place_free (Place *place)
{
  curator_client_unref (place->client);
  g_object_unref (place->stopped);
  g_free (place);
}

/* FALSE: this session does not wait there. */
static gboolean
report (Place *place, CuratorInspection *inspection)
{
  const gint64 session = curator_client_get_session_id (place->client);
  const CuratorParticipant *first = curator_inspection_get_participant (inspection, 0);
  guint position = 0; /* own */

  for (guint i = 0; position == 0 && i < curator_inspection_get_n_participants (inspection); i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
    if (curator_participant_get_session_id (one) == session)
      position = curator_participant_get_position (one);
  }
  if (position == 0 || position == place->last_position)
    return position > 0;
  gsize length;
  const char *bytes = g_bytes_get_data (curator_participant_get_data (first), &length);
  g_autofree char *label = curator_escape_name (bytes, (gssize) length);
  place->last_position = position;
  print_verbose (place->options, "waiting: %u of %u, held by %s", position,
                 curator_inspection_get_n_waiting (inspection), label);
  notify_status ("waiting: %u of %u, held by %s", position,
                 curator_inspection_get_n_waiting (inspection), label);
  return TRUE;
}

static void
on_read (CuratorClient *client, CuratorInspection *inspection, const GError *error, gpointer data)
{
  Place *place = data;
  char **next = place->reading + 1;

  place->reading = NULL;
  if (g_cancellable_is_cancelled (place->stopped))
    place_free (place);
  else if ((inspection != NULL && report (place, inspection)) || *next == NULL)
    schedule (place, READ_MS);
  else
    read_path (place, next);
  g_clear_pointer (&inspection, curator_inspection_unref);
}

/* The first path in whose queue this session waits: the paths of a multi-lock are acquired in
 * turn. */
static void
read_path (Place *place, char **path)
{
  place->reading = path;
  curator_client_inspect_then (place->client, *path, CURATOR_WAIT_DEFAULT, place->stopped, on_read,
                               place);
}

static gboolean
on_timer (gpointer data)
{
  Place *place = data;
  place->timer = 0;
  read_path (place, place->options->paths);
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
  place->stopped = g_cancellable_new ();
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
  g_cancellable_cancel (place->stopped);
  g_clear_handle_id (&place->timer, g_source_remove);
  if (place->reading == NULL)
    place_free (place);
}
