/* Frames of the channel: whatever a process on the machine or a server sends, nothing is read
 * behind the end, and what is accepted lies inside the frame. */
#include "fuzz.h"

#include "channel/channel_frames.h"
#include "channel/channel_pings.h"

/* Pings are found whatever the pieces are in which the bytes come. */
static void
find_pings (const uint8_t *data, size_t size)
{
  CuratorPingScan whole = { 0 };
  CuratorPingScan bytewise = { 0 };
  guint found = 0;

  for (size_t i = 0; i < size; i++)
    found += curator_ping_scan (&bytewise, data + i, 1);
  g_assert_cmpuint (curator_ping_scan (&whole, data, size), ==, found);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const gssize whole = curator_frame_size (data, size, CURATOR_SASL_FRAME_MAX);
  CuratorConnectFrame connect;
  CuratorSaslReply reply;

  find_pings (data, size);
  g_assert_true (whole == -1 || whole == 0 || (whole >= 4 && (size_t) whole <= size));
  if (whole <= 0)
    return 0;
  /* A block of exactly that size, so that an overrun is detected. */
  guint8 *frame = g_memdup2 (data, (gsize) whole);
  if (curator_frame_read_request (frame, (gsize) whole, &connect)) {
    curator_frame_clear_password (frame);
    g_assert_true (curator_frame_read_request (frame, (gsize) whole, &connect));
    g_assert_true (curator_passwords_equal (connect.password, (const guint8[16]){ 0 }));
  }
  curator_frame_read_response (frame, (gsize) whole, &connect);
  if (curator_frame_read_sasl_reply (frame, (gsize) whole, &reply) && reply.length > 0) {
    g_assert_true (reply.token + reply.length <= frame + whole);
    g_autoptr (GByteArray) answer = curator_frame_write_sasl (1, reply.token, reply.length);
    g_assert_cmpint (curator_frame_size (answer->data, answer->len, answer->len), ==, answer->len);
  }
  g_free (frame);
  return 0;
}
