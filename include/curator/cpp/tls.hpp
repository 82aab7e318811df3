/* How a client uses TLS. */
#ifndef CURATOR_CPP_TLS_HPP
#define CURATOR_CPP_TLS_HPP

#include <curator/cpp/detail.hpp>
#include <curator/tls.h>

#include <optional>
#include <string>

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
/** How a client uses TLS. Wraps CuratorTls; see tls.h. An empty handle stands for clear text. */
class [[nodiscard]] tls
{
public:
  /** Clear text, unless the connect string says tls://. */
  tls () noexcept = default;

  /** Takes over a reference. */
  [[nodiscard]] explicit tls (CuratorTls *object) noexcept : handle_ (object)
  {
  }

  /** TLS with the CAs of the system: curator_tls_new() */
  static tls
  with_system_cas ()
  {
    return tls (curator_tls_new ());
  }

  /** curator_tls_set_ca_file() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void>
  set_ca_file (const std::string &pem)
  {
    detail::outcome outcome;
    return outcome.check (outcome.takes (pem)
                          && curator_tls_set_ca_file (require (), pem.c_str (), outcome));
  }

  /** curator_tls_set_crl_file(); without a value: none @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void>
  set_crl_file (const std::optional<std::string> &pem)
  {
    detail::outcome outcome;
    return outcome.check (outcome.takes (pem)
                          && curator_tls_set_crl_file (require (), detail::c_str (pem), outcome));
  }

  /** curator_tls_set_certificate_files() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void>
  set_certificate_files (const std::string &cert_pem, const std::string &key_pem,
                         const std::optional<std::string> &password = std::nullopt)
  {
    detail::outcome outcome;
    return outcome.check (outcome.takes (cert_pem, key_pem, password)
                          && curator_tls_set_certificate_files (require (), cert_pem.c_str (),
                                                                key_pem.c_str (),
                                                                detail::c_str (password), outcome));
  }

  /** curator_tls_set_pkcs12() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void>
  set_pkcs12 (const std::string &file, const std::optional<std::string> &password = std::nullopt)
  {
    detail::outcome outcome;
    return outcome.check (
        outcome.takes (file, password)
        && curator_tls_set_pkcs12 (require (), file.c_str (), detail::c_str (password), outcome));
  }

  /** curator_tls_set_pkcs11() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  result<void>
  set_pkcs11 (const std::string &cert_uri, const std::string &key_uri)
  {
    detail::outcome outcome;
    return outcome.check (
        outcome.takes (cert_uri, key_uri)
        && curator_tls_set_pkcs11 (require (), cert_uri.c_str (), key_uri.c_str (), outcome));
  }

  /** curator_tls_set_server_name() */
  result<void>
  set_server_name (const std::string &name)
  {
    detail::outcome outcome;
    CuratorTls *const object = require ();
    const bool taken = outcome.takes (name);
    if (taken)
      curator_tls_set_server_name (object, name.c_str ());
    return outcome.check (taken);
  }

  /** curator_tls_set_verify() */
  void
  set_verify (bool verify)
  {
    curator_tls_set_verify (require (), verify ? TRUE : FALSE);
  }

  /** Another handle of the same settings. */
  tls
  share () const noexcept
  {
    return tls (handle_.new_ref ());
  }

  /** The settings for the C functions, NULL for clear text; borrowed. */
  CuratorTls *
  native_handle () const noexcept
  {
    return handle_.get ();
  }

private:
  CuratorTls *
  require () const
  {
    return detail::require (handle_.get ());
  }

  detail::handle<CuratorTls, curator_tls_ref, curator_tls_unref> handle_;
};
}
}

#endif
