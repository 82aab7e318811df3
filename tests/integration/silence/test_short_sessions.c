/* Whoever answers on a server's port grants no session, no timeout, or what nobody has asked for:
 * the client asks again, but not as fast as it can. */
#include "integration/fixture.h"
#include "support/net.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIME_MS 1000
/* In that time. libzookeeper alone connects more than 20,000 times. */
#define MOST        8000
#define LEAST       3
#define GREETING_MS 1000
/* A greeting, without the length before it. */
#define GREETING_BYTES 37

typedef struct
{
  const char *name;
  gint32 timeout_ms;
  gint64 id;
  gboolean is_noise; /* all other bytes are random */
  guint8 is_read_only;
} Kind;

typedef struct
{
  const Kind *kind;
  GRand *rand;
  int fd;
  gint n;    /* atomic; connections */
  gint quit; /* atomic */
} Impostor;

/* Protocol version, timeout, session id, password, read only. */
static GByteArray *
make_greeting (Impostor *impostor)
{
  const Kind *kind = impostor->kind;
  GByteArray *greeting = g_byte_array_new ();

  net_put_int32 (greeting, GREETING_BYTES);
  net_put_int32 (greeting, kind->is_noise ? (gint32) g_rand_int (impostor->rand) : 0);
  net_put_int32 (greeting, kind->timeout_ms);
  net_put_int64 (greeting, kind->id);
  while (greeting->len < 4 + GREETING_BYTES)
    {
      const guint8 byte = (guint8) (kind->is_noise ? g_rand_int_range (impostor->rand, 0, 256) : 0);
      g_byte_array_append (greeting, &byte, 1);
    }
  greeting->data[4 + GREETING_BYTES - 1] |= kind->is_read_only;
  return greeting;
}

static void
greet (Impostor *impostor, int fd)
{
  g_autoptr (GByteArray) greeting = make_greeting (impostor);
  guint8 request[4];

  g_atomic_int_inc (&impostor->n);
  net_read (fd, request, sizeof request, GREETING_MS);
  send (fd, greeting->data, greeting->len, MSG_NOSIGNAL);
  /* It reads the greeting before it sees the end. */
  shutdown (fd, SHUT_WR);
  while (recv (fd, request, sizeof request, 0) > 0)
    {
    }
  close (fd);
}

static void *
run_impostor (void *data)
{
  Impostor *impostor = data;
  struct pollfd listening = { .fd = impostor->fd, .events = POLLIN };

  while (!g_atomic_int_get (&impostor->quit))
    {
      const int fd = poll (&listening, 1, 50) > 0 ? accept (impostor->fd, NULL, NULL) : -1;
      if (fd >= 0)
        greet (impostor, fd);
    }
  return NULL;
}

static void
ask (const Kind *kind)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *any = g_strdup_printf ("%s:0", host);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  struct sockaddr_in name;
  Impostor impostor = { .kind = kind, .rand = rand };
  pthread_t thread;

  net_parse (any, &name);
  impostor.fd = net_listen (&name);
  assert_true (impostor.fd >= 0);
  assert_int_equal (pthread_create (&thread, NULL, run_impostor, &impostor), 0);
  g_autofree char *address = g_strdup_printf ("%s:%d", host, ntohs (name.sin_port));
  CuratorClient *client = client_new (address);
  assert_true (curator_client_start (client, NULL));
  wait_ms (TIME_MS);
  const int n = g_atomic_int_get (&impostor.n);
  curator_client_close (client);
  curator_client_unref (client);
  g_atomic_int_set (&impostor.quit, 1);
  pthread_join (thread, NULL);
  close (impostor.fd);
  print_message ("%s: %d connections in %d ms\n", kind->name, n, TIME_MS);
  assert_in_range (n, LEAST, MOST);
}

TEST (test_sessions_that_end_at_once)
{
  static const Kind kinds[] = {
    { "no session and no timeout", 0, 0, FALSE },
    { "no timeout", 0, 1, FALSE },
    { "a negative timeout", -1, 0, FALSE },
    { "the least timeout", G_MININT32, 1, FALSE },
    { "a session that can only read", 4000, 1, FALSE, 1 },
    { "the same without a timeout", -1, 1, FALSE, 1 },
    { "a negative timeout in noise", -1, 1, TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    ask (&kinds[i]);
}

SUITE ("short sessions", NULL, NULL)
