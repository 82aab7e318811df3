#define main example_main
int example_main (int argc, char **argv);
#include "examples/fencing_sql.c"

#include "late_writer.h"

#define WRITE_PLAIN "INSERT OR REPLACE INTO report (name, body, token) VALUES ('nightly', ?1, 0)"
#define BUSY_MS     60000

const gboolean late_resource_stops = FALSE;
static const char *directory;

void
late_open (const char *resource, gboolean stops)
{
  directory = resource;
}

void
late_close (void)
{
}

/* A database for each object, since the example has one row. */
static sqlite3 *
open_database (const char *name)
{
  g_autofree char *path = g_build_filename (directory, name, NULL);
  sqlite3 *db = NULL;
  sqlite3_open (path, &db);
  sqlite3_busy_timeout (db, BUSY_MS);
  sqlite3_exec (db, TABLE, NULL, NULL, NULL);
  return db;
}

gboolean
late_write_guarded (const char *name, guint64 token, const char *body)
{
  sqlite3 *db = open_database (name);
  const gboolean written = write_fenced (db, token, body);
  sqlite3_close (db);
  return written;
}

gboolean
late_write_plain (const char *name, guint64 token, const char *body)
{
  sqlite3 *db = open_database (name);
  sqlite3_stmt *statement = NULL;
  sqlite3_prepare_v2 (db, WRITE_PLAIN, -1, &statement, NULL);
  sqlite3_bind_text (statement, 1, body, -1, SQLITE_TRANSIENT);
  const gboolean written = sqlite3_step (statement) == SQLITE_DONE;
  sqlite3_finalize (statement);
  sqlite3_close (db);
  return written;
}
