/* Secured connections: TLS to the servers, and SASL inside it or alone.
 *
 *   g_autoptr(CuratorTls) tls = curator_tls_new ();
 *   if (!curator_tls_set_ca_file (tls, "/etc/zk/ca.pem", &error)
 *       || !curator_tls_set_certificate_files (tls, "/etc/zk/me.pem", "/etc/zk/me.key",
 *                                              NULL, &error)
 *       || !curator_client_set_tls (client, tls, &error))
 *     return fail (error);
 *
 * Works with any libzookeeper-mt: the library secures the connection itself. A client that asks for
 * TLS or SASL never connects without it. GnuTLS is loaded by the first setter that reads a file, and
 * at the latest by curator_client_start(), which fails with UNSUPPORTED if it cannot be loaded.
 */
#ifndef CURATOR_TLS_H
#define CURATOR_TLS_H

#include <curator/types.h>
#include <curator/visibility.h>

G_BEGIN_DECLS

/** How a client uses TLS. Set it up in one thread; clients copy it. Mirrors the zookeeper.ssl.*
 *  properties of ZKClientConfig. */
typedef struct _CuratorTls CuratorTls;

/** TLS with the CAs of the system. The server's certificate must be valid for the host name (or
 *  address) of the connect string. */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
CuratorTls *curator_tls_new (void);

/** Trusts the CAs of a PEM file instead of the system's. The file is read again when it has
 *  changed.
 *  @param pem  made absolute
 *  @return FALSE with INVALID_ARGUMENT if the file cannot be read or holds no certificate;
 *          UNSUPPORTED if the library was built without TLS or GnuTLS cannot be loaded; RESOURCES */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_tls_set_ca_file (CuratorTls *tls, const char *pem, GError **error);

/** Refuses servers whose certificate, or an issuer of it, is in a list of revoked ones, a PEM file
 *  with one or more lists. Without one revocation is not checked: neither OCSP nor the addresses in
 *  certificates are asked. Each list must be signed by one of the trusted CAs, which
 *  curator_client_set_tls() checks. The file is read again when it has changed. A list after its
 *  date of the next update refuses every server, also for a client that lives.
 *  @param pem  made absolute; NULL: none
 *  @return FALSE with INVALID_ARGUMENT if the file cannot be read or holds no list, or if a list is
 *          not current; UNSUPPORTED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_tls_set_crl_file (CuratorTls *tls, const char *pem, GError **error);

/** The certificate with which the client identifies itself, and its private key. Both files are
 *  read again when they have changed, so that a renewed certificate serves the next connection.
 *  @param cert_pem  the certificate, followed by those of its issuers
 *  @param key_pem   a file of this user that nobody else can read or write, or one of root that at
 *                   most its group can read; may be @p cert_pem
 *  @param password  of an encrypted key, or NULL; wiped when the object is freed
 *  @return FALSE with INVALID_ARGUMENT if a file cannot be read, if the key does not belong to the
 *          certificate, if the certificate has expired, or if the key is anybody else's or can be
 *          read or written by others; UNSUPPORTED */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_tls_set_certificate_files (CuratorTls *tls, const char *cert_pem,
                                            const char *key_pem, const char *password,
                                            GError **error);

/** The same from a PKCS#12 file, which holds both.
 *  @param password  of the file; NULL if there is none */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_tls_set_pkcs12 (CuratorTls *tls, const char *file, const char *password,
                                 GError **error);

/** The same from a PKCS#11 token, which keeps the private key.
 *  @param cert_uri  "pkcs11:token=...;object=...;type=cert"
 *  @param key_uri   "pkcs11:...;type=private?pin-value=..." */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_tls_set_pkcs11 (CuratorTls *tls, const char *cert_uri, const char *key_uri,
                                 GError **error);

/** The name that the certificates of all servers must have, instead of each host's own. NULL: each
 *  host's own. */
CURATOR_API
void curator_tls_set_server_name (CuratorTls *tls, const char *name);

/** FALSE: accepts any certificate, so that anyone on the way can read and change everything. A
 *  warning is logged at each connect. */
CURATOR_API
void curator_tls_set_verify (CuratorTls *tls, gboolean verify);

/** Adds a reference and returns @p tls. */
CURATOR_API
CuratorTls *curator_tls_ref (CuratorTls *tls);

/** Drops a reference. The last one wipes and frees. */
CURATOR_API
void curator_tls_unref (CuratorTls *tls);

/** Connects with TLS only. Before start. "tls://host:port" for every server of the connect string
 *  does the same with the system's CAs. A server without a port then has port 2281. Mirrors
 *  ZKClientConfig.SECURE_CLIENT.
 *  @param tls  copied: later changes have no effect
 *  @return FALSE with INVALID_ARGUMENT for a client on a handle of the program's, or if a trusted
 *          CA has not signed a list of revoked certificates; UNSUPPORTED if the library was built
 *          without TLS */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_set_tls (CuratorClient *client, CuratorTls *tls, GError **error);

/** Authenticates every connection by SASL DIGEST-MD5. Before start. Use it inside TLS only: the
 *  mechanism is weak. A refusal ends the client with AUTH_FAILED. Without the mechanism's module of
 *  Cyrus SASL curator_client_start() fails with UNSUPPORTED. Mirrors the Client section of a JAAS
 *  file with DigestLoginModule.
 *  @param password  wiped when the client is freed
 *  @return FALSE with INVALID_ARGUMENT for a client on a handle of the program's, or UNSUPPORTED if
 *          the library was built without SASL */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_set_sasl_digest (CuratorClient *client, const char *user,
                                         const char *password, GError **error);

/** Authenticates every connection by Kerberos (SASL GSSAPI), with the ticket cache of the process.
 *  Before start. Mirrors the Client section of a JAAS file with Krb5LoginModule.
 *  @param service      the first part of the server's principal; NULL: "zookeeper"
 *  @param server_name  the second part; NULL: the host name of each server in the connect string,
 *                      which must then not be an address
 *  @return as curator_client_set_sasl_digest() */
CURATOR_API G_GNUC_WARN_UNUSED_RESULT
gboolean curator_client_set_sasl_gssapi (CuratorClient *client, const char *service,
                                         const char *server_name, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (CuratorTls, curator_tls_unref)

G_END_DECLS

#endif
