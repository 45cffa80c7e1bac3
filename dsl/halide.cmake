# The Halide wheel as an imported target. Its own CMake package needs CMake 3.28, Debian 12 has 3.25.
set(TILEWRIGHT_HALIDE_DIR "" CACHE PATH "Folder of the installed halide wheel (holds include/ and lib64/)")
if(NOT TILEWRIGHT_HALIDE_DIR)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('halide').submodule_search_locations[0])"
    OUTPUT_VARIABLE TILEWRIGHT_HALIDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS "${TILEWRIGHT_HALIDE_DIR}/include/Halide.h")
  message(FATAL_ERROR "Halide 21 is not there for ${Python_EXECUTABLE}. Install it: pip install halide==21.0.0")
endif()
add_library(Halide::Halide SHARED IMPORTED)
set_target_properties(Halide::Halide PROPERTIES
  IMPORTED_LOCATION "${TILEWRIGHT_HALIDE_DIR}/lib64/libHalide.so"
  INTERFACE_INCLUDE_DIRECTORIES "${TILEWRIGHT_HALIDE_DIR}/include"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${TILEWRIGHT_HALIDE_DIR}/include"
  INTERFACE_COMPILE_DEFINITIONS "HALIDE_WITH_EXCEPTIONS;HALIDE_ENABLE_RTTI")
# HalideRuntime.h alone: the types of kernels' arguments, for code that must not know Halide.h.
add_library(tilewright_halide_runtime_header INTERFACE)
target_include_directories(tilewright_halide_runtime_header SYSTEM INTERFACE "${TILEWRIGHT_HALIDE_DIR}/include")
