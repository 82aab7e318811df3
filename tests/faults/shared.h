/* Numbers in memory that several processes, or threads, share. */
#pragma once

#include <glib.h>

#define shared_get(number)        __atomic_load_n ((number), __ATOMIC_SEQ_CST)
#define shared_set(number, value) __atomic_store_n ((number), (value), __ATOMIC_SEQ_CST)
/* Returns the number before. */
#define shared_add(number, value) __atomic_fetch_add ((number), (value), __ATOMIC_SEQ_CST)

/* All processes get the same that map that file. NULL if it cannot be mapped. */
gpointer shared_map (const char *directory, const char *name, gsize size);
