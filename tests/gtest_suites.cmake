# Read by ctest, once for each GoogleTest program: makes a test of each suite of `program`, which has `name`, `labels` and `seconds` (see CMakeLists.txt).
include(${CMAKE_CURRENT_LIST_DIR}/costs.cmake)
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failed ERROR_QUIET)
if(NOT failed EQUAL 0)
  add_test("${name}" ${program}) # not built: the test says so
  set_tests_properties("${name}" PROPERTIES LABELS "${labels}")
endif()
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\." suites "${listed}")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" suite "${suite}")
  set(test "${name}.${suite}")
  add_test("${test}" ${program} "--gtest_filter=${suite}.*")
  # Skipped is a suite of which nothing ran: its summary ends with the tests that were skipped, and names none that failed.
  set_tests_properties("${test}" PROPERTIES LABELS "${labels}" SKIP_REGULAR_EXPRESSION "  PASSED  . 0 tests\\.\n(. *SKIPPED . [^\n]*\n)+$")
  set_cost("${test}")
endforeach()
