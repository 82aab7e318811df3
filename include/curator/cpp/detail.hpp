/* What the other headers share, also the headers of the standard library. Not part of the
 * interface. */
#pragma once

#include <curator/cpp/error.hpp>
#include <curator/cpp/result.hpp>
#include <curator/cpp/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

CURATOR_CPP_BEGIN

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

template <class T>
T *
require (T *object)
{
  if (object == nullptr)
    misuse ("the curator handle is empty");
  return object;
}

/* Whether C can take an argument: it would end a text at a NUL. */
template <class T>
bool
is_for_c (const T &value)
{
  if constexpr (std::is_same_v<T, std::optional<std::string>>)
    return !value || is_for_c (*value);
  else if constexpr (std::is_same_v<T, std::string>)
    return value.find ('\0') == std::string::npos;
  else
    return true;
}

/* The argument for C: of a handle its object. */
template <class T>
auto
for_c (const T &value)
{
  if constexpr (std::is_same_v<T, std::optional<std::string>>)
    return value ? value->c_str () : nullptr;
  else if constexpr (std::is_same_v<T, std::string>)
    return value.c_str ();
  else if constexpr (std::is_base_of_v<limit, T>)
    return gint64 (value);
  else if constexpr (std::is_class_v<T>)
    return require (value.native_handle ());
  else
    return value;
}

/* Ends a function that has failed. */
template <class R>
R
fail (const error &why)
{
#ifdef __cpp_exceptions
  throw why;
#else
  return R (why);
#endif
}

/* Receives and owns the GError * of one call. */
class outcome
{
public:
  outcome () = default;
  outcome (const outcome &) = delete;
  outcome &operator= (const outcome &) = delete;

  ~outcome () { g_clear_error (&error_); }

  operator GError ** () noexcept { return &error_; }

  /* Whether C can take the arguments. */
  template <class... Args> bool takes (const Args &...args)
  {
    return (is_for_c (args) && ...) || refuse ("a text has a NUL inside");
  }

  /* Returns false, with INVALID_ARGUMENT. */
  bool refuse (const char *why)
  {
    g_set_error_literal (&error_, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT, why);
    return false;
  }

  /* Calls a function of C with these arguments and a GError **. */
  template <class Answer, class... Parameters, class... Args>
  Answer of (Answer (*function) (Parameters...), const Args &...args)
  {
    return takes (args...) ? function (for_c (args)..., &error_) : Answer ();
  }

  /* Calls one that cannot fail: returns whether it takes the arguments. */
  template <class... Parameters, class... Args>
  bool of (void (*function) (Parameters...), const Args &...args)
  {
    const bool taken = takes (args...);
    if (taken)
      function (for_c (args)...);
    return taken;
  }

  /* Ends a function without a result. */
  result<void> check (bool succeeded) const
  {
    return succeeded ? result<void> () : failure<result<void>> ();
  }

  /* Ends a function with one. */
  template <class T> result<T> give (bool succeeded, T value) const
  {
    return succeeded ? result<T> (std::move (value)) : failure<result<T>> ();
  }

  bool is_temporary () const { return error_ != nullptr && error (error_).is_temporary (); }

  const GError *get () const noexcept { return error_; }

  /* Ends a constructor. */
  void built (bool succeeded) const
  {
#ifdef __cpp_exceptions
    check (succeeded);
#else
    if (!succeeded) {
      error failed = failure<error> ();
      making != nullptr ? void (*making = std::move (failed)) : misuse (failed.what ());
    }
#endif
  }

private:
  /* Failure without an error is what the C library answers to a misuse. */
  template <class R> R failure () const
  {
    if (error_ == nullptr)
      misuse ("the curator library refused the call");
    return fail<R> (error (error_));
  }

  GError *error_ = nullptr;
};

/* What unwinds the stack of a thread that ends in pthread_exit() or is cancelled. Only GNU's
 * library shows it to catch (...), which then must not keep it. */
#ifdef __GLIBCXX__
using thread_end = abi::__forced_unwind;
#else
class thread_end
{
};
#endif

/* Catches exceptions, which must not reach the C frames of the caller. The end of the thread
 * passes; it has no object, and the reference to it is null. What the library waits for has to
 * return: those functions are noexcept. */
template <class Call>
__attribute__ ((no_sanitize ("null"))) void
shield (Call &&call)
{
#ifndef __cpp_exceptions
  std::forward<Call> (call) ();
#else
  try {
    std::forward<Call> (call) ();
  } catch (const thread_end &) {
    throw;
  } catch (const std::exception &thrown) {
    g_log ("curator", G_LOG_LEVEL_CRITICAL, "a callback threw: %s", thrown.what ());
  } catch (...) {
    g_log ("curator", G_LOG_LEVEL_CRITICAL,
           "a callback threw an exception that is not a std::exception");
  }
#endif
}

inline std::string
copy_of (GBytes *bytes)
{
  gsize size = 0;
  const auto *start = static_cast<const char *> (g_bytes_get_data (bytes, &size));
  return std::string (start, start + size);
}

/* Takes over what C gives; nullptr and 0 give a T (). */
template <class T, class Given>
T
take (Given given)
{
  if constexpr (std::is_same_v<Given, GPtrArray *>) {
    T all;
    for (guint i = 0; given != nullptr && i < given->len; i++)
      all.push_back (take<typename T::value_type> (g_ptr_array_index (given, i)));
    if (given != nullptr)
      g_free (g_ptr_array_free (given, FALSE));
    return all;
  } else if constexpr (std::is_same_v<Given, char **>) {
    const std::unique_ptr<char *, void (*) (char **)> owner (given, g_strfreev);
    return given != nullptr ? T (given, given + g_strv_length (given)) : T ();
  } else if constexpr (std::is_same_v<Given, char *>) {
    const std::unique_ptr<char, void (*) (gpointer)> owner (given, g_free);
    return given != nullptr ? T (given) : T ();
  } else if constexpr (std::is_same_v<Given, GBytes *>) {
    const std::unique_ptr<GBytes, void (*) (GBytes *)> owner (given, g_bytes_unref);
    return given != nullptr ? copy_of (given) : T ();
  } else if constexpr (std::is_same_v<Given, gpointer>)
    return T (static_cast<decltype (T ().native_handle ())> (given));
  else
    return given ? T (given) : T ();
}

/* Calls a function of C, and takes over what it gives. What a retry may mend is no error of a try,
 * which gives a T (). */
template <class T, bool IsTry = false, class Function, class... Args>
result<T>
call (Function function, const Args &...args)
{
  outcome outcome;
  const auto given = outcome.of (function, args...);
  if constexpr (std::is_void_v<T>)
    return outcome.check (given);
  else
    return outcome.give (given || (IsTry && outcome.is_temporary ()), take<T> (given));
}

/* The object that a constructor owns. */
template <class Function, class... Args>
auto
create (Function function, const Args &...args)
{
  outcome outcome;
  auto *const object = outcome.of (function, args...);
  outcome.built (object != nullptr);
  return object;
}

template <class F>
void
destroy (gpointer data)
{
  shield ([data] { delete static_cast<F *> (data); });
}

/* Gives a callback to a function of C, called as give (gpointer, GDestroyNotify): the library owns
 * it from then on, unless it refuses. */
template <class F, class Give>
auto
entrust (F &&callback, Give &&give)
{
  auto kept = std::make_unique<std::decay_t<F>> (std::forward<F> (callback));
  const auto taken = give (kept.get (), destroy<std::decay_t<F>>);
  if (taken)
    static_cast<void> (kept.release ());
  return taken;
}

/* Calls an entrusted callback. */
template <class F, class... Args>
void
tell (gpointer data, Args &&...args)
{
  shield ([&] { (*static_cast<F *> (data)) (std::forward<Args> (args)...); });
}

/* Sets a callback, which hear calls. */
template <class Function, class Object, class Hear, class F>
result<void>
set_callback (Function set, Object *object, Hear hear, F &&callback)
{
  outcome outcome;
  return outcome.check (
      entrust (std::forward<F> (callback), [&] (gpointer kept, GDestroyNotify free) {
        return set (object, hear, kept, free, outcome);
      }));
}

/* Adds a listener, whose argument is a To. */
template <class To, class Object, class Told, class F>
unsigned
listen (guint (*add) (Object *, void (*) (Object *, Told, gpointer), gpointer, GDestroyNotify),
        Object *object, F &&listener)
{
  const guint id = entrust (std::forward<F> (listener), [&] (gpointer kept, GDestroyNotify free) {
    constexpr auto hear = [] (Object *, Told told, gpointer data) {
      tell<std::decay_t<F>> (data, static_cast<To> (told));
    };
    return add (object, hear, kept, free);
  });
  if (id == 0)
    misuse ("the curator library refused the listener");
  return id;
}

/* Begins a call that does not wait. done is called once, as done (T, const error *), or as
 * done (const error *) for void: with what C gives, and why it failed. */
template <class T = void, class F, class Function, class... Args>
void
begin (F &&done, Function function, const Args &...args)
{
  constexpr auto hear = [] (auto *, auto... told) {
    const auto all = std::make_tuple (static_cast<const GError *> (nullptr), told...);
    constexpr std::size_t n = sizeof...(told);
    shield ([&all] {
      const std::unique_ptr<std::decay_t<F>> kept (
          static_cast<std::decay_t<F> *> (std::get<n> (all)));
      const GError *const failed = std::get<n - 1> (all);
      const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
      if constexpr (std::is_void_v<T>)
        (*kept) (why ? &*why : nullptr);
      else
        (*kept) (take<T> (std::get<1> (all)), why ? &*why : nullptr);
    });
  };
  /* C takes it over, unless an argument is refused before. */
  auto kept = std::make_unique<std::decay_t<F>> (std::forward<F> (done));
  function (for_c (args)..., hear, kept.get ());
  (void) kept.release ();
}
}

CURATOR_CPP_END
