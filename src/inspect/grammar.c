/* Recognizes lock nodes, and the recipe they belong to, by their names.
 *
 * Mirrors StandardLockInternalsDriver. Threads: any; pure, no lock.
 */
#include "inspect/grammar.h"

#include <string.h>

#define N_DIGITS 10 /* of a sequence */
#define N_UUID   32

const char *
curator_grammar_mutex_key (const char *name, gpointer user_data)
{
  return curator_queue_standard_key (name, CURATOR_LOCK_NAME);
}

const char *
curator_grammar_latch_key (const char *name, gpointer user_data)
{
  return curator_queue_standard_key (name, CURATOR_LATCH_NAME);
}

const char *
curator_grammar_lease_key (const char *name, gpointer user_data)
{
  return curator_queue_standard_key (name, CURATOR_LEASE_NAME);
}

const char *
curator_grammar_rw_key (const char *name, gpointer user_data)
{
  const char *key = curator_queue_standard_key (name, CURATOR_READ_NAME);
  return key != name ? key : curator_queue_standard_key (name, CURATOR_WRITE_NAME);
}

gboolean
curator_grammar_is_writer (const char *name)
{
  return curator_queue_standard_key (name, CURATOR_WRITE_NAME) != name;
}

gsize
curator_grammar_count (const char *const *children, gsize n, CuratorQueueKeyFunc key)
{
  gsize found = 0;

  for (gsize i = 0; i < n; i++) {
    const char *digits = key (children[i], NULL);
    found += digits != children[i] && curator_queue_parse_number (digits, NULL);
  }
  return found;
}

CuratorLockKind
curator_grammar_kind (const char *const *children, gsize n)
{
  const gsize n_mutex = curator_grammar_count (children, n, curator_grammar_mutex_key);
  const gsize n_rw = curator_grammar_count (children, n, curator_grammar_rw_key);
  const gsize n_latch = curator_grammar_count (children, n, curator_grammar_latch_key);

  if (n_latch > MAX (n_mutex, n_rw))
    return CURATOR_LOCK_KIND_LEADER_LATCH;
  if (n_mutex > 0 || n_rw > 0)
    return n_mutex >= n_rw ? CURATOR_LOCK_KIND_MUTEX : CURATOR_LOCK_KIND_READ_WRITE;
  for (gsize i = 0; i < n; i++)
    if (strcmp (children[i], CURATOR_LEASES_NAME) == 0)
      return CURATOR_LOCK_KIND_SEMAPHORE;
  return CURATOR_LOCK_KIND_NONE;
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
