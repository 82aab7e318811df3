#include "support/link_lab.h"

#include "base/connect_string.h"
#include "base/server_list.h"
#include "support/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define JOB_MS 10000

LinkLab lab;

/* Of the newest server, or NULL: a step that is left proves nothing of another one. */
static CuratorSasl *newest;

/* --- the stream --- */

struct _CuratorStream
{
  GByteArray *unfinished; /* as GnuTLS: a write that has to be repeated with the same bytes */
};

CuratorStream *
curator_stream_open (const CuratorAddress *address, const char *host,
                     CuratorTlsCredentials *credentials, gboolean verify, GError **error)
{
  CuratorStream *stream = g_new0 (CuratorStream, 1);
  stream->unfinished = g_byte_array_new ();
  lab.n_connects++;
  lab.is_proven = FALSE;
  newest = NULL;
  return stream;
}

void
curator_stream_close (CuratorStream *stream)
{
  if (stream != NULL) {
    g_byte_array_unref (stream->unfinished);
    g_free (stream);
  }
}

int
curator_stream_fd (CuratorStream *stream)
{
  return -1;
}

gboolean
curator_stream_is_connected (CuratorStream *stream)
{
  return TRUE;
}

short
curator_stream_events (CuratorStream *stream)
{
  return POLLIN;
}

gboolean
curator_stream_has_pending (CuratorStream *stream)
{
  return FALSE;
}

int
curator_stream_establish (CuratorStream *stream, GError **error)
{
  return 1;
}

gssize
curator_stream_read (CuratorStream *stream, guint8 *bytes, gsize n, GError **error)
{
  const CuratorBuffer *buffer = &lab.link->to_client;
  const gsize left = lab.script->len - lab.at;
  const gsize got = MIN (MIN (left, lab.chunk != 0 ? lab.chunk : left), n);

  /* The whole room that is offered lies in the buffer. */
  g_assert_true (bytes >= buffer->bytes && n <= CURATOR_BUFFER_SIZE
                 && bytes + n <= buffer->bytes + CURATOR_BUFFER_SIZE);
  if (left == 0 && lab.ends) {
    g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT, "the end");
    return -1;
  }
  if (got > 0)
    memcpy (bytes, lab.script->data + lab.at, got);
  lab.at += got;
  return (gssize) got;
}

gssize
curator_stream_write (CuratorStream *stream, const guint8 *bytes, gsize n, GError **error)
{
  GByteArray *unfinished = stream->unfinished;
  const gsize sent = MIN (n, lab.window);

  g_assert_cmpuint (n, >=, unfinished->len);
  g_assert_true (unfinished->len == 0 || memcmp (bytes, unfinished->data, unfinished->len) == 0);
  g_byte_array_append (lab.received, bytes, (guint) sent);
  lab.window -= sent;
  g_byte_array_set_size (unfinished, 0);
  g_byte_array_append (unfinished, bytes + sent, (guint) (n - sent));
  return (gssize) sent;
}

void
curator_stream_finish (CuratorStream *stream)
{
}

gboolean
curator_tls_credentials_refresh (CuratorTlsCredentials **credentials, const CuratorTls *tls,
                                 GError **error)
{
  g_assert_not_reached ();
}

/* --- the mechanism --- */

struct _CuratorSasl
{
  CuratorRefs refs;
  CuratorSaslSettings *settings;
  guint n_steps;
  GBytes *challenge;
  CuratorSaslOutcome outcome;
};

static char *
challenge_of (guint step)
{
  return g_strdup_printf ("challenge %u of the server", step);
}

CuratorSasl *
curator_sasl_new (CuratorSaslSettings *settings, const char *host)
{
  CuratorSasl *sasl = g_new0 (CuratorSasl, 1);
  curator_refs_init (&sasl->refs);
  sasl->settings = settings;
  newest = sasl;
  return sasl;
}

CuratorSasl *
curator_sasl_ref (CuratorSasl *sasl)
{
  curator_refs_inc (&sasl->refs);
  return sasl;
}

void
curator_sasl_unref (gpointer data)
{
  CuratorSasl *sasl = data;
  if (curator_refs_dec (&sasl->refs)) {
    g_clear_pointer (&sasl->challenge, g_bytes_unref);
    g_clear_pointer (&sasl->outcome.response, g_bytes_unref);
    g_clear_error (&sasl->outcome.error);
    g_free (sasl);
  }
}

void
curator_sasl_set_challenge (CuratorSasl *sasl, const guint8 *bytes, gsize n)
{
  g_clear_pointer (&sasl->challenge, g_bytes_unref);
  g_clear_pointer (&sasl->outcome.response, g_bytes_unref);
  sasl->challenge = g_bytes_new (bytes, n);
}

gboolean
curator_sasl_begin_step (CuratorSasl *sasl)
{
  return !atomic_exchange (&sasl->settings->is_stepping, TRUE);
}

void
curator_sasl_end_step (CuratorSasl *sasl)
{
  atomic_store (&sasl->settings->is_stepping, FALSE);
}

static gboolean
is_true_challenge (CuratorSasl *sasl)
{
  g_autofree char *wanted = challenge_of (sasl->n_steps);
  gsize n;
  const char *bytes = g_bytes_get_data (sasl->challenge, &n);
  return n == strlen (wanted) && memcmp (bytes, wanted, n) == 0;
}

void
curator_sasl_step (gpointer data)
{
  CuratorSasl *sasl = data;
  CuratorSaslOutcome *outcome = &sasl->outcome;

  g_assert_false (outcome->is_complete); /* no step follows */
  curator_sasl_end_step (sasl);
  if (sasl->n_steps > 0 && !is_true_challenge (sasl)) {
    outcome->error = g_error_new (CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_SASL, "an impostor");
    return;
  }
  outcome->is_complete = sasl->n_steps == LAB_STEPS;
  lab.is_proven |= outcome->is_complete && sasl == newest;
  if (!outcome->is_complete || lab.login == LAB_CLIENT_SPEAKS_LAST) {
    g_autofree char *text = g_strdup_printf ("response %u of the client", sasl->n_steps);
    outcome->response = g_bytes_new (text, strlen (text));
  }
  sasl->n_steps++;
}

const CuratorSaslOutcome *
curator_sasl_outcome (CuratorSasl *sasl)
{
  return &sasl->outcome;
}

/* --- the laboratory --- */

static void
on_failed (const char *server, const GError *error, gboolean is_final, gpointer data)
{
  lab.n_failures++;
  lab.is_refused |= is_final;
  g_string_append_printf (lab.log, "%s\n", error->message);
}

static void
on_warned (const char *text, gpointer data)
{
}

static void
on_opened (const char *server, gpointer data)
{
}

static void
on_pinged (gint64 sent_us, gint64 answered_us, gpointer data)
{
}

void
lab_open (LabLogin login)
{
  static CuratorSaslSettings settings = { .mechanism = "LAB" };
  CuratorHostPort host = { .host = (char *) "127.0.0.1", .port = 1 };
  g_autoptr (GPtrArray) hosts = g_ptr_array_new ();

  g_ptr_array_add (hosts, &host);
  g_autoptr (GPtrArray) servers = curator_servers_new (hosts);
  lab = (LinkLab){ .client_fd = -1, .login = login };
  lab.context.setup.sasl = login != LAB_NO_LOGIN ? &settings : NULL;
  lab.context.endpoints = curator_endpoints_new (servers);
  lab.context.wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  lab.context.setup.failed = on_failed;
  lab.context.setup.warned = on_warned;
  lab.context.setup.opened = on_opened;
  lab.context.setup.pinged = on_pinged;
  lab.script = g_byte_array_new ();
  lab.received = g_byte_array_new ();
  lab.delivered = g_byte_array_new ();
  lab.log = g_string_new (NULL);
}

static void
disconnect (void)
{
  g_clear_pointer (&lab.link, curator_link_free);
  if (lab.client_fd >= 0) {
    close (lab.client_fd);
    lab.client_fd = -1;
  }
}

void
lab_close (void)
{
  disconnect ();
  curator_endpoints_free (lab.context.endpoints);
  close (lab.context.wake_fd);
  g_byte_array_unref (lab.script);
  g_byte_array_unref (lab.received);
  g_byte_array_unref (lab.delivered);
  g_string_free (lab.log, TRUE);
}

static void
put_password (GByteArray *frame)
{
  static const guint8 password[CURATOR_PASSWORD_LENGTH] = { 's', 'e', 'c', 'r', 'e', 't' };
  net_put_buffer (frame, password, sizeof password);
}

void
lab_connect (gint64 session_id, gint32 timeout_ms)
{
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  int fds[2];

  disconnect ();
  net_put_int32 (frame, 44);
  net_put_int32 (frame, 0);
  net_put_int64 (frame, 0);
  net_put_int32 (frame, timeout_ms);
  net_put_int64 (frame, session_id);
  put_password (frame);
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), ==, 0);
  lab.client_fd = fds[0];
  g_byte_array_set_size (lab.script, 0);
  g_byte_array_set_size (lab.received, 0);
  g_byte_array_set_size (lab.delivered, 0);
  lab.at = 0;
  lab.chunk = 0;
  lab.window = G_MAXSSIZE;
  lab.ends = FALSE;
  lab.is_proven = FALSE;
  newest = NULL;
  lab.link = curator_link_new (&lab.context, fds[1], frame->data, frame->len);
}

/* Nothing waits without end, but for libzookeeper or for the server that it is connected to. */
static gboolean
may_wait (const CuratorLink *link)
{
  return link->deadline_us != CURATOR_NO_TIME || link->state == CURATOR_LINK_OPEN
         || link->state == CURATOR_LINK_SERVER_LOST
         || (link->state == CURATOR_LINK_PAUSED && lab.is_refused);
}

/* What libzookeeper sees of an impostor: nothing, but that a session has expired for which it
 * asked. */
static void
check (void)
{
  const CuratorLink *link = lab.link;
  CuratorConnectFrame asked = { 0 };
  CuratorConnectFrame told = { 0 };

  g_assert_cmpuint (link->to_client.start, <=, link->to_client.end);
  g_assert_cmpuint (link->to_client.end, <=, CURATOR_BUFFER_SIZE);
  g_assert_cmpuint (link->to_server.start, <=, link->to_server.end);
  g_assert_cmpuint (link->to_server.end, <=, CURATOR_BUFFER_SIZE);
  g_assert_true (may_wait (link));
  g_assert_true (link->state >= CURATOR_LINK_OPEN || lab.delivered->len == 0);
  if (lab.login == LAB_NO_LOGIN || link->state < CURATOR_LINK_OPEN || lab.is_proven)
    return;
  curator_frame_read_request (link->request, link->request_size, &asked);
  g_assert_true (curator_frame_read_response (link->response, link->response_size, &told));
  g_assert_true (asked.session_id != 0 && told.session_id == 0 && told.timeout_ms <= 0);
  g_assert_cmpuint (curator_buffer_length (&link->to_client) + lab.delivered->len, <=,
                    link->response_size);
}

/* libzookeeper gets no length that cannot be: it would allocate it. */
static void
check_frames (void)
{
  gsize at = 0;

  while (at + 4 <= lab.delivered->len) {
    const gint32 length = net_get_int32 (lab.delivered->data + at);
    g_assert_cmpint (length, >=, 16);
    g_assert_cmpint (length, <=, CURATOR_FRAME_MAX);
    at += 4 + (gsize) length;
  }
}

/* FALSE: nothing has moved. */
static gboolean
drain (void)
{
  guint8 bytes[4096];
  gssize got;
  gboolean moved = FALSE;

  while ((got = recv (lab.client_fd, bytes, sizeof bytes, 0)) > 0) {
    g_byte_array_append (lab.delivered, bytes, (guint) got);
    moved = TRUE;
  }
  check_frames ();
  return moved;
}

static void
wait_for_job (void)
{
  struct pollfd woken = { .fd = lab.context.wake_fd, .events = POLLIN };
  eventfd_t ignored;

  if (lab.link->job != NULL && !curator_job_is_done (lab.link->job) && !lab.holds_jobs
      && poll (&woken, 1, JOB_MS) == 1)
    eventfd_read (lab.context.wake_fd, &ignored);
}

/* One turn of the channel's thread. */
static void
turn (void)
{
  struct pollfd fds[CURATOR_LINK_FDS];

  curator_link_prepare (lab.link, fds);
  fds[1].fd = -1;
  poll (fds, 1, 0);
  fds[1].revents = fds[1].events; /* whatever the server does is there at once */
  if (curator_link_dispatch (lab.link, fds)) {
    check ();
    return;
  }
  drain ();
  g_clear_pointer (&lab.link, curator_link_free);
}

void
lab_run (void)
{
  guint n_idle = 0;

  while (lab.link != NULL && n_idle < 3) {
    const gsize at = lab.at;
    const gsize window = lab.window;
    const CuratorLinkState state = lab.link->state;

    wait_for_job ();
    turn ();
    const gboolean moved =
        drain () || lab.at != at || lab.window != window
        || (lab.link != NULL
            && (lab.link->state != state || (lab.link->job != NULL && !lab.holds_jobs)));
    n_idle = moved ? 0 : n_idle + 1;
  }
}

void
lab_let_deadline_pass (void)
{
  if (lab.link != NULL && lab.link->deadline_us != CURATOR_NO_TIME) {
    lab.link->deadline_us = 0;
    turn ();
  }
}

void
lab_send (const void *bytes, gsize n)
{
  g_byte_array_append (lab.script, bytes, (guint) n);
}

void
lab_send_response (gint64 session_id, gint32 timeout_ms)
{
  net_put_int32 (lab.script, 37);
  net_put_int32 (lab.script, 0);
  net_put_int32 (lab.script, timeout_ms);
  net_put_int64 (lab.script, session_id);
  put_password (lab.script);
  lab_send ("", 1); /* not read-only */
}

void
lab_send_sasl (gint32 code, const void *token, gint32 length)
{
  net_put_int32 (lab.script, 20 + MAX (length, 0));
  net_put_int32 (lab.script, 1);
  net_put_int64 (lab.script, 0);
  net_put_int32 (lab.script, code);
  net_put_buffer (lab.script, token, length);
}

void
lab_send_challenge (guint step)
{
  g_autofree char *text = challenge_of (step);
  lab_send_sasl (0, text, step <= LAB_STEPS ? (gint32) strlen (text) : 0);
}

void
lab_client_sends (gsize n)
{
  g_autofree guint8 *bytes = g_malloc0 (n + 1);

  if (lab.client_fd >= 0)
    (void) !send (lab.client_fd, bytes, n, MSG_NOSIGNAL);
}
