# TILEWRIGHT_UNITY: a build from scratch in a fraction of the work. Two functions that do nothing where it is OFF.
option(TILEWRIGHT_UNITY "Compile sources in groups: much less work from scratch, more after a small change" OFF)
set(TILEWRIGHT_UNITY_LINES 3000 CACHE STRING "Most lines in a group")

# tilewright_unity(TARGET...): compiles the sources of each target in groups, a group as one file.
#
# Most of a file's compile time goes into templates of the standard library that every other file instantiates too; a group does so once.
function(tilewright_unity)
  if(NOT TILEWRIGHT_UNITY)
    return()
  endif()
  foreach(target ${ARGN})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    execute_process(
      COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/unity_groups.py ${TILEWRIGHT_UNITY_LINES} ${sources}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE rows COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" rows "${rows}")
    foreach(row ${rows})
      string(REGEX MATCH "^([0-9]+) (.+)$" matched "${row}")
      set_source_files_properties("${CMAKE_MATCH_2}" PROPERTIES UNITY_GROUP "${target}_${CMAKE_MATCH_1}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ takes files that are included for headers, and warns of members whose types are in unnamed namespaces. More memory saves it a tenth of the time.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage "SHELL:--param ggc-min-heapsize=2000000")
    endif()
    # A new name may split a group.
    list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  endforeach()
endfunction()

# tilewright_unhurried(TARGET...): code that works for a few milliseconds beside Halide's and LLVM's hundreds: optimized a little, in half the time.
function(tilewright_unhurried)
  if(TILEWRIGHT_UNITY)
    foreach(target ${ARGN})
      target_compile_options(${target} PRIVATE -Og)
    endforeach()
  endif()
endfunction()

# tilewright_shared_halide_header(TARGET...): Halide.h is compiled once, for tilewright_dsl, and the targets read that, which takes a tenth of the time. By hand
# each target of several sources has its own, so that flags may differ.
function(tilewright_shared_halide_header)
  foreach(target ${ARGN})
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    if(TILEWRIGHT_UNITY)
      target_precompile_headers(${target} REUSE_FROM tilewright_dsl)
      # A header that is compiled for libraries serves code that could be one's.
      target_compile_options(${target} PRIVATE -fPIC)
    elseif(count GREATER 3)
      target_precompile_headers(${target} PRIVATE <Halide.h>)
    endif()
  endforeach()
endfunction()
