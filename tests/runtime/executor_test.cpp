// tests/runtime/executor_test.cpp: plans with real kernels: sizes, strides, versions, temporaries, library calls,
// memory.
#include "dsl/runtime/executor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/element_count.h"
#include "dsl/runtime/matmul.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::runtime {
namespace {

using tests::kAxpyPlan;
using tests::kernel;
using tests::kKmeansPlan;

/// A C-contiguous float64 matrix, or any view into one.
struct Matrix {
    std::vector<double> values;
    std::int64_t shape[2], strides[2];
    std::int64_t offset = 0;

    Matrix(std::int64_t rows, std::int64_t columns, unsigned seed = 1)
        : values(static_cast<std::size_t>(rows * columns)) {
        shape[0] = rows, shape[1] = columns, strides[0] = columns * 8, strides[1] = 8;
        std::mt19937 random(seed);
        for (double& v : values)
            v = std::normal_distribution<double>()(random);
    }
    double at(std::int64_t i, std::int64_t j) const {
        return values[static_cast<std::size_t>(offset + (i * strides[0] + j * strides[1]) / 8)];
    }
    ArrayView view() { return {values.data() + offset, shape, strides}; }
};

struct Called {
    int argument = -1, guard = -1, version = -1;
    bool sized = false;
    RunStatus status = RunStatus::failed;
};

/// Runs with results in `results` (resized to fit, 8 bytes an element).
Called call(const Executable& e, const std::vector<ArrayView>& arrays, std::vector<std::vector<double>>& results,
            double scalar = 0, std::int64_t integer = 0) {
    Called c;
    std::vector<char> memory(e.frame_bytes());
    auto frame = e.lay_out(memory.data());
    std::size_t next = 0;
    for (std::size_t i = 0; i < e.plan().arguments.size(); ++i) {
        if (e.plan().arguments[i].is_array)
            frame.arguments[i].array = arrays[next++];
        else if (e.plan().arguments[i].dtype == DType::int64)
            std::memcpy(frame.arguments[i].scalar, &integer, 8);
        else
            std::memcpy(frame.arguments[i].scalar, &scalar, 8);
    }
    const bool has_sizes = e.read_sizes(frame, c.argument);
    c.guard = has_sizes ? e.failed_guard(frame) : e.failed_guard_of_large(frame);
    if (!has_sizes || c.guard >= 0) return c;
    c.version = e.select(frame);
    c.sized = c.version >= 0 && e.size_results(frame);
    if (!c.sized) return c;
    results.resize(e.plan().results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        results[i].assign(static_cast<std::size_t>(frame.results[i].elements), -1.0);
        frame.results[i].data = results[i].data();
    }
    c.status = e.run(frame, c.version);
    return c;
}

TEST(Executor, KmeansAgreesWithLoopsAtOddSizes) {
    if (machine_isa_rank() < 3) GTEST_SKIP() << "no AVX2";
    auto e = Executable::load(kKmeansPlan, {{"km", kernel("km")}});
    for (std::int64_t n : {1, 2, 100, 4095, 4096, 4097, 100001})
        for (std::int64_t d : {1, 2, 3})
            for (std::int64_t k : {1, 2, 5}) {
                Matrix x(n, d, 3), means(k, d, 4);
                std::vector<std::vector<double>> out;
                ASSERT_EQ(call(*e, {x.view(), means.view()}, out).status, RunStatus::done);
                auto* labels = reinterpret_cast<std::int64_t*>(out[0].data());
                for (std::int64_t i = 0; i < n; ++i) {
                    std::int64_t best = 0;
                    double least = INFINITY;
                    for (std::int64_t m = 0; m < k; ++m) {
                        double sum = 0;
                        for (std::int64_t j = 0; j < d; ++j)
                            sum += (x.at(i, j) - means.at(m, j)) * (x.at(i, j) - means.at(m, j));
                        if (std::sqrt(sum) < least) least = std::sqrt(sum), best = m;
                    }
                    ASSERT_EQ(labels[i], best) << n << " " << d << " " << k << " " << i;
                }
            }
}

TEST(Executor, EmptyResultsRunNothing) {
    auto e = Executable::load(kKmeansPlan, {{"km", kernel("km")}});
    Matrix x(0, 2), means(2, 2);
    std::vector<std::vector<double>> out;
    Called c = call(*e, {x.view(), means.view()}, out);
    EXPECT_EQ(c.status, RunStatus::done);
    EXPECT_TRUE(out[0].empty());
}

TEST(Executor, GuardsAndLayoutsAreChecked) {
    auto e = Executable::load(kKmeansPlan, {{"km", kernel("km")}});
    std::vector<std::vector<double>> out;
    Matrix x(10, 2), wrong(2, 3), none(0, 2), means(2, 2);
    EXPECT_EQ(call(*e, {x.view(), wrong.view()}, out).guard, 0);
    EXPECT_EQ(call(*e, {x.view(), none.view()}, out).guard, 1);
    std::swap(x.strides[0], x.strides[1]);
    std::swap(x.shape[0], x.shape[1]);
    Matrix two(2, 10);
    EXPECT_EQ(call(*e, {x.view(), two.view()}, out).version, -1);
}

TEST(Executor, AnyStridesNegativeZeroAndTransposed) {
    auto e = Executable::load(kAxpyPlan, {{"axpy", kernel("axpy")}});
    Matrix x(7, 5, 1), y(7, 5, 2);
    auto check = [&](Matrix& a, Matrix& b) {
        std::vector<std::vector<double>> out;
        ASSERT_EQ(call(*e, {a.view(), b.view()}, out, 2.5).status, RunStatus::done);
        for (std::int64_t i = 0; i < a.shape[0]; ++i)
            for (std::int64_t j = 0; j < a.shape[1]; ++j)
                ASSERT_EQ(out[0][static_cast<std::size_t>(i * a.shape[1] + j)], 2.5 * a.at(i, j) + b.at(i, j));
    };
    check(x, y);
    Matrix reversed = x;
    reversed.offset = 6 * 5 + 4;
    reversed.strides[0] = -40, reversed.strides[1] = -8;
    check(reversed, y);
    Matrix repeated = x;
    repeated.strides[0] = 0;
    check(repeated, y);
    Matrix transposed(5, 7, 3);
    std::swap(transposed.shape[0], transposed.shape[1]);
    std::swap(transposed.strides[0], transposed.strides[1]);
    check(transposed, y);
    Matrix one(1, 5, 4), other(1, 5, 5);
    one.strides[0] = 12345 * 8;
    check(one, other);
}

TEST(Executor, TooManyElementsAreRefused) {
    auto e = Executable::load(kAxpyPlan, {{"axpy", kernel("axpy")}});
    double value = 0;
    std::vector<std::vector<double>> out;
    std::int64_t zero[2] = {0, 0}, far[2] = {std::int64_t{8} << 31, 8};
    std::int64_t many[2] = {1 << 16, 1 << 15}, huge[2] = {std::int64_t{1} << 40, 1}, negative[2] = {-1, 2},
                 two[2] = {2, 2};
    std::int64_t wild[2] = {INT64_MIN + 8, 8};
    for (auto& [shape, strides] : {std::pair{many, zero}, {huge, zero}, {negative, zero}, {two, far}, {two, wild}})
        EXPECT_EQ(call(*e, {{&value, shape, strides}, {&value, shape, strides}}, out).argument, 1);
    std::int64_t most = element_limit(DType::float64), least_refused = most + 1;
    EXPECT_EQ(most, (std::int64_t{1} << 31) - (std::int64_t{1} << 27));
    EXPECT_EQ(element_limit(DType::complex64), most / 2);
    std::int64_t too_many[2] = {least_refused, 1};
    EXPECT_EQ(call(*e, {{&value, too_many, zero}, {&value, too_many, zero}}, out).argument, 1);
    std::int64_t empty[2] = {0, std::int64_t{1} << 40};
    EXPECT_EQ(call(*e, {{&value, empty, zero}, {&value, empty, zero}}, out).argument, 1);
}

TEST(Executor, GuardsAreAskedOfWhatIsTooLarge) {
    auto e = Executable::load(kKmeansPlan, {{"km", kernel("km")}});
    double value = 0;
    std::vector<std::vector<double>> out;
    std::int64_t large[2] = {std::int64_t{1} << 40, 2}, strides[2] = {16, 8};
    Matrix means(2, 2), wide(2, 3), none(0, 2);
    const auto with = [&](Matrix& other) { return call(*e, {{&value, large, strides}, other.view()}, out); };
    EXPECT_EQ(with(means).argument, 0);
    EXPECT_EQ(with(means).guard, -1);
    EXPECT_EQ(with(wide).guard, 0);
    EXPECT_EQ(with(none).guard, 1);
}

TEST(Executor, VersionsInOrderTheFirstThatHolds) {
    std::string plan = kAxpyPlan;
    std::size_t at = plan.find("version");
    plan.insert(
        at, "version \"large\"\nrequire X.0 >= 100\nrequire layout X C\ncall axpy in \"axpy\" (a, X, Y, Z)\nend\n"
            "version \"columns\"\nrequire layout X F\nrequire X.1 % 2 == 1\ncall axpy in \"axpy\" (a, X, Y, Z)\nend\n");
    auto e = Executable::load(plan, {{"axpy", kernel("axpy")}});
    std::vector<std::vector<double>> out;
    Matrix large(100, 3), small(99, 3), row(1, 4);
    EXPECT_EQ(call(*e, {large.view(), large.view()}, out).version, 0);
    EXPECT_EQ(call(*e, {small.view(), small.view()}, out).version, 2);
    EXPECT_EQ(call(*e, {row.view(), row.view()}, out).version, 2);
    Matrix odd(1, 5);
    EXPECT_EQ(call(*e, {odd.view(), odd.view()}, out).version, 1);
    EXPECT_EQ(e->requirements_text(),
              "X.shape[0] >= 100 and X C-contiguous; or X Fortran-contiguous and X.shape[1] % 2 == 1; or ");
}

TEST(Executor, VersionsOfOtherMachinesNeedNoObjects) {
    std::string plan = kAxpyPlan;
    plan.insert(plan.find("version"),
                "version \"v4\"\nrequire isa x86-64-v4\ncall axpy in \"axpy.v4\" (a, X, Y, Z)\nend\n");
    std::map<std::string, std::string> bytes{{"axpy", kernel("axpy")}};
    if (machine_isa_rank() >= 4) {
        try {
            Executable::load(plan, {{"axpy", bytes["axpy"]}});
            FAIL();
        } catch (const ExportError& error) {
            EXPECT_STREQ(
                error.what(),
                "plan of axpy: it calls axpy.v4.o, which is not here. The module is incomplete; export it again.");
        }
    } else {
        EXPECT_TRUE(Executable::load(plan, {{"axpy", bytes["axpy"]}})->usable());
    }
}

TEST(Executor, AMissingSymbolIsNamed) {
    std::string plan = kAxpyPlan;
    plan.replace(plan.find("call axpy"), 9, "call other");
    try {
        Executable::load(plan, {{"axpy", kernel("axpy")}});
        FAIL();
    } catch (const ExportError& error) {
        EXPECT_STREQ(error.what(),
                     "axpy.o: it does not define other_argv. The file is damaged or not ours; export or tune again.");
    }
}

TEST(Executor, TemporariesChainAndAreGivenBack) {
    std::string plan = kAxpyPlan;
    std::size_t at = plan.find("call axpy");
    plan.replace(at, plan.find("end") - at,
                 "temp t0 float64 [X.0, X.1]\ntemp t1 float64 [X.0, X.1]\ncall axpy in \"axpy\" (a, X, Y, t0)\n"
                 "call axpy in \"axpy\" (a, t0, Y, t1)\ncall axpy in \"axpy\" (a, t1, X, Z)\n");
    auto e = Executable::load(plan, {{"axpy", kernel("axpy")}});
    for (std::int64_t n : {1, 10, 1000}) {
        Matrix x(n, 300, 1), y(n, 300, 2);
        std::vector<std::vector<double>> out;
        ASSERT_EQ(call(*e, {x.view(), y.view()}, out, 3.0).status, RunStatus::done);
        for (std::int64_t j = 0; j < 300; ++j)
            ASSERT_EQ(out[0][static_cast<std::size_t>(j)],
                      3.0 * (3.0 * (3.0 * x.at(0, j) + y.at(0, j)) + y.at(0, j)) + x.at(0, j));
    }
}

TEST(Executor, LibmThroughTheTable) {
    std::string plan =
        "tilewright-plan 1\nfunction f\narg X float64 1\nresult y float64 [X.0]\nreturn y\nversion \"only\"\n"
        "call math in \"math\" (X, y)\nend\n";
    auto e = Executable::load(plan, {{"math", kernel("math")}});
    Matrix x(1, 999);
    std::int64_t shape = 999, stride = 8;
    std::vector<std::vector<double>> out;
    ASSERT_EQ(call(*e, {{x.values.data(), &shape, &stride}}, out).status, RunStatus::done);
    for (std::size_t i = 0; i < 999; ++i) {
        double v = x.values[i],
               expected = std::sin(v) + std::exp(v) + std::pow(std::fabs(v), 1.5) + std::tanh(v) + std::floor(v);
        ASSERT_NEAR(out[0][i], expected, 1e-14 * (1 + std::fabs(expected)));
    }
}

TEST(Executor, RunningOutOfMemoryInsideAKernelIsAStatus) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer itself cannot live within a limit of addresses";
#endif
    std::string plan =
        "tilewright-plan 1\nfunction f\narg X float64 1\nscalar n int64\nresult y float64 [X.0]\nreturn y\n"
        "version \"only\"\ncall big_scratch in \"big_scratch\" (n, X, y)\nend\n";
    // `n` is a scalar of int64 in the plan; the kernel reads the low half of it as its int32.
    auto e = Executable::load(plan, {{"big_scratch", kernel("big_scratch")}});
    Matrix x(1, 64);
    std::int64_t shape = 64, stride = 8;
    std::vector<std::vector<double>> out;
    ASSERT_EQ(call(*e, {{x.values.data(), &shape, &stride}}, out, 0, 1000).status, RunStatus::done);
    pid_t child = fork();
    if (child == 0) {
        rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
        setrlimit(RLIMIT_AS, &limit);
        auto status = call(*e, {{x.values.data(), &shape, &stride}}, out, 0, 1 << 30).status;
        auto after = call(*e, {{x.values.data(), &shape, &stride}}, out, 0, 1000).status;
        _exit(status == RunStatus::out_of_memory && after == RunStatus::done ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

template <class T> void check_matmul(DType dtype, int m, int k, int n, bool transposed_a, int step_b) {
    std::mt19937 random(5);
    std::vector<T> a(static_cast<std::size_t>(m * k) + 1), b(static_cast<std::size_t>(k * n * step_b) + 1),
        c(static_cast<std::size_t>(m * n));
    for (T& v : a)
        v = static_cast<T>(static_cast<int>(random() % 200) - 100);
    for (T& v : b)
        v = static_cast<T>(static_cast<int>(random() % 200) - 100);
    constexpr std::int64_t s = sizeof(T);
    MatrixView va{a.data(), m, k, transposed_a ? s : s * k, transposed_a ? s * m : s};
    MatrixView vb{b.data(), k, n, s * n * step_b, s * step_b};
    MatrixView vc{c.data(), m, n, s * n, s};
    ASSERT_EQ(matmul(dtype, {va, vb, vc}), 0);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T sum{};
            for (int p = 0; p < k; ++p)
                sum = static_cast<T>(sum + a[static_cast<std::size_t>(transposed_a ? p * m + i : i * k + p)] *
                                               b[static_cast<std::size_t>((p * n + j) * step_b)]);
            ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << i << " " << j;
        }
}

/// Of doubles: element (i, j) of the matrix of product `number`, by the strides alone.
double& element(const MatrixProducts& all, const MatrixView& m, std::int64_t StackAxis::*stride, std::int64_t number,
                std::int64_t i, std::int64_t j) {
    std::int64_t at = i * m.row_stride + j * m.column_stride;
    for (int k = 0; k < all.axis_count; ++k) {
        at += number % all.axes[k].extent * (all.axes[k].*stride);
        number /= all.axes[k].extent;
    }
    return *reinterpret_cast<double*>(static_cast<char*>(m.data) + at);
}

void check_stack(const MatrixProducts& all) {
    ASSERT_EQ(matmul(DType::float64, all), 0);
    for (std::int64_t number = 0; number < all.count(); ++number)
        for (std::int64_t i = 0; i < all.c.rows; ++i)
            for (std::int64_t j = 0; j < all.c.columns; ++j) {
                double sum = 0;
                for (std::int64_t p = 0; p < all.a.columns; ++p)
                    sum += element(all, all.a, &StackAxis::a, number, i, p) *
                           element(all, all.b, &StackAxis::b, number, p, j);
                ASSERT_EQ(element(all, all.c, &StackAxis::c, number, i, j), sum) << number << ": " << i << " " << j;
            }
}

TEST(Matmul, StacksOfMatrices) {
    std::vector<double> a(40'000), b(40'000), c(200'000);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<double>(i % 17) - 8, b[i] = static_cast<double>(i % 13) - 6;
    for (auto [m, k, n] : {std::array<std::int64_t, 3>{1, 1, 1}, {5, 4, 3}, {3, 0, 2}, {4, 7, 0}, {33, 20, 17}}) {
        const MatrixView right{b.data(), k, n, 8 * n, 8}, left{a.data(), m, k, 8 * k, 8},
            turned{a.data(), m, k, 8, 8 * m}, gaps{a.data(), m, k, 16 * k, 16}, back{a.data() + m * k, m, k, -8 * k, 8},
            product{c.data(), m, n, 8 * n, 8};
        const std::int64_t step_a = 8 * m * k, step_b = 8 * k * n, step_c = 8 * m * n;
        for (const MatrixView& view : {left, turned, gaps, back}) {
            check_stack({view, right, product, {{6, step_a, step_b, step_c}}, 1});
            check_stack({view, right, product, {{6, step_a, 0, step_c}}, 1}); // rows of one matrix, where it lies so
            check_stack({view, right, product, {{6, 0, step_b, step_c}}, 1});
            check_stack({view, right, product, {{0, step_a, step_b, step_c}}, 1});
            check_stack({view, right, product, {{3, step_a, step_b, step_c}, {1, 0, 0, 0}}, 2});
            // Two axes that follow each other, that cross, that are broadcast beside each other.
            check_stack(
                {view, right, product, {{3, step_a, step_b, step_c}, {4, 3 * step_a, 3 * step_b, 3 * step_c}}, 2});
            check_stack(
                {view, right, product, {{3, 4 * step_a, step_b, step_c}, {4, step_a, 3 * step_b, 3 * step_c}}, 2});
            check_stack({view, right, product, {{3, step_a, 0, step_c}, {4, 0, step_b, 3 * step_c}}, 2});
            check_stack({view, right, product, {{3, 0, step_b, step_c}, {4, step_a, 0, 3 * step_c}}, 2});
        }
        MatrixView last = right;
        last.data = b.data() + 5 * k * n; // a stack from its end
        check_stack({left, last, product, {{6, step_a, -step_b, step_c}}, 1});
    }
}

TEST(Matmul, AxesOfAStackAreJoined) {
    const MatrixView a{nullptr, 5, 4, 32, 8}, b{nullptr, 4, 3, 24, 8}, c{nullptr, 5, 3, 24, 8};
    const MatrixProducts rows = MatrixProducts{a, b, c, {{7, 160, 0, 120}, {2, 1120, 0, 840}}, 2}.joined();
    EXPECT_EQ(rows.axis_count, 0);
    EXPECT_EQ(rows.a.rows, 70);
    EXPECT_EQ(rows.c.rows, 70);
    const MatrixProducts one =
        MatrixProducts{a, b, c, {{7, 160, 96, 120}, {1, 0, 0, 0}, {2, 1120, 672, 840}}, 3}.joined();
    ASSERT_EQ(one.axis_count, 1);
    EXPECT_EQ(one.axes[0].extent, 14);
    const MatrixProducts two = MatrixProducts{a, b, c, {{7, 160, 0, 120}, {2, 1120, 96, 840}}, 2}.joined();
    ASSERT_EQ(two.axis_count, 1);
    EXPECT_EQ(two.a.rows, 35);
    EXPECT_EQ(two.axes[0].extent, 2);
    const MatrixProducts apart = MatrixProducts{a, b, c, {{7, 0, 96, 120}, {2, 160, 0, 840}}, 2}.joined();
    EXPECT_EQ(apart.axis_count, 2);
}

TEST(Matmul, EveryLayoutAndTypeWithoutABlas) {
    for (bool transposed : {false, true})
        for (int step : {1, 2})
            for (auto [m, k, n] :
                 {std::array{1, 1, 1}, {3, 5, 7}, {33, 64, 17}, {4, 0, 5}, {0, 3, 2}, {100, 100, 100}}) {
                check_matmul<double>(DType::float64, m, k, n, transposed, step);
                check_matmul<float>(DType::float32, m, k, n, transposed, step);
                check_matmul<std::int64_t>(DType::int64, m, k, n, transposed, step);
                check_matmul<std::uint8_t>(DType::uint8, m, k, n, transposed, step);
                check_matmul<std::int16_t>(DType::int16, m, k, n, transposed, step);
            }
}

} // namespace
} // namespace tilewright::runtime
