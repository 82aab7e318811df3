/* Reads batches of nodes, with many requests in flight. Any thread; takes the client's mutex. */
#pragma once

#include "core/async.h"
#include "core/client-record.h"
#include "core/op.h"

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

/* Never NULL. */
GPtrArray *curator_copy_names (const struct String_vector *names);

/* What is read in batches. */
typedef struct _CuratorFetchPlan CuratorFetchPlan;
struct _CuratorFetchPlan
{
  CuratorFetchKind kind; /* of the first batch, like paths */
  GPtrArray *paths;      /* full paths; the plan's reference */
  /* Called with the client's mutex held. read: one CuratorFetched for each of the paths, in order.
   * Returns the paths to read next, a reference, and sets their kind; NULL at the end, with either
   * result or error. NULL: there is one batch, and the result is what curator_fetch() returns. */
  GPtrArray *(*next) (CuratorFetchPlan *plan, GArray *read, gpointer *result, GError **error);
  gpointer reading;
  GDestroyNotify free_reading;
};

/* Takes what is in plan. Fails as curator_fetch() and plan->next do. */
CuratorOp *curator_fetch_start (CuratorClient *client, gint64 deadline_us,
                                const CuratorFetchPlan *plan, CuratorOpDone done,
                                gpointer data) CURATOR_UNLOCKED;

/* paths: full paths, which the operation shares until the call returns. Returns one CuratorFetched
 * for each, in order; free with g_array_unref(). NULL with error if the retry policy gives up, the
 * client is closed, or the server refuses the client rather than a read. */
GArray *curator_fetch (const CuratorLimits *limits, CuratorFetchKind kind, GPtrArray *paths,
                       GError **error) CURATOR_UNLOCKED;
