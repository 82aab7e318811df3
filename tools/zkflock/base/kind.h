#ifndef ZKFLOCK_KIND_H
#define ZKFLOCK_KIND_H

#include <glib.h>

#define KIND_DIGITS 10 /* of a sequence number */

typedef enum
{
  KIND_MUTEX,
  KIND_READ_WRITE,
  KIND_SEMAPHORE,
  KIND_LATCH,
  KIND_KAZOO
} Kind;

/* With its article. */
const char *kind_to_string (Kind kind);
/* One word, for programs. */
const char *kind_to_word (Kind kind);
/* FALSE: the name, or path, is of no lock node. */
gboolean kind_of_node (const char *node, Kind *kind);

#endif
