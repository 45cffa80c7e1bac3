// tests/translator/math/math_evaluate.cpp: apply an elementary function to a file of numbers, or time it.
//
// math_evaluate NAME float32|float64 ISA LANES fast|strict INPUT... OUTPUT   raw little-endian arrays of equal length
// math_evaluate NAME float32|float64 ISA LANES fast|strict time LOW HIGH     ns for each of 8192 elements, to stdout
// math_evaluate                                                such words in lines of stdin; "done" after each
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <sstream>

#include "math_kernel.h"

namespace {

using tilewright::translator::test::MathKernel;

std::vector<char> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class T> double best_ns(MathKernel& kernel, double low, double high) {
    constexpr int kCount = 8192;
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> uniform(low, high);
    std::vector<std::vector<T>> inputs(std::size_t(kernel.arity()), std::vector<T>(kCount));
    std::vector<T> out(kCount);
    std::vector<const void*> in;
    for (auto& values : inputs) {
        for (T& v : values)
            v = T(uniform(random));
        in.push_back(values.data());
    }
    double best = 1e30;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 4; ++i)
            kernel.run(in, out.data(), kCount);
        const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
        best = std::min(best, spent.count() / 4);
    }
    return best / kCount;
}

int evaluate(const std::vector<std::string>& a) {
    const Halide::Type type = a.at(1) == "float32" ? Halide::Float(32) : Halide::Float(64);
    MathKernel kernel(a.at(0), type, a.at(2), std::stoi(a.at(3)), a.at(4) == "fast");
    if (a.at(5) == "time") {
        const double low = std::stod(a.at(6));
        const double high = std::stod(a.at(7));
        std::printf("%.3f\n",
                    type.bits() == 32 ? best_ns<float>(kernel, low, high) : best_ns<double>(kernel, low, high));
        return 0;
    }
    std::vector<std::vector<char>> inputs;
    std::vector<const void*> in;
    for (int i = 0; i < kernel.arity(); ++i)
        inputs.push_back(read_file(a.at(std::size_t(5 + i))));
    for (const auto& input : inputs)
        in.push_back(input.data());
    std::vector<char> out(inputs[0].size());
    kernel.run(in, out.data(), int(out.size() / std::size_t(type.bytes())));
    std::ofstream(a.at(std::size_t(5 + kernel.arity())), std::ios::binary)
        .write(out.data(), std::streamsize(out.size()));
    return 0;
}

/// One process for many functions: the JIT compiles its own runtime once, which takes longer than most of them.
int serve() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        evaluate({std::istream_iterator<std::string>(words), {}});
        std::cout << "done" << std::endl;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return argc == 1 ? serve() : evaluate(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const Halide::Error& e) {
        std::cerr << "math_evaluate: " << e.what() << "\n";
    } catch (const std::exception& e) {
        std::cerr << "math_evaluate: " << e.what() << "\n";
    }
    return 2;
}
