/* What all tests of curator.hpp on a real server have: the fixture, a client, and the code of an
 * error. */
#pragma once

#include <curator/curator.hpp>

#include <future>
#include <gio/gio.h>
#include <pthread.h>

#define SUITE_FIXTURE [[maybe_unused]] Fixture *fixture
#define SUITE_SETUP   fixture_heal
extern "C"
{
#include "integration/fixture.h"
}

constexpr auto LONG = std::chrono::milliseconds (LONG_MS);

#ifdef __cpp_exceptions
inline curator::client
connect (Fixture *fixture, const curator::client_options &options = {})
{
  curator::client client (fixture_server (fixture), options);
  client.start ();
  assert_true (client.block_until_connected (LONG));
  return client;
}

constexpr int SUCCESS = -1;
constexpr int CANCELLED = -2;

/* The CuratorError code that the call throws, or one of these. */
template <class Call>
int
code_of (Call &&call)
{
  try {
    call ();
  } catch (const curator::error &thrown) {
    return thrown.is_cancelled ()              ? CANCELLED
           : thrown.domain () == CURATOR_ERROR ? thrown.code ()
                                               : -3;
  }
  return SUCCESS;
}

/* Begins a call with the callback that it is given, and gives or throws what that is told. */
template <class Given = void, class Begin>
Given
await (Begin &&begin)
{
  std::promise<Given> told;
  const auto tell = [&] (const curator::error *failed, auto... given) {
    failed != nullptr ? told.set_exception (std::make_exception_ptr (*failed))
                      : told.set_value (std::move (given)...);
  };
  if constexpr (std::is_void_v<Given>)
    begin ([&] (const curator::error *failed) { tell (failed); });
  else
    begin ([&] (Given given, const curator::error *failed) { tell (failed, std::move (given)); });
  return told.get_future ().get ();
}
#endif
