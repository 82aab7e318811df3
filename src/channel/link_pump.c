/* Passes bytes on; see link_pump.h. Threads: the channel's; no lock.
 *
 * NOTES: the end of one side ends the other, but what it has sent before is passed on: the last
 * frame of libzookeeper closes the session. The server ends the connection when it has read that.
 */
#include "channel/link_pump.h"

#include "base/lease_time.h"
#include "channel/channel_error.h"
#include "channel/link_report.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* How long the last requests of libzookeeper may take to reach the server. */
#define FINISH_US G_USEC_PER_SEC

/* libzookeeper sends the length of a frame, then the frame: the length alone does not wake this
 * thread. */
static void
set_least_bytes (CuratorLink *link)
{
  const int least = (int) curator_ping_scan_least (&link->pings.to_server);

  if (least != link->least_bytes
      && setsockopt (link->client_fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least) == 0)
    link->least_bytes = least;
}

/* The number of bytes; 0: not now; -1: the end. */
static gssize
read_client (CuratorLink *link)
{
  CuratorBuffer *buffer = &link->to_server;
  const gsize room = curator_buffer_room (buffer);
  const gssize got = room > 0 ? recv (link->client_fd, buffer->bytes + buffer->end, room, 0) : 1;

  if (room == 0)
    return 0;
  if (got <= 0)
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
  curator_pings_note_requests (&link->pings, buffer->bytes + buffer->end, (gsize) got,
                               curator_lease_time_us ());
  buffer->end += (gsize) got;
  set_least_bytes (link);
  return got;
}

/* Everything that libzookeeper gets passes here, the ConnectResponse included. */
static void
note_answers (CuratorLink *link, const guint8 *bytes, gsize n)
{
  const gint64 sent_us = curator_pings_note_answers (&link->pings, bytes, n);
  if (sent_us != 0)
    link->context->pinged (sent_us, curator_lease_time_us (), link->context->data);
}

static gboolean
write_client (CuratorLink *link)
{
  CuratorBuffer *buffer = &link->to_client;
  const gsize n = curator_buffer_length (buffer);
  const gssize sent =
      n > 0 ? send (link->client_fd, curator_buffer_data (buffer), n, MSG_NOSIGNAL) : 0;

  if (sent < 0)
    return errno == EAGAIN || errno == EINTR;
  note_answers (link, curator_buffer_data (buffer), (gsize) sent);
  curator_buffer_consume (buffer, (gsize) sent);
  return TRUE;
}

/* The server does more than to open sessions. */
static void
note_service (CuratorLink *link)
{
  if (link->has_asked) {
    link->is_answered = TRUE;
    link->context->n_rounds = 0;
    link->context->spent = (CuratorPatience){ 0 };
  }
}

/* FALSE: a frame of the server cannot be. What came before it is passed on. */
static gboolean
keep_sound (CuratorLink *link, GError **error)
{
  CuratorBuffer *buffer = &link->to_client;
  const gsize n = curator_buffer_length (buffer);
  const gsize sound =
      curator_ping_scan_sound (&link->pings.to_client, curator_buffer_data (buffer), n);

  buffer->end -= n - sound;
  if (sound < n)
    g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT,
                         "the server has sent a frame that is not one of ZooKeeper");
  return sound == n;
}

static gboolean
read_server (CuratorLink *link, GError **error)
{
  CuratorBuffer *buffer = &link->to_client;
  const gsize room = curator_buffer_room (buffer);
  const gssize got =
      room > 0 ? curator_stream_read (link->stream, buffer->bytes + buffer->end, room, error) : 0;
  if (got > 0) {
    buffer->end += (gsize) got;
    if (!keep_sound (link, error))
      return FALSE;
    note_service (link);
  }
  return got >= 0;
}

static gboolean
write_server (CuratorLink *link, GError **error)
{
  CuratorBuffer *buffer = &link->to_server;
  const gsize n = curator_buffer_length (buffer);
  const gssize sent =
      n > 0 ? curator_stream_write (link->stream, curator_buffer_data (buffer), n, error) : 0;

  if (sent > 0) {
    curator_buffer_consume (buffer, (gsize) sent);
    link->has_asked = TRUE;
  }
  return sent >= 0;
}

gboolean
curator_link_pump_early (CuratorLink *link, short client_events)
{
  return client_events == 0 || read_client (link) >= 0;
}

/* Only a socket that poll has named is read: each frame would cost a read in vain otherwise. */
static void
pump_open (CuratorLink *link, short client_events, short server_events)
{
  const gboolean has_client = client_events == 0 || read_client (link) >= 0;
  g_autoptr (GError) error = NULL;
  const gboolean has_answers = server_events != 0 || curator_stream_has_pending (link->stream);
  const gboolean has_server =
      write_server (link, &error) && (!has_answers || read_server (link, &error));

  if (!has_server) {
    if (!link->is_answered)
      curator_link_report_loss (link, error);
    curator_link_enter (link, CURATOR_LINK_SERVER_LOST);
  } else if (!has_client || !write_client (link)) {
    curator_link_enter (link, CURATOR_LINK_CLIENT_GONE);
    link->deadline_us = g_get_monotonic_time () + FINISH_US;
  }
}

static gboolean
pump_client_gone (CuratorLink *link)
{
  if (!write_server (link, NULL))
    return FALSE;
  if (curator_buffer_length (&link->to_server) == 0) {
    link->state = CURATOR_LINK_FINISHED;
    curator_stream_finish (link->stream);
  }
  return TRUE;
}

gboolean
curator_link_pump (CuratorLink *link, short client_events, short server_events)
{
  if (g_get_monotonic_time () >= link->deadline_us)
    return FALSE;
  if (link->state == CURATOR_LINK_OPEN)
    pump_open (link, client_events, server_events);
  if (link->state == CURATOR_LINK_CLIENT_GONE && !pump_client_gone (link))
    return FALSE;
  if (link->state == CURATOR_LINK_FINISHED) {
    /* Reads to the end, so that the server gets no reset before it has read everything. */
    link->to_client.start = link->to_client.end = 0;
    return read_server (link, NULL);
  }
  return link->state != CURATOR_LINK_SERVER_LOST
         || (write_client (link) && curator_buffer_length (&link->to_client) > 0);
}
