#pragma once

#include <curator/curator.h>

#define KIND_DIGITS      10   /* of a sequence number */
#define MAX_LABEL_LENGTH 4096 /* the library's limit for the payload of a node */

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
/* FALSE: the name, or path, says nothing. It may be a lock node nevertheless, if a session owns
 * it. */
gboolean kind_of_node (const char *node, Kind *kind);
/* The name says nothing and ends like those of other recipes, in digits of a number or of a UUID:
 * an inspection tells whether a session owns it. */
gboolean kind_is_unclear (const char *node);

/* What a contender for a semaphore writes into its nodes: its label, and its count behind it if
 * that fits. */
char *kind_label_with_count (const char *label, int count);
/* The count that the node of a contender for a semaphore shows, or 0: another program's. */
guint kind_get_count (const CuratorParticipant *one);
/* The least and the greatest of the counts, which are equal if all who show one have the same.
 * FALSE: nobody does. */
gboolean kind_find_counts (const CuratorInspection *lock, guint *least, guint *greatest);
