/* What a client with TLS and SASL leaves behind: no secret in memory or in the log, and nothing
 * that grows with each connect. */
#include "memory_search.h"
#include "secured.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "session/session.h"
#include "support/sanitized.h"
#include "zk/zk_real.h"

#include <malloc.h>
#include <string.h>

#define N_WARM_UP  20
#define N_CONNECTS 100 /* CURATOR_TEST_CONNECTS: as many instead */
/* A fifth of it is for each handshake, until the server has granted less: a server on a busy
 * machine that has just started needs many seconds for its first ones. */
#define PATIENT_SESSION_MS 120000
/* The heap of a process breathes: buffers of libraries, caches of threads. */
#define SLACK_BYTES (128 * 1024)

static CuratorClient *
logged_in_client (Secured *secured)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorTls) tls = secured_tls (secured);

  assert_ok (curator_tls_set_certificate_files (tls, secured_file (secured, "client.pem"),
                                                secured_file (secured, "client-encrypted.key"),
                                                KEY_PASSWORD, &error),
             &error);
  CuratorClient *client = secured_client (secured->address, tls);
  curator_client_set_session_timeout (client, PATIENT_SESSION_MS);
  curator_client_set_connection_timeout (client, PATIENT_SESSION_MS);
  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error), &error);
  return client;
}

static void
connect_patiently (CuratorClient *client)
{
  g_autoptr (GError) error = NULL;

  assert_ok (curator_client_start (client, &error), &error);
  assert_ok (curator_client_block_until_connected (client, PATIENT_SESSION_MS, NULL, &error),
             &error);
}

static GString *logged; /* NULL: no longer kept */
static GMutex logged_mutex;

static GLogWriterOutput
keep_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  g_autofree char *text = g_log_writer_format_fields (level, fields, n_fields, FALSE);
  g_mutex_lock (&logged_mutex);
  if (logged != NULL)
    g_string_append (logged, text);
  g_mutex_unlock (&logged_mutex);
  return G_LOG_WRITER_HANDLED;
}

/* What is refused is logged. */
static void
log_in_in_vain (Secured *secured)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorClient) client = logged_in_client (secured);

  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, "wrong", &error), &error);
  assert_refused (client, CURATOR_CONNECT_ERROR_SASL, "wrong password");
}

TEST (test_no_secret_remains)
{
  const char *secrets[] = { SASL_PASSWORD, KEY_PASSWORD };
  g_autoptr (CuratorClient) client = logged_in_client (secured);

  connect_patiently (client);
  g_autoptr (CuratorLock) lock = mutex_new (client, "/tls/secrets");
  assert_acquired (lock);
  /* Kept for reconnects: the search does find what is there. */
  for (gsize i = 0; i < G_N_ELEMENTS (secrets); i++)
    assert_true (IS_SANITIZED || memory_count (secrets[i], strlen (secrets[i])) > 0);
  assert_released (lock);
  g_clear_pointer (&lock, curator_lock_unref);
  g_clear_pointer (&client, curator_client_unref);
  log_in_in_vain (secured);
  for (gsize i = 0; i < G_N_ELEMENTS (secrets); i++)
    assert_true (IS_SANITIZED || memory_count (secrets[i], strlen (secrets[i])) == 0);
  g_mutex_lock (&logged_mutex);
  for (gsize i = 0; i < G_N_ELEMENTS (secrets); i++)
    assert_null (strstr (logged->str, secrets[i]));
  assert_true (logged->len > 0);
  g_string_free (g_steal_pointer (&logged), TRUE);
  g_mutex_unlock (&logged_mutex);
}

/* The password of the session lets anybody take its locks over. libzookeeper leaves it where its
 * handle was, and nothing can be done about that; TLS has buffers of its own. */
TEST (test_no_session_password_remains)
{
  g_autoptr (CuratorClient) client = secured_client (zk_server_address (secured->server), NULL);
  g_autoptr (StateLog) log = state_log_new (client);
  g_autoptr (GError) error = NULL;
  guint8 password[16];

  assert_ok (curator_client_set_sasl_digest (client, SASL_USER, SASL_PASSWORD, &error), &error);
  client_start (client);
  assert_true (zk_server_restart (secured->server));
  assert_true (state_log_wait (log, CURATOR_CONNECTION_STATE_RECONNECTED, 1, LONG_MS));
  curator_client_lock (client);
  zhandle_t *zh = client->session->handle->zh;
  curator_client_unlock (client);
  const gsize handle = (gsize) zh;
  const gsize end = handle + malloc_usable_size (zh);
  memcpy (password, zoo_client_id (zh)->passwd, sizeof password);
  assert_true (IS_SANITIZED || memory_count (password, sizeof password) > 1);
  g_clear_pointer (&client, curator_client_unref);
  const guint found = IS_SANITIZED ? 1 : memory_count (password, sizeof password);
  const guint theirs =
      IS_SANITIZED ? 0 : memory_count_between (handle, end, password, sizeof password);
  explicit_bzero (password, sizeof password);
  assert_int_equal (found, theirs + 1); /* ours on this stack */
}

static guint
count_entries (const char *directory)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static void
connect_times (Secured *secured, guint n)
{
  for (guint i = 0; i < n; i++) {
    g_autoptr (CuratorClient) client = logged_in_client (secured);
    connect_patiently (client);
  }
}

TEST (test_connects_leave_nothing)
{
  const char *wanted = g_getenv ("CURATOR_TEST_CONNECTS");
  const guint n = wanted != NULL ? (guint) g_ascii_strtoull (wanted, NULL, 10) : N_CONNECTS;

  connect_times (secured, N_WARM_UP);
  const guint fds = count_entries ("/proc/self/fd");
  const guint threads = count_entries ("/proc/self/task");
  const gsize bytes = mallinfo2 ().uordblks;
  connect_times (secured, n);
  /* Threads end after what they were started for. */
  assert_soon (count_entries ("/proc/self/fd") <= fds
               && count_entries ("/proc/self/task") <= threads);
  const gssize grown = (gssize) (mallinfo2 ().uordblks - bytes);
  print_message ("%u connects: heap grown by %zd bytes\n", n, grown);
  /* Sanitizers replace the allocator; they report leaks themselves. */
  assert_true (IS_SANITIZED || grown < SLACK_BYTES);
}

int
main (void)
{
  logged = g_string_new (NULL);
  g_log_set_writer_func (keep_log, NULL, NULL);
  return suite_run ("secured_life", secured_start, secured_stop);
}
