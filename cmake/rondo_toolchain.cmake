# The packages that every part uses, and the compilation of Rondo's own sources: warnings, sanitizers, compiler cache, linker. Users get
# none of the flags, because rondo_flags is only for targets of this project. A project that includes this one by add_subdirectory links
# our libraries from its own folder, where it must see the packages' targets, too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(RONDO_XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)

# A project that includes this one chooses its own compiler cache, linker and test driver.
if(PROJECT_IS_TOP_LEVEL)
  include(CTest)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    # Paths relative to this folder, so that another clone of the same source finds the cached objects.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
  endif()
  find_program(MOLD_PROGRAM mold)
  if(MOLD_PROGRAM)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(rondo_flags INTERFACE)
target_compile_options(rondo_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
# Files that are compiled as one (rondo_together.cmake) shadow each other's names.
target_compile_options(rondo_flags INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
# g++ 12 reports uninitialised vectors inside std::variant alternatives that do not exist.
target_compile_options(rondo_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# Messages of failed checks name files from the root of the source tree on. Not in the presets for tests, which nobody is given.
target_compile_options(rondo_flags INTERFACE $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE -Werror)
endif()
target_include_directories(rondo_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(rondo_flags INTERFACE Threads::Threads tl::expected Boost::headers PkgConfig::RONDO_XXHASH)
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
    # The thread sanitizer does not support fences. Rondo's fences stand between atomics, where it has nothing to find.
    add_compile_options(-Wno-tsan)
  endif()
  add_link_options(-fsanitize=${RONDO_SANITIZE})
endif()
