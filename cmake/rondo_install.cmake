# Installs the libraries, the public headers, and the files for find_package and pkg-config: install component `development`. The installed
# tree can be moved to another folder. The programs install themselves (apps/).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rondo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")

# rondo_install_component(<name> <library> <description>): installs its archive or shared library, its CMake target and its pkg-config
# file. In the latter, Requires.private names the packages that only a static link needs.
function(rondo_install_component name library description)
  set_property(TARGET ${library} APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")  # A shared library finds those it links beside it.
  install(TARGETS ${library} EXPORT rondo-${name} COMPONENT development)
  install(EXPORT rondo-${name} NAMESPACE rondo:: DESTINATION ${config_folder} COMPONENT development)
  get_target_property(PC_NAME ${library} OUTPUT_NAME)
  set(PC_DESCRIPTION "${description}")
  set(PC_REQUIRES "rondo = ${PROJECT_VERSION}")
  if("${name}" STREQUAL rondo)
    set(PC_REQUIRES "")
  endif()
  foreach(needed IN LISTS RONDO_NEEDS_${name})
    string(APPEND PC_REQUIRES ", rondo-${needed} = ${PROJECT_VERSION}")
  endforeach()
  set(packages_rondo libxxhash)
  set(packages_durable sqlite3)
  set(packages_jobs sqlite3 libcrypto)
  set(packages_mariadb libmariadb)
  set(packages_redis hiredis openssl)
  set(packages_http libcurl openssl zlib)
  list(JOIN packages_${name} ", " packages)
  set(PC_REQUIRES_PRIVATE "")
  set(PC_LIBS_PRIVATE "")
  if(NOT BUILD_SHARED_LIBS)
    set(PC_REQUIRES_PRIVATE "${packages}")
    set(PC_LIBS_PRIVATE "-pthread")
    if("${name}" STREQUAL zmq)
      # Debian's libzmq.pc cannot be linked with --static: it names an archive, libprotokit.a, without its folder.
      list(JOIN RONDO_ZEROMQ_LDFLAGS " " zeromq)
      string(APPEND PC_LIBS_PRIVATE " ${zeromq}")
    endif()
    if("${name}" STREQUAL postgresql)
      # Debian's libpq.pc names archives that no package has, and libraries that libpq-dev does not need.
      list(JOIN RONDO_LIBPQ_LDFLAGS " " libpq)
      string(APPEND PC_LIBS_PRIVATE " ${libpq}")
    endif()
  endif()
  # The prefix as seen from the file's own folder, so that it can be moved.
  cmake_path(ABSOLUTE_PATH pc_folder BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE place)
  file(RELATIVE_PATH PC_PREFIX ${place} ${CMAKE_INSTALL_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/rondo.pc.in ${PROJECT_BINARY_DIR}/package/${PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${PC_NAME}.pc DESTINATION ${pc_folder} COMPONENT development)
endfunction()

rondo_install_component(rondo librondo "Tables, fair scheduling and dependency retry for control planes")
foreach(name IN LISTS RONDO_COMPONENTS)
  rondo_install_component(${name} librondo-${name} "The component ${name} of Rondo")
endforeach()

set(RONDO_NEEDS "")
foreach(name IN LISTS RONDO_COMPONENTS)
  if(RONDO_NEEDS_${name})
    string(APPEND RONDO_NEEDS "set(_rondo_needs_${name} ${RONDO_NEEDS_${name}})\n")
  endif()
endforeach()
set(RONDO_REASONS "")
foreach(name IN LISTS RONDO_WITHOUT)
  string(APPEND RONDO_REASONS "set(_rondo_without_${name} \"${RONDO_WITHOUT_${name}} when this Rondo was built\")\n")
endforeach()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rondoConfig.cmake.in ${PROJECT_BINARY_DIR}/package/rondoConfig.cmake
                              INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rondoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/rondoConfig.cmake ${PROJECT_BINARY_DIR}/package/rondoConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT development)

# Installed programs find the shared libraries by a path relative to themselves.
if(BUILD_SHARED_LIBS AND PROJECT_IS_TOP_LEVEL)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set(CMAKE_INSTALL_RPATH "$ORIGIN/${libraries}")
endif()
