/* The ops table for a connection with TLS or SASL.
 *
 * Mirrors ClientCnxnSocketNetty in place of ClientCnxnSocketNIO. Threads: like zk_real.c; the
 * channel's thread reports failures. It holds no lock then.
 *
 * NOTES: libzookeeper is the one that clear-text clients use, connected to a loopback port of ours.
 * What that attempt meets is this machine only (see loopback.c), so the channel has the deadlines
 * for servers.
 */
#include "zk/zk_secured.h"

#include "base/server_list.h"
#include "channel/channel.h"
#include "core/log.h"
#include "zk/zk_real.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_SHOWN 5

/* The last one of a server. */
typedef struct
{
  char *server; /* "host:port" */
  GError *error;
  gint64 at_us;
} Failure;

typedef struct
{
  CuratorZkOps ops; /* first: the client's table */
  CuratorClient *client;
  pthread_mutex_t mutex; /* of the next two; no other lock is taken under it */
  GPtrArray *failures;   /* the newest is the last */
  char *server;          /* of the newest connection: "host:port", or NULL */
} Secured;

struct _CuratorZkSecured
{
  Secured *owner;
  CuratorChannel *channel;
  CuratorZkWatcher watcher;
  _Atomic (CuratorZkPinged) pinged;
  gpointer context;
  char *last;      /* the failure that was logged last */
  GPtrArray *told; /* CuratorServer: what the channel has; guarded by the client's mutex */
  gboolean leaves; /* it has left other servers for that list; the same */
};

static void
failure_free (gpointer data)
{
  Failure *failure = data;
  g_free (failure->server);
  g_error_free (failure->error);
  g_free (failure);
}

static gboolean
is_of_server (gconstpointer failure, gconstpointer server)
{
  return g_str_equal (((const Failure *) failure)->server, server);
}

/* Runs on the channel's thread. The same failure is logged once. */
static void
on_failed (const char *server, const GError *error, gboolean is_final, gpointer data)
{
  CuratorZkSecured *secured = data;
  Secured *owner = secured->owner;
  Failure *failure = g_new (Failure, 1);
  guint at;

  *failure = (Failure){ g_strdup (server), g_error_copy (error), g_get_monotonic_time () };
  pthread_mutex_lock (&owner->mutex);
  if (g_ptr_array_find_with_equal_func (owner->failures, server, is_of_server, &at))
    g_ptr_array_remove_index (owner->failures, at);
  g_ptr_array_add (owner->failures, failure);
  pthread_mutex_unlock (&owner->mutex);
  if (g_strcmp0 (secured->last, error->message) != 0) {
    curator_warn ("cannot connect to %s", error->message);
    g_free (secured->last);
    secured->last = g_strdup (error->message);
  }
  if (is_final)
    secured->watcher (ZOO_SESSION_EVENT, ZOO_AUTH_FAILED_STATE, "", secured->context);
}

/* Runs on the channel's thread. */
static void
on_warned (const char *text, gpointer data)
{
  curator_warn ("%s", text);
}

/* Runs on the channel's thread. */
static void
on_opened (const char *server, gpointer data)
{
  Secured *owner = ((CuratorZkSecured *) data)->owner;

  pthread_mutex_lock (&owner->mutex);
  g_free (owner->server);
  owner->server = g_strdup (server);
  pthread_mutex_unlock (&owner->mutex);
}

static char *
secured_dup_server (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers)
{
  Secured *owner = (Secured *) ops;

  pthread_mutex_lock (&owner->mutex);
  char *server = g_strdup (owner->server);
  pthread_mutex_unlock (&owner->mutex);
  return server;
}

/* Runs on the channel's thread. */
static void
on_pinged (gint64 sent_us, gint64 answered_us, gpointer data)
{
  CuratorZkSecured *secured = data;
  const CuratorZkPinged pinged = atomic_load (&secured->pinged);

  if (pinged != NULL)
    pinged (sent_us, answered_us, secured->context);
}

static void
secured_report_pings (CuratorZkOps *ops, CuratorZkHandle *handle, CuratorZkPinged pinged)
{
  atomic_store (&handle->secured->pinged, pinged);
}

/* The channel has told the kernel when it opened the connection. */
static gboolean
secured_bound_silence (CuratorZkOps *ops, CuratorZkHandle *handle, gint64 silent_us)
{
  if (silent_us > 0)
    curator_channel_leave_silent (handle->secured->channel, silent_us);
  return TRUE;
}

static void
secured_free (CuratorZkSecured *secured)
{
  g_free (secured->last);
  g_clear_pointer (&secured->told, g_ptr_array_unref);
  g_free (secured);
}

/* Handles are opened with the client's mutex. */
static CURATOR_LOCKED CuratorZkHandle *
secured_open (CuratorZkOps *ops, const char *hosts, int session_timeout_ms,
              CuratorZkWatcher watcher, gpointer context)
{
  CuratorClient *client = ((Secured *) ops)->client;
  CuratorZkSecured *secured = g_new (CuratorZkSecured, 1);
  const CuratorChannelSetup setup = {
    .tls = client->settings.tls,
    .sasl = client->settings.sasl,
    .failed = on_failed,
    .warned = on_warned,
    .opened = on_opened,
    .pinged = on_pinged,
    .data = secured,
  };

  *secured = (CuratorZkSecured){ .owner = (Secured *) ops,
                                 .watcher = watcher,
                                 .context = context,
                                 .told = curator_servers_copy (client->known, FALSE) };
  secured->channel = curator_channel_open (&setup, client->known);
  CuratorZkHandle *handle = NULL;
  if (secured->channel != NULL) {
    g_autofree char *through = curator_channel_dup_hosts (secured->channel);
    clientid_t id = { 0 };
    memcpy (id.passwd, curator_channel_get_secret (secured->channel), sizeof id.passwd);
    handle = curator_zk_real_open (through, &id, session_timeout_ms, watcher, context);
    explicit_bzero (&id, sizeof id);
  }
  if (handle == NULL) {
    const int error = errno;
    g_clear_pointer (&secured->channel, curator_channel_close);
    secured_free (secured);
    errno = error;
    return NULL;
  }
  handle->secured = secured;
  return handle;
}

/* The channel tries the list at once, and leaves other servers itself. */
static gboolean
secured_set_servers (CuratorZkOps *ops, CuratorZkHandle *handle, GPtrArray *servers,
                     const char *addresses, gboolean leave)
{
  CuratorZkSecured *secured = handle->secured;

  if ((leave && !secured->leaves) || !curator_servers_equal (servers, secured->told)) {
    secured->leaves = leave;
    g_ptr_array_unref (secured->told);
    secured->told = curator_servers_copy (servers, FALSE);
    curator_channel_set_servers (secured->channel, servers, leave);
  }
  return TRUE;
}

static void
secured_close (CuratorZkOps *ops, CuratorZkHandle *handle)
{
  CuratorZkSecured *secured = handle->secured;

  /* The port stays open until libzookeeper does not connect to it any more. */
  curator_zk_real_close (ops, handle);
  curator_channel_close (secured->channel);
  secured_free (secured);
}

/* A refusal does not pass by itself, so it says more than a server that is down. */
static int
weight_of (int code)
{
  if (code == CURATOR_CONNECT_ERROR_SASL)
    return 2;
  return code == CURATOR_CONNECT_ERROR_TLS || code == CURATOR_CONNECT_ERROR_CERTIFICATE_REFUSED
         || code == CURATOR_CONNECT_ERROR_CLIENT_CERTIFICATE;
}

/* The caller holds the mutex. */
static GError *
join_failures (GPtrArray *failures, gint64 since_us)
{
  g_autoptr (GString) text = g_string_new (NULL);
  const Failure *decides = NULL;
  guint n = 0;

  for (guint i = failures->len; i > 0; i--) {
    const Failure *failure = failures->pdata[i - 1];
    if (failure->at_us < since_us)
      break;
    if (decides == NULL || weight_of (failure->error->code) > weight_of (decides->error->code))
      decides = failure;
    if (n++ < MAX_SHOWN)
      g_string_append_printf (text, "%s%s", n > 1 ? ", " : "", failure->error->message);
  }
  if (n > MAX_SHOWN)
    g_string_append_printf (text, " and %u more", n - MAX_SHOWN);
  return decides != NULL
             ? g_error_new_literal (decides->error->domain, decides->error->code, text->str)
             : NULL;
}

static GError *
secured_dup_failure (CuratorZkOps *ops, gint64 since_us)
{
  Secured *owner = (Secured *) ops;

  pthread_mutex_lock (&owner->mutex);
  GError *failure = join_failures (owner->failures, since_us);
  pthread_mutex_unlock (&owner->mutex);
  return failure;
}

static void
secured_ops_free (CuratorZkOps *ops)
{
  Secured *owner = (Secured *) ops;
  pthread_mutex_destroy (&owner->mutex);
  g_ptr_array_unref (owner->failures);
  g_free (owner->server);
  g_free (owner);
}

CuratorZkOps *
curator_zk_ops_secured (CuratorClient *client)
{
  Secured *secured = g_new0 (Secured, 1);

  secured->ops = *curator_zk_ops_real ();
  secured->ops.open = secured_open;
  secured->ops.close = secured_close;
  secured->ops.dup_server = secured_dup_server;
  secured->ops.report_pings = secured_report_pings;
  secured->ops.bound_silence = secured_bound_silence;
  secured->ops.end_attempt = NULL;
  secured->ops.set_servers = secured_set_servers;
  secured->ops.free = secured_ops_free;
  secured->ops.dup_failure = secured_dup_failure;
  secured->client = client;
  secured->failures = g_ptr_array_new_with_free_func (failure_free);
  pthread_mutex_init (&secured->mutex, NULL);
  return &secured->ops;
}
