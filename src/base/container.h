/* From a member to the struct around it; the first element of an array; the order of strings.
 * Threads: any; no lock. */
#pragma once

#include <glib.h>
#include <string.h>

#define CURATOR_CONTAINER(part, Type, member)                                                      \
  ((Type *) (gpointer) ((char *) (part) -G_STRUCT_OFFSET (Type, member)))

/* Takes the first element out of the array, whose free function must accept NULL.
 * g_ptr_array_steal_index () came with GLib 2.58. */
static inline gpointer
curator_take_first (GPtrArray *array)
{
  gpointer first = g_steal_pointer (&array->pdata[0]);
  g_ptr_array_remove_index (array, 0);
  return first;
}

/* For g_ptr_array_sort (), of strings. */
static inline int
curator_compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}
