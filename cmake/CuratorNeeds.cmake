# SPDX-License-Identifier: Apache-2.0
# curator_needs (TEST... NEED PACKAGE...): what these tests of this directory need beyond what builds the library. Comes after them, in
# one line. A test may be a pattern with *, or a program that a script runs. A need may be a group of scripts/lib/packages.sh, which
# reads these calls as text to install what a run needs, or PROGRAM:PACKAGE. Where one is missing, configuring says so, and ctest lists the
# test as disabled.
function(curator_needs)
  list(FIND ARGN NEED at)
  list(SUBLIST ARGN 0 ${at} names)
  math(EXPR at "${at} + 1")
  list(SUBLIST ARGN ${at} -1 needs)
  execute_process(
    COMMAND bash -c ". scripts/lib/common.sh; . scripts/lib/packages.sh; missing \"$@\"" _ ${needs}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE missing
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT missing)
    return()
  endif()
  string(REPLACE "\n" " " missing "${missing}")
  list(JOIN names " " words)
  message(STATUS "Not run, for lack of ${missing}: ${words}")
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(TRANSFORM names REPLACE "\\*" ".*")
  list(JOIN names "|" pattern)
  list(FILTER tests INCLUDE REGEX "^(${pattern})$")
  if(tests)
    set_tests_properties(${tests} PROPERTIES DISABLED TRUE)
  endif()
endfunction()
