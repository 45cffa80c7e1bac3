// dsl/runtime/cuda/blas.cpp: cuBLAS by dlopen, one handle for each device.
#include "dsl/runtime/cuda/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstdlib>

#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/cuda/profile.h"
#include "dsl/runtime/cuda/strided_copy.h"

namespace tilewright::runtime::cuda {
namespace {

constexpr int kMostDevices = 64;
using Handle = struct BlasHandle*;
enum Operation : int { kPlain = 0, kTransposed = 1 };
using Gemm = int (*)(Handle, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*,
                     void*, int);
/// Of so many matrices, with the elements from one to the next behind each leading dimension.
using BatchedGemm = int (*)(Handle, int, int, int, int, int, const void*, const void*, int, long long, const void*, int,
                            long long, const void*, void*, int, long long, int);

struct Blas {
    std::string name;
    int (*create)(Handle*) = nullptr;
    int (*set_stream)(Handle, Stream) = nullptr;
    int (*set_mode)(Handle, int) = nullptr;
    int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
    const char* (*status_text)(int) = nullptr;
    Gemm gemm[4] = {}; ///< s, d, c, z
    BatchedGemm batched[4] = {};
};

const char* const kNames[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};

const Blas* find_in(void* library, const char* name) {
    auto blas = std::make_unique<Blas>();
    blas->name = name;
    auto find = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
        return function != nullptr;
    };
    find(blas->status_text, "cublasGetStatusString");
    find(blas->set_workspace, "cublasSetWorkspace_v2");
    bool whole = find(blas->create, "cublasCreate_v2") && find(blas->set_stream, "cublasSetStream_v2") &&
                 find(blas->set_mode, "cublasSetMathMode");
    for (int k = 0; k < 4; ++k) {
        const std::string routine = std::string("cublas") + "SDCZ"[k] + "gemm";
        whole = whole && find(blas->gemm[k], (routine + "_v2").c_str()) &&
                find(blas->batched[k], (routine + "StridedBatched").c_str());
    }
    return whole ? blas.release() : nullptr;
}

/// Null where there is none yet: a library that is imported later may bring one.
const Blas* blas() {
    static std::atomic<const Blas*> found{nullptr};
    static std::mutex mutex;
    static bool opened = false;
    if (const Blas* b = found.load(std::memory_order_acquire)) return b;
    std::lock_guard lock(mutex);
    if (const Blas* b = found.load(std::memory_order_acquire)) return b;
    auto look = [&](const char* name, int flags) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
        const Blas* b = library ? find_in(library, name) : nullptr;
        if (b) found.store(b, std::memory_order_release);
        return b;
    };
    const char* wanted = std::getenv("TILEWRIGHT_LIBCUBLAS");
    if (wanted && *wanted) return look(wanted, 0);
    for (const char* name : kNames)
        if (const Blas* b = look(name, RTLD_NOLOAD)) return b;
    if (opened) return nullptr;
    opened = true;
    for (const char* name : kNames)
        if (const Blas* b = look(name, 0)) return b;
    return nullptr;
}

void require_blas(const Blas& b, int status, const char* what) {
    if (status == 0) return;
    const char* text = b.status_text ? b.status_text(status) : nullptr;
    throw DeviceError(std::string("cuda: ") + what + ": " + b.name + " gives " + (text ? text : "status") + " (" +
                          std::to_string(status) + ").",
                      "If memory is short, free arrays; else please report this.");
}

struct DeviceBlas {
    std::mutex mutex; ///< a handle serves one thread at a time
    Handle handle = nullptr;
};

struct Operand : StackOperand {
    using StackOperand::StackOperand;
    void* copy = nullptr;
    int operation() const { return transposed ? kTransposed : kPlain; }
};

/// What cuBLAS advises, from compute capability 9.0 on and before.
std::size_t workspace_bytes(const Device& device) {
    return device.major >= 9 ? std::size_t{32} << 20 : std::size_t{4} << 20;
}

/// Memory that cuBLAS works in while a call is captured: the graph's own, since two graphs may run at a time, and so
/// may other products of the handle.
class Workspace {
  public:
    Workspace(Call& call, const Blas& library, Handle handle) : call_(call) {
        if (!library.set_workspace || !call.is_captured()) return;
        const std::size_t bytes = workspace_bytes(call.device().facts);
        memory_ = call.device().pool.allocate(call.place(), bytes);
        if (!memory_) throw out_of_device_memory(call.place(), bytes, "a product of matrices to work in");
        library.set_workspace(handle, memory_, bytes);
    }
    /// The next set_stream() takes the handle's own again.
    ~Workspace() { release(call_.place(), memory_); }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

  private:
    Call& call_;
    void* memory_ = nullptr;
};

/// What gemm cannot take as it lies is copied; a matrix that several products share once.
Operand prepare(Call& call, DType dtype, const MatrixProducts& products, const MatrixView& m,
                std::int64_t StackAxis::*stride) {
    const std::int64_t bytes = info(dtype).bytes;
    Operand out(products, m, stride);
    // No routine says what it makes of strides that go back, or of parts of elements.
    if (out.fits_gemm(bytes) &&
        std::ranges::all_of(out.strides, [&](std::int64_t each) { return each >= 0 && each % bytes == 0; }))
        return out;
    const StackOperand from_operand = out;
    const auto size = static_cast<std::size_t>(out.become_copies(products, bytes));
    halide_dimension_t from_dims[2 + MatrixProducts::kMostAxes], to_dims[2 + MatrixProducts::kMostAxes];
    int rank = 0;
    const auto add = [&](std::int64_t extent, std::int64_t from_stride, std::int64_t to_stride) {
        const auto narrow = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
        from_dims[rank] = {0, narrow(extent), narrow(from_stride / bytes)};
        to_dims[rank++] = {0, narrow(extent), narrow(to_stride / bytes)};
    };
    add(m.columns, m.column_stride, out.matrix.column_stride);
    add(m.rows, m.row_stride, out.matrix.row_stride);
    for (int k = 0; k < products.axis_count; ++k)
        if (out.strides[k] != 0) add(products.axes[k].extent, from_operand.strides[k], out.strides[k]);
    void* copy = call.allocate_temporary(size, "a copy of a matrix");
    halide_buffer_t from{}, to{};
    from.type.bits = to.type.bits = static_cast<std::uint8_t>(8 * bytes);
    from.dimensions = to.dimensions = rank;
    from.dim = from_dims;
    to.dim = to_dims;
    from.device = reinterpret_cast<std::uintptr_t>(m.data);
    to.device = reinterpret_cast<std::uintptr_t>(copy);
    if (copy_strided(call, from, to)) throw DeviceError(call.error());
    out.matrix.data = out.copy = copy;
    return out;
}

/// The calls of cuBLAS that make up the products: one for all matrices along the longest axis of the stack.
class GemmCalls {
  public:
    GemmCalls(const Blas& library, Handle handle, DType dtype, const MatrixProducts& products, const Operand& left,
              const Operand& right)
        : library_(library), handle_(handle), p_(products), left_(left), right_(right), bytes_(info(dtype).bytes),
          which_(static_cast<int>(dtype) - static_cast<int>(DType::float32)) {
        static_assert(static_cast<int>(DType::complex128) - static_cast<int>(DType::float32) == 3);
        static const std::complex<float> kOneC(1), kZeroC(0);
        static const std::complex<double> kOneZ(1), kZeroZ(0);
        const bool is_single = info(dtype).part == DType::float32;
        // A real one is the first part of a complex one.
        one_ = is_single ? static_cast<const void*>(&kOneC) : &kOneZ;
        zero_ = is_single ? static_cast<const void*>(&kZeroC) : &kZeroZ;
        for (int k = 0; k < p_.axis_count; ++k)
            if (batch_ < 0 || p_.axes[k].extent > p_.axes[batch_].extent) batch_ = k;
    }

    void run() const {
        MatrixProducts calls = p_;
        if (batch_ >= 0) calls.axes[batch_].extent = 1;
        const StackOperand result(p_, p_.c, &StackAxis::c);
        for (std::int64_t number = 0; number < calls.count(); ++number)
            call(left_.at(calls, number), right_.at(calls, number), result.at(calls, number));
    }

  private:
    /// cuBLAS counts by columns: to it, all three are transposed, and C' = B' A'.
    void call(const char* a, const char* b, char* c) const {
        const int columns = static_cast<int>(p_.c.columns), rows = static_cast<int>(p_.c.rows);
        const int inner = static_cast<int>(p_.a.columns);
        count_launch();
        if (batch_ < 0)
            return require_blas(library_,
                                library_.gemm[which_](handle_, right_.operation(), left_.operation(), columns, rows,
                                                      inner, one_, b, static_cast<int>(right_.leading), a,
                                                      static_cast<int>(left_.leading), zero_, c, columns),
                                "a product of matrices");
        const StackAxis& axis = p_.axes[batch_];
        require_blas(library_,
                     library_.batched[which_](handle_, right_.operation(), left_.operation(), columns, rows, inner,
                                              one_, b, static_cast<int>(right_.leading),
                                              right_.strides[batch_] / bytes_, a, static_cast<int>(left_.leading),
                                              left_.strides[batch_] / bytes_, zero_, c, columns, axis.c / bytes_,
                                              static_cast<int>(axis.extent)),
                     "products of matrices");
    }
    static void count_launch() { count(g_calls.launches); }

    const Blas& library_;
    Handle handle_;
    const MatrixProducts& p_;
    const Operand &left_, &right_;
    std::int64_t bytes_;
    int which_;      ///< of s, d, c, z
    int batch_ = -1; ///< the axis of a call
    const void *one_ = nullptr, *zero_ = nullptr;
};

} // namespace

bool has_blas() noexcept {
    try {
        return blas() != nullptr;
    } catch (const std::exception&) {
        return false;
    }
}

int matmul(Call& call, DType dtype, const MatrixProducts& all) noexcept {
    return call.attempt([&] {
        if (!all.agree())
            throw DeviceError("cuda: a product of matrices whose shapes do not agree.", "Please report this.");
        const auto result_bytes =
            static_cast<std::size_t>(all.count() * all.c.rows * all.c.columns * info(dtype).bytes);
        if (result_bytes == 0) return;
        if (all.a.columns == 0) return fill(call.place(), all.c.data, 0, result_bytes);
        const Blas* library = blas();
        if (!library)
            throw DeviceError("cuda: a product of matrices: there is no cuBLAS (libcublas.so.13, .12 or .11).",
                              "Install nvidia-cublas, or import torch or CuPy, which bring one, before the call.");
        const MatrixProducts products = all.joined();
        const Operand left = prepare(call, dtype, products, products.a, &StackAxis::a);
        const Operand right = prepare(call, dtype, products, products.b, &StackAxis::b);
        static DeviceBlas* const devices = new DeviceBlas[kMostDevices];
        DeviceBlas& device = devices[call.place().device];
        {
            std::lock_guard lock(device.mutex);
            if (!device.handle) {
                OutsideOfCaptures outside;
                require_blas(*library, library->create(&device.handle), "cublasCreate");
                // CUBLAS_DEFAULT_MATH: float32 is float32, no TF32.
                require_blas(*library, library->set_mode(device.handle, 0), "cublasSetMathMode");
            }
            require_blas(*library, library->set_stream(device.handle, stream_of(call.place())), "cublasSetStream");
            const Workspace workspace(call, *library, device.handle);
            const Timed timed(call, "library matmul (cuBLAS)");
            GemmCalls(*library, device.handle, dtype, products, left, right).run();
        }
        for (void* copy : {left.copy, right.copy})
            if (copy && call.forget_temporary(copy)) call.device().pool.release(call.place(), copy);
    });
}

} // namespace tilewright::runtime::cuda
