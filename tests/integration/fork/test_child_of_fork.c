/* The child of a fork: its errors need no lock of its parent's, and it looks names up. That every
 * call on what it has inherited is refused: arguments/test_adversary. */
#include "integration/fixture.h"

#include <dlfcn.h>
#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS     20
#define CHILD_CONNECTS_MS 8000 /* of the 16 s that a resolver without threads takes */

static void *
look_up_quarks (void *data)
{
  gint *stop = data;
  while (!g_atomic_int_get (stop))
    g_quark_from_static_string ("curator-error-quark");
  return NULL;
}

/* The lock around GLib's quarks is hardly ever free: in the child it may be locked for ever. */
TEST (test_errors_need_no_lock_of_glib)
{
  g_autoptr (CuratorClient) client = client_connect (fixture_server (fixture));
  pthread_t threads[4];
  gint stop = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_create (&threads[i], NULL, look_up_quarks, &stop);
  for (int i = 0; i < 50; i++)
    {
      const pid_t pid = fork ();
      int status = 0;
      if (pid == 0)
        {
          g_autoptr (GError) error = NULL;
          alarm (CHILD_SECONDS);
          _exit (!curator_client_start (client, &error) && error->code == CURATOR_ERROR_FORKED ? 0
                                                                                               : 1);
        }
      assert_int_equal (waitpid (pid, &status, 0), pid);
      if (status != 0)
        fail_msg ("child %d: status 0x%x", i, (unsigned) status);
    }
  g_atomic_int_set (&stop, 1);
  for (gsize i = 0; i < G_N_ELEMENTS (threads); i++)
    pthread_join (threads[i], NULL);
}

#define NAME "server.test"

typedef int (*GetAddrInfo) (const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **found);

/* In place of the C library's: knows one name more. */
CURATOR_API
int
getaddrinfo (const char *node, const char *service, const struct addrinfo *hints,
             struct addrinfo **found)
{
  GetAddrInfo real = (GetAddrInfo) dlsym (RTLD_NEXT, "getaddrinfo");
  return real (g_strcmp0 (node, NAME) == 0 ? "localhost" : node, service, hints, found);
}

static int
connect_by_name (const char *address)
{
  g_autoptr (CuratorClient) client = curator_client_new (address, NULL);

  alarm (CHILD_SECONDS);
  return curator_client_start (client, NULL)
                 && curator_client_block_until_connected (client, CHILD_CONNECTS_MS, NULL, NULL)
             ? 0
             : 1;
}

/* The parent has looked the name up, too, and the threads that did are not in the child. */
TEST (test_names_are_looked_up_in_the_child)
{
  Proxy *named = proxy_new_raw (fixture_server (fixture), "127.0.0.1");
  g_autofree char *address = g_strdup_printf (NAME "%s", strrchr (proxy_address (named), ':'));

  for (int i = 0; i < 8; i++)
    {
      g_autoptr (CuratorClient) client = client_new (address);
      int status = 0;
      client_start (client);
      g_usleep ((gulong) i * 10000);
      const pid_t pid = fork ();
      if (pid == 0)
        _exit (connect_by_name (address));
      assert_int_equal (waitpid (pid, &status, 0), pid);
      if (status != 0)
        fail_msg ("child %d: status 0x%x", i, (unsigned) status);
    }
  proxy_free (named);
}

SUITE ("child_of_fork", fixture_start, fixture_stop)
