// tests/translator/trips_as_axes_test.cpp: which loops become axes, and as what.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "translator/loops/trips_as_axes.h"

namespace {

using namespace tilewright::translator;

TEST(TripsAsAxes, Shows) {
    std::ifstream in(std::getenv("SHOW"));
    std::stringstream text;
    text << in.rdbuf();
    TranslateOptions options;
    options.device = true;
    std::cout << print_program(trips_as_axes(read_program(text.str()), options));
    const auto algorithm = translate(read_program(text.str()), options);
    for (const auto& stage : algorithm.info().stages)
        std::cout << stage.name << " " << stage.part << "\n";
}

} // namespace
