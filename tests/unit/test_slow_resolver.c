/* A resolver that does not know this host: neither start, nor the connection, nor close waits for
 * it. */
#include "unit.h"

#include <curator/curator.h>
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

static gint called;   /* atomic; the resolver was asked for this host */
static gint released; /* atomic; it may answer */
static gint answered; /* atomic */

#define PATIENCE_US (60 * G_USEC_PER_SEC)

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

static gboolean
wait_for (gint *sign)
{
  for (gint64 us = 0; us < PATIENCE_US && !g_atomic_int_get (sign); us += 1000)
    g_usleep (1000);
  return g_atomic_int_get (sign);
}

/* In place of the C library's: for this host it stalls until released, and then finds nothing. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  char host[256] = "";
  gethostname (host, sizeof host - 1);
  if (node == NULL || strcmp (node, host) != 0) {
    GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
    return real (node, service, hints, found);
  }
  g_atomic_int_set (&called, TRUE);
  wait_for (&released);
  g_atomic_int_set (&answered, TRUE);
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
  assert_true (curator_client_start (client, &error));
  assert_true (wait_for (&called));
  for (gint64 us = 0; us < PATIENCE_US && !was_refused (client); us += 10000)
    g_usleep (10000);
  assert_true (was_refused (client));
  curator_client_close (client);
  assert_false (g_atomic_int_get (&answered));
  g_atomic_int_set (&released, TRUE);
  assert_true (wait_for (&answered));
}

SUITE ("slow resolver", NULL, NULL)
