/* Finds pings and their answers; see channel_pings.h. Threads: one; pure, no lock.
 *
 * NOTES: a frame is a length of 4 bytes and as many bytes, of which the first 4 are the xid, in
 * both directions. Only pings have the xid -2. The server answers them in order.
 */
#include "channel/channel_pings.h"

#include "channel/channel_frames.h"

#define PING_XID     (-2)
#define REPLY_HEADER 16 /* xid, zxid, error */

/* The next byte of the length or the xid. TRUE: it completes those of a ping. */
static gboolean
add_to_head (CuratorPingScan *scan, guint8 byte, gint32 least, gint32 most)
{
  scan->head[scan->n_head++] = byte;
  if (scan->n_head < 4)
    return FALSE;
  const gint32 length = curator_frame_read_int (scan->head);
  scan->is_broken = length < least || length > most;
  /* A frame may be shorter than an xid. */
  if (scan->is_broken || scan->n_head < 4 + MIN ((guint) length, 4))
    return FALSE;
  scan->n_rest = (guint32) MAX (length - 4, 0);
  scan->n_head = 0;
  return length >= 4 && curator_frame_read_int (scan->head + 4) == PING_XID;
}

guint
curator_ping_scan_least (const CuratorPingScan *scan)
{
  const gboolean is_at_part = scan->n_head == 0 || scan->n_head == 4;
  return is_at_part && scan->n_rest == 0 && !scan->is_broken ? 8 : 1;
}

/* left: becomes what follows the byte that breaks it. */
static guint
scan_frames (CuratorPingScan *scan, const guint8 *bytes, gsize *left, gint32 least, gint32 most)
{
  guint found = 0;

  while (*left > 0 && !scan->is_broken) {
    const gsize step = scan->n_rest > 0 ? MIN (scan->n_rest, *left) : 1;
    if (scan->n_rest > 0)
      scan->n_rest -= (guint32) step;
    else if (add_to_head (scan, *bytes, least, most))
      found++;
    bytes += step;
    *left -= step;
  }
  return found;
}

guint
curator_ping_scan (CuratorPingScan *scan, const guint8 *bytes, gsize n)
{
  return scan_frames (scan, bytes, &n, 0, G_MAXINT32);
}

gsize
curator_ping_scan_sound (const CuratorPingScan *scan, const guint8 *bytes, gsize n)
{
  CuratorPingScan ahead = *scan;
  gsize left = n;

  scan_frames (&ahead, bytes, &left, REPLY_HEADER, CURATOR_FRAME_MAX);
  return ahead.is_broken ? n - left - 1 : n;
}

void
curator_pings_note_requests (CuratorPings *pings, const guint8 *bytes, gsize n, gint64 now_us)
{
  const guint sent = curator_ping_scan (&pings->to_server, bytes, n);

  if (sent > 0 && pings->n_open == 0)
    pings->sent_us = now_us;
  pings->n_open += sent;
}

gint64
curator_pings_note_answers (CuratorPings *pings, const guint8 *bytes, gsize n)
{
  const guint found = curator_ping_scan (&pings->to_client, bytes, n);
  const guint answered = MIN (found, pings->n_open);

  pings->n_open -= answered;
  return answered > 0 ? pings->sent_us : 0;
}
