/* One connection to a server: in clear text, or TLS by GnuTLS. Used by one thread; no lock. */
#pragma once

#include "channel/endpoints.h"
#include "channel/tls_credentials.h"

typedef struct _CuratorStream CuratorStream;

/* Starts to connect. credentials: NULL for clear text; must outlive the stream. host: the name that
 * the certificate must have. */
CuratorStream *curator_stream_open (const CuratorAddress *address, const char *host,
                                    CuratorTlsCredentials *credentials, gboolean verify,
                                    GError **error);
/* Ends the connection also where a child process has inherited it. */
void curator_stream_close (CuratorStream *stream);

int curator_stream_fd (CuratorStream *stream);
gboolean curator_stream_is_connected (CuratorStream *stream);
/* The poll events for which it waits, besides readable data. */
short curator_stream_events (CuratorStream *stream);
/* There are bytes that poll does not show. */
gboolean curator_stream_has_pending (CuratorStream *stream);

/* Connects, then shakes hands. 1: done; 0: not now; -1 with an error. */
int curator_stream_establish (CuratorStream *stream, GError **error);
/* The number of bytes; 0: not now; -1 with an error, also at the end. */
gssize curator_stream_read (CuratorStream *stream, guint8 *bytes, gsize n, GError **error);
gssize curator_stream_write (CuratorStream *stream, const guint8 *bytes, gsize n, GError **error);
/* Nothing follows from our side. */
void curator_stream_finish (CuratorStream *stream);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorStream, curator_stream_close)
