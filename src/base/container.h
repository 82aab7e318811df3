/* From a pointer to an embedded member to the struct around it, and the first element of an array. Threads: any; no
 * lock. */
#ifndef CURATOR_CONTAINER_H
#define CURATOR_CONTAINER_H

#include <glib.h>

#define CURATOR_CONTAINER(part, Type, member)                                                      \
  ((Type *) (gpointer) ((char *) (part) -G_STRUCT_OFFSET (Type, member)))

/* Takes the first element out of the array, whose free function must accept NULL. g_ptr_array_steal_index () came with
 * GLib 2.58. */
static inline gpointer
curator_take_first (GPtrArray *array)
{
  gpointer first = g_steal_pointer (&array->pdata[0]);
  g_ptr_array_remove_index (array, 0);
  return first;
}

#endif
