/* Why an address could not be connected to: whatever way it is written in the connect string, by
 * the list of servers, and in libzookeeper's log. */
#include "addresses.h"
#include "core/connect_failures.h"
#include "unit.h"

#include <string.h>

/* One address a line. */
static const struct
{
  const char *connect_strings[4];
  const char *logged[3]; /* by the versions of libzookeeper */
  const char *shown;
  const char *joined; /* for libzookeeper */
} addresses[] = {
  { { "127.0.0.1:2181", "127.0.0.1" },
    { "127.0.0.1:2181", "[127.0.0.1:2181]" },
    "127.0.0.1:2181",
    "127.0.0.1:2181" },
  { { "[::1]:2181", "[0:0:0:0:0:0:0:1]:2181", "[::0001]" },
    { "[::1]:2181", "[::1:2181]", "[[::1]:2181]" },
    "[::1]:2181",
    "::1:2181" },
  { { "[2001:DB8::2]:1", "[2001:db8:0::2]:1" },
    { "[2001:db8::2]:1", "[2001:db8::2:1]" },
    "[2001:db8::2]:1",
    "2001:db8::2:1" },
  { { "[::ffff:127.0.0.2]:3", "[::ffff:7f00:2]:3" },
    { "[::ffff:127.0.0.2]:3" },
    "[::ffff:127.0.0.2]:3",
    "::ffff:127.0.0.2:3" },
  /* The library's lines are without the zone. */
  { { "[fe80::1%lo]:4", "[fe80::1%1]:4" }, { "[fe80::1]:4" }, "[fe80::1%lo]:4", "fe80::1%lo:4" },
};

static void
check_cause (const char *connect_string, const char *logged, const char *shown, gint64 at_us)
{
  g_autoptr (GPtrArray) servers = servers_of (connect_string);
  g_autofree char *line =
      g_strdup_printf ("ZOO_ERROR@check_events@2985: Socket %s zk retcode=-4, "
                       "errno=111(Connection refused): server refused to accept the client",
                       logged);
  g_autofree char *wanted = g_strdup_printf ("%s: Connection refused", shown);
  g_autofree char *silent = g_strdup_printf ("%s: no answer", shown);
  gboolean known;

  g_autoptr (GError) before = curator_connect_failures_error (servers, at_us, &known);
  assert_false (known);
  assert_string_equal (before->message, silent);
  curator_connect_failures_note (line, at_us);
  g_autoptr (GError) error = curator_connect_failures_error (servers, at_us, &known);
  assert_true (known);
  assert_string_equal (error->message, wanted);
}

TEST (test_every_spelling)
{
  gint64 at_us = 0;

  for (gsize i = 0; i < G_N_ELEMENTS (addresses); i++)
    for (gsize k = 0; addresses[i].connect_strings[k] != NULL; k++) {
      const char *connect_string = addresses[i].connect_strings[k];
      g_autoptr (GPtrArray) servers = servers_of (connect_string);
      g_autofree char *joined = curator_servers_join (servers);
      assert_string_equal (joined, addresses[i].joined);
      for (gsize m = 0; m < 3 && addresses[i].logged[m] != NULL; m++)
        check_cause (connect_string, addresses[i].logged[m], addresses[i].shown, ++at_us);
    }
}

/* An address in several spellings is one. */
TEST (test_one_address)
{
  g_autoptr (GString) list = g_string_new (NULL);
  gboolean known;

  for (gsize i = 0; i < G_N_ELEMENTS (addresses); i++)
    for (gsize k = 0; addresses[i].connect_strings[k] != NULL; k++)
      g_string_append_printf (list, "%s%s", list->len > 0 ? "," : "",
                              addresses[i].connect_strings[k]);
  g_autoptr (GPtrArray) servers = servers_of (list->str);
  g_autoptr (GPtrArray) all = curator_servers_dup_addresses (servers);
  assert_int_equal (all->len, G_N_ELEMENTS (addresses));
  g_autoptr (GError) error = curator_connect_failures_error (servers, G_MAXINT64, &known);
  for (gsize i = 0; i < G_N_ELEMENTS (addresses); i++) {
    CuratorAddress again;
    g_autofree char *written = curator_address_write (all->pdata[i]);
    assert_string_equal (written, addresses[i].shown);
    assert_true (curator_address_read (written, &again));
    assert_true (curator_address_equal (&again, all->pdata[i]));
    assert_true (curator_address_read (addresses[i].joined, &again));
    assert_true (curator_address_equal (&again, all->pdata[i]));
    assert_non_null (strstr (error->message, written));
  }
}

TEST (test_no_address)
{
  g_auto (GStrv) words =
      g_strsplit ("|:|1|[::1]|[::1|[]:1|a:1|1.2.3:1|[::1]:|[::1]:x|1.2.3.4:65536|"
                  "[a]:1|[1.2.3.4|::1%:1|::1%no-such-zone:1",
                  "|", -1);

  for (char **word = words; *word != NULL; word++) {
    CuratorAddress address;
    assert_false (curator_address_read (*word, &address));
  }
}

SUITE ("connect failures", NULL, NULL)
