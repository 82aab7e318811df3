#include "chaos_hostile.h"

#include "resolver.h"
#include "shared.h"
#include "support/net.h"
#include "support/waiting.h"
#include "support/zk_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLL_MS     50
#define KEPT        16 /* connections that stay open, and silent after their first bytes */
#define MOST_NOISE  30 /* with a length before it less than a greeting */
#define OF_GREETING 36 /* the length that a greeting says */

struct _ChaosHostile
{
  GRand *rand;
  char *host;
  GArray *fds; /* struct pollfd */
  int kept[KEPT];
  guint served; /* atomic */
  gint quit;    /* atomic */
  pthread_t thread;
};

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
  g_autofree char *address = g_strconcat (hostile->host, ":1", NULL);
  return resolver_host (address);
}

void
chaos_hostile_listen (ChaosHostile *hostile, int port)
{
  g_autofree char *address = g_strdup_printf ("%s:%d", hostile->host, port);
  struct sockaddr_in name;
  net_parse (address, &name);
  const struct pollfd listening = { .fd = net_listen (&name), .events = POLLIN };
  if (listening.fd >= 0)
    g_array_append_val (hostile->fds, listening);
}

guint
chaos_hostile_served (ChaosHostile *hostile)
{
  return __atomic_exchange_n (&hostile->served, 0, __ATOMIC_SEQ_CST);
}

/* Noise, perhaps after a length: as a greeting has it, so that its end is missing; huge; below
 * zero. Or nothing. */
static GByteArray *
make_answer (ChaosHostile *hostile)
{
  GByteArray *bytes = g_byte_array_new ();
  const gint32 negative = g_rand_int_range (hostile->rand, G_MININT32, 0);
  const gint32 lengths[] = { OF_GREETING, G_MAXINT32, negative };
  const guint what = (guint) g_rand_int_range (hostile->rand, 0, G_N_ELEMENTS (lengths) + 2);
  if (what < G_N_ELEMENTS (lengths))
    net_put_int32 (bytes, lengths[what]);
  if (what > G_N_ELEMENTS (lengths))
    return bytes;
  for (gint32 n = g_rand_int_range (hostile->rand, 1, MOST_NOISE); n > 0; n--) {
    const guint8 byte = (guint8) g_rand_int (hostile->rand);
    g_byte_array_append (bytes, &byte, 1);
  }
  return bytes;
}

static void
answer_all (ChaosHostile *hostile, int listening)
{
  int fd;
  while ((fd = accept4 (listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
    g_autoptr (GByteArray) bytes = make_answer (hostile);
    if (g_rand_boolean (hostile->rand))
      wait_ms (1); /* the client may have sent its first bytes */
    if (send (fd, bytes->data, bytes->len, MSG_NOSIGNAL) >= 0)
      shared_add (&hostile->served, 1);
    if (g_rand_boolean (hostile->rand))
      shutdown (fd, SHUT_RDWR);
    /* In place of one that was kept for long. */
    int *kept = &hostile->kept[g_rand_int_range (hostile->rand, 0, KEPT)];
    if (*kept >= 0)
      close (*kept);
    *kept = fd;
  }
}

static void *
run (void *data)
{
  ChaosHostile *hostile = data;
  struct pollfd *fds = (struct pollfd *) (gpointer) hostile->fds->data;
  while (!g_atomic_int_get (&hostile->quit)) {
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
  g_assert (pthread_create (&hostile->thread, NULL, run, hostile) == 0);
}

void
chaos_hostile_free (ChaosHostile *hostile)
{
  g_atomic_int_set (&hostile->quit, 1);
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
