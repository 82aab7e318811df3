#include "net.h"

#include "waiting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

gboolean
net_parse (const char *address, struct sockaddr_in *name)
{
  const char *colon = strrchr (address, ':');
  memset (name, 0, sizeof *name);
  name->sin_family = AF_INET;
  if (colon == NULL)
    return FALSE;
  g_autofree char *host = g_strndup (address, (gsize) (colon - address));
  name->sin_port = htons ((guint16) atoi (colon + 1));
  return inet_pton (AF_INET, host, &name->sin_addr) == 1 && g_str_has_prefix (host, "127.");
}

static gboolean
finish_connect (int fd, int timeout_ms)
{
  struct pollfd pfd = { .fd = fd, .events = POLLOUT };
  int error = 0;
  socklen_t length = sizeof error;
  return poll (&pfd, 1, timeout_ms) == 1
         && getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

int
net_connect (const char *address, int timeout_ms)
{
  struct sockaddr_in name;
  if (!net_parse (address, &name))
    return -1;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int one = 1;
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  int rc = connect (fd, (struct sockaddr *) &name, sizeof name);
  if (rc < 0 && (errno != EINPROGRESS || !finish_connect (fd, timeout_ms))) {
    close (fd);
    return -1;
  }
  fcntl (fd, F_SETFL, 0);
  return fd;
}

int
net_listen (struct sockaddr_in *name)
{
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int one = 1;
  socklen_t length = sizeof *name;
  setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind (fd, (struct sockaddr *) name, sizeof *name) < 0 || listen (fd, 256) < 0
      || getsockname (fd, (struct sockaddr *) name, &length) < 0) {
    close (fd);
    return -1;
  }
  return fd;
}

gsize
net_read (int fd, void *buffer, gsize length, int timeout_ms)
{
  gint64 deadline = wait_now_ms () + timeout_ms;
  gsize got = 0;
  while (got < length) {
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    gint64 left = deadline - wait_now_ms ();
    if (left <= 0 || poll (&pfd, 1, (int) left) != 1)
      break;
    gssize n = recv (fd, (char *) buffer + got, length - got, 0);
    if (n <= 0)
      break;
    got += (gsize) n;
  }
  return got;
}

void
net_reset_on_close (int fd)
{
  struct linger linger = { .l_onoff = 1, .l_linger = 0 };
  setsockopt (fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

void
net_put_int32 (GByteArray *bytes, gint32 value)
{
  guint32 wire = GUINT32_TO_BE ((guint32) value);
  g_byte_array_append (bytes, (const guint8 *) &wire, sizeof wire);
}

void
net_put_int64 (GByteArray *bytes, gint64 value)
{
  guint64 wire = GUINT64_TO_BE ((guint64) value);
  g_byte_array_append (bytes, (const guint8 *) &wire, sizeof wire);
}

void
net_put_buffer (GByteArray *bytes, const void *data, gint32 length)
{
  net_put_int32 (bytes, length);
  if (length > 0)
    g_byte_array_append (bytes, data, (guint) length);
}

gint32
net_get_int32 (const guint8 *at)
{
  guint32 wire;
  memcpy (&wire, at, sizeof wire);
  return (gint32) GUINT32_FROM_BE (wire);
}

gint64
net_get_int64 (const guint8 *at)
{
  guint64 wire;
  memcpy (&wire, at, sizeof wire);
  return (gint64) GUINT64_FROM_BE (wire);
}
