/* Reading many nodes with few waits: the requests of one batch are under way together. */
#ifndef CURATOR_FETCH_H
#define CURATOR_FETCH_H

#include "client/client-private.h"

typedef enum
{
  CURATOR_FETCH_DATA,
  CURATOR_FETCH_CHILDREN
} CuratorFetchKind;

typedef struct
{
  int rc;              /* ZOK, or the server's refusal: ZNONODE, ZNOAUTH ... */
  GBytes *data;        /* data: empty for null data */
  struct Stat stat;    /* data */
  GPtrArray *children; /* children: leaf names */
} CuratorFetched;

/* @locks client mutex NOT held. paths: full ones. One CuratorFetched for each, in order; free with
 * g_array_unref(). NULL with error when the retry policy is used up or the client is closed. */
GArray *curator_fetch (CuratorClient *client, CuratorFetchKind kind, GPtrArray *paths,
                       GError **error) CURATOR_UNLOCKED;

#endif
