#include "list_makers.h"

#include "secured.h"

#define DAY (24 * 3600)

static guint8 next_serial = 1;

static void
good (int rc)
{
  if (rc < 0)
    fail_msg ("GnuTLS: %s", gnutls_strerror (rc));
}

/* A certificate that was not read has no names to GnuTLS. */
static void
read_again (gnutls_x509_crt_t *certificate)
{
  gnutls_datum_t der;
  good (gnutls_x509_crt_export2 (*certificate, GNUTLS_X509_FMT_DER, &der));
  gnutls_x509_crt_deinit (*certificate);
  good (gnutls_x509_crt_init (certificate));
  good (gnutls_x509_crt_import (*certificate, &der, GNUTLS_X509_FMT_DER));
  gnutls_free (der.data);
}

static Party
party_begin (const char *name, int version)
{
  Party party;
  const time_t now = time (NULL);
  g_autofree char *dn = g_strconcat ("CN=", name, NULL);

  good (gnutls_x509_privkey_init (&party.key));
  good (gnutls_x509_privkey_generate (party.key, GNUTLS_PK_ECDSA,
                                      GNUTLS_CURVE_TO_BITS (GNUTLS_ECC_CURVE_SECP256R1), 0));
  good (gnutls_x509_crt_init (&party.certificate));
  good (gnutls_x509_crt_set_version (party.certificate, (unsigned) version));
  good (gnutls_x509_crt_set_serial (party.certificate, &next_serial, 1));
  next_serial++;
  good (gnutls_x509_crt_set_activation_time (party.certificate, now - 30 * DAY));
  good (gnutls_x509_crt_set_expiration_time (party.certificate, now + 30 * DAY));
  good (gnutls_x509_crt_set_dn (party.certificate, dn, NULL));
  good (gnutls_x509_crt_set_key (party.certificate, party.key));
  return party;
}

static void
party_be_server (Party *party)
{
  static const char host[] = "zk.test";
  good (gnutls_x509_crt_set_subject_alt_name (party->certificate, GNUTLS_SAN_DNSNAME, host,
                                              sizeof host - 1, GNUTLS_FSAN_SET));
  good (gnutls_x509_crt_set_key_purpose_oid (party->certificate, GNUTLS_KP_TLS_WWW_SERVER, 0));
}

static void
party_end (Party *party, const Party *issuer)
{
  issuer = issuer != NULL ? issuer : party;
  good (gnutls_x509_crt_sign2 (party->certificate, issuer->certificate, issuer->key,
                               GNUTLS_DIG_SHA256, 0));
  read_again (&party->certificate);
}

Party
party_new (const char *name, const Party *issuer, unsigned usage)
{
  Party party = party_begin (name, 3);

  if (usage == 0)
    party_be_server (&party);
  else
    good (gnutls_x509_crt_set_key_usage (party.certificate, usage));
  good (gnutls_x509_crt_set_basic_constraints (party.certificate, usage != 0, -1));
  party_end (&party, issuer);
  return party;
}

Party
party_new_as (const char *name, const Party *issuer, int version, int basic_constraints)
{
  Party party = party_begin (name, version);

  if (version > 1)
    party_be_server (&party);
  if (basic_constraints >= 0)
    good (gnutls_x509_crt_set_basic_constraints (party.certificate, (unsigned) basic_constraints,
                                                 -1));
  party_end (&party, issuer);
  return party;
}

Party
party_new_from (const char *certificate, const char *key)
{
  Party party;
  gnutls_datum_t pem;

  good (gnutls_x509_crt_init (&party.certificate));
  good (gnutls_load_file (certificate, &pem));
  good (gnutls_x509_crt_import (party.certificate, &pem, GNUTLS_X509_FMT_PEM));
  gnutls_free (pem.data);
  good (gnutls_x509_privkey_init (&party.key));
  good (gnutls_load_file (key, &pem));
  good (gnutls_x509_privkey_import2 (party.key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0));
  gnutls_free (pem.data);
  return party;
}

void
party_clear (Party *party)
{
  gnutls_x509_crt_deinit (party->certificate);
  gnutls_x509_privkey_deinit (party->key);
}

static char *
take_text (gnutls_datum_t *pem)
{
  char *text = g_strndup ((const char *) pem->data, pem->size);
  gnutls_free (pem->data);
  return text;
}

char *
party_to_pem (const Party *party)
{
  gnutls_datum_t pem;
  good (gnutls_x509_crt_export2 (party->certificate, GNUTLS_X509_FMT_PEM, &pem));
  return take_text (&pem);
}

char *
make_list (const Party *issuer, const Party *revoked, time_t begin, time_t end)
{
  gnutls_x509_crl_t list;
  gnutls_datum_t pem;

  good (gnutls_x509_crl_init (&list));
  good (gnutls_x509_crl_set_version (list, 2));
  good (gnutls_x509_crl_set_this_update (list, begin));
  if (end != -1)
    good (gnutls_x509_crl_set_next_update (list, end));
  if (revoked != NULL)
    good (gnutls_x509_crl_set_crt (list, revoked->certificate, begin));
  good (gnutls_x509_crl_sign2 (list, issuer->certificate, issuer->key, GNUTLS_DIG_SHA256, 0));
  good (gnutls_x509_crl_export2 (list, GNUTLS_X509_FMT_PEM, &pem));
  gnutls_x509_crl_deinit (list);
  return take_text (&pem);
}
