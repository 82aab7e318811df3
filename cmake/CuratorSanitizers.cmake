# SPDX-License-Identifier: Apache-2.0
# Applies CURATOR_SANITIZE and CURATOR_COVERAGE to the whole build, and sets CURATOR_TEST_ENVIRONMENT, the environment of
# sanitized tests.
set(CURATOR_TEST_ENVIRONMENT "")

if(CURATOR_SANITIZE)
  add_compile_options(-fsanitize=${CURATOR_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CURATOR_SANITIZE})
  if(CURATOR_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  set(_support "${PROJECT_SOURCE_DIR}/tests/support")
  if(CURATOR_SANITIZE MATCHES "thread")
    list(APPEND CURATOR_TEST_ENVIRONMENT
         "TSAN_OPTIONS=suppressions=${_support}/tsan.supp:halt_on_error=0:exitcode=66:second_deadlock_stack=1")
  endif()
  if(CURATOR_SANITIZE MATCHES "address")
    list(APPEND CURATOR_TEST_ENVIRONMENT
         "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
         "LSAN_OPTIONS=suppressions=${_support}/lsan.supp:print_suppressions=0")
  endif()
  if(CURATOR_SANITIZE MATCHES "undefined")
    list(APPEND CURATOR_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1")
  endif()
endif()

if(CURATOR_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
