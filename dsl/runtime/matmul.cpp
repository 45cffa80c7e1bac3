// dsl/runtime/matmul.cpp: finds a loaded CBLAS by its symbols and calls it; plain loops otherwise.
#include "dsl/runtime/matmul.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <mutex>
#include <string>

#include "dsl/runtime/found_once.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::runtime {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112, kUpper = 121;

/// The routines of a library, with 32- or 64-bit integers.
struct Blas {
    void* gemm[4] = {}; // s, d, c, z
    void* syrk[2] = {}; // s, d: none in some libraries
    bool wide = false;
    void* handle = nullptr;
    int (*get_threads)() = nullptr;
    void (*set_threads)(int) = nullptr;
};

bool try_library(void* handle, Blas& blas) {
    struct Spelling {
        const char *prefix, *suffix;
        bool wide;
    };
    // NumPy's wheels, other 64-bit OpenBLAS builds, then the common names.
    static constexpr Spelling kSpellings[] = {{"scipy_cblas_", "gemm64_", true},
                                              {"cblas_", "gemm64_", true},
                                              {"scipy_cblas_", "gemm", false},
                                              {"cblas_", "gemm", false}};
    for (const Spelling& s : kSpellings) {
        Blas found;
        found.wide = s.wide;
        for (int i = 0; i < 4; ++i)
            found.gemm[i] = dlsym(handle, (std::string(s.prefix) + "sdcz"[i] + s.suffix).c_str());
        if (std::any_of(found.gemm, found.gemm + 4, [](void* p) { return p == nullptr; })) continue;
        for (int i = 0; i < 2; ++i) {
            std::string name = std::string(s.prefix) + "sdcz"[i] + s.suffix;
            found.syrk[i] = dlsym(handle, name.replace(name.find("gemm"), 4, "syrk").c_str());
        }
        for (const char* variant : {"scipy_openblas_%s_num_threads64_", "openblas_%s_num_threads64_",
                                    "scipy_openblas_%s_num_threads", "openblas_%s_num_threads"}) {
            std::string name = variant;
            std::size_t at = name.find("%s");
            found.get_threads =
                reinterpret_cast<int (*)()>(dlsym(handle, std::string(name).replace(at, 2, "get").c_str()));
            found.set_threads =
                reinterpret_cast<void (*)(int)>(dlsym(handle, std::string(name).replace(at, 2, "set").c_str()));
            if (found.get_threads && found.set_threads) break;
        }
        found.handle = handle;
        blas = found;
        return true;
    }
    return false;
}

Blas find_blas() {
    Blas blas;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) -> int {
            const char* path = info->dlpi_name;
            // Only libraries that call themselves a BLAS: a look-up in all others costs time. NumPy's own comes first
            // in most processes; SciPy's is the same code.
            if (!path || !(std::strstr(path, "blas") || std::strstr(path, "mkl_rt") || std::strstr(path, "blis")))
                return 0;
            void* handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
            return handle && try_library(handle, *static_cast<Blas*>(data));
        },
        &blas);
    return blas;
}

const Blas& blas() {
    static constinit FoundOnce<Blas> found;
    return found.get(find_blas);
}

// A fork waits for it: in the child the thread count would stay lowered, and the lock taken.
constinit std::mutex g_blas_threads;
[[maybe_unused]] const int g_forks_know_blas =
    pthread_atfork([] { g_blas_threads.lock(); }, [] { g_blas_threads.unlock(); }, [] { g_blas_threads.unlock(); });

/// OpenBLAS has one thread count for the process: it is lowered round the call, never raised.
class BlasThreads {
  public:
    explicit BlasThreads(const Blas& library, int most = kMaxThreads) : library_(library) {
        int allowed = std::min(most, inside_a_loop_limit());
        if (!library.get_threads || !library.set_threads) return;
        if (library.get_threads() <= allowed) return;
        lock_ = std::unique_lock(g_blas_threads);
        before_ = library.get_threads();
        library.set_threads(allowed);
    }
    ~BlasThreads() {
        if (before_ > 0) library_.set_threads(before_);
    }

  private:
    static int inside_a_loop_limit() {
        int limit = thread_limit();
        return limit > 0 ? std::min(limit, num_threads()) : num_threads();
    }
    const Blas& library_;
    std::unique_lock<std::mutex> lock_;
    int before_ = 0;
};

struct Operand : StackOperand {
    using StackOperand::StackOperand;
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;
    ~Operand() { scratch_release(copy); }
    void* copy = nullptr;
};

/// Calls f(i) for each row of all matrices, in parallel where they have enough elements.
template <class F> void for_rows(std::int64_t rows, std::int64_t work, F&& f) {
    if (work < 32768) {
        for (std::int64_t i = 0; i < rows; ++i)
            f(i);
        return;
    }
    parallel_for(static_cast<int>(rows), [&](int i) { f(i); });
}

void copy_row(char* to, const char* from, std::int64_t count, std::int64_t stride, int bytes) {
    const auto each = [&]<class T>(T) {
        for (std::int64_t k = 0; k < count; ++k)
            std::memcpy(to + k * static_cast<std::int64_t>(sizeof(T)), from + k * stride, sizeof(T));
    };
    if (bytes == 4)
        each(std::uint32_t{});
    else if (bytes == 8)
        each(std::uint64_t{});
    else
        each(std::complex<double>{});
}

/// What gemm cannot take as it lies is copied; a matrix that several products share once. False: there is no memory.
bool prepare(const MatrixProducts& products, int bytes, Operand& operand) {
    if (operand.fits_gemm(bytes)) return true;
    const StackOperand from = operand;
    const std::int64_t size = operand.become_copies(products, bytes), rows = from.matrix.rows;
    operand.matrix.data = operand.copy = scratch_allocate(static_cast<std::size_t>(size));
    if (!operand.copy) return false;
    MatrixProducts own = products;
    for (int k = 0; k < products.axis_count; ++k)
        if (from.strides[k] == 0) own.axes[k].extent = 1;
    for_rows(own.count() * rows, size / bytes, [&](std::int64_t i) {
        copy_row(static_cast<char*>(operand.copy) + i * operand.matrix.row_stride,
                 from.at(own, i / rows) + i % rows * from.matrix.row_stride, from.matrix.columns,
                 from.matrix.column_stride, bytes);
    });
    return true;
}

/// Rows of one product.
struct Part {
    const StackOperand &left, &right;
    const void *a, *b;
    void* c;
    std::int64_t rows, columns, inner;
};

template <class Integer, class Scalar> void call_gemm(void* gemm, const Part& part, Scalar one, Scalar zero) {
    auto function = reinterpret_cast<void (*)(int, int, int, Integer, Integer, Integer, Scalar, const void*, Integer,
                                              const void*, Integer, Scalar, void*, Integer)>(gemm);
    function(kRowMajor, part.left.transposed ? kTranspose : kNoTranspose,
             part.right.transposed ? kTranspose : kNoTranspose, static_cast<Integer>(part.rows),
             static_cast<Integer>(part.columns), static_cast<Integer>(part.inner), one, part.a,
             static_cast<Integer>(part.left.leading), part.b, static_cast<Integer>(part.right.leading), zero, part.c,
             static_cast<Integer>(std::max<std::int64_t>(part.columns, 1)));
}

/// The upper half of a matrix by its transpose.
template <class Integer, class Scalar> void call_syrk(void* syrk, const Operand& left, const MatrixView& c) {
    auto function = reinterpret_cast<void (*)(int, int, int, Integer, Integer, Scalar, const void*, Integer, Scalar,
                                              void*, Integer)>(syrk);
    function(kRowMajor, kUpper, left.transposed ? kTranspose : kNoTranspose, static_cast<Integer>(c.rows),
             static_cast<Integer>(left.matrix.columns), 1, left.matrix.data, static_cast<Integer>(left.leading), 0,
             c.data, static_cast<Integer>(c.columns));
}

/// The lower half from the upper one, in tiles that L1 holds.
template <class T> void mirror(T* c, std::int64_t rows) {
    constexpr std::int64_t kTile = 32;
    parallel_for(static_cast<int>((rows + kTile - 1) / kTile), [=](int tile) {
        const std::int64_t first = tile * kTile, end = std::min(rows, first + kTile);
        for (std::int64_t column = 0; column < end; column += kTile)
            for (std::int64_t i = first; i < end; ++i)
                for (std::int64_t j = column; j < std::min(i, column + kTile); ++j)
                    c[i * rows + j] = c[j * rows + i];
    });
}

template <class Integer> void call_by_type(const Blas& library, DType dtype, const Part& part) {
    static const std::complex<float> kOneC(1), kZeroC(0);
    static const std::complex<double> kOneZ(1), kZeroZ(0);
    switch (dtype) {
    case DType::float32:
        return call_gemm<Integer, float>(library.gemm[0], part, 1, 0);
    case DType::float64:
        return call_gemm<Integer, double>(library.gemm[1], part, 1, 0);
    case DType::complex64:
        return call_gemm<Integer, const void*>(library.gemm[2], part, &kOneC, &kZeroC);
    default:
        return call_gemm<Integer, const void*>(library.gemm[3], part, &kOneZ, &kZeroZ);
    }
}

// A product of this many multiplications is what BLAS libraries run on one thread; OpenBLAS shares out larger ones.
constexpr std::int64_t kStripWork = 250'000;
// From here on a library's own threads do better than strips of ours.
constexpr std::int64_t kMostStripWork = 4'000'000;
constexpr std::int64_t kLeastStripRows = 16;
// A stack of few large products is computed in about this many pieces, of at least so many rows.
constexpr std::int64_t kPiecesOfStack = 64;
constexpr std::int64_t kLeastLargeStripRows = 64;

bool is_worth_threads(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    return columns > kMostStripWork / inner || rows > kMostStripWork / (columns * inner);
}

/// How many strips of rows a product is computed in. It follows from the shape alone: the bits of a result do not
/// depend on the number of threads.
std::int64_t strips_of(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    if (is_worth_threads(rows, columns, inner)) return 1;
    const std::int64_t work_per_row = columns * inner;
    return std::max<std::int64_t>(1, std::min(rows / kLeastStripRows, rows * work_per_row / kStripWork));
}

/// In pieces that our threads share; the library computes each piece on one thread: strips of rows of a product, or
/// several products of a stack. One product that is worth the library's own threads has them.
void multiply_in_pieces(DType dtype, const MatrixProducts& products, const Operand& left, const Operand& right) {
    const int bytes = info(dtype).bytes;
    const MatrixView &a = left.matrix, &c = products.c;
    const StackOperand result(products, c, &StackAxis::c);
    const std::int64_t count = products.count();
    const bool is_large = is_worth_threads(c.rows, c.columns, a.columns);
    const bool is_shared = count > 1 && blas().set_threads && c.columns > kStripWork / a.columns / c.rows;
    const BlasThreads threads(blas(), is_shared ? 1 : kMaxThreads);
    std::int64_t strips = strips_of(c.rows, c.columns, a.columns);
    if (is_shared) {
        const std::int64_t most = is_large ? c.rows / kLeastLargeStripRows : strips;
        strips = std::max<std::int64_t>(1, std::min(most, kPiecesOfStack / count));
    }
    const auto multiply = [&](std::int64_t number, std::int64_t first, std::int64_t end) {
        const Part part{left,
                        right,
                        left.at(products, number) + first * bytes * (left.transposed ? 1 : left.leading),
                        right.at(products, number),
                        result.at(products, number) + first * c.columns * bytes,
                        end - first,
                        c.columns,
                        a.columns};
        if (blas().wide)
            call_by_type<std::int64_t>(blas(), dtype, part);
        else
            call_by_type<int>(blas(), dtype, part);
    };
    if (is_large && !is_shared) {
        for (std::int64_t number = 0; number < count; ++number)
            multiply(number, 0, c.rows);
        return;
    }
    if (strips > 1) {
        parallel_for(static_cast<int>(count * strips), [&](int piece) {
            const std::int64_t strip = piece % strips;
            multiply(piece / strips, c.rows * strip / strips, c.rows * (strip + 1) / strips);
        });
        return;
    }
    const std::int64_t together = std::max<std::int64_t>(1, kStripWork / (c.rows * c.columns * a.columns));
    parallel_for(static_cast<int>((count + together - 1) / together), [&](int piece) {
        const std::int64_t end = std::min(count, (piece + 1) * together);
        for (std::int64_t number = piece * together; number < end; ++number)
            multiply(number, 0, c.rows);
    });
}

/// A matrix by its own transpose has half of the work, as NumPy does it too. False: this is none that has work enough.
bool multiply_by_transpose(DType dtype, const MatrixProducts& products, const Operand& left, const Operand& right) {
    const MatrixView &a = products.a, &b = products.b, &c = products.c;
    const bool is_double = dtype == DType::float64;
    void* syrk = is_double || dtype == DType::float32 ? blas().syrk[is_double ? 1 : 0] : nullptr;
    if (syrk == nullptr || products.count() != 1 || left.copy || right.copy || a.data != b.data ||
        a.rows != b.columns || a.row_stride != b.column_stride || a.column_stride != b.row_stride ||
        !is_worth_threads(c.rows, c.columns, a.columns))
        return false;
    {
        const BlasThreads threads(blas());
        const auto call = [&]<class Scalar>(Scalar) {
            blas().wide ? call_syrk<std::int64_t, Scalar>(syrk, left, c) : call_syrk<int, Scalar>(syrk, left, c);
        };
        is_double ? call(double{}) : call(float{});
    }
    is_double ? mirror(static_cast<double*>(c.data), c.rows) : mirror(static_cast<float*>(c.data), c.rows);
    return true;
}

/// Rows in parallel, in panels of `inner` that stay in the cache. Integers wrap: unsigned arithmetic has the same bits.
template <class T> void plain_matmul(const MatrixProducts& products) {
    constexpr std::int64_t kPanel = 128;
    const MatrixView &a = products.a, &b = products.b, &c = products.c;
    const StackOperand left(products, a, &StackAxis::a), right(products, b, &StackAxis::b),
        result(products, c, &StackAxis::c);
    std::int64_t inner = a.columns;
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    auto row = [&](std::int64_t at) {
        const std::int64_t number = at / c.rows, i = at % c.rows;
        const char* const lefts = left.at(products, number);
        const char* const rights = right.at(products, number);
        auto* out = reinterpret_cast<Stored*>(result.at(products, number) + i * c.row_stride);
        std::fill_n(out, c.columns, Stored{});
        for (std::int64_t k0 = 0; k0 < inner; k0 += kPanel)
            for (std::int64_t k = k0; k < std::min(inner, k0 + kPanel); ++k) {
                Stored factor;
                std::memcpy(&factor, lefts + i * a.row_stride + k * a.column_stride, sizeof factor);
                const char* row_of_b = rights + k * b.row_stride;
                for (std::int64_t j = 0; j < c.columns; ++j) {
                    Stored value;
                    std::memcpy(&value, row_of_b + j * b.column_stride, sizeof value);
                    if constexpr (std::is_same_v<T, bool>) out[j] = out[j] || (factor && value);
                    // Widened: the product of two 16-bit numbers would overflow int.
                    else if constexpr (std::is_integral_v<Stored>)
                        out[j] = static_cast<Stored>(out[j] + std::uint64_t{factor} * std::uint64_t{value});
                    else
                        out[j] += factor * value;
                }
            }
    };
    const std::int64_t rows = products.count() * c.rows;
    for_rows(rows, rows * c.columns * inner, row);
}

/// By dtype. Of float16 kernels compute all products.
constexpr void (*kPlain[])(const MatrixProducts&) = {plain_matmul<bool>,
                                                     plain_matmul<std::uint8_t>,
                                                     plain_matmul<std::uint16_t>,
                                                     plain_matmul<std::uint32_t>,
                                                     plain_matmul<std::uint64_t>,
                                                     plain_matmul<std::uint8_t>,
                                                     plain_matmul<std::uint16_t>,
                                                     plain_matmul<std::uint32_t>,
                                                     plain_matmul<std::uint64_t>,
                                                     plain_matmul<float>,
                                                     plain_matmul<double>,
                                                     plain_matmul<std::complex<float>>,
                                                     plain_matmul<std::complex<double>>,
                                                     nullptr};

} // namespace

int matmul(DType dtype, const MatrixProducts& all) {
    if (!all.agree()) return -1;
    if (all.c.rows == 0 || all.c.columns == 0 || all.count() == 0) return 0;
    const MatrixProducts products = all.joined();
    int bytes = info(dtype).bytes;
    bool has_blas =
        dtype == DType::float32 || dtype == DType::float64 || dtype == DType::complex64 || dtype == DType::complex128;
    if (has_blas && blas().gemm[0] && products.a.columns > 0) {
        Operand left(products, products.a, &StackAxis::a), right(products, products.b, &StackAxis::b);
        if (!prepare(products, bytes, left) || !prepare(products, bytes, right)) return kOutOfMemory;
        if (!multiply_by_transpose(dtype, products, left, right)) multiply_in_pieces(dtype, products, left, right);
        return 0;
    }
    if (kPlain[static_cast<std::size_t>(dtype)] == nullptr) return -1;
    kPlain[static_cast<std::size_t>(dtype)](products);
    return 0;
}

void* lapack_routine(const char* name, bool& wide) {
    wide = blas().wide;
    const char* const end = wide ? "_64_" : "_";
    for (const char* prefix : {"scipy_", ""})
        if (void* found = blas().handle ? dlsym(blas().handle, (prefix + std::string(name) + end).c_str()) : nullptr)
            return found;
    return nullptr;
}

} // namespace tilewright::runtime
