# tilewright_unity(TARGET...): compiles the sources of each target in groups, a group as one file, where TILEWRIGHT_UNITY is ON.
#
# Most of a file's compile time goes into templates of the standard library that every other file instantiates too; a group does so once.
option(TILEWRIGHT_UNITY "Compile sources in groups: much less work from scratch, more after a small change" OFF)
set(TILEWRIGHT_UNITY_LINES 3000 CACHE STRING "Most lines in a group")

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
    # g++ gives this warning for types of unnamed namespaces in files that are included, taking them for headers.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    # A new name may split a group.
    list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  endforeach()
endfunction()
