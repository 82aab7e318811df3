/* Connect strings: an accepted one can be printed in Java's form and parses to the same again. */
#include "fuzz.h"

#include "base/connect_string.h"
#include "base/path.h"

static char *
print (const CuratorConnectString *parsed)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < parsed->hosts->len; i++) {
    const CuratorHostPort *server = g_ptr_array_index (parsed->hosts, i);
    const gboolean is_ipv6 = strchr (server->host, ':') != NULL;
    g_assert_true (server->port > 0);
    g_assert_true (*server->host != '\0' && strpbrk (server->host, "/,[] \t\n") == NULL);
    g_string_append_printf (text, is_ipv6 ? "%s%s[%s]:%u" : "%s%s%s:%u", i > 0 ? "," : "",
                            parsed->is_tls ? "tls://" : "", server->host, server->port);
  }
  g_string_append (text, parsed->chroot != NULL ? parsed->chroot : "");
  return g_string_free (text, FALSE);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *text = fuzz_text (data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (text, &error);

  g_assert_true ((parsed == NULL) == (error != NULL));
  g_assert_true (error == NULL || g_utf8_validate (error->message, -1, NULL));
  if (parsed != NULL) {
    g_assert_cmpuint (parsed->hosts->len, >=, 1);
    g_assert_true (parsed->chroot == NULL || curator_path_validate (parsed->chroot, NULL));
    g_autofree char *once = print (parsed);
    g_autoptr (CuratorConnectString) again = curator_connect_string_parse (once, NULL);
    g_assert_nonnull (again);
    g_autofree char *twice = print (again);
    g_assert_cmpstr (once, ==, twice);
  }
  return 0;
}
