# Read by ctest, once for each folder of pytest files: makes a test of each file that `pattern` names, of the kind that its `pytestmark` says. Python keeps the
# bytecode of what it reads: pytest rewrites all of Hypothesis at each start, one second for each file, where PYTHONDONTWRITEBYTECODE keeps it from that.
file(GLOB paths ${pattern})
string(REPLACE ";" "|" any_kind "${kinds}")
foreach(path IN LISTS paths)
  get_filename_component(name ${path} NAME_WE)
  set(test "${prefix}${name}")
  add_test("${test}" ${python} -m pytest -q ${path})
  file(READ ${path} text)
  string(REGEX MATCH "\npytestmark = [[]?[ \n]*pytest\\.mark\\.(${any_kind})[^a-z_]" found "${text}")
  set_tests_properties("${test}" PROPERTIES TIMEOUT 1800 LABELS "${CMAKE_MATCH_1};${label}" ENVIRONMENT "${environment}"
    ENVIRONMENT_MODIFICATION "PYTHONDONTWRITEBYTECODE=unset:")
  list(FIND seconds "${test}" at)
  if(at GREATER -1)
    math(EXPR at "${at} + 1")
    list(GET seconds ${at} cost)
    set_tests_properties("${test}" PROPERTIES COST ${cost})
  endif()
endforeach()
