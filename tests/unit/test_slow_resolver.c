/* A resolver that does not know this host: neither start, nor the connection, nor close waits for
 * it. */
#include "unit.h"

#include <curator/curator.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ThreadSanitizer does not see GLib's mutexes. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static gboolean called;   /* the resolver was asked for this host */
static gboolean released; /* it may answer */
static gboolean answered;

#define PATIENCE_S  60
#define PATIENCE_US (PATIENCE_S * G_USEC_PER_SEC)

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static void
wait_for (const gboolean *condition)
{
  struct timespec until;
  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_S;
  pthread_mutex_lock (&mutex);
  while (!*condition && pthread_cond_timedwait (&changed, &mutex, &until) == 0)
    {
    }
  pthread_mutex_unlock (&mutex);
}

static void
set (gboolean *condition)
{
  pthread_mutex_lock (&mutex);
  *condition = TRUE;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&mutex);
}

static gboolean
is_set (const gboolean *condition)
{
  pthread_mutex_lock (&mutex);
  const gboolean is = *condition;
  pthread_mutex_unlock (&mutex);
  return is;
}

/* In place of the C library's: for this host it stalls until released, and then finds nothing. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  char host[256] = "";
  gethostname (host, sizeof host - 1);
  if (node == NULL || strcmp (node, host) != 0)
    {
      GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
      return real (node, service, hints, found);
    }
  set (&called);
  wait_for (&released);
  set (&answered);
  return EAI_NONAME;
}

static gboolean
was_refused (CuratorClient *client)
{
  g_autoptr (GError) error = curator_client_dup_connection_error (client);
  return g_error_matches (error, CURATOR_CONNECT_ERROR, CURATOR_CONNECT_ERROR_CONNECT);
}

TEST (test_nothing_waits)
{
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", NULL);
  g_autoptr (GError) error = NULL;
  const gint64 until = g_get_monotonic_time () + PATIENCE_US;
  assert_true (curator_client_start (client, &error));
  wait_for (&called);
  assert_true (is_set (&called));
  while (!was_refused (client) && g_get_monotonic_time () < until)
    g_usleep (10000);
  assert_true (was_refused (client));
  curator_client_close (client);
  assert_false (is_set (&answered));
  set (&released);
  wait_for (&answered);
  assert_true (is_set (&answered));
}

SUITE ("slow resolver", NULL, NULL)
