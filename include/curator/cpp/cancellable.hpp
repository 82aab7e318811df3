/* Cancels waiting calls. */
#pragma once

#include <curator/cpp/detail.hpp>

#include <gio/gio.h>
#if __cplusplus >= 202002L
#include <version>
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

CURATOR_CPP_BEGIN

#ifdef __cpp_lib_jthread
namespace detail
{
/* The only one of that cancellable, which keeps it. */
inline std::stop_source
stop_source_of (GCancellable *cancellable)
{
  constexpr auto free_source = [] (gpointer data) {
    delete static_cast<std::stop_source *> (data);
  };
  constexpr auto copy_source = [] (gpointer data, gpointer) -> gpointer {
    return new std::stop_source (*static_cast<std::stop_source *> (data));
  };
  const GQuark key = g_quark_from_static_string ("curator::stop_source");
  GObject *const object = G_OBJECT (cancellable);
  auto source = std::make_unique<std::stop_source> ();
  auto listener = std::make_unique<std::stop_source> (*source);

  /* The first one stays. */
  if (g_object_replace_qdata (object, key, nullptr, source.get (), free_source, nullptr)) {
    source.release ();
    g_cancellable_connect (cancellable, G_CALLBACK (+[] (GCancellable *, gpointer data) {
                             static_cast<std::stop_source *> (data)->request_stop ();
                           }),
                           listener.release (), free_source);
  }
  const std::unique_ptr<std::stop_source> only (
      static_cast<std::stop_source *> (g_object_dup_qdata (object, key, copy_source, nullptr)));
  return *only;
}
}
#endif

/** Cancels waiting calls from another thread. Wraps GCancellable, and converts to it. It stays
 *  cancelled. */
class [[nodiscard]] cancellable
{
public:
  cancellable () : object_ (g_cancellable_new ()) {}

  cancellable (const cancellable &) = delete;
  cancellable &operator= (const cancellable &) = delete;

  ~cancellable () { g_object_unref (object_); }

  /** Any thread may call it, at any time. */
  void cancel () noexcept { g_cancellable_cancel (object_); }

  /** Converts to the parameter type of the functions that wait. Borrowed. */
  operator GCancellable * () const noexcept { return object_; }

private:
  GCancellable *object_;
};

#ifdef __cpp_lib_jthread
/** A token that is stopped once @p cancellable is cancelled. Stop callbacks run on the thread that
 *  cancels, or here if that has happened. */
inline std::stop_token
stop_token_of (GCancellable *cancellable)
{
  return detail::stop_source_of (detail::require (cancellable)).get_token ();
}
#endif

CURATOR_CPP_END
