/* SPDX-License-Identifier: Apache-2.0
 * Fencing in PostgreSQL: each row stores the highest token that wrote it, and the writing statement
 * refuses a lower one.
 *
 * usage: fencing_postgres CONNECT-STRING [CONNINFO]
 */
#include <curator/curator.h>
#include <libpq-fe.h>

/* For each connection: a write counts when it is on the server's disk, whatever is set for the
 * role. */
#define DURABLE "SET synchronous_commit = on"
#define TABLE                                                                                      \
  "CREATE TABLE IF NOT EXISTS report (name text PRIMARY KEY, body text, token bigint NOT NULL)"

/* One statement compares and writes. Beside another one it waits for that row, and then compares
 * with what the other has written. */
#define WRITE                                                                                      \
  "INSERT INTO report (name, body, token) VALUES ($1, $2, $3)"                                     \
  " ON CONFLICT (name) DO UPDATE SET body = excluded.body, token = excluded.token"                 \
  " WHERE excluded.token >= report.token"

static int
fail (const char *what)
{
  g_printerr ("fencing_postgres: %s\n", what);
  return 1;
}

/* Returns FALSE if a later holder has written already, or the database failed. */
static gboolean
write_fenced (PGconn *db, const char *name, guint64 token, const char *body)
{
  char number[24];
  g_snprintf (number, sizeof number, "%" G_GUINT64_FORMAT, token);
  const char *values[] = { name, body, number };
  PGresult *result = PQexecParams (db, WRITE, 3, NULL, values, NULL, NULL, 0);
  const gboolean written =
      PQresultStatus (result) == PGRES_COMMAND_OK && g_str_equal (PQcmdTuples (result), "1");
  PQclear (result);
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
  g_autoptr (CuratorLock) lock = curator_mutex_new (client, "/examples/fencing-postgres", NULL);
  guint64 first = take_turn (lock, &error);
  guint64 second = first != 0 ? take_turn (lock, &error) : 0;
  if (second == 0)
    return fail (error->message);

  PGconn *db = PQconnectdb (argc > 2 ? argv[2] : "");
  if (PQstatus (db) != CONNECTION_OK)
    return fail (PQerrorMessage (db));
  PQclear (PQexec (db, DURABLE));
  PQclear (PQexec (db, TABLE));
  gboolean fenced = write_fenced (db, "nightly", first, "begun")
                    && write_fenced (db, "nightly", second, "done")
                    /* The first holder was suspended and now continues. */
                    && !write_fenced (db, "nightly", first, "half done, too late");
  g_print ("tokens %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT ": %s\n", first, second,
           fenced ? "the late write was refused" : "NOT FENCED");
  PQfinish (db);
  return fenced ? 0 : 1;
}
