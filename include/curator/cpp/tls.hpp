/* How a client uses TLS. */
#pragma once

#include <curator/cpp/handle.hpp>
#include <curator/tls.h>

CURATOR_CPP_BEGIN

/** How a client uses TLS. Wraps CuratorTls; see tls.h. An empty handle stands for clear text. */
class [[nodiscard]] tls : public handle<tls, CuratorTls, curator_tls_ref, curator_tls_unref>
{
public:
  /** Clear text, unless the connect string says tls://. */
  tls () noexcept = default;

  using handle::handle;

  /** TLS with the CAs of the system: curator_tls_new() */
  static tls with_system_cas () { return tls (curator_tls_new ()); }

  /** curator_tls_set_ca_file() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void> set_ca_file (const std::string &pem)
  {
    return call<void> (curator_tls_set_ca_file, pem);
  }

  /** curator_tls_set_crl_file(); without a value: none @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void> set_crl_file (const std::optional<std::string> &pem)
  {
    return call<void> (curator_tls_set_crl_file, pem);
  }

  /** curator_tls_set_certificate_files() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void> set_certificate_files (const std::string &cert_pem, const std::string &key_pem,
                                      const std::optional<std::string> &password = std::nullopt)
  {
    return call<void> (curator_tls_set_certificate_files, cert_pem, key_pem, password);
  }

  /** curator_tls_set_pkcs12() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void> set_pkcs12 (const std::string &file,
                           const std::optional<std::string> &password = std::nullopt)
  {
    return call<void> (curator_tls_set_pkcs12, file, password);
  }

  /** curator_tls_set_pkcs11() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void> set_pkcs11 (const std::string &cert_uri, const std::string &key_uri)
  {
    return call<void> (curator_tls_set_pkcs11, cert_uri, key_uri);
  }

  /** curator_tls_set_server_name() */
  result<void> set_server_name (const std::string &name)
  {
    return call<void> (curator_tls_set_server_name, name);
  }

  /** curator_tls_set_verify() */
  void set_verify (bool verify) { curator_tls_set_verify (object (), verify); }
};

CURATOR_CPP_END
