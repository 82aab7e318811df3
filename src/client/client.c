/* CuratorClient: settings, life, connection state and its listeners (CuratorFramework).
 *
 * Mirrors CuratorFrameworkImpl and ConnectionStateManager. Threads: any enters the public calls;
 * the client's mutex guards everything but the set-up, which is constant after start.
 */
#include "client/client-private.h"

#include "client/await.h"
#include "client/connection.h"
#include "client/dispatch-private.h"
#include "client/features.h"
#include "client/listeners.h"
#include "client/log.h"
#include "client/monitor.h"
#include "client/op.h"
#include "client/path.h"
#include "client/reaper.h"
#include "client/retry_loop.h"
#include "client/session.h"
#include "client/settings.h"
#include "client/threads.h"
#include "client/zk_error.h"

#include <gio/gio.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_SESSION_TIMEOUT_MS 60000
#define DEFAULT_CONNECTION_TIMEOUT_MS 15000

static void
free_auth (gpointer data)
{
  CuratorAuth *auth = data;
  gsize length;
  /* Credentials do not stay behind in freed memory. */
  gpointer bytes = (gpointer) g_bytes_get_data (auth->auth, &length);
  if (bytes != NULL)
    {
      explicit_bzero (bytes, length);
    }
  g_bytes_unref (auth->auth);
  g_free (auth->scheme);
  g_free (auth);
}

/* The address that InetAddress.getLocalHost() would show: this host's name, resolved. */
static GBytes *
local_address (void)
{
  char name[256] = "";
  char text[NI_MAXHOST] = "";
  const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
  struct addrinfo *found = NULL;

  if (gethostname (name, sizeof name - 1) == 0 && getaddrinfo (name, NULL, &hints, &found) == 0)
    {
      getnameinfo (found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
      freeaddrinfo (found);
    }
  return g_bytes_new (text, strlen (text));
}

/* The chroot is ours, not the library's, so that a missing one is made like any other parent. What
 * is wrong with the connect string is reported by start. */
static void
update_prefix (CuratorClient *client)
{
  g_autoptr (CuratorConnectString) servers
      = curator_connect_string_parse (client->connect_string, NULL);
  const char *chroot = servers != NULL && servers->chroot != NULL ? servers->chroot : "";

  g_free (client->prefix);
  client->prefix = g_strconcat (chroot, client->namespace_ != NULL ? "/" : "",
                                client->namespace_, NULL);
}

static void
free_client (CuratorClient *client)
{
  g_free (client->connect_string);
  g_clear_pointer (&client->servers, curator_connect_string_free);
  g_free (client->namespace_);
  g_free (client->prefix);
  curator_retry_policy_unref (client->retry_policy);
  g_ptr_array_unref (client->auths);
  deallocate_ACL_vector (&client->acl);
  g_clear_pointer (&client->default_data, g_bytes_unref);
  g_clear_pointer (&client->callback_context, g_main_context_unref);
  if (client->trace_destroy != NULL)
    {
      client->trace_destroy (client->trace_data);
    }
  curator_listeners_clear (&client->listeners);
  curator_reaper_free (client->reaper);
  curator_dispatch_free (client->dispatch);
  if (client->ops->free != NULL)
    {
      client->ops->free (client->ops);
    }
  pthread_cond_destroy (&client->changed);
  pthread_mutex_destroy (&client->mutex);
  g_free (client);
}

CuratorClient *
curator_client_new_with_ops (const char *connect_string, CuratorRetryPolicy *retry_policy,
                             CuratorZkOps *ops)
{
  CuratorClient *client = g_new0 (CuratorClient, 1);
  pthread_condattr_t attr;

  curator_refs_init (&client->refs);
  curator_refs_init (&client->memory);
  curator_forks_watch ();
  client->fork_generation = curator_fork_generation ();
  client->ops = ops;
  client->free = free_client;
  client->connect_string = g_strdup (connect_string != NULL ? connect_string : "");
  update_prefix (client);
  client->session_timeout_ms = DEFAULT_SESSION_TIMEOUT_MS;
  client->connection_timeout_ms = DEFAULT_CONNECTION_TIMEOUT_MS;
  client->retry_policy = retry_policy != NULL
                             ? curator_retry_policy_ref (retry_policy)
                             : curator_retry_policy_new_exponential_backoff (1000, 3);
  client->auths = g_ptr_array_new_with_free_func (free_auth);
  client->dispatch = curator_dispatch_new ();
  client->reaper = curator_reaper_new (client);
  client->state = CURATOR_STATE_SUSPENDED;
  client->listeners.are_news = TRUE;
  pthread_mutex_init (&client->mutex, NULL);
  pthread_condattr_init (&attr);
  pthread_cond_init (&client->changed, &attr);
  pthread_condattr_destroy (&attr);
  return client;
}

CuratorClient *
curator_client_new (const char *connect_string, CuratorRetryPolicy *retry_policy)
{
  return curator_client_new_with_ops (connect_string, retry_policy, curator_zk_ops_real ());
}

CuratorClient *
curator_client_ref (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, NULL);
  curator_refs_inc (&client->refs);
  return client;
}

static void close_client (CuratorClient *client, gboolean may_wait);

void
curator_client_unref (CuratorClient *client)
{
  g_return_if_fail (client != NULL);
  /* In the child of a fork nothing of ours is alive: what it frees it would take from nobody, and
   * closing would send the parent's session away. */
  if (client->fork_generation != curator_fork_generation ())
    {
      return;
    }
  if (curator_refs_dec (&client->refs))
    {
      /* Threads that serve clients wait for none of them: two could wait for each other. */
      close_client (client, !curator_dispatch_is_inside ());
      curator_client_memory_unref (client);
    }
}

gboolean
curator_client_is_connected (CuratorClient *client)
{
  return client->session != NULL && client->session->state == CURATOR_SESSION_CONNECTED;
}

char *
curator_client_full_path (CuratorClient *client, const char *path)
{
  const gboolean is_root = path[1] == '\0' && *client->prefix != '\0';
  return g_strconcat (client->prefix, is_root ? "" : path, NULL);
}

const char *
curator_client_user_path (CuratorClient *client, const char *full_path)
{
  const gsize length = strlen (client->prefix);
  return strncmp (full_path, client->prefix, length) == 0 && full_path[length] == '/'
             ? full_path + length
             : full_path;
}

/* Set-up. Each of these is refused after start, because the session is already using the value. */
static gboolean
is_latent (CuratorClient *client)
{
  if (!curator_client_check_forked (client, NULL))
    {
      return FALSE;
    }
  curator_client_lock (client);
  const gboolean latent = client->life == CURATOR_LIFE_LATENT;
  curator_client_unlock (client);
  return latent;
}

/* The setters cannot refuse a value: what start is to refuse is kept as 0. */
static int
storable_ms (gint64 timeout_ms)
{
  return timeout_ms > 0 && timeout_ms <= G_MAXINT32 ? (int) timeout_ms : 0;
}

void
curator_client_set_session_timeout (CuratorClient *client, gint64 timeout_ms)
{
  g_return_if_fail (client != NULL && is_latent (client));
  client->session_timeout_ms = storable_ms (timeout_ms);
}

void
curator_client_set_connection_timeout (CuratorClient *client, gint64 timeout_ms)
{
  g_return_if_fail (client != NULL && is_latent (client));
  client->connection_timeout_ms = storable_ms (timeout_ms);
}

void
curator_client_set_server_tick (CuratorClient *client, gint64 tick_ms)
{
  g_return_if_fail (client != NULL && is_latent (client));
  client->has_server_tick = TRUE;
  client->server_tick_ms = storable_ms (tick_ms);
}

void
curator_client_set_heartbeat_interval (CuratorClient *client, gint64 interval_ms)
{
  g_return_if_fail (client != NULL && is_latent (client));
  client->has_heartbeat = TRUE;
  client->heartbeat_ms = storable_ms (interval_ms);
}

gboolean
curator_client_set_namespace (CuratorClient *client, const char *namespace_, GError **error)
{
  g_return_val_if_fail (client != NULL, FALSE);
  if (!is_latent (client))
    {
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the namespace is set before the client is started");
      return FALSE;
    }
  if (namespace_ != NULL && *namespace_ != '\0' && !curator_namespace_validate (namespace_, error))
    {
      return FALSE;
    }
  g_free (client->namespace_);
  client->namespace_ = namespace_ == NULL || *namespace_ == '\0' ? NULL : g_strdup (namespace_);
  update_prefix (client);
  return TRUE;
}

void
curator_client_add_auth (CuratorClient *client, const char *scheme, const void *auth, gsize length)
{
  g_return_if_fail (client != NULL && scheme != NULL && is_latent (client));
  CuratorAuth *entry = g_new (CuratorAuth, 1);
  entry->scheme = g_strdup (scheme);
  entry->auth = g_bytes_new (auth, length);
  g_ptr_array_add (client->auths, entry);
}

void
curator_client_set_acl (CuratorClient *client, const struct ACL_vector *acl)
{
  g_return_if_fail (client != NULL && is_latent (client));
  deallocate_ACL_vector (&client->acl);
  client->acl = (struct ACL_vector){ 0 };
  if (acl == NULL || acl->count == 0)
    {
      return;
    }
  allocate_ACL_vector (&client->acl, acl->count);
  for (int i = 0; i < acl->count; i++)
    {
      /* The library frees these with free(). */
      client->acl.data[i].perms = acl->data[i].perms;
      client->acl.data[i].id.scheme = strdup (acl->data[i].id.scheme);
      client->acl.data[i].id.id = strdup (acl->data[i].id.id);
    }
}

void
curator_client_set_default_data (CuratorClient *client, const void *data, gsize length)
{
  g_return_if_fail (client != NULL && is_latent (client));
  g_clear_pointer (&client->default_data, g_bytes_unref);
  client->default_data = g_bytes_new (data, length);
}

void
curator_client_set_callback_context (CuratorClient *client, GMainContext *context)
{
  g_return_if_fail (client != NULL && is_latent (client));
  g_clear_pointer (&client->callback_context, g_main_context_unref);
  client->callback_context = context != NULL ? g_main_context_ref (context) : NULL;
}

void
curator_client_set_trace (CuratorClient *client, CuratorTraceFunc func, gpointer user_data,
                          GDestroyNotify destroy)
{
  g_return_if_fail (client != NULL && is_latent (client));
  if (client->trace_destroy != NULL)
    {
      client->trace_destroy (client->trace_data);
    }
  client->trace = func;
  client->trace_data = user_data;
  client->trace_destroy = destroy;
}

/* @locks none; before start. */
static gboolean
check_features (CuratorClient *client, GError **error)
{
  for (guint i = 0; i < client->auths->len; i++)
    {
      const CuratorAuth *auth = g_ptr_array_index (client->auths, i);
      if (!curator_features_check_auth_scheme (auth->scheme, error))
        {
          return FALSE;
        }
    }
  return client->ops->is_shared
         || curator_features_check_connect_string (client->connect_string, error);
}

static gboolean
check_default_data (CuratorClient *client, GError **error)
{
  if (client->default_data != NULL && g_bytes_get_size (client->default_data) > CURATOR_MAX_PAYLOAD)
    {
      g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_LIMIT_EXCEEDED,
                   "the payload of a lock node has at most %d bytes", CURATOR_MAX_PAYLOAD);
      return FALSE;
    }
  return TRUE;
}

/* What cannot be, or NULL. */
static const char *
bad_time (const CuratorClient *client)
{
  return client->session_timeout_ms == 0                          ? "session time-out"
         : client->connection_timeout_ms == 0                     ? "connection time-out"
         : client->has_server_tick && client->server_tick_ms == 0 ? "server tick"
         : client->has_heartbeat && client->heartbeat_ms == 0     ? "heartbeat interval"
                                                                  : NULL;
}

/* Everything that the user set, checked and put into the form in which the sessions use it. */
static gboolean
settle_settings (CuratorClient *client, GError **error)
{
  const char *bad = bad_time (client);
  if (bad != NULL)
    {
      g_set_error (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                   "the %s is not between 1 and %d ms", bad, G_MAXINT32);
      return FALSE;
    }
  if (!check_features (client, error) || !check_default_data (client, error))
    {
      return FALSE;
    }
  g_clear_pointer (&client->servers, curator_connect_string_free);
  if (!client->ops->is_shared)
    {
      client->servers = curator_connect_string_parse (client->connect_string, error);
      if (client->servers == NULL)
        {
          return FALSE;
        }
    }
  if (client->default_data == NULL)
    {
      client->default_data = local_address ();
    }
  if (client->acl.count == 0)
    {
      curator_client_set_acl (client, &ZOO_OPEN_ACL_UNSAFE);
    }
  return TRUE;
}

/* @locks client mutex required. */
static gboolean
check_latent (CuratorClient *client, GError **error)
{
  switch (client->life)
    {
    case CURATOR_LIFE_LATENT:
      return TRUE;
    case CURATOR_LIFE_STARTED:
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "the client has been started already");
      return FALSE;
    case CURATOR_LIFE_STOPPED:
    default:
      g_set_error_literal (error, CURATOR_ERROR, CURATOR_ERROR_CLOSED, "the client is closed");
      return FALSE;
    }
}

gboolean
curator_client_start (CuratorClient *client, GError **error)
{
  g_return_val_if_fail (client != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);
  if (!curator_client_check_forked (client, error))
    {
      return FALSE;
    }
  curator_client_lock (client);
  const gboolean latent = check_latent (client, error);
  curator_client_unlock (client);
  if (!latent)
    {
      return FALSE;
    }
  if (!settle_settings (client, error))
    {
      return FALSE;
    }

  curator_client_lock (client);
  const gboolean started = check_latent (client, error) && curator_dispatch_start (client, error);
  if (started)
    {
      client->life = CURATOR_LIFE_STARTED;
      curator_session_open (client);
    }
  curator_client_unlock (client);
  return started;
}

/* block_until_connected is an operation without steps: the connection finishes it. */
typedef struct
{
  CuratorOp op;
  CuratorRetryLoop loop;
} ConnectWait;

static void
connect_wait_go (gpointer data)
{
  ConnectWait *wait = data;
  curator_retry_loop_stop (&wait->loop);
  curator_op_finish (&wait->op, NULL, NULL);
}

/* Waiting for ever means for ever: only the caller's deadline ends it. */
static void
connect_wait_give_up (gpointer data, int rc)
{
  ConnectWait *wait = data;
  curator_retry_loop_begin (&wait->loop);
}

static void
connect_wait_cancel (CuratorOp *op, GError *reason)
{
  ConnectWait *wait = (ConnectWait *) op;
  curator_retry_loop_stop (&wait->loop);
  curator_op_finish (op, NULL, reason);
}

gboolean
curator_client_block_until_connected (CuratorClient *client, gint64 timeout_ms,
                                      GCancellable *cancellable, GError **error)
{
  static const CuratorOpClass klass = { .cancel = connect_wait_cancel };

  g_return_val_if_fail (client != NULL, FALSE);
  if (!curator_client_check_usable (client, error))
    {
      return FALSE;
    }
  CuratorAwait await;
  curator_await_init (&await, client);
  ConnectWait *wait = curator_op_alloc (sizeof *wait, &klass, client,
                                        curator_client_deadline (client, timeout_ms),
                                        curator_await_done, &await);
  curator_client_lock (client);
  if (curator_op_begin (&wait->op))
    {
      curator_retry_loop_init (&wait->loop, client, connect_wait_go, connect_wait_give_up, wait);
      curator_retry_loop_begin (&wait->loop);
    }
  curator_client_unlock (client);
  return curator_await_op (&await, &wait->op, cancellable, NULL, error);
}

CuratorConnectionState
curator_client_get_connection_state (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, CURATOR_STATE_LOST);
  if (!curator_client_check_forked (client, NULL))
    {
      return CURATOR_STATE_LOST;
    }
  curator_client_lock (client);
  const CuratorConnectionState state = client->state;
  curator_client_unlock (client);
  return state;
}

gint64
curator_client_get_session_id (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const gint64 id = client->session != NULL ? client->session->id : 0;
  curator_client_unlock (client);
  return id;
}

gint64
curator_client_get_session_timeout (CuratorClient *client)
{
  g_return_val_if_fail (client != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const gboolean known = client->session != NULL && client->session->ever_connected;
  const gint64 timeout = known ? client->session->timeout_ms : 0;
  curator_client_unlock (client);
  return timeout;
}

static void
call_state_listener (GCallback func, gpointer client, int state, gpointer user_data)
{
  ((CuratorStateListener) func) (client, (CuratorConnectionState) state, user_data);
}

void
curator_client_set_state (CuratorClient *client, CuratorConnectionState state)
{
  if (client->state_posted && client->state == state)
    {
      return;
    }
  client->state_posted = TRUE;
  curator_debug ("connection state %s -> %s", curator_connection_state_to_string (client->state),
                 curator_connection_state_to_string (state));
  client->state = state;
  curator_listeners_tell (&client->listeners, client, call_state_listener, client, NULL, NULL,
                          (int) state);
}

guint
curator_client_add_state_listener (CuratorClient *client, CuratorStateListener listener,
                                   gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (client != NULL && listener != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    {
      return 0;
    }
  curator_client_lock (client);
  const guint id = curator_listeners_add (&client->listeners, G_CALLBACK (listener), user_data,
                                          destroy);
  curator_client_unlock (client);
  return id;
}

void
curator_client_remove_state_listener (CuratorClient *client, guint id)
{
  g_return_if_fail (client != NULL);
  if (!curator_client_check_forked (client, NULL))
    {
      return;
    }
  curator_listeners_remove (&client->listeners, client, id);
}

void
curator_client_cancel_ops (CuratorClient *client, int rc)
{
  CuratorOp *op;
  while ((op = g_queue_peek_head (&client->ops_running)) != NULL)
    {
      GError *reason = rc == ZCLOSING
                           ? g_error_new_literal (CURATOR_ERROR, CURATOR_ERROR_CLOSED,
                                                  "the client was closed")
                           : curator_error_from_zk (rc, "connecting to", client->connect_string);
      op->klass->cancel (op, reason);
    }
}

static void
close_client (CuratorClient *client, gboolean may_wait)
{
  curator_client_lock (client);
  if (client->life != CURATOR_LIFE_STOPPED)
    {
      client->life = CURATOR_LIFE_STOPPED;
      client->state = CURATOR_STATE_LOST;
      curator_client_cancel_ops (client, ZCLOSING);
      curator_session_close_all (client);
      curator_dispatch_stop (client);
      /* What was collected is told before we wait: the waiters must not wait for the handle. */
      curator_client_unlock (client);
      curator_client_lock (client);
    }
  if (may_wait)
    {
      curator_dispatch_join (client);
    }
  curator_client_unlock (client);
}

void
curator_client_close (CuratorClient *client)
{
  g_return_if_fail (client != NULL);
  if (curator_client_check_forked (client, NULL))
    {
      close_client (client, TRUE);
    }
}
