/* Recognizes lock nodes, and the recipe they belong to, by their names.
 *
 * Mirrors StandardLockInternalsDriver. Threads: any; pure, no lock.
 */
#include "inspect/grammar.h"

#include <string.h>

#define N_DIGITS 10 /* of a sequence */
#define N_UUID   32

const char *
curator_grammar_key (const char *name, gpointer kind)
{
  static const char *const lock_names[] = { [CURATOR_PARTICIPANT_KIND_MUTEX] = CURATOR_LOCK_NAME,
                                            [CURATOR_PARTICIPANT_KIND_READ] = CURATOR_READ_NAME,
                                            [CURATOR_PARTICIPANT_KIND_WRITE] = CURATOR_WRITE_NAME,
                                            [CURATOR_PARTICIPANT_KIND_LEASE] = CURATOR_LEASE_NAME,
                                            [CURATOR_PARTICIPANT_KIND_TURN] = CURATOR_LOCK_NAME,
                                            [CURATOR_PARTICIPANT_KIND_LATCH] = CURATOR_LATCH_NAME };
  const char *key = curator_queue_standard_key (name, lock_names[GPOINTER_TO_INT (kind)]);
  return key == name && GPOINTER_TO_INT (kind) == CURATOR_PARTICIPANT_KIND_READ
             ? curator_queue_standard_key (name, CURATOR_WRITE_NAME)
             : key;
}

gboolean
curator_grammar_is_node (const char *name, CuratorParticipantKind kind)
{
  const char *digits = curator_grammar_key (name, GINT_TO_POINTER (kind));
  return digits != name && curator_queue_parse_number (digits, NULL);
}

CuratorLockKind
curator_grammar_kind (const char *const *children, gsize n)
{
  gsize n_mutex = 0;
  gsize n_rw = 0;
  gsize n_latch = 0;
  gboolean has_leases = FALSE;

  for (gsize i = 0; i < n; i++) {
    n_mutex += curator_grammar_is_node (children[i], CURATOR_PARTICIPANT_KIND_MUTEX);
    n_rw += curator_grammar_is_node (children[i], CURATOR_PARTICIPANT_KIND_READ);
    n_latch += curator_grammar_is_node (children[i], CURATOR_PARTICIPANT_KIND_LATCH);
    has_leases = has_leases || strcmp (children[i], CURATOR_LEASES_NAME) == 0;
  }
  if (n_latch > MAX (n_mutex, n_rw))
    return CURATOR_LOCK_KIND_LEADER_LATCH;
  if (n_mutex > 0 || n_rw > 0)
    return n_mutex >= n_rw ? CURATOR_LOCK_KIND_MUTEX : CURATOR_LOCK_KIND_READ_WRITE;
  return has_leases ? CURATOR_LOCK_KIND_SEMAPHORE : CURATOR_LOCK_KIND_NONE;
}

/* Whether name ends with n of these characters. */
static gboolean
ends_with (const char *name, gsize n, const char *characters)
{
  const gsize length = strlen (name);
  return length >= n && strspn (name + length - n, characters) == n;
}

gboolean
curator_grammar_may_queue (const char *name)
{
  return ends_with (name, N_DIGITS, "0123456789")
         || ends_with (name, N_UUID, "0123456789abcdefABCDEF");
}

gint64
curator_grammar_number_of (const char *name)
{
  return ends_with (name, N_DIGITS, "0123456789")
             ? g_ascii_strtoll (name + strlen (name) - N_DIGITS, NULL, 10)
             : 0;
}

/* FNV-1a of each name, then summed. */
guint64
curator_grammar_digest (const GPtrArray *names)
{
  guint64 sum = 0;

  for (guint i = 0; i < names->len; i++) {
    guint64 hash = G_GUINT64_CONSTANT (0xcbf29ce484222325);
    for (const char *c = g_ptr_array_index (names, i); *c != '\0'; c++)
      hash = (hash ^ (guint8) *c) * G_GUINT64_CONSTANT (0x100000001b3);
    sum += hash;
  }
  return sum;
}
