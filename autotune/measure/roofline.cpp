// autotune/measure/roofline.cpp: streams memory of several sizes and runs chains of arithmetic, on all usable cores at
// once.
#include "autotune/measure/roofline.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <ctime>
#include <immintrin.h>
#include <numeric>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/base/targets.h"

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

// The loops that candidates run too: vector loads, with ordinary stores or, as store_nontemporal() and prefetch_lines()
// have it, with streaming ones and lines fetched ahead. The limit is the better of both.
inline void fetch_ahead(const double* from) {
    constexpr std::size_t kDoublesAhead = 128;
    _mm_prefetch(reinterpret_cast<const char*>(from + kDoublesAhead), _MM_HINT_T0);
}

// One set for each width of registers, as below for arithmetic; `mm` is what the names of its intrinsics begin with.
// clang-format off
#define TW_STREAM_LOOPS(name, target_words, vector, mm)                                                                \
    template <bool ahead>                                                                                              \
    __attribute__((target(target_words), noinline)) double read_##name(const char* data, std::size_t bytes) {          \
        constexpr std::size_t kLanes = sizeof(vector) / sizeof(double);                                                \
        vector a = mm##_setzero_pd(), b = a, c = a, d = a;                                                             \
        const auto* p = reinterpret_cast<const double*>(data);                                                         \
        for (std::size_t i = 0; i + 4 * kLanes <= bytes / sizeof(double); i += 4 * kLanes) {                           \
            if (ahead) fetch_ahead(p + i);                                                                             \
            if (ahead && kLanes == 4) fetch_ahead(p + i + 8);                                                          \
            a = mm##_add_pd(a, mm##_loadu_pd(p + i));                                                                  \
            b = mm##_add_pd(b, mm##_loadu_pd(p + i + kLanes));                                                         \
            c = mm##_add_pd(c, mm##_loadu_pd(p + i + 2 * kLanes));                                                     \
            d = mm##_add_pd(d, mm##_loadu_pd(p + i + 3 * kLanes));                                                     \
        }                                                                                                              \
        double lanes[kLanes];                                                                                          \
        mm##_storeu_pd(lanes, mm##_add_pd(mm##_add_pd(a, b), mm##_add_pd(c, d)));                                      \
        return std::accumulate(lanes, lanes + kLanes, 0.0);                                                            \
    }                                                                                                                  \
    template <bool stream>                                                                                             \
    __attribute__((target(target_words), noinline)) void write_##name(char* data, std::size_t bytes, double value) {   \
        constexpr std::size_t kLanes = sizeof(vector) / sizeof(double);                                                \
        const vector v = mm##_set1_pd(value);                                                                          \
        auto* p = reinterpret_cast<double*>(data);                                                                     \
        for (std::size_t i = 0; i + 2 * kLanes <= bytes / sizeof(double); i += 2 * kLanes) {                           \
            stream ? mm##_stream_pd(p + i, v) : mm##_storeu_pd(p + i, v);                                              \
            stream ? mm##_stream_pd(p + i + kLanes, v) : mm##_storeu_pd(p + i + kLanes, v);                            \
        }                                                                                                              \
        if (stream) _mm_sfence();                                                                                      \
    }                                                                                                                  \
    template <bool stream>                                                                                             \
    __attribute__((target(target_words), noinline)) void copy_##name(char* to, const char* from, std::size_t bytes) {  \
        constexpr std::size_t kLanes = sizeof(vector) / sizeof(double);                                                \
        auto* p = reinterpret_cast<double*>(to);                                                                       \
        const auto* q = reinterpret_cast<const double*>(from);                                                         \
        for (std::size_t i = 0; i + 2 * kLanes <= bytes / sizeof(double); i += 2 * kLanes) {                           \
            if (stream) fetch_ahead(q + i);                                                                            \
            const vector v = mm##_loadu_pd(q + i), w = mm##_loadu_pd(q + i + kLanes);                                  \
            stream ? mm##_stream_pd(p + i, v) : mm##_storeu_pd(p + i, v);                                              \
            stream ? mm##_stream_pd(p + i + kLanes, w) : mm##_storeu_pd(p + i + kLanes, w);                            \
        }                                                                                                              \
        if (stream) _mm_sfence();                                                                                      \
    }
TW_STREAM_LOOPS(avx2, "avx2", __m256d, _mm256)
TW_STREAM_LOOPS(sse2, "sse2", __m128d, _mm)
#undef TW_STREAM_LOOPS
// clang-format on

constexpr int kChains = 12; // independent ones, to hide a latency of 4 at three operations a cycle; all in registers

/// `steps` operations in each of kChains vectors: multiplies in one half and adds in the other, which some CPUs run
/// beside each other, or fused multiply-adds in all. One function per register width and type: intrinsics do not take a
/// type parameter across target attributes. The numbers stay what they are, far from those that CPUs are slow with.
// clang-format off
#define TW_FLOP_LOOP(name, target_words, vector, scalar, set1, step_even, step_odd, store)                             \
    __attribute__((target(target_words), noinline)) double name(long steps) {                                          \
        vector x[kChains];                                                                                             \
        for (int c = 0; c < kChains; ++c) x[c] = set1(scalar(1) + scalar(c) / 16);                                     \
        vector m = set1(scalar(1)), s = set1(scalar(0));                                                               \
        asm volatile("" : "+v"(m), "+v"(s)); /* or the compiler knows what comes out */                                \
        for (long i = 0; i < steps; ++i) {                                                                             \
            _Pragma("GCC unroll 12")                                                                                   \
            for (int c = 0; c < kChains; ++c) {                                                                        \
                x[c] = c % 2 == 0 ? step_even : step_odd;                                                              \
                asm volatile("" : "+v"(x[c]));                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        scalar lanes[64 / sizeof(scalar)] = {};                                                                        \
        double sum = 0;                                                                                                \
        for (int c = 0; c < kChains; ++c) {                                                                            \
            store(lanes, x[c]);                                                                                        \
            sum += static_cast<double>(lanes[0]);                                                                      \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
#define TW_PLAIN_LOOP(name, target_words, vector, scalar, set1, mul, add, store)                                       \
    TW_FLOP_LOOP(name, target_words, vector, scalar, set1, mul(x[c], m), add(x[c], s), store)
#define TW_FUSED_LOOP(name, target_words, vector, scalar, set1, fma, store)                                            \
    TW_FLOP_LOOP(name, target_words, vector, scalar, set1, fma(x[c], m, s), fma(x[c], m, s), store)
#ifdef __clang__ // it knows no such width there, and needs none for vectors that are written out
#define TW_AVX512 "avx512f"
#else
#define TW_AVX512 "avx512f,prefer-vector-width=512"
#endif
TW_PLAIN_LOOP(flops512_f64, TW_AVX512, __m512d, double, _mm512_set1_pd, _mm512_mul_pd, _mm512_add_pd, _mm512_storeu_pd)
TW_PLAIN_LOOP(flops512_f32, TW_AVX512, __m512, float, _mm512_set1_ps, _mm512_mul_ps, _mm512_add_ps, _mm512_storeu_ps)
TW_PLAIN_LOOP(flops256_f64, "avx2", __m256d, double, _mm256_set1_pd, _mm256_mul_pd, _mm256_add_pd, _mm256_storeu_pd)
TW_PLAIN_LOOP(flops256_f32, "avx2", __m256, float, _mm256_set1_ps, _mm256_mul_ps, _mm256_add_ps, _mm256_storeu_ps)
TW_PLAIN_LOOP(flops128_f64, "sse2", __m128d, double, _mm_set1_pd, _mm_mul_pd, _mm_add_pd, _mm_storeu_pd)
TW_PLAIN_LOOP(flops128_f32, "sse2", __m128, float, _mm_set1_ps, _mm_mul_ps, _mm_add_ps, _mm_storeu_ps)
TW_FUSED_LOOP(fused512_f64, TW_AVX512, __m512d, double, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_storeu_pd)
TW_FUSED_LOOP(fused512_f32, TW_AVX512, __m512, float, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps)
TW_FUSED_LOOP(fused256_f64, "avx2,fma", __m256d, double, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_storeu_pd)
TW_FUSED_LOOP(fused256_f32, "avx2,fma", __m256, float, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps)
#undef TW_AVX512
#undef TW_FUSED_LOOP
#undef TW_PLAIN_LOOP
#undef TW_FLOP_LOOP
// clang-format on

/// The loops of one register width.
struct FlopLoops {
    double (*float32)(long);
    double (*float64)(long);
    double (*fused32)(long); ///< null where the CPU has no fused multiply-add
    double (*fused64)(long);
    int bytes;
};

/// All that this CPU can run: the widest vectors are not the fastest on every one.
std::vector<FlopLoops> flop_loops(const std::string& isa) {
    std::vector<FlopLoops> loops = {{flops128_f32, flops128_f64, nullptr, nullptr, 16}};
    if (isa_rank(isa) >= 3) loops.push_back({flops256_f32, flops256_f64, fused256_f32, fused256_f64, 32});
    if (isa_rank(isa) >= 4) loops.push_back({flops512_f32, flops512_f64, fused512_f32, fused512_f64, 64});
    return loops;
}

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

double seconds_of_this_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Some 3 ms each, a few times: a core needs a millisecond to reach the clock that it keeps under such work. By each
/// core's own time, all at once: what other processes take of the cores is no lower limit of theirs.
void measure_arithmetic(Roofline& roofline, const std::string& isa, int threads) {
    constexpr long kSteps = 1'000'000;
    constexpr int kRepeats = 4;
    auto gflops = [&](double (*loop)(long), int lanes, int each) {
        if (loop == nullptr) return 0.0;
        std::vector<double> best(static_cast<std::size_t>(threads), 1e30);
        best_seconds(threads, kRepeats, [&](int thread) {
            double& mine = best[static_cast<std::size_t>(thread)];
            const double before = seconds_of_this_thread();
            sink.store(loop(kSteps), std::memory_order_relaxed);
            mine = std::min(mine, std::max(seconds_of_this_thread() - before, 1e-9));
        });
        double per_second = 0;
        for (const double seconds : best)
            per_second += static_cast<double>(kSteps) * kChains * lanes * each / seconds;
        return per_second / 1e9;
    };
    const auto raise = [](double& limit, double measured) { limit = std::max(limit, measured); };
    for (const FlopLoops& loops : flop_loops(isa)) {
        raise(roofline.float32_gflops, gflops(loops.float32, loops.bytes / 4, 1));
        raise(roofline.float64_gflops, gflops(loops.float64, loops.bytes / 8, 1));
        raise(roofline.float32_fma_gflops, gflops(loops.fused32, loops.bytes / 4, 2));
        raise(roofline.float64_fma_gflops, gflops(loops.fused64, loops.bytes / 8, 2));
    }
    // Fused or not, a machine can do as much as without.
    raise(roofline.float32_fma_gflops, roofline.float32_gflops);
    raise(roofline.float64_fma_gflops, roofline.float64_gflops);
}

} // namespace

Roofline measure_roofline(const Machine& machine, std::int64_t largest_bytes) {
    const bool avx2 = isa_rank(machine.isa) >= 3;
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
        auto read = [&]<bool ahead>(int thread) {
            double sum = 0;
            for (int round = 0; round < rounds; ++round)
                sum += avx2 ? read_avx2<ahead>(piece(thread), part) : read_sse2<ahead>(piece(thread), part);
            sink.store(sum, std::memory_order_relaxed);
        };
        auto write = [&]<bool stream>(int thread) {
            for (int round = 0; round < rounds; ++round)
                avx2 ? write_avx2<stream>(piece(thread), part, round) : write_sse2<stream>(piece(thread), part, round);
        };
        auto copy = [&]<bool stream>(int thread) {
            char* half = piece(thread);
            for (int round = 0; round < rounds; ++round) {
                avx2 ? copy_avx2<stream>(half, half + part / 2, part / 2)
                     : copy_sse2<stream>(half, half + part / 2, part / 2);
            }
        };
        auto better = [&](const auto& loop) {
            const auto plain = [&](int thread) { loop.template operator()<false>(thread); };
            const auto hinted = [&](int thread) { loop.template operator()<true>(thread); };
            return std::min(best_seconds(threads, repeats, plain), best_seconds(threads, repeats, hinted));
        };
        const double read_s = better(read);
        const double write_s = better(write);
        const double copy_s = better(copy);
        const double moved = static_cast<double>(part) * threads * rounds / 1e9;
        roofline.levels.push_back({static_cast<std::int64_t>(bytes), moved / read_s, moved / write_s, moved / copy_s});
    }
    measure_arithmetic(roofline, machine.isa, threads);
    return roofline;
}

} // namespace tilewright::autotune
