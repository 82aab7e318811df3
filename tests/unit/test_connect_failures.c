/* Why an address could not be connected to, from each form of libzookeeper's log line. */
#include "core/connect_failures.h"
#include "unit.h"

static const struct
{
  const char *shown; /* by libzookeeper */
  const char *address;
} forms[] = {
  { "127.0.0.1:2181", "127.0.0.1:2181" },
  { "[127.0.0.2:2181]", "127.0.0.2:2181" },
  { "[::1]:2181", "[::1]:2181" },
  { "[[::2]:2181]", "[::2]:2181" },
  { "[fe80::1%eth0]:2181", "[fe80::1%eth0]:2181" },
};

static void
test_every_form_of_an_address (void **state)
{
  for (gsize i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autofree char *line =
          g_strdup_printf ("ZOO_ERROR@check_events@2985: Socket %s zk retcode=-4, "
                           "errno=111(Connection refused): server refused to accept the client",
                           forms[i].shown);
      g_autofree char *wanted = g_strdup_printf ("%s: Connection refused", forms[i].address);
      gboolean known = FALSE;

      curator_connect_failures_note (line, 1);
      g_autoptr (GError) error = curator_connect_failures_error (forms[i].address, 0, &known);
      assert_true (known);
      assert_string_equal (error->message, wanted);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_every_form_of_an_address),
  };
  return cmocka_run_group_tests (tests, NULL, NULL);
}
