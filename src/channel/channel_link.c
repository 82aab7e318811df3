/* One connection through the channel: its beginning, its end, and the bytes that pass.
 *
 * Mirrors ClientCnxnSocket. Threads: the channel's; no lock.
 *
 * NOTES: the end of one side ends the other, but what it has sent before is passed on: the last
 * frame of libzookeeper closes the session. The server ends the connection when it has read that.
 */
#include "channel/channel_link.h"

#include "base/lease_time.h"
#include "channel/channel_error.h"
#include "channel/link_server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long the last requests of libzookeeper may take to reach the server. */
#define FINISH_US G_USEC_PER_SEC

CuratorLink *
curator_link_new (CuratorLinkContext *context, int client_fd, const guint8 *request, gsize size)
{
  CuratorLink *link = g_new0 (CuratorLink, 1);

  link->context = context;
  link->client_fd = client_fd;
  memcpy (link->request, request, size);
  link->request_size = size;
  curator_frame_read_request (request, size, &link->asked);
  if (context->n_rounds > 0) {
    /* The state is PAUSED: servers that open the session, and no more, are not tried without
       * end. */
    link->deadline_us =
        g_get_monotonic_time ()
        + curator_endpoints_pause_us (context->n_rounds - 1, link->asked.timeout_ms);
    return link;
  }
  curator_endpoints_start_round (context->endpoints);
  curator_link_try_server (link);
  return link;
}

void
curator_link_free (CuratorLink *link)
{
  CuratorLinkContext *context = link->context;

  context->n_rounds += link->state >= CURATOR_LINK_OPEN && !link->is_answered ? 1 : 0;
  curator_link_drop_server (link);
  if (link->state != CURATOR_LINK_PAUSED) {
    /* Whoever ended it, the next connection goes to another server. */
    curator_endpoints_advance (context->endpoints);
  }
  shutdown (link->client_fd, SHUT_RDWR);
  close (link->client_fd);
  /* Session passwords, and what the program writes. */
  explicit_bzero (link, sizeof *link);
  g_free (link);
}

/* While a job runs, or a buffer is full, the server has to wait. */
static short
server_events (CuratorLink *link)
{
  if (link->stream == NULL || link->state == CURATOR_LINK_SERVER_LOST)
    return 0;
  short events = curator_stream_events (link->stream);
  if (link->state == CURATOR_LINK_CONNECTING)
    return events;
  /* A reply to a frame that is not written yet is not read. */
  if (link->job != NULL || link->step_is_due || link->out != NULL
      || curator_buffer_room (&link->to_client) == 0)
    events &= ~POLLIN;
  if (link->out != NULL || curator_buffer_length (&link->to_server) > 0)
    events |= POLLOUT;
  return events;
}

static short
client_events (CuratorLink *link)
{
  short events = 0;

  if (link->state <= CURATOR_LINK_OPEN && curator_buffer_room (&link->to_server) > 0)
    events |= POLLIN;
  if ((link->state == CURATOR_LINK_OPEN || link->state == CURATOR_LINK_SERVER_LOST)
      && curator_buffer_length (&link->to_client) > 0)
    events |= POLLOUT;
  return events;
}

gint64
curator_link_prepare (CuratorLink *link, struct pollfd fds[CURATOR_LINK_FDS])
{
  fds[0] = (struct pollfd){ .fd = link->client_fd, .events = client_events (link) };
  fds[1] = (struct pollfd){ .fd = link->stream != NULL ? curator_stream_fd (link->stream) : -1,
                            .events = server_events (link) };
  for (int i = 0; i < CURATOR_LINK_FDS; i++)
    if (fds[i].events == 0)
      fds[i].fd = -1; /* poll would report a hang-up again and again */
  const gboolean is_pending = link->state <= CURATOR_LINK_OPEN && (fds[1].events & POLLIN) != 0
                              && curator_stream_has_pending (link->stream);
  return is_pending ? 0 : link->deadline_us;
}

/* FALSE: libzookeeper is gone. */
static gboolean
read_client (CuratorLink *link)
{
  CuratorBuffer *buffer = &link->to_server;
  const gsize room = curator_buffer_room (buffer);

  if (room == 0)
    return TRUE;
  const gssize got = recv (link->client_fd, buffer->bytes + buffer->end, room, 0);
  if (got <= 0)
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  curator_pings_note_requests (&link->pings, buffer->bytes + buffer->end, (gsize) got,
                               curator_lease_time_us ());
  buffer->end += (gsize) got;
  /* libzookeeper sends the length of a frame, then the frame: the length alone does not wake this
   * thread. */
  const int least = (int) curator_ping_scan_least (&link->pings.to_server);
  if (least != link->least_bytes
      && setsockopt (link->client_fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least) == 0)
    link->least_bytes = least;
  return TRUE;
}

/* Everything that libzookeeper gets passes here, the ConnectResponse included. FALSE: it is
 * gone. */
static gboolean
write_client (CuratorLink *link)
{
  const CuratorChannelSetup *setup = &link->context->setup;
  CuratorBuffer *buffer = &link->to_client;
  const guint8 *bytes = curator_buffer_data (buffer);
  const gsize n = curator_buffer_length (buffer);
  const gssize sent = n > 0 ? send (link->client_fd, bytes, n, MSG_NOSIGNAL) : 0;

  if (sent < 0)
    return errno == EAGAIN || errno == EINTR;
  const gint64 pinged_us = curator_pings_note_answers (&link->pings, bytes, (gsize) sent);
  if (pinged_us != 0)
    setup->pinged (pinged_us, curator_lease_time_us (), setup->data);
  curator_buffer_consume (buffer, (gsize) sent);
  return TRUE;
}

/* FALSE: the server is gone; or one of its frames cannot be, which is reported. What came before is
 * passed on. */
static gboolean
read_server (CuratorLink *link, GError **error)
{
  CuratorBuffer *buffer = &link->to_client;
  const gssize got = curator_link_receive (link, error);

  if (got <= 0)
    return got == 0;
  const gsize n = curator_buffer_length (buffer);
  const gsize sound =
      curator_ping_scan_sound (&link->pings.to_client, curator_buffer_data (buffer), n);
  buffer->end -= n - sound;
  if (sound < n) {
    g_autoptr (GError) bad = g_error_new_literal (
        CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT,
        "the server has sent a frame of a length that none of ZooKeeper's has");
    curator_link_report_loss (link, bad);
    return FALSE;
  }
  if (link->has_asked) {
    /* The server does more than to open sessions. */
    link->is_answered = TRUE;
    link->context->n_rounds = 0;
    link->context->spent = (CuratorPatience){ 0 };
  }
  return TRUE;
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

/* Only a socket that poll has named is read: each frame would cost a read in vain otherwise. */
static void
pump_open (CuratorLink *link, const struct pollfd fds[CURATOR_LINK_FDS])
{
  const gboolean has_client = fds[0].revents == 0 || read_client (link);
  g_autoptr (GError) error = NULL;
  const gboolean has_answers = fds[1].revents != 0 || curator_stream_has_pending (link->stream);
  const gboolean has_server =
      write_server (link, &error) && (!has_answers || read_server (link, &error));

  if (!has_server) {
    if (error != NULL && !link->is_answered)
      curator_link_report_loss (link, error);
    curator_link_enter (link, CURATOR_LINK_SERVER_LOST);
  } else if (!has_client || !write_client (link)) {
    curator_link_enter (link, CURATOR_LINK_CLIENT_GONE);
    link->deadline_us = g_get_monotonic_time () + FINISH_US;
  }
}

static gboolean
pump (CuratorLink *link, const struct pollfd fds[CURATOR_LINK_FDS])
{
  if (g_get_monotonic_time () >= link->deadline_us)
    return FALSE;
  if (link->state == CURATOR_LINK_OPEN)
    pump_open (link, fds);
  if (link->state == CURATOR_LINK_CLIENT_GONE) {
    if (!write_server (link, NULL))
      return FALSE;
    if (curator_buffer_length (&link->to_server) == 0) {
      link->state = CURATOR_LINK_FINISHED;
      curator_stream_finish (link->stream);
    }
  }
  if (link->state == CURATOR_LINK_FINISHED) {
    /* Reads to the end, so that the server gets no reset before it has read everything. */
    link->to_client.start = link->to_client.end = 0;
    return read_server (link, NULL);
  }
  return link->state != CURATOR_LINK_SERVER_LOST
         || (write_client (link) && curator_buffer_length (&link->to_client) > 0);
}

gboolean
curator_link_dispatch (CuratorLink *link, const struct pollfd fds[CURATOR_LINK_FDS])
{
  if (link->state >= CURATOR_LINK_OPEN)
    return pump (link, fds);
  if (fds[0].revents != 0 && !read_client (link))
    return FALSE;
  curator_link_step_server (link);
  return TRUE;
}
