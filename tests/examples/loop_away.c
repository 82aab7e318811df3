/* loop_away EXAMPLE LOCKS ROUNDS: an example's loop is never away for long while it locks and
 * releases so often, and answers come 50 ms late. A call that waits for an answer would take it
 * away for longer. The example's own timer measures. */
#include "support/metronome.h"
#include "support/proxy.h"
#include "support/waiting.h"
#include "support/zk_server.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#define ANSWER_MS 50
#define AWAY_MS   20

static char **arguments;

/* What the example prints. */
static char *
run (const char *address)
{
  char *command[] = { arguments[0], (char *) address, arguments[1], arguments[2], NULL };
  g_autoptr (GError) error = NULL;
  char *printed = NULL;
  int status = 0;
  if (!g_spawn_sync (NULL, command, NULL, G_SPAWN_DEFAULT, NULL, NULL, &printed, NULL, &status,
                     &error))
    fail_msg ("%s", error->message);
  assert_int_equal (status, 0);
  return printed;
}

static int
count (const char *text, const char *word)
{
  g_auto (GStrv) parts = g_strsplit (text, word, -1);
  return (int) g_strv_length (parts) - 1;
}

static void
test_loop_away (void **state)
{
  ZkServer *server = zk_server_start (ZK_SERVER_DEFAULT_TICK_MS, NULL);
  assert_non_null (server);
  Proxy *proxy = proxy_new (zk_server_address (server));
  assert_non_null (proxy);
  proxy_set_delay (proxy, 0, ANSWER_MS);

  const gint64 began_ms = wait_now_ms ();
  g_autofree char *printed = run (proxy_address (proxy));
  const gint64 took_ms = wait_now_ms () - began_ms;
  const char *away = strstr (printed, "away: ");
  assert_non_null (away);
  print_message ("%s: %.*s, in %d ms\n", arguments[0], (int) strcspn (away, "\n"), away,
                 (int) took_ms);
  assert_int_equal (count (printed, "held: "), atoi (arguments[1]) * atoi (arguments[2]));
  /* docs/threading.md: no call keeps the loop waiting. */
  assert_promised_ms (atoi (away + strlen ("away: ")), AWAY_MS, began_ms);

  proxy_free (proxy);
  zk_server_stop (server);
}

int
main (int argc, char **argv)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test (test_loop_away) };
  if (argc != 4)
    return 2;
  arguments = argv + 1;
  metronome_start ();
  return cmocka_run_group_tests (tests, NULL, NULL);
}
