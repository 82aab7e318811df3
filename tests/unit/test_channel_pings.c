/* Pings and their answers, found in bytes that come in pieces, and their dates. */
#include "unit.h"

#include "channel/channel_frames.h"
#include "channel/channel_pings.h"
#include "support/net.h"

#define PING    (-2)
#define EVENT   (-1)
#define REQUEST 7

/* n_more bytes after the xid look like pings, too. */
static void
add_frame (GByteArray *bytes, gint32 xid, guint n_more)
{
  net_put_int32 (bytes, (gint32) (4 + 4 * n_more));
  net_put_int32 (bytes, xid);
  for (guint i = 0; i < n_more; i++)
    net_put_int32 (bytes, i % 2 == 0 ? 8 : PING);
}

static GByteArray *
five_frames (void)
{
  GByteArray *bytes = g_byte_array_new ();

  add_frame (bytes, REQUEST, 6);
  add_frame (bytes, PING, 1);
  net_put_int32 (bytes, 0); /* shorter than an xid */
  net_put_int32 (bytes, 2);
  g_byte_array_append (bytes, (const guint8 *) "\xff\xff", 2);
  add_frame (bytes, EVENT, 3);
  add_frame (bytes, PING, 0);
  return bytes;
}

TEST (test_any_pieces)
{
  g_autoptr (GByteArray) bytes = five_frames ();

  for (gsize first = 0; first <= bytes->len; first++) {
    for (gsize second = first; second <= bytes->len; second++) {
      CuratorPingScan scan = { 0 };
      guint found = curator_ping_scan (&scan, bytes->data, first);
      found += curator_ping_scan (&scan, bytes->data + first, second - first);
      found += curator_ping_scan (&scan, bytes->data + second, bytes->len - second);
      assert_int_equal (found, 2);
    }
  }
}

TEST (test_nonsense_is_the_end)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  CuratorPingScan scan = { 0 };

  add_frame (bytes, PING, 0);
  net_put_int32 (bytes, -1);
  add_frame (bytes, PING, 0);
  assert_int_equal (curator_ping_scan (&scan, bytes->data, bytes->len), 1);
  assert_int_equal (curator_ping_scan (&scan, bytes->data, bytes->len), 0);
}

/* Whatever the pieces are: everything up to the length that cannot be. */
TEST (test_what_can_be_passed_on)
{
  static const gint32 lengths[] = {
    G_MININT32, -100, -1, 0, 4, 15, 16, CURATOR_FRAME_MAX, CURATOR_FRAME_MAX + 1, G_MAXINT32
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lengths); i++) {
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    add_frame (bytes, REQUEST, 6);
    add_frame (bytes, PING, 3);
    const gboolean can_be = lengths[i] >= 16 && lengths[i] <= CURATOR_FRAME_MAX;
    const gsize good = bytes->len + (can_be ? 12 : 3);
    net_put_int32 (bytes, lengths[i]);
    net_put_int32 (bytes, PING);
    net_put_int32 (bytes, PING);
    for (gsize first = 0; first < good; first++) {
      CuratorPingScan scan = { 0 };
      curator_ping_scan (&scan, bytes->data, first);
      assert_int_equal (curator_ping_scan_sound (&scan, bytes->data + first, bytes->len - first),
                        good - first);
    }
  }
}

/* An answer is never dated later than its ping was sent. */
TEST (test_dates)
{
  g_autoptr (GByteArray) ping = g_byte_array_new ();
  g_autoptr (GByteArray) request = g_byte_array_new ();
  CuratorPings pings = { 0 };

  add_frame (ping, PING, 1);
  add_frame (request, REQUEST, 3);
  curator_pings_note_requests (&pings, request->data, request->len, 10);
  assert_int_equal (curator_pings_note_answers (&pings, request->data, request->len), 0);
  /* Nothing was asked. */
  assert_int_equal (curator_pings_note_answers (&pings, ping->data, ping->len), 0);
  curator_pings_note_requests (&pings, ping->data, ping->len, 20);
  assert_int_equal (curator_pings_note_answers (&pings, request->data, request->len), 0);
  assert_int_equal (curator_pings_note_answers (&pings, ping->data, 7), 0);
  assert_int_equal (curator_pings_note_answers (&pings, ping->data + 7, ping->len - 7), 20);
  assert_int_equal (curator_pings_note_answers (&pings, ping->data, ping->len), 0);
  /* Two under way. */
  curator_pings_note_requests (&pings, ping->data, ping->len, 30);
  curator_pings_note_requests (&pings, ping->data, ping->len, 40);
  assert_int_equal (curator_pings_note_answers (&pings, ping->data, ping->len), 30);
  assert_int_equal (curator_pings_note_answers (&pings, ping->data, ping->len), 30);
  curator_pings_note_requests (&pings, ping->data, ping->len, 50);
  assert_int_equal (curator_pings_note_answers (&pings, ping->data, ping->len), 50);
}

SUITE ("channel_pings", NULL, NULL)
