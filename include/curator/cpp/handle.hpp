/* What all handles have in common. */
#ifndef CURATOR_CPP_HANDLE_HPP
#define CURATOR_CPP_HANDLE_HPP

#include <curator/cpp/detail.hpp>

CURATOR_CPP_BEGIN

/** Owns one reference to an object of the C library. Move-only: share() returns another handle of
 *  the same object. An operation on an empty handle throws std::logic_error; curator.hpp names the
 *  exceptions. */
template <class Handle, class Object, Object *(*Ref) (Object *), void (*Unref) (Object *)>
class [[nodiscard]] handle
{
public:
  /** An empty handle. */
  handle () noexcept = default;

  /** Takes over a reference. */
  [[nodiscard]] explicit handle (Object *object) noexcept : object_ (object) {}

  /** Leaves @p other empty. */
  handle (handle &&other) noexcept : object_ (std::exchange (other.object_, nullptr)) {}

  /** Leaves @p other empty. */
  handle &operator= (handle &&other) noexcept
  {
    handle old (std::exchange (object_, std::exchange (other.object_, nullptr)));
    return *this;
  }

  ~handle ()
  {
    if (object_ != nullptr)
      Unref (object_);
  }

  /** Another handle of the same object. */
  Handle share () const noexcept { return Handle (object_ != nullptr ? Ref (object_) : nullptr); }

  /** The object for the C functions; borrowed. */
  Object *native_handle () const noexcept { return object_; }

protected:
  /* Unless the handle is empty. */
  Object *object () const { return detail::require (object_); }

private:
  Object *object_ = nullptr;
};

CURATOR_CPP_END

#endif
