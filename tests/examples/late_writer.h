/* One kind of resource, as an example guards it, for late_writer.c. Each late_KIND.c includes its
 * example, so that the function under test is the one that people copy. */
#pragma once

#include <glib.h>

/* TRUE if the resource itself stops the first writer; otherwise that writer stops right before its
 * write. */
extern const gboolean late_resource_stops;

void late_open (const char *resource, gboolean stops);
void late_close (void);
/* By the example's guard, and without any. TRUE if accepted. */
gboolean late_write_guarded (const char *name, guint64 token, const char *body);
gboolean late_write_plain (const char *name, guint64 token, const char *body);
