# SPDX-License-Identifier: Apache-2.0
# Builds the Java peers: programs on Apache Curator itself, for the demo, the interop tests and the benchmark.
# Sets CURATOR_JAVA (the java program; empty without a JDK) and CURATOR_JAVA_CLASSPATH.
set(CURATOR_JAVA "")
set(CURATOR_JAVA_CLASSPATH "")
set(CURATOR_JAR_DIR "/usr/share/java" CACHE PATH "Folder of the Curator and ZooKeeper jars")

find_program(CURATOR_JAVA_PROGRAM java)
find_program(CURATOR_JAVAC_PROGRAM javac)
set(_jars "")
set(_missing "")
foreach(jar IN ITEMS curator-client curator-framework curator-recipes zookeeper zookeeper-jute guava slf4j-api slf4j-nop)
  if(EXISTS "${CURATOR_JAR_DIR}/${jar}.jar")
    list(APPEND _jars "${CURATOR_JAR_DIR}/${jar}.jar")
  else()
    list(APPEND _missing "${jar}.jar")
  endif()
endforeach()
file(GLOB _sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/interop/java/*.java"
     "${PROJECT_SOURCE_DIR}/tests/interop/matrix/*.java"
     "${PROJECT_SOURCE_DIR}/bench/java/*.java")

if(NOT CURATOR_JAVA_PROGRAM OR NOT CURATOR_JAVAC_PROGRAM OR _missing)
  message(STATUS "No Java peers: a JDK, libzookeeper-java and libcurator-recipes-java are needed (missing: ${_missing})")
elseif(_sources)
  set(_classes "${PROJECT_BINARY_DIR}/java")
  list(JOIN _jars ":" _classpath)
  add_custom_command(
    OUTPUT "${_classes}/.stamp"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${_classes}"
    COMMAND "${CURATOR_JAVAC_PROGRAM}" -Xlint:all,-processing,-classfile,-path -Werror -proc:none -cp "${_classpath}" -d "${_classes}"
            ${_sources}
    COMMAND "${CMAKE_COMMAND}" -E touch "${_classes}/.stamp"
    DEPENDS ${_sources}
    COMMENT "Compiling the Java peers"
    VERBATIM)
  add_custom_target(curator_java_peers ALL DEPENDS "${_classes}/.stamp")
  set(CURATOR_JAVA "${CURATOR_JAVA_PROGRAM}")
  set(CURATOR_JAVA_CLASSPATH "${_classes}:${_classpath}")
endif()
