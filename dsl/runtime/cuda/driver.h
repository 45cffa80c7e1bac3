// dsl/runtime/cuda/driver.h: the driver's functions, from libcuda.so.1 by name at the first use, and what its errors
// say. No header of CUDA's is needed: the types and numbers that we use stand here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

using Status = int; // CUresult
using Pointer = unsigned long long;
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExecutable = struct GraphExecutableHandle*;
using UserObject = struct UserObjectHandle*;

enum : Status {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfDeviceMemory = 2,
    kDeinitialized = 4,
    kStubLibrary = 34,
    kDeviceUnavailable = 46,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kNoBinaryForDevice = 209,
    kUncorrectableEcc = 214,
    kInvalidPtx = 218,
    kUnsupportedPtxVersion = 222,
    kInvalidHandle = 400,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchOutOfResources = 701,
    kLaunchTimeout = 702,
    kContextIsDestroyed = 709,
    kAssert = 710,
    kHardwareStackError = 714,
    kIllegalInstruction = 715,
    kMisalignedAddress = 716,
    kInvalidAddressSpace = 717,
    kInvalidPc = 718,
    kLaunchFailed = 719,
    kNotSupported = 801,
    kSystemDriverMismatch = 803,
    kCaptureUnsupported = 900,
    kCaptureInvalidated = 901,
    kCaptureIsolation = 905,
    kCaptureImplicit = 906
};

enum DeviceAttribute : int {
    kMaxThreadsPerBlock = 1,
    kClockRate = 13,
    kMultiprocessorCount = 16,
    kMemoryClockRate = 36,
    kMemoryBusWidth = 37,
    kL2Bytes = 38,
    kMaxThreadsPerMultiprocessor = 39,
    kCapabilityMajor = 75,
    kCapabilityMinor = 76,
    kSharedPerMultiprocessor = 81,
    kRegistersPerMultiprocessor = 82,
    kSharedPerBlockOptIn = 97,
    kMaxBlocksPerMultiprocessor = 106,
    kMaxL2Window = 109,
    kReservedSharedPerBlock = 111
};
enum FunctionAttribute : int {
    kFunctionMaxThreads = 0,
    kFunctionSharedBytes = 1,
    kFunctionLocalBytes = 3,
    kFunctionRegisters = 4,
    kFunctionMaxDynamicShared = 8
};
enum PointerAttribute : int { kPointerMemoryType = 2, kPointerDeviceOrdinal = 9 };
enum MemoryType : unsigned { kHostMemory = 1, kDeviceMemory = 2 };
enum JitOption : int { kJitErrorLog = 5, kJitErrorLogBytes = 6 };
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr unsigned kEventWithoutTiming = 2;
inline constexpr unsigned kPortableHostMemory = 1;
inline constexpr int kCaptureRelaxed = 2;
inline constexpr unsigned kNoDestructorSync = 1, kMoveReference = 1; ///< of user objects and of graphs

/// CUlaunchAttribute, 64 bytes of value, and CUlaunchConfig.
struct LaunchAttribute {
    int which = 0, padding = 0;
    alignas(8) int value[16] = {};
};
struct LaunchConfiguration {
    LaunchShape shape;
    Stream stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfiguration) == 56);
inline constexpr int kLaunchL2Window = 1; ///< CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
inline constexpr int kLaunchEarly = 6;    ///< CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

// Our name, the driver's (with the version of it that we mean), the arguments.
#define TW_DRIVER_FUNCTIONS(X)                                                                                         \
    X(init, "cuInit", (unsigned))                                                                                      \
    X(driver_version, "cuDriverGetVersion", (int*))                                                                    \
    X(error_name, "cuGetErrorName", (Status, const char**))                                                            \
    X(error_text, "cuGetErrorString", (Status, const char**))                                                          \
    X(device_count, "cuDeviceGetCount", (int*))                                                                        \
    X(device_get, "cuDeviceGet", (int*, int))                                                                          \
    X(device_name, "cuDeviceGetName", (char*, int, int))                                                               \
    X(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, int))                                                       \
    X(device_attribute, "cuDeviceGetAttribute", (int*, int, int))                                                      \
    X(device_uuid, "cuDeviceGetUuid", (unsigned char*, int))                                                           \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (Context*, int))                                                     \
    X(context_current, "cuCtxGetCurrent", (Context*))                                                                  \
    X(context_set, "cuCtxSetCurrent", (Context))                                                                       \
    X(context_push, "cuCtxPushCurrent_v2", (Context))                                                                  \
    X(context_pop, "cuCtxPopCurrent_v2", (Context*))                                                                   \
    X(module_load, "cuModuleLoadDataEx", (Module*, const void*, unsigned, int*, void**))                               \
    X(module_unload, "cuModuleUnload", (Module))                                                                       \
    X(module_function, "cuModuleGetFunction", (Function*, Module, const char*))                                        \
    X(function_attribute, "cuFuncGetAttribute", (int*, int, Function))                                                 \
    X(function_set, "cuFuncSetAttribute", (Function, int, int))                                                        \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int*, Function, int, std::size_t))                    \
    X(launch, "cuLaunchKernel",                                                                                        \
      (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**))        \
    X(allocate, "cuMemAlloc_v2", (Pointer*, std::size_t))                                                              \
    X(free, "cuMemFree_v2", (Pointer))                                                                                 \
    X(host_allocate, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                                \
    X(copy_to_device, "cuMemcpyHtoDAsync_v2", (Pointer, const void*, std::size_t, Stream))                             \
    X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void*, Pointer, std::size_t, Stream))                                     \
    X(copy_on_device, "cuMemcpyDtoDAsync_v2", (Pointer, Pointer, std::size_t, Stream))                                 \
    X(fill, "cuMemsetD8Async", (Pointer, unsigned char, std::size_t, Stream))                                          \
    X(pointer_attribute, "cuPointerGetAttribute", (void*, int, Pointer))                                               \
    X(stream_create, "cuStreamCreate", (Stream*, unsigned))                                                            \
    X(stream_destroy, "cuStreamDestroy_v2", (Stream))                                                                  \
    X(stream_synchronize, "cuStreamSynchronize", (Stream))                                                             \
    X(stream_wait, "cuStreamWaitEvent", (Stream, Event, unsigned))                                                     \
    X(stream_context, "cuStreamGetCtx", (Stream, Context*))                                                            \
    X(stream_capturing, "cuStreamIsCapturing", (Stream, int*))                                                         \
    X(capture_info, "cuStreamGetCaptureInfo_v2", (Stream, int*, std::uint64_t*, Graph*, void*, void*))                 \
    X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int*))                                              \
    X(user_object_create, "cuUserObjectCreate", (UserObject*, void*, void (*)(void*), unsigned, unsigned))             \
    X(user_object_release, "cuUserObjectRelease", (UserObject, unsigned))                                              \
    X(graph_retain, "cuGraphRetainUserObject", (Graph, UserObject, unsigned, unsigned))                                \
    X(event_create, "cuEventCreate", (Event*, unsigned))                                                               \
    X(event_destroy, "cuEventDestroy_v2", (Event))                                                                     \
    X(event_record, "cuEventRecord", (Event, Stream))                                                                  \
    X(event_query, "cuEventQuery", (Event))                                                                            \
    X(event_synchronize, "cuEventSynchronize", (Event))                                                                \
    X(event_elapsed, "cuEventElapsedTime", (float*, Event, Event))                                                     \
    X(capture_begin, "cuStreamBeginCapture_v2", (Stream, int))                                                         \
    X(capture_end, "cuStreamEndCapture", (Stream, Graph*))                                                             \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (GraphExecutable*, Graph, unsigned long long))                 \
    X(graph_launch, "cuGraphLaunch", (GraphExecutable, Stream))                                                        \
    X(graph_executable_destroy, "cuGraphExecDestroy", (GraphExecutable))                                               \
    X(graph_destroy, "cuGraphDestroy", (Graph))

// Null where the driver is older than they are.
#define TW_OPTIONAL_DRIVER_FUNCTIONS(X)                                                                                \
    X(launch_extended, "cuLaunchKernelEx", (const LaunchConfiguration*, Function, void**, void**))

struct Driver {
#define TW_MEMBER(name, symbol, arguments) Status(*name) arguments = nullptr;
    TW_DRIVER_FUNCTIONS(TW_MEMBER)
    TW_OPTIONAL_DRIVER_FUNCTIONS(TW_MEMBER)
#undef TW_MEMBER
};

/// The driver, opened and initialized, with at least one device. Throws DeviceError.
const Driver& driver();
/// Null, and why, in place of the error.
const Driver* find_driver(std::string& why);
inline std::atomic<const Driver*> g_ready_driver{nullptr};
const Driver& opened_driver();
/// The driver once driver() gave it; what runs on a device needs no more.
inline const Driver& ready_driver() {
    const Driver* ready = g_ready_driver.load(std::memory_order_acquire);
    return ready ? *ready : opened_driver();
}
inline std::atomic<bool> g_forked{false};
/// This process is the child of one that used the driver: no call of it works here.
inline bool is_forked() {
    return g_forked.load(std::memory_order_relaxed);
}

inline DriverCallsOf<std::atomic<std::uint64_t>> g_calls;
inline void count(std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
}

/// Where was asked for `what` and the driver said `status`: what that means and what to do. Remembers that the
/// context is lost where it is.
DeviceError error_of(Status status, const std::string& what);
inline void require(Status status, const char* what) {
    if (status != kSuccess) [[unlikely]]
        throw error_of(status, what);
}

} // namespace tilewright::runtime::cuda
