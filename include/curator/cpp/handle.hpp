/* What all handles have in common. */
#pragma once

#include <curator/cpp/detail.hpp>

CURATOR_CPP_BEGIN

/** Owns one reference to an object of the C library. Move-only: share() returns another handle of
 *  the same object, and a handle that was moved from is empty. An operation on an empty handle
 *  throws std::logic_error; curator.hpp names the exceptions. */
template <class Handle, class Object, Object *(*Ref) (Object *), void (*Unref) (Object *)>
class [[nodiscard]] handle
{
public:
  /** An empty handle. */
  handle () noexcept = default;

  /** Takes over a reference. */
  [[nodiscard]] explicit handle (Object *object) noexcept : object_ (object) {}

  /** Another handle of the same object. */
  Handle share () const noexcept { return Handle (object_ ? Ref (object_.get ()) : nullptr); }

  /** The object for the C functions; borrowed. */
  Object *native_handle () const noexcept { return object_.get (); }

protected:
  using deadline = detail::deadline;
  using limit = detail::limit;
  using strings = std::vector<std::string>;

  /* Unless the handle is empty. */
  Object *object () const { return detail::require (object_.get ()); }

  /* detail::call () and detail::begin () with it. */
  template <class T, class Function, class... Args>
  result<T> call (Function function, const Args &...args) const
  {
    return detail::call<T> (function, object (), args...);
  }

  template <class T, class Function, class... Args>
  result<T> try_call (Function function, const Args &...args) const
  {
    return detail::call<T, true> (function, object (), args...);
  }

  template <class T, class F, class Function, class... Args>
  void begin (F &&done, Function function, const Args &...args) const
  {
    detail::begin<T> (std::forward<F> (done), function, object (), args...);
  }

  /* What a function of C tells about it. */
  template <class T = bool, class Function> T get (Function function) const
  {
    return detail::take<T> (function (object ()));
  }

  /* Calls a function of C with it, unless the handle is empty. */
  template <class Function, class... Args>
  void unless_empty (Function function, Args... args) const noexcept
  {
    if (object_ != nullptr)
      function (object_.get (), args...);
  }

private:
  struct unref
  {
    void operator() (Object *object) const { Unref (object); }
  };

  std::unique_ptr<Object, unref> object_;
};

CURATOR_CPP_END
