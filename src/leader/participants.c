/* The participants of an election, as the server lists them. Mirrors Participant, and the static
 * functions of LeaderSelector that collect them.
 *
 * Threads: any; no lock, because a participant never changes.
 */
#include "leader/participants.h"

#include "base/refs.h"
#include "base/tag.h"
#include "core/namespace.h"
#include "nodes/call.h"

struct _CuratorLeaderParticipant
{
  CuratorTag tag;
  CuratorRefs refs;
  char *id;
  gboolean is_leader;
};

static CuratorLeaderParticipant *
participant_new (GBytes *id, gboolean is_leader)
{
  CuratorLeaderParticipant *participant = g_new0 (CuratorLeaderParticipant, 1);
  gsize length = 0;
  const char *bytes = id != NULL ? g_bytes_get_data (id, &length) : NULL;

  participant->tag = CURATOR_TAG_LEADER_PARTICIPANT;
  curator_refs_init (&participant->refs);
  participant->id = length > 0 ? g_utf8_make_valid (bytes, (gssize) length) : g_strdup ("");
  participant->is_leader = is_leader;
  return participant;
}

CURATOR_REF_FUNC (curator_leader_participant_ref, CuratorLeaderParticipant, LEADER_PARTICIPANT)

void
curator_leader_participant_unref (CuratorLeaderParticipant *participant)
{
  g_return_if_fail (CURATOR_IS_LEADER_PARTICIPANT (participant));
  if (curator_refs_dec (&participant->refs)) {
    g_free (participant->id);
    curator_tag_clear (participant);
    g_free (participant);
  }
}

CURATOR_GETTER (const char *, curator_leader_participant_get_id, const CuratorLeaderParticipant,
                LEADER_PARTICIPANT, id, NULL)
CURATOR_GETTER (gboolean, curator_leader_participant_is_leader, const CuratorLeaderParticipant,
                LEADER_PARTICIPANT, is_leader, FALSE)
CURATOR_DESTROY_FUNC (unref_participant, curator_leader_participant_unref)

GPtrArray *
curator_participants_read (CuratorLockInternals *internals, guint most, gint64 timeout_ms,
                           GCancellable *cancellable, GError **error)
{
  CuratorLimits limits;
  if (!curator_limits_init (&limits, internals->client, timeout_ms, cancellable, error))
    return NULL;
  g_autoptr (GPtrArray) participants = g_ptr_array_new_with_free_func (unref_participant);
  g_auto (GStrv) paths = curator_participants_await (internals, &limits, error);
  if (paths == NULL)
    return NULL;
  for (char **path = paths; *path != NULL && participants->len < most; path++) {
    g_autofree char *full = curator_client_full_path (internals->client, *path);
    g_autoptr (GError) local = NULL;
    g_autoptr (CuratorCallResult) result =
        curator_call (&limits, CURATOR_CALL_GET, full, NULL, 0, NULL, &local);
    if (result != NULL) {
      /* The first that is still there leads. */
      g_ptr_array_add (participants, participant_new (result->data, participants->len == 0));
    } else if (!g_error_matches (local, CURATOR_ZK_ERROR, ZNONODE)) {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  }
  return g_steal_pointer (&participants);
}

CuratorLeaderParticipant *
curator_participants_read_leader (CuratorLockInternals *internals, gint64 timeout_ms,
                                  GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) first =
      curator_participants_read (internals, 1, timeout_ms, cancellable, error);
  return first != NULL && first->len > 0 ? curator_leader_participant_ref (first->pdata[0]) : NULL;
}
