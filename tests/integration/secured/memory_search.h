/* A search for secrets in the memory of the test's own process. */
#pragma once

#include <glib.h>

/* How often the bytes occur in writable memory, their copies of the test's own included. The
 * constants of the program are not writable. Mappings as large as those of sanitizers are left
 * out. */
guint memory_count (const void *needle, gsize length);
/* The same in [from, to). */
guint memory_count_between (gsize from, gsize to, const void *needle, gsize length);
