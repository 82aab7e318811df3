/* A JVM with Java Curator that obeys commands: see MatrixPeer.java. */
#ifndef CURATOR_TEST_JAVA_PEER_H
#define CURATOR_TEST_JAVA_PEER_H

#include <glib.h>

typedef struct _JavaPeer JavaPeer;

/* Returns once it is connected; NULL with a message on stderr. */
JavaPeer *java_peer_start (const char *connect_string, int session_ms, gboolean compression);
void java_peer_tell (JavaPeer *peer, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Waits for a line, once for each time that it was printed. FALSE after the timeout or an error. */
gboolean java_peer_expect (JavaPeer *peer, const char *line, int timeout_ms);
/* Whether it was printed and not waited for yet. */
gboolean java_peer_has (JavaPeer *peer, const char *line);
char *java_peer_output (JavaPeer *peer); /* everything so far */
/* SIGKILL. */
void java_peer_kill (JavaPeer *peer);
/* Ends it; NULL is allowed. */
void java_peer_free (JavaPeer *peer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (JavaPeer, java_peer_free)

#endif
