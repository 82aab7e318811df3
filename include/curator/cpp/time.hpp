/* Timeouts and other lengths of time. */
#ifndef CURATOR_CPP_TIME_HPP
#define CURATOR_CPP_TIME_HPP

#include <curator/cpp/version.hpp>
#include <curator/types.h>

#include <chrono>

CURATOR_CPP_BEGIN

/** The timeout that waits without a limit. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max ();

/* Not part of the interface. */
namespace detail
{
template <class Rep, class Period>
gint64
to_ms (const std::chrono::duration<Rep, Period> &time)
{
  using namespace std::chrono;
  if (!(time > time.zero ()))
    return 0;
  /* Compare in floating point, where hours::max() does not overflow. */
  constexpr double century_ms = 100.0 * 366 * 24 * 3600 * 1000;
  if (duration<double, std::milli> (time).count () >= century_ms)
    return CURATOR_WAIT_FOREVER;
  return static_cast<gint64> (ceil<milliseconds> (time).count ());
}

/* In floating point, where neither a point in time far from now nor the difference overflows. */
template <class Clock, class Duration>
std::chrono::duration<double, std::milli>
left_until (const std::chrono::time_point<Clock, Duration> &time)
{
  using fractional = std::chrono::duration<double, std::milli>;
  return fractional (time.time_since_epoch ()) - fractional (Clock::now ().time_since_epoch ());
}

/* The timeout of a call, without overflow, whatever its unit. No time left, also the difference to
 * a point in time that has passed, does not wait: only a call without a timeout has the default. */
class timeout
{
public:
  timeout () noexcept = default;

  template <class Rep, class Period>
  timeout (const std::chrono::duration<Rep, Period> &time) : ms_ (to_ms (time))
  {
  }

  operator gint64 () const noexcept { return ms_; }

private:
  gint64 ms_ = CURATOR_WAIT_DEFAULT;
};

/* A length of time for C: any duration, rounded up to milliseconds, and the nearest one that they
 * can count. */
class span
{
public:
  template <class Rep, class Period> span (const std::chrono::duration<Rep, Period> &time)
  {
    using namespace std::chrono;
    /* Compare in floating point, where hours::max() does not overflow. */
    constexpr double most_ms = 9.2e18;
    const double near_ms = duration<double, std::milli> (time).count ();
    ms_ = near_ms >= most_ms   ? milliseconds::max ()
          : near_ms > -most_ms ? ceil<milliseconds> (time)
                               : milliseconds::min ();
  }

  operator std::chrono::milliseconds () const noexcept { return ms_; }

  gint64 count () const noexcept { return gint64 (ms_.count ()); }

private:
  std::chrono::milliseconds ms_;
};
}

CURATOR_CPP_END

#endif
