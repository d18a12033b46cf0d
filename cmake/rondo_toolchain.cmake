# Compiler flags, sanitizers, compiler cache, linker and the packages that every part may use.
include(CheckCXXCompilerFlag)
include(CTest)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths relative to this folder, so that another clone of the same source finds what this one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_library(rondo_flags INTERFACE)
target_compile_options(rondo_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
# What is compiled with others (rondo_together.cmake) shadows what is theirs.
target_compile_options(rondo_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
# g++ 12 sees uninitialised vectors inside std::variant alternatives that are not there.
target_compile_options(rondo_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
option(RONDO_WERROR "Warnings are errors" ON)
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE -Werror)
endif()
target_include_directories(rondo_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
# Packages' headers are not ours to warn about.
target_link_libraries(rondo_flags INTERFACE Threads::Threads tl::expected Boost::headers PkgConfig::XXHASH)
target_compile_definitions(rondo_flags INTERFACE RONDO_VERSION="${PROJECT_VERSION}")

if(RONDO_COVERAGE)
  # Threads count the same lines.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

if(RONDO_SANITIZE)
  add_compile_options(-fsanitize=${RONDO_SANITIZE} -fno-omit-frame-pointer)
  if(RONDO_SANITIZE MATCHES "undefined")
    # These double the time of a compilation and find what the address sanitizer finds as well. They must follow -fsanitize.
    add_compile_options(-fno-sanitize=null,alignment,vptr,object-size,nonnull-attribute -fno-sanitize-recover=all)
  endif()
  if(RONDO_SANITIZE MATCHES "thread")
    # It does not know fences. Ours stand between atomics, where it has nothing to find.
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=${RONDO_SANITIZE})
endif()
