/* What the other headers share. Not part of the interface. */
#ifndef CURATOR_CPP_DETAIL_HPP
#define CURATOR_CPP_DETAIL_HPP

#include <curator/cpp/error.hpp>

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
inline namespace v0_3
{
namespace detail
{
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

  /* Failure without an error is what the C library answers to a misuse. */
  void
  check (bool succeeded) const
  {
    if (error_ != nullptr)
      {
        throw error (error_);
      }
    if (!succeeded)
      {
        throw std::logic_error ("the curator library refused the call");
      }
  }

  template <class T>
  T *
  check (T *object) const
  {
    check (object != nullptr);
    return object;
  }

  /* Returns false on a timeout; throws any other error. */
  bool
  in_time (bool succeeded) const
  {
    if (!succeeded
        && (g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_TIMED_OUT)
            || g_error_matches (error_, CURATOR_ERROR, CURATOR_ERROR_NO_ANSWER)))
      {
        return false;
      }
    check (succeeded);
    return true;
  }

  const GError *
  get () const noexcept
  {
    return error_;
  }

private:
  GError *error_ = nullptr;
};

template <class T>
T *
require (T *object)
{
  if (object == nullptr)
    {
      throw std::logic_error ("the curator handle is empty");
    }
  return object;
}

/* A text for C, which would end it at a NUL. */
inline const char *
c_text (const std::string &text)
{
  if (text.find ('\0') != std::string::npos)
    {
      outcome refused;
      g_set_error_literal (refused, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT,
                           "a text has a NUL inside");
      refused.check (false);
    }
  return text.c_str ();
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
      {
        Unref (object_);
      }
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
    {
      throw std::logic_error ("the curator library refused the listener");
    }
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
tell_release (const GError *failed, gpointer data) noexcept
{
  shield ([&] {
    const auto kept = take<F> (data);
    const auto why = failed != nullptr ? std::optional<error> (failed) : std::nullopt;
    (*kept) (why ? &*why : nullptr);
  });
}

inline std::vector<std::string>
take_strings (char **strings)
{
  const std::unique_ptr<char *, void (*) (char **)> owner (strings, g_strfreev);
  return std::vector<std::string> (strings, strings + g_strv_length (strings));
}
}
}
}

#endif
