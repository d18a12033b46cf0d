# One function for every layer: the library from src/<folder>, its tests (the *_test.cc beside the code, one binary), and each of its public
# headers compiled alone.

set(RONDO_TEST_LIBRARIES "")
if(RONDO_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# rondo_test(<name> SOURCES ... LINK ... [LABELS ...] [TIMEOUT seconds]): one GoogleTest binary; ctest sees every case.
function(rondo_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} rondo_flags GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# rondo_library(<folder> [DEPENDS <folder>...])
function(rondo_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(NOT sources)  # A layer without code yet.
    add_library(rondo_${folder} INTERFACE)
    return()
  endif()
  add_library(rondo_${folder} STATIC ${sources})
  set_target_properties(rondo_${folder} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(rondo_${folder} PUBLIC rondo_flags)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(rondo_${folder} PUBLIC rondo_${dependency})
  endforeach()

  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/rondo/${folder}/*.h)
  if(headers AND RONDO_BUILD_TESTS)
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

  # Tests of a layer may use the simulation kit, which lies beside the layers.
  if(tests AND RONDO_BUILD_TESTS)
    rondo_test(${folder}_test SOURCES ${tests} LINK rondo_${folder} rondo_sim LABELS full)
  endif()
endfunction()
