/* The last failure to connect to each address, as libzookeeper's log lines report it.
 *
 * Mirrors nothing: Java's client has the exception. Threads: any, also libzookeeper's own; guarded
 * by a mutex of its own, which no other lock is taken under.
 *
 * NOTES: libzookeeper tells why a connection failed in its log only, and its log callback has no
 * context. A refused or silent address is the same for every client of the process, so the table is
 * shared and the address is the key. A line of an unknown form is ignored: the cause is then "no
 * answer".
 */
#include "core/connect_failures.h"

#include "base/fork_gate.h"
#include "curator/tls.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MAX_ADDRESSES 1024
#define MAX_SHOWN     5
#define NO_ANSWER     "no answer"

typedef struct
{
  gint64 at_us; /* monotonic */
  int code;     /* CuratorConnectError */
  char *cause;
} Failure;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static GHashTable *failures; /* address -> Failure */

static void
free_failure (gpointer data)
{
  Failure *failure = data;
  g_free (failure->cause);
  g_free (failure);
}

static void
lock_table (void)
{
  pthread_mutex_lock (&mutex);
}

static void
unlock_table (void)
{
  pthread_mutex_unlock (&mutex);
}

/* The child of a fork may have clients of its own: it must find the mutex free. */
static void
create_table (void)
{
  failures = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_failure);
  curator_gate_at_fork (lock_table, unlock_table, unlock_table);
}

/* The library sets these codes itself; the system's text for them would mislead. */
static char *
name_cause (int number, const char *text, gsize length)
{
  switch (number)
    {
    case ETIMEDOUT:
      return g_strdup (NO_ANSWER);
    case EHOSTDOWN:
      return g_strdup ("the server closed the connection");
    default:
      return g_strndup (text, length);
    }
}

/* A line reads "... Socket [127.0.0.1:2181] zk retcode=-4, errno=111(Connection refused): ...", or with the
 * brackets of an IPv6 address only, "Socket [::1]:2181 zk ...", according to libzookeeper's version. */
static gboolean
parse (const char *line, char **address, Failure *failure)
{
  const char *socket = strstr (line, "Socket ");
  const char *code = socket != NULL ? strstr (socket, " zk retcode=") : NULL;
  const char *number = code != NULL ? strstr (code, ", errno=") : NULL;
  const char *text = number != NULL ? strchr (number, '(') : NULL;
  const char *end = text != NULL ? strstr (text, "): ") : NULL;

  if (end == NULL)
    return FALSE;
  socket += strlen ("Socket ");
  const gboolean is_enclosed = *socket == '[' && code[-1] == ']';
  socket += is_enclosed ? 1 : 0;
  const gsize length = (gsize) (code - socket) - (is_enclosed ? 1 : 0);
  const int error = (int) g_ascii_strtoll (number + strlen (", errno="), NULL, 10);
  *address = g_strndup (socket, length);
  failure->code = error == ETIMEDOUT ? CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT
                                     : CURATOR_CONNECT_ERROR_CONNECT;
  failure->cause = name_cause (error, text + 1, (gsize) (end - text - 1));
  return TRUE;
}

void
curator_connect_failures_note (const char *line, gint64 now_us)
{
  Failure parsed = { .at_us = now_us };
  char *address = NULL;

  if (!parse (line, &address, &parsed))
    return;
  Failure *failure = g_new (Failure, 1);
  *failure = parsed;
  pthread_once (&once, create_table);
  lock_table ();
  if (g_hash_table_size (failures) >= MAX_ADDRESSES)
    g_hash_table_remove_all (failures);
  g_hash_table_replace (failures, address, failure);
  unlock_table ();
}

/* Adds "address: cause" to text. newest: the newest failure so far. */
static void
describe_one (GString *text, const char *address, gint64 since_us, Failure *newest)
{
  const char *separator = text->len > 0 ? ", " : "";

  lock_table ();
  const Failure *failure = g_hash_table_lookup (failures, address);
  const gboolean counts = failure != NULL && failure->at_us >= since_us;
  g_string_append_printf (text, "%s%s: %s", separator, address,
                          counts ? failure->cause : NO_ANSWER);
  if (counts && failure->at_us > newest->at_us)
    {
      newest->at_us = failure->at_us;
      newest->code = failure->code;
    }
  unlock_table ();
}

static gboolean
is_repeated (char **addresses, guint i)
{
  gboolean repeated = FALSE;
  for (guint k = 0; k < i && !repeated; k++)
    repeated = g_str_equal (addresses[k], addresses[i]);
  return repeated;
}

GError *
curator_connect_failures_error (const char *addresses, gint64 since_us, gboolean *known)
{
  g_auto (GStrv) each = g_strsplit (addresses, ",", -1);
  g_autoptr (GString) text = g_string_new (NULL);
  Failure newest = { .code = CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT };
  guint n_different = 0;

  pthread_once (&once, create_table);
  for (guint i = 0; each[i] != NULL; i++)
    {
      if (!is_repeated (each, i) && n_different++ < MAX_SHOWN)
        describe_one (text, each[i], since_us, &newest);
    }
  if (n_different > MAX_SHOWN)
    g_string_append_printf (text, " and %u more", n_different - MAX_SHOWN);
  *known = newest.at_us > 0;
  return g_error_new_literal (CURATOR_CONNECT_ERROR, newest.code, text->str);
}
