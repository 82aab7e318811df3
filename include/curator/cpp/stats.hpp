/* Counters and traced events. */
#pragma once

#include <curator/cpp/version.hpp>
#include <curator/stats.h>

#include <chrono>
#include <cstdint>
#include <string_view>

CURATOR_CPP_BEGIN

/** Name of a counter, for example "grants"; nullptr for other values. */
inline const char *
to_string (CuratorCounter counter) noexcept
{
  return curator_counter_to_string (counter);
}

/** Kinds of traced events: CuratorTraceKind. Values may be added. */
enum class trace_kind
{
  granted = CURATOR_TRACE_KIND_GRANTED,    /**< a hold began; the duration: since the call */
  failed = CURATOR_TRACE_KIND_FAILED,      /**< an attempt failed; the same duration */
  released = CURATOR_TRACE_KIND_RELEASED,  /**< a hold was released, which lasted so long */
  lost = CURATOR_TRACE_KIND_LOST,          /**< a hold was lost; the same duration */
  heartbeat = CURATOR_TRACE_KIND_HEARTBEAT /**< a heartbeat was answered; the round trip */
};

/** One traced event; stats.h describes its members. */
struct trace_event
{
  trace_kind kind;                    /**< what happened */
  std::string_view path;              /**< valid only during the call of the trace function */
  std::chrono::microseconds duration; /**< how long it took */
  std::int64_t session_id;            /**< of the session in which it happened */
};

CURATOR_CPP_END
