#include "program.h"

static void
ignore_log (const char *message)
{
}

void
program_watcher (zhandle_t *zh, int type, int state, const char *path, void *context)
{
  Program *program = context;
  const gboolean is_session = type == ZOO_SESSION_EVENT;
  const gboolean is_expired = is_session && state == ZOO_EXPIRED_SESSION_STATE;

  pthread_mutex_lock (&program->mutex);
  CuratorClient *client = program->client;
  for (int i = 0; client != NULL && i < program->n_forwards; i++)
    curator_client_forward_event (client, zh, type, state, path);
  /* Elsewhere libzookeeper might free the handle under zookeeper_close (): zookeeper.h. */
  if (is_expired) {
    zookeeper_close (g_steal_pointer (&program->zh));
    g_atomic_int_set (&program->expired, TRUE);
  }
  if (!is_session)
    g_ptr_array_add (program->fired, g_strdup (path));
  pthread_mutex_unlock (&program->mutex);
}

static zhandle_t *
open_handle (Program *program, const char *address)
{
  zhandle_t *zh = zookeeper_init2 (address, program_watcher, LONG_SESSION_MS, NULL, program,
                                   ZOO_NO_LOG_CLIENTENV, ignore_log);
  assert_non_null (zh);
  return zh;
}

Program *
program_open (const char *address)
{
  Program *program = g_new0 (Program, 1);
  program->n_forwards = 1;
  program->fired = g_ptr_array_new_with_free_func (g_free);
  pthread_mutex_init (&program->mutex, NULL);
  program->zh = open_handle (program, address);
  return program;
}

void
program_open_again (Program *program, const char *address)
{
  assert_null (program->zh);
  g_atomic_int_set (&program->expired, FALSE);
  program->zh = open_handle (program, address);
}

/* The client that it forwarded to before is closed. */
static void
set_client (Program *program, CuratorClient *client)
{
  pthread_mutex_lock (&program->mutex);
  CuratorClient *before = program->client;
  program->client = client;
  pthread_mutex_unlock (&program->mutex);
  if (before != NULL) {
    curator_client_close (before);
    curator_client_unref (before);
  }
}

void
program_close (Program *program)
{
  if (program == NULL)
    return;
  set_client (program, NULL);
  if (program->zh != NULL)
    zookeeper_close (program->zh);
  g_ptr_array_unref (program->fired);
  pthread_mutex_destroy (&program->mutex);
  g_free (program);
}

CuratorClient *
program_client (Program *program)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_forever (50);
  CuratorClient *client = curator_client_new_for_zhandle (program->zh, policy);
  curator_client_set_connection_timeout (client, LONG_MS);
  set_client (program, curator_client_ref (client));
  return client;
}

gboolean
program_wait_connected (Program *program, int timeout_ms)
{
  return holds_within (zoo_state (program->zh) == ZOO_CONNECTED_STATE, timeout_ms);
}

gboolean
program_wait_expired (Program *program, int timeout_ms)
{
  return holds_within (g_atomic_int_get (&program->expired), timeout_ms);
}

static gboolean
has_fired (Program *program, const char *path)
{
  gboolean found = FALSE;

  pthread_mutex_lock (&program->mutex);
  for (guint i = 0; i < program->fired->len; i++)
    found |= g_str_equal (g_ptr_array_index (program->fired, i), path);
  pthread_mutex_unlock (&program->mutex);
  return found;
}

gboolean
program_wait_fired (Program *program, const char *path, int timeout_ms)
{
  return holds_within (has_fired (program, path), timeout_ms);
}

gint64
program_session (Program *program)
{
  return zoo_client_id (program->zh)->client_id;
}
