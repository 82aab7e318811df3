#include "meddler.h"

#include "support/net.h"
#include "support/zk_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_MS   20
#define MAX_FRAME (1 << 20)
#define XID_BYTES 4

struct _Meddler
{
  char *server; /* NULL: an impostor */
  char *address;
  int listen_fd;
  int after_frame;
  gsize n_added;
  GByteArray *response;
  pthread_t thread;
  atomic_bool quit;
  atomic_int n_meddled;
};

/* FALSE: the peer is gone, or the test is over. */
static gboolean
read_bytes (Meddler *meddler, int fd, guint8 *into, gsize n)
{
  gsize got = 0;

  while (got < n && !atomic_load (&meddler->quit))
    {
      struct pollfd readable = { .fd = fd, .events = POLLIN };
      if (poll (&readable, 1, POLL_MS) > 0)
        {
          const gssize more = recv (fd, into + got, n - got, 0);
          if (more <= 0)
            return FALSE;
          got += (gsize) more;
        }
    }
  return got == n;
}

static GByteArray *
read_frame (Meddler *meddler, int fd)
{
  guint8 length[4];

  if (!read_bytes (meddler, fd, length, sizeof length))
    return NULL;
  const gint32 n = net_get_int32 (length);
  if (n < 0 || n > MAX_FRAME)
    return NULL;
  GByteArray *frame = g_byte_array_new ();
  g_byte_array_append (frame, length, sizeof length);
  g_byte_array_set_size (frame, (guint) sizeof length + (guint) n);
  if (!read_bytes (meddler, fd, frame->data + sizeof length, (gsize) n))
    g_clear_pointer (&frame, g_byte_array_unref);
  return frame;
}

static gboolean
write_bytes (Meddler *meddler, int fd, const GByteArray *bytes)
{
  gsize sent = 0;

  while (sent < bytes->len && !atomic_load (&meddler->quit))
    {
      struct pollfd writable = { .fd = fd, .events = POLLOUT };
      if (poll (&writable, 1, POLL_MS) > 0)
        {
          const gssize more =
              send (fd, bytes->data + sent, bytes->len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
          if (more <= 0)
            return FALSE;
          sent += (gsize) more;
        }
    }
  return sent == bytes->len;
}

/* A login is a strict alternation of requests and answers. */
static void
relay (Meddler *meddler, int client, int server)
{
  for (int n = 1;; n++)
    {
      g_autoptr (GByteArray) request = read_frame (meddler, client);
      if (request == NULL || !write_bytes (meddler, server, request))
        return;
      g_autoptr (GByteArray) answer = read_frame (meddler, server);
      if (answer == NULL)
        return;
      if (n == meddler->after_frame)
        {
          const guint old = answer->len;
          g_byte_array_set_size (answer, old + (guint) meddler->n_added);
          memset (answer->data + old, 0, meddler->n_added);
          atomic_fetch_add (&meddler->n_meddled, 1);
        }
      if (!write_bytes (meddler, client, answer))
        return;
    }
}

static void
impersonate (Meddler *meddler, int client)
{
  g_autoptr (GByteArray) asked = read_frame (meddler, client);

  if (asked == NULL)
    return;
  /* The client may have refused it, and the test have asked, before the write has returned. */
  atomic_fetch_add (&meddler->n_meddled, 1);
  if (!write_bytes (meddler, client, meddler->response))
    return;
  for (;;)
    {
      g_autoptr (GByteArray) request = read_frame (meddler, client);
      g_autoptr (GByteArray) answer = g_byte_array_new ();
      if (request == NULL || request->len < 4 + XID_BYTES)
        return;
      net_put_int32 (answer, XID_BYTES + 8 + 4);
      g_byte_array_append (answer, request->data + 4, XID_BYTES);
      net_put_int64 (answer, 1);
      net_put_int32 (answer, 0);
      if (!write_bytes (meddler, client, answer))
        return;
    }
}

static void *
run (gpointer data)
{
  Meddler *meddler = data;

  while (!atomic_load (&meddler->quit))
    {
      struct pollfd readable = { .fd = meddler->listen_fd, .events = POLLIN };
      if (poll (&readable, 1, POLL_MS) <= 0)
        continue;
      const int client = accept4 (meddler->listen_fd, NULL, NULL, SOCK_CLOEXEC);
      const int server = meddler->server != NULL ? net_connect (meddler->server, 1000) : -1;
      if (client >= 0 && server >= 0)
        relay (meddler, client, server);
      else if (client >= 0 && meddler->server == NULL)
        impersonate (meddler, client);
      if (client >= 0)
        close (client);
      if (server >= 0)
        close (server);
    }
  return NULL;
}

static Meddler *
start (Meddler *meddler)
{
  struct sockaddr_in name;
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *any = g_strdup_printf ("%s:0", host);

  net_parse (any, &name);
  meddler->listen_fd = net_listen (&name);
  meddler->address = g_strdup_printf ("%s:%d", host, ntohs (name.sin_port));
  pthread_create (&meddler->thread, NULL, run, meddler);
  return meddler;
}

Meddler *
meddler_new (const char *server, int after_frame, gsize n_added)
{
  Meddler *meddler = g_new0 (Meddler, 1);
  meddler->server = g_strdup (server);
  meddler->after_frame = after_frame;
  meddler->n_added = n_added;
  return start (meddler);
}

Meddler *
meddler_new_impostor (GByteArray *response)
{
  Meddler *meddler = g_new0 (Meddler, 1);
  meddler->response = response;
  return start (meddler);
}

void
meddler_free (Meddler *meddler)
{
  atomic_store (&meddler->quit, TRUE);
  pthread_join (meddler->thread, NULL);
  close (meddler->listen_fd);
  g_clear_pointer (&meddler->response, g_byte_array_unref);
  g_free (meddler->server);
  g_free (meddler->address);
  g_free (meddler);
}

const char *
meddler_address (Meddler *meddler)
{
  return meddler->address;
}

int
meddler_count (Meddler *meddler)
{
  return atomic_load (&meddler->n_meddled);
}
