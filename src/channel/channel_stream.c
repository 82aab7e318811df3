/* A connection to a server; see channel_stream.h. Threads: one; no lock.
 *
 * NOTES: shutdown() before close(): while a forked child has the descriptor, close() alone would
 * not end the connection.
 */
#include "channel/channel_stream.h"

#include "channel/channel_error.h"
#include "channel/channel_tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct _CuratorStream
{
  int fd;
  gboolean is_connected;
  CuratorTlsSession *tls; /* NULL: clear text */
};

CuratorStream *
curator_stream_open (const CuratorAddress *address, const char *host,
                     CuratorTlsCredentials *credentials, gboolean verify, GError **error)
{
  g_autoptr (CuratorStream) stream = g_new0 (CuratorStream, 1);
  const int one = 1;

  stream->fd =
      socket (address->name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (stream->fd >= 0)
    setsockopt (stream->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (stream->fd < 0
      || (connect (stream->fd, (const struct sockaddr *) &address->name, address->length) != 0
          && errno != EINPROGRESS)) {
    curator_channel_set_errno (error, "cannot connect", errno);
    return NULL;
  }
  if (credentials != NULL) {
    stream->tls = curator_tls_session_new (stream->fd, host, credentials, verify, error);
    if (stream->tls == NULL)
      return NULL;
  }
  return g_steal_pointer (&stream);
}

void
curator_stream_close (CuratorStream *stream)
{
  g_clear_pointer (&stream->tls, curator_tls_session_free);
  if (stream->fd >= 0) {
    shutdown (stream->fd, SHUT_RDWR);
    close (stream->fd);
  }
  g_free (stream);
}

int
curator_stream_fd (CuratorStream *stream)
{
  return stream->fd;
}

gboolean
curator_stream_is_connected (CuratorStream *stream)
{
  return stream->is_connected;
}

short
curator_stream_events (CuratorStream *stream)
{
  if (!stream->is_connected)
    return POLLOUT;
  return stream->tls != NULL && curator_tls_session_wants_write (stream->tls) ? POLLOUT : POLLIN;
}

gboolean
curator_stream_has_pending (CuratorStream *stream)
{
  return stream->tls != NULL && curator_tls_session_has_pending (stream->tls);
}

int
curator_stream_establish (CuratorStream *stream, GError **error)
{
  struct pollfd writable = { .fd = stream->fd, .events = POLLOUT };
  int failed = 0;
  socklen_t length = sizeof failed;

  if (!stream->is_connected) {
    if (poll (&writable, 1, 0) == 0)
      return 0;
    getsockopt (stream->fd, SOL_SOCKET, SO_ERROR, &failed, &length);
    if (failed != 0) {
      curator_channel_set_errno (error, "cannot connect", failed);
      return -1;
    }
    stream->is_connected = TRUE;
  }
  return stream->tls != NULL ? curator_tls_session_shake (stream->tls, error) : 1;
}

static gssize
result_of (gssize n, const char *what, GError **error)
{
  if (n >= 0)
    return n;
  if (errno == EAGAIN || errno == EINTR)
    return 0;
  curator_channel_set_errno (error, what, errno);
  return -1;
}

gssize
curator_stream_read (CuratorStream *stream, guint8 *bytes, gsize n, GError **error)
{
  if (stream->tls != NULL)
    return curator_tls_session_read (stream->tls, bytes, n, error);
  const gssize got = recv (stream->fd, bytes, n, 0);
  if (got == 0) {
    g_set_error_literal (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT,
                         "the server closed the connection");
    return -1;
  }
  return result_of (got, "cannot read", error);
}

gssize
curator_stream_write (CuratorStream *stream, const guint8 *bytes, gsize n, GError **error)
{
  if (stream->tls != NULL)
    return curator_tls_session_write (stream->tls, bytes, n, error);
  return result_of (send (stream->fd, bytes, n, MSG_NOSIGNAL), "cannot write", error);
}

void
curator_stream_finish (CuratorStream *stream)
{
  if (stream->is_connected && stream->tls != NULL)
    curator_tls_session_finish (stream->tls);
  shutdown (stream->fd, SHUT_WR);
}
