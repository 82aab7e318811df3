/* CAs, certificates and lists of revoked ones, made by GnuTLS; any failure fails the test. */
#pragma once

#include <glib.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

typedef struct
{
  gnutls_x509_privkey_t key;
  gnutls_x509_crt_t certificate;
} Party;

/* "CN=name". issuer: NULL for itself. usage: GNUTLS_KEY_* of a CA; 0: a server, "zk.test". */
Party party_new (const char *name, const Party *issuer, unsigned usage);
/* Of a server, with a key of its own, that is in each respect as told. basic_constraints: -1: none.
 * version: 1 has neither these nor an alternative name. */
Party party_new_as (const char *name, const Party *issuer, int version, int basic_constraints);
/* The same of files in PEM. */
Party party_new_from (const char *certificate, const char *key);
void party_clear (Party *party);
char *party_to_pem (const Party *party);

/* A list in PEM. revoked: NULL for none. end: -1 for no date of the next update. */
char *make_list (const Party *issuer, const Party *revoked, time_t begin, time_t end);
