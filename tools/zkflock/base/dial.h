#pragma once

#include "base/secure.h"

#include <gio/gio.h>

typedef struct _Dial Dial;

typedef struct
{
  gint64 expires_at; /* seconds since 1970 */
  char *refusal;     /* NULL, or why it is not valid for the server */
} DialCertificate;

/* The servers of a connect string, each without "tls://" and the chroot. */
char **dial_split_hosts (const char *hosts);

/* NULL with error set if TLS is used and its files cannot be read. secure: NULL for TLS that
 * verifies nobody. */
Dial *dial_new (const Secure *secure, GError **error);
gboolean dial_uses_tls (Dial *dial);
void dial_free (Dial *dial);

#define DIAL_UNANSWERED "no answer to a connect: is the machine off, or a firewall in between?"

/* Any thread. Sends a four-letter word and returns the answer, which may be empty. NULL with
 * G_RESOLVER_ERROR, G_IO_ERROR, or CURATOR_CONNECT_ERROR for TLS. *progress: becomes each
 * GSocketClientEvent of the connection, atomically; or NULL. */
char *dial_ask (Dial *dial, const char *address, const char *word, gint64 timeout_ms,
                gint *progress, GError **error);
/* The same with bytes for both. size: of the question; becomes that of the answer, which a zero
 * byte follows. */
char *dial_exchange (Dial *dial, const char *address, const void *bytes, gsize *size,
                     gint64 timeout_ms, gint *progress, GError **error);
/* The certificate that the server shows; certificate->refusal is to be freed. Fails as
 * dial_ask(). */
gboolean dial_inspect (Dial *dial, const char *address, gint64 timeout_ms,
                       DialCertificate *certificate, GError **error);
/* Whether the server speaks TLS, whatever its certificate is. FALSE without TLS in this build. */
gboolean dial_offers_tls (const char *address, gint64 timeout_ms);
/* When our own certificate expires, in seconds since 1970; 0 without one. */
gint64 dial_get_own_expiry (Dial *dial);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Dial, dial_free)
