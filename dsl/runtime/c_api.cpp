// dsl/runtime/c_api.cpp: calls of exported functions from C.
#include "dsl/runtime/c_api.h"

#include <HalideRuntime.h>
#include <alloca.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/element_count.h"
#include "dsl/runtime/executor.h"
#include "dsl/runtime/found_once.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/memory_range.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::runtime {
namespace {

thread_local std::string t_error;

int fail(int status, std::string text) {
    t_error = std::move(text);
    return status;
}

struct Loaded {
    std::shared_ptr<const Executable> executable;
    std::string error;
};

std::string_view bytes_of(const halide_buffer_t& buffer) {
    return {reinterpret_cast<const char*>(buffer.host), static_cast<std::size_t>(buffer.dim[0].extent)};
}

/// The objects by name, from a byte and a run of (uint64 name bytes, name, uint64 bytes, object).
std::map<std::string, std::string_view> unpack(std::string_view rest) {
    std::map<std::string, std::string_view> objects;
    rest.remove_prefix(1);
    auto take = [&] {
        std::uint64_t size = 0;
        std::memcpy(&size, rest.data(), sizeof size);
        std::string_view bytes = rest.substr(sizeof size, size);
        rest.remove_prefix(sizeof size + bytes.size());
        return bytes;
    };
    while (rest.size() > 2 * sizeof(std::uint64_t)) {
        std::string name(take());
        objects[name] = take();
    }
    return objects;
}

/// What was loaded of a plan stays where its buffer has place for a device's memory.
const Loaded& load(halide_buffer_t& plan, const halide_buffer_t& objects) {
    std::atomic_ref<std::uint64_t> slot(plan.device);
    auto found = [&] { return reinterpret_cast<const Loaded*>(slot.load(std::memory_order_acquire)); };
    if (const Loaded* loaded = found()) return *loaded;
    const std::lock_guard lock(finding());
    if (const Loaded* loaded = found()) return *loaded;
    auto* loaded = new Loaded;
    try {
        loaded->executable = Executable::load(bytes_of(plan), unpack(bytes_of(objects)));
    } catch (const std::exception& e) {
        loaded->error = e.what();
    }
    slot.store(reinterpret_cast<std::uint64_t>(loaded), std::memory_order_release);
    return *loaded;
}

/// The arguments of a call, each in whole words as the System V ABI passes them.
class Arguments {
  public:
    explicit Arguments(const std::uint64_t* words) : next_(words) {}

    void take(void* to, std::size_t bytes) {
        std::memcpy(to, next_, bytes);
        next_ += (bytes + 7) / 8;
    }
    tw_array* array() {
        tw_array* pointer = nullptr;
        take(&pointer, sizeof(void*));
        return pointer;
    }

  private:
    const std::uint64_t* next_;
};

std::string describe(int dtype, int rank, const std::int64_t* shape) {
    std::string out =
        dtype >= 0 && dtype < kDTypeCount ? std::string(kDTypes[dtype].name) : "dtype " + std::to_string(dtype);
    out += "[";
    for (int k = 0; k < std::min(rank, kMaxRank); ++k)
        out += (k ? ", " : "") + (shape ? std::to_string(shape[k]) : ":");
    return out + "]";
}

/// Which device an array lies on becomes the call's, or why it cannot be.
std::string put_on_device(cuda::Place& place, const std::string& array, const tw_array& a) {
    if (!a.data) return "";
    const int device = cuda::device_of(a.data);
    if (device < 0) return array + " is in memory of the host, but the call is for a CUDA device. Copy it there.";
    if (place.device >= 0 && place.device != device)
        return array + " is on device " + std::to_string(device) + ", and others are on device " +
               std::to_string(place.device) + ". Copy it there.";
    place.device = device;
    return "";
}

int run(const Executable& executable, Arguments& from, bool on_device) {
    const Plan& plan = executable.plan();
    const std::string name = plan.function + (on_device ? "_cuda" : "");
    cuda::Place place{-1, nullptr};
    if (on_device) from.take(&place.stream, sizeof place.stream);
    Executable::Frame frame = executable.lay_out(alloca(executable.frame_bytes()));
    const auto refuse = [&](const std::string& why) { return fail(TW_BAD_ARGUMENT, name + ": " + why); };
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
        const PlanArgument& a = plan.arguments[i];
        std::size_t bytes = static_cast<std::size_t>(info(a.dtype).bytes);
        if (!a.is_array) {
            from.take(frame.arguments[i].scalar, bytes);
            continue;
        }
        const tw_array* array = from.array();
        std::string wanted = describe(static_cast<int>(a.dtype), a.rank, nullptr);
        if (!array) return refuse(a.name + " is NULL, but it takes " + wanted + ".");
        bool fits = array->dtype == static_cast<int>(a.dtype) && array->rank == a.rank;
        if (!fits)
            return refuse(a.name + " is " + describe(array->dtype, array->rank, array->shape) + ", but it takes " +
                          wanted + ".");
        bool whole = true;
        for (int k = 0; k < a.rank; ++k)
            whole = whole && (array->shape[k] <= 1 || array->strides[k] % static_cast<std::int64_t>(bytes) == 0);
        if (!whole || reinterpret_cast<std::uintptr_t>(array->data) % std::min<std::size_t>(bytes, 8))
            return refuse(a.name + " is not aligned to its elements. Copy it.");
        frame.arguments[i].array = {array->data, array->shape, array->strides};
        if (!on_device) continue;
        const std::string why = put_on_device(place, a.name, *array);
        if (!why.empty()) return refuse(why);
    }
    int large = -1;
    if (!executable.read_sizes(frame, large)) {
        const PlanArgument& a = plan.arguments[static_cast<std::size_t>(large)];
        return refuse(a.name + " has a negative extent, or reaches more than " + element_limit_text(a.dtype) +
                      " elements. Work on it in parts.");
    }
    auto* ranges = static_cast<MemoryRange*>(alloca((plan.arguments.size() + 1) * sizeof(MemoryRange)));
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
        const PlanArgument& a = plan.arguments[i];
        ranges[i] = a.is_array ? memory_of(frame.arguments[i].array, a.rank, info(a.dtype).bytes) : MemoryRange{};
    }
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
        if (!plan.arguments[i].written) continue;
        const std::string why = executable.why_not_written(i, frame, ranges);
        if (!why.empty()) return refuse(why);
    }
    int guard = executable.failed_guard(frame);
    if (guard >= 0) return refuse(executable.guard_message(guard, frame));
    // Results say where a call is that has no arrays before them.
    const Arguments at_results = from;
    for (std::size_t i = 0; i < plan.results.size() && on_device; ++i)
        if (const tw_array* array = from.array()) {
            const std::string why = put_on_device(place, "result " + plan.results[i].name, *array);
            if (!why.empty()) return refuse(why);
        }
    from = at_results;
    place.device = std::max(place.device, 0);
    if (on_device) {
        frame.place = &place;
        cuda::device(place.device); // no driver, no device: a separate error
    }
    int version = executable.select(frame);
    if (version < 0)
        return fail(TW_NOT_SERVED, name + ": no version serves " + executable.sizes_text(frame) +
                                       " as they lie in memory: one needs " + executable.requirements_text() +
                                       ". Tune the function with such arguments too.");
    if (!executable.size_results(frame)) return refuse(executable.why_not_sized(frame) + ".");

    std::size_t results = plan.results.size();
    auto** outputs = static_cast<tw_array**>(alloca((results + 1) * sizeof(void*)));
    auto** staged = static_cast<void**>(alloca((results + 1) * sizeof(void*)));
    // Results that share memory with an argument are computed elsewhere and copied.
    const CallMemory staging(staged, results, frame.place);
    bool needs_memory = false;
    for (std::size_t i = 0; i < results; ++i) {
        const PlanBuffer& b = plan.results[i];
        CallResult& r = frame.results[i];
        int rank = static_cast<int>(b.shape.size());
        tw_array* array = outputs[i] = from.array();
        if (!array) return refuse("result " + b.name + " is NULL.");
        tw_array wanted = tw_contiguous(array->data, static_cast<tw_dtype>(b.dtype), rank, r.shape);
        if (!array->data && r.elements > 0) {
            *array = wanted;
            needs_memory = true;
            continue;
        }
        bool fits = array->dtype == wanted.dtype && array->rank == rank;
        for (int k = 0; k < rank && fits; ++k)
            fits = array->shape[k] == r.shape[k] &&
                   (r.elements == 0 || r.shape[k] == 1 || array->strides[k] == wanted.strides[k]);
        if (!fits)
            return refuse("result " + b.name + " is " + describe(array->dtype, array->rank, array->shape) +
                          ", but it needs C-contiguous " + describe(wanted.dtype, rank, r.shape) + ".");
        r.data = array->data;
        std::size_t bytes = static_cast<std::size_t>(r.elements) * static_cast<std::size_t>(info(b.dtype).bytes);
        MemoryRange range{reinterpret_cast<std::intptr_t>(array->data), 0};
        range.high = range.low + static_cast<std::intptr_t>(bytes);
        for (std::size_t a = 0; a < plan.arguments.size(); ++a) {
            if (!range.meets(ranges[a])) continue;
            if (plan.arguments[a].written)
                return refuse("result " + b.name + " shares memory with " + plan.arguments[a].name +
                              ", and the call writes into both.");
            if (staged[i]) continue;
            staged[i] = frame.place ? cuda::allocate(place, bytes) : scratch_allocate(bytes);
            if (!staged[i]) return fail(TW_OUT_OF_MEMORY, name + ": there is not enough memory.");
            r.data = staged[i];
        }
    }
    if (needs_memory) return fail(TW_NEEDS_MEMORY, name + ": a result has no memory yet; its shape was filled in.");
    std::string failed;
    switch (executable.run(frame, version, nullptr, &failed)) {
    case RunStatus::done:
        break;
    case RunStatus::out_of_memory:
        return fail(TW_OUT_OF_MEMORY, name + ": there is not enough memory.");
    case RunStatus::failed:
        return fail(TW_FAILED, name + ": a kernel failed. Please report this.");
    case RunStatus::out_of_range:
        return refuse("a size or a step that the call computes is out of range: sizes are below 2^31, steps not 0.");
    case RunStatus::check_failed:
        return fail(TW_CHECK_FAILED, name + ": " + failed + ".");
    case RunStatus::device_error:
        return fail(TW_DEVICE_ERROR, name + ": " + failed);
    case RunStatus::interrupted: // nobody asks for it here
        break;
    }
    for (std::size_t i = 0; i < results; ++i) {
        if (!staged[i]) continue;
        const std::size_t bytes = static_cast<std::size_t>(frame.results[i].elements) *
                                  static_cast<std::size_t>(info(plan.results[i].dtype).bytes);
        if (frame.place)
            cuda::copy_on_device(place, outputs[i]->data, staged[i], bytes);
        else
            std::memcpy(outputs[i]->data, staged[i], bytes);
    }
    return TW_OK;
}

} // namespace
} // namespace tilewright::runtime

extern "C" {

/// The entries of a library call it with the words of their arguments. Returns a tw_status.
int tw_run_embedded(halide_buffer_t* plan, const halide_buffer_t* objects, const std::uint64_t* words,
                    std::int32_t on_device) {
    using namespace tilewright;
    using namespace tilewright::runtime;
    try {
        const Loaded& loaded = load(*plan, *objects);
        if (!loaded.executable) return fail(TW_FAILED, loaded.error);
        Arguments arguments(words);
        return run(*loaded.executable, arguments, on_device != 0);
    } catch (const DeviceError& e) {
        return fail(TW_DEVICE_ERROR, parse_plan(std::string(bytes_of(*plan))).function + "_cuda: " + e.what());
    } catch (const std::exception& e) {
        return fail(TW_OUT_OF_MEMORY, e.what());
    }
}

const char* tw_last_error(void) {
    return tilewright::runtime::t_error.c_str();
}

void tw_set_num_threads(int n) {
    tilewright::runtime::set_num_threads(n);
}
}
