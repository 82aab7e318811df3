/* What the log says of servers that cannot be reached: the cause, soon, and not again and again. */
#include "integration/fixture.h"

#include <string.h>

static struct
{
  gint n; /* atomic */
  char *first;
} warnings;

static GLogWriterOutput
count_warnings (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  for (gsize i = 0; i < n_fields; i++)
    {
      const char *text = fields[i].value;
      if ((level & G_LOG_LEVEL_WARNING) != 0 && strcmp (fields[i].key, "MESSAGE") == 0
          && g_atomic_int_add (&warnings.n, 1) == 0)
        warnings.first = g_strdup (text);
    }
  return G_LOG_WRITER_HANDLED;
}

static gboolean
has_lost_three (CuratorClient *client)
{
  guint64 values[CURATOR_COUNTER_SESSIONS + 1];
  curator_client_get_counters (client, values, G_N_ELEMENTS (values));
  return values[CURATOR_COUNTER_SESSIONS] > 3;
}

static void
check_servers (const char *servers, const char *cause)
{
  g_autoptr (CuratorClient) client = client_new (servers);
  g_autoptr (GError) error = NULL;

  g_atomic_int_set (&warnings.n, 0);
  curator_client_set_session_timeout (client, 1000);
  curator_client_set_connection_timeout (client, 500);
  assert_ok (curator_client_start (client, &error), &error);
  assert_soon (g_atomic_int_get (&warnings.n) > 0);
  assert_soon (has_lost_three (client));
  assert_int_equal (g_atomic_int_get (&warnings.n), 1);
  assert_non_null (strstr (warnings.first, cause));

  g_autoptr (CuratorLock) lock = mutex_new (client, "/warnings");
  assert_false (curator_lock_acquire (lock, 0, NULL, &error));
  assert_null (strstr (error->message, "for 0 ms"));
  g_clear_pointer (&warnings.first, g_free);
}

TEST (test_wrong_port)
{
  check_servers ("127.0.0.1:1", "127.0.0.1:1");
}

TEST (test_unresolvable_name)
{
  check_servers ("no-such-host.invalid:2181", "no-such-host.invalid");
}

int
main (void)
{
  g_log_set_writer_func (count_warnings, NULL, NULL);
  return suite_run ("warnings", NULL, NULL);
}
