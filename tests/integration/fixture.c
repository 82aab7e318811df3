#include "fixture.h"

#include <string.h>

/* Of client_new(). */
static int session_ms = SESSION_MS;

static int
start (void **state, int tick_ms, const char *const *java_options)
{
  Fixture *fixture = g_new0 (Fixture, 1);
  *state = fixture;
  fixture->server = zk_server_start (tick_ms, java_options);
  if (fixture->server == NULL)
    return -1;
  fixture->proxy = proxy_new (zk_server_address (fixture->server));
  fixture->raw = raw_zk_open (zk_server_address (fixture->server));
  return fixture->proxy != NULL && fixture->raw != NULL ? 0 : -1;
}

int
fixture_start (void **state)
{
  return start (state, ZK_SERVER_DEFAULT_TICK_MS, NULL);
}

int
fixture_start_slow (void **state)
{
  return fixture_start_for_sessions (state, LONG_SESSION_MS);
}

int
fixture_start_calm (void **state)
{
  session_ms = LONG_SESSION_MS;
  return fixture_start_slow (state);
}

int
fixture_start_for_sessions (void **state, int longest_ms)
{
  return start (state, longest_ms / 20, NULL);
}

int
fixture_start_with (void **state, const char *const *java_options)
{
  return start (state, LONG_SESSION_MS / 20, java_options);
}

int
fixture_start_with_reaper (void **state)
{
  const char *const options[] = { "-Dznode.container.checkIntervalMs=50", NULL };
  session_ms = LONG_SESSION_MS;
  return fixture_start_with (state, options);
}

int
fixture_stop (void **state)
{
  Fixture *fixture = *state;
  raw_zk_close (fixture->raw);
  proxy_free (fixture->proxy);
  zk_server_stop (fixture->server);
  g_free (fixture);
  return 0;
}

int
fixture_heal (void **state)
{
  Fixture *fixture = *state;
  if (fixture == NULL)
    return 0;
  zk_server_thaw (fixture->server);
  proxy_disarm (fixture->proxy);
  proxy_forget_sessions (fixture->proxy, FALSE);
  proxy_set_delay (fixture->proxy, 0, 0);
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  proxy_let_go (fixture->proxy);
  return 0;
}

const char *
fixture_server (Fixture *fixture)
{
  return zk_server_address (fixture->server);
}

const char *
fixture_proxy (Fixture *fixture)
{
  return proxy_address (fixture->proxy);
}

gint64
fixture_expire (Fixture *fixture)
{
  gint64 session = 0;
  proxy_set_mode (fixture->proxy, PROXY_REFUSE);
  assert_true (expire_last_session (fixture->proxy, fixture_server (fixture), &session));
  proxy_set_mode (fixture->proxy, PROXY_PASS);
  return session;
}

CuratorClient *
client_new (const char *address)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = curator_client_new (address, policy);
  curator_client_set_session_timeout (client, session_ms);
  curator_client_set_connection_timeout (client, LONG_MS);
  return client;
}

void
client_start (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;
  assert_ok (curator_client_start (client, &error), &error);
  assert_ok (curator_client_block_until_connected (client, LONG_MS, NULL, &error), &error);
}

CuratorClient *
client_connect (const char *address)
{
  CuratorClient *client = client_new (address);
  client_start (client);
  return client;
}

CuratorClient *
client_connect_for (const char *address, gint64 timeout_ms)
{
  CuratorClient *client = client_new (address);
  curator_client_set_session_timeout (client, timeout_ms);
  client_start (client);
  return client;
}

CuratorLock *
mutex_new (CuratorClient *client, const char *path)
{
  g_autoptr (GError) error = NULL;
  CuratorLock *lock = curator_mutex_new (client, path, &error);
  assert_ok (lock != NULL, &error);
  return lock;
}

CuratorLock *
fixed_node_new (CuratorClient *client, const char *path)
{
  return curator_fixed_node_lock_new (client, path, NULL);
}

CuratorLock *
semaphore_mutex_new (CuratorClient *client, const char *path)
{
  return curator_semaphore_mutex_new (client, path, NULL);
}

CuratorLock *
reader_new (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorRwLock) both = curator_rw_lock_new (client, path, NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_read_lock (both));
}

CuratorLock *
writer_new (CuratorClient *client, const char *path)
{
  g_autoptr (CuratorRwLock) both = curator_rw_lock_new (client, path, NULL, 0, NULL);
  return curator_lock_ref (curator_rw_lock_get_write_lock (both));
}

CuratorLock *
multi_lock_new (CuratorClient *client, const char *path)
{
  g_autofree char *second = g_strconcat (path, "-b", NULL);
  const char *const paths[] = { path, second, NULL };
  return curator_multi_lock_new_for_paths (client, paths, NULL);
}

void
check_error (GError **error, GQuark domain, int code, const char *name, const char *file, int line)
{
  if (*error == NULL || !g_error_matches (*error, domain, code)) {
    print_error ("wanted %s, got %s %d: %s\n", name,
                 *error != NULL ? g_quark_to_string ((*error)->domain) : "no error",
                 *error != NULL ? (*error)->code : 0, *error != NULL ? (*error)->message : "");
    _fail (file, line);
  }
  g_clear_error (error);
}

void
check_ok (gboolean result, GError **error, const char *call, const char *file, int line)
{
  if (!result || *error != NULL) {
    print_error ("%s: %s\n", call, *error != NULL ? (*error)->message : "no error set");
    _fail (file, line);
  }
}

void
check_acquired (CuratorLock *lock, const char *name, const char *file, int line)
{
  g_autoptr (GError) error = NULL;
  check_ok (curator_lock_acquire (lock, LONG_MS, NULL, &error), &error, name, file, line);
}

void
check_not_acquired (CuratorLock *lock, gint64 timeout_ms, CuratorError code, const char *name,
                    const char *file, int line)
{
  g_autoptr (GError) error = NULL;
  if (curator_lock_acquire (lock, timeout_ms, NULL, &error))
    g_set_error_literal (&error, G_IO_ERROR, 0, "granted");
  check_error (&error, CURATOR_ERROR, (int) code, name, file, line);
}

void
check_released (CuratorLock *lock, const char *name, const char *file, int line)
{
  g_autoptr (GError) error = NULL;
  check_ok (curator_lock_release (lock, CURATOR_WAIT_DEFAULT, NULL, &error), &error, name, file,
            line);
}

CuratorLease *
check_lease_of (CuratorLock *lock, const char *name, const char *file, int line)
{
  g_autoptr (GError) error = NULL;
  CuratorLease *lease = curator_lock_acquire_lease (lock, LONG_MS, NULL, &error);
  check_ok (lease != NULL, &error, name, file, line);
  return lease;
}

char **
participants_of (CuratorLock *lock)
{
  g_autoptr (GError) error = NULL;
  char **nodes = curator_lock_get_participant_nodes (lock, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (nodes != NULL, &error);
  return nodes;
}

GBytes *
data_of (CuratorLease *lease)
{
  g_autoptr (GError) error = NULL;
  GBytes *data = curator_lease_get_data (lease, CURATOR_WAIT_DEFAULT, NULL, &error);
  assert_ok (data != NULL, &error);
  return data;
}

static void
note_lease (Contender *contender)
{
  g_autoptr (CuratorLease) lease = curator_lock_dup_lease (contender->lock);
  contender->node = g_strdup (curator_lease_get_node_path (lease));
  contender->token = curator_lease_get_fencing_token (lease);
  contender->session = curator_lease_get_session_id (lease);
}

static void *
contend (void *data)
{
  Contender *contender = data;
  contender->acquired = curator_lock_acquire (contender->lock, contender->timeout_ms,
                                              contender->cancellable, &contender->error);
  contender->returned_ms = wait_now_ms ();
  if (contender->acquired)
    note_lease (contender);
  g_atomic_int_set (&contender->returned, TRUE);
  while (contender->acquired && !g_atomic_int_get (&contender->told))
    wait_ms (1);
  if (contender->acquired) {
    contender->released = curator_lock_release (contender->lock, CURATOR_WAIT_DEFAULT, NULL,
                                                &contender->release_error);
  }
  return NULL;
}

Contender *
contender_start (CuratorLock *lock, gint64 timeout_ms, GCancellable *cancellable)
{
  Contender *contender = g_new0 (Contender, 1);
  contender->lock = curator_lock_ref (lock);
  contender->timeout_ms = timeout_ms;
  contender->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  pthread_create (&contender->thread, NULL, contend, contender);
  return contender;
}

gboolean
contender_has_returned (Contender *contender)
{
  return g_atomic_int_get (&contender->returned);
}

gboolean
contender_wait (Contender *contender, int timeout_ms)
{
  return holds_within (contender_has_returned (contender), timeout_ms);
}

void
contender_assert_granted (Contender *contender)
{
  assert_true (contender_wait (contender, LONG_MS));
  assert_ok (contender->acquired, &contender->error);
}

Contender *
contender_of (CuratorLock *lock)
{
  Contender *contender = contender_start (lock, LONG_MS, NULL);
  contender_assert_granted (contender);
  return contender;
}

void
contender_tell_release (Contender *contender)
{
  g_atomic_int_set (&contender->told, TRUE);
}

void
contender_join (Contender *contender)
{
  if (contender->thread != 0) {
    contender_tell_release (contender);
    pthread_join (contender->thread, NULL);
    contender->thread = 0;
  }
}

void
contender_free (Contender *contender)
{
  if (contender == NULL)
    return;
  contender_join (contender);
  curator_lock_unref (contender->lock);
  g_clear_object (&contender->cancellable);
  g_clear_error (&contender->error);
  g_clear_error (&contender->release_error);
  g_free (contender->node);
  g_free (contender);
}

static void
log_state (CuratorClient *client, CuratorConnectionState state, gpointer user_data)
{
  StateLog *log = user_data;
  g_assert (log->n < (gint) G_N_ELEMENTS (log->states));
  log->states[log->n] = state;
  log->thread = g_thread_self ();
  g_atomic_int_inc (&log->n);
}

StateLog *
state_log_new (CuratorClient *client)
{
  StateLog *log = g_new0 (StateLog, 1);
  curator_client_add_state_listener (client, log_state, log, NULL);
  return log;
}

void
state_log_free (StateLog *log)
{
  g_free (log);
}

int
state_log_count (StateLog *log, CuratorConnectionState state)
{
  int n = 0;
  for (int i = 0; i < g_atomic_int_get (&log->n); i++)
    n += log->states[i] == state ? 1 : 0;
  return n;
}

gboolean
state_log_wait (StateLog *log, CuratorConnectionState state, int times, int timeout_ms)
{
  return holds_within (state_log_count (log, state) >= times, timeout_ms);
}

char *
state_log_to_string (StateLog *log)
{
  GString *text = g_string_new (NULL);
  for (int i = 0; i < g_atomic_int_get (&log->n); i++) {
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "",
                            curator_connection_state_to_string (log->states[i]));
  }
  return g_string_free (text, FALSE);
}

static const char *counted;
static gint n_counted; /* atomic */

static GLogWriterOutput
count_warning (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  for (gsize i = 0; i < n_fields; i++) {
    if ((level & G_LOG_LEVEL_WARNING) != 0 && g_str_equal (fields[i].key, "MESSAGE")
        && strstr (fields[i].value, counted) != NULL) {
      g_atomic_int_inc (&n_counted);
      return G_LOG_WRITER_HANDLED;
    }
  }
  return g_log_writer_default (level, fields, n_fields, data);
}

void
warnings_count (const char *text)
{
  counted = text;
  g_log_set_writer_func (count_warning, NULL, NULL);
}

int
warnings_taken (void)
{
  return g_atomic_int_and ((guint *) &n_counted, 0);
}

void
assert_children (Fixture *fixture, const char *path, int n, int timeout_ms)
{
  assert_true (raw_zk_wait_children (fixture->raw, path, n, timeout_ms));
}

void
assert_no_residue (Fixture *fixture, const char *path, int timeout_ms)
{
  if (!holds_within (raw_zk_count_children (fixture->raw, path) <= 0
                         && four_letter_watches_below (fixture_server (fixture), path) == 0,
                     timeout_ms)) {
    fail_msg ("%s still has %d children and %d watches after %d ms", path,
              raw_zk_count_children (fixture->raw, path),
              four_letter_watches_below (fixture_server (fixture), path), timeout_ms);
  }
}
