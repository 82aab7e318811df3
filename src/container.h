/* From a part that is embedded in a record to the record. */
#ifndef CURATOR_CONTAINER_H
#define CURATOR_CONTAINER_H

#include <glib.h>

#define CURATOR_CONTAINER(part, Type, member)                                                      \
  ((Type *) (gpointer) ((char *) (part) -G_STRUCT_OFFSET (Type, member)))

#endif
