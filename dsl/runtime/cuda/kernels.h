// dsl/runtime/cuda/kernels.h: what compiled kernels call to run on a device, in place of Halide's runtime, and the call
// that they belong to. Internal to dsl/runtime.
#pragma once

#include <HalideRuntime.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "dsl/runtime/cuda/context.h"
#include "dsl/runtime/cuda/launch.h"

namespace tilewright::runtime::cuda {

/// The error code that a kernel gets, and gives, when the device refuses or reports something.
inline constexpr int kDeviceFailed = -2101;

/// The arrays of every kernel that is called on this thread lie at `place` as long as this lives. Throws DeviceError.
class Call {
  public:
    explicit Call(const Place& place);
    /// Releases temporaries of kernels that an error ended.
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    static Call* current();
    const Place& place() const { return place_; }
    /// Where its work goes: the place's stream, or the one that is being recorded.
    Stream stream() const { return stream_; }
    bool is_recording() const { return recording_.owns_lock(); }
    /// Whether the caller captures the place's stream into a graph.
    bool is_captured() const { return is_captured_; }
    /// Where its launches are timed; null, as nearly always, where they are not.
    Profile* profile() const { return profile_; }
    void begin_recording();
    /// What was put on stream() since then, ready to be launched on the place's stream. Memory that was released
    /// meanwhile stays the call's until its end: each launch uses it.
    GraphExecutable end_recording();
    void launch_recorded(GraphExecutable recorded, std::uint64_t kernels);
    /// A kernel of so many threads is put on stream().
    void count_launch(std::uint64_t threads);
    static void forget_recorded(GraphExecutable recorded);
    /// A temporary of the plan or of a kernel is not needed any more.
    void give_back(void* pointer);
    DeviceState& device() const { return entered_.state(); }
    /// Memory of the device that is given back at the end of the call, whatever becomes of it; throws DeviceError
    /// where there is none. `what`: for the text.
    void* allocate_temporary(std::size_t bytes, const char* what);
    /// False where it is none of the call's.
    bool forget_temporary(void* pointer) { return std::erase(temporaries_, pointer) > 0; }

    /// What went wrong in it. The first error counts.
    void fail(std::string text) {
        if (error_.empty()) error_ = std::move(text);
    }
    const std::string& error() const { return error_; }

    /// 0, or kDeviceFailed where the action throws.
    template <class Action> int attempt(Action&& action) noexcept {
        try {
            action();
            return 0;
        } catch (const std::exception& e) {
            fail(e.what());
            return kDeviceFailed;
        }
    }

  private:
    Entered entered_;
    Place place_;
    Stream stream_;
    Call* before_;
    Profile* profile_;
    bool is_captured_;
    std::unique_lock<std::mutex> recording_;
    std::uint64_t recorded_threads_ = 0;
    std::vector<void*> held_, temporaries_;
    std::string error_;
};

DeviceError out_of_device_memory(const Place& place, std::size_t bytes, const char* of);

/// What is timing this thread's launches; null where nothing is.
Profile* current_profile();
FunctionFacts facts_of(Function function, std::string name);

/// What stands in a halide_buffer_t whose array lies on a device.
const halide_device_interface_t* device_interface();

// ---- the names that kernels import ----
int initialize_kernels(void* user_context, void** state, const char* ptx, int size);
int run_kernel(void* user_context, void* state, const char* entry, int blocks_x, int blocks_y, int blocks_z,
               int threads_x, int threads_y, int threads_z, int shared_bytes, std::size_t* sizes, void** arguments,
               std::int8_t* is_buffer);
void finalize_kernels(void* user_context, void* state);
int device_malloc(void* user_context, halide_buffer_t* buffer, const halide_device_interface_t* interface);
int device_free(void* user_context, halide_buffer_t* buffer);
void device_free_as_destructor(void* user_context, void* buffer);
/// The array is there already, or this is an error.
int copy_to_device_of_kernel(void* user_context, halide_buffer_t* buffer, const halide_device_interface_t* interface);

/// What was loaded for code whose data lie here, which are about to be unmapped, is unloaded when code is loaded the
/// next time: what was launched may still run. What a captured graph launches stays.
void forget_kernels(const void* begin, std::size_t bytes) noexcept;

/// A device function of a module of ours or of a kernel, ready to be launched.
void launch(Call& call, Function function, const char* name, const LaunchShape& shape, void** arguments,
            const LaunchedArrays& arrays = {});

/// Loads PTX on the device of the current context. Throws DeviceError with the log of the driver's compiler.
Module load_module(const Device& device, const char* ptx, const char* what);

} // namespace tilewright::runtime::cuda
