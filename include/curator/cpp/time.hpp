/* Timeouts and other lengths of time. */
#pragma once

#include <curator/cpp/version.hpp>
#include <curator/types.h>

#include <algorithm>
#include <chrono>

CURATOR_CPP_BEGIN

/** The timeout that waits without a limit. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max ();

/* Not part of the interface. */
namespace detail
{
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

/* The timeout of a call, without overflow, whatever its unit. No time left, also the difference to
 * a point in time that has passed, does not wait. */
class limit
{
public:
  template <class Rep, class Period> limit (const std::chrono::duration<Rep, Period> &time)
  {
    ms_ = std::max<gint64> (span (time).count (), 0);
  }

  operator gint64 () const noexcept { return ms_; }

protected:
  limit () noexcept = default;

private:
  gint64 ms_ = CURATOR_WAIT_DEFAULT;
};

/* The same, of a call that has a default, which is what no timeout is. */
class timeout : public limit
{
public:
  timeout () noexcept = default;

  using limit::limit;
};

/* The same, as a point in time: in floating point, where neither one far from now nor the
 * difference overflows. */
class deadline : public limit
{
  using ms = std::chrono::duration<double, std::milli>;

public:
  template <class Clock, class Duration>
  deadline (const std::chrono::time_point<Clock, Duration> &time)
      : limit (ms (time.time_since_epoch ()) - ms (Clock::now ().time_since_epoch ()))
  {
  }
};
}

CURATOR_CPP_END
