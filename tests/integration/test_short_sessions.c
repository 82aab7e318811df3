/* Whoever answers on a server's port ends each session as soon as it is open: the client asks again, but
 * not as fast as it can. */
#include "fixture.h"
#include "support/net.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIME_MS     2000
#define MOST        100 /* connections in that time */
#define LEAST       3
#define GREETING_MS 1000

typedef struct
{
  const char *name;
  gint32 timeout_ms;
  gint64 first_id;
  gint64 step; /* from one id to the next */
} Kind;

typedef struct
{
  const Kind *kind;
  int fd;
  gint n;    /* atomic; connections */
  gint quit; /* atomic */
} Impostor;

static void
greet (Impostor *impostor, int fd)
{
  static const guint8 password[16];
  const gint64 n = g_atomic_int_add (&impostor->n, 1);
  g_autoptr (GByteArray) greeting = g_byte_array_new ();
  guint8 request[4];

  net_read (fd, request, sizeof request, GREETING_MS);
  net_put_int32 (greeting, 37);
  net_put_int32 (greeting, 0);
  net_put_int32 (greeting, impostor->kind->timeout_ms);
  net_put_int64 (greeting, impostor->kind->first_id + n * impostor->kind->step);
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
end_each_session (const Kind *kind)
{
  g_autofree char *host = zk_server_new_host ();
  g_autofree char *any = g_strdup_printf ("%s:0", host);
  struct sockaddr_in name;
  Impostor impostor = { .kind = kind };
  pthread_t thread;

  net_parse (any, &name);
  impostor.fd = net_listen (&name);
  assert_true (impostor.fd >= 0);
  assert_int_equal (pthread_create (&thread, NULL, run_impostor, &impostor), 0);
  g_autofree char *address = g_strdup_printf ("%s:%d", host, ntohs (name.sin_port));
  CuratorClient *client = client_new (address);
  client_start (client);
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

static void
test_sessions_that_end_at_once (void **state)
{
  static const Kind kinds[] = { { "no session, without a timeout", 0, 0, 0 },
                                { "another session each time", 4000, 1, 1 } };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      end_each_session (&kinds[i]);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_sessions_that_end_at_once) };
  return cmocka_run_group_tests_name ("short sessions", tests, NULL, NULL);
}
