// python/native/face/dlpack.h: what we use of DLPack 1.3 (dmlc/dlpack, include/dlpack/dlpack.h), declared by ourselves:
// the layouts are its ABI.
#pragma once

#include <cstdint>

namespace tilewright::face::dlpack {

enum DeviceKind : std::int32_t { kHost = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kComplex = 5, kBool = 6 };
inline constexpr std::uint64_t kReadOnly = 1;

struct Device {
    std::int32_t kind;
    std::int32_t id;
};
struct DataType {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};
struct Tensor {
    void* data;
    Device device;
    std::int32_t rank;
    DataType dtype;
    std::int64_t* shape;
    std::int64_t* strides; ///< in elements; null: C order
    std::uint64_t byte_offset;
};
struct ManagedTensor {
    Tensor tensor;
    void* context;
    void (*deleter)(ManagedTensor*);
};
struct Version {
    std::uint32_t major, minor;
};
struct ManagedTensorVersioned {
    Version version;
    void* context;
    void (*deleter)(ManagedTensorVersioned*);
    std::uint64_t flags;
    Tensor tensor;
};

/// The C table that a class of arrays offers as `__dlpack_c_exchange_api__`, a capsule of the name below. Its functions
/// give 0, or -1 with a Python error; they neither wait nor copy.
struct ExchangeApi {
    Version version;
    ExchangeApi* previous;
    int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* error_context,
                    void (*set_error)(void* error_context, const char* kind, const char* message));
    int (*managed_from_object)(void* object, ManagedTensorVersioned** out);
    int (*object_from_managed)(ManagedTensorVersioned* tensor, void** out);
    int (*tensor_from_object)(void* object, Tensor* out); ///< borrowed from the object; may be null
    int (*current_stream)(std::int32_t device_kind, std::int32_t device, void** out);
};
inline constexpr char kExchangeCapsule[] = "dlpack_exchange_api";
inline constexpr char kCapsule[] = "dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";

} // namespace tilewright::face::dlpack
