# One function for every layer. It builds the library from src/<folder> and its tests (the *_test.cc beside the code, one binary).

if(RONDO_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_custom_target(unit_tests)  # The tests that have units, and the fuzzers' corpora: what `./test asan` builds.
endif()

# To optimise a test takes longer than to run it unoptimised, because most of its time is spent in the tested code.
set(RONDO_TEST_FLAGS "" CACHE STRING "More flags of the compiler for tests, examples and programs")

# The name of a test case determines its tier (docs/hacking.md, "Test tiers"). Cases that need the real kernel are "system". Slow cases are
# "full": many seeds, a million rows, hundreds of MiB, servers and links that break and time out. All others are "unit" and together take
# seconds.
set(RONDO_SYSTEM_CASES "*Linux*:*linux*")
set(RONDO_LONG_CASES "*Property*:*Model*:*Million*:*Storm*:*Large*:*Faults*:*Fence*:*Epoch*:*Bounds*")
set(RONDO_FULL_CASES "${RONDO_LONG_CASES}:*Contract*")

# rondo_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [LOCK name] [ENVIRONMENT ...] [SHARED]): one GoogleTest binary; ctest
# lists every case. SHARED: its full cases share some processes, because each process starts a server, which takes seconds. A TIMEOUT ends a test that hangs; a slow machine must not reach it.
# Without LABELS each case gets its tier as its label, and its unit cases also form the quick tier.
function(rondo_test name)
  cmake_parse_arguments(ARG "SHARED" "TIMEOUT;LOCK" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(NOT ARG_LOCK)
    set(ARG_LOCK kernel)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} rondo_flags GTest::gmock GTest::gtest_main)
  rondo_together(${name} test)
  if(NOT ARG_LABELS)
    add_dependencies(unit_tests ${name})
  endif()
  if(ARG_LABELS)
    rondo_discover(${name} "*" "${ARG_LABELS}")
  elseif(RONDO_SANITIZE MATCHES "address")
    rondo_shared(${name} "*-${RONDO_LONG_CASES}:${RONDO_SYSTEM_CASES}" unit)
    rondo_discover(${name} "${RONDO_LONG_CASES}:-${RONDO_SYSTEM_CASES}" full)
    rondo_discover(${name} "${RONDO_SYSTEM_CASES}" system)
  else()
    rondo_discover(${name} "*-${RONDO_FULL_CASES}:${RONDO_SYSTEM_CASES}" unit)
    rondo_quick(${name} "*-${RONDO_FULL_CASES}:${RONDO_SYSTEM_CASES}")
    if(ARG_SHARED)
      rondo_shared(${name} "${RONDO_FULL_CASES}:-${RONDO_SYSTEM_CASES}" full)
    else()
      rondo_discover(${name} "${RONDO_FULL_CASES}:-${RONDO_SYSTEM_CASES}" full)
    endif()
    rondo_discover(${name} "${RONDO_SYSTEM_CASES}" system)
  endif()
endfunction()

# Adds the cases of a binary that match 'filter', with 'labels'. Cases on the real kernel run one at a time: they share its routing lock
# and our limits. So they also start first: ctest starts tests in descending order of COST, and a queue that starts last ends last. LOCK names
# another lock, for system cases that do not use the kernel's tables.
macro(rondo_discover name filter labels)
  set(properties TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}")
  if(NOT "${ARG_ENVIRONMENT}" STREQUAL "")  # gtest_discover_tests drops an empty value and takes the next name for it.
    list(APPEND properties ENVIRONMENT "${ARG_ENVIRONMENT}")
  endif()
  if("${labels}" MATCHES "system")
    list(APPEND properties RESOURCE_LOCK ${ARG_LOCK} COST 1000)
  endif()
  gtest_discover_tests(${name} TEST_FILTER "${filter}" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 600
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES ${properties})
endmacro()

# The quick tier: the unit cases of a binary in two processes of some hundred cases each, because a process for each case would cost more
# than the case. These tests exist only for `ctest --build-config quick`, so that no other run has a case twice.
set(RONDO_QUICK_PROCESSES 2)
function(rondo_quick name filter)
  math(EXPR last "${RONDO_QUICK_PROCESSES} - 1")
  foreach(index RANGE ${last})
    set(test "quick.${name}.${index}")
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1 "--gtest_filter=${filter}" CONFIGURATIONS quick
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # A filter that matches no test is a mistake, so it fails.
    set_tests_properties(${test} PROPERTIES LABELS quick TIMEOUT 600 FAIL_REGULAR_EXPRESSION "0 tests from 0 test suites ran"
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${RONDO_QUICK_PROCESSES};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# The cases of a binary that match 'filter' in four processes that share them. With the address sanitizer these are the unit and contract
# cases: there a process costs more than a tenth of a second before its case begins. The plain build runs each of these cases in a process
# of its own, except those of a SHARED binary.
set(RONDO_SHARED_PROCESSES 4)
function(rondo_shared name filter label)
  math(EXPR last "${RONDO_SHARED_PROCESSES} - 1")
  foreach(index RANGE ${last})
    set(test "shared.${name}.${index}")
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1 "--gtest_filter=${filter}" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(environment ${ARG_ENVIRONMENT} GTEST_TOTAL_SHARDS=${RONDO_SHARED_PROCESSES} GTEST_SHARD_INDEX=${index})
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1200 COST 10 ENVIRONMENT "${environment}")
  endforeach()
  # A filter that matches no test is a mistake, so it fails. A binary with fewer cases than processes leaves the last ones without a case.
  set_tests_properties(shared.${name}.0 PROPERTIES FAIL_REGULAR_EXPRESSION "0 tests from 0 test suites ran")
endfunction()

# rondo_component(<name> [NEEDS component...] [PUBLIC package...] [PRIVATE package...]): a library that users link as rondo::<name>;
# rondo_library and rondo_part add its sources. The first one, rondo, is the library that the others use. PUBLIC packages are those that
# public headers include. The library's target is librondo or librondo-<name>, because the command line's target is rondo.
set(RONDO_COMPONENTS "")
set(RONDO_WITHOUT "")
macro(rondo_component name)
  cmake_parse_arguments(ARG "" "" "NEEDS;PUBLIC;PRIVATE" ${ARGN})
  set(RONDO_NEEDS_${name} ${ARG_NEEDS})
  list(TRANSFORM ARG_NEEDS PREPEND librondo-)
  if("${name}" STREQUAL rondo)
    set(library librondo)
    set(file rondo)
    set(core "")
  else()
    set(library librondo-${name})
    set(file rondo-${name})
    set(core librondo)
    list(APPEND RONDO_COMPONENTS ${name})
  endif()
  add_library(${library})
  add_library(rondo::${name} ALIAS ${library})
  target_link_libraries(${library} PUBLIC ${ARG_NEEDS} ${core} ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  # Before 1.0 a minor version may change the binary interface.
  set_target_properties(${library} PROPERTIES OUTPUT_NAME ${file} EXPORT_NAME ${name} LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endmacro()

# rondo_without(<name> <reason>): declares a component that is not built, with the reason; find_package repeats the reason.
macro(rondo_without name reason)
  message(STATUS "The component ${name} is not built: ${reason}")
  list(APPEND RONDO_WITHOUT ${name})
  set(RONDO_WITHOUT_${name} "${reason}")
endmacro()

# rondo_objects(<name> <component> SOURCES ... [DEPENDS folder...] [LINK package...]): sources of a component. Targets of this project link
# rondo_<name>, which adds the component, rondo_flags, and the libraries of DEPENDS.
function(rondo_objects name component)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  if("${component}" STREQUAL rondo)
    set(library librondo)
  else()
    set(library librondo-${component})
  endif()
  add_library(rondo_${name} INTERFACE)
  list(TRANSFORM ARG_DEPENDS PREPEND rondo_)
  target_link_libraries(rondo_${name} INTERFACE rondo_flags ${library} ${ARG_DEPENDS})
  if(ARG_SOURCES)
    add_library(rondo_${name}_objects OBJECT ${ARG_SOURCES})
    target_link_libraries(rondo_${name}_objects PRIVATE rondo_flags ${ARG_LINK})
    rondo_together(rondo_${name}_objects library)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:rondo_${name}_objects>)
  endif()
endfunction()

# rondo_headers(<name> <header>...): compiles each public header alone, if RONDO_HEADERS is on.
function(rondo_headers name)
  if(NOT ARGN OR NOT RONDO_HEADERS)
    return()
  endif()
  set(units "")
  foreach(header IN LISTS ARGN)
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/include OUTPUT_VARIABLE included)
    cmake_path(REPLACE_EXTENSION included .cc OUTPUT_VARIABLE unit)
    set(unit ${PROJECT_BINARY_DIR}/headers/${unit})
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${included}\"  // Compiles alone.\n")
    list(APPEND units ${unit})
  endforeach()
  add_library(rondo_${name}_headers OBJECT ${units})
  target_link_libraries(rondo_${name}_headers PRIVATE rondo_flags)
endfunction()

# rondo_library(<folder> [HEADERS_ONLY] [COMPONENT <name>] [DEPENDS <folder>...] [PARTS <subfolder>...]): a layer, by default of rondo::rondo.
# A part is a subfolder that is another layer, or belongs to another component (rondo_part). The layer src/jobs/workers is rondo_jobs_workers.
function(rondo_library folder)
  string(REPLACE "/" "_" name ${folder})
  cmake_parse_arguments(ARG "HEADERS_ONLY" "COMPONENT" "DEPENDS;PARTS" ${ARGN})
  if(NOT ARG_COMPONENT)
    set(ARG_COMPONENT rondo)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  foreach(part IN LISTS ARG_PARTS)
    list(FILTER sources EXCLUDE REGEX "/src/${folder}/${part}/")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(NOT sources AND NOT ARG_HEADERS_ONLY)
    message(FATAL_ERROR "The layer ${folder} has no sources in ${PROJECT_SOURCE_DIR}/src/${folder}. Is the source tree complete?")
  endif()
  rondo_objects(${name} ${ARG_COMPONENT} SOURCES ${sources} DEPENDS ${ARG_DEPENDS})
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/rondo/${folder}/*.h)
  rondo_headers(${name} ${headers})
  # A layer's tests may use the simulation kit and replays, which lie beside the layers.
  if(tests AND RONDO_BUILD_TESTS)
    rondo_test(${name}_test SOURCES ${tests} LINK rondo_${name} rondo_sim rondo_replay)
  endif()
endfunction()

# rondo_part(<name> <folder> DEPENDS ... [LINK ...] [SHARED]): adds src/<folder> to the component <name>; LINK names the packages that it needs, and
# DEPENDS our folders. SHARED is for its tests, see rondo_test.
function(rondo_part name folder)
  cmake_parse_arguments(ARG "SHARED" "" "DEPENDS;LINK" ${ARGN})
  if(ARG_SHARED)
    set(shared SHARED)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(NOT sources)
    message(FATAL_ERROR "The component ${name} has no sources in ${PROJECT_SOURCE_DIR}/src/${folder}. Is the source tree complete?")
  endif()
  rondo_objects(${name} ${name} SOURCES ${sources} DEPENDS ${ARG_DEPENDS} LINK ${ARG_LINK})
  if(tests AND RONDO_BUILD_TESTS)
    # These tests start servers and write a million keys, which takes long under a sanitizer on a loaded machine.
    rondo_test(${name}_test SOURCES ${tests} LINK rondo_${name} rondo_sim rondo_replay ${ARG_LINK} TIMEOUT 1200 ${shared})
  endif()
endfunction()
