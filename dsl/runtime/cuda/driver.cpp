// dsl/runtime/cuda/driver.cpp: opens libcuda.so.1 and words its errors.
#include "dsl/runtime/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <mutex>

namespace tilewright::runtime::cuda {
namespace {

/// The first driver that knows what we ask of it.
constexpr int kLeastDriver = 11040;

struct Opened {
    Driver driver;
    bool usable = false;
    std::string why, hint; ///< where it is not
};

std::atomic<bool> g_initialized{false};

std::mutex g_lost_mutex;
std::string g_lost;

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// "CUDA_ERROR_ILLEGAL_ADDRESS (700, an illegal memory access was encountered)".
std::string name_of(const Driver& d, Status status) {
    const char *name = nullptr, *text = nullptr;
    if (d.error_name) d.error_name(status, &name);
    if (d.error_text) d.error_text(status, &text);
    return std::string(name ? name : "CUDA_ERROR") + " (" + std::to_string(status) +
           (text ? ", " + std::string(text) : "") + ")";
}

Opened open() {
    Opened result;
    auto refuse = [&](std::string why, std::string hint) {
        result.why = std::move(why);
        result.hint = std::move(hint);
        return result;
    };
    const char* other = std::getenv("TILEWRIGHT_LIBCUDA");
    const std::string path = other && *other ? other : "libcuda.so.1";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* error = dlerror();
        return refuse("there is no CUDA driver here: " + std::string(error ? error : path + " cannot be opened") + ".",
                      "Install NVIDIA's driver, start the container with --gpus all, or use the target host.");
    }
    Driver& d = result.driver;
    auto find = [&](auto& function, const char* symbol) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
        return function != nullptr;
    };
    const std::string update = "Update NVIDIA's driver (CUDA " + version_text(kLeastDriver) + " or later).";
    if (find(d.driver_version, "cuDriverGetVersion")) {
        int version = 0;
        if (d.driver_version(&version) == kSuccess && version < kLeastDriver)
            return refuse("the CUDA driver is too old: it supports CUDA " + version_text(version) + ".", update);
    }
#define TW_FIND(name, symbol, arguments)                                                                               \
    if (!find(d.name, symbol)) return refuse("the CUDA driver is too old: " + path + " has no " symbol ".", update);
    TW_DRIVER_FUNCTIONS(TW_FIND)
#undef TW_FIND
#define TW_FIND(name, symbol, arguments) find(d.name, symbol);
    TW_OPTIONAL_DRIVER_FUNCTIONS(TW_FIND)
#undef TW_FIND
    auto said = [&](Status status) { return name_of(d, status); };
    const std::string look = "Run nvidia-smi to see what the driver says, or use the target host.";
    if (Status status = d.init(0)) {
        if (status == kNoDevice)
            return refuse("the CUDA driver finds no device: cuInit gives " + said(status) + ".",
                          "Is CUDA_VISIBLE_DEVICES empty, or the container started without --gpus? Else use the "
                          "target host.");
        if (status == kSystemDriverMismatch)
            return refuse("the CUDA driver and its kernel module are of different versions: cuInit gives " +
                              said(status) + ".",
                          "Restart the machine, or load the module that belongs to the driver.");
        if (status == kStubLibrary)
            return refuse("libcuda.so.1 is the toolkit's stub, not a driver: cuInit gives " + said(status) + ".",
                          "Take the stubs folder out of LD_LIBRARY_PATH.");
        return refuse("the CUDA driver does not start: cuInit gives " + said(status) + ".", look);
    }
    g_initialized = true;
    pthread_atfork(nullptr, nullptr, [] {
        if (g_initialized) g_forked = true;
    });
    int devices = 0;
    if (Status status = d.device_count(&devices))
        return refuse("the CUDA driver does not count its devices: cuDeviceGetCount gives " + said(status) + ".", look);
    if (devices == 0)
        return refuse("the CUDA driver has no device.", "Is CUDA_VISIBLE_DEVICES empty? Else use the target host.");
    result.usable = true;
    return result;
}

const Opened& opened() {
    // Never destroyed: arrays of the device may be freed after the static objects are gone.
    static const Opened& instance = *new Opened(open());
    return instance;
}

struct Meaning {
    Status status;
    const char* what; ///< behind the name of the error
    const char* hint;
    bool loses_context = false; ///< a process does not recover from it
};
#define TW_NOTHING_WORKS "; nothing works on the device in this process any more"
constexpr const char* kReport = "Restart the process. If it happens again, please report it with the call.";
const Meaning kMeanings[] = {
    {kOutOfDeviceMemory, "there is not enough memory on the device",
     "Free arrays, give other libraries' pools back (torch.cuda.empty_cache()), or work in parts."},
    {kDeviceUnavailable, "another process has the device for itself",
     "Wait for it, or choose another device with CUDA_VISIBLE_DEVICES."},
    {kInvalidDevice, "there is no device with that number", "Count them with nvidia-smi -L."},
    {kInvalidContext, "no context, or a destroyed one, is current; or a stream of another context was given",
     "Pass a stream of the device's primary context, as torch, CuPy and the CUDA runtime make them."},
    {kNoBinaryForDevice, "the code is for newer devices than this one",
     "Build for it: target cuda-sm_70 or cuda-sm_75."},
    {kUncorrectableEcc, "the device's memory is damaged; nothing works on it in this process any more",
     "Restart the process; if it happens again, the device needs service.", true},
    {kInvalidPtx, "the driver does not accept the code",
     "Update the driver, or build for an older target: cuda-sm_70."},
    {kUnsupportedPtxVersion, "the driver is older than the code", "Update the driver."},
    {kInvalidHandle, "a stream, an event or a function is not of this context",
     "Pass a stream of the device's primary context that is not destroyed, and of the arrays' device."},
    {kIllegalAddress, "a kernel touched memory that is not there" TW_NOTHING_WORKS, kReport, true},
    {kLaunchOutOfResources, "a block needs more registers or shared memory than the device has",
     "Tune for this device, or report it."},
    {kLaunchTimeout, "a kernel ran longer than the system allows" TW_NOTHING_WORKS,
     "Restart the process, and work in parts or on a device without a display.", true},
    {kContextIsDestroyed, "the device's context was destroyed, by cudaDeviceReset() or so", "Restart the process.",
     true},
    {kAssert, "a kernel of this process hit an assert" TW_NOTHING_WORKS, kReport, true},
    {kHardwareStackError, "a kernel overran its stack" TW_NOTHING_WORKS, kReport, true},
    {kIllegalInstruction, "a kernel met an illegal instruction" TW_NOTHING_WORKS, kReport, true},
    {kMisalignedAddress, "a kernel touched memory that is not aligned to its elements" TW_NOTHING_WORKS, kReport, true},
    {kInvalidAddressSpace, "a kernel touched the wrong kind of memory" TW_NOTHING_WORKS, kReport, true},
    {kInvalidPc, "a kernel jumped to where no code is" TW_NOTHING_WORKS, kReport, true},
    {kLaunchFailed, "a kernel failed" TW_NOTHING_WORKS, kReport, true},
    {kCaptureUnsupported, "the stream is being captured into a graph, and this cannot be",
     "Call the function once with such arrays before the capture begins."},
    {kCaptureInvalidated, "a capture of this stream into a graph was broken off by an earlier error",
     "End the capture; call the function once with such arrays before the next begins."},
    {kCaptureIsolation, "a graph that is being captured cannot depend on work that is not in it",
     "Make the arrays before the capture, or in the same one."},
    {kCaptureImplicit, "a capture on another stream does not allow the legacy default stream",
     "Capture on a non-blocking stream, as PyTorch's are (cupy.cuda.Stream(non_blocking=True)), or make and use the "
     "arrays on the stream that is captured."},
    {kDeinitialized, "the driver has shut down: the process is ending", "Free device arrays before that."},
};

} // namespace

const Driver* find_driver(std::string& why) {
    const Opened& o = opened();
    if (!o.usable) why = o.why + " " + o.hint;
    return o.usable ? &o.driver : nullptr;
}

const Driver& driver() {
    const Opened& o = opened();
    if (!o.usable) throw DeviceError("cuda: " + o.why, o.hint);
    if (g_forked)
        throw DeviceError("cuda: this process was forked from one that had used the device, and CUDA does not survive "
                          "a fork.",
                          "Start it with multiprocessing's spawn or forkserver, or fork before the first call on a "
                          "device.");
    g_ready_driver.store(&o.driver, std::memory_order_release);
    return o.driver;
}

const Driver& opened_driver() {
    return opened().driver;
}

std::string lost_why() {
    std::lock_guard lock(g_lost_mutex);
    return g_lost;
}

DeviceError error_of(Status status, const std::string& what) {
    std::string message = "cuda: " + what + ": " + name_of(opened().driver, status);
    std::string hint = "Please report this.";
    bool loses_context = false;
    for (const Meaning& m : kMeanings)
        if (m.status == status) {
            message += std::string(": ") + m.what;
            hint = m.hint;
            loses_context = m.loses_context;
        }
    if (loses_context) {
        std::lock_guard lock(g_lost_mutex);
        // The first error is the one that says why; what comes later repeats its number.
        if (g_lost.empty())
            g_lost = message;
        else if (g_lost != message)
            message += "; the first such error was " + g_lost;
    }
    return DeviceError(message + ".", hint);
}

DriverCalls driver_calls() {
    DriverCalls calls;
#define TW_READ(name) calls.name = g_calls.name.load(std::memory_order_relaxed);
    TW_DRIVER_CALLS(TW_READ)
    TW_READ(graph_kernels)
    TW_READ(threads)
#undef TW_READ
    return calls;
}

} // namespace tilewright::runtime::cuda
