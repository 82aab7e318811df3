/* Sorts a lock's children into its queue, and leaves out those that are not lock nodes, so that
 * nothing waits for them. Pure: includes nothing of ZooKeeper. */
#pragma once

#include <glib.h>

/* The server numbers children with a signed 32-bit counter that breaks at its end: the same
 * number again and again, or negative ones. Nodes with larger numbers than this are refused; the
 * margin is for creates of others that are in flight. */
#define CURATOR_QUEUE_LAST_NUMBER (G_GINT64_CONSTANT (2147483647) - 65536)

/* fixForSorting: the part of name to sort by, borrowed from name. NULL, or all of name, says that
 * name is foreign: a lock node always has something in front of its number. */
typedef const char *(*CuratorQueueKeyFunc) (const char *name, gpointer user_data);

typedef struct
{
  char **names; /* in order, lock nodes only; the strings are the caller's children */
  gsize n_names;
  gint64 *numbers;           /* of each name, rising unless irregular; in one block with names */
  gssize *writers;           /* for curator_queue_writer_before(); NULL until it is asked */
  gsize n_foreign;           /* children that are not lock nodes */
  const char *first_foreign; /* one of them, for a message; NULL if there is none */
  const char *other_recipe;  /* what one of them belongs to, as "a semaphore"; NULL if unknown */
  /* A number that is negative or beyond CURATOR_QUEUE_LAST_NUMBER was seen, or two nodes with
   * one number (other than a writer and its downgraded readers). Anybody can create such nodes,
   * so only those that have such a number themselves have no place. */
  gboolean irregular;
} CuratorQueue;

/* Fills queue, whatever it held. The children must outlive it. Any bytes may be in them. */
void curator_queue_init (CuratorQueue *queue, const char *const *children, gsize n_children,
                         CuratorQueueKeyFunc key, gpointer user_data);

/* Puts name, one of the children, to where its key sorts, whatever the key is. */
void curator_queue_insert (CuratorQueue *queue, const char *name, CuratorQueueKeyFunc key,
                           gpointer user_data);

/* Frees what queue owns and empties it; harmless on a queue that is all zero or cleared. */
void curator_queue_clear (CuratorQueue *queue);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (CuratorQueue, curator_queue_clear)

/* Position of name, from 0; -1 when it is absent. */
gssize curator_queue_index_of (const CuratorQueue *queue, const char *name);

/* The node at a position has a number of a counter that is at its end. */
gboolean curator_queue_is_exhausted (const CuratorQueue *queue, gsize index);

/* Another node with the number of the node at a position, unless that is exhausted: Java and we
 * need not agree about their order. NULL if there is none but a writer and its downgraded
 * readers. */
const char *curator_queue_twin_of (const CuratorQueue *queue, gsize index);

/* Position of the nearest write node in front of a position, -1 if there is none. The first
 * question looks at all names, the others at none. */
gssize curator_queue_writer_before (CuratorQueue *queue, gsize index);

/* Strictly what "%010d" prints for a 32-bit integer: ten digits, or a minus and nine digits (ten,
 * below -999999999). number may be NULL; untouched on FALSE. */
gboolean curator_queue_parse_number (const char *key, gint64 *number);

/* The recipe that creates such names, as "a semaphore"; NULL if none does. */
const char *curator_queue_recipe_of (const char *name);

/* standardFixForSorting: what follows the last lock_name in name; all of name if it has none. */
const char *curator_queue_standard_key (const char *name, const char *lock_name);
