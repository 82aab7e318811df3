/* One cell of the matrix: this build against one server and one Java Curator. */
#pragma once

#include "interop/contest.h"
#include "interop/peer.h"
#include "support/raw_zk.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <curator/curator.h>
#include <pthread.h>

#define LONG_MS      60000 /* for what must happen, without a promised bound */
#define REFUSAL_MS   300   /* of a timed acquire that must fail */
#define QUIET_MS     500   /* a grant that must not come would come within this time */
#define SESSION_MS   30000
#define KILLED_MS    4000 /* session timeout of who is killed */
#define CELL_TICK_MS 1500 /* the longest session is 20 ticks, the shortest 2 */

typedef struct
{
  const char *program; /* matrix_cell */
  const char *servers;
  int acquisitions;                /* of each thread of a contest */
  gboolean downgrade_is_overtaken; /* Java's: CURATOR-621 */
  gboolean compression;
  CuratorClient *client;
  RawZk *raw;
  Peer *peer;
} Cell;

/* Each returns what is wrong, or NULL. */
char *cell_contend (Cell *cell, const char *recipe);
char *cell_time_out (Cell *cell, const char *holder, const char *waiter);
char *cell_kill_java (Cell *cell);
char *cell_kill_c (Cell *cell);
char *cell_downgrade_in_c (Cell *cell);
char *cell_downgrade_in_java (Cell *cell);
char *cell_revoke (Cell *cell, const char *recipe);
char *cell_revoke_lease (Cell *cell);
/* Java reads and writes packed data. */
char *cell_revoke_packed (Cell *cell);
char *cell_count (Cell *cell);
/* leads_beside: the latch in Java leads although the next one in C does. */
char *cell_latch (Cell *cell, ZkEnsemble *three, gboolean *leads_beside);
/* Nodes for their creator only, for a group, and for all to read. Without a peer. */
char *cell_acl_creator (Cell *cell);
char *cell_acl_group (Cell *cell);
char *cell_acl_stranger (Cell *cell);

/* A thread that takes it, without haste, until it is freed. */
typedef struct
{
  CuratorClient *client;
  const char *recipe;
  char *path;
  pthread_t thread;
  gboolean returned; /* atomic */
  CuratorLease *lease;
  GError *error;
} Taker;

Taker *taker_start (CuratorClient *client, const char *recipe, const char *path);
/* Waits for it. */
gboolean taker_is_granted (Taker *taker);
void taker_free (Taker *taker);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Taker, taker_free)

#define CELL_PAIRS 5
/* A recipe of each kind, and one that waits for it. */
extern const char *const cell_pairs[CELL_PAIRS][2];

/* Creates and acquires: mutex, semmutex, semaphore:N, read, write. The lease keeps what it
 * needs. */
CuratorLease *cell_take (CuratorClient *client, const char *recipe, const char *path,
                         gint64 timeout_ms, GError **error);
CuratorClient *cell_client_new (const char *servers, int session_ms, gboolean compression);
/* Takes client; NULL if it does not connect. */
CuratorClient *cell_client_start (CuratorClient *client);
CuratorClient *cell_connect (const char *servers, int session_ms, gboolean compression);

/* What the cell has besides the servers; FALSE: not all of it. The peer may have other sessions. */
gboolean cell_open (Cell *cell, int session_ms, int peer_session_ms);
void cell_close (Cell *cell);
/* "FUNCTION: TEXT; the peer: OUTPUT" */
char *cell_wrong (Cell *cell, const char *what, const GError *error);

/* In a function that returns what is wrong. */
#define CELL_CHECK(condition, error)                                                               \
  if (!(condition))                                                                                \
    return cell_wrong (cell, #condition, (error));
