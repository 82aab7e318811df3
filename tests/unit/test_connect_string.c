/* Connect strings: those that Java and libzookeeper accept, and clear errors for the others. Any
 * text: fuzz/fuzz_connect_string. */
#include "unit.h"

#include "base/connect_string.h"
#include "curator/error.h"

#include <string.h>

typedef struct
{
  const char *text;
  const char *hosts; /* "host|port host|port" */
  const char *chroot;
} Good;

static const Good good[] = {
  { "zk1", "zk1|2181", NULL },
  { "zk1:2182", "zk1|2182", NULL },
  { "zk1:2181,zk2,zk3.example.com:65535", "zk1|2181 zk2|2181 zk3.example.com|65535", NULL },
  { "zk1.:1", "zk1.|1", NULL },
  { "my_host-1:2181", "my_host-1|2181", NULL },
  { " zk1:2181 , zk2:2181 ", "zk1|2181 zk2|2181", NULL },
  { "zk1:02181", "zk1|2181", NULL },
  { "127.0.0.1:2181/app", "127.0.0.1|2181", "/app" },
  { "127.0.0.1/app/ns", "127.0.0.1|2181", "/app/ns" },
  { "zk1:2181/", "zk1|2181", NULL },
  { "zk1:2181,zk2:2181/app,1:x", "zk1|2181 zk2|2181", "/app,1:x" },
  { "[::1]:2181", "::1|2181", NULL },
  { "[::1]", "::1|2181", NULL },
  { "[2001:db8::5]:99,10.1.2.3", "2001:db8::5|99 10.1.2.3|2181", NULL },
  { "[fe80::1%eth0]:2181", "fe80::1%eth0|2181", NULL },
  { "[::ffff:10.0.0.1]:2181", "::ffff:10.0.0.1|2181", NULL },
  { "tls://zk1", "zk1|2281", NULL },
  { "tls://zk1:5, TLS://[::1]/app/b", "zk1|5 ::1|2281", "/app/b" },
};

/* Separated by bars. */
static const char bad[] =
    "|tls://zk1,zk2|zk1,tls://zk2|tls://|tls:///app|tls://tls://zk1|/|/app|,|zk1,|,zk1|"
    "zk1,,zk2|zk1, ,zk2|zk1:|:2181|zk1:0|zk1:65536|zk1:-1|zk1:+1|zk1: 1|zk1:21x1|"
    "zk1:99999999999999999999|zk 1:2181|zk1;zk2|user@zk1|-zk:1|zk-:1|a..b:1|.a:1|.|"
    "z\xc3\xbc.de:1|zk\n1|%s%n:1|10.1:2181|1.2.3.4.5|256.0.0.1|2181|[::1|[::1]2181|[::1]:|"
    "[::1]:x|[zk1]:2181|[10.0.0.1]:2181|[]:2181|[::1%]:2181|[::1%a b]:2181|::1|::1:2181|"
    ":::2181|::::2181|2001:db8:0:0:0:0:0:5:2181/a|http://zk1:2181|2001:db8::5:|a:b:2181|"
    "zk1:2181/app/|zk1:2181//app|zk1:2181/app/../x|zk1:2181/zookeeper|zk1/a\tb";

static char *
format_hosts (const CuratorConnectString *parsed)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < parsed->hosts->len; i++) {
    const CuratorHostPort *server = g_ptr_array_index (parsed->hosts, i);

    g_string_append_printf (text, "%s%s|%u", i > 0 ? " " : "", server->host, server->port);
  }
  return g_string_free (text, FALSE);
}

TEST (test_good)
{
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    g_autoptr (GError) error = NULL;
    g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (good[i].text, &error);

    if (parsed == NULL) {
      fail_msg ("\"%s\": %s", good[i].text, error->message);
      return;
    }
    assert_null (error);
    g_autofree char *hosts = format_hosts (parsed);
    assert_string_equal (hosts, good[i].hosts);
    assert_int_equal (g_strcmp0 (parsed->chroot, good[i].chroot), 0);
  }
}

static void
check_refused (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CuratorConnectString) parsed = curator_connect_string_parse (text, &error);

  if (parsed != NULL)
    fail_msg ("\"%s\" was accepted", text);
  assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT));
  assert_true (strlen (error->message) > 10 && strlen (error->message) < 1500);
  for (const char *c = error->message; *c != '\0'; c++)
    assert_false (g_ascii_iscntrl (*c));
}

TEST (test_bad)
{
  check_refused (NULL);
  g_auto (GStrv) texts = g_strsplit (bad, "|", -1);
  for (char **text = texts; *text != NULL; text++)
    check_refused (*text);
  assert_null (curator_connect_string_parse ("", NULL));
}

TEST (test_overlong)
{
  g_autofree char *label = g_strnfill (64, 'a');
  g_autofree char *name = g_strnfill (300, 'a');
  g_autofree char *chroot = g_strconcat ("zk1/", name, name, name, name, NULL);

  for (guint i = 50; i < 300; i += 50)
    name[i] = '.';
  check_refused (label);
  check_refused (name);
  check_refused (chroot);
}

SUITE ("connect string", NULL, NULL)
