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
#include "base/server_list.h"
#include "channel/channel_error.h"
#include "curator/tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#define MAX_ADDRESSES 1024
#define MAX_SHOWN     5
#define NO_ANSWER     "no answer"

typedef struct
{
  CuratorAddress address; /* without the zone, which libzookeeper does not tell */
  gint64 at_us;           /* monotonic */
  gboolean is_shortage;   /* of this machine's */
  int code;               /* CuratorConnectError */
  char *cause;
} Failure;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static GArray *failures; /* Failure: of each address the last */

static void
clear_failure (gpointer failure)
{
  g_free (((Failure *) failure)->cause);
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
  failures = g_array_new (FALSE, FALSE, sizeof (Failure));
  g_array_set_clear_func (failures, clear_failure);
  curator_gate_at_fork (lock_table, unlock_table, unlock_table);
}

static CuratorAddress
without_zone (const CuratorAddress *address)
{
  CuratorAddress copy = *address;

  if (copy.name.ss_family == AF_INET6)
    ((struct sockaddr_in6 *) &copy.name)->sin6_scope_id = 0;
  return copy;
}

/* A line reads "... Socket 127.0.0.1:2181 zk retcode=-4, errno=111(Connection refused): ...". Older
 * versions of libzookeeper write "[127.0.0.1:2181]", with brackets around the whole. */
static gboolean
parse (const char *line, Failure *failure)
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
  g_autofree char *address = g_strndup (socket, (gsize) (code - socket) - (is_enclosed ? 1 : 0));
  if (!curator_address_read (address, &failure->address))
    return FALSE;
  failure->address = without_zone (&failure->address);
  const int error = (int) g_ascii_strtoll (number + strlen (", errno="), NULL, 10);
  failure->code = error == ETIMEDOUT ? CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT
                                     : CURATOR_CONNECT_ERROR_CONNECT;
  failure->is_shortage = curator_is_shortage (error);
  /* The library sets these codes itself; the system's text for them would mislead. */
  if (error == ETIMEDOUT)
    failure->cause = g_strdup (NO_ANSWER);
  else if (error == EHOSTDOWN)
    failure->cause = g_strdup ("the server closed the connection");
  else if (failure->is_shortage)
    failure->cause = curator_shortage_describe (error);
  else
    failure->cause = g_strndup (text + 1, (gsize) (end - text - 1));
  return TRUE;
}

/* The caller holds the mutex. NULL: none. */
static Failure *
find (const CuratorAddress *address)
{
  const CuratorAddress key = without_zone (address);

  for (guint i = 0; i < failures->len; i++) {
    Failure *failure = &g_array_index (failures, Failure, i);
    if (curator_address_equal (&failure->address, &key))
      return failure;
  }
  return NULL;
}

void
curator_connect_failures_note (const char *line, gint64 now_us)
{
  Failure parsed = { .at_us = now_us };

  if (!parse (line, &parsed))
    return;
  pthread_once (&once, create_table);
  lock_table ();
  if (failures->len >= MAX_ADDRESSES)
    g_array_set_size (failures, 0);
  Failure *former = find (&parsed.address);
  if (former != NULL) {
    g_free (former->cause);
    *former = parsed;
  } else {
    g_array_append_val (failures, parsed);
  }
  unlock_table ();
}

GError *
curator_connect_failures_error (GPtrArray *servers, gint64 since_us, gboolean *known)
{
  g_autoptr (GPtrArray) addresses = curator_servers_dup_addresses (servers);
  g_autoptr (GString) text = g_string_new (NULL);
  Failure newest = { .code = CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT };

  pthread_once (&once, create_table);
  for (guint i = 0; i < MIN (addresses->len, MAX_SHOWN); i++) {
    g_autofree char *shown = curator_address_write (addresses->pdata[i]);
    lock_table ();
    const Failure *failure = find (addresses->pdata[i]);
    const gboolean counts = failure != NULL && failure->at_us >= since_us;
    g_string_append_printf (text, "%s%s: %s", i > 0 ? ", " : "", shown,
                            counts ? failure->cause : NO_ANSWER);
    if (counts && failure->at_us > newest.at_us)
      newest = *failure; /* but for the cause, which is the table's */
    unlock_table ();
  }
  if (addresses->len > MAX_SHOWN)
    g_string_append_printf (text, " and %u more", addresses->len - MAX_SHOWN);
  *known = newest.at_us > 0;
  if (newest.is_shortage)
    return g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_RESOURCES, text->str);
  return g_error_new_literal (CURATOR_CONNECT_ERROR, newest.code, text->str);
}
