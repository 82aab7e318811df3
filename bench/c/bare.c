/* The baseline: only the requests of a mutex, on libzookeeper. Create and list at once; behind
 * others, watch the two nodes in front, list when the farther one goes; delete. An uncontended
 * semaphore takes that twice. No clean-up, no clock, no error handling: no library on top of
 * libzookeeper can be faster. No deadline, either: the rig has one for each answer. Threads: one
 * thread uses a Bare and waits; libzookeeper's completion thread does the rest and wakes it. */
#include "peer.h"

#include <pthread.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define SESSION_MS   30000
#define NODE         "_c_00000000-0000-4000-8000-000000000000-lock-"
#define NUMBER_WIDTH 10

struct _Bare
{
  zhandle_t *handle;
  char *base;
  char *parent;
  char *path;            /* of the nodes, without their number */
  gboolean is_semaphore; /* of one lease: a turn below "locks", then a lease below "leases" */
  gboolean async;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  guint answers; /* that have arrived and were not waited for yet */
  /* Used by the completion thread: */
  gboolean connected;
  char *node;
  char *front;      /* path of the one watched, NULL when it is gone */
  char *further;    /* of the one in front of it */
  gboolean is_next; /* the deletion of the one in front is the grant */
  gboolean listing;
  GPtrArray *queue;
  guint left;
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
    pthread_cond_wait (&bare->cond, &bare->mutex);
  bare->answers--;
  pthread_mutex_unlock (&bare->mutex);
}

static void
on_session (zhandle_t *handle, int type, int state, const char *path, void *context)
{
  Bare *bare = context;
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE && !bare->connected) {
    bare->connected = TRUE;
    answer (bare);
  }
}

static void
check (int rc, const char *what)
{
  if (rc != ZOK) {
    g_autoptr (GError) error = g_error_new_literal (G_FILE_ERROR, rc, zerror (rc));
    peer_die (what, error);
  }
}

static void on_listed (int rc, const struct String_vector *children, const void *data);

static void
list (Bare *bare)
{
  if (!bare->listing) {
    bare->listing = TRUE;
    check (zoo_aget_children (bare->handle, bare->parent, 0, on_listed, bare), "list");
  }
}

static void
front_gone (Bare *bare)
{
  g_clear_pointer (&bare->front, g_free);
  if (bare->is_next)
    answer (bare);
  else
    list (bare);
}

static void
further_gone (Bare *bare)
{
  g_clear_pointer (&bare->further, g_free);
  list (bare);
}

static void
on_event (zhandle_t *handle, int type, int state, const char *path, void *context)
{
  Bare *bare = context;
  if (type != ZOO_DELETED_EVENT)
    return;
  if (g_strcmp0 (path, bare->front) == 0)
    front_gone (bare);
  else if (g_strcmp0 (path, bare->further) == 0)
    further_gone (bare);
}

static void
on_front_read (int rc, const char *value, int length, const struct Stat *stat, const void *data)
{
  check (rc == ZNONODE ? ZOK : rc, "get");
  if (rc == ZNONODE)
    front_gone ((Bare *) data);
}

static void
on_further_read (int rc, const char *value, int length, const struct Stat *stat, const void *data)
{
  check (rc == ZNONODE ? ZOK : rc, "get");
  if (rc == ZNONODE)
    further_gone ((Bare *) data);
}

static void
watch (Bare *bare, char **watched, const char *leaf, data_completion_t done)
{
  g_autofree char *path = g_strconcat (bare->parent, "/", leaf, NULL);
  if (g_strcmp0 (path, *watched) != 0) {
    g_free (*watched);
    *watched = g_steal_pointer (&path);
    check (zoo_awget (bare->handle, *watched, on_event, bare, done, bare), "get");
  }
}

static gint64
number_of (const char *name)
{
  return g_ascii_strtoll (name + strlen (name) - NUMBER_WIDTH, NULL, 10);
}

static void
on_listed (int rc, const struct String_vector *children, const void *data)
{
  Bare *bare = (Bare *) data;
  const gint64 own = number_of (bare->node);
  const char *before[2] = { NULL, NULL }; /* the nearest in front, and the next */
  gint64 numbers[2] = { -1, -1 };
  int n_before = 0;

  check (rc, "list");
  bare->listing = FALSE;
  for (int i = 0; i < children->count; i++) {
    const gint64 number = number_of (children->data[i]);
    const int place = number > numbers[0] ? 0 : 1;
    if (number >= own)
      continue;
    n_before++;
    if (place == 0) {
      before[1] = before[0];
      numbers[1] = numbers[0];
    }
    if (number > numbers[place]) {
      before[place] = children->data[i];
      numbers[place] = number;
    }
  }
  if (n_before == 0) {
    answer (bare);
    return;
  }
  bare->is_next = n_before == 1;
  watch (bare, &bare->front, before[0], on_front_read);
  if (n_before > 1)
    watch (bare, &bare->further, before[1], on_further_read);
}

static void
on_created (int rc, const char *value, const struct Stat *stat, const void *data)
{
  Bare *bare = (Bare *) data;
  check (rc, "create");
  g_free (bare->node);
  bare->node = g_strdup (value);
}

static void
on_deleted (int rc, const void *data)
{
  check (rc, "delete");
  answer ((Bare *) data);
}

/* No thread waits for it, and it may be in flight when the session is closed. */
static void
on_left_behind (int rc, const void *data)
{
  check (rc == ZCLOSING ? ZOK : rc, "delete");
}

static void
delete_node (Bare *bare, const char *node, void_completion_t done)
{
  check (zoo_adelete (bare->handle, node, -1, done, bare), "delete");
}

static void
turn_to (Bare *bare, const char *folder)
{
  g_free (bare->parent);
  g_free (bare->path);
  bare->parent = g_strconcat (bare->base, folder, NULL);
  bare->path = g_strconcat (bare->parent, "/" NODE, NULL);
}

Bare *
bare_new (const char *server, const char *path, gboolean is_semaphore, gboolean async)
{
  Bare *bare = g_new0 (Bare, 1);

  bare->is_semaphore = is_semaphore;
  bare->async = async;
  bare->base = g_strdup (path);
  turn_to (bare, "");
  bare->queue = g_ptr_array_new_with_free_func (g_free);
  pthread_mutex_init (&bare->mutex, NULL);
  pthread_cond_init (&bare->cond, NULL);
  zoo_set_debug_level (ZOO_LOG_LEVEL_ERROR);
  bare->handle = zookeeper_init (server, on_session, SESSION_MS, NULL, bare, 0);
  if (bare->handle == NULL)
    peer_die (server, NULL);
  zoo_set_servers_resolution_delay (bare->handle, -1);
  wait_for_answer (bare);
  return bare;
}

static void
create (Bare *bare, string_stat_completion_t done)
{
  check (zoo_acreate2 (bare->handle, bare->path, "127.0.0.1", 9, &ZOO_OPEN_ACL_UNSAFE,
                       ZOO_EPHEMERAL | ZOO_SEQUENCE, done, bare),
         "create");
}

static void
acquire_node (Bare *bare)
{
  /* This handle has no request in flight now, except for a delete. */
  bare->is_next = FALSE;
  bare->listing = TRUE;
  create (bare, on_created);
  check (zoo_aget_children (bare->handle, bare->parent, 0, on_listed, bare), "list");
  wait_for_answer (bare);
}

void
bare_acquire (Bare *bare)
{
  if (!bare->is_semaphore) {
    acquire_node (bare);
    return;
  }
  turn_to (bare, "/locks");
  acquire_node (bare);
  char *turn = g_steal_pointer (&bare->node);
  turn_to (bare, "/leases");
  acquire_node (bare);
  delete_node (bare, turn, on_left_behind);
  g_free (turn);
}

void
bare_release (Bare *bare)
{
  delete_node (bare, bare->node, bare->async ? on_left_behind : on_deleted);
  if (!bare->async)
    wait_for_answer (bare);
}

static void
one_less (Bare *bare)
{
  if (--bare->left == 0)
    answer (bare);
}

static void
on_queued (int rc, const char *value, const struct Stat *stat, const void *data)
{
  Bare *bare = (Bare *) data;
  check (rc, "create");
  g_ptr_array_add (bare->queue, g_strdup (value));
  one_less (bare);
}

static void
on_drained (int rc, const void *data)
{
  check (rc, "delete");
  one_less ((Bare *) data);
}

void
bare_queue (Bare *bare, guint n)
{
  bare->left = n;
  for (guint i = 0; i < n; i++)
    create (bare, on_queued);
  wait_for_answer (bare);
}

void
bare_drain (Bare *bare)
{
  bare->left = bare->queue->len;
  for (guint i = 0; i < bare->queue->len; i++)
    delete_node (bare, bare->queue->pdata[i], on_drained);
  wait_for_answer (bare);
}

void
bare_free (Bare *bare)
{
  zookeeper_close (bare->handle);
  pthread_cond_destroy (&bare->cond);
  pthread_mutex_destroy (&bare->mutex);
  g_ptr_array_unref (bare->queue);
  g_free (bare->node);
  g_free (bare->front);
  g_free (bare->further);
  g_free (bare->path);
  g_free (bare->parent);
  g_free (bare->base);
  g_free (bare);
}
