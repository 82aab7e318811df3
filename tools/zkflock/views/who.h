#pragma once

#include <curator/curator.h>

/* Whether the node has a name that a recipe gives, here and in Java. */
gboolean who_is_by_recipe (const CuratorParticipant *one);
/* "*" for a holder, the position, or "?" where it is not known. */
char *who_place (const CuratorParticipant *one);
/* The node, its path, and the session that owns it, as text to be freed. */
char *who_node (const CuratorParticipant *one);
char *who_node_path (const CuratorParticipant *one);
char *who_session (const CuratorParticipant *one);
/* Appends place, kind and age of one participant: 21 columns. */
void who_append_start (GString *row, const CuratorParticipant *one);
/* Appends the rows of one lock as the verb who prints them, at most max_rows. width: columns, 0 for
 * no limit. */
void who_append_rows (GString *out, const CuratorInspection *inspection, int width, guint max_rows);
/* other_kinds: of who_find_other_kinds(). */
void who_append_json (GString *out, const CuratorInspection *inspection, guint other_kinds);
/* The bits (1 << Kind) of the other kinds of lock that its path has. May read from the servers. */
guint who_find_other_kinds (CuratorClient *client, const CuratorInspection *inspection);
/* For example "a mutex and a semaphore". */
char *who_describe_kinds (guint kinds);
/* Which other kinds of lock its path has; NULL for none. May read from the servers. */
char *who_other_kinds (CuratorClient *client, const CuratorInspection *inspection);
/* Nobody holds it or waits for it, of any kind. */
gboolean who_is_free (const CuratorInspection *inspection);
/* The label of a participant, or its session if it has none. */
char *who_label (const CuratorParticipant *one);
/* The label of the first holder, and how many more there are. */
char *who_holder (const CuratorInspection *inspection, gboolean briefly);
char *who_path (const CuratorInspection *inspection);
/* For example "mutex, 1 holds, 3 wait". */
char *who_summary (const CuratorInspection *inspection);
