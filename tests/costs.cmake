# Read by ctest: what the tests of gtest_suites.cmake and pytest_files.cmake have in common.

# set_cost(TEST): its COST, where `seconds` (see CMakeLists.txt) has one.
macro(set_cost test)
  list(FIND seconds "${test}" at)
  if(at GREATER -1)
    math(EXPR at "${at} + 1")
    list(GET seconds ${at} cost)
    set_tests_properties("${test}" PROPERTIES COST ${cost})
  endif()
endmacro()
