/* A process that obeys commands on its stdin, each a line, and answers by lines on its stdout. */
#pragma once

#include <glib.h>

typedef struct _Peer Peer;

/* Takes argv. on_line is told of each line on a thread of the peer's; it may be NULL. NULL with a
 * message on stderr if there is no such program. */
Peer *peer_start (GPtrArray *argv, void (*on_line) (const char *line, gpointer data),
                  gpointer data);
/* MatrixPeer.java has the commands. Returns once it is connected; NULL with a message on stderr. */
Peer *peer_start_java (const char *connect_string, int session_ms, gboolean compression);
void peer_tell (Peer *peer, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Waits for a line of these words, or one that they begin, once for each time that it was printed;
 * to be freed. NULL after the timeout or an error. */
char *peer_await (Peer *peer, const char *line, int timeout_ms);
gboolean peer_expect (Peer *peer, int timeout_ms, const char *format, ...) G_GNUC_PRINTF (3, 4);
/* Whether it was printed and not waited for yet. */
gboolean peer_has (Peer *peer, const char *line);
char *peer_output (Peer *peer); /* everything so far */
/* SIGKILL. */
void peer_kill (Peer *peer);
/* Ends it; NULL is allowed. Its last line has been told. */
void peer_free (Peer *peer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Peer, peer_free)
