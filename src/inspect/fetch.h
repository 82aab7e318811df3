/* Reads a batch of nodes, with many requests in flight. Any thread; takes the client's mutex. */
#pragma once

#include "core/async.h"
#include "core/client-record.h"

typedef enum
{
  CURATOR_FETCH_STAT,
  CURATOR_FETCH_DATA, /* and the Stat */
  CURATOR_FETCH_CHILDREN
} CuratorFetchKind;

typedef struct
{
  int rc;              /* ZOK, or the server's refusal: ZNONODE, ZNOAUTH ... */
  GBytes *data;        /* of CURATOR_FETCH_DATA; empty for null data */
  struct Stat stat;    /* not of CURATOR_FETCH_CHILDREN */
  GPtrArray *children; /* of CURATOR_FETCH_CHILDREN: names */
} CuratorFetched;

/* With the Stat: a session owns the node, or it may not be read. */
gboolean curator_fetched_is_owned (const CuratorFetched *fetched);

/* paths: full paths. Returns one CuratorFetched for each, in order; free with g_array_unref(). NULL
 * with error if the retry policy gives up, the client is closed, or the server refuses the client rather
 * than a read. */
GArray *curator_fetch (const CuratorLimits *limits, CuratorFetchKind kind, GPtrArray *paths,
                       GError **error) CURATOR_UNLOCKED;
