/* The loopback port of a channel; see loopback.h. Threads: the channel's; no lock.
 *
 * NOTES: a guest that sends nothing is closed after some seconds. libzookeeper sends its request as
 * soon as it is connected. If there are too many guests, one of this user's takes the place of the
 * oldest, and anybody else's is closed at once: a flood of other users' neither fills the queue of
 * the kernel, from which an attempt is lost for a second, nor displaces libzookeeper. Who is who,
 * the kernel says.
 */
#include "channel/loopback.h"

#include "base/lookup.h"
#include "channel/channel_frames.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENCE_US (3 * G_USEC_PER_SEC)
/* After accept() has failed, for want of descriptors for instance. */
#define PAUSE_US 100000
/* Then it is the link's turn. */
#define MAX_ACCEPTED 256

typedef struct
{
  int fd;          /* -1: free */
  gint64 since_us; /* 0: free */
  guint8 bytes[CURATOR_CONNECT_FRAME_MAX];
  gsize n;
} Guest;

struct _CuratorLoopback
{
  int fd;
  int diag_fd; /* asks the kernel about sockets; -1: not yet */
  CuratorAddress address;
  gint64 pause_until_us;
  Guest guests[CURATOR_LOOPBACK_GUESTS];
};

/* With a port of the system's choice. -1 with errno set. */
static int
listen_at (CuratorAddress *address)
{
  const int fd = socket (address->name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr *name = (struct sockaddr *) &address->name;
  socklen_t length = (socklen_t) address->length;

  if (fd < 0 || bind (fd, name, length) != 0 || listen (fd, SOMAXCONN) != 0
      || getsockname (fd, name, &length) != 0) {
    const int failed = errno;
    if (fd >= 0)
      close (fd);
    errno = failed;
    return -1;
  }
  return fd;
}

CuratorLoopback *
curator_loopback_open (void)
{
  CuratorAddress address;

  curator_address_of_host (curator_lookup_takes ("127.0.0.1") ? "127.0.0.1" : "::1", 0, &address);
  const int fd = listen_at (&address);
  if (fd < 0)
    return NULL;
  CuratorLoopback *loopback = g_new0 (CuratorLoopback, 1);
  loopback->fd = fd;
  loopback->diag_fd = -1;
  loopback->address = address;
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
  if (guest->fd >= 0) {
    shutdown (guest->fd, SHUT_RDWR);
    close (guest->fd);
    forget (guest);
  }
}

void
curator_loopback_close (CuratorLoopback *loopback)
{
  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++)
    dismiss (&loopback->guests[i]);
  /* A forked child has the descriptor, too; this ends the port there. */
  shutdown (loopback->fd, SHUT_RDWR);
  close (loopback->fd);
  if (loopback->diag_fd >= 0)
    close (loopback->diag_fd);
  g_free (loopback);
}

const CuratorAddress *
curator_loopback_get_address (CuratorLoopback *loopback)
{
  return &loopback->address;
}

gint64
curator_loopback_prepare (CuratorLoopback *loopback, struct pollfd fds[CURATOR_LOOPBACK_FDS])
{
  const gboolean pausing = loopback->pause_until_us > g_get_monotonic_time ();
  gint64 until_us = pausing ? loopback->pause_until_us : G_MAXINT64;

  fds[0] = (struct pollfd){ .fd = pausing ? -1 : loopback->fd, .events = POLLIN };
  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++) {
    const Guest *guest = &loopback->guests[i];
    fds[1 + i] = (struct pollfd){ .fd = guest->fd, .events = POLLIN };
    if (guest->fd >= 0)
      until_us = MIN (until_us, guest->since_us + SILENCE_US);
  }
  return until_us;
}

/* A free place, or that of the oldest guest. */
static Guest *
find_place (CuratorLoopback *loopback)
{
  Guest *place = loopback->guests;

  for (int i = 1; i < CURATOR_LOOPBACK_GUESTS; i++)
    if (loopback->guests[i].since_us < place->since_us)
      place = &loopback->guests[i];
  return place;
}

/* Asks for the other end of that connection. FALSE: the kernel does not say. */
static gboolean
ask_kernel (CuratorLoopback *loopback, in_port_t peer_port)
{
  const CuratorAddress *address = &loopback->address;
  struct
  {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
  } question = {
    .head = { .nlmsg_len = sizeof question,
              .nlmsg_type = SOCK_DIAG_BY_FAMILY,
              .nlmsg_flags = NLM_F_REQUEST,
              .nlmsg_seq = peer_port },
    .body = { .sdiag_family = (guint8) address->name.ss_family,
              .sdiag_protocol = IPPROTO_TCP,
              .idiag_states = 1 << TCP_ESTABLISHED,
              .id = { .idiag_sport = peer_port,
                      .idiag_dport = htons (curator_address_port (address)),
                      .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
  };

  if (address->name.ss_family == AF_INET)
    question.body.id.idiag_src[0] = htonl (INADDR_LOOPBACK);
  else
    question.body.id.idiag_src[3] = htonl (1); /* ::1 */
  memcpy (question.body.id.idiag_dst, question.body.id.idiag_src,
          sizeof question.body.id.idiag_dst);
  if (loopback->diag_fd < 0)
    loopback->diag_fd = socket (AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  return loopback->diag_fd >= 0
         && send (loopback->diag_fd, &question, sizeof question, 0) == sizeof question;
}

/* Also where the kernel does not say: the secret decides. */
static gboolean
may_be_ours (CuratorLoopback *loopback, in_port_t peer_port)
{
  struct
  {
    struct nlmsghdr head;
    union
    {
      struct nlmsgerr error;
      struct inet_diag_msg found;
    } body;
    guint8 attributes[512];
  } answer = { 0 };

  if (!ask_kernel (loopback, peer_port)
      || recv (loopback->diag_fd, &answer, sizeof answer, MSG_DONTWAIT) < (gssize) NLMSG_HDRLEN
      || answer.head.nlmsg_seq != peer_port)
    return TRUE;
  if (answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY)
    return answer.body.found.idiag_state == TCP_ESTABLISHED
           && answer.body.found.idiag_uid == geteuid ();
  /* It has left already. */
  return answer.body.error.error != -ENOENT;
}

/* FALSE: nobody else is there. */
static gboolean
accept_guest (CuratorLoopback *loopback)
{
  const int one = 1;
  const struct linger reset = { .l_onoff = 1 };
  struct sockaddr_storage peer = { 0 };
  socklen_t length = sizeof peer;
  const int fd =
      accept4 (loopback->fd, (struct sockaddr *) &peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      loopback->pause_until_us = g_get_monotonic_time () + PAUSE_US;
    return FALSE;
  }
  Guest *guest = find_place (loopback);
  const CuratorAddress from = curator_address_new (&peer, length);
  if (guest->fd >= 0 && !may_be_ours (loopback, htons (curator_address_port (&from)))) {
    setsockopt (fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close (fd);
    return TRUE;
  }
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  dismiss (guest);
  guest->fd = fd;
  guest->since_us = g_get_monotonic_time ();
  return TRUE;
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
    forget (guest);
  else if (got <= 0 || size != 0)
    dismiss (guest);
}

void
curator_loopback_dispatch (CuratorLoopback *loopback, const struct pollfd fds[CURATOR_LOOPBACK_FDS],
                           CuratorLoopbackFunc on_frame, gpointer data)
{
  const gint64 now_us = g_get_monotonic_time ();

  for (int i = 0; i < CURATOR_LOOPBACK_GUESTS; i++) {
    Guest *guest = &loopback->guests[i];
    if (guest->fd >= 0 && fds[1 + i].revents != 0)
      listen_to (guest, on_frame, data);
    else if (guest->fd >= 0 && now_us >= guest->since_us + SILENCE_US)
      dismiss (guest);
  }
  for (int i = 0; i < MAX_ACCEPTED && fds[0].revents != 0 && accept_guest (loopback); i++)
    ;
}
