/* What functions give that may fail. */
#pragma once

#include <curator/cpp/error.hpp>

#include <optional>
#include <utility>

CURATOR_CPP_BEGIN

#ifdef __cpp_exceptions
/** What a function gives that throws curator::error if it fails: just a T. In programs without
 *  exceptions it is a class of that name, which holds a T or the error. */
template <class T> using result = T;
#else
namespace detail
{
/* The error, if there is one. */
class fallible
{
public:
  fallible () = default;

  fallible (curator::error failed) : error_ (std::move (failed)) {}

  /* Why the call failed; nullptr if it did not. Borrowed. */
  const curator::error *error () const noexcept { return error_ ? &*error_ : nullptr; }

private:
  std::optional<curator::error> error_;
};

/* Where the error of a constructor goes: to make(), if it is running on this thread. */
inline thread_local std::optional<error> *making = nullptr;
}

/* A T, or the error. It is true if it has a T. */
template <class T> class [[nodiscard]] result : public detail::fallible
{
public:
  using fallible::fallible;

  result (T value) : value_ (std::move (value)) {}

  explicit operator bool () const noexcept { return value_.has_value (); }

  /* Only if it is true. */
  T &operator* () noexcept { return *value_; }

  T *operator->() noexcept { return &*value_; }

protected:
  explicit result (std::optional<T> value) : value_ (std::move (value)) {}

private:
  std::optional<T> value_;
};

/* A T, or the error, or neither after a failure that may pass. */
template <class T> class [[nodiscard]] result<std::optional<T>> : public result<T>
{
public:
  using result<T>::result;

  result (std::optional<T> value) : result<T> (std::move (value)) {}
};

/* True if the call did what it should. False without an error after a failure that may pass. */
template <> class [[nodiscard]] result<bool> : public detail::fallible
{
public:
  using fallible::fallible;

  result (bool done) : done_ (done) {}

  operator bool () const noexcept { return done_; }

private:
  bool done_ = false;
};

/* True if the call succeeded. */
template <> class [[nodiscard]] result<void> : public detail::fallible
{
public:
  using fallible::fallible;

  explicit operator bool () const noexcept { return error () == nullptr; }
};
#endif

/** Constructs a T. As its constructor, but in programs without exceptions it gives the error, where
 *  a constructor that fails ends the program. */
template <class T, class... Args>
[[nodiscard]] result<T>
make (Args &&...args)
{
#ifdef __cpp_exceptions
  return T (std::forward<Args> (args)...);
#else
  std::optional<error> failed;
  std::optional<error> *const outer = std::exchange (detail::making, &failed);
  T made (std::forward<Args> (args)...);
  detail::making = outer;
  return failed ? result<T> (std::move (*failed)) : result<T> (std::move (made));
#endif
}

CURATOR_CPP_END
