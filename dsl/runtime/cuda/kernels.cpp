// dsl/runtime/cuda/kernels.cpp: loads the PTX that objects carry, once for each device, and launches its functions.
// In the steady state a launch is two table look-ups by address and cuLaunchKernel.
#include "dsl/runtime/cuda/kernels.h"

#include <alloca.h>

#include <bit>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/cuda/profile.h"

namespace tilewright::runtime::cuda {
namespace {

/// Dynamic shared memory that a kernel has without asking.
constexpr int kSharedWithoutAsking = 48 << 10;
constexpr int kMostDevices = 64;

thread_local Call* t_call = nullptr;

struct Entry {
    std::atomic<const char*> name{nullptr}; ///< its address in the object is the key
    Function function = nullptr;
    std::atomic<int> shared{kSharedWithoutAsking};
};

/// An object's code on one device.
class LoadedModule {
  public:
    LoadedModule(Module module, std::size_t functions)
        : module_(module), mask_(std::bit_ceil(2 * functions + 2) - 1), entries_(mask_ + 1) {}

    Module module() const { return module_; }
    std::atomic<bool> is_in_graph{false}; ///< of the caller's
    Entry& entry(const char* name) {
        for (std::size_t at = slot(name);; at = (at + 1) & mask_) {
            const char* found = entries_[at].name.load(std::memory_order_acquire);
            if (found == name) return entries_[at];
            if (!found) return add(name);
        }
    }

  private:
    std::size_t slot(const char* name) const {
        return (reinterpret_cast<std::uintptr_t>(name) * 0x9E3779B97F4A7C15u >> 32) & mask_;
    }
    __attribute__((noinline)) Entry& add(const char* name) {
        std::lock_guard lock(mutex_);
        std::size_t at = slot(name);
        for (;; at = (at + 1) & mask_) {
            const char* found = entries_[at].name.load(std::memory_order_relaxed);
            if (found == name) return entries_[at];
            if (!found) break;
        }
        // One slot stays free, so that a search ends.
        if (used_ + 1 > mask_)
            throw DeviceError("cuda: the code of a kernel calls more functions than it has.", "Please report this.");
        Function function = nullptr;
        const std::string what = std::string("the function ") + name + " of a kernel";
        const OutsideOfCaptures outside; // code may be loaded as late as here
        require(ready_driver().module_function(&function, module_, name), what.c_str());
        entries_[at].function = function;
        entries_[at].name.store(name, std::memory_order_release);
        ++used_;
        return entries_[at];
    }

    Module module_;
    std::size_t mask_, used_ = 0;
    std::vector<Entry> entries_;
    std::mutex mutex_;
};

/// An object's code, wherever it is loaded.
struct Kernels {
    const void* owner; ///< an address in the object's data
    const char* ptx;
    std::atomic<LoadedModule*> on[kMostDevices] = {};
    std::mutex mutex;
};

struct AllKernels {
    std::mutex mutex;
    std::vector<std::unique_ptr<Kernels>> list;
    std::vector<std::pair<int, Module>> unused; ///< with their devices
};
AllKernels& all_kernels() {
    static AllKernels& instance = *new AllKernels;
    return instance;
}

std::size_t count_functions(std::string_view ptx) {
    std::size_t found = 0;
    for (std::size_t at = ptx.find(".entry"); at != std::string_view::npos; at = ptx.find(".entry", at + 1))
        ++found;
    return found;
}

/// The cubin of this PTX for this device; null where there is none, or the driver is older than it.
Module load_assembled(const Device& device, const char* ptx) {
    const std::string image = find_cubin(device, ptx);
    Module module = nullptr;
    if (image.empty()) return module;
    count(g_calls.module_loads);
    if (ready_driver().module_load(&module, image.data(), 0, nullptr, nullptr) != kSuccess) return nullptr;
    count(g_calls.cubin_loads);
    return module;
}

/// cuModuleUnload waits for what runs, as cuMemFree does. (To wait for the context would break captures of others.)
void unload_unused() {
    std::vector<std::pair<int, Module>> unused;
    {
        std::lock_guard lock(all_kernels().mutex);
        unused.swap(all_kernels().unused);
    }
    for (const auto& [device, module] : unused) {
        Entered entered(device);
        const OutsideOfCaptures outside;
        count(g_calls.device_synchronizations);
        ready_driver().module_unload(module);
    }
}

LoadedModule& load(Kernels& kernels, const DeviceState& device) {
    std::lock_guard lock(kernels.mutex);
    std::atomic<LoadedModule*>& slot = kernels.on[device.facts.ordinal];
    if (LoadedModule* found = slot.load(std::memory_order_acquire)) return *found;
    const OutsideOfCaptures outside;
    Module module = load_assembled(device.facts, kernels.ptx);
    if (!module) module = load_module(device.facts, kernels.ptx, "the code of a kernel");
    auto* loaded = new LoadedModule(module, count_functions(kernels.ptx));
    slot.store(loaded, std::memory_order_release);
    return *loaded;
}

/// cuLaunchKernel with what else this launch wants.
Status submit(const Call& call, Function function, const LaunchShape& shape, void** arguments, const L2Window& window) {
    LaunchAttribute attributes[2];
    unsigned count = 0;
    if (launches_early(capability_of(call.device().facts))) {
        attributes[count].which = kLaunchEarly;
        attributes[count++].value[0] = 1;
    }
    if (window.bytes > 0) {
        attributes[count].which = kLaunchL2Window;
        std::memcpy(attributes[count++].value, &window, sizeof window);
    }
    const Driver& d = ready_driver();
    if (count == 0)
        return d.launch(function, shape.blocks[0], shape.blocks[1], shape.blocks[2], shape.threads[0], shape.threads[1],
                        shape.threads[2], shape.shared_bytes, call.stream(), arguments, nullptr);
    const LaunchConfiguration configuration{shape, call.stream(), attributes, count};
    return d.launch_extended(&configuration, function, arguments, nullptr);
}

} // namespace

DeviceError out_of_device_memory(const Place& place, std::size_t bytes, const char* of) {
    return error_of(kOutOfDeviceMemory,
                    std::to_string(bytes) + " bytes for " + of + " on device " + std::to_string(place.device));
}

Module load_module(const Device& device, const char* ptx, const char* what) {
    const int target = target_of(ptx), capability = capability_of(device);
    const std::string on =
        std::string(what) + " on device " + std::to_string(device.ordinal) + " (" + device.name + ")";
    if (target > capability)
        throw DeviceError("cuda: " + on + ": it is for compute capability " + std::to_string(target / 10) + "." +
                              std::to_string(target % 10) + " and later, and the device has " +
                              std::to_string(device.major) + "." + std::to_string(device.minor) + ".",
                          capability >= 70 ? "Build it for target cuda-sm_70 or cuda-sm_75."
                                           : "Devices from compute capability 7.0 on are served; use the target host.");
    std::string log(8192, '\0');
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
    Module module = nullptr;
    const std::string text = launches_early(capability) ? ptx_for(capability, ptx) : ptx;
    const OutsideOfCaptures outside;
    count(g_calls.module_loads);
    if (Status status = ready_driver().module_load(&module, text.c_str(), 2, options, values)) {
        log.resize(std::strlen(log.c_str()));
        while (!log.empty() && (log.back() == '\n' || log.back() == ' '))
            log.pop_back();
        throw error_of(status, "loading " + on + (log.empty() ? "" : ", compiler's log \"" + log + "\""));
    }
    return module;
}

std::vector<FunctionFacts> function_facts(int device, const std::string& ptx) {
    Entered entered(device);
    const Driver& d = ready_driver();
    Module module = load_module(entered.state().facts, ptx.c_str(), "the code of a kernel");
    const std::unique_ptr<ModuleHandle, Status (*)(Module)> unloaded(module, d.module_unload);
    std::vector<FunctionFacts> all;
    constexpr std::string_view kEntry = ".entry ";
    for (std::size_t at = ptx.find(kEntry); at != std::string::npos; at = ptx.find(kEntry, at + 1)) {
        const std::size_t begin = at + kEntry.size();
        const std::string name = ptx.substr(begin, ptx.find_first_of(" (\n", begin) - begin);
        Function function = nullptr;
        require(d.module_function(&function, module, name.c_str()), "cuModuleGetFunction");
        all.push_back(facts_of(function, name));
    }
    return all;
}

Call::Call(const Place& place)
    : entered_(place.device), place_(place), stream_(stream_of(place)), before_(t_call), profile_(current_profile()),
      is_captured_(is_seen_captured(place)) {
    if (place.device >= kMostDevices)
        throw DeviceError("cuda: device " + std::to_string(place.device) + ": at most 64 devices are served.",
                          "Choose devices with CUDA_VISIBLE_DEVICES.");
    t_call = this;
}
Call::~Call() {
    t_call = before_;
    if (is_recording()) {
        // An error ended the recording half way.
        Graph graph = nullptr;
        if (ready_driver().capture_end(stream_, &graph) == kSuccess && graph) ready_driver().graph_destroy(graph);
    }
    for (const auto* pointers : {&temporaries_, &held_})
        for (void* pointer : *pointers)
            release(place_, pointer);
}
Call* Call::current() {
    return t_call;
}

void* Call::allocate_temporary(std::size_t bytes, const char* what) {
    // Room for its pointer first: from its allocation on, nothing can fail that would lose it.
    if (temporaries_.size() == temporaries_.capacity()) temporaries_.reserve(2 * temporaries_.size() + 8);
    void* memory = device().pool.allocate(place_, bytes);
    if (!memory) throw out_of_device_memory(place_, bytes, what);
    temporaries_.push_back(memory);
    return memory;
}

void Call::begin_recording() {
    const Driver& d = ready_driver();
    std::unique_lock lock(device().capture_mutex);
    Stream& stream = device().capture_stream;
    const OutsideOfCaptures outside;
    if (!stream) require(d.stream_create(&stream, kNonBlockingStream), "cuStreamCreate");
    // Relaxed: other threads, and the pool, go on calling the driver.
    require(d.capture_begin(stream, kCaptureRelaxed), "cuStreamBeginCapture");
    stream_ = stream;
    recording_ = std::move(lock);
    recorded_threads_ = 0;
}

GraphExecutable Call::end_recording() {
    const Driver& d = ready_driver();
    Graph graph = nullptr;
    const Status ended = d.capture_end(stream_, &graph);
    stream_ = stream_of(place_);
    recording_.unlock();
    require(ended, "recording iterations of a loop");
    const OutsideOfCaptures outside;
    GraphExecutable recorded = nullptr;
    const Status made = d.graph_instantiate(&recorded, graph, 0);
    d.graph_destroy(graph);
    require(made, "making a graph of a loop's iterations");
    return recorded;
}

void Call::count_launch(std::uint64_t threads) {
    if (is_recording()) {
        recorded_threads_ += threads;
        return;
    }
    count(g_calls.launches);
    g_calls.threads.fetch_add(threads, std::memory_order_relaxed);
}

void Call::launch_recorded(GraphExecutable recorded, std::uint64_t kernels) {
    count(g_calls.graph_launches);
    g_calls.graph_kernels.fetch_add(kernels, std::memory_order_relaxed);
    g_calls.threads.fetch_add(recorded_threads_, std::memory_order_relaxed);
    const OutsideOfCaptures outside; // the first launch may take memory
    require(ready_driver().graph_launch(recorded, stream_), "launching the iterations of a loop");
}

void Call::forget_recorded(GraphExecutable recorded) {
    // What was launched ends all the same.
    const OutsideOfCaptures outside;
    ready_driver().graph_executable_destroy(recorded);
}

void Call::give_back(void* pointer) {
    if (!pointer) return;
    if (is_recording())
        held_.push_back(pointer);
    else
        device().pool.release(place_, pointer);
}

const halide_device_interface_t* device_interface() {
    // Only its address is looked at: kernels pass it on to us.
    static const halide_device_interface_t interface {};
    return &interface;
}

void launch(Call& call, Function function, const char* name, const LaunchShape& shape, void** arguments,
            const LaunchedArrays& arrays) {
    call.count_launch(shape.block_threads() * shape.blocks[0] * shape.blocks[1] * shape.blocks[2]);
    const Timed timed(call, function, name, shape, arrays.bytes);
    std::atomic<bool>& takes_windows = call.device().takes_windows;
    const bool may = takes_windows.load(std::memory_order_relaxed);
    const L2Window window = may ? window_for(call.device().facts, arrays) : L2Window{};
    Status status = submit(call, function, shape, arguments, window);
    // A part of a device, or one that several processes share, may know no windows, which are a hint.
    if ((status == kInvalidValue || status == kNotSupported) && window.bytes > 0) {
        status = submit(call, function, shape, arguments, {});
        if (status == kSuccess) takes_windows = false;
    }
    if (status == kSuccess) [[likely]]
        return;
    auto text = [](const unsigned(&n)[3]) {
        return std::to_string(n[0]) + "x" + std::to_string(n[1]) + "x" + std::to_string(n[2]);
    };
    std::string what = std::string("launching ") + name + ", " + text(shape.blocks) + " blocks of " +
                       text(shape.threads) + " threads with " + std::to_string(shape.shared_bytes) +
                       " bytes of shared memory";
    if ((status == kInvalidHandle || status == kInvalidContext) && call.place().stream) {
        Context of = nullptr;
        const bool known = ready_driver().stream_context(stream_of(call.place()), &of) == kSuccess;
        if (!known || of != call.device().context.load())
            what += known ? ", on a stream of another context or of another device"
                          : ", on a stream that is not there any more";
    }
    throw error_of(status, what);
}

int initialize_kernels(void*, void** state, const char* ptx, int) {
    Call* call = t_call;
    if (!call) {
        return kDeviceFailed;
    }
    std::atomic_ref<void*> slot(*state);
    auto* kernels = static_cast<Kernels*>(slot.load(std::memory_order_acquire));
    if (kernels && kernels->on[call->place().device].load(std::memory_order_acquire)) [[likely]]
        return 0;
    return call->attempt([&] {
        if (!kernels) {
            std::lock_guard lock(all_kernels().mutex);
            kernels = static_cast<Kernels*>(slot.load(std::memory_order_acquire));
            if (!kernels) {
                auto made = std::make_unique<Kernels>();
                made->owner = state;
                made->ptx = ptx;
                kernels = made.get();
                all_kernels().list.push_back(std::move(made));
                slot.store(kernels, std::memory_order_release);
            }
        }
        if (!call->is_captured()) unload_unused();
        load(*kernels, call->device());
    });
}

int run_kernel(void*, void* state, const char* name, int blocks_x, int blocks_y, int blocks_z, int threads_x,
               int threads_y, int threads_z, int shared_bytes, std::size_t* sizes, void** arguments,
               std::int8_t* is_buffer) {
    Call* call = t_call;
    if (!call) return kDeviceFailed;
    if (blocks_x <= 0 || blocks_y <= 0 || blocks_z <= 0) return 0; // an empty array
    std::size_t n = 0;
    while (sizes[n] != 0)
        ++n;
    auto** pointers = static_cast<void**>(alloca((n + 1) * sizeof(void*)));
    auto* addresses = static_cast<std::uint64_t*>(alloca((n + 1) * sizeof(std::uint64_t)));
    for (std::size_t i = 0; i < n; ++i) {
        pointers[i] = arguments[i];
        if (!is_buffer[i]) continue;
        addresses[i] = static_cast<const halide_buffer_t*>(arguments[i])->device;
        pointers[i] = &addresses[i];
    }
    return call->attempt([&] {
        auto* kernels = static_cast<Kernels*>(state);
        LoadedModule* module = kernels ? kernels->on[call->place().device].load(std::memory_order_acquire) : nullptr;
        if (!module)
            throw DeviceError("cuda: a kernel for a device was called as one for the host.", "Please report this.");
        if (call->is_captured()) module->is_in_graph = true;
        Entry& entry = module->entry(name);
        if (shared_bytes > entry.shared.load(std::memory_order_relaxed)) [[unlikely]] {
            const std::string what = std::string(name) + " needs " + std::to_string(shared_bytes) +
                                     " bytes of shared memory a block, and device " +
                                     std::to_string(call->place().device) + " has " +
                                     std::to_string(call->device().facts.shared_bytes_per_block);
            const OutsideOfCaptures outside;
            require(ready_driver().function_set(entry.function, kFunctionMaxDynamicShared, shared_bytes), what.c_str());
            entry.shared.store(shared_bytes, std::memory_order_relaxed);
        }
        const auto count = [](int number) { return static_cast<unsigned>(number); };
        launch(*call, entry.function, name,
               {{count(blocks_x), count(blocks_y), count(blocks_z)},
                {count(threads_x), count(threads_y), count(threads_z)},
                count(shared_bytes)},
               pointers, arrays_of(arguments, is_buffer, n));
    });
}

void finalize_kernels(void*, void*) {}

int device_malloc(void*, halide_buffer_t* buffer, const halide_device_interface_t*) {
    if (buffer->device) return 0;
    Call* call = t_call;
    if (!call) return kDeviceFailed;
    std::int64_t last = 0;
    bool empty = false;
    for (int d = 0; d < buffer->dimensions; ++d) {
        const halide_dimension_t& dim = buffer->dim[d];
        empty = empty || dim.extent <= 0;
        last += (std::int64_t{dim.extent} - 1) * std::abs(std::int64_t{dim.stride});
    }
    const std::int64_t bytes = empty ? 0 : (last + 1) * ((buffer->type.bits + 7) / 8) * buffer->type.lanes;
    return call->attempt([&] {
        void* memory = call->allocate_temporary(static_cast<std::size_t>(bytes), "a kernel's temporary");
        buffer->device = reinterpret_cast<std::uintptr_t>(memory);
        buffer->device_interface = device_interface();
    });
}

int device_free(void*, halide_buffer_t* buffer) {
    if (!buffer->device) return 0;
    auto* memory = reinterpret_cast<void*>(static_cast<std::uintptr_t>(buffer->device));
    Call* call = t_call;
    // An array of the call is not the kernel's to free.
    if (call && call->forget_temporary(memory)) call->give_back(memory);
    buffer->device = 0;
    buffer->device_interface = nullptr;
    return 0;
}

void device_free_as_destructor(void* user_context, void* buffer) {
    device_free(user_context, static_cast<halide_buffer_t*>(buffer));
}

int copy_to_device_of_kernel(void*, halide_buffer_t* buffer, const halide_device_interface_t*) {
    if (buffer->device) return 0;
    if (Call* call = t_call)
        call->fail("cuda: a kernel for a device was given an array of the host. Please report this.");
    return kDeviceFailed;
}

void forget_kernels(const void* begin, std::size_t bytes) noexcept {
    AllKernels& all = all_kernels();
    std::vector<std::unique_ptr<Kernels>> gone;
    {
        std::lock_guard lock(all.mutex);
        for (auto& kernels : all.list) {
            const auto distance = static_cast<const char*>(kernels->owner) - static_cast<const char*>(begin);
            if (distance >= 0 && static_cast<std::size_t>(distance) < bytes) gone.push_back(std::move(kernels));
        }
        std::erase_if(all.list, [](const auto& kernels) { return !kernels; });
    }
    std::lock_guard lock(all.mutex);
    for (auto& kernels : gone)
        for (int device = 0; device < kMostDevices; ++device) {
            const std::unique_ptr<LoadedModule> loaded(kernels->on[device].load());
            if (loaded && !loaded->is_in_graph && !is_forked()) all.unused.emplace_back(device, loaded->module());
        }
}

} // namespace tilewright::runtime::cuda
