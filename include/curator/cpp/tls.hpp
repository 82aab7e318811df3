/* How a client uses TLS. */
#ifndef CURATOR_CPP_TLS_HPP
#define CURATOR_CPP_TLS_HPP

#include <curator/cpp/detail.hpp>
#include <curator/tls.h>

#include <optional>
#include <string>

namespace curator
{
inline namespace v0_3
{
/** How a client uses TLS. Wraps CuratorTls; see tls.h. An empty handle stands for clear text. */
class tls
{
public:
  /** Clear text, unless the connect string says tls://. */
  tls () noexcept = default;

  /** Takes over a reference. */
  explicit tls (CuratorTls *object) noexcept : handle_ (object)
  {
  }

  /** TLS with the CAs of the system: curator_tls_new() */
  static tls
  with_system_cas ()
  {
    return tls (curator_tls_new ());
  }

  /** curator_tls_set_ca_file() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_ca_file (const std::string &pem)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_ca_file (require (), detail::c_text (pem), outcome) != FALSE);
  }

  /** curator_tls_set_crl_file(); without a value: none @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_crl_file (const std::optional<std::string> &pem)
  {
    detail::outcome outcome;
    outcome.check (
        curator_tls_set_crl_file (require (), pem ? detail::c_text (*pem) : nullptr, outcome)
        != FALSE);
  }

  /** curator_tls_set_certificate_files() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_certificate_files (const std::string &cert_pem, const std::string &key_pem,
                         const std::optional<std::string> &password = std::nullopt)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_certificate_files (
                       require (), detail::c_text (cert_pem), detail::c_text (key_pem),
                       password ? detail::c_text (*password) : nullptr, outcome)
                   != FALSE);
  }

  /** curator_tls_set_pkcs12() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_pkcs12 (const std::string &file, const std::optional<std::string> &password = std::nullopt)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_pkcs12 (require (), detail::c_text (file),
                                           password ? detail::c_text (*password) : nullptr, outcome)
                   != FALSE);
  }

  /** curator_tls_set_pkcs11() @throws error  INVALID_ARGUMENT, UNSUPPORTED */
  void
  set_pkcs11 (const std::string &cert_uri, const std::string &key_uri)
  {
    detail::outcome outcome;
    outcome.check (curator_tls_set_pkcs11 (require (), detail::c_text (cert_uri),
                                           detail::c_text (key_uri), outcome)
                   != FALSE);
  }

  /** curator_tls_set_server_name() */
  void
  set_server_name (const std::string &name)
  {
    curator_tls_set_server_name (require (), detail::c_text (name));
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
