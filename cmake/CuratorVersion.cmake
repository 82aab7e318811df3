# SPDX-License-Identifier: Apache-2.0
# Sets CURATOR_VERSION from the macros in include/curator/version.h.
set(_header "${CMAKE_CURRENT_LIST_DIR}/../include/curator/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_header}")
file(STRINGS "${_header}" _lines REGEX "^#define CURATOR_(MAJOR|MINOR|MICRO)_VERSION[ \t]")
foreach(part IN ITEMS MAJOR MINOR MICRO)
  if(NOT "${_lines}" MATCHES "CURATOR_${part}_VERSION[ \t]+\\(?([0-9]+)")
    message(FATAL_ERROR "no CURATOR_${part}_VERSION in ${_header}")
  endif()
  set(CURATOR_VERSION_${part} "${CMAKE_MATCH_1}")
endforeach()
set(CURATOR_VERSION "${CURATOR_VERSION_MAJOR}.${CURATOR_VERSION_MINOR}.${CURATOR_VERSION_MICRO}")

# The version in the SONAME and in the name of the runtime package. Before 1.0 each minor version may break programs.
if(CURATOR_VERSION_MAJOR EQUAL 0)
  set(CURATOR_SOVERSION "0.${CURATOR_VERSION_MINOR}")
else()
  set(CURATOR_SOVERSION "${CURATOR_VERSION_MAJOR}")
endif()
