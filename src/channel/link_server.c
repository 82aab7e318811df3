/* Finds a server for a connection: TCP, TLS, the ConnectRequest and its answer, SASL.
 *
 * Mirrors ClientCnxn.SendThread.startConnect and ZooKeeperSaslClient. Threads: the channel's; no
 * lock.
 *
 * NOTES: libzookeeper leaves after 2/3 of the session timeout, so every server has a deadline that
 * leaves time for the others. A ConnectResponse is held back until the authentication is complete;
 * libzookeeper sends nothing before it has that. The channel never answers in a server's name.
 * A client that was told to authenticate never sees a byte of a server that has not: open_link() is
 * the only way to OPEN. A server can say before any login that the session of the request has
 * ended. libzookeeper then gets this answer and the end of the connection.
 */
#include "channel/link_server.h"

#include "channel/link_report.h"

#include <string.h>

/* The password of the session may be in it. */
static void
drop_out (CuratorLink *link)
{
  if (link->out != NULL)
    explicit_bzero (link->out->data, link->out->len);
  g_clear_pointer (&link->out, g_byte_array_unref);
}

void
curator_link_drop_server (CuratorLink *link)
{
  g_clear_pointer (&link->stream, curator_stream_close);
  g_clear_pointer (&link->job, curator_job_drop);
  g_clear_pointer (&link->sasl, curator_sasl_unref);
  drop_out (link);
  link->step_is_due = FALSE;
  link->to_client.start = link->to_client.end = 0;
}

/* Not more than the server's share of the session timeout. */
static void
set_deadline (CuratorLink *link, gint64 most_us)
{
  const gint64 share_us =
      curator_endpoints_patience_us (link->context->endpoints, link->timeout_ms);
  link->deadline_us = g_get_monotonic_time () + MIN (share_us, most_us);
}

/* The functions that call each other here do so once for each address at most: after the last one
 * comes a pause. NOLINTBEGIN(misc-no-recursion) */

/* This server will not do: on to the next one. */
static void
fail_over (CuratorLink *link, const GError *error)
{
  CuratorLinkContext *context = link->context;

  curator_link_report (link, error, FALSE);
  curator_link_drop_server (link);
  if (!curator_endpoints_advance (context->endpoints)) {
    curator_link_try_server (link);
    return;
  }
  link->state = CURATOR_LINK_PAUSED;
  link->deadline_us =
      g_get_monotonic_time () + curator_endpoints_pause_us (context->n_rounds++, link->timeout_ms);
}

static void
fail_over_with (CuratorLink *link, CuratorConnectError code, const char *why)
{
  g_autoptr (GError) error = g_error_new_literal (CURATOR_CONNECT_ERROR, (int) code, why);
  fail_over (link, error);
}

/* While a renewal is incomplete, what was loaded before serves on. */
static gboolean
load_credentials (CuratorLinkContext *context, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (context->tls == NULL
      || curator_tls_credentials_refresh (&context->credentials, context->tls, &failure))
    return TRUE;
  if (context->credentials != NULL) {
    context->warned (failure->message, context->data);
    return TRUE;
  }
  g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_TLS, failure->message);
  return FALSE;
}

void
curator_link_try_server (CuratorLink *link)
{
  CuratorLinkContext *context = link->context;
  const CuratorTls *tls = context->tls;
  const CuratorAddress *address = curator_endpoints_address (context->endpoints);
  const char *host = curator_endpoints_host (context->endpoints);
  g_autoptr (GError) error = NULL;

  link->state = CURATOR_LINK_CONNECTING;
  set_deadline (link, curator_patience_connect_us (
                          &context->spent, curator_endpoints_n_addresses (context->endpoints)));
  if (tls != NULL && !tls->verify)
    context->warned ("TLS without verification: the server may be anyone", context->data);
  if (address == NULL)
    g_set_error_literal (&error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_RESOLVE,
                         curator_endpoints_why (context->endpoints));
  else if (load_credentials (context, &error))
    link->stream = curator_stream_open (
        address, tls != NULL && tls->server_name != NULL ? tls->server_name : host,
        context->credentials, tls != NULL && tls->verify, &error);
  if (link->stream == NULL)
    fail_over (link, error);
}
/* NOLINTEND(misc-no-recursion) */

gboolean
curator_link_change_servers (CuratorLink *link, GPtrArray *servers)
{
  CuratorEndpoints *endpoints = link->context->endpoints;
  const gboolean stays = curator_endpoints_update (endpoints, servers);

  if (link->state >= CURATOR_LINK_OPEN)
    return stays;
  if (link->state == CURATOR_LINK_PAUSED ? link->deadline_us != CURATOR_NO_TIME : !stays) {
    curator_link_drop_server (link);
    curator_endpoints_start_round (endpoints);
    curator_link_try_server (link);
  }
  return TRUE;
}

/* Writes our own frame. FALSE: a part is left, and nothing may be written in its place; or it
 * failed, and the server was left. */
static gboolean
flush_out (CuratorLink *link)
{
  g_autoptr (GError) error = NULL;

  if (link->out == NULL)
    return TRUE;
  const gssize sent = curator_stream_write (link->stream, link->out->data + link->out_sent,
                                            link->out->len - link->out_sent, &error);
  if (sent < 0) {
    fail_over (link, error);
    return FALSE;
  }
  link->out_sent += (guint) sent;
  if (link->out_sent < link->out->len)
    return FALSE;
  drop_out (link);
  return TRUE;
}

static void
send_out (CuratorLink *link, GByteArray *frame)
{
  link->out = frame;
  link->out_sent = 0;
  flush_out (link);
}

static void
on_connecting (CuratorLink *link)
{
  g_autoptr (GError) error = NULL;
  const gboolean was_connected = curator_stream_is_connected (link->stream);
  const int rc = curator_stream_establish (link->stream, &error);

  if (!was_connected && curator_stream_is_connected (link->stream))
    set_deadline (
        link, curator_patience_answer_us (
                  &link->context->spent, curator_endpoints_n_addresses (link->context->endpoints)));
  if (rc < 0) {
    fail_over (link, error);
  } else if (rc > 0) {
    link->state = CURATOR_LINK_ASKED;
    send_out (link, g_byte_array_append (g_byte_array_sized_new (CURATOR_CONNECT_FRAME_MAX),
                                         link->request, (guint) link->request_size));
  }
}

/* Reads from the server. FALSE: it failed, and the server was left. */
static gboolean
fill (CuratorLink *link)
{
  CuratorBuffer *buffer = &link->to_client;
  g_autoptr (GError) error = NULL;
  const gsize room = curator_buffer_room (buffer);
  const gssize got =
      room > 0 ? curator_stream_read (link->stream, buffer->bytes + buffer->end, room, &error) : 0;

  if (got < 0) {
    fail_over (link, error);
    return FALSE;
  }
  buffer->end += (gsize) got;
  return TRUE;
}

/* A server answers each request once, and sends nothing else before libzookeeper is connected.
 * FALSE: there is more, and the server was left. */
static gboolean
consume_answer (CuratorLink *link, gsize size)
{
  curator_buffer_consume (&link->to_client, size);
  if (curator_buffer_length (&link->to_client) == 0)
    return TRUE;
  fail_over_with (link, CURATOR_CONNECT_ERROR_CONNECT,
                  "the server has sent more than the answer to a request");
  return FALSE;
}

/* The ConnectResponse goes to libzookeeper. The buffer is empty: see consume_answer(). */
static void
pass_response (CuratorLink *link, CuratorLinkState state)
{
  CuratorBuffer *buffer = &link->to_client;

  memcpy (buffer->bytes, link->response, link->response_size);
  buffer->end = link->response_size;
  curator_link_enter (link, state);
}

static void
open_link (CuratorLink *link)
{
  CuratorLinkContext *context = link->context;
  CuratorConnectFrame response;

  g_assert (context->sasl == NULL
            || (link->sasl != NULL && curator_sasl_outcome (link->sasl)->is_complete));
  curator_frame_read_response (link->response, link->response_size, &response);
  context->session_id = response.session_id;
  memcpy (context->password, response.password, CURATOR_PASSWORD_LENGTH);
  explicit_bzero (&response, sizeof response);
  g_clear_pointer (&link->sasl, curator_sasl_unref);
  curator_link_report_open (link);
  pass_response (link, CURATOR_LINK_OPEN);
}

static void
step_sasl (CuratorLink *link)
{
  g_autoptr (GError) error = NULL;

  link->step_is_due = !curator_sasl_begin_step (link->sasl);
  if (link->step_is_due)
    return;
  link->job = curator_job_start (curator_sasl_step, curator_sasl_ref (link->sasl),
                                 curator_sasl_unref, link->context->wake_fd, &error);
  if (link->job == NULL) {
    curator_sasl_end_step (link->sasl);
    fail_over (link, error);
  }
}

static void
start_sasl (CuratorLink *link)
{
  CuratorLinkContext *context = link->context;

  link->state = CURATOR_LINK_SASL;
  set_deadline (link, G_MAXINT64);
  link->sasl = curator_sasl_new (context->sasl, curator_endpoints_host (context->endpoints));
  step_sasl (link);
}

/* The server has answered the ConnectRequest. */
static void
on_response (CuratorLink *link, gint64 session_id, gint32 timeout_ms)
{
  if (session_id != 0 && timeout_ms > 0) {
    if (link->context->sasl != NULL) {
      start_sasl (link);
      return;
    }
    open_link (link);
  } else if (session_id == 0 && timeout_ms <= 0 && link->session_id != 0) {
    pass_response (link, CURATOR_LINK_SERVER_LOST);
  } else {
    fail_over_with (link, CURATOR_CONNECT_ERROR_CONNECT, "the server has opened no session");
  }
}

static void
on_asked (CuratorLink *link)
{
  CuratorConnectFrame response;

  if (!flush_out (link) || !fill (link))
    return;
  const guint8 *bytes = curator_buffer_data (&link->to_client);
  const gssize size = curator_frame_size (bytes, curator_buffer_length (&link->to_client),
                                          CURATOR_CONNECT_FRAME_MAX);
  if (size == 0)
    return;
  if (size < 0 || !curator_frame_read_response (bytes, (gsize) size, &response)) {
    fail_over_with (link, CURATOR_CONNECT_ERROR_CONNECT, "the answer is not one of ZooKeeper");
    return;
  }
  memcpy (link->response, bytes, (gsize) size);
  link->response_size = (gsize) size;
  if (consume_answer (link, (gsize) size))
    on_response (link, response.session_id, response.timeout_ms);
  explicit_bzero (&response, sizeof response);
}

static void
on_sasl_step_done (CuratorLink *link)
{
  const CuratorSaslOutcome *outcome = curator_sasl_outcome (link->sasl);
  gsize length;

  g_clear_pointer (&link->job, curator_job_drop);
  if (outcome->error != NULL) {
    fail_over (link, outcome->error);
  } else if (outcome->response == NULL) {
    open_link (link);
  } else {
    const guint8 *token = g_bytes_get_data (outcome->response, &length);
    send_out (link, curator_frame_write_sasl (++link->sasl_xid, token, length));
  }
}

static void
on_sasl_refused (CuratorLink *link, gint32 code)
{
  g_autoptr (GError) error =
      g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_SASL,
                   "the server refused the SASL authentication by %s (ZooKeeper's error %d)",
                   link->context->sasl->mechanism, code);
  curator_link_report (link, error, TRUE);
  curator_link_drop_server (link);
  curator_link_enter (link, CURATOR_LINK_PAUSED); /* until the client is closed */
}

static void
on_sasl (CuratorLink *link)
{
  CuratorSaslReply reply;

  if (link->job != NULL) {
    if (curator_job_is_done (link->job))
      on_sasl_step_done (link);
    return;
  }
  if (link->step_is_due) {
    step_sasl (link);
    return;
  }
  if (!flush_out (link) || !fill (link))
    return;
  const guint8 *bytes = curator_buffer_data (&link->to_client);
  const gssize size =
      curator_frame_size (bytes, curator_buffer_length (&link->to_client), CURATOR_SASL_FRAME_MAX);
  if (size == 0)
    return;
  if (size < 0 || !curator_frame_read_sasl_reply (bytes, (gsize) size, &reply)) {
    fail_over_with (link, CURATOR_CONNECT_ERROR_SASL, "the answer is not one of ZooKeeper");
  } else if (reply.error != 0) {
    on_sasl_refused (link, reply.error);
  } else {
    const gboolean is_complete = curator_sasl_outcome (link->sasl)->is_complete;
    curator_sasl_set_challenge (link->sasl, reply.token, reply.length);
    if (consume_answer (link, (gsize) size))
      (is_complete ? open_link : step_sasl) (link);
  }
}

static const struct
{
  CuratorConnectError code;
  const char *why;
} late[] = {
  [CURATOR_LINK_CONNECTING] = { CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT,
                                "the server has not completed the handshake in time" },
  [CURATOR_LINK_ASKED] = { CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT,
                           "the server has not opened the session in time" },
  [CURATOR_LINK_SASL] = { CURATOR_CONNECT_ERROR_SASL,
                          "the SASL authentication was not complete in time" },
};

static void
on_late (CuratorLink *link)
{
  if (link->state == CURATOR_LINK_PAUSED) {
    curator_endpoints_start_round (link->context->endpoints);
    curator_link_try_server (link);
    return;
  }
  const gboolean is_tcp =
      link->state == CURATOR_LINK_CONNECTING && !curator_stream_is_connected (link->stream);
  link->context->spent.n_unconnected += is_tcp ? 1 : 0;
  link->context->spent.n_unanswered += is_tcp ? 0 : 1;
  fail_over_with (link, is_tcp ? CURATOR_CONNECT_ERROR_CONNECT : late[link->state].code,
                  is_tcp ? "the server is unreachable" : late[link->state].why);
}

void
curator_link_step_server (CuratorLink *link)
{
  static void (*const steps[]) (CuratorLink *) = {
    [CURATOR_LINK_CONNECTING] = on_connecting,
    [CURATOR_LINK_ASKED] = on_asked,
    [CURATOR_LINK_SASL] = on_sasl,
  };

  if (g_get_monotonic_time () >= link->deadline_us)
    on_late (link);
  else if (link->state != CURATOR_LINK_PAUSED)
    steps[link->state](link);
}
