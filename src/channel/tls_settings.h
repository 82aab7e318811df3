/* The settings behind CuratorTls. Constant once a client has copied them. */
#pragma once

#include "base/refs.h"
#include "base/tag.h"
#include "curator/tls.h"

struct _CuratorTls
{
  CuratorTag tag;
  CuratorRefs refs;
  char *ca_file;     /* absolute; NULL: the system's */
  char *crl_file;    /* absolute; NULL: revocation is not checked */
  char *certificate; /* a PEM file, a PKCS#12 file or a PKCS#11 URI; NULL: none */
  char *key;         /* a PEM file or a URI; NULL for PKCS#12 */
  char *password;    /* of the key or of the PKCS#12 file, or NULL */
  gboolean is_token; /* PKCS#11 */
  char *server_name; /* NULL: each host's own */
  gboolean verify;
};

CuratorTls *curator_tls_copy (const CuratorTls *tls);

/* Wipes and frees a secret, which may be NULL. */
void curator_wipe_string (char **secret);
