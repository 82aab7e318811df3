/* The floor: the same requests as an uncontended mutex, create and list at once, then delete, on libzookeeper and
 * nothing else. What this takes no library on top of it can go below. Threads: a Bare belongs to one; the library's
 * completion thread wakes it. */
#include "peer.h"

#include <pthread.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define SESSION_MS 30000
#define NODE       "_c_00000000-0000-4000-8000-000000000000-lock-"

struct _Bare
{
  zhandle_t *handle;
  char *path; /* of the nodes, without their number */
  gboolean async;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  gboolean connected;
  guint answers; /* that have come and were not waited for yet */
  char node[1024];
};

static void
answer (Bare *bare)
{
  pthread_mutex_lock (&bare->mutex);
  bare->answers++;
  pthread_mutex_unlock (&bare->mutex);
  pthread_cond_signal (&bare->cond);
}

static void
wait_for_answer (Bare *bare)
{
  pthread_mutex_lock (&bare->mutex);
  while (bare->answers == 0)
    {
      pthread_cond_wait (&bare->cond, &bare->mutex);
    }
  bare->answers--;
  pthread_mutex_unlock (&bare->mutex);
}

static void
on_event (zhandle_t *handle, int type, int state, const char *path, void *context)
{
  Bare *bare = context;
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE && !bare->connected)
    {
      bare->connected = TRUE;
      answer (bare);
    }
}

static void
check (int rc, const char *what)
{
  if (rc != ZOK)
    {
      g_autoptr (GError) error = g_error_new_literal (G_FILE_ERROR, rc, zerror (rc));
      peer_die (what, error);
    }
}

static void
on_created (int rc, const char *value, const struct Stat *stat, const void *data)
{
  Bare *bare = (Bare *) data;
  check (rc, "create");
  g_strlcpy (bare->node, value, sizeof bare->node);
}

static void
on_listed (int rc, const struct String_vector *children, const void *data)
{
  check (rc, "list");
  answer ((Bare *) data);
}

static void
on_deleted (int rc, const void *data)
{
  Bare *bare = (Bare *) data;
  if (bare->async && rc == ZCLOSING)
    {
      return;
    }
  check (rc, "delete");
  if (!bare->async)
    {
      answer (bare);
    }
}

Bare *
bare_new (const char *server, const char *path, gboolean async)
{
  Bare *bare = g_new0 (Bare, 1);

  bare->async = async;
  bare->path = g_strconcat (path, "/" NODE, NULL);
  pthread_mutex_init (&bare->mutex, NULL);
  pthread_cond_init (&bare->cond, NULL);
  zoo_set_debug_level (ZOO_LOG_LEVEL_ERROR);
  bare->handle = zookeeper_init (server, on_event, SESSION_MS, NULL, bare, 0);
  zoo_set_servers_resolution_delay (bare->handle, -1);
  wait_for_answer (bare);
  return bare;
}

void
bare_acquire (Bare *bare)
{
  g_autofree char *parent = g_path_get_dirname (bare->path);
  check (zoo_acreate2 (bare->handle, bare->path, "127.0.0.1", 9, &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL | ZOO_SEQUENCE, on_created, bare),
         "create");
  check (zoo_aget_children (bare->handle, parent, 0, on_listed, bare), "list");
  wait_for_answer (bare);
}

void
bare_release (Bare *bare)
{
  check (zoo_adelete (bare->handle, bare->node, -1, on_deleted, bare), "delete");
  if (!bare->async)
    {
      wait_for_answer (bare);
    }
}

void
bare_free (Bare *bare)
{
  zookeeper_close (bare->handle);
  pthread_cond_destroy (&bare->cond);
  pthread_mutex_destroy (&bare->mutex);
  g_free (bare->path);
  g_free (bare);
}
