/* The configuration of an ensemble as the servers write it, and as nobody should. */
#include "unit.h"

#include "client/ensemble_config.h"

#include <string.h>

typedef struct
{
  const char *text;
  int secure_port;
  const char *list;
  const char *ignored;
} Case;

static const Case cases[] = {
  { "server.1=10.0.0.1:2888:3888:participant;10.0.0.1:2181\n"
    "server.2=10.0.0.2:2888:3888:observer;10.0.0.2:2182\nversion=100000000",
    0, "10.0.0.1:2181,10.0.0.2:2182", NULL },
  { "server.1=zk-1:2888:3888;2181\nserver.2=zk-2:2888:3888:participant;0.0.0.0:2181", 0,
    "zk-1:2181,zk-2:2181", NULL },
  { "server.1=[fd00::1]:2888:3888:participant;[::]:2181\n"
    "server.2=[fd00::2]:2888:3888:participant;[fd00::3]:2181",
    0, "[fd00::1]:2181,[fd00::3]:2181", NULL },
  { "server.1=[fd00::1]:2888:3888:participant;0:0:0:0:0:0:0:0:2181", 0, "[fd00::1]:2181", NULL },
  { "server.1=zk-1:2888:3888|zk-1b:2888:3888:participant;0.0.0.0:2181", 0, "zk-1:2181", NULL },
  { " server.1=zk-1:2888:3888;2181 \r\ngroup.1=1:2\nweight.1=1\n\n", 0, "zk-1:2181", NULL },
  { "server.1=zk-1:2888:3888\nserver.2=zk-2:2888:3888;2181", 0, "zk-2:2181",
    "server.1=zk-1:2888:3888" },
  { "server.1=;2181\nserver.2=zk:1:2;0\nserver.3=zk:1:2;99999\nserver.4=zk:1:2;a/b:1", 0, NULL,
    "server.1=;2181\nserver.2=zk:1:2;0\nserver.3=zk:1:2;99999\nserver.4=zk:1:2;a/b:1" },
  { "server.1=zk:1:2;a,b:1\nserver.2=zk:1:2;tls://a:1", 0, NULL,
    "server.1=zk:1:2;a,b:1\nserver.2=zk:1:2;tls://a:1" },
  { "", 0, NULL, NULL },
  { "server.", 0, NULL, NULL },
  { "server.1=", 0, NULL, "server.1=" },
  { "server.1=[", 0, NULL, "server.1=[" },
  { "server.1=zk-1:2888:3888;2181;2281\nserver.2=zk-2:2888:3888;10.0.0.2:2181;10.0.0.3:2282", 7,
    "zk-1:2281,10.0.0.3:2282", NULL },
  { "server.1=zk-1:2888:3888;2181\nserver.2=zk-2:2888:3888;10.0.0.2:2181", 7, "zk-1:7,10.0.0.2:7",
    NULL },
  { "server.1=zk-1:2888:3888;2181\nserver.2=zk-2:2888:3888;2181;2281", -1, "zk-2:2281",
    "server.1=zk-1:2888:3888;2181" },
};

TEST (test_lines)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    const Case *one = &cases[i];
    g_autofree char *ignored = NULL;
    g_autofree char *list =
        curator_ensemble_config_parse (one->text, strlen (one->text), one->secure_port, &ignored);
    if (g_strcmp0 (list, one->list) != 0 || g_strcmp0 (ignored, one->ignored) != 0)
      fail_msg ("%s: %s, ignored: %s", one->text, list, ignored);
  }
}

/* Whatever is cut off or changed: nothing is read that is not there. */
TEST (test_damage)
{
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++) {
    const gsize length = strlen (cases[i].text);
    for (gsize at = 0; at < length; at++) {
      static const char others[] = ":;|[].=\n\0x";
      for (gsize k = 0; k < sizeof others; k++) {
        g_autofree char *ignored = NULL;
        g_autofree char *text = g_memdup2 (cases[i].text, length);
        text[at] = others[k];
        g_free (curator_ensemble_config_parse (text, k == 0 ? at : length, 0, &ignored));
      }
    }
  }
}

SUITE ("ensemble config", NULL, NULL)
