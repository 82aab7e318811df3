/* GnuTLS, loaded when it is first needed: a program that does without TLS need not load it and the
 * seven libraries behind it.
 *
 * The names are GnuTLS's own: gnutls.init () is gnutls_init (). Threads: any.
 */
#pragma once

#include <glib.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* What is used of it. gnutls_free is a variable: (*gnutls.free) (). */
#define CURATOR_GNUTLS_SYMBOLS(DO)                                                                 \
  DO (alert_get)                                                                                   \
  DO (alert_get_name)                                                                              \
  DO (bye)                                                                                         \
  DO (certificate_allocate_credentials)                                                            \
  DO (certificate_client_get_request_status)                                                       \
  DO (certificate_free_credentials)                                                                \
  DO (certificate_get_crt_raw)                                                                     \
  DO (certificate_get_ours)                                                                        \
  DO (certificate_get_peers)                                                                       \
  DO (certificate_get_trust_list)                                                                  \
  DO (certificate_set_x509_key_file2)                                                              \
  DO (certificate_set_x509_key_mem2)                                                               \
  DO (certificate_set_x509_simple_pkcs12_mem)                                                      \
  DO (certificate_set_x509_system_trust)                                                           \
  DO (certificate_set_x509_trust_file)                                                             \
  DO (certificate_verification_status_print)                                                       \
  DO (certificate_verify_peers)                                                                    \
  DO (credentials_set)                                                                             \
  DO (deinit)                                                                                      \
  DO (free)                                                                                        \
  DO (handshake)                                                                                   \
  DO (init)                                                                                        \
  DO (load_file)                                                                                   \
  DO (pk_bits_to_sec_param)                                                                        \
  DO (protocol_get_version)                                                                        \
  DO (record_check_pending)                                                                        \
  DO (record_get_direction)                                                                        \
  DO (record_recv)                                                                                 \
  DO (record_send)                                                                                 \
  DO (server_name_set)                                                                             \
  DO (session_get_flags)                                                                           \
  DO (session_get_ptr)                                                                             \
  DO (session_set_ptr)                                                                             \
  DO (session_set_verify_function)                                                                 \
  DO (set_default_priority_append)                                                                 \
  DO (strerror)                                                                                    \
  DO (transport_set_ptr2)                                                                          \
  DO (transport_set_pull_function)                                                                 \
  DO (x509_crl_deinit)                                                                             \
  DO (x509_crl_get_issuer_dn3)                                                                     \
  DO (x509_crl_get_next_update)                                                                    \
  DO (x509_crl_get_this_update)                                                                    \
  DO (x509_crl_list_import2)                                                                       \
  DO (x509_crl_verify)                                                                             \
  DO (x509_crt_check_ip)                                                                           \
  DO (x509_crt_check_revocation)                                                                   \
  DO (x509_crt_deinit)                                                                             \
  DO (x509_crt_equals2)                                                                            \
  DO (x509_crt_get_ca_status)                                                                      \
  DO (x509_crt_get_expiration_time)                                                                \
  DO (x509_crt_get_pk_algorithm)                                                                   \
  DO (x509_crt_get_subject_alt_name)                                                               \
  DO (x509_crt_get_version)                                                                        \
  DO (x509_crt_import)                                                                             \
  DO (x509_crt_init)                                                                               \
  DO (x509_trust_list_add_cas)                                                                     \
  DO (x509_trust_list_deinit)                                                                      \
  DO (x509_trust_list_init)                                                                        \
  DO (x509_trust_list_iter_get_ca)                                                                 \
  DO (x509_trust_list_remove_cas)                                                                  \
  DO (x509_trust_list_verify_crt2)

#define CURATOR_GNUTLS_MEMBER(name) __typeof__ (gnutls_##name) *(name);

typedef struct
{
  CURATOR_GNUTLS_SYMBOLS (CURATOR_GNUTLS_MEMBER)
} CuratorGnutls;

/* Constant, and valid once curator_gnutls_load () has returned TRUE. */
extern CuratorGnutls curator_gnutls;
#define gnutls curator_gnutls

/* FALSE with UNSUPPORTED if it is not installed, or RESOURCES. It may be called again. */
gboolean curator_gnutls_load (GError **error);
