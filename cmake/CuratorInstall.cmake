# SPDX-License-Identifier: Apache-2.0
# Runtime, Development, Testing and Tools are separate components, so that packages split along them.
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/curator")

install(
  TARGETS curator curator_static curator_zoolock
  EXPORT curatorTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Runtime NAMELINK_COMPONENT Development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Development)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/curator"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT Development
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "*.hpp"
  PATTERN "testing.h*" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/include/curator/testing.h" "${PROJECT_SOURCE_DIR}/include/curator/testing.hpp"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/curator" COMPONENT Testing)
install(TARGETS curator_testing EXPORT curatorTestingTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT Testing)

# Like the CMake package, the pkg-config file is relocatable, so that the installed tree can be moved or staged.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(CURATOR_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  set(CURATOR_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
  set(CURATOR_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
else()
  file(RELATIVE_PATH _up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" _up "${_up}")
  set(CURATOR_PC_PREFIX "\${pcfiledir}/${_up}")
  set(CURATOR_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  set(CURATOR_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
# What has a pkg-config file of its own is named as a module.
set(CURATOR_PC_REQUIRES_PRIVATE "")
if(CURATOR_SASL)
  set(CURATOR_PC_REQUIRES_PRIVATE "libsasl2")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/templates/curator.pc.in" "${PROJECT_BINARY_DIR}/curator.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/curator.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT Development)
configure_file("${PROJECT_SOURCE_DIR}/cmake/templates/curator-zoolock.pc.in" "${PROJECT_BINARY_DIR}/curator-zoolock.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/curator-zoolock.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT Development)
configure_file("${PROJECT_SOURCE_DIR}/cmake/templates/curator-testing.pc.in" "${PROJECT_BINARY_DIR}/curator-testing.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/curator-testing.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT Testing)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/templates/curatorConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/curatorConfig.cmake" INSTALL_DESTINATION "${_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/curatorConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/curatorConfig.cmake" "${PROJECT_BINARY_DIR}/curatorConfigVersion.cmake"
  DESTINATION "${_package_dir}"
  COMPONENT Development)
install(
  EXPORT curatorTargets
  NAMESPACE curator::
  DESTINATION "${_package_dir}"
  COMPONENT Development)
# A set of its own: it may not be installed, and CMake refuses a set of which a file is missing.
install(
  EXPORT curatorTestingTargets
  NAMESPACE curator::
  DESTINATION "${_package_dir}"
  COMPONENT Testing)
