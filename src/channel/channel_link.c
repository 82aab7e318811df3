/* One connection through the channel: its beginning, its end, and what it waits for.
 *
 * Mirrors ClientCnxnSocket. Threads: the channel's; no lock.
 */
#include "channel/channel_link.h"

#include "channel/link_pump.h"
#include "channel/link_server.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

CuratorLink *
curator_link_new (CuratorLinkContext *context, int client_fd, const guint8 *request, gsize size)
{
  CuratorLink *link = g_new0 (CuratorLink, 1);
  CuratorConnectFrame frame;

  link->context = context;
  link->client_fd = client_fd;
  memcpy (link->request, request, size);
  link->request_size = size;
  curator_frame_read_request (request, size, &frame);
  link->timeout_ms = frame.timeout_ms;
  link->session_id = frame.session_id;
  explicit_bzero (&frame, sizeof frame);
  if (context->n_rounds > 0) {
    /* The state is PAUSED: servers that open the session, and no more, are not tried without
       * end. */
    link->deadline_us = g_get_monotonic_time ()
                        + curator_endpoints_pause_us (context->n_rounds - 1, link->timeout_ms);
    return link;
  }
  curator_endpoints_start_round (context->endpoints);
  curator_link_try_server (link);
  return link;
}

void
curator_link_free (CuratorLink *link)
{
  if (link == NULL)
    return;
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

  if (link->state < CURATOR_LINK_SERVER_LOST && curator_buffer_room (&link->to_server) > 0)
    events |= POLLIN;
  if (link->state >= CURATOR_LINK_OPEN && curator_buffer_length (&link->to_client) > 0)
    events |= POLLOUT;
  return events;
}

void
curator_link_prepare (CuratorLink *link, struct pollfd fds[CURATOR_LINK_FDS], gint64 *until_us)
{
  const gboolean has_client = link->state < CURATOR_LINK_CLIENT_GONE;
  const gboolean has_server = link->stream != NULL && link->state != CURATOR_LINK_SERVER_LOST;

  fds[0] = (struct pollfd){ .fd = has_client ? link->client_fd : -1,
                            .events = (short) (has_client ? client_events (link) : 0) };
  fds[1] = (struct pollfd){ .fd = has_server ? curator_stream_fd (link->stream) : -1,
                            .events = (short) (has_server ? server_events (link) : 0) };
  for (int i = 0; i < CURATOR_LINK_FDS; i++)
    if (fds[i].events == 0)
      fds[i].fd = -1; /* poll would report a hang-up again and again */
  *until_us = link->deadline_us;
  if (link->state <= CURATOR_LINK_OPEN && (fds[1].events & POLLIN) != 0
      && curator_stream_has_pending (link->stream))
    *until_us = 0;
}

gboolean
curator_link_dispatch (CuratorLink *link, const struct pollfd fds[CURATOR_LINK_FDS])
{
  if (link->state < CURATOR_LINK_OPEN) {
    if (!curator_link_pump_early (link, fds[0].revents))
      return FALSE;
    curator_link_step_server (link);
    return TRUE;
  }
  return curator_link_pump (link, fds[0].revents, fds[1].revents);
}
