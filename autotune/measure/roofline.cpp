// autotune/measure/roofline.cpp: streams memory of several sizes and runs chains of arithmetic, on all usable cores at
// once.
#include "autotune/measure/roofline.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <immintrin.h>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Anonymous zeroed memory in huge pages where the system has them: the limit should not be one of page tables.
class Memory {
  public:
    explicit Memory(std::size_t bytes) : bytes_(bytes) {
        data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data_ == MAP_FAILED)
            throw DeviceError("measuring this machine's limits: no " + std::to_string(bytes >> 20) + " MiB of memory.");
        madvise(data_, bytes, MADV_HUGEPAGE);
    }
    ~Memory() { munmap(data_, bytes_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    char* data() { return static_cast<char*>(data_); }

  private:
    std::size_t bytes_;
    void* data_;
};

// The loops that most candidates run too: vector loads and ordinary stores. Streaming stores would raise the limit
// beyond what they can reach, and "95 % of the limit" would never end their search.
__attribute__((target("avx2"), noinline)) double read_avx2(const char* data, std::size_t bytes) {
    __m256d a = _mm256_setzero_pd(), b = a, c = a, d = a;
    const auto* p = reinterpret_cast<const double*>(data);
    for (std::size_t i = 0; i + 16 <= bytes / 8; i += 16) {
        a = _mm256_add_pd(a, _mm256_loadu_pd(p + i));
        b = _mm256_add_pd(b, _mm256_loadu_pd(p + i + 4));
        c = _mm256_add_pd(c, _mm256_loadu_pd(p + i + 8));
        d = _mm256_add_pd(d, _mm256_loadu_pd(p + i + 12));
    }
    double lanes[4];
    _mm256_storeu_pd(lanes, _mm256_add_pd(_mm256_add_pd(a, b), _mm256_add_pd(c, d)));
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

__attribute__((noinline)) double read_sse2(const char* data, std::size_t bytes) {
    __m128d a = _mm_setzero_pd(), b = a, c = a, d = a;
    const auto* p = reinterpret_cast<const double*>(data);
    for (std::size_t i = 0; i + 8 <= bytes / 8; i += 8) {
        a = _mm_add_pd(a, _mm_loadu_pd(p + i));
        b = _mm_add_pd(b, _mm_loadu_pd(p + i + 2));
        c = _mm_add_pd(c, _mm_loadu_pd(p + i + 4));
        d = _mm_add_pd(d, _mm_loadu_pd(p + i + 6));
    }
    double lanes[2];
    _mm_storeu_pd(lanes, _mm_add_pd(_mm_add_pd(a, b), _mm_add_pd(c, d)));
    return lanes[0] + lanes[1];
}

__attribute__((target("avx2"), noinline)) void write_avx2(char* data, std::size_t bytes, double value) {
    const __m256d v = _mm256_set1_pd(value);
    auto* p = reinterpret_cast<double*>(data);
    for (std::size_t i = 0; i + 8 <= bytes / 8; i += 8) {
        _mm256_storeu_pd(p + i, v);
        _mm256_storeu_pd(p + i + 4, v);
    }
}

__attribute__((noinline)) void write_sse2(char* data, std::size_t bytes, double value) {
    const __m128d v = _mm_set1_pd(value);
    auto* p = reinterpret_cast<double*>(data);
    for (std::size_t i = 0; i + 4 <= bytes / 8; i += 4) {
        _mm_storeu_pd(p + i, v);
        _mm_storeu_pd(p + i + 2, v);
    }
}

__attribute__((target("avx2"), noinline)) void copy_avx2(char* to, const char* from, std::size_t bytes) {
    auto* p = reinterpret_cast<double*>(to);
    const auto* q = reinterpret_cast<const double*>(from);
    for (std::size_t i = 0; i + 8 <= bytes / 8; i += 8) {
        _mm256_storeu_pd(p + i, _mm256_loadu_pd(q + i));
        _mm256_storeu_pd(p + i + 4, _mm256_loadu_pd(q + i + 4));
    }
}

__attribute__((noinline)) void copy_sse2(char* to, const char* from, std::size_t bytes) {
    auto* p = reinterpret_cast<double*>(to);
    const auto* q = reinterpret_cast<const double*>(from);
    for (std::size_t i = 0; i + 4 <= bytes / 8; i += 4) {
        _mm_storeu_pd(p + i, _mm_loadu_pd(q + i));
        _mm_storeu_pd(p + i + 2, _mm_loadu_pd(q + i + 2));
    }
}

constexpr int kChains = 12; // enough independent chains to hide a latency of 4 at two operations a cycle

/// `steps` multiplies and as many adds in each of kChains vectors. One function per register width and type: intrinsics
/// do not take a type parameter across target attributes.
// clang-format off
#define TW_FLOP_LOOP(name, target_words, vector, scalar, set1, mul, add, store)                                        \
    __attribute__((target(target_words), noinline)) double name(long steps) {                                          \
        vector x[kChains];                                                                                             \
        for (int c = 0; c < kChains; ++c) x[c] = set1(scalar(1) + scalar(c) / 16);                                     \
        const vector m = set1(scalar(0.999)), s = set1(scalar(0.001));                                                 \
        for (long i = 0; i < steps; ++i)                                                                               \
            for (int c = 0; c < kChains; ++c) {                                                                        \
                x[c] = mul(x[c], m);                                                                                   \
                x[c] = add(x[c], s);                                                                                   \
                /* Kept apart, or the compiler may contract them to one operation. */                                  \
                asm volatile("" : "+v"(x[c]));                                                                         \
            }                                                                                                          \
        scalar lanes[64 / sizeof(scalar)] = {};                                                                        \
        double sum = 0;                                                                                                \
        for (int c = 0; c < kChains; ++c) {                                                                            \
            store(lanes, x[c]);                                                                                        \
            sum += static_cast<double>(lanes[0]);                                                                      \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
TW_FLOP_LOOP(flops512_f64, "avx512f,prefer-vector-width=512", __m512d, double, _mm512_set1_pd, _mm512_mul_pd, _mm512_add_pd, _mm512_storeu_pd)
TW_FLOP_LOOP(flops512_f32, "avx512f,prefer-vector-width=512", __m512, float, _mm512_set1_ps, _mm512_mul_ps, _mm512_add_ps, _mm512_storeu_ps)
TW_FLOP_LOOP(flops256_f64, "avx2", __m256d, double, _mm256_set1_pd, _mm256_mul_pd, _mm256_add_pd, _mm256_storeu_pd)
TW_FLOP_LOOP(flops256_f32, "avx2", __m256, float, _mm256_set1_ps, _mm256_mul_ps, _mm256_add_ps, _mm256_storeu_ps)
TW_FLOP_LOOP(flops128_f64, "sse2", __m128d, double, _mm_set1_pd, _mm_mul_pd, _mm_add_pd, _mm_storeu_pd)
TW_FLOP_LOOP(flops128_f32, "sse2", __m128, float, _mm_set1_ps, _mm_mul_ps, _mm_add_ps, _mm_storeu_ps)
#undef TW_FLOP_LOOP
// clang-format on

std::atomic<double> sink{0};

/// Runs `body(thread)` on every core at once, `repeats` times; the shortest time in seconds.
template <class Body> double best_seconds(int threads, int repeats, const Body& body) {
    double best = 1e30;
    Clock::time_point start;
    std::barrier gate(threads);
    std::vector<std::thread> pool;
    auto work = [&](int thread) {
        for (int repeat = 0; repeat < repeats; ++repeat) {
            gate.arrive_and_wait();
            if (thread == 0) start = Clock::now();
            gate.arrive_and_wait();
            body(thread);
            gate.arrive_and_wait();
            if (thread == 0) best = std::min(best, seconds_since(start));
        }
    };
    for (int thread = 1; thread < threads; ++thread)
        pool.emplace_back(work, thread);
    work(0);
    for (std::thread& one : pool)
        one.join();
    return std::max(best, 1e-9);
}

} // namespace

Roofline measure_roofline(const Machine& machine, std::int64_t largest_bytes) {
    const bool avx2 = machine.isa != "x86-64";
    const bool avx512 = machine.isa == "x86-64-v4";
    const int threads = std::max(1, machine.cores);
    Roofline roofline;
    const auto total = static_cast<std::size_t>(std::max<std::int64_t>(largest_bytes, 1 << 22));
    Memory memory(total);
    // First touch by the thread that uses the part later.
    const std::size_t touch = total / static_cast<std::size_t>(threads) / 4096 * 4096;
    best_seconds(threads, 1,
                 [&](int thread) { std::memset(memory.data() + touch * static_cast<std::size_t>(thread), 1, touch); });
    for (std::size_t bytes = std::size_t{1} << 22; bytes <= total; bytes *= 8) {
        const std::size_t part = bytes / static_cast<std::size_t>(threads) / 4096 * 4096;
        // Small sizes are streamed several times in one timing, so that the gate costs nothing.
        const int rounds = static_cast<int>(std::max<std::size_t>(1, (std::size_t{1} << 25) / bytes));
        const int repeats = bytes >= std::size_t{1} << 27 ? 5 : 7;
        auto piece = [&](int thread) { return memory.data() + part * static_cast<std::size_t>(thread); };
        const double read_s = best_seconds(threads, repeats, [&](int thread) {
            double sum = 0;
            for (int round = 0; round < rounds; ++round)
                sum += avx2 ? read_avx2(piece(thread), part) : read_sse2(piece(thread), part);
            sink.store(sum, std::memory_order_relaxed);
        });
        const double write_s = best_seconds(threads, repeats, [&](int thread) {
            for (int round = 0; round < rounds; ++round)
                avx2 ? write_avx2(piece(thread), part, round) : write_sse2(piece(thread), part, round);
        });
        const double copy_s = best_seconds(threads, repeats, [&](int thread) {
            char* half = piece(thread);
            for (int round = 0; round < rounds; ++round)
                avx2 ? copy_avx2(half, half + part / 2, part / 2) : copy_sse2(half, half + part / 2, part / 2);
        });
        const double moved = static_cast<double>(part) * threads * rounds / 1e9;
        roofline.levels.push_back({static_cast<std::int64_t>(bytes), moved / read_s, moved / write_s, moved / copy_s});
    }
    constexpr long kSteps = 200000;
    auto gflops = [&](double (*loop)(long), int lanes) {
        const double seconds =
            best_seconds(threads, 3, [&](int) { sink.store(loop(kSteps), std::memory_order_relaxed); });
        return 2.0 * kSteps * kChains * lanes * threads / seconds / 1e9;
    };
    roofline.float64_gflops = gflops(avx512 ? flops512_f64
                                     : avx2 ? flops256_f64
                                            : flops128_f64,
                                     machine.lanes("float64"));
    roofline.float32_gflops = gflops(avx512 ? flops512_f32
                                     : avx2 ? flops256_f32
                                            : flops128_f32,
                                     machine.lanes("float32"));
    return roofline;
}

} // namespace tilewright::autotune
