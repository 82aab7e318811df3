/* Finds out why no server of a connect string can be used.
 *
 * A probe connects to each server by itself, all at the same time, and sends the four-letter word
 * "srvr", which every ZooKeeper server answers. It never creates a session.
 */
#include "base/probe.h"

#include "base/dial.h"

#include <curator/curator.h>
#include <string.h>

#define WORD "srvr"

/* Lives as long as the caller or a thread needs it. */
struct _Probe
{
  gint refs; /* atomic */
  Dial *dial;
  gint64 timeout_ms;
  GMutex mutex;
  GPtrArray *targets;
};

typedef struct
{
  Probe *probe;
  char *address;
  gint progress; /* atomic; GSocketClientEvent of its connection */
  Cause cause;   /* guarded by the probe's mutex */
  GError *error; /* guarded; of the connection, or NULL */
} Target;

static gint n_running; /* atomic; threads */

static void
free_target (gpointer data)
{
  Target *target = data;
  g_free (target->address);
  g_clear_error (&target->error);
  g_free (target);
}

void
probe_free (Probe *probe)
{
  if (probe != NULL && g_atomic_int_dec_and_test (&probe->refs)) {
    g_ptr_array_unref (probe->targets);
    g_clear_pointer (&probe->dial, dial_free);
    g_mutex_clear (&probe->mutex);
    g_free (probe);
  }
}

/* answer: NULL if there is an error instead. */
static Cause
cause_of (const char *answer, const GError *error)
{
  if (answer == NULL) {
    if (error->domain == CURATOR_CONNECT_ERROR)
      return CAUSE_TLS;
    if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
      return CAUSE_SILENT;
    if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_CLOSED))
      return CAUSE_CLOSED;
    if (error->domain == G_RESOLVER_ERROR)
      return CAUSE_UNKNOWN_HOST;
    return g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED) ? CAUSE_REFUSED
                                                                              : CAUSE_UNREACHABLE;
  }
  if (*answer == '\0')
    return CAUSE_CLOSED;
  if (strstr (answer, "not currently serving requests") != NULL)
    return CAUSE_NO_QUORUM;
  if (strstr (answer, "\nMode: read-only") != NULL)
    return CAUSE_READ_ONLY;
  return g_str_has_prefix (answer, "Zookeeper version") || strstr (answer, "whitelist") != NULL
             ? CAUSE_SERVES
             : CAUSE_FOREIGN;
}

/* Ends the thread of a target, or stands for one that could not be started. */
static void
end_target (Target *target, Cause cause, GError *error)
{
  Probe *probe = target->probe;

  g_mutex_lock (&probe->mutex);
  target->cause = cause;
  target->error = error;
  g_mutex_unlock (&probe->mutex);
  probe_free (probe);
  g_atomic_int_add (&n_running, -1);
}

static gpointer
ask_target (gpointer data)
{
  Target *target = data;
  Probe *probe = target->probe;
  GError *error = NULL;
  g_autofree char *answer =
      dial_ask (probe->dial, target->address, WORD, probe->timeout_ms, &target->progress, &error);
  Cause cause = cause_of (answer, error);

  if ((cause == CAUSE_SILENT || cause == CAUSE_CLOSED) && !dial_uses_tls (probe->dial)
      && dial_offers_tls (target->address, probe->timeout_ms))
    cause = CAUSE_WANTS_TLS;
  end_target (target, cause, error);
  return NULL;
}

Probe *
probe_start (const Options *options, gint64 timeout_ms)
{
  Probe *probe = g_new0 (Probe, 1);
  g_auto (GStrv) addresses = dial_split_hosts (options->hosts);

  g_atomic_int_set (&probe->refs, 1);
  probe->dial = dial_new (&options->secure, NULL);
  probe->timeout_ms = timeout_ms;
  g_mutex_init (&probe->mutex);
  probe->targets = g_ptr_array_new_with_free_func (free_target);
  for (char **address = addresses; probe->dial != NULL && *address != NULL; address++) {
    Target *target = g_new (Target, 1);
    *target = (Target){ .probe = probe, .address = g_strdup (*address), .cause = CAUSE_PENDING };
    g_ptr_array_add (probe->targets, target);
    g_atomic_int_inc (&probe->refs);
    g_atomic_int_inc (&n_running);
    GThread *thread = g_thread_try_new ("probe", ask_target, target, NULL);
    if (thread != NULL)
      g_thread_unref (thread);
    else
      end_target (target, CAUSE_NOT_ASKED, NULL);
  }
  return probe;
}

guint
probe_causes (Probe *probe)
{
  guint causes = 0;

  if (probe == NULL)
    return 0;
  g_mutex_lock (&probe->mutex);
  for (guint i = 0; i < probe->targets->len; i++)
    causes |= ((Target *) g_ptr_array_index (probe->targets, i))->cause;
  g_mutex_unlock (&probe->mutex);
  return causes;
}

/* Of other causes the error tells. */
static const struct
{
  Cause cause;
  const char *text;
} texts[] = {
  { CAUSE_NOT_ASKED, "no connection, and no thread left to ask it" },
  { CAUSE_UNKNOWN_HOST, "unknown host" },
  { CAUSE_REFUSED, "connection refused" },
  { CAUSE_SILENT, "accepts connections and does not answer" },
  { CAUSE_CLOSED, "closes the connection without an answer: is its maxClientCnxns reached?" },
  { CAUSE_WANTS_TLS, "expects TLS: write tls:// before it" },
  { CAUSE_FOREIGN, "not a ZooKeeper server" },
  { CAUSE_NO_QUORUM, "no quorum" },
  { CAUSE_READ_ONLY, "no quorum" },
  { CAUSE_SERVES, "serves, but no session was established" },
};

/* Of one that is still asked: how far it came. */
static const char *
describe_progress (GSocketClientEvent event)
{
  return event == G_SOCKET_CLIENT_CONNECTING  ? DIAL_UNANSWERED
         : event >= G_SOCKET_CLIENT_CONNECTED ? "accepts connections and does not answer"
                                              : "no connection yet";
}

static const char *
describe_target (const Target *target)
{
  if (target->cause == CAUSE_PENDING)
    return describe_progress (g_atomic_int_get (&target->progress));
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    if (texts[i].cause == target->cause)
      return texts[i].text;
  return target->error->message;
}

char *
probe_describe (Probe *probe)
{
  GString *all = g_string_new (NULL);

  g_mutex_lock (&probe->mutex);
  for (guint i = 0; i < probe->targets->len; i++) {
    const Target *target = g_ptr_array_index (probe->targets, i);
    g_autofree char *address = curator_escape_name (target->address, -1);
    g_string_append_printf (all, "%s%s: %s", i > 0 ? "; " : "", address, describe_target (target));
  }
  g_mutex_unlock (&probe->mutex);
  return g_string_free (all, FALSE);
}

gboolean
probe_is_running (void)
{
  return g_atomic_int_get (&n_running) > 0;
}
