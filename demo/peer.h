/* SPDX-License-Identifier: Apache-2.0
 * A worker process of the demo: spawns it, reads its output line by line, and ends it by closing its stdin. */
#ifndef CURATOR_DEMO_PEER_H
#define CURATOR_DEMO_PEER_H

#include <gio/gio.h>

typedef struct _Peer Peer;

typedef struct
{
  void (*line) (Peer *peer, const char *line, gpointer user_data);        /* of stdout */
  void (*complaint) (Peer *peer, const char *line, gpointer user_data);   /* of stderr */
  void (*exited) (Peer *peer, gboolean successfully, gpointer user_data); /* after the last line */
} PeerListener;

Peer *peer_spawn (char **argv, const PeerListener *listener, gpointer user_data, GError **error);
const char *peer_get_pid (Peer *peer);
gboolean peer_is_running (Peer *peer);
void peer_close_stdin (Peer *peer);
void peer_kill (Peer *peer);
void peer_free (Peer *peer); /* kills the process if it still runs */

#endif
