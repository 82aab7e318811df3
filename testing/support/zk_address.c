#include "zk_address.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_PORT_TRIES 100

char *
zk_server_new_host (void)
{
  static int n_hosts;
  /* After a while the first ones are free again. */
  int n = g_atomic_int_add (&n_hosts, 1) % 254 + 1;
  unsigned pid = (unsigned) getpid ();
  return g_strdup_printf ("127.%u.%u.%d", 1 + (pid >> 8) % 250, pid & 0xff, n);
}

/* 0: no such address, or none is free. */
static int
port_free_now (const char *host)
{
  struct sockaddr_in name = { .sin_family = AF_INET };
  socklen_t length = sizeof name;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port = 0;
  if (inet_pton (AF_INET, host, &name.sin_addr) == 1
      && bind (fd, (struct sockaddr *) &name, sizeof name) == 0
      && getsockname (fd, (struct sockaddr *) &name, &length) == 0)
    port = ntohs (name.sin_port);
  close (fd);
  return port;
}

/* A member gets its ports one after another, before it listens on any: none may come twice. */
int
zk_server_free_port (const char *host)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static GHashTable *given; /* "host:port" */
  int port = 0;
  gboolean is_new = FALSE;

  pthread_mutex_lock (&mutex);
  if (given == NULL)
    given = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (int tries = 0; !is_new && tries < MOST_PORT_TRIES; tries++) {
    port = port_free_now (host);
    is_new = g_hash_table_add (given, g_strdup_printf ("%s:%d", host, port));
  }
  pthread_mutex_unlock (&mutex);
  return port;
}
