/* The kinds of lock, which do not exclude each other, by the names of their nodes. Pure. */
#include "base/kind.h"

#include <string.h>

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
    [KIND_LATCH] = "leader latch", [KIND_KAZOO] = "kazoo",     [KIND_OTHER] = "other",
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
  for (gsize i = 0; i < G_N_ELEMENTS (endings); i++)
    {
      if (g_str_has_suffix (name, endings[i].name))
        {
          *kind = endings[i].kind;
          return TRUE;
        }
    }
  return FALSE;
}
