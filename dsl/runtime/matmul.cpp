// dsl/runtime/matmul.cpp: finds a loaded CBLAS by its symbols and calls it; plain loops otherwise.
#include "dsl/runtime/matmul.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <mutex>
#include <string>

#include "dsl/runtime/memory.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::runtime {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

/// The four gemm routines, with 32- or 64-bit integers.
struct Blas {
    void* gemm[4] = {}; // s, d, c, z
    bool wide = false;
    int (*get_threads)() = nullptr;
    void (*set_threads)(int) = nullptr;
    std::string library = "none";
};

bool try_library(void* handle, const char* path, Blas& blas) {
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
        const char* slash = std::strrchr(path, '/');
        found.library = slash ? slash + 1 : path;
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
            return handle && try_library(handle, path, *static_cast<Blas*>(data));
        },
        &blas);
    return blas;
}

const Blas& blas() {
    static const Blas found = find_blas();
    return found;
}

/// OpenBLAS has one thread count for the process: it is lowered round the call, never raised.
class BlasThreads {
  public:
    explicit BlasThreads(const Blas& library) : library_(library) {
        int allowed = inside_a_loop_limit();
        if (!library.get_threads || !library.set_threads) return;
        if (library.get_threads() <= allowed) return;
        lock_ = std::unique_lock(mutex());
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
    static std::mutex& mutex() {
        static std::mutex instance;
        return instance;
    }
    const Blas& library_;
    std::unique_lock<std::mutex> lock_;
    int before_ = 0;
};

/// A matrix as gemm takes it: one of its strides is one element.
struct Operand {
    const void* data = nullptr;
    int transpose = kNoTranspose;
    std::int64_t leading = 0;
    void* copy = nullptr;
    ~Operand() { scratch_release(copy); }
};

bool prepare(const MatrixView& m, int bytes, Operand& operand) {
    bool whole = m.row_stride % bytes == 0 && m.column_stride % bytes == 0;
    std::int64_t rows = m.row_stride / bytes, columns = m.column_stride / bytes;
    operand.data = m.data;
    if (whole && (columns == 1 || m.columns == 1) && (rows >= m.columns || m.rows == 1) && rows >= 0) {
        operand.leading = std::max({rows, m.columns, std::int64_t{1}});
        return true;
    }
    if (whole && (rows == 1 || m.rows == 1) && (columns >= m.rows || m.columns == 1) && columns >= 0) {
        operand.transpose = kTranspose;
        operand.leading = std::max({columns, m.rows, std::int64_t{1}});
        return true;
    }
    operand.copy = scratch_allocate(static_cast<std::size_t>(m.rows * m.columns) * static_cast<std::size_t>(bytes));
    if (!operand.copy) return false;
    char* to = static_cast<char*>(operand.copy);
    for (std::int64_t i = 0; i < m.rows; ++i)
        for (std::int64_t j = 0; j < m.columns; ++j, to += bytes)
            std::memcpy(to, static_cast<const char*>(m.data) + i * m.row_stride + j * m.column_stride,
                        static_cast<std::size_t>(bytes));
    operand.data = operand.copy;
    operand.leading = std::max<std::int64_t>(m.columns, 1);
    return true;
}

template <class Integer, class Scalar>
void call_gemm(void* gemm, const Operand& a, const Operand& b, const MatrixView& c, std::int64_t inner, Scalar one,
               Scalar zero) {
    auto function = reinterpret_cast<void (*)(int, int, int, Integer, Integer, Integer, Scalar, const void*, Integer,
                                              const void*, Integer, Scalar, void*, Integer)>(gemm);
    function(kRowMajor, a.transpose, b.transpose, static_cast<Integer>(c.rows), static_cast<Integer>(c.columns),
             static_cast<Integer>(inner), one, a.data, static_cast<Integer>(a.leading), b.data,
             static_cast<Integer>(b.leading), zero, c.data, static_cast<Integer>(std::max<std::int64_t>(c.columns, 1)));
}

template <class Integer>
void call_by_type(const Blas& library, DType dtype, const Operand& a, const Operand& b, const MatrixView& c,
                  std::int64_t inner) {
    static const std::complex<float> kOneC(1), kZeroC(0);
    static const std::complex<double> kOneZ(1), kZeroZ(0);
    switch (dtype) {
    case DType::float32:
        return call_gemm<Integer, float>(library.gemm[0], a, b, c, inner, 1, 0);
    case DType::float64:
        return call_gemm<Integer, double>(library.gemm[1], a, b, c, inner, 1, 0);
    case DType::complex64:
        return call_gemm<Integer, const void*>(library.gemm[2], a, b, c, inner, &kOneC, &kZeroC);
    default:
        return call_gemm<Integer, const void*>(library.gemm[3], a, b, c, inner, &kOneZ, &kZeroZ);
    }
}

// A product of this many multiplications is what BLAS libraries run on one thread; OpenBLAS shares out larger ones.
constexpr std::int64_t kStripWork = 250'000;
// From here on a library's own threads do better than strips of ours.
constexpr std::int64_t kMostStripWork = 4'000'000;
constexpr std::int64_t kLeastStripRows = 16;

/// How many strips of rows a product is computed in. It follows from the shape alone: the bits of a result do not
/// depend on the number of threads.
std::int64_t strips_of(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    if (columns > kMostStripWork / inner) return 1;
    const std::int64_t work_per_row = columns * inner;
    if (rows > kMostStripWork / work_per_row) return 1;
    return std::max<std::int64_t>(1, std::min(rows / kLeastStripRows, rows * work_per_row / kStripWork));
}

/// Rows in parallel, in panels of `inner` that stay in the cache. Integers wrap: unsigned arithmetic has the same bits.
template <class T> void plain_matmul(const MatrixView& a, const MatrixView& b, const MatrixView& c) {
    constexpr std::int64_t kPanel = 128;
    std::int64_t inner = a.columns;
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    auto row = [&](int i) {
        auto* out = reinterpret_cast<Stored*>(static_cast<char*>(c.data) + i * c.row_stride);
        std::fill_n(out, c.columns, Stored{});
        for (std::int64_t k0 = 0; k0 < inner; k0 += kPanel)
            for (std::int64_t k = k0; k < std::min(inner, k0 + kPanel); ++k) {
                Stored left;
                std::memcpy(&left, static_cast<const char*>(a.data) + i * a.row_stride + k * a.column_stride,
                            sizeof left);
                const char* right = static_cast<const char*>(b.data) + k * b.row_stride;
                for (std::int64_t j = 0; j < c.columns; ++j) {
                    Stored value;
                    std::memcpy(&value, right + j * b.column_stride, sizeof value);
                    if constexpr (std::is_same_v<T, bool>) out[j] = out[j] || (left && value);
                    // Widened: the product of two 16-bit numbers would overflow int.
                    else if constexpr (std::is_integral_v<Stored>)
                        out[j] = static_cast<Stored>(out[j] + std::uint64_t{left} * std::uint64_t{value});
                    else
                        out[j] += left * value;
                }
            }
    };
    if (c.rows * c.columns * inner < 32768) {
        for (std::int64_t i = 0; i < c.rows; ++i)
            row(static_cast<int>(i));
        return;
    }
    parallel_for(static_cast<int>(c.rows), row);
}

} // namespace

int matmul(DType dtype, const MatrixView& a, const MatrixView& b, const MatrixView& c) {
    if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns) return -1;
    if (c.rows == 0 || c.columns == 0) return 0;
    int bytes = info(dtype).bytes;
    bool has_blas =
        dtype == DType::float32 || dtype == DType::float64 || dtype == DType::complex64 || dtype == DType::complex128;
    if (has_blas && blas().gemm[0] && a.columns > 0) {
        Operand left, right;
        if (!prepare(a, bytes, left) || !prepare(b, bytes, right)) return kOutOfMemory;
        BlasThreads threads(blas());
        const std::int64_t strips = strips_of(c.rows, c.columns, a.columns);
        parallel_for(static_cast<int>(strips), [&](int strip) {
            const std::int64_t first = c.rows * strip / strips;
            const std::int64_t end = c.rows * (strip + 1) / strips;
            Operand rows;
            rows.transpose = left.transpose;
            rows.leading = left.leading;
            rows.data =
                static_cast<const char*>(left.data) + first * bytes * (left.transpose == kTranspose ? 1 : left.leading);
            MatrixView part = c;
            part.data = static_cast<char*>(c.data) + first * std::max<std::int64_t>(c.columns, 1) * bytes;
            part.rows = end - first;
            if (blas().wide)
                call_by_type<std::int64_t>(blas(), dtype, rows, right, part, a.columns);
            else
                call_by_type<int>(blas(), dtype, rows, right, part, a.columns);
        });
        return 0;
    }
    switch (dtype) {
    case DType::boolean:
        plain_matmul<bool>(a, b, c);
        break;
    case DType::int8:
    case DType::uint8:
        plain_matmul<std::uint8_t>(a, b, c);
        break;
    case DType::int16:
    case DType::uint16:
        plain_matmul<std::uint16_t>(a, b, c);
        break;
    case DType::int32:
    case DType::uint32:
        plain_matmul<std::uint32_t>(a, b, c);
        break;
    case DType::int64:
    case DType::uint64:
        plain_matmul<std::uint64_t>(a, b, c);
        break;
    case DType::float32:
        plain_matmul<float>(a, b, c);
        break;
    case DType::float64:
        plain_matmul<double>(a, b, c);
        break;
    case DType::complex64:
        plain_matmul<std::complex<float>>(a, b, c);
        break;
    case DType::complex128:
        plain_matmul<std::complex<double>>(a, b, c);
        break;
    }
    return 0;
}

const char* matmul_library() {
    return blas().library.c_str();
}

} // namespace tilewright::runtime
