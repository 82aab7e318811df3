/* Somebody between a client and its server, who changes nothing but what he adds after one frame of
 * the server; or who is the server himself, without knowing any secret. */
#ifndef CURATOR_TEST_MEDDLER_H
#define CURATOR_TEST_MEDDLER_H

#include <glib.h>

typedef struct _Meddler Meddler;

/* Adds that many bytes after the server's n-th frame of each connection (the ConnectResponse is the
 * first; 0: none). The bytes are part of the same segment as far as the kernel allows it. */
Meddler *meddler_new (const char *server, int after_frame, gsize n_added);
/* Answers each connect request with this frame, and any other request with success. Ownership of
 * the frame passes. */
Meddler *meddler_new_impostor (GByteArray *response);
void meddler_free (Meddler *meddler);
const char *meddler_address (Meddler *meddler);
/* Connections that have come to the point where he meddles. */
int meddler_count (Meddler *meddler);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Meddler, meddler_free)

#endif
