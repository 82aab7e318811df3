# SPDX-License-Identifier: Apache-2.0
# Finds the multi-threaded C client of Apache ZooKeeper, which ships no pkg-config file.
# Defines ZooKeeper_FOUND, ZooKeeper_VERSION and the target ZooKeeper::zookeeper_mt.
find_path(ZooKeeper_INCLUDE_DIR NAMES zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY NAMES zookeeper_mt)
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)

set(ZooKeeper_VERSION "")
if(ZooKeeper_INCLUDE_DIR AND EXISTS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h")
  file(READ "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h" _text)
  if(_text MATCHES "ZOO_VERSION[ \t]+\"([0-9.]+)")
    set(ZooKeeper_VERSION "${CMAKE_MATCH_1}") # a single string since 3.6
  elseif(_text MATCHES "ZOO_MAJOR_VERSION[ \t]+([0-9]+).*ZOO_MINOR_VERSION[ \t]+([0-9]+).*ZOO_PATCH_VERSION[ \t]+([0-9]+)")
    set(ZooKeeper_VERSION "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  ZooKeeper
  REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR
  VERSION_VAR ZooKeeper_VERSION)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::zookeeper_mt)
  add_library(ZooKeeper::zookeeper_mt UNKNOWN IMPORTED)
  set_target_properties(
    ZooKeeper::zookeeper_mt
    PROPERTIES IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
               INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
