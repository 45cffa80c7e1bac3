# The elementary functions.
target_sources(tilewright_translator PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/math.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_exponential.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_hyperbolic.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_inverse_trigonometric.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_logarithm.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_power.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_real.cpp
  ${CMAKE_CURRENT_LIST_DIR}/math_trigonometric.cpp)
