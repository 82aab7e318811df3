/* Finds libzookeeper's pings, and the answers to them, in what passes through the channel.
 *
 * Mirrors ClientCnxn.SendThread.sendPing and its answer. Threads: one; pure, no lock.
 */
#pragma once

#include <glib.h>

/* One direction of a connection, of which the bytes come in pieces. All zero: its beginning. */
typedef struct
{
  guint8 head[8]; /* of the current frame: its length and its xid */
  guint n_head;
  guint32 n_rest; /* bytes of the frame after that */
  gboolean is_broken;
} CuratorPingScan;

/* The pings of a connection that no answer has been seen to. All zero: none. */
typedef struct
{
  CuratorPingScan to_server;
  CuratorPingScan to_client;
  guint n_open;
  gint64 sent_us; /* of the first of them */
} CuratorPings;

/* How many bytes certainly follow, if anything does: a length and an xid, or an xid and a type. */
guint curator_ping_scan_least (const CuratorPingScan *scan);

/* How many pings, or answers to pings, begin in the next piece. */
guint curator_ping_scan (CuratorPingScan *scan, const guint8 *bytes, gsize n);

/* How many bytes of the next piece from the server can be passed on: libzookeeper allocates
 * whatever length it receives, up to 2 GiB, and reads a header behind the end of a shorter frame. The scan has
 * not been broken before. */
gsize curator_ping_scan_sound (const CuratorPingScan *scan, const guint8 *bytes, gsize n);

/* The next piece for the server has been read, and will be sent later than at now_us. */
void curator_pings_note_requests (CuratorPings *pings, const guint8 *bytes, gsize n, gint64 now_us);
/* The next piece for the client has come. If it answers pings: a time at which none of them had
 * been sent yet. Otherwise 0. */
gint64 curator_pings_note_answers (CuratorPings *pings, const guint8 *bytes, gsize n);
