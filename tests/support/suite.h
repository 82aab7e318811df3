/* Tests that register themselves, for a program with all its tests in one file. They run in their
 * order in the file. A header with a fixture defines that parameter of each test, and what runs
 * before and after it. */
#pragma once

#include <glib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifndef SUITE_FIXTURE
#define SUITE_FIXTURE void *no_fixture
#endif
#ifndef SUITE_SETUP
#define SUITE_SETUP NULL
#endif
#ifndef SUITE_TEARDOWN
#define SUITE_TEARDOWN NULL
#endif

static struct CMUnitTest suite_tests[64] G_GNUC_UNUSED;
static gsize n_suite_tests G_GNUC_UNUSED;

static inline void
suite_add (const char *name, CMUnitTestFunction test, CMFixtureFunction setup,
           CMFixtureFunction teardown)
{
  g_assert (n_suite_tests < G_N_ELEMENTS (suite_tests));
  suite_tests[n_suite_tests].name = name;
  suite_tests[n_suite_tests].test_func = test;
  suite_tests[n_suite_tests].setup_func = setup;
  suite_tests[n_suite_tests++].teardown_func = teardown;
}

static inline int
suite_run (const char *name, CMFixtureFunction start, CMFixtureFunction stop)
{
  g_assert (n_suite_tests > 0);
  return _cmocka_run_group_tests (name, suite_tests, n_suite_tests, start, stop);
}

#define SUITE_ADD(test, function, setup)                                                           \
  __attribute__ ((constructor)) static void test##_add (void)                                      \
  {                                                                                                \
    suite_add (#test, (function), (setup), SUITE_TEARDOWN);                                        \
  }

#ifdef __cplusplus
extern "C++"
{
  struct SuiteState
  {
    void *state;
    template <class Fixture> operator Fixture * () const { return static_cast<Fixture *> (state); }
  };
}
#define SUITE_STATE(state)                                                                         \
  SuiteState                                                                                       \
  {                                                                                                \
    state                                                                                          \
  }
#else
#define SUITE_STATE(state) (state)
#endif

#define TEST(name)                                                                                 \
  static void name (SUITE_FIXTURE);                                                                \
  static void name##_with (void **state)                                                           \
  {                                                                                                \
    name (SUITE_STATE (*state));                                                                   \
  }                                                                                                \
  SUITE_ADD (name, name##_with, SUITE_SETUP)                                                       \
  static void name (SUITE_FIXTURE)

/* The main function, if it has nothing else to do. */
#define SUITE(name, start, stop)                                                                   \
  int main (void)                                                                                  \
  {                                                                                                \
    return suite_run ((name), (start), (stop));                                                    \
  }
