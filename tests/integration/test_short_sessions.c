/* Whoever answers on a server's port grants no session, and no timeout: the client asks again, but not as
 * fast as it can. */
#include "fixture.h"
#include "support/net.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIME_MS 2000
/* In that time. libzookeeper alone connects ten times as often. */
#define MOST        5000
#define LEAST       3
#define GREETING_MS 1000

typedef struct
{
  int fd;
  gint n;    /* atomic; connections */
  gint quit; /* atomic */
} Impostor;

static void
greet (Impostor *impostor, int fd)
{
  static const guint8 password[16];
  g_autoptr (GByteArray) greeting = g_byte_array_new ();
  guint8 request[4];

  g_atomic_int_inc (&impostor->n);
  net_read (fd, request, sizeof request, GREETING_MS);
  net_put_int32 (greeting, 37);
  net_put_int32 (greeting, 0);
  net_put_int32 (greeting, 0);
  net_put_int64 (greeting, 0);
  net_put_buffer (greeting, password, sizeof password);
  g_byte_array_append (greeting, (const guint8 *) "", 1);
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
        {
          greet (impostor, fd);
        }
    }
  return NULL;
}

static void
test_sessions_that_end_at_once (void **state)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *any = g_strdup_printf ("%s:0", host);
  struct sockaddr_in name;
  Impostor impostor = { 0 };
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
  print_message ("%d connections in %d ms\n", n, TIME_MS);
  assert_in_range (n, LEAST, MOST);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_sessions_that_end_at_once) };
  return cmocka_run_group_tests_name ("short sessions", tests, NULL, NULL);
}
