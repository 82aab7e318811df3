/* Why there is no connection: its getter, its listeners, and the errors of unanswered calls.
 *
 * Mirrors UnhandledErrorListener in part. Threads: any; guarded by the client's mutex. While a
 * listener waits and there is no connection, a timer looks for another cause.
 */
#include "session/connection_error.h"

#include "base/fork_gate.h"
#include "base/path.h"
#include "base/server_list.h"
#include "base/tag.h"
#include "core/connect_failures.h"
#include "core/log.h"
#include "core/monitor.h"
#include "core/zk_error.h"
#include "session/session.h"

#define POLL_US       (100 * 1000)
#define WARN_AGAIN_US (10 * 60 * G_TIME_SPAN_SECOND)

struct _CuratorConnectionErrors
{
  CuratorListeners listeners CURATOR_GUARDED; /* CuratorConnectionErrorListener */
  CuratorTimer *timer CURATOR_GUARDED;
  GPtrArray *servers CURATOR_GUARDED;   /* CuratorServer: what the newest handle connects to */
  GError *unhandled CURATOR_GUARDED;    /* the last one that no call has returned */
  GError *open_error CURATOR_GUARDED;   /* why no handle could be opened; NULL if one was */
  char *cause_told CURATOR_GUARDED;     /* what the listeners were last notified of */
  gint64 down_since_us CURATOR_GUARDED; /* monotonic; 0 while connected */
  gint64 up_since_us CURATOR_GUARDED;   /* monotonic; of the last connection */
  gint64 warned_us CURATOR_GUARDED;     /* of this outage, monotonic; 0: not yet */
};

/* In CURATOR_CONNECT_ERROR: the cause alone. known: whether something has failed already. */
static CURATOR_LOCKED GError *
cause_of (CuratorClient *client, gboolean *known)
{
  const CuratorConnectionErrors *errors = client->errors;
  g_autofree char *hosts = curator_path_escape (client->connect_string);

  *known = errors->open_error != NULL;
  if (client->ops->is_shared)
    return g_error_new_literal (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT,
                                "the program's handle is not connected");
  if (errors->open_error != NULL)
    return g_error_copy (errors->open_error);
  if (errors->servers == NULL)
    return g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_RESOLVE,
                        "%s: names not resolved yet", hosts);
  if (client->ops->dup_failure == NULL)
    return curator_connect_failures_error (errors->servers, errors->down_since_us, known);
  GError *failure = client->ops->dup_failure (client->ops, errors->down_since_us);
  *known = failure != NULL;
  return *known ? failure
                : g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT,
                               "%s: no answer", hosts);
}

/* In CURATOR_CONNECT_ERROR, or AUTH_FAILED. */
static CURATOR_LOCKED GError *
outage_error (CuratorClient *client, const char *what, const char *path)
{
  const gint64 ms = (curator_client_now_us (client) - client->errors->down_since_us) / 1000;
  g_autofree char *shown = curator_path_escape (path);
  gboolean known;

  if (client->refused.auth_failure != 0)
    return curator_error_from_zk (client->refused.auth_failure, what, path);
  g_autoptr (GError) cause = cause_of (client, &known);
  g_autofree char *since =
      ms != 0 ? g_strdup_printf (" for %" G_GINT64_FORMAT " ms", ms) : g_strdup ("");
  return g_error_new (cause->domain, cause->code, "%s %s: not connected%s (%s)", what, shown, since,
                      cause->message);
}

gint64
curator_connection_down_us (CuratorClient *client)
{
  const gint64 since_us = client->errors->down_since_us;
  return since_us != 0 ? curator_client_now_us (client) - since_us : 0;
}

GError *
curator_unanswered_error (CuratorClient *client, const char *what, const char *path,
                          gint64 since_us)
{
  g_autofree char *shown = curator_path_escape (path);
  const gint64 up_us = client->errors->up_since_us;

  if (curator_client_is_connected (client) && up_us > since_us)
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER,
                        "%s %s: not done within %" G_GINT64_FORMAT
                        " ms: connected for the last %" G_GINT64_FORMAT " ms of them only",
                        what, shown, (curator_client_now_us (client) - since_us) / 1000,
                        (curator_client_now_us (client) - up_us) / 1000);
  if (curator_client_is_connected (client))
    return g_error_new (CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER,
                        "%s %s: connected, but no answer within %" G_GINT64_FORMAT " ms", what,
                        shown, (curator_client_now_us (client) - since_us) / 1000);
  GError *error = outage_error (client, what, path);
  if (error->domain == CURATOR_CONNECT_ERROR) {
    error->domain = CURATOR_ERROR;
    error->code = CURATOR_ERROR_CONNECTION_LOST;
  }
  return error;
}

GError *
curator_request_error (CuratorClient *client, int rc, const char *what, const char *path,
                       gint64 since_us)
{
  if (rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT) {
    GError *error = curator_error_from_zk (rc, what, path);
    if (rc == ZDATAINCONSISTENCY && client->session != NULL && client->session->server != NULL)
      g_prefix_error (&error, "%s: ", client->session->server);
    return error;
  }
  if (!curator_client_is_connected (client))
    return curator_unanswered_error (client, what, path, since_us);
  g_autofree char *shown = curator_path_escape (path);
  return g_error_new (CURATOR_ERROR, CURATOR_ERROR_CONNECTION_LOST,
                      "%s %s: %s; connected again, no retry left after %" G_GINT64_FORMAT " ms",
                      what, shown, zerror (rc), (curator_client_now_us (client) - since_us) / 1000);
}

char *
curator_connection_error_suffix (CuratorClient *client)
{
  gboolean known;

  if (curator_client_is_connected (client))
    return g_strdup ("");
  g_autoptr (GError) cause = cause_of (client, &known);
  return g_strdup_printf (" (not connected for %" G_GINT64_FORMAT " ms: %s)",
                          (curator_client_now_us (client) - client->errors->down_since_us) / 1000,
                          cause->message);
}

GError *
curator_client_dup_connection_error (CuratorClient *client)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client), NULL);
  GError *error = NULL;

  if (!curator_client_check_usable (client, &error))
    return error;
  curator_client_lock (client);
  if (client->refused.auth_failure != 0 || !curator_client_is_connected (client))
    error = outage_error (client, "connecting to", client->connect_string);
  curator_client_unlock (client);
  return error;
}

/* The cause of a missing connection may have gone by the time the listener runs. */
static CURATOR_UNLOCKED void
call_error_listener (GCallback func, gpointer client, int is_unhandled, gpointer user_data)
{
  g_autoptr (GError) error =
      is_unhandled ? CURATOR_WITH_MUTEX (
          (CuratorClient *) client, g_error_copy (((CuratorClient *) client)->errors->unhandled))
                   : curator_client_dup_connection_error (client);
  if (error != NULL)
    ((CuratorConnectionErrorListener) func) (client, error, user_data);
}

void
curator_connection_error_unhandled (CuratorClient *client, const GError *error)
{
  g_clear_error (&client->errors->unhandled);
  client->errors->unhandled = g_error_copy (error);
  curator_listeners_notify (&client->errors->listeners, 0, client, call_error_listener, client,
                            NULL, NULL, TRUE);
}

static void poll_later (CuratorClient *client) CURATOR_LOCKED;

/* Notifies of a cause that is not the one notified of last. A connection may take the connection
 * timeout: only after that is no answer a failure. */
static CURATOR_LOCKED void
on_poll (gpointer data)
{
  CuratorClient *client = data;
  CuratorConnectionErrors *errors = client->errors;
  const gint64 down_us = curator_client_now_us (client) - errors->down_since_us;
  gboolean known;
  g_autoptr (GError) cause = cause_of (client, &known);

  errors->timer = NULL;
  if ((known || down_us >= (gint64) client->settings.connection_timeout_ms * 1000)
      && g_strcmp0 (cause->message, errors->cause_told) != 0) {
    g_free (errors->cause_told);
    errors->cause_told = g_strdup (cause->message);
    curator_listeners_notify (&errors->listeners, 0, client, call_error_listener, client, NULL,
                              NULL, FALSE);
  }
  poll_later (client);
}

gboolean
curator_connection_error_has_listeners (CuratorClient *client)
{
  return curator_listeners_count (&client->errors->listeners) > 0;
}

static void
poll_later (CuratorClient *client)
{
  if (client->errors->timer == NULL && curator_connection_error_has_listeners (client)
      && curator_client_is_running (client) && client->refused.auth_failure == 0
      && !curator_client_is_connected (client))
    client->errors->timer = curator_timer_after (client, POLL_US, on_poll, client);
}

gboolean
curator_connection_error_moved (CuratorClient *client, GPtrArray *servers)
{
  const gboolean moved =
      client->errors->servers == NULL || !curator_servers_equal (servers, client->errors->servers);

  if (moved)
    curator_connection_error_opened (client, servers, NULL);
  return moved;
}

void
curator_connection_error_opened (CuratorClient *client, GPtrArray *servers, GError *why)
{
  g_clear_pointer (&client->errors->servers, g_ptr_array_unref);
  g_clear_error (&client->errors->open_error);
  client->errors->servers = servers != NULL ? curator_servers_copy (servers, FALSE) : NULL;
  client->errors->open_error = why;
}

void
curator_connection_error_warn (CuratorClient *client)
{
  const gint64 now_us = curator_client_now_us (client);
  gboolean known;

  if (client->ops->is_shared || client->refused.auth_failure != 0
      || (client->errors->warned_us != 0 && now_us - client->errors->warned_us < WARN_AGAIN_US))
    return;
  client->errors->warned_us = now_us;
  g_autoptr (GError) cause = cause_of (client, &known);
  curator_warn ("cannot connect to %s", cause->message);
}

void
curator_connection_error_down (CuratorClient *client)
{
  if (client->errors->down_since_us == 0)
    client->errors->down_since_us = curator_client_now_us (client);
  poll_later (client);
}

void
curator_connection_error_up (CuratorClient *client)
{
  client->errors->down_since_us = 0;
  client->errors->up_since_us = curator_client_now_us (client);
  client->errors->warned_us = 0;
  curator_timer_cancel (client, &client->errors->timer);
  g_clear_pointer (&client->errors->cause_told, g_free);
}

void
curator_connection_error_closed (CuratorClient *client)
{
  curator_timer_cancel (client, &client->errors->timer);
}

void
curator_connection_error_init (CuratorClient *client)
{
  client->errors = g_new0 (CuratorConnectionErrors, 1);
}

void
curator_connection_error_clear (CuratorClient *client)
{
  CuratorConnectionErrors *errors = client->errors;

  curator_not_shared ();
  CURATOR_INSIDE_GATE;
  g_clear_pointer (&errors->servers, g_ptr_array_unref);
  g_clear_error (&errors->open_error);
  g_clear_error (&errors->unhandled);
  g_free (errors->cause_told);
  curator_listeners_clear (&errors->listeners);
  g_free (errors);
}

guint
curator_client_add_connection_error_listener (CuratorClient *client,
                                              CuratorConnectionErrorListener listener,
                                              gpointer user_data, GDestroyNotify destroy)
{
  g_return_val_if_fail (CURATOR_IS_CLIENT (client) && listener != NULL, 0);
  if (!curator_client_check_forked (client, NULL))
    return 0;
  curator_client_lock (client);
  const guint id = curator_listeners_add (&client->errors->listeners, client, G_CALLBACK (listener),
                                          user_data, destroy);
  poll_later (client);
  curator_client_unlock (client);
  return id;
}

void
curator_client_remove_connection_error_listener (CuratorClient *client, guint id)
{
  g_return_if_fail (CURATOR_IS_CLIENT (client));
  curator_listeners_remove (&client->errors->listeners, client, id);
}
