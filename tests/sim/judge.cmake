# SPDX-License-Identifier: Apache-2.0
# Runs a test of a library with a planted bug: it has to fail for the expected reason.
# cmake -DNAME=… -DPROGRAM=… -DEXPECTED=regex -DRESULT=file -P judge.cmake
file(REMOVE "${RESULT}")
execute_process(
  COMMAND "${PROGRAM}"
  RESULT_VARIABLE code
  OUTPUT_VARIABLE text
  ERROR_VARIABLE text
  TIMEOUT 550)
string(REGEX REPLACE "\n--- trace[^\n]*" "" verdicts "\n${text}")
if(code EQUAL 0 OR NOT verdicts MATCHES "\n(--- |\\[  FAILED  \\] )([^\n]*(${EXPECTED})[^\n]*)")
  string(LENGTH "${text}" length)
  if(length GREATER 20000)
    math(EXPR length "${length} - 20000")
    string(SUBSTRING "${text}" ${length} -1 text)
  endif()
  message("${text}")
  message(FATAL_ERROR "${NAME} was not caught: the test exited with ${code}, without a failure that matches '${EXPECTED}'")
endif()
set(what "${CMAKE_MATCH_2}")
string(REGEX MATCH "found after [0-9]+ schedules" effort "${text}")
message("${what}\n${effort}")
file(WRITE "${RESULT}" "${what}\n")
