/* who: the participants of one lock. */
#include "views/views.h"

#include "base/json.h"
#include "base/kind.h"
#include "base/outcome.h"
#include "output/text.h"
#include "views/who.h"

#include <stdio.h>
#include <string.h>

#define LABEL_WIDTH   28
#define SESSION_WIDTH 18
#define START_WIDTH   21 /* of who_append_start() */
#define NODE_WIDTH    12 /* at least the sequence number, and the mark of a cut */
#define MIN_LABEL     8

/* Recipes create their nodes with protection: "_c_", a GUID, "-", and then the name at once. */
gboolean
who_is_by_recipe (const CuratorParticipant *one)
{
  static const char pattern[] = "^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-"
                                "(lock-|lease-|latch-|__READ__|__WRIT__)-?[0-9]{9,10}$";
  const char *name = strrchr (curator_participant_get_node_path (one), '/') + 1;
  return g_regex_match_simple (pattern, name, G_REGEX_RAW, 0);
}

static gboolean
is_other (const CuratorParticipant *one)
{
  return curator_participant_get_kind (one) == CURATOR_PARTICIPANT_KIND_OTHER;
}

/* The bits (1 << Kind) of the kinds that the path has beside its own, as far as names and owners
 * say. */
static guint
find_kinds (const CuratorInspection *inspection)
{
  guint seen = 0;
  Kind kind;

  for (guint i = 0; i < curator_inspection_get_n_participants (inspection); i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
    if (is_other (one))
      seen |=
          1U << (kind_of_node (curator_participant_get_node_path (one), &kind) ? kind : KIND_OTHER);
  }
  for (const char *const *name = curator_inspection_get_foreign_children (inspection);
       *name != NULL; name++)
    if (kind_of_node (*name, &kind))
      seen |= 1U << kind;
  return seen;
}

static gboolean
is_of_curator (const CuratorInspection *inspection)
{
  const CuratorLockKind kind = curator_inspection_get_kind (inspection);
  return kind != CURATOR_LOCK_KIND_NONE && kind != CURATOR_LOCK_KIND_OTHER;
}

gboolean
who_is_free (const CuratorInspection *inspection)
{
  return curator_inspection_get_n_participants (inspection) == 0 && find_kinds (inspection) == 0;
}

/* NULL: none is shown. */
static char *
show_counts (const CuratorInspection *inspection)
{
  guint least, greatest;

  if (!kind_find_counts (inspection, &least, &greatest))
    return NULL;
  return least == greatest ? g_strdup_printf ("%u", least)
                           : g_strdup_printf ("%u to %u", least, greatest);
}

char *
who_summary (const CuratorInspection *inspection)
{
  const guint held = curator_inspection_get_n_holders (inspection);
  const guint waiting = curator_inspection_get_n_waiting (inspection);
  const guint n = curator_inspection_get_n_participants (inspection);

  if (who_is_free (inspection))
    return g_strdup ("free");
  if (!is_of_curator (inspection)) {
    g_autofree char *names = who_describe_kinds (find_kinds (inspection));
    return n > 0 ? g_strdup_printf ("used as %s by %u %s: who of them holds it is not known", names,
                                    n, n == 1 ? "node" : "nodes")
                 : g_strdup_printf ("has nodes of %s, which no session owns", names);
  }
  g_autofree char *counts = show_counts (inspection);
  return g_strdup_printf ("%s%s%s, %u %s, %u %s",
                          curator_lock_kind_to_string (curator_inspection_get_kind (inspection)),
                          counts != NULL ? " of " : "", counts != NULL ? counts : "", held,
                          held == 1 ? "holds" : "hold", waiting, waiting == 1 ? "waits" : "wait");
}

char *
who_path (const CuratorInspection *inspection)
{
  return curator_escape_name (curator_inspection_get_path (inspection), -1);
}

char *
who_node_path (const CuratorParticipant *one)
{
  return curator_escape_name (curator_participant_get_node_path (one), -1);
}

char *
who_node (const CuratorParticipant *one)
{
  return curator_escape_name (strrchr (curator_participant_get_node_path (one), '/') + 1, -1);
}

char *
who_session (const CuratorParticipant *one)
{
  return g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", curator_participant_get_session_id (one));
}

char *
who_label (const CuratorParticipant *one)
{
  g_autofree char *label = text_label (curator_participant_get_data (one));
  return strcmp (label, "-") != 0 ? g_steal_pointer (&label) : who_session (one);
}

char *
who_holder (const CuratorInspection *inspection, gboolean briefly)
{
  const CuratorParticipant *first = curator_inspection_get_participant (inspection, 0);
  const guint held = curator_inspection_get_n_holders (inspection);
  const gboolean is_known = is_of_curator (inspection);
  const guint n = is_known ? held : curator_inspection_get_n_participants (inspection);

  if (n == 0)
    return g_strdup ("nobody");
  g_autofree char *label = who_label (first);
  GString *text = g_string_new (label);
  if (n > 1)
    g_string_append_printf (text, briefly ? " +%u" : " and %u more", n - 1);
  if (!is_known)
    g_string_append (text, " (?)");
  return g_string_free (text, FALSE);
}

char *
who_place (const CuratorParticipant *one)
{
  return curator_participant_is_holder (one) ? g_strdup ("*")
         : is_other (one)                    ? g_strdup ("?")
                          : g_strdup_printf ("%u", curator_participant_get_position (one));
}

void
who_append_start (GString *row, const CuratorParticipant *one)
{
  g_autofree char *place = who_place (one);
  g_autofree char *age = text_age (curator_participant_get_age_ms (one));

  text_fit (row, place, 5, TRUE);
  g_string_append (row, "  ");
  text_fit (row, curator_participant_kind_to_string (curator_participant_get_kind (one)), 5, FALSE);
  g_string_append_c (row, ' ');
  text_fit (row, age, 6, TRUE);
  g_string_append (row, "  ");
}

static void
append_cells (GString *out, GString *start, const char *label, const char *session,
              const char *node, int width)
{
  const int room = width - (START_WIDTH + 2 + SESSION_WIDTH + 2) - NODE_WIDTH;
  const int label_width =
      width == 0 ? MAX (LABEL_WIDTH, text_width (label)) : CLAMP (room, MIN_LABEL, LABEL_WIDTH);

  text_fit (start, label, label_width, FALSE);
  g_string_append (start, "  ");
  text_fit (start, session, SESSION_WIDTH, FALSE);
  g_string_append (start, "  ");
  if (width == 0) {
    g_string_append (start, node);
  } else {
    /* Keep the end: it has the sequence number. */
    text_fit_end (start, node, width - text_width (start->str));
  }
  text_fit (out, start->str, width > 0 ? width : text_width (start->str), FALSE);
  while (out->len > 0 && out->str[out->len - 1] == ' ')
    g_string_truncate (out, out->len - 1);
  g_string_append_c (out, '\n');
}

void
who_append_rows (GString *out, const CuratorInspection *inspection, int width, guint max_rows)
{
  const guint n = curator_inspection_get_n_participants (inspection);
  const guint shown = n > max_rows ? MAX (max_rows, 1) - 1 : n;

  for (guint i = 0; i < shown; i++) {
    const CuratorParticipant *one = curator_inspection_get_participant (inspection, i);
    g_autoptr (GString) start = g_string_new (NULL);
    g_autofree char *label = text_label (curator_participant_get_data (one));
    g_autofree char *session = who_session (one);
    g_autofree char *node = who_node (one);
    who_append_start (start, one);
    append_cells (out, start, label, session, node, width);
  }
  if (shown < n)
    g_string_append_printf (out, "       and %u more\n", n - shown);
}

static void
append_participant_json (GString *out, const CuratorParticipant *one)
{
  gsize length;
  const char *label = g_bytes_get_data (curator_participant_get_data (one), &length);
  g_autofree char *session = who_session (one);

  json_begin (out, NULL, '{');
  json_string (out, "kind", curator_participant_kind_to_string (curator_participant_get_kind (one)),
               -1);
  json_bool (out, "holds", curator_participant_is_holder (one));
  json_int (out, "position", curator_participant_get_position (one));
  json_string (out, "label", label != NULL ? label : "", (gssize) length);
  json_int (out, "age_ms", curator_participant_get_age_ms (one));
  json_string (out, "session", session, -1);
  json_string (out, "node", curator_participant_get_node_path (one), -1);
  json_int (out, "number", curator_participant_get_number (one));
  json_int (out, "token", (gint64) curator_participant_get_token (one));
  if (kind_get_count (one) > 0)
    json_int (out, "count", kind_get_count (one));
  json_end (out, '}');
}

void
who_append_json (GString *out, const CuratorInspection *inspection, guint other_kinds)
{
  json_begin (out, NULL, '{');
  json_string (out, "path", curator_inspection_get_path (inspection), -1);
  json_string (out, "kind", curator_lock_kind_to_string (curator_inspection_get_kind (inspection)),
               -1);
  json_int (out, "holders", curator_inspection_get_n_holders (inspection));
  json_int (out, "waiting", curator_inspection_get_n_waiting (inspection));
  json_begin (out, "kinds_not_excluded", '[');
  for (guint kind = 0; other_kinds >> kind != 0; kind++)
    if ((other_kinds >> kind & 1) != 0)
      json_string (out, NULL, kind_to_word ((Kind) kind), -1);
  json_end (out, ']');
  json_share (out, "counter_used", curator_inspection_get_counter_used (inspection));
  json_begin (out, "participants", '[');
  for (guint i = 0; i < curator_inspection_get_n_participants (inspection); i++)
    append_participant_json (out, curator_inspection_get_participant (inspection, i));
  json_end (out, ']');
  json_begin (out, "foreign", '[');
  for (const char *const *name = curator_inspection_get_foreign_children (inspection);
       *name != NULL; name++)
    json_string (out, NULL, *name, -1);
  json_end (out, ']');
  json_end (out, '}');
}

guint
who_find_other_kinds (CuratorClient *client, const CuratorInspection *inspection)
{
  const guint seen = find_kinds (inspection);
  const char *path = curator_inspection_get_path (inspection);

  if (!g_strv_contains (curator_inspection_get_foreign_children (inspection), "leases"))
    return seen;
  g_autofree char *folder = g_strconcat (path, path[1] != '\0' ? "/" : "", "leases", NULL);
  g_autoptr (CuratorInspection) leases =
      curator_client_inspect (client, folder, CURATOR_WAIT_DEFAULT, NULL, NULL);
  const gboolean has_any =
      leases != NULL && *curator_inspection_get_foreign_children (leases) != NULL;
  return has_any ? seen | 1U << KIND_SEMAPHORE : seen;
}

char *
who_describe_kinds (guint kinds)
{
  GString *text = g_string_new (NULL);

  for (guint kind = 0; kinds >> kind != 0; kind++) {
    if ((kinds >> kind & 1) != 0)
      g_string_append_printf (text, "%s%s", text->len > 0 ? " and " : "",
                              kind_to_string ((Kind) kind));
  }
  return g_string_free (text, FALSE);
}

char *
who_other_kinds (CuratorClient *client, const CuratorInspection *inspection)
{
  const guint kinds = who_find_other_kinds (client, inspection);
  g_autofree char *names = who_describe_kinds (kinds);

  return kinds != 0 && is_of_curator (inspection)
             ? g_strdup_printf ("also used as %s, which the lock above does not exclude", names)
             : NULL;
}

int
who_run (const Options *options, CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (CuratorInspection) inspection =
      curator_client_inspect (client, options->paths[0], CURATOR_WAIT_DEFAULT, NULL, &error);
  if (inspection == NULL)
    return fail_with (options, error);
  if (options->json) {
    who_append_json (out, inspection, who_find_other_kinds (client, inspection));
    g_string_append_c (out, '\n');
  } else {
    g_autofree char *summary = who_summary (inspection);
    g_autofree char *path = curator_escape_name (options->paths[0], -1);
    g_string_append_printf (out, "%s: %s\n", path, summary);
    const int width = text_terminal_width ();
    g_autoptr (GString) titles = g_string_new ("    #  KIND     AGE  ");
    if (curator_inspection_get_n_participants (inspection) > 0)
      append_cells (out, titles, "LABEL", "SESSION", "NODE", width);
    who_append_rows (out, inspection, width, G_MAXUINT);
    g_autofree char *others = who_other_kinds (client, inspection);
    if (others != NULL)
      g_string_append_printf (out, "%s: %s\n", path, others);
  }
  fputs (out->str, stdout);
  return who_is_free (inspection) ? EXIT_CODE_FREE : 0;
}
