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

struct Blas {
    std::string name;
    int (*create)(Handle*) = nullptr;
    int (*set_stream)(Handle, Stream) = nullptr;
    int (*set_mode)(Handle, int) = nullptr;
    int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
    const char* (*status_text)(int) = nullptr;
    Gemm gemm[4] = {};
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
    const bool whole = find(blas->create, "cublasCreate_v2") && find(blas->set_stream, "cublasSetStream_v2") &&
                       find(blas->set_mode, "cublasSetMathMode") && find(blas->gemm[0], "cublasSgemm_v2") &&
                       find(blas->gemm[1], "cublasDgemm_v2") && find(blas->gemm[2], "cublasCgemm_v2") &&
                       find(blas->gemm[3], "cublasZgemm_v2");
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

/// A matrix as gemm takes it: one of its strides is one element.
struct Operand {
    const void* data = nullptr;
    int operation = kPlain;
    int leading = 1;
    void* copy = nullptr;
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

Operand prepare(Call& call, DType dtype, const MatrixView& m) {
    const DTypeInfo& type = info(dtype);
    const std::int64_t bytes = type.bytes;
    const bool whole = m.row_stride % bytes == 0 && m.column_stride % bytes == 0;
    const std::int64_t rows = m.row_stride / bytes, columns = m.column_stride / bytes;
    auto leading = [](std::int64_t stride, std::int64_t least) {
        return static_cast<int>(std::max({stride, least, std::int64_t{1}}));
    };
    if (whole && (columns == 1 || m.columns == 1) && (rows >= m.columns || m.rows == 1) && rows >= 0)
        return {m.data, kPlain, leading(m.rows == 1 ? 0 : rows, m.columns), nullptr};
    if (whole && (rows == 1 || m.rows == 1) && (columns >= m.rows || m.columns == 1) && columns >= 0)
        return {m.data, kTransposed, leading(m.columns == 1 ? 0 : columns, m.rows), nullptr};
    const auto size = static_cast<std::size_t>(m.rows * m.columns * bytes);
    void* copy = call.device().pool.allocate(call.place(), size);
    if (!copy) throw out_of_device_memory(call.place(), size, "a copy of a matrix");
    // Released at the end of the call also where the copy fails.
    if (!call.remember_temporary(copy))
        throw DeviceError("cuda: a call has more than 64 temporaries.", "Please report this.");
    halide_dimension_t from_dims[2], to_dims[2];
    halide_buffer_t from{}, to{};
    from.type.bits = to.type.bits = static_cast<std::uint8_t>(8 * bytes);
    from.dimensions = to.dimensions = 2;
    from.dim = from_dims;
    to.dim = to_dims;
    from.device = reinterpret_cast<std::uintptr_t>(m.data);
    to.device = reinterpret_cast<std::uintptr_t>(copy);
    const auto width = static_cast<std::int32_t>(m.columns), height = static_cast<std::int32_t>(m.rows);
    from_dims[0] = {0, width, static_cast<std::int32_t>(columns)};
    from_dims[1] = {0, height, static_cast<std::int32_t>(rows)};
    to_dims[0] = {0, width, 1};
    to_dims[1] = {0, height, width};
    if (copy_strided(call, from, to)) throw DeviceError(call.error());
    return {copy, kPlain, leading(0, m.columns), copy};
}

} // namespace

bool has_blas() noexcept {
    try {
        return blas() != nullptr;
    } catch (const std::exception&) {
        return false;
    }
}

std::string blas_library() {
    const Blas* b = blas();
    return b ? b->name : "none";
}

int matmul(Call& call, DType dtype, const MatrixView& a, const MatrixView& b, const MatrixView& c) noexcept {
    return call.attempt([&] {
        if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns)
            throw DeviceError("cuda: a product of matrices whose shapes do not agree.", "Please report this.");
        const auto result_bytes = static_cast<std::size_t>(c.rows * c.columns * info(dtype).bytes);
        if (result_bytes == 0) return;
        if (a.columns == 0) return fill(call.place(), c.data, 0, result_bytes);
        const Blas* library = blas();
        if (!library)
            throw DeviceError("cuda: a product of matrices: there is no cuBLAS (libcublas.so.13, .12 or .11).",
                              "Install nvidia-cublas, or import torch or CuPy, which bring one, before the call.");
        const Operand left = prepare(call, dtype, a), right = prepare(call, dtype, b);
        static DeviceBlas* const all = new DeviceBlas[kMostDevices];
        DeviceBlas& device = all[call.place().device];
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
            static const std::complex<float> kOneC(1), kZeroC(0);
            static const std::complex<double> kOneZ(1), kZeroZ(0);
            const bool is_single = dtype == DType::float32 || dtype == DType::complex64;
            // A real one is the first part of a complex one.
            const void* one = is_single ? static_cast<const void*>(&kOneC) : &kOneZ;
            const void* zero = is_single ? static_cast<const void*>(&kZeroC) : &kZeroZ;
            const int which = dtype == DType::float32     ? 0
                              : dtype == DType::float64   ? 1
                              : dtype == DType::complex64 ? 2
                                                          : 3;
            // cuBLAS counts by columns: to it, all three are transposed, and C' = B' A'.
            count(g_calls.launches);
            const Timed timed(call, "library matmul (cuBLAS)");
            require_blas(*library,
                         library->gemm[which](device.handle, right.operation, left.operation,
                                              static_cast<int>(c.columns), static_cast<int>(c.rows),
                                              static_cast<int>(a.columns), one, right.data, right.leading, left.data,
                                              left.leading, zero, c.data,
                                              static_cast<int>(std::max<std::int64_t>(c.columns, 1))),
                         "a product of matrices");
        }
        for (void* copy : {left.copy, right.copy})
            if (copy && call.forget_temporary(copy)) call.device().pool.release(call.place(), copy);
    });
}

} // namespace tilewright::runtime::cuda
