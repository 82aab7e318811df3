#include "base/probe.h"

#include <curator/curator.h>
#include <string.h>

#define DEFAULT_PORT 2181
#define WORD         "srvr"
#define MAX_ANSWER   512

typedef enum
{
  CAUSE_PENDING,
  CAUSE_UNKNOWN_HOST,
  CAUSE_REFUSED,
  CAUSE_UNREACHABLE, /* another error of the connection */
  CAUSE_SILENT,      /* connected, then nothing */
  CAUSE_CLOSED,      /* connected, then closed without an answer */
  CAUSE_FOREIGN,
  CAUSE_NO_QUORUM,
  CAUSE_SERVES
} Cause;

/* Shared by the probe and the thread of the server. */
typedef struct
{
  gatomicrefcount refs;
  char *address;
  gint64 timeout_ms;
  GMutex mutex;
  Cause cause; /* guarded */
  char *text;  /* guarded; the error of the connection, or NULL */
} Target;

struct _Probe
{
  GPtrArray *targets;
};

static void
target_unref (gpointer data)
{
  Target *target = data;
  if (g_atomic_ref_count_dec (&target->refs))
    {
      g_mutex_clear (&target->mutex);
      g_free (target->address);
      g_free (target->text);
      g_free (target);
    }
}

static Cause
cause_of_error (const GError *error)
{
  if (error->domain == G_RESOLVER_ERROR)
    {
      return CAUSE_UNKNOWN_HOST;
    }
  return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED) ? CAUSE_REFUSED
                                                                            : CAUSE_UNREACHABLE;
}

static Cause
cause_of_answer (const char *answer, gsize length)
{
  if (length == 0)
    {
      return CAUSE_CLOSED;
    }
  if (strstr (answer, "not currently serving requests") != NULL)
    {
      return CAUSE_NO_QUORUM;
    }
  return g_str_has_prefix (answer, "Zookeeper version") || strstr (answer, "whitelist") != NULL
             ? CAUSE_SERVES
             : CAUSE_FOREIGN;
}

static Cause
ask (GSocketConnection *connection)
{
  GIOStream *stream = G_IO_STREAM (connection);
  char answer[MAX_ANSWER + 1] = "";
  gsize length = 0;
  g_autoptr (GError) error = NULL;

  if (!g_output_stream_write_all (g_io_stream_get_output_stream (stream), WORD, strlen (WORD), NULL,
                                  NULL, NULL)
      || !g_input_stream_read_all (g_io_stream_get_input_stream (stream), answer, MAX_ANSWER,
                                   &length, NULL, &error))
    {
      /* What came before the error still shows the protocol. */
      if (length == 0 && error != NULL && g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
        {
          return CAUSE_SILENT;
        }
    }
  return cause_of_answer (answer, length);
}

static gpointer
probe_target (gpointer data)
{
  Target *target = data;
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GError) error = NULL;

  g_socket_client_set_timeout (client, (guint) MAX (target->timeout_ms / 1000, 1));
  g_socket_client_set_enable_proxy (client, FALSE);
  g_autoptr (GSocketConnection) connection =
      g_socket_client_connect_to_host (client, target->address, DEFAULT_PORT, NULL, &error);
  const Cause cause = connection != NULL ? ask (connection) : cause_of_error (error);
  g_mutex_lock (&target->mutex);
  target->cause = cause;
  target->text = error != NULL ? g_strdup (error->message) : NULL;
  g_mutex_unlock (&target->mutex);
  target_unref (target);
  return NULL;
}

static void
start_target (Probe *probe, const char *address, gint64 timeout_ms)
{
  Target *target = g_new0 (Target, 1);

  g_atomic_ref_count_init (&target->refs);
  g_atomic_ref_count_inc (&target->refs);
  target->address = g_strdup (address);
  target->timeout_ms = timeout_ms;
  g_mutex_init (&target->mutex);
  g_ptr_array_add (probe->targets, target);
  g_thread_unref (g_thread_new ("probe", probe_target, target));
}

gboolean
probe_is_possible (const char *hosts)
{
  return !g_str_has_prefix (hosts, "tls://");
}

Probe *
probe_start (const char *hosts, gint64 timeout_ms)
{
  Probe *probe = g_new0 (Probe, 1);
  g_autofree char *list = g_strndup (hosts, strcspn (hosts, "/"));
  g_auto (GStrv) addresses = g_strsplit (probe_is_possible (hosts) ? list : "", ",", -1);

  probe->targets = g_ptr_array_new_with_free_func (target_unref);
  for (char **address = addresses; *address != NULL; address++)
    {
      g_strstrip (*address);
      if (**address != '\0')
        {
          start_target (probe, *address, timeout_ms);
        }
    }
  return probe;
}

static Cause
get_cause (Target *target)
{
  g_mutex_lock (&target->mutex);
  const Cause cause = target->cause;
  g_mutex_unlock (&target->mutex);
  return cause;
}

gboolean
probe_all_refuse (Probe *probe)
{
  for (guint i = 0; i < probe->targets->len; i++)
    {
      const Cause cause = get_cause (g_ptr_array_index (probe->targets, i));
      if (cause != CAUSE_UNKNOWN_HOST && cause != CAUSE_REFUSED && cause != CAUSE_FOREIGN
          && cause != CAUSE_NO_QUORUM)
        {
          return FALSE;
        }
    }
  return probe->targets->len > 0;
}

gboolean
probe_is_complete (Probe *probe)
{
  for (guint i = 0; i < probe->targets->len; i++)
    {
      if (get_cause (g_ptr_array_index (probe->targets, i)) == CAUSE_PENDING)
        {
          return FALSE;
        }
    }
  return TRUE;
}

static const char *
describe_target (Target *target)
{
  static const char *const texts[] = {
    [CAUSE_PENDING] = "no connection yet",
    [CAUSE_UNKNOWN_HOST] = "unknown host",
    [CAUSE_REFUSED] = "connection refused",
    [CAUSE_UNREACHABLE] = "cannot connect",
    [CAUSE_SILENT] = "accepts connections and does not answer",
    [CAUSE_CLOSED] = "closes the connection without an answer; it may expect TLS",
    [CAUSE_FOREIGN] = "not a ZooKeeper server",
    [CAUSE_NO_QUORUM] = "no quorum",
    [CAUSE_SERVES] = "serves, but no session was established",
  };
  return target->cause == CAUSE_UNREACHABLE && target->text != NULL ? target->text
                                                                    : texts[target->cause];
}

char *
probe_describe (Probe *probe)
{
  GString *all = g_string_new (NULL);

  for (guint i = 0; i < probe->targets->len; i++)
    {
      Target *target = g_ptr_array_index (probe->targets, i);
      g_autofree char *address = curator_escape_name (target->address, -1);
      g_mutex_lock (&target->mutex);
      g_string_append_printf (all, "%s%s: %s", i > 0 ? "; " : "", address,
                              describe_target (target));
      g_mutex_unlock (&target->mutex);
    }
  return g_string_free (all, FALSE);
}

void
probe_free (Probe *probe)
{
  if (probe != NULL)
    {
      g_ptr_array_unref (probe->targets);
      g_free (probe);
    }
}
