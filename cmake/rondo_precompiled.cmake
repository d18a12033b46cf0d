# The headers that nearly every file includes, of the standard library and of GoogleTest, compiled once. They save a fifth of a build with a
# sanitizer, and hide an #include that is missing: so the presets of the sanitizers have them and the others do not.
option(RONDO_PRECOMPILE "Precompile what most files include; a missing #include is not found" OFF)

if(RONDO_PRECOMPILE)
  # What uses hiredis has this flag, and headers that were compiled without it are none for it. On 64-bit systems it changes nothing.
  target_compile_definitions(rondo_flags INTERFACE _FILE_OFFSET_BITS=64)
  set(RONDO_COMMON_HEADERS <algorithm> <array> <atomic> <cerrno> <chrono> <cstddef> <cstdint> <cstdlib> <cstring> <deque> <filesystem>
                           <fstream> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <thread> <tl/expected.hpp>
                           <unordered_map> <utility> <variant> <vector>)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/library.cc CONTENT "// Whoever has the library's headers.\n")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/program.cc CONTENT "int main() {}\n")
  # Libraries are made with -fPIC, programs with -fPIE: headers of the one are none of the other's.
  add_library(rondo_precompiled_library OBJECT ${CMAKE_BINARY_DIR}/precompiled/library.cc)
  target_link_libraries(rondo_precompiled_library PRIVATE rondo_flags)
  target_precompile_headers(rondo_precompiled_library PRIVATE ${RONDO_COMMON_HEADERS})
  if(RONDO_BUILD_TESTS)
    add_executable(rondo_precompiled_test ${CMAKE_BINARY_DIR}/precompiled/program.cc)
    target_link_libraries(rondo_precompiled_test PRIVATE rondo_flags GTest::gmock)
    target_precompile_headers(rondo_precompiled_test PRIVATE ${RONDO_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endif()

# rondo_precompiled(<target> <library|test>): the target's files have these headers compiled.
function(rondo_precompiled target kind)
  if(RONDO_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM rondo_precompiled_${kind})
  endif()
endfunction()
