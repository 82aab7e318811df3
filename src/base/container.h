/* From a pointer to an embedded member to the struct around it. Threads: any; no lock. */
#ifndef CURATOR_CONTAINER_H
#define CURATOR_CONTAINER_H

#include <glib.h>

#define CURATOR_CONTAINER(part, Type, member)                                                      \
  ((Type *) (gpointer) ((char *) (part) -G_STRUCT_OFFSET (Type, member)))

#endif
