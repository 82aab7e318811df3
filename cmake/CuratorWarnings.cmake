# SPDX-License-Identifier: Apache-2.0
# curator_set_warnings (target): adds the warnings that every C target of the project is built with.
include(CheckCCompilerFlag)

set(CURATOR_WARNING_FLAGS
    -Wall
    -Wextra
    -Walloca
    -Warray-bounds
    -Wdate-time
    -Wdouble-promotion
    -Wempty-body
    -Wenum-conversion
    -Wfloat-equal
    -Wformat=2
    -Wignored-qualifiers
    -Wimplicit-fallthrough
    -Winit-self
    -Wmissing-declarations
    -Wmissing-include-dirs
    -Wmissing-prototypes
    -Wnested-externs
    -Wold-style-definition
    -Wpointer-arith
    -Wredundant-decls
    -Wreturn-type
    -Wshadow
    -Wsign-compare
    -Wstrict-prototypes
    -Wswitch-enum
    -Wtype-limits
    -Wundef
    -Wunused-macros
    -Wvla
    -Wwrite-strings
    # Supported by one of the two compilers only.
    -Wcomma
    -Wconditional-uninitialized
    -Wduplicated-branches
    -Wduplicated-cond
    -Wjump-misses-init
    -Wlogical-op
    -Wshift-overflow=2
    -Wthread-safety
    -Wtrampolines
    # Callbacks have all parameters of their type, and tables omit members on purpose.
    -Wno-unused-parameter
    -Wno-missing-field-initializers)

set(CURATOR_SUPPORTED_WARNING_FLAGS "")
foreach(flag IN LISTS CURATOR_WARNING_FLAGS)
  string(MAKE_C_IDENTIFIER "CURATOR_HAS${flag}" _has)
  check_c_compiler_flag(${flag} ${_has})
  if(${_has})
    list(APPEND CURATOR_SUPPORTED_WARNING_FLAGS ${flag})
  endif()
endforeach()

# GObject-style casts violate the aliasing rules, so the optimiser must not assume them.
set(CURATOR_CODE_FLAGS -fno-strict-aliasing -fno-common)
# Optimised builds contain no folder of the machine that made them.
foreach(folder IN ITEMS BINARY SOURCE)
  list(APPEND CURATOR_CODE_FLAGS "$<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_${folder}_DIR}=.>")
endforeach()

function(curator_set_warnings target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${CURATOR_SUPPORTED_WARNING_FLAGS}>
                                           ${CURATOR_CODE_FLAGS})
  if(CURATOR_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
    if(CURATOR_SANITIZE)
      # Instrumented code confuses gcc's flow analysis; in plain builds this warning stays an error.
      target_compile_options(${target} PRIVATE -Wno-error=maybe-uninitialized)
      if(CMAKE_C_COMPILER_ID MATCHES "Clang")
        target_compile_options(${target} PRIVATE -Wno-unknown-warning-option)
      endif()
    endif()
  endif()
endfunction()
