// autotune/machine.h: the facts of this machine that spaces, schedules and the store's keys depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/language/space.h"
#include "dsl/model/algorithm.h"
#include "dsl/runtime/cuda/device.h"

namespace tilewright::autotune {

/// What memory gives to plain loads and stores on all usable cores, for data of about `bytes`.
struct BandwidthLevel {
    std::int64_t bytes = 0;
    double read_gbps = 0;
    double write_gbps = 0;
    double copy_gbps = 0; ///< bytes read plus bytes written, a second
};

/// Operations on floating-point numbers that a call does at least; a multiply-add is two. Those of matrix products
/// stand apart: what a library makes of them may be fused where the contract lets nothing else be.
struct Flops {
    double float32 = 0;
    double float64 = 0;
    double float32_products = 0;
    double float64_products = 0;
    double total() const { return float32 + float64 + float32_products + float64_products; }
};

/// What a call does at least, for its limits.
struct CallWork {
    double read_bytes = 0;
    double written_bytes = 0;
    Flops flops;
    std::string contract = "numpy";
};

/// Which limit binds.
enum class Roof { none, memory, compute, fused_compute };
/// "memory", "compute without FMA", "compute with FMA".
const char* roof_name(Roof roof);

struct Bound {
    Roof roof = Roof::none;
    double ns = 0; ///< the least time of a call; 0: no claim
};

/// Measured limits of the machine. Empty levels: not measured.
struct Roofline {
    std::vector<BandwidthLevel> levels; ///< by rising size
    double float32_gflops = 0;          ///< separate multiply and add, as contract "numpy" runs them
    double float64_gflops = 0;
    double float32_fma_gflops = 0; ///< fused multiply-add, a pair counted as two
    double float64_fma_gflops = 0;

    bool measured() const { return !levels.empty(); }
    /// The least time in which `read` and `written` bytes can pass; 0 where no level is that small.
    double memory_bound_ns(double read_bytes, double written_bytes) const;
    /// The limit that leaves the most time: the one that a call is near to first.
    Bound bound(const CallWork& work) const;
    /// What bounds such a call is `factor` times as high.
    void raise_memory(double read_bytes, double written_bytes, double factor);
    /// Each limit is the higher of two measurements': a busy machine gives less than it could, never more.
    void raise_to(const Roofline& other);
};

/// What schedules for a CUDA device depend on.
struct DeviceFacts : runtime::cuda::Device {
    bool present = true; ///< false: nothing can be measured here
};
/// An H100: what a machine without a device builds for.
DeviceFacts assumed_device();

struct Machine {
    std::string isa;       ///< what candidates are built for: x86-64, x86-64-v3 or x86-64-v4, or a CUDA target
    std::string cpu_model; ///< as /proc/cpuinfo spells it
    int cores = 1;         ///< affinity cut by the cgroup's quota, at least 1
    std::int64_t l1_bytes = 32 * 1024;
    std::int64_t l2_bytes = 1024 * 1024;
    std::int64_t l3_bytes = 8 * 1024 * 1024;
    std::string fingerprint; ///< 32 hexadecimal digits of model, ISA, caches and cores
    Roofline roofline;
    std::optional<DeviceFacts> device; ///< where `isa` is a CUDA target: what runs the candidates; limits are its

    bool is_device() const { return device.has_value(); }
    /// Values of `dtype` in one vector register of `isa`; 0 for an unknown dtype.
    int lanes(const std::string& dtype) const;
    int vector_bytes() const;
};

/// Reads the machine; measures nothing. `isa` "host" is what the CPU has (or TILEWRIGHT_ISA says); a lower one is taken
/// as asked. For a CUDA target the first device is asked, and an H100 is assumed where there is none, or where `look`
/// is false: a process that only builds need not wake the driver.
Machine this_machine(const std::string& isa = "host", bool look = true);
/// The symbols and calls of a space's conditions: cores, l1_bytes, l2_bytes, l3_bytes, sizes of the program,
/// lanes(dtype), extent(stage.loop) and extent(loop) at the sizes of `info`; on a device multiprocessors,
/// max_threads, shared_bytes, registers too, and l2_bytes is the device's.
dsl::Environment make_environment(const dsl::AlgorithmInfo& info, const Machine& machine);

} // namespace tilewright::autotune
