/* The kinds of lock, which do not exclude each other, by the names of their nodes, and the counts
 * of semaphores, by what the nodes contain. Pure. */
#include "base/kind.h"

#include <string.h>

#define COUNT_MARK " -N "

/* What the names of nodes end with, before their number. */
static const struct
{
  const char *name;
  Kind kind;
} endings[] = {
  { "__READ__", KIND_READ_WRITE }, { "__WRIT__", KIND_READ_WRITE }, { "__lock__", KIND_KAZOO },
  { "__rlock__", KIND_KAZOO },     { "latch-", KIND_LATCH },        { "lease-", KIND_SEMAPHORE },
  { "lock-", KIND_MUTEX },
};

const char *
kind_to_string (Kind kind)
{
  static const char *const names[] = {
    [KIND_MUTEX] = "a mutex",         [KIND_READ_WRITE] = "a read-write lock",
    [KIND_SEMAPHORE] = "a semaphore", [KIND_LATCH] = "a leader latch",
    [KIND_KAZOO] = "a lock of kazoo", [KIND_OTHER] = "a lock of another program",
  };
  return names[kind];
}

const char *
kind_to_word (Kind kind)
{
  static const char *const words[] = {
    [KIND_MUTEX] = "mutex",        [KIND_READ_WRITE] = "read-write", [KIND_SEMAPHORE] = "semaphore",
    [KIND_LATCH] = "leader latch", [KIND_KAZOO] = "kazoo",           [KIND_OTHER] = "other",
  };
  return words[kind];
}

gboolean
kind_is_unclear (const char *node)
{
  const gsize length = strlen (node);
  Kind kind;

  return length >= KIND_DIGITS
         && strspn (node + length - KIND_DIGITS, "0123456789abcdefABCDEF") == KIND_DIGITS
         && !kind_of_node (node, &kind);
}

gboolean
kind_of_node (const char *node, Kind *kind)
{
  const gsize length = strlen (node);

  if (length <= KIND_DIGITS || strspn (node + length - KIND_DIGITS, "0123456789") != KIND_DIGITS)
    return FALSE;
  g_autofree char *name = g_strndup (node, length - KIND_DIGITS);
  for (gsize i = 0; i < G_N_ELEMENTS (endings); i++) {
    if (g_str_has_suffix (name, endings[i].name)) {
      *kind = endings[i].kind;
      return TRUE;
    }
  }
  return FALSE;
}

char *
kind_label_with_count (const char *label, int count)
{
  g_autofree char *text = g_strdup_printf ("%s" COUNT_MARK "%d", label, count);
  return strlen (text) <= MAX_LABEL_LENGTH ? g_steal_pointer (&text) : g_strdup (label);
}

guint
kind_get_count (const CuratorParticipant *one)
{
  const CuratorParticipantKind kind = curator_participant_get_kind (one);
  gsize length;
  const char *data = g_bytes_get_data (curator_participant_get_data (one), &length);
  const char *mark = length > 0 ? g_strrstr_len (data, (gssize) length, COUNT_MARK) : NULL;
  guint64 count = 0;

  if (mark == NULL
      || (kind != CURATOR_PARTICIPANT_KIND_LEASE && kind != CURATOR_PARTICIPANT_KIND_TURN))
    return 0;
  mark += strlen (COUNT_MARK);
  g_autofree char *digits = g_strndup (mark, (gsize) (data + length - mark));
  return g_ascii_string_to_unsigned (digits, 10, 1, G_MAXINT, &count, NULL) ? (guint) count : 0;
}

gboolean
kind_find_counts (const CuratorInspection *lock, guint *least, guint *greatest)
{
  *least = G_MAXUINT;
  *greatest = 0;
  for (guint i = 0; i < curator_inspection_get_n_participants (lock); i++) {
    const guint count = kind_get_count (curator_inspection_get_participant (lock, i));
    *least = count > 0 ? MIN (*least, count) : *least;
    *greatest = MAX (*greatest, count);
  }
  return *greatest > 0;
}
