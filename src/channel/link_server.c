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

/* At most the server's share of the session timeout, or what patience_us says if that is less.
 * NULL: it says nothing. */
static void
set_deadline (CuratorLink *link,
              gint64 (*patience_us) (const CuratorPatience *spent, guint n_addresses))
{
  CuratorEndpoints *endpoints = link->context->endpoints;
  gint64 most_us = curator_endpoints_patience_us (endpoints, link->asked.timeout_ms);

  if (patience_us != NULL)
    most_us = MIN (most_us,
                   patience_us (&link->context->spent, curator_endpoints_n_addresses (endpoints)));
  link->deadline_us = g_get_monotonic_time () + most_us;
}

static char *
dup_name (const CuratorServer *server)
{
  g_autofree char *port = g_strdup_printf ("%u", server->port);
  return curator_address_join (server->host, port);
}

/* Says why the server whose turn it is will not do. is_final: no other one is tried. */
static void
report (CuratorLink *link, const GError *error, gboolean is_final)
{
  const CuratorChannelSetup *setup = &link->context->setup;
  const CuratorServer *server = curator_endpoints_server (link->context->endpoints);
  const CuratorAddress *address = curator_endpoints_address (link->context->endpoints);
  g_autofree char *number = address != NULL ? curator_address_dup_host (address) : NULL;
  const gboolean both = number != NULL && !server->is_numeric;
  g_autofree char *name = dup_name (server);
  g_autoptr (GError) whole =
      g_error_new (error->domain, error->code, "%s%s%s%s: %s", name, both ? " (" : "",
                   both ? number : "", both ? ")" : "", error->message);
  setup->failed (name, whole, is_final, setup->data);
}

void
curator_link_report_loss (CuratorLink *link, const GError *error)
{
  g_autoptr (GError) whole = g_error_copy (error);
  if (!link->is_answered)
    g_prefix_error (&whole, "it opened the session and answered nothing: ");
  report (link, whole, FALSE);
}

void
curator_link_leave_silent (CuratorLink *link, gint64 silent_us)
{
  const CuratorChannelSetup *setup = &link->context->setup;

  if (link->state != CURATOR_LINK_OPEN
      || !curator_patience_is_over (curator_stream_fd (link->stream), silent_us))
    return;
  g_autofree char *name = dup_name (curator_endpoints_server (link->context->endpoints));
  g_autofree char *text = g_strdup_printf ("%s has sent nothing for %" G_GINT64_FORMAT
                                           " ms: given up for the next server",
                                           name, silent_us / 1000);
  setup->warned (text, setup->data);
  curator_link_enter (link, CURATOR_LINK_SERVER_LOST);
}

/* The functions that call each other here do so once for each address at most: after the last one
 * comes a pause. NOLINTBEGIN(misc-no-recursion) */

/* This server will not do: on to the next one. */
static void
fail_over (CuratorLink *link, const GError *error)
{
  CuratorLinkContext *context = link->context;

  report (link, error, FALSE);
  curator_link_drop_server (link);
  if (!curator_endpoints_advance (context->endpoints)) {
    curator_link_try_server (link);
    return;
  }
  link->state = CURATOR_LINK_PAUSED;
  link->deadline_us = g_get_monotonic_time ()
                      + curator_endpoints_pause_us (context->n_rounds++, link->asked.timeout_ms);
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

  if (context->setup.tls == NULL
      || curator_tls_credentials_refresh (&context->credentials, context->setup.tls, &failure))
    return TRUE;
  if (context->credentials != NULL) {
    context->setup.warned (failure->message, context->setup.data);
    return TRUE;
  }
  g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_TLS, failure->message);
  return FALSE;
}

void
curator_link_try_server (CuratorLink *link)
{
  CuratorLinkContext *context = link->context;
  const CuratorTls *tls = context->setup.tls;
  const CuratorAddress *address = curator_endpoints_address (context->endpoints);
  const char *host = curator_endpoints_server (context->endpoints)->host;
  g_autoptr (GError) error = NULL;

  link->state = CURATOR_LINK_CONNECTING;
  set_deadline (link, curator_patience_connect_us);
  if (tls != NULL && !tls->verify)
    context->setup.warned ("TLS without verification: the server may be anyone",
                           context->setup.data);
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
    set_deadline (link, curator_patience_answer_us);
  if (rc < 0) {
    fail_over (link, error);
  } else if (rc > 0) {
    link->state = CURATOR_LINK_ASKED;
    send_out (link, g_byte_array_append (g_byte_array_sized_new (CURATOR_CONNECT_FRAME_MAX),
                                         link->request, (guint) link->request_size));
  }
}

gssize
curator_link_receive (CuratorLink *link, GError **error)
{
  CuratorBuffer *buffer = &link->to_client;
  const gsize room = curator_buffer_room (buffer);
  const gssize got =
      room > 0 ? curator_stream_read (link->stream, buffer->bytes + buffer->end, room, error) : 0;

  buffer->end += (gsize) MAX (got, 0);
  return got;
}

/* The size of the answer to our own frame. 0: it is incomplete, or the server was left. -1: it
 * cannot be, or is larger than max. */
static gssize
receive_answer (CuratorLink *link, gsize max)
{
  g_autoptr (GError) error = NULL;

  if (!flush_out (link))
    return 0;
  if (curator_link_receive (link, &error) < 0) {
    fail_over (link, error);
    return 0;
  }
  return curator_frame_size (curator_buffer_data (&link->to_client),
                             curator_buffer_length (&link->to_client), max);
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

  g_assert (context->setup.sasl == NULL
            || (link->sasl != NULL && curator_sasl_outcome (link->sasl)->is_complete));
  curator_patience_bind (curator_stream_fd (link->stream), link->told.timeout_ms);
  context->session_id = link->told.session_id;
  memcpy (context->password, link->told.password, CURATOR_PASSWORD_LENGTH);
  g_clear_pointer (&link->sasl, curator_sasl_unref);
  g_autofree char *name = dup_name (curator_endpoints_server (context->endpoints));
  context->setup.opened (name, context->setup.data);
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
on_asked (CuratorLink *link)
{
  CuratorLinkContext *context = link->context;
  CuratorConnectFrame *told = &link->told;
  const gssize size = receive_answer (link, CURATOR_CONNECT_FRAME_MAX);
  const guint8 *bytes = curator_buffer_data (&link->to_client);

  if (size == 0)
    return;
  if (size < 0 || !curator_frame_read_response (bytes, (gsize) size, told)) {
    fail_over_with (link, CURATOR_CONNECT_ERROR_CONNECT, "the answer is not one of ZooKeeper");
    return;
  }
  memcpy (link->response, bytes, (gsize) size);
  link->response_size = (gsize) size;
  if (!consume_answer (link, (gsize) size))
    return;
  const gboolean is_opened = told->session_id != 0 && told->timeout_ms > 0;
  if (is_opened && context->setup.sasl != NULL) {
    link->state = CURATOR_LINK_SASL;
    set_deadline (link, NULL);
    link->sasl =
        curator_sasl_new (context->setup.sasl, curator_endpoints_server (context->endpoints)->host);
    step_sasl (link);
  } else if (is_opened) {
    open_link (link);
  } else if (told->session_id == 0 && told->timeout_ms <= 0 && link->asked.session_id != 0) {
    pass_response (link, CURATOR_LINK_SERVER_LOST);
  } else {
    fail_over_with (link, CURATOR_CONNECT_ERROR_CONNECT, "the server has opened no session");
  }
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
                   link->context->setup.sasl->mechanism, code);
  report (link, error, TRUE);
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
  const gssize size = receive_answer (link, CURATOR_SASL_FRAME_MAX);
  const guint8 *bytes = curator_buffer_data (&link->to_client);
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

/* What a state does with an event, and what is said if it lasts too long. */
static const struct
{
  void (*step) (CuratorLink *link);
  CuratorConnectError code;
  const char *why;
} stages[] = {
  [CURATOR_LINK_CONNECTING] = { on_connecting, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT,
                                "the server has not completed the handshake in time" },
  [CURATOR_LINK_ASKED] = { on_asked, CURATOR_CONNECT_ERROR_HANDSHAKE_TIMED_OUT,
                           "the server has not opened the session in time" },
  [CURATOR_LINK_SASL] = { on_sasl, CURATOR_CONNECT_ERROR_SASL,
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
  fail_over_with (link, is_tcp ? CURATOR_CONNECT_ERROR_CONNECT : stages[link->state].code,
                  is_tcp ? "the server is unreachable" : stages[link->state].why);
}

void
curator_link_step_server (CuratorLink *link)
{
  if (g_get_monotonic_time () >= link->deadline_us)
    on_late (link);
  else if (link->state != CURATOR_LINK_PAUSED)
    stages[link->state].step (link);
}
