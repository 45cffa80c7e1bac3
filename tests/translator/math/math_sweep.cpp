// tests/translator/math/math_sweep.cpp: the worst error of a float32 function of one argument over all float32 values.
//
// math_sweep STRIDE NAME...   STRIDE 1 takes every value (a minute or two each); libm in float64 is the judge.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>

#include "math_kernel.h"

namespace {

using tilewright::translator::test::MathKernel;

const std::map<std::string, double (*)(double)> kJudges = {
    {"arccos", std::acos}, {"arcsin", std::asin}, {"arctan", std::atan}, {"cbrt", std::cbrt},   {"cos", std::cos},
    {"cosh", std::cosh},   {"exp", std::exp},     {"exp2", std::exp2},   {"expm1", std::expm1}, {"log", std::log},
    {"log10", std::log10}, {"log1p", std::log1p}, {"log2", std::log2},   {"sin", std::sin},     {"sinh", std::sinh},
    {"tan", std::tan},     {"tanh", std::tanh}};

double error_ulp(float got, double want) {
    const float rounded = float(want);
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e30;
    if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e30;
    if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : 1e30;
    const int exponent = std::max(rounded == 0 ? -1000 : std::ilogb(rounded), -126);
    return std::fabs(double(got) - want) / std::ldexp(1.0, exponent - 23);
}

void sweep(const std::string& name, std::uint64_t stride) {
    constexpr int kCount = 1 << 16;
    MathKernel kernel(name, Halide::Float(32), "x86-64-v3", 16);
    std::vector<float> in(kCount);
    std::vector<float> out(kCount);
    double worst = 0;
    float where = 0;
    double (*judge)(double) = kJudges.at(name);
    for (std::uint64_t bits = 0; bits <= std::numeric_limits<std::uint32_t>::max();) {
        for (float& v : in) {
            const auto word = std::uint32_t(bits);
            std::memcpy(&v, &word, sizeof v);
            bits += stride;
        }
        kernel.run({in.data()}, out.data(), kCount);
        for (int i = 0; i < kCount; ++i) {
            const double error = error_ulp(out[std::size_t(i)], judge(double(in[std::size_t(i)])));
            if (error > worst) {
                worst = error;
                where = in[std::size_t(i)];
            }
        }
    }
    std::printf("%-8s %.3f ULP at %a (%.9g)\n", name.c_str(), worst, double(where), double(where));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    try {
        for (int i = 2; i < argc; ++i)
            sweep(argv[i], std::stoull(argv[1]));
        return argc > 2 ? 0 : 2;
    } catch (const std::exception& e) {
        std::cerr << "math_sweep: " << e.what() << "\n";
    }
    return 2;
}
