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
  KIND_KAZOO,
  KIND_OTHER /* of a name that says nothing */
} Kind;

/* With its article. */
const char *kind_to_string (Kind kind);
/* One word, for programs. */
const char *kind_to_word (Kind kind);
/* FALSE: the name, or path, says nothing. It may be a lock node nevertheless, if a session owns it. */
gboolean kind_of_node (const char *node, Kind *kind);
/* The name says nothing and ends like those of other recipes, in digits of a number or of a UUID: an
 * inspection tells whether a session owns it. */
gboolean kind_is_unclear (const char *node);

#endif
