#define main example_main
int example_main (int argc, char **argv);
#include "examples/fencing_postgres.c"

#include "late_writer.h"

#define WRITE_PLAIN                                                                                \
  "INSERT INTO report (name, body, token) VALUES ($1, $2, 0)"                                      \
  " ON CONFLICT (name) DO UPDATE SET body = excluded.body"

const gboolean late_resource_stops = FALSE;
static PGconn *db;

void
late_open (const char *resource, gboolean stops)
{
  db = PQconnectdb (resource);
  PQclear (PQexec (db, DURABLE));
  PQclear (PQexec (db, TABLE));
}

void
late_close (void)
{
  PQfinish (db);
}

gboolean
late_write_guarded (const char *name, guint64 token, const char *body)
{
  return write_fenced (db, name, token, body);
}

gboolean
late_write_plain (const char *name, guint64 token, const char *body)
{
  const char *values[] = { name, body };
  PGresult *result = PQexecParams (db, WRITE_PLAIN, 2, NULL, values, NULL, NULL, 0);
  const gboolean written = PQresultStatus (result) == PGRES_COMMAND_OK;
  PQclear (result);
  return written;
}
