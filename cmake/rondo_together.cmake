# Compiles several files as one, with precompiled headers that nearly every file includes. This halves the time, most of which is spent on
# parsing the same headers again. It hides a missing #include, so the preset alone compiles each file separately (OFF).
#
# Files that define the same name are not combined: rondo_names_of() finds the names at the beginning of a line. It does not detect a name
# that a header also has. Then the compiler reports an error, and RONDO_ALONE must name the file.
option(RONDO_TOGETHER "Compile several files as one, with precompiled headers" OFF)
set(RONDO_FILES_TOGETHER 12)
set(RONDO_ALONE src/journal/journal_test.cc src/store/zmq/frame_test.cc src/store/redis/doctor_test.cc
    src/console/files.cc
    tests/scenarios/zmq_orch_test.cc)
list(TRANSFORM RONDO_ALONE PREPEND ${PROJECT_SOURCE_DIR}/)

if(RONDO_TOGETHER)
  # What uses hiredis has this flag, and headers that were compiled without it are none for it. On 64-bit systems it changes nothing.
  target_compile_definitions(rondo_flags INTERFACE _FILE_OFFSET_BITS=64)
  set(RONDO_COMMON_HEADERS <algorithm> <array> <atomic> <cerrno> <chrono> <cstddef> <cstdint> <cstdlib> <cstring> <deque> <filesystem>
                           <fstream> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <thread> <tl/expected.hpp>
                           <unordered_map> <utility> <variant> <vector>)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/library.cc CONTENT "// For targets that use the library's headers.\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/program.cc CONTENT "int main() {}\n")
  # Libraries are made with -fPIC, programs with -fPIE: headers of the one are none of the other's.
  # To the compiler, which sees one file that includes others, what a file keeps to itself looks like what a header has.
  target_compile_options(rondo_flags INTERFACE -Wno-subobject-linkage)
  add_library(rondo_precompiled_library OBJECT ${PROJECT_BINARY_DIR}/precompiled/library.cc)
  target_link_libraries(rondo_precompiled_library PRIVATE rondo_flags)
  target_precompile_headers(rondo_precompiled_library PRIVATE ${RONDO_COMMON_HEADERS})
  # Parts of programs, which are built for tests with the tests' flags. Most of them use boost/json.hpp, and few files of the libraries do:
  # to read precompiled headers takes time as well.
  add_library(rondo_precompiled_program OBJECT ${PROJECT_BINARY_DIR}/precompiled/library.cc)
  target_link_libraries(rondo_precompiled_program PRIVATE rondo_flags)
  target_compile_options(rondo_precompiled_program PRIVATE ${RONDO_TEST_FLAGS})
  target_precompile_headers(rondo_precompiled_program PRIVATE ${RONDO_COMMON_HEADERS} <boost/json.hpp>)
  if(RONDO_BUILD_TESTS)
    add_executable(rondo_precompiled_test ${PROJECT_BINARY_DIR}/precompiled/program.cc)
    target_link_libraries(rondo_precompiled_test PRIVATE rondo_flags GTest::gmock)
    target_compile_options(rondo_precompiled_test PRIVATE ${RONDO_TEST_FLAGS})
    target_precompile_headers(rondo_precompiled_test PRIVATE ${RONDO_COMMON_HEADERS} <boost/json.hpp> <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# rondo_names_of(<file> <variable>): the names that the file declares at the beginning of a line: types, constants, functions.
function(rondo_names_of file variable)
  file(READ ${file} text)
  string(REGEX MATCHALL "\n(class|struct|enum class|using) [A-Za-z0-9_]+( =)?" types "${text}")
  string(REGEX MATCHALL "\n[A-Za-z_][A-Za-z0-9_:<>,*& ]*[*& ][a-z][A-Za-z0-9_]* ?[({=]" others "${text}")
  list(FILTER others EXCLUDE REGEX "\nnamespace ")
  list(FILTER types EXCLUDE REGEX "using [A-Za-z0-9_]+$")
  list(TRANSFORM types REPLACE ".* ([A-Za-z0-9_]+)( =)?$" "\\1")
  list(TRANSFORM others REPLACE ".*[*& ]([a-z][A-Za-z0-9_]*) ?[({=]$" "\\1")
  set(${variable} ${types} ${others} PARENT_SCOPE)
endfunction()

# Divides the target's files into groups that are compiled as one: each file is in the first group that has room and none of its names.
function(rondo_group target)
  get_target_property(sources ${target} SOURCES)
  set(last -1)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(NOT source MATCHES "\\.cc$" OR source IN_LIST RONDO_ALONE)
      continue()
    endif()
    rondo_names_of(${source} names)
    math(EXPR next "${last} + 1")
    set(files_${next} 0)
    set(names_${next} "")
    foreach(candidate RANGE 0 ${next})
      set(group ${candidate})
      set(clashes FALSE)
      foreach(name IN LISTS names)
        if(name IN_LIST names_${group})
          set(clashes TRUE)
        endif()
      endforeach()
      if(NOT clashes AND files_${group} LESS RONDO_FILES_TOGETHER)
        break()
      endif()
    endforeach()
    if(group GREATER last)
      set(last ${group})
    endif()
    math(EXPR files_${group} "${files_${group}} + 1")
    list(APPEND names_${group} ${names})
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# rondo_together(<target> <library|program|test>): sets how the target's files are compiled. A program's parts are a library, too, but in the
# builds for tests the compiler optimises them as little as a test.
function(rondo_together target kind)
  if(NOT "${kind}" STREQUAL "library")
    target_compile_options(${target} PRIVATE ${RONDO_TEST_FLAGS})
  endif()
  if(TARGET rondo_precompiled_${kind})
    target_precompile_headers(${target} REUSE_FROM rondo_precompiled_${kind})
    rondo_group(${target})
  endif()
endfunction()
