/* The events of a handle come one at a time and in their order, also that of a lost connection that
 * libzookeeper forgets because it gets another list of servers. */
#include "integration/fixture.h"
#include "zk/zk_real.h"
#include "zk/zk_servers.h"

#include <zookeeper/zookeeper.h>

typedef struct
{
  Proxy *proxy;
  pthread_mutex_t mutex;
  GString *log;
  gint n_events;  /* atomic: those that were delivered */
  gint is_inside; /* atomic: the first event is being delivered */
} Watcher;

static void
note (Watcher *watcher, const char *word)
{
  pthread_mutex_lock (&watcher->mutex);
  g_string_append_printf (watcher->log, "%s ", word);
  pthread_mutex_unlock (&watcher->mutex);
}

static void
on_event (int type, int state, const char *path, gpointer data)
{
  Watcher *watcher = data;

  note (watcher, state == ZOO_CONNECTED_STATE ? "connected" : "connecting");
  if (g_atomic_int_compare_and_exchange (&watcher->is_inside, 0, 1)) {
    (void) holds_within (proxy_accepted (watcher->proxy) >= 2, LONG_MS);
    note (watcher, "left");
  }
  g_atomic_int_inc (&watcher->n_events);
}

TEST (test_a_loss_overtakes_nothing)
{
  g_autoptr (GString) log = g_string_new (NULL);
  Watcher watcher = { fixture->proxy, PTHREAD_MUTEX_INITIALIZER, log, 0, 0 };
  const char *address = fixture_proxy (fixture);
  g_autofree char *others = g_strdup_printf ("%s,%s,%s", address, address, address);
  CuratorZkHandle *handle =
      curator_zk_real_open (address, NULL, LONG_SESSION_MS, on_event, &watcher);

  assert_non_null (handle);
  assert_soon (g_atomic_int_get (&watcher.is_inside) != 0);
  assert_true (curator_zk_servers_set (NULL, handle, NULL, others, FALSE));
  proxy_cut (fixture->proxy);
  assert_soon (g_atomic_int_get (&watcher.n_events) >= 3);
  curator_zk_real_close (NULL, handle);
  assert_string_equal (log->str, "connected left connecting connected ");
}

SUITE ("event order", fixture_start_slow, fixture_stop)
