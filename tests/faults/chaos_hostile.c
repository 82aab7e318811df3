#include "chaos_hostile.h"

#include "support/net.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_MS    50
#define KEPT       16 /* connections that stay open, and silent after their first bytes */
#define MOST_NOISE 30 /* with a length before it less than a greeting */

struct _ChaosHostile
{
  GRand *rand;
  char *host;
  GArray *fds; /* struct pollfd */
  int kept[KEPT];
  guint served; /* atomic */
  gint quit;    /* atomic */
  gboolean started;
  pthread_t thread;
};

typedef enum
{
  NOTHING,
  NOISE,
  CUT_OFF,  /* a greeting whose end is missing */
  HUGE,     /* a length of 2^31 - 1, and some bytes */
  NEGATIVE, /* a length below zero */
  N_ANSWERS
} Answer;

ChaosHostile *
chaos_hostile_new (guint32 seed)
{
  ChaosHostile *hostile = g_new0 (ChaosHostile, 1);
  hostile->rand = g_rand_new_with_seed (seed);
  hostile->host = zk_server_new_host ();
  hostile->fds = g_array_new (FALSE, TRUE, sizeof (struct pollfd));
  for (int i = 0; i < KEPT; i++)
    hostile->kept[i] = -1;
  return hostile;
}

guint32
chaos_hostile_host (ChaosHostile *hostile)
{
  g_autofree char *address = g_strdup_printf ("%s:1", hostile->host);
  struct sockaddr_in name;
  net_parse (address, &name);
  return name.sin_addr.s_addr;
}

gboolean
chaos_hostile_listen (ChaosHostile *hostile, int port)
{
  g_autofree char *address = g_strdup_printf ("%s:%d", hostile->host, port);
  struct sockaddr_in name;
  net_parse (address, &name);
  const struct pollfd listening = { .fd = net_listen (&name), .events = POLLIN };
  if (listening.fd >= 0)
    g_array_append_val (hostile->fds, listening);
  return listening.fd >= 0;
}

guint
chaos_hostile_served (ChaosHostile *hostile)
{
  return (guint) g_atomic_int_get ((gint *) &hostile->served);
}

static void
add_noise (ChaosHostile *hostile, GByteArray *bytes, gint32 most)
{
  const gint32 n = g_rand_int_range (hostile->rand, 1, most);
  for (gint32 i = 0; i < n; i++)
    {
      const guint8 byte = (guint8) g_rand_int (hostile->rand);
      g_byte_array_append (bytes, &byte, 1);
    }
}

/* Without the byte that says whether the server is read-only, as old servers send it. */
static void
add_greeting (GByteArray *bytes, gint32 timeout_ms, gint64 session)
{
  static const guint8 password[16];
  net_put_int32 (bytes, 36);
  net_put_int32 (bytes, 0);
  net_put_int32 (bytes, timeout_ms);
  net_put_int64 (bytes, session);
  net_put_buffer (bytes, password, sizeof password);
}

static GByteArray *
make_answer (ChaosHostile *hostile)
{
  GByteArray *bytes = g_byte_array_new ();
  switch ((Answer) g_rand_int_range (hostile->rand, 0, N_ANSWERS))
    {
    case NOISE:
      add_noise (hostile, bytes, MOST_NOISE);
      break;
    case CUT_OFF:
      add_greeting (bytes, 4000, 1);
      g_byte_array_set_size (bytes, (guint) g_rand_int_range (hostile->rand, 1, 40));
      break;
    case HUGE:
      net_put_int32 (bytes, G_MAXINT32);
      add_noise (hostile, bytes, MOST_NOISE);
      break;
    case NEGATIVE:
      net_put_int32 (bytes, g_rand_int_range (hostile->rand, G_MININT32, 0));
      add_noise (hostile, bytes, MOST_NOISE);
      break;
    case NOTHING:
    case N_ANSWERS:
    default:
      break;
    }
  return bytes;
}

/* In place of one that was kept for long, or not at all. */
static void
keep_or_close (ChaosHostile *hostile, int fd)
{
  int *kept = &hostile->kept[g_rand_int_range (hostile->rand, 0, KEPT)];
  if (g_rand_boolean (hostile->rand))
    {
      const int before = *kept;
      *kept = fd;
      fd = before;
    }
  if (fd >= 0)
    close (fd);
}

static void
answer_all (ChaosHostile *hostile, int listening)
{
  int fd;
  while ((fd = accept4 (listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
    {
      g_autoptr (GByteArray) bytes = make_answer (hostile);
      if (g_rand_boolean (hostile->rand))
        wait_ms (1); /* the client may have sent its first bytes */
      if (send (fd, bytes->data, bytes->len, MSG_NOSIGNAL) >= 0)
        g_atomic_int_inc ((gint *) &hostile->served);
      keep_or_close (hostile, fd);
    }
}

static void *
run (void *data)
{
  ChaosHostile *hostile = data;
  struct pollfd *fds = (struct pollfd *) (gpointer) hostile->fds->data;
  while (!g_atomic_int_get (&hostile->quit))
    {
      poll (fds, hostile->fds->len, POLL_MS);
      for (guint i = 0; i < hostile->fds->len; i++)
        if (fds[i].revents != 0)
          answer_all (hostile, fds[i].fd);
    }
  return NULL;
}

void
chaos_hostile_start (ChaosHostile *hostile)
{
  hostile->started = pthread_create (&hostile->thread, NULL, run, hostile) == 0;
}

void
chaos_hostile_free (ChaosHostile *hostile)
{
  if (hostile == NULL)
    return;
  g_atomic_int_set (&hostile->quit, 1);
  if (hostile->started)
    pthread_join (hostile->thread, NULL);
  for (guint i = 0; i < hostile->fds->len; i++)
    close (g_array_index (hostile->fds, struct pollfd, i).fd);
  for (int i = 0; i < KEPT; i++)
    if (hostile->kept[i] >= 0)
      close (hostile->kept[i]);
  g_array_unref (hostile->fds);
  g_rand_free (hostile->rand);
  g_free (hostile->host);
  g_free (hostile);
}
