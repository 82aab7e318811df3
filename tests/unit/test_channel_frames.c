/* The frames that the channel reads and writes, and the order of servers. */
#include "addresses.h"
#include "unit.h"

#include "channel/channel_frames.h"
#include "channel/endpoints.h"
#include "support/net.h"

#include <string.h>

static const guint8 password[CURATOR_PASSWORD_LENGTH] = "0123456789abcdef";

TEST (test_sizes)
{
  const guint8 frame[] = { 0, 0, 0, 2, 'a', 'b', 'c' };
  const guint8 negative[] = { 0xff, 0, 0, 0 };

  assert_int_equal (curator_frame_size (frame, 3, 64), 0);
  assert_int_equal (curator_frame_size (frame, 5, 64), 0);
  assert_int_equal (curator_frame_size (frame, 6, 64), 6);
  assert_int_equal (curator_frame_size (frame, 7, 64), 6);
  assert_int_equal (curator_frame_size (frame, 7, 6), 6);
  assert_int_equal (curator_frame_size (frame, 7, 5), -1);
  assert_int_equal (curator_frame_size (negative, 4, 64), -1);
}

/* As libzookeeper and Java write it, with the byte for read-only sessions. */
TEST (test_connect_request)
{
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  CuratorConnectFrame read;

  net_put_int32 (frame, 45);
  net_put_int32 (frame, 0);
  net_put_int64 (frame, 77);
  net_put_int32 (frame, 30000);
  net_put_int64 (frame, -5);
  net_put_buffer (frame, password, sizeof password);
  g_byte_array_append (frame, (const guint8 *) "", 1);
  assert_int_equal (curator_frame_size (frame->data, frame->len, CURATOR_CONNECT_FRAME_MAX),
                    frame->len);
  assert_true (curator_frame_read_request (frame->data, frame->len, &read));
  assert_int_equal (read.timeout_ms, 30000);
  assert_int_equal (read.session_id, -5);
  assert_memory_equal (read.password, password, sizeof password);
  curator_frame_clear_password (frame->data);
  assert_true (curator_frame_read_request (frame->data, frame->len, &read));
  assert_int_equal (read.session_id, -5);
  assert_false (curator_passwords_equal (read.password, password));
  for (guint n = 0; n < frame->len - 1; n++)
    assert_int_equal (curator_frame_read_request (frame->data, n, &read), FALSE);
}

TEST (test_sasl_frames)
{
  g_autoptr (GByteArray) frame = curator_frame_write_sasl (7, (const guint8 *) "token", 5);
  const guint8 wanted[] = { 0,   0, 0, 17, 0, 0,   0,   7,   0,   0,  0,
                            102, 0, 0, 0,  5, 't', 'o', 'k', 'e', 'n' };
  guint8 reply[] = { 0, 0, 0, 22, 0, 0, 0, 7, 0, 0, 0, 0,   0,
                     0, 0, 1, 0,  0, 0, 0, 0, 0, 0, 2, 'o', 'k' };
  CuratorSaslReply read;

  assert_int_equal (frame->len, sizeof wanted);
  assert_memory_equal (frame->data, wanted, sizeof wanted);
  assert_true (curator_frame_read_sasl_reply (reply, sizeof reply, &read));
  assert_int_equal (read.error, 0);
  assert_int_equal (read.length, 2);
  assert_memory_equal (read.token, "ok", 2);
  reply[23] = 3; /* longer than the frame */
  assert_false (curator_frame_read_sasl_reply (reply, sizeof reply, &read));
  memset (reply + 20, 0xff, 4); /* null */
  assert_true (curator_frame_read_sasl_reply (reply, sizeof reply, &read));
  assert_int_equal (read.length, 0);
  reply[19] = 1; /* an error, without a token */
  assert_true (curator_frame_read_sasl_reply (reply, 20, &read));
  assert_int_equal (read.error, 1);
  assert_false (curator_frame_read_sasl_reply (reply, 19, &read));
}

/* number: "127.0.0.N" of the first server, and so on; with another one for each. */
static GPtrArray *
servers_at (const char *list, guint number)
{
  GPtrArray *servers = servers_of (list);

  for (guint i = 0; i < servers->len; i++) {
    g_autofree char *both = g_strdup_printf ("127.0.0.%u 127.0.1.%u", number + i, number + i);
    resolve (servers, i, both, NULL);
  }
  return servers;
}

/* Every server has its turn once in a round, and every address of a name in its turn. */
TEST (test_rounds)
{
  g_autoptr (GPtrArray) servers = servers_at ("tls://a:2281,tls://b:1,tls://c:2281", 1);
  CuratorEndpoints *endpoints = curator_endpoints_new (servers);
  int seen[3] = { 0 };

  for (int round = 0; round < 2; round++) {
    curator_endpoints_start_round (endpoints);
    for (int turn = 0; turn < 6; turn++) {
      assert_non_null (curator_endpoints_address (endpoints));
      const char *host = curator_endpoints_server (endpoints)->host;
      assert_int_equal (curator_endpoints_server (endpoints)->port, *host == 'b' ? 1 : 2281);
      seen[*host - 'a']++;
      assert_int_equal (curator_endpoints_advance (endpoints), turn == 5);
    }
  }
  for (int i = 0; i < 3; i++)
    assert_int_equal (seen[i], 4);
  curator_endpoints_free (endpoints);
}

TEST (test_names_without_an_address)
{
  g_autoptr (GPtrArray) servers = servers_of ("a,b");
  curator_server_resolved (servers->pdata[0], NULL, "unknown");
  CuratorEndpoints *endpoints = curator_endpoints_new (servers);
  for (int turn = 0; turn < 2; turn++) {
    const gboolean is_a = *curator_endpoints_server (endpoints)->host == 'a';
    assert_null (curator_endpoints_address (endpoints));
    assert_string_equal (curator_endpoints_why (endpoints),
                         is_a ? "unknown" : "no name server has answered yet");
    assert_int_equal (curator_endpoints_advance (endpoints), turn == 1);
  }
  curator_endpoints_free (endpoints);
}

/* Whatever the order is shuffled to: the address in use stays the one whose turn it is. */
TEST (test_another_list)
{
  g_autoptr (GPtrArray) servers = servers_at ("a,b,c", 1);
  g_autoptr (GPtrArray) more = servers_at ("a,b,c,d", 1);
  g_autoptr (GPtrArray) others = servers_at ("a,b,c", 10);
  CuratorEndpoints *endpoints = curator_endpoints_new (servers);

  for (int turn = 0; turn < 100; turn++) {
    g_autofree char *host = g_strdup (curator_endpoints_server (endpoints)->host);
    const CuratorAddress address = *curator_endpoints_address (endpoints);
    assert_true (curator_endpoints_update (endpoints, turn % 2 == 0 ? more : servers)
                 || *host == 'd');
    if (*host != 'd') {
      assert_string_equal (curator_endpoints_server (endpoints)->host, host);
      assert_memory_equal (&curator_endpoints_address (endpoints)->name, &address.name,
                           address.length);
    }
    curator_endpoints_advance (endpoints);
  }
  assert_false (curator_endpoints_update (endpoints, others));
  for (int turn = 0; turn < 6; turn++)
    assert_int_equal (curator_endpoints_advance (endpoints), turn == 5);
  curator_endpoints_free (endpoints);
}

/* libzookeeper leaves after 2/3 of the timeout: all servers together have less. */
TEST (test_patience)
{
  for (int n = 1; n <= 9; n++) {
    g_autoptr (GString) list = g_string_new ("a");
    for (int i = 1; i < n; i++)
      g_string_append (list, ",a");
    g_autoptr (GPtrArray) servers = servers_of (list->str);
    CuratorEndpoints *endpoints = curator_endpoints_new (servers);
    const gint64 patience_us = curator_endpoints_patience_us (endpoints, 9000);
    assert_true (patience_us * n < 6000 * 1000);
    assert_true (patience_us <= 1800 * 1000 && patience_us >= 5400 * 1000 / MAX (n, 3));
    curator_endpoints_free (endpoints);
  }
  assert_true (curator_endpoints_pause_us (0, 40000) < curator_endpoints_pause_us (2, 40000));
  assert_int_equal (curator_endpoints_pause_us (60, 40000), G_USEC_PER_SEC);
  assert_int_equal (curator_endpoints_pause_us (60, 1000), 50000);
}

SUITE ("channel_frames", NULL, NULL)
