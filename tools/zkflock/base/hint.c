/* What a mistyped word was meant to be. */
#include "base/options-private.h"

#include <string.h>

#define MAX_LENGTH 32

static guint
edit_distance (const char *a, const char *b)
{
  const gsize length = strlen (b);
  g_autofree guint *row = g_new (guint, length + 1);

  for (guint j = 0; j <= length; j++)
    row[j] = j;
  for (guint i = 1; a[i - 1] != '\0'; i++) {
    guint diagonal = row[0];
    row[0] = i;
    for (guint j = 1; j <= length; j++) {
      const guint change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = MIN (change, MIN (row[j], row[j - 1]) + 1);
    }
  }
  return row[length];
}

static gboolean
is_near (const char *word, const char *name)
{
  return strlen (word) <= MAX_LENGTH && edit_distance (word, name) <= (strlen (name) + 1) / 3;
}

const char *
hint_verb (const char *word, const char *const *verbs)
{
  static const char *const others[][2] = { { "list", "tree" },    { "ls", "tree" },
                                           { "status", "who" },   { "show", "who" },
                                           { "watch", "top" },    { "unlock", "revoke" },
                                           { "check", "doctor" }, { "clean", "reap" },
                                           { "gc", "reap" } };

  for (gsize i = 0; i < G_N_ELEMENTS (others); i++)
    if (strcmp (word, others[i][0]) == 0)
      return others[i][1];
  for (; *verbs != NULL; verbs++)
    if (is_near (word, *verbs))
      return *verbs;
  return NULL;
}

const char *
hint_option (const char *word, const OptionRow *row)
{
  const char *nearest = NULL;
  guint least = G_MAXUINT;

  if (!g_str_has_prefix (word, "--"))
    return NULL;
  g_autofree char *name = g_strndup (word + 2, strcspn (word + 2, "="));
  for (; *name != '\0' && row->name != NULL; row++) {
    const char *one = row->name;
    /* GNU programs allow "--non" for "--nonblock". */
    const guint distance = g_str_has_prefix (one, name) ? 0
                           : is_near (name, one)        ? edit_distance (name, one)
                                                        : G_MAXUINT;
    if (distance < least) {
      nearest = one;
      least = distance;
    }
  }
  return nearest;
}
