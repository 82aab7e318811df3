/* A resolver that does not know this host: neither start, nor the connection, nor close waits for
 * it. */
#include "unit.h"

#include <curator/curator.h>
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

static GMutex mutex;
static GCond changed;
static gboolean called;   /* the resolver was asked for this host */
static gboolean released; /* it may answer */
static gboolean answered;

#define PATIENCE_US (60 * G_USEC_PER_SEC)

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static void
wait_for (const gboolean *condition)
{
  const gint64 until = g_get_monotonic_time () + PATIENCE_US;
  g_mutex_lock (&mutex);
  while (!*condition && g_cond_wait_until (&changed, &mutex, until))
    {
    }
  g_mutex_unlock (&mutex);
}

static void
set (gboolean *condition)
{
  g_mutex_lock (&mutex);
  *condition = TRUE;
  g_cond_broadcast (&changed);
  g_mutex_unlock (&mutex);
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

static void
test_nothing_waits (void **state)
{
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:1", NULL);
  g_autoptr (GError) error = NULL;
  const gint64 until = g_get_monotonic_time () + PATIENCE_US;
  assert_true (curator_client_start (client, &error));
  wait_for (&called);
  assert_true (called);
  while (!was_refused (client) && g_get_monotonic_time () < until)
    {
      g_usleep (10000);
    }
  assert_true (was_refused (client));
  curator_client_close (client);
  assert_false (answered);
  set (&released);
  wait_for (&answered);
  assert_true (answered);
}

int
main (void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_nothing_waits) };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
