# SPDX-License-Identifier: Apache-2.0
# curator_check_headers (): compiles every public header alone, as strict C99, C++17 and C++20, so that no header depends
# on an earlier include. Runs as part of the build.
include(CheckLanguage)
check_language(CXX)

function(curator_check_headers)
  set(flags -Wall -Wextra -Wpedantic -Wundef -Wshadow -Werror)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
       "${PROJECT_SOURCE_DIR}/include/curator/*.h" "${PROJECT_SOURCE_DIR}/include/curator/*.hpp"
       "${PROJECT_SOURCE_DIR}/include/curator/cpp/*.hpp"
       "${PROJECT_SOURCE_DIR}/include/curator/compat/*.h")
  find_path(ASIO_INCLUDE_DIR asio.hpp)
  if(NOT ASIO_INCLUDE_DIR)
    list(REMOVE_ITEM headers curator/cpp/asio.hpp)
  endif()
  set(c_sources "")
  set(cxx_sources "")
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER "${header}" name)
    set(stem "${CMAKE_CURRENT_BINARY_DIR}/headers/${name}")
    # The second include checks the include guard.
    set(body "#include <${header}>\n#include <${header}>\nextern int ${name}_alone;\n")
    if(header MATCHES "\\.h$")
      curator_write("${stem}.c" "${body}")
      list(APPEND c_sources "${stem}.c")
    endif()
    curator_write("${stem}.cpp" "${body}")
    list(APPEND cxx_sources "${stem}.cpp")
  endforeach()

  add_library(header_check_c99 OBJECT ${c_sources})
  set_target_properties(header_check_c99 PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)
  target_compile_options(header_check_c99 PRIVATE ${flags})
  target_include_directories(header_check_c99 PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(header_check_c99 PRIVATE PkgConfig::GIO ZooKeeper::zookeeper_mt)

  if(CMAKE_CXX_COMPILER)
    foreach(standard IN ITEMS 17 20)
      add_library(header_check_cxx${standard} OBJECT ${cxx_sources})
      set_target_properties(header_check_cxx${standard} PROPERTIES CXX_STANDARD ${standard} CXX_EXTENSIONS OFF)
      target_compile_options(header_check_cxx${standard} PRIVATE ${flags})
      target_include_directories(header_check_cxx${standard} PRIVATE "${PROJECT_SOURCE_DIR}/include")
      target_link_libraries(header_check_cxx${standard} PRIVATE PkgConfig::GIO ZooKeeper::zookeeper_mt)
      list(FILTER cxx_sources INCLUDE REGEX "_hpp\\.cpp$") # C is the same in C++20
    endforeach()
  else()
    message(STATUS "No C++ compiler: the headers are checked as C99 only")
  endif()
endfunction()
