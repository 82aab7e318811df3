/* The inline namespace of the C++ headers. */
#pragma once

#include <curator/version.h>

/** Keeps objects apart that were compiled with different versions of these headers, or with and
 *  without exceptions. */
#ifdef __cpp_exceptions
#define CURATOR_CPP_NAMESPACE v1_0
#else
#define CURATOR_CPP_NAMESPACE v1_0_without_exceptions
#endif

/** As G_BEGIN_DECLS for C. */
#define CURATOR_CPP_BEGIN                                                                          \
  namespace curator                                                                                \
  {                                                                                                \
  inline namespace CURATOR_CPP_NAMESPACE                                                           \
  {
/** As G_END_DECLS. */
#define CURATOR_CPP_END                                                                            \
  }                                                                                                \
  }

static_assert (CURATOR_MAJOR_VERSION == 1 && CURATOR_MINOR_VERSION == 0,
               "name the inline namespace after the version");
