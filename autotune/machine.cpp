// autotune/machine.cpp: reads the machine from /proc and /sys.
#include "autotune/machine.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "dsl/base/digest.h"
#include "dsl/base/dtypes.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/thread_budget.h"

namespace tilewright::autotune {
namespace {

std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
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
    const std::size_t unit = std::string_view("KMG").find(text.back());
    return std::atoll(text.c_str()) << (unit == std::string_view::npos ? 0 : 10 * (unit + 1));
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

constexpr double BandwidthLevel::*kRates[] = {&BandwidthLevel::read_gbps, &BandwidthLevel::write_gbps,
                                              &BandwidthLevel::copy_gbps};

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
    double plain_ns = 0, fused_ns = 0;
    const auto add = [&](bool is_fused, double flops, double plain_gflops, double fused_gflops) {
        const double gflops = is_fused ? fused_gflops : plain_gflops;
        if (flops > 0 && gflops > 0) (is_fused ? fused_ns : plain_ns) += flops / gflops;
    };
    add(fuses, work.flops.float32, float32_gflops, float32_fma_gflops);
    add(fuses, work.flops.float64, float64_gflops, float64_fma_gflops);
    add(fuses_products, work.flops.float32_products, float32_gflops, float32_fma_gflops);
    add(fuses_products, work.flops.float64_products, float64_gflops, float64_fma_gflops);
    if (plain_ns + fused_ns > found.ns)
        found = {plain_ns > fused_ns ? Roof::compute : Roof::fused_compute, plain_ns + fused_ns};
    return found;
}

void Roofline::raise_memory(double read_bytes, double written_bytes, double factor) {
    BandwidthLevel* const level = level_of(levels, read_bytes + written_bytes);
    if (level == nullptr) return;
    for (const auto rate : kRates)
        level->*rate *= factor;
}

void Roofline::raise_to(const Roofline& other) {
    for (std::size_t i = 0; i < std::min(levels.size(), other.levels.size()); ++i)
        for (const auto rate : kRates)
            levels[i].*rate = std::max(levels[i].*rate, other.levels[i].*rate);
    for (const auto peak : {&Roofline::float32_gflops, &Roofline::float64_gflops, &Roofline::float32_fma_gflops,
                            &Roofline::float64_fma_gflops})
        this->*peak = std::max(this->*peak, other.*peak);
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

DeviceFacts assumed_device() {
    DeviceFacts facts;
    facts.present = false;
    facts.name = "NVIDIA H100 (not here)";
    facts.major = 9;
    facts.multiprocessors = 132;
    facts.max_threads_per_block = 1024;
    facts.shared_bytes_per_block = 227 * 1024;
    facts.registers_per_multiprocessor = 65536;
    facts.l2_bytes = 50 << 20;
    facts.memory_bytes = std::int64_t{80} << 30;
    return facts;
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
    machine.cores = runtime::available_cores();
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
        machine.device =
            look && runtime::cuda::device_count() > 0 ? DeviceFacts{runtime::cuda::device(0)} : assumed_device();
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
        symbols["max_threads"] = machine.device->max_threads_per_block;
        symbols["shared_bytes"] = machine.device->shared_bytes_per_block;
        symbols["registers"] = machine.device->registers_per_multiprocessor;
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
