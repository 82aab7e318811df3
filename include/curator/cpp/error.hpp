/* What a function throws, or gives instead of its result. */
#pragma once

#include <curator/cpp/version.hpp>
#include <curator/error.h>

#include <gio/gio.h>
#include <stdexcept>

CURATOR_CPP_BEGIN

/** The exception of every function: a GError of a domain from error.h, or of G_IO_ERROR. */
class [[nodiscard]] error : public std::runtime_error
{
public:
  /** Copies @p cause, which must not be NULL. */
  explicit error (const GError *cause)
      : std::runtime_error (cause->message), domain_ (cause->domain), code_ (cause->code)
  {
  }

  /** #CURATOR_ERROR, #CURATOR_ZK_ERROR, #CURATOR_CONNECT_ERROR or G_IO_ERROR. */
  GQuark domain () const noexcept { return domain_; }

  /** A code of the domain, for example #CURATOR_ERROR_CLOSED. */
  int code () const noexcept { return code_; }

  /** Whether this is a #CURATOR_ERROR with that code. */
  bool is (CuratorError code) const noexcept
  {
    return domain_ == CURATOR_ERROR && code_ == static_cast<int> (code);
  }

  /** Whether the same call may succeed later: TIMED_OUT, NO_ANSWER, CONNECTION_LOST,
   *  SESSION_EXPIRED or RESOURCES. The functions whose names begin with try_ do not throw these. */
  bool is_temporary () const noexcept
  {
    return is (CURATOR_ERROR_TIMED_OUT) || is (CURATOR_ERROR_NO_ANSWER)
           || is (CURATOR_ERROR_CONNECTION_LOST) || is (CURATOR_ERROR_SESSION_EXPIRED)
           || is (CURATOR_ERROR_RESOURCES);
  }

  /** Whether a GCancellable ended the call. */
  bool is_cancelled () const noexcept
  {
    return domain_ == G_IO_ERROR && code_ == static_cast<int> (G_IO_ERROR_CANCELLED);
  }

private:
  GQuark domain_;
  int code_;
};

CURATOR_CPP_END
