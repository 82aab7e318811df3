/* A module that uses the library is unloaded while a thread that waited in the library still
 * runs. */
#include "unit.h"

#include <curator/curator.h>
#include <dlfcn.h>
#include <glib.h>

typedef struct
{
  gpointer library;
  GAsyncQueue *used;   /* the thread has used the library */
  GAsyncQueue *closed; /* the library is closed */
} Shared;

static gpointer
find (gpointer library, const char *name)
{
  gpointer symbol = dlsym (library, name);
  g_assert_nonnull (symbol);
  return symbol;
}

static gpointer
use_library (gpointer data)
{
  Shared *shared = data;
  CuratorClient *(*client_new) (const char *, CuratorRetryPolicy *) =
      (CuratorClient * (*) (const char *, CuratorRetryPolicy *) )
          find (shared->library, "curator_client_new");
  gboolean (*client_start) (CuratorClient *, GError **) =
      (gboolean (*) (CuratorClient *, GError **)) find (shared->library, "curator_client_start");
  gboolean (*block) (CuratorClient *, gint64, GCancellable *, GError **) =
      (gboolean (*) (CuratorClient *, gint64, GCancellable *, GError **)) find (
          shared->library, "curator_client_block_until_connected");
  void (*client_unref) (CuratorClient *) =
      (void (*) (CuratorClient *)) find (shared->library, "curator_client_unref");
  CuratorClient *client = client_new ("127.0.0.1:1", NULL);
  g_assert_true (client_start (client, NULL));
  g_assert_false (block (client, 20, NULL, NULL));
  client_unref (client);
  g_async_queue_push (shared->used, shared);
  g_async_queue_pop (shared->closed);
  return NULL; /* runs the destructors of what the library keeps for each thread */
}

TEST (test_unload)
{
  Shared shared = { .used = g_async_queue_new (), .closed = g_async_queue_new () };
  shared.library = dlopen (CURATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  assert_non_null (shared.library);
  GThread *thread = g_thread_new ("user", use_library, &shared);
  g_async_queue_pop (shared.used);
  assert_int_equal (dlclose (shared.library), 0);
  g_async_queue_push (shared.closed, &shared);
  g_thread_join (thread);
  g_async_queue_unref (shared.used);
  g_async_queue_unref (shared.closed);
}

SUITE ("unload", NULL, NULL)
