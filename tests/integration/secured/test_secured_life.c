/* What a client with TLS and SASL leaves behind: no secret in memory or in the log, and nothing
 * that grows with each connect. */
#include "secured.h"

#include "core/client-record.h"
#include "core/monitor.h"
#include "session/session.h"
#include "support/sanitized.h"
#include "zk/zk_real.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#define N_WARM_UP  20
#define N_CONNECTS 100 /* CURATOR_TEST_CONNECTS: as many instead */
#define CHUNK      (1 << 20)
/* A fifth of it is for each handshake, until the server has granted less: a server on a busy
 * machine that has just started needs many seconds for its first ones. */
#define PATIENT_SESSION_MS 120000
/* The heap of a process breathes: buffers of libraries, caches of threads. */
#define SLACK_BYTES (128 * 1024)

static CuratorClient *
logged_in_client (Secured *secured)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *address = secured_address (secured);
  g_autoptr (CuratorTls) tls = curator_tls_new ();

  assert_ok (curator_tls_set_ca_file (tls, secured_file (secured, "ca.pem"), &error), &error);
  assert_ok (curator_tls_set_certificate_files (tls, secured_file (secured, "client.pem"),
                                                secured_file (secured, "client-encrypted.key"),
                                                KEY_PASSWORD, &error),
             &error);
  CuratorClient *client = secured_client (address, tls);
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

/* How often the bytes occur in [from, to) of this process; chunk is not searched. */
static guint
count_in_range (int memory, gsize from, gsize to, const void *needle, gsize length, guint8 *chunk)
{
  guint found = 0;

  for (gsize at = from; at < to; at += CHUNK)
    {
      /* Overlapping, for a match across the border. */
      const gsize want = MIN (to - at, CHUNK + length - 1);
      const gssize got = pread (memory, chunk, want, (off_t) at);
      for (const guint8 *p = chunk;
           got > 0 && (p = memmem (p, (gsize) (chunk + got - p), needle, length)) != NULL; p++)
        found++;
    }
  return found;
}

/* How often the bytes occur in the writable memory of this process. The constants of the program
 * are not writable. A sanitizer's shadow memory is too large to be searched. */
static guint
count_bytes_in_memory (const void *needle, gsize length)
{
  g_autofree char *maps = NULL;
  const gsize size = CHUNK + length;
  g_autofree guint8 *chunk = g_malloc0 (size);
  const int memory = open ("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  guint found = 0;

  assert_true (memory >= 0);
  assert_true (g_file_get_contents ("/proc/self/maps", &maps, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (maps, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    {
      gsize from;
      gsize to;
      char rights[5];
      if (sscanf (*line, "%zx-%zx %4s", &from, &to, rights) != 3
          || !g_str_has_prefix (rights, "rw"))
        continue;
      /* The buffer would be found in itself. */
      const gsize begin = (gsize) chunk;
      if (begin < to && begin + size > from)
        {
          found += count_in_range (memory, from, MAX (from, begin), needle, length, chunk);
          from = MIN (to, begin + size);
        }
      found += count_in_range (memory, from, to, needle, length, chunk);
    }
  close (memory);
  explicit_bzero (chunk, size);
  return found;
}

/* The same in [from, to). */
static guint
count_bytes (gsize from, gsize to, const void *needle, gsize length)
{
  g_autofree guint8 *chunk = g_malloc0 (CHUNK + length);
  const int memory = open ("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  const guint found = count_in_range (memory, from, to, needle, length, chunk);

  close (memory);
  explicit_bzero (chunk, CHUNK + length);
  return found;
}

static guint
count_in_memory (const char *needle)
{
  return count_bytes_in_memory (needle, strlen (needle));
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
    assert_true (IS_SANITIZED || count_in_memory (secrets[i]) > 0);
  assert_released (lock);
  g_clear_pointer (&lock, curator_lock_unref);
  g_clear_pointer (&client, curator_client_unref);
  log_in_in_vain (secured);
  for (gsize i = 0; i < G_N_ELEMENTS (secrets); i++)
    assert_true (IS_SANITIZED || count_in_memory (secrets[i]) == 0);
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
  assert_true (IS_SANITIZED || count_bytes_in_memory (password, sizeof password) > 1);
  g_clear_pointer (&client, curator_client_unref);
  const guint found = IS_SANITIZED ? 1 : count_bytes_in_memory (password, sizeof password);
  const guint theirs = IS_SANITIZED ? 0 : count_bytes (handle, end, password, sizeof password);
  explicit_bzero (password, sizeof password);
  assert_int_equal (found, theirs + 1); /* ours on this stack */
}

static guint
count_entries (const char *directory)
{
  GDir *dir = g_dir_open (directory, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  g_dir_close (dir);
  return n;
}

/* Threads end after what they were started for. */
static gboolean
has_settled (guint fds, guint threads)
{
  const gint64 until = wait_now_ms () + LONG_MS;

  while (count_entries ("/proc/self/fd") > fds || count_entries ("/proc/self/task") > threads)
    {
      if (wait_now_ms () > until)
        return FALSE;
      g_usleep (10000);
    }
  return TRUE;
}

static void
connect_times (Secured *secured, guint n)
{
  for (guint i = 0; i < n; i++)
    {
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
  const gssize grown = (gssize) (mallinfo2 ().uordblks - bytes);
  print_message ("%u connects: heap grown by %zd bytes\n", n, grown);
  assert_true (has_settled (fds, threads));
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
