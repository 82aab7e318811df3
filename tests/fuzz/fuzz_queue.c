/* Orders children's names, one a line, and compares with an oracle that compares texts as Java
 * does, without parsing numbers. The first byte chooses the recipe. */
#include "fuzz.h"

#include "inspect/grammar.h"

/* The text after the last of these words, if it is a number as the server prints it; else NULL. */
static const char *
oracle_key (const char *name, gboolean rw)
{
  static const char *const words[] = { "lock-", "__READ__", "__WRIT__" };
  const char *key = NULL;
  for (guint i = rw ? 1 : 0; i < (rw ? 3 : 1) && key == NULL; i++) {
    const char *word = g_strrstr (name, words[i]);
    key = word != NULL ? word + strlen (words[i]) : NULL;
  }
  gint64 number = key != NULL ? g_ascii_strtoll (key, NULL, 10) : 0;
  g_autofree char *printed = g_strdup_printf ("%010d", (int) number);
  return key != NULL && strcmp (printed, key) == 0 ? key : NULL;
}

static gboolean
is_writer (const char *name)
{
  const char *key = oracle_key (name, TRUE);
  return key != NULL && key - name >= 8 && memcmp (key - 8, "__WRIT__", 8) == 0;
}

/* The number of nodes in front of own, and the last of them; FALSE where the order is undefined. */
static gboolean
oracle_decide (char **children, const char *own, gboolean rw, gsize *n_before, const char **before)
{
  const char *own_key = oracle_key (own, rw);
  *n_before = 0;
  *before = NULL;
  for (char **child = children; *child != NULL; child++) {
    const char *key = oracle_key (*child, rw);
    if (key != NULL && (*key == '-' || strcmp (key, "2147418111") > 0))
      return FALSE;
    int order = key == NULL ? 1 : strcmp (key, own_key);
    if (order == 0 && *child != own)
      return FALSE; /* the queue's own tests cover ties */
    if (order < 0) {
      (*n_before)++;
      *before = *before == NULL || strcmp (key, oracle_key (*before, rw)) > 0 ? *child : *before;
    }
  }
  return TRUE;
}

static void
check_laws (const CuratorQueue *queue, char **children, gpointer kind)
{
  g_assert_cmpuint (queue->n_names + queue->n_foreign, ==, g_strv_length (children));
  g_assert_true ((queue->n_foreign > 0) == (queue->first_foreign != NULL));
  for (gsize i = 0; i < queue->n_names; i++) {
    gint64 number;
    gint64 last = G_MININT64;
    g_assert_true (
        curator_queue_parse_number (curator_grammar_key (queue->names[i], kind), &number));
    g_assert_true (
        i == 0
        || curator_queue_parse_number (curator_grammar_key (queue->names[i - 1], kind), &last));
    g_assert_true (number >= last || queue->irregular);
    g_assert_true (number != last || queue->irregular || !is_writer (queue->names[i]));
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size < 2)
    return 0;
  const gboolean rw = data[0] % 2;
  const gpointer kind =
      GINT_TO_POINTER (rw ? CURATOR_PARTICIPANT_KIND_READ : CURATOR_PARTICIPANT_KIND_MUTEX);
  g_autofree char *text = fuzz_text (data + 1, size - 1);
  g_auto (GStrv) children = g_strsplit (text, "\n", -1);
  const gsize n = g_strv_length (children);
  g_auto (CuratorQueue) queue = { 0 };

  curator_queue_init (&queue, (const char *const *) children, n, curator_grammar_key, kind);
  check_laws (&queue, children, kind);
  (void) curator_grammar_kind ((const char *const *) children, n);
  for (gsize i = 0; i < MIN (n, 8); i++) {
    gsize n_before;
    const char *before;
    const gboolean plays = oracle_key (children[i], rw) != NULL;
    g_assert_true (plays == (curator_queue_index_of (&queue, children[i]) >= 0));
    if (plays && oracle_decide (children, children[i], rw, &n_before, &before)) {
      gssize index = curator_queue_index_of (&queue, children[i]);
      g_assert_cmpuint (n_before, ==, (gsize) index);
      /* A writer and its downgraded readers have one number. */
      if (before != NULL && !queue.irregular)
        g_assert_cmpstr (curator_grammar_key (queue.names[index - 1], kind), ==,
                         curator_grammar_key (before, kind));
    }
  }
  return 0;
}
