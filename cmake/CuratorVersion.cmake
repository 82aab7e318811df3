# SPDX-License-Identifier: Apache-2.0
# From the macros in include/curator/version.h: CURATOR_VERSION, numbers only, as CMake compares them; CURATOR_VERSION_STRING, which
# people see; and CURATOR_PACKAGE_VERSION for dpkg, rpm and pkgconf, to which 1.0.0~rc.2 is older than 1.0.0, and 1.0.0-rc.2 newer.
set(_header "${CMAKE_CURRENT_LIST_DIR}/../include/curator/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_header}")
file(STRINGS "${_header}" _lines REGEX "^#define CURATOR_((MAJOR|MINOR|MICRO)_VERSION|VERSION_SUFFIX)[ \t]")
foreach(part IN ITEMS MAJOR MINOR MICRO)
  if(NOT "${_lines}" MATCHES "CURATOR_${part}_VERSION[ \t]+\\(?([0-9]+)")
    message(FATAL_ERROR "no CURATOR_${part}_VERSION in ${_header}")
  endif()
  set(CURATOR_VERSION_${part} "${CMAKE_MATCH_1}")
endforeach()
set(CURATOR_VERSION "${CURATOR_VERSION_MAJOR}.${CURATOR_VERSION_MINOR}.${CURATOR_VERSION_MICRO}")
if(NOT "${_lines}" MATCHES "CURATOR_VERSION_SUFFIX[ \t]+\"(-[^\"]+)?\"")
  message(FATAL_ERROR "no CURATOR_VERSION_SUFFIX in ${_header}")
endif()
set(CURATOR_VERSION_STRING "${CURATOR_VERSION}${CMAKE_MATCH_1}")
string(REPLACE "-" "~" CURATOR_PACKAGE_VERSION "${CURATOR_VERSION_STRING}")

# The version in the SONAME and in the name of the runtime package.
set(CURATOR_SOVERSION "${CURATOR_VERSION_MAJOR}")
