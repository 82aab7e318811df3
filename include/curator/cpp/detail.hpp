/* What the other headers share. Not part of the interface. */
#ifndef CURATOR_CPP_DETAIL_HPP
#define CURATOR_CPP_DETAIL_HPP

#include <curator/cpp/error.hpp>
#include <curator/cpp/result.hpp>

#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace curator
{
inline namespace CURATOR_CPP_NAMESPACE
{
namespace detail
{
/* What only a mistake in the program leads to. */
template <class Exception = std::logic_error>
[[noreturn]] void
misuse (const char *what)
{
#ifdef __cpp_exceptions
  throw Exception (what);
#else
  g_log ("curator", G_LOG_LEVEL_ERROR, "%s", what);
  std::abort ();
#endif
}

/* Receives and owns the GError * of one call. */
class outcome
{
public:
  outcome () = default;
  outcome (const outcome &) = delete;
  outcome &operator= (const outcome &) = delete;

  ~outcome ()
  {
    g_clear_error (&error_);
  }

  operator GError ** () noexcept
  {
    return &error_;
  }

  /* Whether C can take the texts, which it would end at a NUL. */
  template <class... Text>
  bool
  takes (const Text &...texts)
  {
    return (is_text (texts) && ...) || refuse ("a text has a NUL inside");
  }

  /* Returns false, with INVALID_ARGUMENT. */
  bool
  refuse (const char *why)
  {
    g_set_error_literal (&error_, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT, why);
    return false;
  }

  /* Ends a function without a result. */
  result<void>
  check (bool succeeded) const
  {
    if (!succeeded)
      return failure<result<void>> ();
    return result<void> ();
  }

  /* Ends a function with one. */
  template <class T>
  result<T>
  give (bool succeeded, T value) const
  {
    if (!succeeded)
      return failure<result<T>> ();
    return result<T> (std::move (value));
  }

  /* Ends a function for which a timeout is no error. */
  result<bool>
  in_time (bool succeeded) const
  {
    if (!succeeded && !is_late ())
      return failure<result<bool>> ();
    return succeeded;
  }

  template <class T>
  result<std::optional<T>>
  in_time (bool succeeded, T value) const
  {
    if (!succeeded && !is_late ())
      return failure<result<std::optional<T>>> ();
    return succeeded ? std::optional<T> (std::move (value)) : std::nullopt;
  }

  /* Ends a constructor. */
  void
  built (bool succeeded) const
  {
#ifdef __cpp_exceptions
    check (succeeded);
#else
    if (!succeeded)
      {
        error failed = failure<error> ();
        making != nullptr ? void (*making = std::move (failed)) : misuse (failed.what ());
      }
#endif
  }

  bool
  is_late () const noexcept
  {
    return g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
           || g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER);
  }

  const GError *
  get () const noexcept
  {
    return error_;
  }

private:
  static bool
  is_text (const std::string &text)
  {
    return text.find ('\0') == std::string::npos;
  }

  static bool
  is_text (const std::optional<std::string> &text)
  {
    return !text || is_text (*text);
  }

  /* Failure without an error is what the C library answers to a misuse. */
  template <class R>
  R
  failure () const
  {
    if (error_ == nullptr)
      misuse ("the curator library refused the call");
#ifdef __cpp_exceptions
    throw error (error_);
#else
    return R (error (error_));
#endif
  }

  GError *error_ = nullptr;
};

inline const char *
c_str (const std::optional<std::string> &text) noexcept
{
  return text ? text->c_str () : nullptr;
}

template <class T>
T *
require (T *object)
{
  if (object == nullptr)
    misuse ("the curator handle is empty");
  return object;
}

/* What unwinds the stack of a thread that ends in pthread_exit() or is cancelled. Only GNU's library
 * shows it to catch (...), which then must not keep it. */
#ifdef __GLIBCXX__
using thread_end = abi::__forced_unwind;
#else
class thread_end
{
};
#endif

/* Catches exceptions, which must not reach the C frames of the caller. The end of the thread
 * passes; it has no object, and the reference to it is null. */
template <class Call>
__attribute__ ((no_sanitize ("null"))) void
shield (Call &&call)
{
#ifndef __cpp_exceptions
  std::forward<Call> (call) ();
#else
  try
    {
      std::forward<Call> (call) ();
    }
  catch (const thread_end &)
    {
      throw;
    }
  catch (const std::exception &thrown)
    {
      g_log ("curator", G_LOG_LEVEL_CRITICAL, "a callback threw: %s", thrown.what ());
    }
  catch (...)
    {
      g_log ("curator", G_LOG_LEVEL_CRITICAL,
             "a callback threw an exception that is not a std::exception");
    }
#endif
}

/* The same for what the library waits for: it has to return. */
template <class Call>
void
shield_question (Call &&call) noexcept
{
  shield (std::forward<Call> (call));
}

template <class F>
void
destroy (gpointer data)
{
  shield ([data] { delete static_cast<F *> (data); });
}

template <class F>
std::decay_t<F> *
keep (F &&callback)
{
  return new std::decay_t<F> (std::forward<F> (callback));
}

template <class T, T *(*Ref) (T *), void (*Unref) (T *)> class handle
{
public:
  handle () noexcept = default;

  explicit handle (T *object) noexcept : object_ (object)
  {
  }

  handle (handle &&other) noexcept : object_ (std::exchange (other.object_, nullptr))
  {
  }

  handle &
  operator= (handle &&other) noexcept
  {
    handle old (std::exchange (object_, std::exchange (other.object_, nullptr)));
    return *this;
  }

  ~handle ()
  {
    if (object_ != nullptr)
      Unref (object_);
  }

  T *
  get () const noexcept
  {
    return object_;
  }

  T *
  new_ref () const noexcept
  {
    return object_ != nullptr ? Ref (object_) : nullptr;
  }

private:
  T *object_ = nullptr;
};

/* A listener that the library has taken has an id. */
template <class F>
unsigned
release_to_library (std::unique_ptr<F> &kept, guint id)
{
  if (id == 0)
    misuse ("the curator library refused the listener");
  kept.release ();
  return id;
}

/* Takes ownership of the callback of a pending call, which runs once. */
template <class F>
std::unique_ptr<F>
take (gpointer data) noexcept
{
  return std::unique_ptr<F> (static_cast<F *> (data));
}

/* Calls the callback of a release that does not wait. */
template <class F>
void
tell_release (const GError *failed, gpointer data)
{
  shield ([&] {
    const auto kept = take<F> (data);
    const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
    (*kept) (why ? &*why : nullptr);
  });
}

/* Takes over the array; none if the call failed. */
template <class Take>
auto
take_array (GPtrArray *objects, Take &&take)
{
  std::vector<std::invoke_result_t<Take, gpointer>> taken;
  for (guint i = 0; objects != nullptr && i < objects->len; i++)
    taken.push_back (take (g_ptr_array_index (objects, i)));
  g_clear_pointer (&objects, g_ptr_array_unref);
  return taken;
}

/* None if the call failed. */
inline std::vector<std::string>
take_strings (char **strings)
{
  if (strings == nullptr)
    return {};
  const std::unique_ptr<char *, void (*) (char **)> owner (strings, g_strfreev);
  return std::vector<std::string> (strings, strings + g_strv_length (strings));
}
}
}
}

#endif
