// tests/runtime/loops_test.cpp: plans with loops, branches, copies, swaps and halves of complex arrays, run with small
// kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "dsl/runtime/element_count.h"
#include "dsl/runtime/executor.h"
#include "dsl/runtime/memory.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::runtime {
namespace {

using tests::kernel;

std::shared_ptr<const Executable> load(const std::string& header, const std::string& body) {
    static std::map<std::string, std::string> bytes;
    std::map<std::string, std::string_view> objects;
    for (const char* name : {"step", "half", "large", "whole", "square"}) {
        if (!bytes.count(name)) bytes[name] = kernel(name);
        objects[name] = bytes[name];
    }
    return Executable::load("tilewright-plan 1\nfunction f\n" + header + "version \"only\"\n" + body + "end\n",
                            objects);
}

/// One dimension, of any element type; strides in elements.
struct Vector {
    void* data;
    std::int64_t shape[1], strides[1];
    template <class T>
    Vector(std::vector<T>& values, std::int64_t extent = -1, std::int64_t stride = 1, std::int64_t start = 0)
        : data(values.data() + start), shape{extent < 0 ? static_cast<std::int64_t>(values.size()) : extent},
          strides{stride * static_cast<std::int64_t>(sizeof(T))} {}
};

/// A call with its arguments as they come: vectors, then results in memory that the test gives.
class Call {
  public:
    explicit Call(const std::shared_ptr<const Executable>& e) : e_(e), memory_(e->frame_bytes()) {
        frame_ = e->lay_out(memory_.data());
    }
    Call& array(const Vector& v) {
        vectors_.push_back(std::make_unique<Vector>(v));
        const Vector& kept = *vectors_.back();
        frame_.arguments[next_++].array = {kept.data, kept.shape, kept.strides};
        return *this;
    }
    template <class T> Call& scalar(T value) {
        std::memcpy(frame_.arguments[next_++].scalar, &value, sizeof value);
        return *this;
    }
    bool pooled = false; ///< whether temporaries may lie in results

    RunStatus run(const std::vector<void*>& results = {}, const Interrupt* interrupt = nullptr,
                  std::string* failed = nullptr) {
        int argument = -1;
        EXPECT_TRUE(e_->read_sizes(frame_, argument));
        EXPECT_EQ(e_->failed_guard(frame_), -1);
        EXPECT_TRUE(e_->size_results(frame_));
        for (std::size_t i = 0; i < results.size(); ++i)
            frame_.results[i].data = results[i], frame_.results[i].is_pooled = pooled;
        return e_->run(frame_, e_->select(frame_), interrupt, failed);
    }

  private:
    std::shared_ptr<const Executable> e_;
    std::vector<char> memory_;
    Executable::Frame frame_;
    std::vector<std::unique_ptr<Vector>> vectors_;
    std::size_t next_ = 0;
};

const std::string kWritten = "arg A float64 1 written\n";

/// What `step` leaves, iteration by iteration.
double stepped(double a, const std::vector<std::int64_t>& iterations) {
    for (std::int64_t t : iterations)
        a = 2 * a + static_cast<double>(t);
    return a;
}

TEST(Loops, ARangeIsPythons) {
    auto e = load(kWritten + "scalar lo int64\nscalar hi int64\nscalar by int64\nreturn A\n",
                  "for t from lo to hi step by {\ncall step in \"step\" (t, A)\n}\n");
    for (std::int64_t lo : {-3, 0, 2, 10})
        for (std::int64_t hi : {-7, 0, 2, 3, 11})
            for (std::int64_t by : {-4, -1, 1, 3}) {
                std::vector<std::int64_t> iterations;
                for (std::int64_t t = lo; by > 0 ? t < hi : t > hi; t += by)
                    iterations.push_back(t);
                std::vector<double> a{1.0, 2.0};
                ASSERT_EQ(Call(e).array(a).scalar(lo).scalar(hi).scalar(by).run(), RunStatus::done);
                EXPECT_EQ(a[0], stepped(1.0, iterations)) << lo << " " << hi << " " << by;
                EXPECT_EQ(a[1], stepped(2.0, iterations));
            }
    std::vector<double> a{1.0};
    EXPECT_EQ(Call(e).array(a).scalar<std::int64_t>(0).scalar<std::int64_t>(3).scalar<std::int64_t>(0).run(),
              RunStatus::out_of_range);
    // Iterations whose index is none for a kernel; and the ends of int64.
    EXPECT_EQ(Call(e).array(a).scalar(INT64_MAX - 5).scalar(INT64_MAX).scalar<std::int64_t>(3).run(),
              RunStatus::out_of_range);
    EXPECT_EQ(Call(e).array(a).scalar(INT64_MAX).scalar(INT64_MIN).scalar<std::int64_t>(1).run(), RunStatus::done);
    EXPECT_EQ(a[0], 1.0);
}

TEST(Loops, ATemporaryLiesInAResultThatIsWrittenBehindItsLastUse) {
    auto lies_there = [](const std::string& body, bool pooled, bool ends = true) {
        auto e = load("arg X float64 1\nscalar n int64\nresult R float64 [X.0]\nreturn R\n", body);
        std::vector<double> x(100), r(100, -1.0);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<double>(i);
        Call call(e);
        call.array(x).scalar<std::int64_t>(1).pooled = pooled;
        EXPECT_EQ(call.run({r.data()}), ends ? RunStatus::done : RunStatus::check_failed);
        return r == x;
    };
    // The check fails before R is written: what lies there then is `a`.
    const std::string declared = "temp a float64 [X.0]\ntemp b float64 [X.0]\ncopy X to a\ncopy a to b\n";
    const std::string stops = "check n == 0 \"no\"\n";
    EXPECT_TRUE(lies_there(declared + stops + "copy b to R\n", true, false));
    EXPECT_FALSE(lies_there(declared + stops + "copy b to R\n", false, false));
    EXPECT_TRUE(lies_there(declared + "copy b to R\n", true));
    // Still used where R is written; exchanged with another one; used in the loop that writes R; larger than R.
    EXPECT_FALSE(lies_there("temp a float64 [X.0]\ncopy X to a\n" + stops + "copy a to R\n", true, false));
    EXPECT_FALSE(lies_there(declared + "swap a b\n" + stops + "copy b to R\n", true, false));
    EXPECT_FALSE(
        lies_there(declared + "for t from 0 to n step 1 {\n" + stops + "copy a to b\ncopy b to R\n}\n", true, false));
    EXPECT_FALSE(lies_there(
        "temp a float64 [2 * X.0]\ntemp c float64 [2 * X.0]\ncopy a to c\n" + stops + "copy X to R\n", true, false));
}

TEST(Loops, TheEndsOfInt64AreCountedRight) {
    auto e = load(kWritten + "scalar lo int64\nscalar hi int64\nscalar by int64\nreturn A\n",
                  "for t from lo to hi step by {\ncall step in \"step\" (1, A)\n}\n");
    auto iterations = [&](std::int64_t lo, std::int64_t hi, std::int64_t by) {
        std::vector<double> a{0.0};
        EXPECT_EQ(Call(e).array(a).scalar(lo).scalar(hi).scalar(by).run(), RunStatus::done);
        return std::log2(a[0] + 1);
    };
    EXPECT_EQ(iterations(INT64_MIN, INT64_MAX, INT64_MAX), 3);
    EXPECT_EQ(iterations(INT64_MAX, INT64_MIN, INT64_MIN), 2);
    EXPECT_EQ(iterations(INT64_MAX, INT64_MIN, -INT64_MAX), 3);
    EXPECT_EQ(iterations(INT64_MAX - 1, INT64_MAX, INT64_MAX), 1);
}

TEST(Loops, NestWithBranchesAndLeaving) {
    auto e = load(kWritten + "scalar n int64\nscalar twice bool\nreturn None\n", R"(for i from 0 to n step 1 {
  for j from i to n step 1 {
    if (i + j) % 3 == 0 {
      call step in "step" (i * 10 + j, A)
    } else {
      if twice {
        call step in "step" (1, A)
        leave
      }
    }
    leave if j - i > 3
  }
  call step in "step" (0 - i, A)
}
)");
    for (std::int64_t n = 0; n < 9; ++n)
        for (bool twice : {false, true}) {
            std::vector<std::int64_t> iterations;
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = i; j < n; ++j) {
                    if ((i + j) % 3 == 0)
                        iterations.push_back(i * 10 + j);
                    else if (twice) {
                        iterations.push_back(1);
                        break;
                    }
                    if (j - i > 3) break;
                }
                iterations.push_back(-i);
            }
            std::vector<double> a{3.0};
            ASSERT_EQ(Call(e).array(a).scalar(n).scalar(twice).run(), RunStatus::done);
            EXPECT_EQ(a[0], stepped(3.0, iterations)) << n << " " << twice;
        }
}

TEST(Loops, AWhileLoopOnATruthWithASwap) {
    auto e = load("arg X float64 1\nresult Y float64 [X.0]\nreturn Y\n", R"(temp u float64 [X.0]
temp v float64 [X.0]
temp c bool []
copy X to u
loop {
  call large in "large" (u, c)
  leave unless c
  call half in "half" (u, v)
  swap u v
}
copy u to Y
)");
    for (double first : {0.5, 1.0, 2.0, 3.0, 1000.0}) {
        std::vector<double> x{9.0, 8.0, first, -6.0, 4.0}, y(3);
        ASSERT_EQ(Call(e).array(Vector(x, 3, -1, 2)).run({y.data()}), RunStatus::done);
        double scale = 1;
        while (first * scale > 1)
            scale /= 2;
        EXPECT_EQ(y, (std::vector<double>{first * scale, 8.0 * scale, 9.0 * scale}));
    }
}

TEST(Loops, ASizeIsReadAndShapesATemporary) {
    auto e = load("arg X float64 1\n" + kWritten + "return None\n", R"(temp count int64 []
for t from 0 to 2 step 1 {
  call whole in "whole" (X, count)
  read n from count
  temp w float64 [n + t]
  for i from 0 to n step 1 {
    call step in "step" (n, A)
  }
  if n > 2 {
    call half in "half" (A, w)
    copy w to A
  }
}
)");
    std::vector<double> x{3.7}, a{1.0, 2.0, 3.0};
    // The second iteration's temporary has another shape than A: what copy needs.
    EXPECT_EQ(Call(e).array(x).array(a).run(), RunStatus::out_of_range);
    EXPECT_EQ(a[1], stepped(stepped(2.0, {3, 3, 3}) / 2, {3, 3, 3}));
    x[0] = 2.0;
    EXPECT_EQ(Call(e).array(x).array(a).run(), RunStatus::done);
    for (double beyond : {3e9, -3e9, 1e15}) {
        x[0] = beyond;
        EXPECT_EQ(Call(e).array(x).array(a).run(), RunStatus::check_failed) << beyond;
    }
}

TEST(Loops, EveryIntegerTypeIsReadAsASize) {
    auto check = [](const char* dtype, auto value, RunStatus expected) {
        auto e = load(std::string("arg B ") + dtype + " 0\n" + kWritten + "return None\n",
                      "read n from B\nif n == 0 - 7 or n == 200 {\ncall step in \"step\" (n, A)\n}\n");
        std::vector<double> a{0.0};
        std::vector<decltype(value)> b{value};
        EXPECT_EQ(Call(e).array(b).array(a).run(), expected) << dtype;
        EXPECT_EQ(a[0], expected == RunStatus::done ? static_cast<double>(value) : 0.0) << dtype;
    };
    check("int8", std::int8_t{-7}, RunStatus::done);
    check("int16", std::int16_t{-7}, RunStatus::done);
    check("int32", std::int32_t{-7}, RunStatus::done);
    check("int64", std::int64_t{-7}, RunStatus::done);
    check("uint8", std::uint8_t{200}, RunStatus::done);
    check("uint16", std::uint16_t{200}, RunStatus::done);
    check("uint32", std::uint32_t{200}, RunStatus::done);
    check("uint64", std::uint64_t{200}, RunStatus::done);
    check("uint32", std::uint32_t{1} << 31, RunStatus::check_failed);
    check("uint64", std::uint64_t{1} << 63, RunStatus::check_failed);
    check("int64", (std::int64_t{-1} << 31) - 1, RunStatus::check_failed);
}

TEST(Loops, ACheckEndsTheCallAndSaysWhy) {
    auto e = load("arg c bool 0\narg B int64 0\n" + kWritten + "scalar n int64\nreturn None\n",
                  R"(
temp w float64 [A.0]
copy A to w
call step in "step" (n, w)
check c "an index out of \"bounds\""
read m from B
check m >= n "too few"
copy w to A
)");
    std::vector<double> a{1.0, 2.0};
    auto run = [&](bool holds, std::int64_t m, RunStatus expected, const std::string& why) {
        std::vector<char> c{holds};
        std::vector<std::int64_t> b{m};
        std::string failed;
        a = {1.0, 2.0};
        EXPECT_EQ(Call(e).array(c).array(b).array(a).scalar<std::int64_t>(3).run({}, nullptr, &failed), expected);
        EXPECT_EQ(failed, why);
        EXPECT_EQ(a[1], expected == RunStatus::done ? stepped(2.0, {3}) : 2.0);
    };
    run(true, 3, RunStatus::done, "");
    run(false, 3, RunStatus::check_failed, "an index out of \"bounds\"");
    run(true, 2, RunStatus::check_failed, "too few");
    run(true, std::int64_t{1} << 40, RunStatus::check_failed, "the size m, which the call reads, does not fit 32 bits");
    // Also where there is nothing to compute.
    std::vector<char> c{0};
    std::vector<std::int64_t> b{5};
    EXPECT_EQ(Call(e).array(c).array(b).array(Vector(a, 0)).scalar<std::int64_t>(3).run(), RunStatus::check_failed);
}

TEST(Loops, WhatIsSavedComesBackWhereTheCallFails) {
    auto e = load("arg c bool 0\narg B int64 0\n" + kWritten + "scalar n int64\nreturn None\n",
                  R"(
temp w float64 [A.0]
save A in w
call step in "step" (n, A)
check c "no"
read m from B
)");
    auto run = [&](bool holds, std::int64_t m, RunStatus expected) {
        std::vector<char> c{holds};
        std::vector<std::int64_t> b{m};
        std::vector<double> a{1.0, 2.0, 3.0};
        EXPECT_EQ(Call(e).array(c).array(b).array(Vector(a, 2, 2)).scalar<std::int64_t>(3).run(), expected);
        EXPECT_EQ(a[0], expected == RunStatus::done ? stepped(1.0, {3}) : 1.0);
        EXPECT_EQ(a[2], expected == RunStatus::done ? stepped(3.0, {3}) : 3.0);
        EXPECT_EQ(a[1], 2.0);
    };
    run(true, 3, RunStatus::done);
    run(false, 3, RunStatus::check_failed);
    run(true, std::int64_t{1} << 40, RunStatus::check_failed);
}

TEST(Loops, ASizeOfACallThatIsNotMadeMayHaveNoValue) {
    auto e = load(kWritten + "scalar n int64\nreturn None\n",
                  "if n != 0 {\ncall step in \"step\" (100 // n, A)\n}\nfor t from 0 to n step 1 {\n"
                  "call step in \"step\" (n % n + t, A)\n}\n");
    std::vector<double> a{1.0};
    EXPECT_EQ(Call(e).array(a).scalar<std::int64_t>(0).run(), RunStatus::done);
    EXPECT_EQ(a[0], 1.0);
    EXPECT_EQ(Call(e).array(a).scalar<std::int64_t>(2).run(), RunStatus::done);
    EXPECT_EQ(a[0], stepped(1.0, {50, 0, 1}));
}

TEST(Loops, CopiesOfAnyStridesAndTypes) {
    auto check = [](const char* dtype, auto zero) {
        using T = decltype(zero);
        auto e = load(std::string("arg X ") + dtype + " 3\narg A " + dtype + " 3 written\nreturn A\n", "copy X to A\n");
        for (int order = 0; order < 6; ++order)
            for (std::int64_t sign : {1, -1}) {
                static constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
                const std::int64_t shape[3] = {3, 4, 5};
                std::vector<T> x(240), a(60);
                for (std::size_t k = 0; k < x.size(); ++k)
                    x[k] = static_cast<T>(k % 251);
                std::int64_t from[3], to[3], stride = 1;
                for (int k : {2, 1, 0}) {
                    to[k] = stride * static_cast<std::int64_t>(sizeof(T));
                    stride *= shape[k];
                }
                stride = 1;
                for (int k : kOrders[order]) {
                    from[k] = stride * sign * static_cast<std::int64_t>(sizeof(T));
                    stride *= shape[k] + (order % 2);
                }
                T* start = x.data() + (sign < 0 ? 200 : 0);
                std::vector<char> memory(e->frame_bytes());
                auto frame = e->lay_out(memory.data());
                frame.arguments[0].array = {start, shape, from};
                frame.arguments[1].array = {a.data(), shape, to};
                int argument = -1;
                ASSERT_TRUE(e->read_sizes(frame, argument) && e->size_results(frame));
                ASSERT_EQ(e->run(frame, e->select(frame)), RunStatus::done);
                for (std::int64_t i = 0; i < 3; ++i)
                    for (std::int64_t j = 0; j < 4; ++j)
                        for (std::int64_t k = 0; k < 5; ++k)
                            ASSERT_EQ(a[static_cast<std::size_t>(i * 20 + j * 5 + k)],
                                      start[(i * from[0] + j * from[1] + k * from[2]) /
                                            static_cast<std::int64_t>(sizeof(T))]);
            }
    };
    check("uint8", std::uint8_t{});
    check("int16", std::int16_t{});
    check("float32", float{});
    check("float64", double{});
    check("complex128", std::complex<double>{});
}

using Complex = std::complex<double>;

TEST(ComplexHalves, OfArgumentsResultsTemporariesAndScalars) {
    auto e = load("scalar c complex128\narg Z complex128 1\narg W complex128 1 written\nresult R complex128 [Z.0]\n"
                  "return R\n",
                  R"(temp t complex128 [Z.0]
temp u complex128 [Z.0]
call square in "square" (c.real, c.imag, Z.real, Z.imag, t.real, t.imag)
for k from 0 to 3 step 1 {
  call square in "square" (c.real, c.imag, t.real, t.imag, u.real, u.imag)
  swap t u
}
copy t to R
copy t.imag to W.real
copy Z.real to W.imag
)");
    const Complex c{0.25, -0.5};
    std::vector<Complex> z{{9, 9}, {0.5, 0.25}, {9, 9}, {-0.125, 1}, {9, 9}}, w(5), r(2);
    ASSERT_EQ(Call(e).scalar(c).array(Vector(z, 2, -2, 3)).array(Vector(w, 2, 3, 1)).run({r.data()}), RunStatus::done);
    for (std::size_t i : {0u, 1u}) {
        Complex start = z[3 - 2 * i], v = start;
        for (int k = 0; k < 4; ++k)
            v = {v.real() * v.real() - v.imag() * v.imag() + c.real(), 2 * v.real() * v.imag() + c.imag()};
        EXPECT_EQ(r[i], v);
        EXPECT_EQ(w[1 + 3 * i], (Complex{v.imag(), start.real()}));
    }
    for (std::size_t i : {0u, 2u, 3u})
        EXPECT_EQ(w[i], Complex{});
}

TEST(ComplexHalves, HaveHalfAsManyElementsAtMost) {
    auto e = load("arg Z complex128 1\narg A float64 1 written\nreturn None\n", "copy Z.real to A\n");
    std::vector<char> memory(e->frame_bytes());
    auto frame = e->lay_out(memory.data());
    std::int64_t many = element_limit(DType::float64) / 2 + 1, zero = 0, one = 1;
    double value = 0;
    frame.arguments[0].array = {&value, &many, &zero};
    frame.arguments[1].array = {&value, &one, &zero};
    int argument = -1;
    EXPECT_FALSE(e->read_sizes(frame, argument));
    EXPECT_EQ(argument, 0);
    --many;
    EXPECT_TRUE(e->read_sizes(frame, argument));
}

TEST(Loops, WrittenArgumentsAloneAreWorkAndEmptyOnesAreNone) {
    auto e = load(kWritten + "return None\n", "call step in \"step\" (1, A)\n");
    std::vector<double> a{1.0, 2.0, 3.0}, none;
    EXPECT_EQ(Call(e).array(none).run(), RunStatus::done);
    EXPECT_EQ(Call(e).array(Vector(a, 2, 2)).run(), RunStatus::done);
    EXPECT_EQ(a, (std::vector<double>{3.0, 2.0, 7.0}));
}

// Temporaries of more than 1 MiB come from the pool, which counts what it has handed out.
constexpr std::int64_t kLarge = 200'000;

TEST(Loops, TemporariesAreGivenBackHoweverALoopIsLeft) {
    auto e = load(kWritten + "scalar n int64\nscalar way int64\nreturn None\n", R"(temp outer float64 [A.0]
copy A to outer
for i from 0 to n step 1 {
  temp inner float64 [A.0]
  call half in "half" (outer, inner)
  if way == 1 {
    temp branch float64 [A.0]
    call half in "half" (inner, branch)
    leave
  }
  swap outer inner
  if way == 2 {
    temp big float64 [A.0 * 100000 * i]
    copy A to big
  }
  for j from 0 to 2 step 1 {
    call step in "step" (1000000000 * way * i, inner)
    leave if way == 3
  }
}
copy outer to A
)");
    const std::size_t before = pool_info().live_bytes;
    const RunStatus expected[5] = {RunStatus::done, RunStatus::done, RunStatus::out_of_range, RunStatus::out_of_range,
                                   RunStatus::out_of_range};
    for (std::int64_t way = 0; way < 5; ++way) {
        std::vector<double> a(kLarge, 64.0);
        RunStatus status = Call(e).array(a).scalar<std::int64_t>(3).scalar(way).run();
        EXPECT_EQ(pool_info().live_bytes, before) << way;
        // `big` has another shape in its first iteration already; the kernel's integer does not fit in the others'
        // second.
        EXPECT_EQ(status, expected[way]) << way;
        EXPECT_EQ(a[kLarge - 1], way == 0 ? 8.0 : 64.0) << way;
    }
}

TEST(Loops, RunningOutOfMemoryGivesTemporariesBack) {
    auto e = load(kWritten + "scalar n int64\nreturn None\n", R"(temp outer float64 [A.0]
copy A to outer
for i from 1 to n step 1 {
  temp inner float64 [A.0 * (1 + i // 5 * 1000000)]
  if i < 5 {
    copy outer to inner
  } else {
    call half in "half" (outer, inner)
  }
}
copy outer to A
)");
    const std::size_t before = pool_info().live_bytes;
    std::vector<double> a(kLarge, 1.0);
    EXPECT_EQ(Call(e).array(a).scalar<std::int64_t>(5).run(), RunStatus::done);
    EXPECT_EQ(Call(e).array(a).scalar<std::int64_t>(6).run(), RunStatus::out_of_memory);
    EXPECT_EQ(pool_info().live_bytes, before);
}

TEST(Loops, AnEndlessLoopIsInterruptedAndLeavesNothingBehind) {
    auto e = load(kWritten + "return None\n", R"(temp t float64 [A.0]
temp c bool []
loop {
  copy A to t
  for k from 0 to 2 step 1 {
    call step in "step" (0, A)
  }
  call large in "large" (t, c)
  leave if c
}
)");
    for (std::size_t extent : {std::size_t{1}, static_cast<std::size_t>(kLarge)}) {
        const std::size_t before = pool_info().live_bytes;
        std::vector<double> a(extent, 0.0);
        int asked = 0;
        Interrupt interrupt{[](void* context) { return ++*static_cast<int*>(context) == 3; }, &asked};
        EXPECT_EQ(Call(e).array(a).run({}, &interrupt), RunStatus::interrupted);
        EXPECT_EQ(asked, 3);
        EXPECT_EQ(pool_info().live_bytes, before);
    }
    std::vector<double> a{2.0};
    int asked = 0;
    Interrupt never{[](void* context) { return ++*static_cast<int*>(context) < 0; }, &asked};
    EXPECT_EQ(Call(e).array(a).run({}, &never), RunStatus::done);
    EXPECT_EQ(a[0], 8.0);
}

} // namespace
} // namespace tilewright::runtime
