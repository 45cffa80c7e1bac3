// tests/translator/sum_order_test.cpp: the order of a sum follows from the program and the layouts of its arguments.
#include <gtest/gtest.h>

#include "translator/ir/attributes.h"
#include "translator/ir/walk.h"
#include "translator/passes/passes.h"

namespace tilewright::translator {
namespace {

/// Of each reduction and product, in the order of the text.
std::vector<SumOrder> orders(const std::string& body, TranslateOptions options = {}) {
    const Program program =
        read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\nscalar n: int64\n" + body);
    verify_program(program);
    std::vector<SumOrder> out;
    const Prepared made = sum_orders({program, false, {}, {}, {}}, options);
    walk(made.program.body, [&](const Operation& operation) {
        if (const SumOrder* order = operation.attributes.find(attr::order)) out.push_back(*order);
    });
    return out;
}

std::vector<SumOrder> of_both_axes(const std::string& before, const std::string& value, TranslateOptions options = {}) {
    return orders(before + "a: float64[] = sum(" + value + ") {axes=[0, 1]}\nb: float64[x.1] = sum(" + value +
                      ") {axes=[0]}\nreturn (a, b)\n",
                  std::move(options));
}

TranslateOptions with_layout(Layout layout) {
    TranslateOptions options;
    options.layouts = {{"x", layout}};
    return options;
}

const SumOrder kRows{.contiguous = true, .joined = 2}, kNoRows{};

TEST(SumOrders, AnArgumentLiesAsItsLayoutSays) {
    EXPECT_EQ(of_both_axes("", "x"), (std::vector<SumOrder>{kRows, kNoRows}));
    const SumOrder by_columns{.contiguous = true, .joined = 1};
    EXPECT_EQ(of_both_axes("", "x", with_layout(Layout::f)), (std::vector<SumOrder>{by_columns, by_columns}));
    EXPECT_EQ(of_both_axes("", "x", with_layout(Layout::any)), (std::vector<SumOrder>{by_columns, kNoRows}));
}

TEST(SumOrders, AViewAndAnExpressionLieAsTheirOperands) {
    const auto of_transposed = [](const std::string& value) {
        return orders("t: float64[x.1, x.0] = transpose(x) {axes=[1, 0]}\n%1: float64[x.1, x.0] = negative(t)\n"
                      "a: float64[x.0] = sum(" +
                      value + ") {axes=[0]}\nreturn a\n");
    };
    const std::vector<SumOrder> along{{.contiguous = true}};
    EXPECT_EQ(of_transposed("t"), along);
    EXPECT_EQ(of_transposed("%1"), along);
    EXPECT_EQ(of_both_axes("%1: float64[x.0, x.1] = negative(x)\n", "%1"), (std::vector<SumOrder>{kRows, kNoRows}));
}

/// A schedule may store a named value otherwise, so that its axes are not one.
TEST(SumOrders, ANamedValueHasItsAxes) {
    EXPECT_EQ(of_both_axes("e: float64[x.0, x.1] = negative(x)\n", "e"),
              (std::vector<SumOrder>{{.contiguous = true}, kNoRows}));
}

/// One sum for each axis, where lanes along the last one would hold a few elements each.
TEST(SumOrders, AxesThatAreShortEachAreAddedUpOneByOne) {
    const auto of_sizes = [](std::int64_t rows, std::int64_t columns) {
        TranslateOptions options;
        options.sizes_here = {{"x.0", rows}, {"x.1", columns}};
        return orders("e: float64[x.0, x.1] = negative(x)\na: float64[] = sum(e) {axes=[0, 1]}\nreturn a\n", options);
    };
    const SumOrder along{.contiguous = true};
    EXPECT_EQ(of_sizes(11, 11), (std::vector<SumOrder>{along, along}));
    EXPECT_EQ(of_sizes(5, 5), (std::vector<SumOrder>{along})); // which together are short
    EXPECT_EQ(of_sizes(11, 33), (std::vector<SumOrder>{along}));
    EXPECT_EQ(of_sizes(40, 4), (std::vector<SumOrder>{along}));
}

TEST(SumOrders, WhatALoopReadsIsInMemory) {
    const std::string loop = "t: float64[x.1, x.0] = transpose(x) {axes=[1, 0]}\ne: float64[x.1, x.0] = negative(t)\n"
                             "r: float64[] = for i in range(0, n, 1) carry (r_2: float64[] = %0) {\n"
                             "  s: float64[] = sum(e) {axes=[0, 1]}\n  s_2: float64[x.0] = sum(t) {axes=[0]}\n"
                             "  s_3: float64[] = sum(s_2) {axes=[0]}\n  %1: float64[] = add(s, s_3)\n"
                             "  r_3: float64[] = add(r_2, %1)\n  yield r_3\n}\nreturn r\n";
    EXPECT_EQ(orders("%0: float64[] = const() {value=0.0}\n" + loop),
              (std::vector<SumOrder>{kRows, {.contiguous = true}, {.contiguous = true}}));
}

/// Whether the only product of a body is a library's, where x is n by n.
bool is_of_library(const std::string& body, std::int64_t n, const std::string& contract = "numpy") {
    TranslateOptions options;
    options.sizes_here = {{"x.0", n}, {"x.1", n}};
    options.contract = contract;
    return orders(body, options).at(0).library;
}

TEST(SumOrders, ALibraryMakesLargeProducts) {
    const auto product = [](std::int64_t n, const std::string& contract) {
        return is_of_library("t: float64[x.1, x.0] = transpose(x) {axes=[1, 0]}\n"
                             "p: float64[x.0, x.0] = matmul(x, t)\nreturn p\n",
                             n, contract);
    };
    EXPECT_TRUE(product(200, "numpy"));
    EXPECT_FALSE(product(20, "numpy"));
    EXPECT_FALSE(product(200, "reproducible"));
}

TEST(SumOrders, ASizeOfDataCountsAsTheLargestThatItMayBe) {
    const auto product = [](std::int64_t n, const std::string& limits) {
        return is_of_library("%0: int64[] = scalar_size() {size=x.1}\nm: size = read(%0) {" + limits +
                                 "}\nt: float64[m, x.0] = index(x) {index=[0:1, 0:1]}\n"
                                 "u: float64[x.0, m] = transpose(t) {axes=[1, 0]}\n"
                                 "p: float64[x.0, x.0] = matmul(u, t)\nreturn p\n",
                             n);
    };
    EXPECT_TRUE(product(200, "min=0, max=x.1"));
    EXPECT_FALSE(product(20, "min=0, max=x.1"));
    EXPECT_FALSE(product(200, "min=0, max=1"));
}

} // namespace
} // namespace tilewright::translator
