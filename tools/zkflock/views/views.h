/* The verbs that look, and the one that asks. Each returns the exit code. */
#ifndef ZKFLOCK_VIEWS_H
#define ZKFLOCK_VIEWS_H

#include "options.h"

#include <curator/curator.h>

int who_run (const Options *options);
int top_run (const Options *options);
int tree_run (const Options *options);
int revoke_run (const Options *options);
int doctor_run (const Options *options);

/* The rows of one lock, as who shows them, each with a newline; width: columns, 0 for no limit;
 * at most max_rows. */
void who_append_rows (GString *out, const CuratorInspection *inspection, int width, guint max_rows);
void who_append_json (GString *out, const CuratorInspection *inspection);
/* "mutex, 1 holds, 3 wait" */
char *who_summary (const CuratorInspection *inspection);
/* Every lock at or below path, looked at; those that vanish meanwhile are left out. NULL with
 * error. */
GPtrArray *look_below (CuratorClient *client, const char *path, gboolean *complete, GError **error);

#endif
