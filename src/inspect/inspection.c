/* The getters of an inspection.
 *
 * Curator has no counterpart. Threads: any; no lock: an inspection is constant.
 */
#include "inspect/inspection-private.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "base/tag.h"
#include "lock/queue.h"

#include <string.h>

CURATOR_REF_FUNC (curator_inspection_ref, CuratorInspection, INSPECTION)

void
curator_inspection_unref (CuratorInspection *inspection)
{
  g_return_if_fail (CURATOR_IS_INSPECTION (inspection));
  if (curator_refs_dec (&inspection->refs)) {
    CURATOR_INSIDE_GATE;
    g_free (inspection->path);
    g_ptr_array_unref (inspection->participants);
    g_ptr_array_unref (inspection->foreign);
    curator_tag_clear (inspection);
    g_free (inspection);
  }
}

CURATOR_GETTER (const char *, curator_inspection_get_path, const CuratorInspection, INSPECTION,
                path, NULL)
CURATOR_GETTER (CuratorLockKind, curator_inspection_get_kind, const CuratorInspection, INSPECTION,
                kind, CURATOR_LOCK_KIND_NONE)

const char *
curator_lock_kind_to_string (CuratorLockKind kind)
{
  static const char *const names[] = {
    "none", "mutex", "read-write", "semaphore", "latch", "other"
  };
  return (guint) kind < G_N_ELEMENTS (names) ? names[kind] : "unknown";
}

CURATOR_GETTER (guint, curator_inspection_get_n_holders, const CuratorInspection, INSPECTION,
                n_holders, 0)
CURATOR_GETTER (guint, curator_inspection_get_n_waiting, const CuratorInspection, INSPECTION,
                n_waiting, 0)
CURATOR_GETTER (guint, curator_inspection_get_n_participants, const CuratorInspection, INSPECTION,
                participants->len, 0)

const CuratorParticipant *
curator_inspection_get_participant (const CuratorInspection *inspection, guint i)
{
  g_return_val_if_fail (CURATOR_IS_INSPECTION (inspection), NULL);
  return i < inspection->participants->len ? g_ptr_array_index (inspection->participants, i) : NULL;
}

const char *const *
curator_inspection_get_foreign_children (const CuratorInspection *inspection)
{
  g_return_val_if_fail (CURATOR_IS_INSPECTION (inspection), NULL);
  return (const char *const *) inspection->foreign->pdata;
}

CURATOR_GETTER (gint64, curator_inspection_get_next_number, const CuratorInspection, INSPECTION,
                next_number, 0)

double
curator_inspection_get_counter_used (const CuratorInspection *inspection)
{
  g_return_val_if_fail (CURATOR_IS_INSPECTION (inspection), 0);
  if (inspection->next_number > CURATOR_QUEUE_LAST_NUMBER)
    return 1;
  return CLAMP ((double) inspection->next_number / (double) G_MAXINT32, 0, 1);
}

CURATOR_GETTER (CuratorParticipantKind, curator_participant_get_kind, const CuratorParticipant,
                PARTICIPANT, kind, CURATOR_PARTICIPANT_KIND_MUTEX)

const char *
curator_participant_kind_to_string (CuratorParticipantKind kind)
{
  static const char *const names[] = {
    "mutex", "read", "write", "lease", "turn", "latch", "other"
  };
  return (guint) kind < G_N_ELEMENTS (names) ? names[kind] : "unknown";
}

CURATOR_GETTER (gboolean, curator_participant_is_holder, const CuratorParticipant, PARTICIPANT,
                is_holder, FALSE)
CURATOR_GETTER (guint, curator_participant_get_position, const CuratorParticipant, PARTICIPANT,
                position, 0)
CURATOR_GETTER (const char *, curator_participant_get_node_path, const CuratorParticipant,
                PARTICIPANT, node_path, NULL)
CURATOR_GETTER (gint64, curator_participant_get_session_id, const CuratorParticipant, PARTICIPANT,
                session_id, 0)
CURATOR_GETTER (gboolean, curator_participant_is_readable, const CuratorParticipant, PARTICIPANT,
                is_readable, FALSE)

gint64
curator_participant_get_age_ms (const CuratorParticipant *participant)
{
  g_return_val_if_fail (CURATOR_IS_PARTICIPANT (participant), 0);
  return participant->is_readable ? MAX (g_get_real_time () / 1000 - participant->ctime_ms, 0) : 0;
}

guint64
curator_participant_get_token (const CuratorParticipant *participant)
{
  g_return_val_if_fail (CURATOR_IS_PARTICIPANT (participant), 0);
  return (guint64) participant->czxid;
}

CURATOR_GETTER (gint64, curator_participant_get_number, const CuratorParticipant, PARTICIPANT,
                number, 0)
CURATOR_GETTER (GBytes *, curator_participant_get_data, const CuratorParticipant, PARTICIPANT, data,
                NULL)

char *
curator_escape_name (const char *bytes, gssize length)
{
  g_return_val_if_fail (bytes != NULL || length == 0, NULL);

  GString *shown = g_string_new (NULL);
  const char *end = length < 0 ? bytes + strlen (bytes) : bytes + length;
  /* curator_path_escape() stops at a NUL byte, but a payload may contain some. */
  for (const char *piece = bytes; piece < end;) {
    g_autofree char *text = g_strndup (piece, (gsize) (end - piece));
    g_autofree char *safe = curator_path_escape (text);
    g_string_append (shown, safe);
    piece += strlen (text);
    if (piece < end) {
      g_string_append (shown, "\\x00");
      piece++;
    }
  }
  return g_string_free (shown, FALSE);
}
