/* One interface to all recipes. Threads: one thread uses a Recipe. */
#include "peer.h"

#define MEMBERS 8

static void
demand (gboolean went_well, const char *what, const GError *error)
{
  if (!went_well)
    peer_die (what, error);
}

static CuratorLock *
multi_lock_new (CuratorClient *client, const char *path, GError **error)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; i < MEMBERS; i++)
    g_ptr_array_add (paths, g_strdup_printf ("%s/%d", path, i));
  g_ptr_array_add (paths, NULL);
  return curator_multi_lock_new_for_paths (client, (const char *const *) paths->pdata, error);
}

void
recipe_init (Recipe *recipe, const char *name, CuratorClient *client, const char *path,
             gboolean async)
{
  g_autoptr (GError) error = NULL;
  *recipe = (Recipe){ .async = async };
  if (g_str_equal (name, "mutex")) {
    recipe->lock = curator_mutex_new (client, path, &error);
  } else if (g_str_equal (name, "multi")) {
    recipe->lock = multi_lock_new (client, path, &error);
  } else if (g_str_equal (name, "semmutex")) {
    recipe->lock = curator_semaphore_mutex_new (client, path, &error);
  } else if (g_str_has_prefix (name, "semaphore")) {
    const int leases = g_str_equal (name, "semaphore8") ? 8 : 1;
    recipe->semaphore = curator_semaphore_new (client, path, leases, &error);
  } else if ((recipe->pair = curator_rw_lock_new (client, path, NULL, 0, &error)) != NULL) {
    recipe->lock = curator_lock_ref (g_str_equal (name, "read")
                                         ? curator_rw_lock_get_read_lock (recipe->pair)
                                         : curator_rw_lock_get_write_lock (recipe->pair));
  }
  demand (recipe->lock != NULL || recipe->semaphore != NULL, name, error);
}

/* A lock of this library creates the parents first. Its release is confirmed, or its node could
 * still be there when the bare one lists. */
static void
init_bare (Recipe *recipe, const Request *request, int i, gboolean async)
{
  const char *path = request_text (request, "path");
  const gboolean is_semaphore = g_str_equal (request_text (request, "recipe"), "bare-semaphore");

  *recipe = (Recipe){ .async = async };
  if (i == 0) {
    recipe_init (recipe, is_semaphore ? "semaphore" : "mutex", peer_session (request, "server", i),
                 path, FALSE);
    recipe_acquire (recipe);
    recipe_release (recipe);
  }
  if (g_str_equal (request_text (request, "recipe"), "bare-socket")) {
    recipe->socket = bare_socket_new (request_text (request, "server"), path, async);
    return;
  }
  recipe->bare = bare_new (request_text (request, "server"), path, is_semaphore, async);
}

void
recipe_init_asked (Recipe *recipe, const Request *request, int i)
{
  const char *name = request_flag (request, "recipe") ? request_text (request, "recipe") : "mutex";
  const gboolean async = request_flag (request, "async");

  if (g_str_has_prefix (name, "bare")) {
    init_bare (recipe, request, i, async);
    return;
  }
  recipe_init (recipe, name, peer_session (request, "server", i), request_text (request, "path"),
               async);
}

void
recipe_acquire (Recipe *recipe)
{
  g_autoptr (GError) error = NULL;
  if (recipe->bare != NULL) {
    bare_acquire (recipe->bare);
  } else if (recipe->socket != NULL) {
    bare_socket_acquire (recipe->socket);
  } else if (recipe->semaphore != NULL) {
    recipe->lease =
        curator_semaphore_acquire (recipe->semaphore, CURATOR_WAIT_FOREVER, NULL, &error);
    demand (recipe->lease != NULL, "acquire", error);
  } else {
    demand (curator_lock_acquire (recipe->lock, CURATOR_WAIT_FOREVER, NULL, &error), "acquire",
            error);
  }
}

static void
recipe_release_then (Recipe *recipe)
{
  if (recipe->semaphore != NULL)
    g_clear_pointer (&recipe->lease, curator_lease_unref);
  else
    curator_lock_release_then (recipe->lock, CURATOR_WAIT_DEFAULT, NULL, NULL, NULL);
}

void
recipe_release (Recipe *recipe)
{
  g_autoptr (GError) error = NULL;
  if (recipe->bare != NULL) {
    bare_release (recipe->bare);
  } else if (recipe->socket != NULL) {
    bare_socket_release (recipe->socket);
  } else if (recipe->async) {
    recipe_release_then (recipe);
  } else if (recipe->semaphore != NULL) {
    demand (curator_lease_release (recipe->lease, CURATOR_WAIT_DEFAULT, NULL, &error), "release",
            error);
    g_clear_pointer (&recipe->lease, curator_lease_unref);
  } else {
    demand (curator_lock_release (recipe->lock, CURATOR_WAIT_DEFAULT, NULL, &error), "release",
            error);
  }
}

void
recipe_clear (Recipe *recipe)
{
  g_clear_pointer (&recipe->lock, curator_lock_unref);
  g_clear_pointer (&recipe->pair, curator_rw_lock_unref);
  g_clear_pointer (&recipe->semaphore, curator_semaphore_unref);
  g_clear_pointer (&recipe->bare, bare_free);
  g_clear_pointer (&recipe->socket, bare_socket_free);
}

void
peer_await_nodes (CuratorLock *lock, int n)
{
  int found = -1;
  while (found < n) {
    g_autoptr (GError) error = NULL;
    g_auto (GStrv) nodes =
        curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error);
    if (nodes == NULL)
      peer_die ("participants", error);
    g_usleep (found >= 0 ? 10000 : 0);
    found = (int) g_strv_length (nodes);
  }
}

void
peer_await_queue (const Request *request, const char *recipe, int n)
{
  CuratorClient *client = peer_session (request, "observe", -1);
  Recipe observer;
  recipe_init (&observer, recipe, client, request_text (request, "path"), FALSE);
  peer_await_nodes (observer.lock, n);
  recipe_clear (&observer);
}
