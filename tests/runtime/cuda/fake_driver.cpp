// tests/runtime/cuda/fake_driver.cpp: libcuda_fake.so, the driver's functions over host memory.
#include "tests/runtime/cuda/fake_driver.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

using tilewright::tests::FakeKernel;
using tilewright::tests::FakeLaunch;

namespace {

struct ContextObject {
    int device = 0;
};
struct StreamObject {
    ContextObject* context = nullptr;
    bool blocking = false; ///< waits for the legacy stream, and that for it
    bool busy = false;
    struct GraphObject* capture = nullptr;
};
struct EventObject {
    StreamObject* behind = nullptr;
    bool legacy = false;
    unsigned long long captured = 0; ///< the capture that it was recorded in
};
struct ModuleObject {
    ContextObject* context;
    std::string text;
};
struct FunctionObject {
    ModuleObject* module;
    std::string name;
    int shared = 48 << 10;
};
struct LaunchAttribute {
    int which, padding, value[16];
};
struct LaunchConfiguration {
    unsigned blocks[3], threads[3], shared_bytes;
    void* stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};
/// What CUDA counts the graphs that hold it for.
struct UserObject {
    void* data;
    void (*destroy)(void*);
    int references;
    void release() {
        if (--references > 0) return;
        destroy(data);
        delete this;
    }
};
struct GraphObject {
    std::vector<std::function<void()>> work;
    std::vector<UserObject*> objects;
    // While it is captured:
    unsigned long long id = 0;
    int mode = 0; ///< 0 forbids to all threads, 1 to its own, 2 to none
    std::thread::id thread;
    bool broken = false;

    void release() {
        for (UserObject* object : objects)
            object->release();
        delete this;
    }
};

struct State {
    std::recursive_mutex mutex;
    bool initialized = false;
    int devices = 2, version = 12040, capability = 80;
    std::size_t memory = std::size_t{1} << 34;
    std::vector<std::unique_ptr<ContextObject>> contexts;
    ContextObject other;
    std::set<StreamObject*> streams;
    bool legacy_busy = false;
    std::map<std::uintptr_t, std::pair<std::size_t, int>> blocks; ///< bytes, device
    std::map<std::uintptr_t, std::size_t> pinned;
    std::map<std::string, std::pair<int, int>> failures; ///< status, times
    std::map<std::string, FakeKernel> kernels;
    int sticky = 0;
    std::vector<FakeLaunch> launches;
    std::vector<std::string> calls;
};
State& state() {
    static State& s = *new State;
    return s;
}
thread_local std::vector<ContextObject*> t_contexts;
thread_local int t_capture_mode = 0;

ContextObject* current() {
    return t_contexts.empty() ? nullptr : t_contexts.back();
}

long environment(const char* name, long otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtol(text, nullptr, 10) : otherwise;
}

/// Every function begins with it: what was called, and whether it fails.
int enter(const char* name, bool needs_context = true) {
    State& s = state();
    s.calls.emplace_back(name);
    if (!s.initialized && std::strcmp(name, "cuInit") != 0) return 3;
    if (auto found = s.failures.find(name); found != s.failures.end() && found->second.second > 0) {
        --found->second.second;
        if (found->second.first >= 700 && found->second.first < 800 && found->second.first != 701)
            s.sticky = found->second.first;
        return found->second.first;
    }
    // Contexts can still be made current.
    if (s.sticky && std::strncmp(name, "cuCtx", 5) != 0) return s.sticky;
    return needs_context && !current() ? 201 : 0;
}
#define ENTER(...)                                                                                                     \
    std::lock_guard lock(state().mutex);                                                                               \
    if (int status = enter(__VA_ARGS__)) return status

/// What captures forbid, as CUDA's guide has it: to a thread in mode 0 where it captures itself, but in mode 2, or
/// another one captures in mode 0; in mode 1, its own captures alone; in mode 2, nothing. Asking all the same breaks
/// them.
int forbidden_in_captures() {
    bool is_forbidden = false;
    for (StreamObject* stream : state().streams)
        if (GraphObject* graph = stream->capture) {
            const bool is_own = graph->thread == std::this_thread::get_id();
            if (t_capture_mode == 2 || (is_own ? graph->mode == 2 : t_capture_mode == 1 || graph->mode != 0)) continue;
            graph->broken = is_forbidden = true;
        }
    return is_forbidden ? 900 : 0;
}
#define ENTER_OUTSIDE_OF_CAPTURES(...)                                                                                 \
    ENTER(__VA_ARGS__);                                                                                                \
    if (int status = forbidden_in_captures()) return status

/// Whether a stream that waits for the legacy one is captured; `breaks` it.
bool legacy_is_captured(bool breaks) {
    bool found = false;
    for (StreamObject* stream : state().streams)
        if (stream->capture && stream->blocking) {
            found = true;
            stream->capture->broken = stream->capture->broken || breaks;
        }
    return found;
}

bool is_legacy(void* stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}
/// 0 where the stream may be used in the current context.
int check_stream(void* stream) {
    if (is_legacy(stream)) return legacy_is_captured(true) ? 906 : 0;
    auto* object = static_cast<StreamObject*>(stream);
    if (!state().streams.count(object) || object->context != current()) return 400;
    return object->capture && object->capture->broken ? 901 : 0;
}
GraphObject* capture_of(void* stream) {
    auto* object = static_cast<StreamObject*>(stream);
    return is_legacy(stream) || !state().streams.count(object) ? nullptr : object->capture;
}
void put(void* stream, std::function<void()> work) {
    if (GraphObject* graph = capture_of(stream))
        graph->work.push_back(std::move(work));
    else
        work();
}
/// Whether bytes lie in one block of a device.
bool is_device(std::uintptr_t at, std::size_t bytes) {
    auto after = state().blocks.upper_bound(at);
    if (after == state().blocks.begin()) return false;
    --after;
    return at + bytes <= after->first + after->second.first;
}
int launched(FunctionObject* function, const FakeLaunch& launch, void** arguments) {
    State& s = state();
    if (function->module->context != current()) return 400;
    if (int status = check_stream(launch.stream)) return status;
    if (launch.threads[0] * launch.threads[1] * launch.threads[2] > 1024 ||
        static_cast<int>(launch.shared_bytes) > function->shared)
        return 1;
    s.launches.push_back(launch);
    if (auto found = s.kernels.find(function->name); found != s.kernels.end())
        put(launch.stream, found->second(arguments, launch));
    return 0;
}
int copy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes, void* stream) {
    put(stream, [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
    return 0;
}

} // namespace

extern "C" {

const tilewright::tests::FakeDriver* fake_driver() {
    static const tilewright::tests::FakeDriver face = {
        [](const char* function, int status, int times) {
            state().failures[function] = {status, times};
        },
        [](const char* name, FakeKernel kernel) { state().kernels[name] = kernel; },
        [](void* stream, bool busy) {
            (is_legacy(stream) ? state().legacy_busy : static_cast<StreamObject*>(stream)->busy) = busy;
        },
        []() -> const std::vector<FakeLaunch>& { return state().launches; },
        []() -> const std::vector<std::string>& { return state().calls; },
        []() -> void* { return &state().other; },
    };
    return &face;
}

int cuInit(unsigned) {
    ENTER("cuInit", false);
    State& s = state();
    if (int status = static_cast<int>(environment("FAKE_CUDA_INIT", 0))) return status;
    s.initialized = true;
    s.devices = static_cast<int>(environment("FAKE_CUDA_DEVICES", s.devices));
    s.capability = static_cast<int>(environment("FAKE_CUDA_CAPABILITY", s.capability));
    s.memory = static_cast<std::size_t>(environment("FAKE_CUDA_MEMORY", static_cast<long>(s.memory)));
    for (int i = 0; i < s.devices; ++i)
        s.contexts.push_back(std::make_unique<ContextObject>(ContextObject{i}));
    return 0;
}
int cuDriverGetVersion(int* version) {
    *version = static_cast<int>(environment("FAKE_CUDA_VERSION", state().version));
    return 0;
}
int cuGetErrorName(int status, const char** name) {
    static const std::map<int, const char*> kNames = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                                      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                      {100, "CUDA_ERROR_NO_DEVICE"},
                                                      {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                      {218, "CUDA_ERROR_INVALID_PTX"},
                                                      {400, "CUDA_ERROR_INVALID_HANDLE"},
                                                      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                      {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
                                                      {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
                                                      {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
                                                      {719, "CUDA_ERROR_LAUNCH_FAILED"},
                                                      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                      {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
                                                      {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
                                                      {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"}};
    auto found = kNames.find(status);
    *name = found == kNames.end() ? "CUDA_ERROR_UNKNOWN" : found->second;
    return 0;
}
int cuGetErrorString(int, const char** text) {
    *text = "fake";
    return 0;
}
int cuDeviceGetCount(int* count) {
    ENTER("cuDeviceGetCount", false);
    *count = state().devices;
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    ENTER("cuDeviceGet", false);
    *device = ordinal;
    return ordinal < state().devices ? 0 : 101;
}
int cuDeviceGetName(char* name, int bytes, int) {
    ENTER("cuDeviceGetName", false);
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes));
    return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    ENTER("cuDeviceTotalMem", false);
    *bytes = state().memory;
    return 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
    ENTER("cuDeviceGetAttribute", false);
    static const std::map<int, int> kValues = {{1, 1024},   {13, 1'980'000}, {16, 132},       {36, 2'619'000},
                                               {37, 5120},  {38, 50 << 20},  {39, 2048},      {81, 233472},
                                               {82, 65536}, {97, 232448},    {109, 128 << 20}};
    if (which == 75) return *value = state().capability / 10, 0;
    if (which == 76) return *value = state().capability % 10, 0;
    auto found = kValues.find(which);
    *value = found == kValues.end() ? 0 : found->second;
    return 0;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) {
    ENTER("cuDeviceGetUuid", false);
    std::memset(uuid, 0x10 + device, 16);
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    ENTER("cuDevicePrimaryCtxRetain", false);
    *context = state().contexts[static_cast<std::size_t>(device)].get();
    return 0;
}
int cuCtxGetCurrent(void** context) {
    ENTER("cuCtxGetCurrent", false);
    *context = current();
    return 0;
}
int cuCtxSetCurrent(void* context) {
    ENTER("cuCtxSetCurrent", false);
    if (!t_contexts.empty()) t_contexts.pop_back();
    if (context) t_contexts.push_back(static_cast<ContextObject*>(context));
    return 0;
}
int cuCtxPushCurrent_v2(void* context) {
    ENTER("cuCtxPushCurrent", false);
    t_contexts.push_back(static_cast<ContextObject*>(context));
    return 0;
}
int cuCtxPopCurrent_v2(void** context) {
    ENTER("cuCtxPopCurrent");
    *context = current();
    t_contexts.pop_back();
    return 0;
}
int cuCtxSynchronize() {
    ENTER_OUTSIDE_OF_CAPTURES("cuCtxSynchronize");
    for (StreamObject* stream : state().streams)
        if (stream->capture) return stream->capture->broken = true, 900;
    for (StreamObject* stream : state().streams)
        stream->busy = false;
    return 0;
}
int cuModuleLoadDataEx(ModuleObject** module, const void* image, unsigned options, int* names, void** values) {
    ENTER_OUTSIDE_OF_CAPTURES("cuModuleLoadDataEx");
    const char* text = static_cast<const char*>(image);
    if (std::strncmp(text, "\177ELF", 4) == 0) return 200; // code for real devices
    if (std::strstr(text, "SYNTAX ERROR")) {
        for (unsigned i = 0; i < options; ++i)
            if (names[i] == 5) std::strcpy(static_cast<char*>(values[i]), "ptxas fatal: line 3: a fake complaint\n");
        return 218;
    }
    *module = new ModuleObject{current(), text};
    return 0;
}
int cuModuleUnload(ModuleObject* module) {
    ENTER_OUTSIDE_OF_CAPTURES("cuModuleUnload");
    delete module;
    return 0;
}
int cuModuleGetFunction(FunctionObject** function, ModuleObject* module, const char* name) {
    ENTER_OUTSIDE_OF_CAPTURES("cuModuleGetFunction");
    if (module->text.find(".entry " + std::string(name)) == std::string::npos) return 500;
    *function = new FunctionObject{module, name};
    return 0;
}
int cuFuncGetAttribute(int* value, int which, FunctionObject*) {
    ENTER("cuFuncGetAttribute");
    static const int kValues[] = {1024, 0, 0, 0, 32};
    *value = which < 5 ? kValues[which] : 0;
    return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionObject*, int threads, std::size_t) {
    ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    *blocks = threads > 0 ? std::min(32, 2048 / threads) : 0;
    return 0;
}
int cuFuncSetAttribute(FunctionObject* function, int which, int value) {
    ENTER_OUTSIDE_OF_CAPTURES("cuFuncSetAttribute");
    if (which == 8 && value > 232448) return 1;
    if (which == 8) function->shared = value;
    return 0;
}
int cuLaunchKernel(FunctionObject* function, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty,
                   unsigned tz, unsigned shared, void* stream, void** arguments, void**) {
    ENTER("cuLaunchKernel");
    return launched(function, {function->name, {bx, by, bz}, {tx, ty, tz}, shared, stream}, arguments);
}
int cuLaunchKernelEx(const LaunchConfiguration* c, FunctionObject* function, void** arguments, void**) {
    ENTER("cuLaunchKernel");
    FakeLaunch launch{function->name,
                      {c->blocks[0], c->blocks[1], c->blocks[2]},
                      {c->threads[0], c->threads[1], c->threads[2]},
                      c->shared_bytes,
                      c->stream};
    for (unsigned i = 0; i < c->attribute_count; ++i)
        if (c->attributes[i].which == 6)
            launch.early = c->attributes[i].value[0] == 1;
        else if (c->attributes[i].which == 1)
            std::memcpy(&launch.window, c->attributes[i].value, sizeof launch.window);
    // Code that does not wait for the kernel before it is not for such a launch.
    if (launch.early && function->module->text.find("griddepcontrol.wait") == std::string::npos) return 719;
    return launched(function, launch, arguments);
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
    ENTER_OUTSIDE_OF_CAPTURES("cuMemAlloc");
    State& s = state();
    std::size_t used = 0;
    for (auto& [at, block] : s.blocks)
        used += block.second == current()->device ? block.first : 0;
    if (used + bytes > s.memory) return 2;
    void* memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    if (!memory) return 2;
    *address = reinterpret_cast<std::uintptr_t>(memory);
    s.blocks[*address] = {bytes, current()->device};
    return 0;
}
int cuMemFree_v2(unsigned long long address) {
    ENTER_OUTSIDE_OF_CAPTURES("cuMemFree");
    if (!state().blocks.erase(address)) return 1;
    std::free(reinterpret_cast<void*>(address));
    return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    ENTER_OUTSIDE_OF_CAPTURES("cuMemHostAlloc");
    *memory = std::malloc(bytes);
    state().pinned[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
    return 0;
}
int cuMemFreeHost(void* memory) {
    ENTER_OUTSIDE_OF_CAPTURES("cuMemFreeHost");
    state().pinned.erase(reinterpret_cast<std::uintptr_t>(memory));
    std::free(memory);
    return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
    ENTER("cuMemcpyHtoDAsync");
    if (!is_device(to, bytes)) return 1;
    if (int status = check_stream(stream)) return status;
    return copy(to, reinterpret_cast<std::uintptr_t>(from), bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
    ENTER("cuMemcpyDtoHAsync");
    if (!is_device(from, bytes)) return 1;
    if (int status = check_stream(stream)) return status;
    return copy(reinterpret_cast<std::uintptr_t>(to), from, bytes, stream);
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
    ENTER("cuMemcpyDtoDAsync");
    if (!is_device(to, bytes) || !is_device(from, bytes)) return 1;
    if (int status = check_stream(stream)) return status;
    return copy(to, from, bytes, stream);
}
int cuMemsetD8Async(unsigned long long to, unsigned char byte, std::size_t bytes, void* stream) {
    ENTER("cuMemsetD8Async");
    if (!is_device(to, bytes)) return 1;
    put(stream, [=] { std::memset(reinterpret_cast<void*>(to), byte, bytes); });
    return 0;
}
int cuPointerGetAttribute(void* value, int which, unsigned long long address) {
    ENTER("cuPointerGetAttribute");
    State& s = state();
    auto after = s.pinned.upper_bound(address);
    bool pinned = after != s.pinned.begin() && (--after, address < after->first + after->second);
    if (!pinned && !is_device(address, 1)) return 1;
    if (which == 2) *static_cast<unsigned*>(value) = pinned ? 1 : 2;
    if (which == 9) *static_cast<int*>(value) = pinned ? 0 : std::prev(s.blocks.upper_bound(address))->second.second;
    return 0;
}
int cuStreamCreate(StreamObject** stream, unsigned flags) {
    ENTER("cuStreamCreate");
    *stream = new StreamObject{current(), (flags & 1) == 0};
    state().streams.insert(*stream);
    return 0;
}
int cuStreamDestroy_v2(StreamObject* stream) {
    ENTER("cuStreamDestroy");
    state().streams.erase(stream); // the object stays: events may be behind it
    return 0;
}
int cuStreamSynchronize(void* stream) {
    ENTER_OUTSIDE_OF_CAPTURES("cuStreamSynchronize");
    if (int status = check_stream(stream)) return status;
    if (GraphObject* graph = capture_of(stream)) return graph->broken = true, 900;
    (is_legacy(stream) ? state().legacy_busy : static_cast<StreamObject*>(stream)->busy) = false;
    return 0;
}
int cuStreamWaitEvent(void* stream, EventObject* event, unsigned) {
    ENTER("cuStreamWaitEvent");
    if (int status = check_stream(stream)) return status;
    if (GraphObject* graph = capture_of(stream); graph && graph->id != event->captured)
        return graph->broken = true, 905;
    if (event->captured && !capture_of(stream))
        for (StreamObject* other : state().streams)
            if (other->capture && other->capture->id == event->captured)
                static_cast<StreamObject*>(stream)->capture = other->capture;
    return 0;
}
int cuStreamGetCtx(void* stream, void** context) {
    ENTER("cuStreamGetCtx");
    auto* object = static_cast<StreamObject*>(stream);
    if (!is_legacy(stream) && !state().streams.count(object)) return 400;
    *context = is_legacy(stream) ? current() : object->context;
    return 0;
}
int cuStreamIsCapturing(void* stream, int* capturing) {
    ENTER("cuStreamIsCapturing");
    if (is_legacy(stream) && legacy_is_captured(false)) return 906;
    GraphObject* graph = capture_of(stream);
    *capturing = !graph ? 0 : graph->broken ? 2 : 1;
    return 0;
}
int cuStreamGetCaptureInfo_v2(void* stream, int* capturing, unsigned long long* id, GraphObject** graph, void*,
                              std::size_t*) {
    ENTER("cuStreamGetCaptureInfo");
    GraphObject* found = capture_of(stream);
    *capturing = !found ? 0 : found->broken ? 2 : 1;
    if (!found) return 0;
    *id = found->id;
    *graph = found;
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
    ENTER("cuThreadExchangeStreamCaptureMode", false);
    std::swap(*mode, t_capture_mode);
    return 0;
}
int cuUserObjectCreate(UserObject** object, void* data, void (*destroy)(void*), unsigned references, unsigned flags) {
    ENTER("cuUserObjectCreate");
    if (flags != 1) return 1;
    *object = new UserObject{data, destroy, static_cast<int>(references)};
    return 0;
}
int cuUserObjectRelease(UserObject* object, unsigned) {
    ENTER("cuUserObjectRelease");
    object->release();
    return 0;
}
int cuGraphRetainUserObject(GraphObject* graph, UserObject* object, unsigned, unsigned flags) {
    ENTER("cuGraphRetainUserObject");
    if (flags != 1) ++object->references;
    graph->objects.push_back(object);
    return 0;
}
int cuEventCreate(EventObject** event, unsigned) {
    ENTER("cuEventCreate");
    *event = new EventObject;
    return 0;
}
int cuEventDestroy_v2(EventObject* event) {
    ENTER("cuEventDestroy", false);
    delete event;
    return 0;
}
int cuEventRecord(EventObject* event, void* stream) {
    ENTER("cuEventRecord");
    if (int status = check_stream(stream)) return status;
    GraphObject* graph = capture_of(stream);
    *event = {is_legacy(stream) ? nullptr : static_cast<StreamObject*>(stream), is_legacy(stream),
              graph ? graph->id : 0};
    return 0;
}
int cuEventQuery(EventObject* event) {
    ENTER_OUTSIDE_OF_CAPTURES("cuEventQuery");
    if (event->captured) return 907;
    return (event->legacy && state().legacy_busy) || (event->behind && event->behind->busy) ? 600 : 0;
}
int cuEventSynchronize(EventObject* event) {
    ENTER_OUTSIDE_OF_CAPTURES("cuEventSynchronize");
    return event->captured ? 907 : 0;
}
int cuEventElapsedTime(float* milliseconds, EventObject*, EventObject*) {
    ENTER("cuEventElapsedTime");
    *milliseconds = 0.5f;
    return 0;
}
int cuStreamBeginCapture_v2(StreamObject* stream, int mode) {
    ENTER("cuStreamBeginCapture");
    if (is_legacy(stream)) return 900;
    static unsigned long long captures = 0;
    stream->capture = new GraphObject;
    stream->capture->id = ++captures;
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    return 0;
}
int cuStreamEndCapture(StreamObject* stream, GraphObject** graph) {
    ENTER("cuStreamEndCapture");
    *graph = stream->capture;
    bool is_joined = true;
    for (StreamObject* other : state().streams)
        if (other != stream && other->capture == stream->capture) {
            other->capture = nullptr;
            is_joined = false;
        }
    stream->capture = nullptr;
    if (!(*graph)->broken && is_joined) return 0;
    const int status = (*graph)->broken ? 901 : 904;
    (*graph)->release();
    *graph = nullptr;
    return status;
}
int cuGraphInstantiateWithFlags(GraphObject** executable, GraphObject* graph, unsigned long long) {
    ENTER_OUTSIDE_OF_CAPTURES("cuGraphInstantiate");
    *executable = new GraphObject(*graph);
    for (UserObject* object : graph->objects)
        ++object->references;
    return 0;
}
int cuGraphLaunch(GraphObject* executable, void* stream) {
    ENTER("cuGraphLaunch");
    if (int status = check_stream(stream)) return status;
    for (auto& work : executable->work)
        work();
    return 0;
}
int cuGraphExecDestroy(GraphObject* executable) {
    ENTER_OUTSIDE_OF_CAPTURES("cuGraphExecDestroy");
    executable->release();
    return 0;
}
// cuBLAS, as far as we call it: columns lie together.
int cublasCreate_v2(void** handle) {
    *handle = new void*(nullptr);
    return 0;
}
int cublasSetStream_v2(void** handle, void* stream) {
    *handle = stream;
    return check_stream(stream) ? 1 : 0;
}
int cublasSetMathMode(void*, int mode) {
    return mode;
}
int cublasDgemm_v2(void** handle, int left, int right, int m, int n, int k, const double* alpha, const double* a,
                   int lda, const double* b, int ldb, const double* beta, double* c, int ldc) {
    if (lda < (left ? k : m) || ldb < (right ? n : k) || ldc < m || *alpha != 1 || *beta != 0) return 7;
    put(*handle, [=] {
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0;
                for (int l = 0; l < k; ++l)
                    sum += (left ? a[l + i * lda] : a[i + l * lda]) * (right ? b[j + l * ldb] : b[l + j * ldb]);
                c[i + j * ldc] = sum;
            }
    });
    return 0;
}
int cublasDgemmStridedBatched(void** handle, int left, int right, int m, int n, int k, const double* alpha,
                              const double* a, int lda, long long next_a, const double* b, int ldb, long long next_b,
                              const double* beta, double* c, int ldc, long long next_c, int count) {
    for (int one = 0; one < count; ++one)
        if (const int status = cublasDgemm_v2(handle, left, right, m, n, k, alpha, a + one * next_a, lda,
                                              b + one * next_b, ldb, beta, c + one * next_c, ldc))
            return status;
    return 0;
}
int cublasSgemm_v2() {
    return 15;
}
int cublasSgemmStridedBatched() {
    return 15;
}
int cublasCgemmStridedBatched() {
    return 15;
}
int cublasZgemmStridedBatched() {
    return 15;
}
int cublasCgemm_v2() {
    return 15;
}
int cublasZgemm_v2() {
    return 15;
}
int cuGraphDestroy(GraphObject* graph) {
    ENTER("cuGraphDestroy");
    graph->release();
    return 0;
}
}
