# SPDX-License-Identifier: Apache-2.0
# Debian packages by cpack: the library, its development files, and the command-line tool if it was built. scripts/package
# configures with CURATOR_PACKAGES; a plain install is not affected.
option(CURATOR_PACKAGES "Install the additional files of Debian packages" OFF)
set(CURATOR_PACKAGE_CONTACT "nobody in particular <packages@curator-c.example>" CACHE STRING "Maintainer of the packages: name <address>")
set(CURATOR_PACKAGE_HOMEPAGE "https://curator-c.example/" CACHE STRING "Homepage of the packages")

set(runtime_package "libcurator${CURATOR_SOVERSION}")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME curator-c)
set(CPACK_PACKAGE_VENDOR "curator for C")
set(CPACK_PACKAGE_CONTACT "${CURATOR_PACKAGE_CONTACT}")
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${CURATOR_PACKAGE_HOMEPAGE}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # else it precedes the synopsis of each package
set(CPACK_PACKAGE_VERSION "${CURATOR_PACKAGE_VERSION}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # moves what strip would remove to packages NAME-dbgsym
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL Runtime Development Testing)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME "${runtime_package}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
    "Apache Curator's lock recipes for C - shared library
Mutexes, semaphores and read-write locks for processes on many machines, kept
in ZooKeeper and shared with Java programs that use Apache Curator.
.
This package contains the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcurator-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${runtime_package} (= ${CURATOR_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libglib2.0-dev (>= 2.56), libzookeeper-mt-dev (>= 3.5)")
if(CURATOR_TLS)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libgnutls30 (>= 3.6.3)") # loaded, not linked
endif()
if(CURATOR_SASL)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libsasl2-dev")
  # The mechanisms are modules, which no program links.
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "libsasl2-modules, libsasl2-modules-gssapi-mit")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Apache Curator's lock recipes for C - development files
Mutexes, semaphores and read-write locks for processes on many machines, kept
in ZooKeeper and shared with Java programs that use Apache Curator.
.
This package contains the headers for C and C++, the static library, the
manual pages, and the files for CMake and pkg-config.")

set(CPACK_DEBIAN_TESTING_PACKAGE_NAME libcurator-testing-dev)
set(CPACK_DEBIAN_TESTING_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TESTING_PACKAGE_DEPENDS "libglib2.0-dev (>= 2.56)")
set(CPACK_DEBIAN_TESTING_PACKAGE_RECOMMENDS "default-jre-headless, libcurator-dev, zookeeper")
set(CPACK_COMPONENT_TESTING_DESCRIPTION
    "Apache Curator's lock recipes for C - servers for tests
Mutexes, semaphores and read-write locks for processes on many machines, kept
in ZooKeeper and shared with Java programs that use Apache Curator.
.
This package contains a static library with which the tests of a program start
ZooKeeper servers, cut the network to them and end sessions, its headers for C
and C++, and its manual page.")

# Its install rules name the component Tools.
if(TARGET zkflock)
  list(APPEND CPACK_COMPONENTS_ALL Tools)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME zkflock)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON) # finds every library but ours, which is in no installed package
  set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${runtime_package} (>= ${CURATOR_PACKAGE_VERSION})")
  set(CPACK_COMPONENT_TOOLS_DESCRIPTION
      "run a command while holding a lock in ZooKeeper
Like flock(1), but for all machines that share a ZooKeeper ensemble. The
command is killed before the lock can be granted to another machine. Other
verbs show who holds a lock and who waits for it.")
endif()

# Control files of a shared library: the versions of its symbols, and the trigger that updates the linker's cache.
set(control "${PROJECT_BINARY_DIR}/packaging")
configure_file("${PROJECT_SOURCE_DIR}/packaging/${runtime_package}.symbols" "${control}/symbols" COPYONLY)
curator_write("${control}/shlibs" "libcurator ${CURATOR_SOVERSION} ${runtime_package} (>= ${CURATOR_PACKAGE_VERSION})\n")
curator_write("${control}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${control}/symbols" "${control}/shlibs" "${control}/triggers")
set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/CuratorPackagesFinish.cmake")

if(CURATOR_PACKAGES)
  find_program(GZIP_PROGRAM gzip REQUIRED)
  configure_file("${PROJECT_SOURCE_DIR}/packaging/changelog.in" "${control}/changelog" @ONLY)
  foreach(file IN ITEMS "${PROJECT_SOURCE_DIR}/CHANGELOG.md:changelog.gz" "${control}/changelog:changelog.Debian.gz")
    string(REPLACE ":" ";" file "${file}")
    list(GET file 0 from)
    list(GET file 1 to)
    execute_process(COMMAND "${GZIP_PROGRAM}" -9nc "${from}" OUTPUT_FILE "${control}/${to}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  # Debian requires compressed manual pages. This runs after the install rules of all folders.
  foreach(component IN ITEMS Development Testing Tools)
    install(
      CODE "file(GLOB_RECURSE pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/*.[1-8]\")
foreach(page IN LISTS pages)
  execute_process(COMMAND \"${GZIP_PROGRAM}\" -9nf \"\${page}\" COMMAND_ERROR_IS_FATAL ANY)
endforeach()"
      COMPONENT ${component})
  endforeach()
  set(packages Runtime:${runtime_package} Development:libcurator-dev Testing:libcurator-testing-dev)
  if(TARGET zkflock)
    list(APPEND packages Tools:zkflock)
  endif()
  foreach(entry IN LISTS packages)
    string(REPLACE ":" ";" entry "${entry}")
    list(GET entry 0 component)
    list(GET entry 1 package)
    set(directory "${CMAKE_INSTALL_DATADIR}/doc/${package}")
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/copyright" "${control}/changelog.gz" "${control}/changelog.Debian.gz"
            DESTINATION "${directory}" COMPONENT ${component})
  endforeach()
endif()

include(CPack)
