/* The calls of the table in docs/errors.md, and the objects that they are called with. */
#ifndef CURATOR_ERROR_TABLE_H
#define CURATOR_ERROR_TABLE_H

#include <curator/curator.h>

/* One client in one state, used by one thread. */
typedef struct
{
  CuratorClient *client;
  char *path;
  gint64 time_ms;   /* of the calls that have some time */
  gboolean waits;   /* FOREVER does not end by itself */
  gboolean answers; /* servers do */
  CuratorLock *lock;
  CuratorLock *held;   /* by this thread, since before the state began */
  CuratorLease *lease; /* of no thread; NULL: there was never a connection */
  CuratorSemaphore *semaphore;
  CuratorSharedCount *count; /* started, if there was ever a connection */
  CuratorSharedCount *new_count;
  CuratorLeaderLatch *latch;
  CuratorLeaderSelector *selector;
  char *servers;
} Stage;

/* Returns whether it succeeded; FALSE without an error is a false of C++. */
typedef gboolean (*TableCall) (Stage *stage, GError **error);

gboolean cpp_try_lock (Stage *stage, GError **error);
gboolean cpp_try_lock_for (Stage *stage, GError **error);
gboolean cpp_try_lock_held (Stage *stage, GError **error);
gboolean cpp_try_acquire_for (Stage *stage, GError **error);
gboolean cpp_try_await_for (Stage *stage, GError **error);
gboolean cpp_block_until_connected (Stage *stage, GError **error);

/* One row. */
typedef struct
{
  const char *name;
  TableCall call;
  gboolean needs_hold; /* from before the state began */
} TableRow;

#define MAX_TABLE_ROWS 32
extern const TableRow table_rows[];
extern const guint n_table_rows;

#endif
