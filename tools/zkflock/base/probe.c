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

typedef enum
{
  CAUSE_PENDING,
  CAUSE_NOT_ASKED,
  CAUSE_UNKNOWN_HOST,
  CAUSE_REFUSED,
  CAUSE_UNREACHABLE, /* another error of the connection */
  CAUSE_SILENT,      /* connected, then nothing */
  CAUSE_CLOSED,      /* connected, then closed without an answer */
  CAUSE_TLS,         /* TLS or a certificate was refused */
  CAUSE_WANTS_TLS,   /* answers TLS only */
  CAUSE_FOREIGN,
  CAUSE_NO_QUORUM,
  CAUSE_SERVES
} Cause;

/* Shared by the probe and the thread of the server. */
typedef struct
{
  gint refs; /* atomic */
  Dial *dial;
  char *address;
  gint64 timeout_ms;
  GMutex mutex;
  Cause cause;       /* guarded */
  char *text;        /* guarded; the error of the connection, or NULL */
  gboolean is_final; /* guarded; the cause will not change */
} Target;

static gint n_running; /* atomic; threads */

struct _Probe
{
  GPtrArray *targets;
};

static void
target_unref (gpointer data)
{
  Target *target = data;
  if (g_atomic_int_dec_and_test (&target->refs))
    {
      g_mutex_clear (&target->mutex);
      dial_unref (target->dial);
      g_free (target->address);
      g_free (target->text);
      g_free (target);
    }
}

static Cause
cause_of_error (const GError *error)
{
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

static Cause
cause_of_answer (const char *answer)
{
  if (*answer == '\0')
    return CAUSE_CLOSED;
  if (strstr (answer, "not currently serving requests") != NULL)
    return CAUSE_NO_QUORUM;
  return g_str_has_prefix (answer, "Zookeeper version") || strstr (answer, "whitelist") != NULL
             ? CAUSE_SERVES
             : CAUSE_FOREIGN;
}

static void
set_cause (Target *target, Cause cause, const GError *error, gboolean is_final)
{
  g_mutex_lock (&target->mutex);
  target->cause = cause;
  g_free (target->text);
  target->text = error != NULL ? g_strdup (error->message) : NULL;
  target->is_final = is_final;
  g_mutex_unlock (&target->mutex);
}

static gpointer
probe_target (gpointer data)
{
  Target *target = data;
  g_autoptr (GError) error = NULL;
  g_autofree char *answer =
      dial_ask (target->dial, target->address, WORD, target->timeout_ms, &error);
  const Cause cause = answer != NULL ? cause_of_answer (answer) : cause_of_error (error);
  const gboolean may_be_tls =
      !dial_uses_tls (target->dial) && (cause == CAUSE_SILENT || cause == CAUSE_CLOSED);

  set_cause (target, cause, error, !may_be_tls);
  if (may_be_tls)
    {
      set_cause (target,
                 dial_offers_tls (target->address, target->timeout_ms) ? CAUSE_WANTS_TLS : cause,
                 error, TRUE);
    }
  target_unref (target);
  g_atomic_int_add (&n_running, -1);
  return NULL;
}

static void
start_target (Probe *probe, Dial *dial, const char *address, gint64 timeout_ms)
{
  Target *target = g_new0 (Target, 1);

  g_atomic_int_set (&target->refs, 1);
  g_atomic_int_inc (&target->refs);
  target->dial = dial_ref (dial);
  target->address = g_strdup (address);
  target->timeout_ms = timeout_ms;
  g_mutex_init (&target->mutex);
  g_ptr_array_add (probe->targets, target);
  g_atomic_int_inc (&n_running);
  GThread *thread = g_thread_try_new ("probe", probe_target, target, NULL);
  if (thread != NULL)
    {
      g_thread_unref (thread);
      return;
    }
  set_cause (target, CAUSE_NOT_ASKED, NULL, TRUE);
  target_unref (target);
  g_atomic_int_add (&n_running, -1);
}

Probe *
probe_start (const Options *options, gint64 timeout_ms)
{
  Probe *probe = g_new0 (Probe, 1);
  g_autoptr (Dial) dial = dial_new (&options->secure, NULL);
  g_auto (GStrv) addresses = dial_split_hosts (options->hosts);

  probe->targets = g_ptr_array_new_with_free_func (target_unref);
  for (char **address = addresses; dial != NULL && *address != NULL; address++)
    start_target (probe, dial, *address, timeout_ms);
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

static gboolean
is_final (Target *target)
{
  g_mutex_lock (&target->mutex);
  const gboolean final = target->is_final;
  g_mutex_unlock (&target->mutex);
  return final;
}

gboolean
probe_all_refuse (Probe *probe, gboolean has_failed)
{
  for (guint i = 0; probe != NULL && i < probe->targets->len; i++)
    {
      Target *target = g_ptr_array_index (probe->targets, i);
      const Cause cause = get_cause (target);
      const gboolean is_closed = cause == CAUSE_CLOSED && has_failed && is_final (target);
      if (!is_closed && cause != CAUSE_UNKNOWN_HOST && cause != CAUSE_REFUSED
          && cause != CAUSE_FOREIGN && cause != CAUSE_WANTS_TLS && cause != CAUSE_TLS
          && cause != CAUSE_NO_QUORUM)
        {
          return FALSE;
        }
    }
  return probe != NULL && probe->targets->len > 0;
}

gboolean
probe_some_serve (Probe *probe)
{
  gboolean found = FALSE;

  for (guint i = 0; i < probe->targets->len; i++)
    found = found || get_cause (g_ptr_array_index (probe->targets, i)) == CAUSE_SERVES;
  return found;
}

gboolean
probe_all_refuse_tls (Probe *probe)
{
  for (guint i = 0; probe != NULL && i < probe->targets->len; i++)
    {
      if (get_cause (g_ptr_array_index (probe->targets, i)) != CAUSE_TLS)
        return FALSE;
    }
  return probe != NULL && probe->targets->len > 0;
}

gboolean
probe_has_causes (Probe *probe)
{
  for (guint i = 0; i < probe->targets->len; i++)
    {
      if (get_cause (g_ptr_array_index (probe->targets, i)) == CAUSE_PENDING)
        return FALSE;
    }
  return TRUE;
}

gboolean
probe_is_complete (Probe *probe)
{
  for (guint i = 0; i < probe->targets->len; i++)
    {
      if (!is_final (g_ptr_array_index (probe->targets, i)))
        return FALSE;
    }
  return TRUE;
}

static const char *
describe_target (Target *target)
{
  static const char *const texts[] = {
    [CAUSE_PENDING] = "no connection yet",
    [CAUSE_NOT_ASKED] = "no connection, and no thread left to ask it",
    [CAUSE_UNKNOWN_HOST] = "unknown host",
    [CAUSE_REFUSED] = "connection refused",
    [CAUSE_UNREACHABLE] = "cannot connect",
    [CAUSE_SILENT] = "accepts connections and does not answer",
    [CAUSE_CLOSED] = "closes the connection without an answer: is its maxClientCnxns reached?",
    [CAUSE_WANTS_TLS] = "expects TLS: write tls:// before it",
    [CAUSE_TLS] = "TLS was refused",
    [CAUSE_FOREIGN] = "not a ZooKeeper server",
    [CAUSE_NO_QUORUM] = "no quorum",
    [CAUSE_SERVES] = "serves, but no session was established",
  };
  const gboolean has_text = target->cause == CAUSE_UNREACHABLE || target->cause == CAUSE_TLS;
  return has_text && target->text != NULL ? target->text : texts[target->cause];
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

gboolean
probe_is_running (void)
{
  return g_atomic_int_get (&n_running) > 0;
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
