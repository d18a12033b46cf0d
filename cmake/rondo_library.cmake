# One function for every layer: the library from src/<folder>, its tests (the *_test.cc beside the code, one binary), and each of its public
# headers compiled alone.

if(RONDO_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# With a sanitizer it takes longer to optimise a test than to run it unoptimised: what takes time there is the code that is tested.
set(RONDO_TEST_FLAGS "" CACHE STRING "More flags of the compiler for what is a test")

# The tier of a test case follows from its name (docs/hacking.md, "Test tiers"). What needs the real kernel is "system", what takes its time
# is "full": many seeds, a million rows, hundreds of MiB, servers and links that break and time out. The rest is a "unit" and together takes
# seconds.
set(RONDO_SYSTEM_CASES "*Linux*:*linux*")
set(RONDO_FULL_CASES "*Property*:*Model*:*Million*:*Storm*:*Contract*:*Large*:*Faults*:*Fence*:*Epoch*:*Bounds*")

# rondo_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds] [ENVIRONMENT ...]): one GoogleTest binary; ctest sees every case.
# Without LABELS each case gets its tier as its label, and its units are the quick tier.
function(rondo_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} rondo_flags GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${RONDO_TEST_FLAGS})
  rondo_together(${name} test)
  if(ARG_LABELS)
    rondo_discover(${name} "*" "${ARG_LABELS}")
  else()
    rondo_discover(${name} "*-${RONDO_FULL_CASES}:${RONDO_SYSTEM_CASES}" unit)
    rondo_quick(${name} "*-${RONDO_FULL_CASES}:${RONDO_SYSTEM_CASES}")
    rondo_discover(${name} "${RONDO_FULL_CASES}:-${RONDO_SYSTEM_CASES}" full)
    rondo_discover(${name} "${RONDO_SYSTEM_CASES}" system)
  endif()
endfunction()

# The cases of a binary that match 'filter', under 'labels'. Cases on the real kernel take turns: they share its routing lock and our limits.
macro(rondo_discover name filter labels)
  set(properties TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}" ENVIRONMENT "${ARG_ENVIRONMENT}")
  if("${labels}" MATCHES "system")
    list(APPEND properties RESOURCE_LOCK kernel)
  endif()
  gtest_discover_tests(${name} TEST_FILTER "${filter}" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTIES ${properties})
endmacro()

# The quick tier: the units of a binary in two processes of some hundred cases each, where the process of a case of its own would cost more
# than the case. These tests exist for `ctest --build-config quick` alone, so that no other run has a case twice.
set(RONDO_QUICK_PROCESSES 2)
function(rondo_quick name filter)
  math(EXPR last "${RONDO_QUICK_PROCESSES} - 1")
  foreach(index RANGE ${last})
    set(test "quick.${name}.${index}")
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1 "--gtest_filter=${filter}" CONFIGURATIONS quick
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    # A filter that finds nothing is a mistake of ours and no success.
    set_tests_properties(${test} PROPERTIES LABELS quick TIMEOUT 120 FAIL_REGULAR_EXPRESSION "0 tests from 0 test suites ran"
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${RONDO_QUICK_PROCESSES};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# rondo_library(<folder> [DEPENDS <folder>...] [PARTS <subfolder>...]). A part is a subfolder that is a library of its own (rondo_part).
function(rondo_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PARTS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  foreach(part IN LISTS ARG_PARTS)
    list(FILTER sources EXCLUDE REGEX "/src/${folder}/${part}/")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(sources)
    add_library(rondo_${folder} STATIC ${sources})
    rondo_together(rondo_${folder} library)
    set(visibility PUBLIC)
  else()  # Headers only.
    add_library(rondo_${folder} INTERFACE)
    set(visibility INTERFACE)
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND rondo_)
  target_link_libraries(rondo_${folder} ${visibility} rondo_flags ${ARG_DEPENDS})

  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/rondo/${folder}/*.h)
  if(headers AND RONDO_BUILD_TESTS AND NOT RONDO_SANITIZE AND NOT RONDO_COVERAGE)
    set(units "")
    foreach(header IN LISTS headers)
      cmake_path(GET header STEM stem)
      set(unit ${CMAKE_BINARY_DIR}/headers/${folder}/${stem}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"rondo/${folder}/${stem}.h\"  // Compiles alone.\n")
      list(APPEND units ${unit})
    endforeach()
    add_library(rondo_${folder}_headers OBJECT ${units})
    target_link_libraries(rondo_${folder}_headers PRIVATE rondo_flags)
  endif()

  # A layer's tests may use the simulation kit, which lies beside the layers.
  if(tests AND RONDO_BUILD_TESTS)
    rondo_test(${folder}_test SOURCES ${tests} LINK rondo_${folder} rondo_sim)
  endif()
endfunction()

# rondo_part(<name> <folder> DEPENDS ... [LINK ...]): part of a layer that needs packages which a small installation may do without: library
# rondo_<name> from src/<folder> and its tests. DEPENDS are our folders, LINK the packages' targets.
function(rondo_part name folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(rondo_${name} STATIC ${sources})
  rondo_together(rondo_${name} library)
  list(TRANSFORM ARG_DEPENDS PREPEND rondo_)
  target_link_libraries(rondo_${name} PUBLIC rondo_flags ${ARG_DEPENDS} PRIVATE ${ARG_LINK})
  if(tests AND RONDO_BUILD_TESTS)
    # Servers of their own, a million keys: under a sanitizer on a loaded machine that takes its time.
    rondo_test(${name}_test SOURCES ${tests} LINK rondo_${name} rondo_sim ${ARG_LINK} TIMEOUT 400)
  endif()
endfunction()
