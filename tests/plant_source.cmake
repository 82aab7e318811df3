# SPDX-License-Identifier: Apache-2.0
# curator_plant_source (name source changes variable)
# Writes a copy of a source of the library with a bug planted in it, and sets the variable to its path. changes is the name of
# a list: old new [old new ...]. Every old text must exist, so that a plant fails the configuration when the source changes.
# In the texts "@" stands for ";". A program with the copy in front of the static library has the bug.
function(curator_plant_source name file changes variable)
  set(pairs "${${changes}}")
  set(source "${PROJECT_SOURCE_DIR}/src/${file}")
  set(planted "${CMAKE_CURRENT_BINARY_DIR}/plants/${name}.c")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  file(READ "${source}" text)
  while(NOT pairs STREQUAL "")
    list(POP_FRONT pairs old new)
    string(REPLACE "@" ";" old "${old}")
    string(REPLACE "@" ";" new "${new}")
    string(FIND "${text}" "${old}" found)
    if(found EQUAL -1)
      message(FATAL_ERROR "The plant ${name} finds no '${old}' in ${file}")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
  endwhile()
  curator_write("${planted}" "#line 1 \"${source}\"\n${text}")
  # Plants leave unused variables and functions.
  set_source_files_properties(
    "${planted}" PROPERTIES COMPILE_DEFINITIONS "CURATOR_COMPILATION;G_LOG_DOMAIN=\"curator\"" COMPILE_OPTIONS "-w")
  set(${variable}
      "${planted}"
      PARENT_SCOPE)
endfunction()
