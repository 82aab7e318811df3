/* The loopback port and the thread of a channel; see channel.h.
 *
 * Mirrors ClientCnxn.SendThread. Threads: open and close run on the owner's thread, everything else
 * on the channel's own, but for orders: another list of servers, and a silent one. The thread starts after open has written
 * the record.
 *
 * NOTES: libzookeeper shows a password in each ConnectRequest. In the first one it is a secret of
 * 16 random bytes, which servers never see; later it is that of its session. A connection that
 * shows neither is closed, and so is one that stays silent. libzookeeper waits before it connects
 * to the same server again, but not between servers, so the port is in its list many times.
 */
#include "channel/channel.h"

#include "base/fork_gate.h"
#include "base/thread_start.h"
#include "channel/channel_link.h"
#include "channel/link_server.h"
#include "channel/loopback.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

/* With an even number libzookeeper would skip every other one. */
#define N_COPIES 15
/* How long close may take after libzookeeper is gone. */
#define STOP_US G_USEC_PER_SEC
/* The eventfd, the port and its silent guests, and the link. */
#define N_FDS (1 + CURATOR_LOOPBACK_FDS + CURATOR_LINK_FDS)

struct _CuratorChannel
{
  pthread_t thread;
  atomic_bool is_stopping;
  _Atomic gint64 silent_us; /* a server that sent nothing for so long is left, once; or 0 */
  guint8 secret[CURATOR_PASSWORD_LENGTH];
  CuratorLoopback *loopback;
  CuratorLinkContext context;
  CuratorLink *link;     /* NULL: none */
  pthread_mutex_t mutex; /* of the next two; no other lock is taken under it */
  GPtrArray *next;       /* the list of servers that comes next, or NULL */
  gboolean leaves;       /* those that are not in it, also when a connection is open */
};

static gboolean
is_ours (CuratorChannel *channel, const CuratorConnectFrame *frame)
{
  const CuratorLinkContext *context = &channel->context;

  if (frame->session_id == 0)
    return curator_passwords_equal (frame->password, channel->secret);
  return frame->session_id == context->session_id
         && curator_passwords_equal (frame->password, context->password);
}

/* A connection has sent a whole frame. TRUE: it is libzookeeper's, and the channel has taken it. */
static gboolean
on_request (int fd, guint8 *bytes, gsize size, gpointer data)
{
  CuratorChannel *channel = data;
  CuratorConnectFrame frame;

  if (!curator_frame_read_request (bytes, size, &frame) || !is_ours (channel, &frame)) {
    explicit_bzero (&frame, sizeof frame);
    return FALSE;
  }
  if (frame.session_id == 0)
    curator_frame_clear_password (bytes);
  explicit_bzero (&frame, sizeof frame);
  /* libzookeeper has one connection at a time: it has left the other one. */
  g_clear_pointer (&channel->link, curator_link_free);
  channel->link = curator_link_new (&channel->context, fd, bytes, size);
  return TRUE;
}

/* Waits until something has happened. */
static void
wait_for_events (CuratorChannel *channel, struct pollfd fds[N_FDS], gint64 stop_at_us)
{
  gint64 link_us = G_MAXINT64;
  eventfd_t ignored;

  fds[0] = (struct pollfd){ .fd = channel->context.wake_fd, .events = POLLIN };
  const gint64 loopback_us = curator_loopback_prepare (channel->loopback, fds + 1);
  for (int i = 0; i < CURATOR_LINK_FDS; i++)
    fds[1 + CURATOR_LOOPBACK_FDS + i] = (struct pollfd){ .fd = -1 };
  if (channel->link != NULL)
    link_us = curator_link_prepare (channel->link, fds + 1 + CURATOR_LOOPBACK_FDS);
  const gint64 until_us = MIN (MIN (link_us, loopback_us), stop_at_us);
  const gint64 left_ms = (until_us - g_get_monotonic_time () + 999) / 1000;
  if (poll (fds, N_FDS, until_us == G_MAXINT64 ? -1 : (int) CLAMP (left_ms, 0, G_MAXINT)) < 0)
    memset (fds, 0, N_FDS * sizeof *fds); /* no events */
  if (fds[0].revents != 0)
    eventfd_read (channel->context.wake_fd, &ignored);
}

/* An open connection is left alone unless it may have to end. */
static void
change_servers (CuratorChannel *channel)
{
  g_autoptr (GPtrArray) next = NULL;

  pthread_mutex_lock (&channel->mutex);
  if (channel->leaves || channel->link == NULL || channel->link->state < CURATOR_LINK_OPEN) {
    next = g_steal_pointer (&channel->next);
    channel->leaves = FALSE;
  }
  pthread_mutex_unlock (&channel->mutex);
  if (next == NULL)
    return;
  if (channel->link == NULL)
    curator_endpoints_update (channel->context.endpoints, next);
  else if (!curator_link_change_servers (channel->link, next))
    g_clear_pointer (&channel->link, curator_link_free);
}

static void *
run (void *data)
{
  CuratorChannel *channel = data;
  struct pollfd fds[N_FDS];
  gint64 stop_at_us = G_MAXINT64;

  pthread_setname_np (pthread_self (), "curator-channel");
  while (stop_at_us == G_MAXINT64
         || (channel->link != NULL && g_get_monotonic_time () < stop_at_us)) {
    wait_for_events (channel, fds, stop_at_us);
    CURATOR_INSIDE_GATE;
    if (stop_at_us == G_MAXINT64 && atomic_load (&channel->is_stopping))
      stop_at_us = g_get_monotonic_time () + STOP_US;
    const gint64 silent_us = atomic_exchange (&channel->silent_us, 0);
    if (channel->link != NULL && silent_us > 0)
      curator_link_leave_silent (channel->link, silent_us);
    if (channel->link != NULL
        && !curator_link_dispatch (channel->link, fds + 1 + CURATOR_LOOPBACK_FDS))
      g_clear_pointer (&channel->link, curator_link_free);
    change_servers (channel);
    curator_loopback_dispatch (channel->loopback, fds + 1, on_request, channel);
  }
  g_clear_pointer (&channel->link, curator_link_free);
  return NULL;
}

static void
channel_free (CuratorChannel *channel)
{
  g_clear_pointer (&channel->loopback, curator_loopback_close);
  curator_endpoints_free (channel->context.endpoints);
  g_clear_pointer (&channel->context.credentials, curator_tls_credentials_free);
  g_clear_pointer (&channel->next, g_ptr_array_unref);
  pthread_mutex_destroy (&channel->mutex);
  if (channel->context.wake_fd >= 0)
    close (channel->context.wake_fd);
  explicit_bzero (channel, sizeof *channel);
  g_free (channel);
}

CuratorChannel *
curator_channel_open (const CuratorChannelSetup *setup, GPtrArray *servers)
{
  CuratorChannel *channel = g_new0 (CuratorChannel, 1);

  channel->context.setup = *setup;
  channel->context.endpoints = curator_endpoints_new (servers);
  pthread_mutex_init (&channel->mutex, NULL);
  channel->context.wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  channel->loopback = channel->context.wake_fd >= 0 ? curator_loopback_open () : NULL;
  const gboolean is_ready =
      channel->loopback != NULL && getrandom (channel->secret, sizeof channel->secret, 0) >= 0;
  const int failed = is_ready ? curator_thread_start (&channel->thread, run, channel) : errno;
  if (failed != 0) {
    channel_free (channel);
    errno = failed;
    return NULL;
  }
  return channel;
}

void
curator_channel_set_servers (CuratorChannel *channel, GPtrArray *servers, gboolean leave)
{
  pthread_mutex_lock (&channel->mutex);
  g_clear_pointer (&channel->next, g_ptr_array_unref);
  channel->next = curator_servers_copy (servers, FALSE);
  channel->leaves |= leave;
  pthread_mutex_unlock (&channel->mutex);
  eventfd_write (channel->context.wake_fd, 1);
}

void
curator_channel_leave_silent (CuratorChannel *channel, gint64 silent_us)
{
  atomic_store (&channel->silent_us, silent_us);
  eventfd_write (channel->context.wake_fd, 1);
}

void
curator_channel_close (CuratorChannel *channel)
{
  atomic_store (&channel->is_stopping, TRUE);
  eventfd_write (channel->context.wake_fd, 1);
  const guint depth = curator_gate_suspend ();
  pthread_join (channel->thread, NULL);
  curator_gate_resume (depth);
  channel_free (channel);
}

char *
curator_channel_dup_hosts (CuratorChannel *channel)
{
  const CuratorAddress *address = curator_loopback_get_address (channel->loopback);
  g_autofree char *host = curator_address_dup_host (address);
  GString *hosts = g_string_new (NULL);
  for (int i = 0; i < N_COPIES; i++)
    g_string_append_printf (hosts, "%s%s:%u", i > 0 ? "," : "", host,
                            curator_address_port (address));
  return g_string_free (hosts, FALSE);
}

const guint8 *
curator_channel_get_secret (CuratorChannel *channel)
{
  return channel->secret;
}
