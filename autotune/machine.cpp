// autotune/machine.cpp: reads the machine from /proc and /sys.
#include "autotune/machine.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sched.h>
#include <sstream>
#include <string_view>
#include <unistd.h>

#include "dsl/base/digest.h"
#include "dsl/base/dtypes.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/cuda/device.h"

namespace tilewright::autotune {
namespace {

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

/// Cores that `quota` microseconds in each `period` amount to, rounded up; no quota is a large number.
int cores_of_quota(double quota_us, double period_us) {
    if (quota_us <= 0 || period_us <= 0) return 1 << 20;
    return std::max(1, static_cast<int>(std::ceil(quota_us / period_us)));
}

/// The smallest quota of this process's cgroup and those above it, version 2 or 1.
int cores_of_cgroup() {
    int cores = 1 << 20;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        const bool unified = controllers.empty();
        if (!unified && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
        const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
        // Inside a container the path may be the host's and not exist below the mount: the mount's own files still
        // count.
        for (;;) {
            const std::string folder = root + (path == "/" ? "" : path);
            if (unified) {
                std::istringstream words(read_line(folder + "/cpu.max"));
                std::string quota;
                double period_us = 0;
                if (words >> quota >> period_us && quota != "max")
                    cores = std::min(cores, cores_of_quota(std::atof(quota.c_str()), period_us));
            } else {
                const double quota_us = std::atof(read_line(folder + "/cpu.cfs_quota_us").c_str());
                const double period_us = std::atof(read_line(folder + "/cpu.cfs_period_us").c_str());
                cores = std::min(cores, cores_of_quota(quota_us, period_us));
            }
            if (path.empty() || path == "/") break;
            path.erase(path.find_last_of('/'));
        }
    }
    return cores;
}

int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
    if (cores < 1) cores = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    return std::max(1, std::min(cores, cores_of_cgroup()));
}

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    std::string model = "unknown CPU";
    std::string family;
    for (std::string line; std::getline(info, line) && !line.empty();) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = line.substr(colon + 2);
        if (line.rfind("model name", 0) == 0)
            model = value;
        else if (line.rfind("cpu family", 0) == 0 || line.rfind("model\t", 0) == 0 || line.rfind("stepping", 0) == 0)
            family += (family.empty() ? "" : ".") + value;
    }
    // Virtual machines often hide the name; family.model.stepping still tells two of them apart.
    return family.empty() ? model : model + " (" + family + ")";
}

std::int64_t bytes_of_cache_size(const std::string& text) {
    if (text.empty()) return 0;
    const std::int64_t count = std::atoll(text.c_str());
    switch (text.back()) {
    case 'K':
        return count << 10;
    case 'M':
        return count << 20;
    case 'G':
        return count << 30;
    default:
        return count;
    }
}

void read_caches(Machine& machine) {
    for (int index = 0; index < 8; ++index) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        const std::string level = read_line(folder + "level");
        if (level.empty()) break;
        if (read_line(folder + "type") == "Instruction") continue;
        const std::int64_t bytes = bytes_of_cache_size(read_line(folder + "size"));
        if (bytes <= 0) continue;
        if (level == "1") machine.l1_bytes = bytes;
        if (level == "2") machine.l2_bytes = bytes;
        if (level == "3") machine.l3_bytes = bytes;
    }
}

DeviceFacts read_device() {
    DeviceFacts facts;
    if (runtime::cuda::device_count() == 0) return facts;
    const runtime::cuda::Device& device = runtime::cuda::device(0);
    facts.present = true;
    facts.ordinal = device.ordinal;
    facts.name = device.name;
    facts.major = device.major;
    facts.minor = device.minor;
    facts.multiprocessors = device.multiprocessors;
    facts.max_threads = device.max_threads_per_block;
    facts.shared_bytes = device.shared_bytes_per_block;
    facts.registers = device.registers_per_multiprocessor;
    facts.l2_bytes = device.l2_bytes;
    facts.memory_bytes = device.memory_bytes;
    return facts;
}

/// The largest that is not larger than the data; null where all are.
template <class Levels> auto level_of(Levels& levels, double bytes) -> decltype(levels.data()) {
    decltype(levels.data()) found = nullptr;
    for (auto& level : levels)
        if (static_cast<double>(level.bytes) <= bytes) found = &level;
    return found;
}

} // namespace

double Roofline::memory_bound_ns(double read_bytes, double written_bytes) const {
    const BandwidthLevel* const found = level_of(levels, read_bytes + written_bytes);
    if (found == nullptr || found->read_gbps <= 0 || found->write_gbps <= 0 || found->copy_gbps <= 0) return 0;
    // Reads and writes may overlap on some machines and not on others: copying shows what a mix really gets, so the
    // part that reads as much as it writes goes at the copy's rate and only the rest at the pure rate.
    const double mixed = std::min(read_bytes, written_bytes);
    return 2 * mixed / found->copy_gbps + (read_bytes - mixed) / found->read_gbps +
           (written_bytes - mixed) / found->write_gbps;
}

Bound Roofline::bound(const CallWork& work) const {
    Bound found;
    const double memory_ns = memory_bound_ns(work.read_bytes, work.written_bytes);
    if (memory_ns > 0) found = {Roof::memory, memory_ns};
    const bool fuses = work.contract == "fast";
    const bool fuses_products = work.contract != "reproducible";
    const auto add = [](double& ns, double flops, double gflops) {
        if (flops > 0 && gflops > 0) ns += flops / gflops;
    };
    double plain_ns = 0, fused_ns = 0;
    add(fuses ? fused_ns : plain_ns, work.flops.float32, fuses ? float32_fma_gflops : float32_gflops);
    add(fuses ? fused_ns : plain_ns, work.flops.float64, fuses ? float64_fma_gflops : float64_gflops);
    add(fuses_products ? fused_ns : plain_ns, work.flops.float32_products,
        fuses_products ? float32_fma_gflops : float32_gflops);
    add(fuses_products ? fused_ns : plain_ns, work.flops.float64_products,
        fuses_products ? float64_fma_gflops : float64_gflops);
    if (plain_ns + fused_ns > found.ns)
        found = {plain_ns > fused_ns ? Roof::compute : Roof::fused_compute, plain_ns + fused_ns};
    return found;
}

void Roofline::raise_memory(double read_bytes, double written_bytes, double factor) {
    BandwidthLevel* const level = level_of(levels, read_bytes + written_bytes);
    if (level == nullptr) return;
    level->read_gbps *= factor;
    level->write_gbps *= factor;
    level->copy_gbps *= factor;
}

void Roofline::raise_to(const Roofline& other) {
    for (std::size_t i = 0; i < std::min(levels.size(), other.levels.size()); ++i) {
        levels[i].read_gbps = std::max(levels[i].read_gbps, other.levels[i].read_gbps);
        levels[i].write_gbps = std::max(levels[i].write_gbps, other.levels[i].write_gbps);
        levels[i].copy_gbps = std::max(levels[i].copy_gbps, other.levels[i].copy_gbps);
    }
    float32_gflops = std::max(float32_gflops, other.float32_gflops);
    float64_gflops = std::max(float64_gflops, other.float64_gflops);
    float32_fma_gflops = std::max(float32_fma_gflops, other.float32_fma_gflops);
    float64_fma_gflops = std::max(float64_fma_gflops, other.float64_fma_gflops);
}

const char* roof_name(Roof roof) {
    static constexpr const char* kNames[] = {"", "memory", "compute without FMA", "compute with FMA"};
    return kNames[static_cast<std::size_t>(roof)];
}

int Machine::vector_bytes() const {
    return target_of_rank(isa_rank(isa)).vector_bytes;
}

int Machine::lanes(const std::string& dtype) const {
    const DTypeInfo* const known = find_dtype(dtype);
    return known == nullptr ? 0 : vector_bytes() / known->bytes;
}

Machine this_machine(const std::string& isa, bool look) {
    Machine machine;
    if (isa == "host" || isa.empty())
        machine.isa = target_of_rank(machine_isa_rank()).name;
    else
        machine.isa = isa == "cuda" ? cuda_target(kUsualCudaCapability) : isa;
    if (isa_rank(machine.isa) == 0 && !is_cuda_target(machine.isa))
        throw DeviceError("target " + isa + ": not a known instruction set.",
                          "Use host, " + dsl::joined(host_targets(), ", ") + " or cuda.");
    machine.cpu_model = cpu_model();
    machine.cores = usable_cores();
    read_caches(machine);
    // The fingerprint is the CPU's: records of a lower level on this machine differ by their workload key, not by this.
    std::ostringstream facts;
    facts << machine.cpu_model << '\n'
          << target_of_rank(cpu_isa_rank()).name << '\n'
          << machine.cores << '\n'
          << machine.l1_bytes << '\n'
          << machine.l2_bytes << '\n'
          << machine.l3_bytes << '\n';
    if (is_cuda_target(machine.isa)) {
        machine.device = look ? read_device() : DeviceFacts();
        machine.l2_bytes = machine.device->l2_bytes;
        machine.cpu_model = machine.device->name + " beside " + machine.cpu_model;
        // Records of one kind of device serve all of it, whatever CPU is beside it.
        facts.str("");
        facts << machine.device->name << '\n'
              << machine.device->major << '.' << machine.device->minor << '\n'
              << machine.device->multiprocessors << '\n'
              << (machine.device->memory_bytes >> 30) << '\n'
              << (machine.device->present ? "" : "assumed\n");
    }
    machine.fingerprint = dsl::digest(facts.str());
    return machine;
}

dsl::Environment make_environment(const dsl::AlgorithmInfo& info, const Machine& machine) {
    std::map<std::string, std::int64_t> symbols = {{"cores", machine.cores},
                                                   {"l1_bytes", machine.l1_bytes},
                                                   {"l2_bytes", machine.l2_bytes},
                                                   {"l3_bytes", machine.l3_bytes}};
    if (machine.device) {
        symbols["multiprocessors"] = machine.device->multiprocessors;
        symbols["max_threads"] = machine.device->max_threads;
        symbols["shared_bytes"] = machine.device->shared_bytes;
        symbols["registers"] = machine.device->registers;
    }
    for (const dsl::SizeInfo& size : info.sizes)
        if (size.here >= 0) symbols.emplace(size.name, size.here);
    std::map<std::string, std::int64_t> extents;
    auto add_loops = [&](const std::string& stage, const dsl::DefinitionInfo& definition) {
        for (const dsl::LoopInfo& loop : definition.loops) {
            if (loop.extent_here < 0) continue;
            extents.emplace(stage + "." + loop.name, loop.extent_here);
            // A bare loop name means the largest loop of that name: a constraint then errs on the side of fewer points.
            std::int64_t& any_stage = extents[loop.name];
            any_stage = std::max(any_stage, loop.extent_here);
        }
    };
    for (const dsl::StageInfo& stage : info.stages) {
        add_loops(stage.name, stage.pure);
        for (const dsl::DefinitionInfo& update : stage.updates)
            add_loops(stage.name, update);
    }
    return [symbols = std::move(symbols), extents = std::move(extents),
            machine](const dsl::Expression& expression) -> std::optional<std::int64_t> {
        if (expression.op() == dsl::Expression::Op::symbol) {
            const auto found = symbols.find(expression.name());
            if (found == symbols.end()) return std::nullopt;
            return found->second;
        }
        if (expression.op() != dsl::Expression::Op::call || expression.operands().size() != 1) return std::nullopt;
        const std::string& name = expression.operands().front().name(); // float64, k, labels.k
        if (expression.name() == "lanes") {
            const int lanes = machine.lanes(name);
            return lanes > 0 ? std::optional<std::int64_t>(lanes) : std::nullopt;
        }
        if (expression.name() == "extent") {
            const auto found = extents.find(name);
            if (found != extents.end()) return found->second;
        }
        return std::nullopt;
    };
}

} // namespace tilewright::autotune
