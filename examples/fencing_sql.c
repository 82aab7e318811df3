/* SPDX-License-Identifier: Apache-2.0
 * Fencing in a database: each row stores the highest token that wrote it, and the writing statement
 * refuses a lower one. This example uses SQLite; the statement works in other databases too.
 *
 * usage: fencing_sql CONNECT-STRING
 */
#include <curator/curator.h>
#include <sqlite3.h>

/* For each connection. EXTRA: with less, SQLite says that a write is done before the end of its
 * journal is on the disk, and a machine that loses power then undoes the write, and forgets its
 * token. */
#define TABLE                                                                                      \
  "PRAGMA synchronous = EXTRA;"                                                                    \
  "CREATE TABLE IF NOT EXISTS report (name TEXT PRIMARY KEY, body TEXT, token INTEGER NOT NULL)"

/* One statement compares and writes, so no other write can come between. */
#define WRITE                                                                                      \
  "INSERT INTO report (name, body, token) VALUES ('nightly', ?1, ?2)"                              \
  " ON CONFLICT (name) DO UPDATE SET body = excluded.body, token = excluded.token"                 \
  " WHERE excluded.token >= report.token"

static int
fail (const char *what)
{
  g_printerr ("fencing_sql: %s\n", what);
  return 1;
}

/* Returns FALSE if a later holder has written already, or the database failed. */
static gboolean
write_fenced (sqlite3 *db, guint64 token, const char *body)
{
  sqlite3_stmt *statement = NULL;
  gboolean written = sqlite3_prepare_v2 (db, WRITE, -1, &statement, NULL) == SQLITE_OK
                     && sqlite3_bind_text (statement, 1, body, -1, SQLITE_TRANSIENT) == SQLITE_OK
                     && sqlite3_bind_int64 (statement, 2, (gint64) token) == SQLITE_OK
                     && sqlite3_step (statement) == SQLITE_DONE && sqlite3_changes (db) == 1;
  sqlite3_finalize (statement);
  return written;
}

/* Acquires and releases the lock. Returns the fencing token, or 0 with error. */
static guint64
take_turn (CuratorLock *lock, GError **error)
{
  if (!curator_lock_acquire (lock, 10000, NULL, error))
    return 0;
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (lock);
  guint64 token = curator_lease_get_fencing_token (lease);
  return curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, error) ? token : 0;
}

int
main (int argc, char **argv)
{
  g_autoptr (CuratorClient) client =
      curator_client_new (argc > 1 ? argv[1] : "localhost:2181", NULL);
  g_autoptr (GError) error = NULL;
  if (!curator_client_start (client, &error))
    return fail (error->message);
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/fencing-sql", NULL);
  guint64 first = take_turn (lock, &error);
  guint64 second = first != 0 ? take_turn (lock, &error) : 0;
  if (second == 0)
    return fail (error->message);

  sqlite3 *db = NULL;
  gboolean fenced = sqlite3_open (":memory:", &db) == SQLITE_OK
                    && sqlite3_exec (db, TABLE, NULL, NULL, NULL) == SQLITE_OK
                    && write_fenced (db, first, "begun") && write_fenced (db, first, "half done")
                    && write_fenced (db, second, "done")
                    /* The first holder was suspended and now continues. */
                    && !write_fenced (db, first, "half done, too late");
  g_print ("tokens %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT ": %s\n", first, second,
           fenced ? "the late write was refused" : "NOT FENCED");
  sqlite3_close (db);
  return fenced ? 0 : 1;
}
