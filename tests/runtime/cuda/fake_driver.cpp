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

using tilewright::tests::FakeKernel;
using tilewright::tests::FakeLaunch;

namespace {

struct ContextObject {
    int device = 0;
};
struct StreamObject {
    ContextObject* context = nullptr;
    bool busy = false;
    struct GraphObject* capture = nullptr;
};
struct EventObject {
    StreamObject* behind = nullptr;
    bool legacy = false;
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
struct GraphObject {
    std::vector<std::function<void()>> work;
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

bool is_legacy(void* stream) {
    return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}
/// 0 where the stream may be used in the current context.
int check_stream(void* stream) {
    if (is_legacy(stream)) return 0;
    auto* object = static_cast<StreamObject*>(stream);
    return state().streams.count(object) && object->context == current() ? 0 : 400;
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
                                                      {719, "CUDA_ERROR_LAUNCH_FAILED"}};
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
    ENTER("cuCtxSynchronize");
    for (StreamObject* stream : state().streams)
        stream->busy = false;
    return 0;
}
int cuModuleLoadDataEx(ModuleObject** module, const void* image, unsigned options, int* names, void** values) {
    ENTER("cuModuleLoadDataEx");
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
    ENTER("cuModuleUnload");
    delete module;
    return 0;
}
int cuModuleGetFunction(FunctionObject** function, ModuleObject* module, const char* name) {
    ENTER("cuModuleGetFunction");
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
    ENTER("cuFuncSetAttribute");
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
    ENTER("cuMemAlloc");
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
    ENTER("cuMemFree");
    if (!state().blocks.erase(address)) return 1;
    std::free(reinterpret_cast<void*>(address));
    return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    ENTER("cuMemHostAlloc");
    *memory = std::malloc(bytes);
    state().pinned[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
    return 0;
}
int cuMemFreeHost(void* memory) {
    ENTER("cuMemFreeHost");
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
int cuStreamCreate(StreamObject** stream, unsigned) {
    ENTER("cuStreamCreate");
    *stream = new StreamObject{current()};
    state().streams.insert(*stream);
    return 0;
}
int cuStreamDestroy_v2(StreamObject* stream) {
    ENTER("cuStreamDestroy");
    state().streams.erase(stream); // the object stays: events may be behind it
    return 0;
}
int cuStreamSynchronize(void* stream) {
    ENTER("cuStreamSynchronize");
    if (int status = check_stream(stream)) return status;
    if (capture_of(stream)) return 900;
    (is_legacy(stream) ? state().legacy_busy : static_cast<StreamObject*>(stream)->busy) = false;
    return 0;
}
int cuStreamWaitEvent(void* stream, EventObject*, unsigned) {
    ENTER("cuStreamWaitEvent");
    return check_stream(stream);
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
    *capturing = capture_of(stream) != nullptr;
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
    *event = {is_legacy(stream) ? nullptr : static_cast<StreamObject*>(stream), is_legacy(stream)};
    return 0;
}
int cuEventQuery(EventObject* event) {
    ENTER("cuEventQuery");
    return (event->legacy && state().legacy_busy) || (event->behind && event->behind->busy) ? 600 : 0;
}
int cuEventSynchronize(EventObject*) {
    ENTER("cuEventSynchronize");
    return 0;
}
int cuEventElapsedTime(float* milliseconds, EventObject*, EventObject*) {
    ENTER("cuEventElapsedTime");
    *milliseconds = 0.5f;
    return 0;
}
int cuStreamBeginCapture_v2(StreamObject* stream, int) {
    ENTER("cuStreamBeginCapture");
    if (is_legacy(stream)) return 900;
    stream->capture = new GraphObject;
    return 0;
}
int cuStreamEndCapture(StreamObject* stream, GraphObject** graph) {
    ENTER("cuStreamEndCapture");
    *graph = stream->capture;
    stream->capture = nullptr;
    return 0;
}
int cuGraphInstantiateWithFlags(GraphObject** executable, GraphObject* graph, unsigned long long) {
    ENTER("cuGraphInstantiate");
    *executable = new GraphObject(*graph);
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
    ENTER("cuGraphExecDestroy");
    delete executable;
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
int cublasSgemm_v2() {
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
    delete graph;
    return 0;
}
}
