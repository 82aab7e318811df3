/* The loopback port of a channel; see loopback.h. Threads: the channel's; no lock.
 *
 * NOTES: a guest that sends nothing is closed after some seconds, the oldest one at once if there are
 * too many. libzookeeper sends its request as soon as it is connected.
 */
#include "channel/loopback.h"

#include "channel/channel_frames.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENCE_US (3 * G_USEC_PER_SEC)
/* After accept() has failed, for want of descriptors for instance. */
#define PAUSE_US 100000

typedef struct
{
  int fd; /* -1: free */
  gint64 since_us;
  guint8 bytes[CURATOR_CONNECT_FRAME_MAX];
  gsize n;
} Guest;

struct _CuratorLoopback
{
  int fd;
  guint16 port;
  gint64 pause_until_us;
  Guest guests[CURATOR_LOOPBACK_GUESTS];
};

CuratorLoopback *
curator_loopback_open (void)
{
  struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
  socklen_t length = sizeof name;
  const int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd < 0 || bind (fd, (struct sockaddr *) &name, sizeof name) != 0
      || listen (fd, CURATOR_LOOPBACK_GUESTS) != 0
      || getsockname (fd, (struct sockaddr *) &name, &length) != 0)
    {
      const int failed = errno;
      if (fd >= 0)
        close (fd);
      errno = failed;
      return NULL;
    }
  CuratorLoopback *loopback = g_new0 (CuratorLoopback, 1);
  loopback->fd = fd;
  loopback->port = ntohs (name.sin_port);
  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++)
    loopback->guests[i].fd = -1;
  return loopback;
}

static void
forget (Guest *guest)
{
  explicit_bzero (guest, sizeof *guest);
  guest->fd = -1;
}

static void
dismiss (Guest *guest)
{
  if (guest->fd >= 0)
    {
      shutdown (guest->fd, SHUT_RDWR);
      close (guest->fd);
      forget (guest);
    }
}

void
curator_loopback_close (CuratorLoopback *loopback)
{
  if (loopback == NULL)
    return;
  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++)
    dismiss (&loopback->guests[i]);
  /* A forked child has the descriptor, too; this ends the port there. */
  shutdown (loopback->fd, SHUT_RDWR);
  close (loopback->fd);
  g_free (loopback);
}

guint16
curator_loopback_get_port (CuratorLoopback *loopback)
{
  return loopback->port;
}

void
curator_loopback_prepare (CuratorLoopback *loopback, struct pollfd fds[CURATOR_LOOPBACK_FDS],
                          gint64 *until_us)
{
  const gboolean pausing = loopback->pause_until_us > g_get_monotonic_time ();

  *until_us = pausing ? loopback->pause_until_us : G_MAXINT64;
  fds[0] = (struct pollfd){ .fd = pausing ? -1 : loopback->fd, .events = POLLIN };
  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++)
    {
      const Guest *guest = &loopback->guests[i];
      fds[1 + i] = (struct pollfd){ .fd = guest->fd, .events = POLLIN };
      if (guest->fd >= 0)
        *until_us = MIN (*until_us, guest->since_us + SILENCE_US);
    }
}

/* A free place; if there is none, that of the oldest guest. */
static Guest *
make_room (CuratorLoopback *loopback)
{
  Guest *oldest = &loopback->guests[0];

  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++)
    {
      Guest *guest = &loopback->guests[i];
      if (guest->fd < 0)
        return guest;
      oldest = guest->since_us < oldest->since_us ? guest : oldest;
    }
  dismiss (oldest);
  return oldest;
}

static void
accept_guest (CuratorLoopback *loopback)
{
  const int one = 1;
  const int fd = accept4 (loopback->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (fd < 0)
    {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        loopback->pause_until_us = g_get_monotonic_time () + PAUSE_US;
      return;
    }
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  Guest *guest = make_room (loopback);
  guest->fd = fd;
  guest->since_us = g_get_monotonic_time ();
}

static void
listen_to (Guest *guest, CuratorLoopbackFunc on_frame, gpointer data)
{
  const gssize got = recv (guest->fd, guest->bytes + guest->n, sizeof guest->bytes - guest->n, 0);

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  guest->n += (gsize) MAX (got, 0);
  const gssize size = curator_frame_size (guest->bytes, guest->n, sizeof guest->bytes);
  /* Nothing may follow before the answer. */
  const gboolean is_whole = got > 0 && size > 0 && (gsize) size == guest->n;
  if (is_whole && on_frame (guest->fd, guest->bytes, (gsize) size, data))
    {
      forget (guest);
    }
  else if (got <= 0 || size != 0)
    {
      dismiss (guest);
    }
}

void
curator_loopback_dispatch (CuratorLoopback *loopback, const struct pollfd fds[CURATOR_LOOPBACK_FDS],
                           CuratorLoopbackFunc on_frame, gpointer data)
{
  const gint64 now_us = g_get_monotonic_time ();

  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++)
    {
      Guest *guest = &loopback->guests[i];
      if (guest->fd >= 0 && fds[1 + i].revents != 0)
        listen_to (guest, on_frame, data);
      else if (guest->fd >= 0 && now_us >= guest->since_us + SILENCE_US)
        dismiss (guest);
    }
  if (fds[0].revents != 0)
    accept_guest (loopback);
}
