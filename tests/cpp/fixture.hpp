/* What all tests of curator.hpp on a real server have: the fixture, a client, and the code of an
 * error. */
#ifndef CURATOR_TEST_FIXTURE_HPP
#define CURATOR_TEST_FIXTURE_HPP

#include <curator/curator.hpp>

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

/* The CuratorError code that the call throws; -1 if it does not throw. */
template <class Call>
int
code_of (Call &&call)
{
  try
    {
      call ();
    }
  catch (const curator::error &thrown)
    {
      return thrown.domain () == CURATOR_ERROR ? thrown.code () : -2;
    }
  return -1;
}
#endif

#endif
