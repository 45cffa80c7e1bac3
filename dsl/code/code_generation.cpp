// dsl/code/code_generation.cpp: lowered kernels to objects, as many of them at once as can be.
#include "dsl/code/code_generation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/code/device_code.h"
#include "dsl/code/isa.h"
#include "dsl/code/object_symbols.h"
#include "dsl/code/same_code.h"
#include "dsl/passes/memory_hints.h"

namespace tilewright::dsl {

using Halide::OutputFileType;
using Halide::Target;

namespace {

/// A file in memory that Halide can open by name: it only writes to files.
class MemoryFile {
  public:
    MemoryFile() : descriptor_(memfd_create("tilewright", MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw InternalError("no memory for a file: memfd_create failed.");
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { close(descriptor_); }

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
    std::string content() const {
        struct stat status {};
        if (fstat(descriptor_, &status) != 0) throw InternalError("a file in memory is gone.");
        std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
        std::size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t got = pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
            if (got <= 0) throw InternalError("a file in memory cannot be read.");
            done += static_cast<std::size_t>(got);
        }
        return bytes;
    }

  private:
    int descriptor_;
};

/// What an object leaves undefined, and kernels do not have; "" for nothing.
std::string missing_symbol(const std::string& object, bool device) {
    for (const std::string& symbol : undefined_symbols(object))
        if (!runtime_has(symbol) && !(device && device_runtime_has(symbol))) return symbol;
    return "";
}

void take_hints(EmittedKernel& kernel) {
    const MemoryHints found = apply_memory_hints(kernel.object);
    kernel.nontemporal_stores = found.stores;
    kernel.prefetches = found.prefetches;
}

EmittedKernel generate_alone(LoweredKernel kernel, const EmitOptions& options) {
    EmittedKernel result;
    const bool device = kernel.module.target().has_feature(Target::CUDA);
    if (device) {
        DeviceCode code = finish_device_code(kernel.module, kernel.name, options.contract != "fast");
        kernel.module = std::move(code.module);
        result.device_code = std::move(code.text);
        result.device_kernels = code.kernels;
        result.shared_bytes = code.shared_bytes;
    }

    MemoryFile object;
    MemoryFile assembly;
    MemoryFile lowered;
    std::map<OutputFileType, std::string> files = {{OutputFileType::object, object.path()}};
    if (options.assembly) {
        files[OutputFileType::assembly] = assembly.path();
        files[device ? OutputFileType::conceptual_stmt : OutputFileType::stmt] = lowered.path();
    }
    kernel.module.compile(files);

    result.name = kernel.name;
    result.object = object.content();
    if (kernel.hints) take_hints(result);
    if (options.assembly) {
        result.assembly = device ? result.device_code : assembly.content();
        result.lowered = lowered.content();
    }
    const std::string symbol = missing_symbol(result.object, device);
    if (!symbol.empty()) {
        throw ScheduleError(kernel.name + ": the schedule needs " + symbol + ", which kernels do not have.",
                            symbol.find("mutex") != std::string::npos ? "Take atomic() away." : "");
    }
    return result;
}

/// The first one has the object of all; without one where some kernel cannot be compiled.
EmittedKernel generate_together(const std::vector<const LoweredKernel*>& kernels) {
    const Halide::Module& first = kernels.front()->module;
    Halide::Module whole(first.name(), first.target());
    whole.set_any_strict_float(first.any_strict_float());
    for (const LoweredKernel* kernel : kernels) {
        for (const auto& buffer : kernel->module.buffers())
            whole.append(buffer);
        for (const auto& function : kernel->module.functions())
            whole.append(function);
    }
    EmittedKernel result;
    result.name = kernels.front()->name;
    MemoryFile object;
    try {
        whole.compile({{OutputFileType::object, object.path()}});
    } catch (const Halide::Error&) { // which one it is shows where each is compiled alone
        return result;
    }
    std::string bytes = object.content();
    if (!missing_symbol(bytes, false).empty()) return result;
    result.object = std::move(bytes);
    if (std::any_of(kernels.begin(), kernels.end(), [](const LoweredKernel* kernel) { return kernel->hints; }))
        take_hints(result);
    return result;
}

/// Kernels that one LLVM module has, and its object.
struct Share {
    std::vector<const LoweredKernel*> kernels; ///< in the order of the build
    EmittedKernel first;                       ///< its object has the code of all; none where some cannot be compiled
};

/// A module has so much code at least, where a build has more than one: some 0.2 s of compilation.
constexpr std::int64_t kNodesOfAShare = 3000;
constexpr std::int64_t kMostShares = 8;

/// The largest kernels first, each to the share that has the least. What the machine is does not count: the same build
/// gives the same objects everywhere.
void add_shares(const std::vector<const LoweredKernel*>& kernels, std::vector<Share>* shares) {
    std::vector<std::pair<std::int64_t, std::size_t>> sizes; // with the kernel's place
    std::int64_t all = 0;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        sizes.emplace_back(kernels[k]->nodes, k);
        all += sizes.back().first;
    }
    std::ranges::stable_sort(sizes, std::greater(), &std::pair<std::int64_t, std::size_t>::first);
    const std::int64_t most = std::min(kMostShares, static_cast<std::int64_t>(kernels.size()));
    std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> parts(
        static_cast<std::size_t>(std::clamp<std::int64_t>(all / kNodesOfAShare, 1, most)));
    for (const auto& [nodes, k] : sizes) {
        auto& [held, places] = *std::ranges::min_element(parts, {}, [](const auto& part) { return part.first; });
        held += nodes;
        places.push_back(k);
    }
    for (auto& [nodes, places] : parts) {
        std::ranges::sort(places);
        Share& share = shares->emplace_back();
        for (const std::size_t k : places)
            share.kernels.push_back(kernels[k]);
    }
}

void generate(std::vector<Share>& shares, int threads) {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t k = next++; k < shares.size(); k = next++)
            shares[k].first = generate_together(shares[k].kernels);
    };
    std::vector<std::jthread> helpers;
    for (std::size_t k = 1; k < std::min(shares.size(), static_cast<std::size_t>(threads)); ++k)
        helpers.emplace_back(work);
    work();
}

} // namespace

std::vector<EmittedKernel> generate_code(std::vector<LoweredKernel> kernels, const EmitOptions& options,
                                         std::map<std::string, KernelCode>* code) {
    // An LLVM module begins with 170 functions of Halide's, which are read, linked, looked at by the first passes and
    // thrown away: two thirds of the time that a small kernel takes. Nothing of a function depends on the others of its
    // module but this one flag.
    std::map<bool, std::vector<const LoweredKernel*>> together; // by any_strict_float()
    if (!options.assembly && !is_cuda_isa(options.isa)) {
        const std::vector<std::size_t> first = first_with_same_code(kernels);
        for (std::size_t k = 0; k < kernels.size(); ++k)
            if (first[k] == k) {
                together[kernels[k].module.any_strict_float()].push_back(&kernels[k]);
            } else {
                (*code)[kernels[k].name] = {"", kernels[first[k]].name};
            }
    }
    std::vector<Share> shares;
    for (const auto& [strict, some] : together)
        if (some.size() > 1) add_shares(some, &shares);
    generate(shares, options.threads);
    std::map<std::string, EmittedKernel> objects; // by the first kernel of each
    for (Share& share : shares) {
        if (share.first.object.empty()) continue;
        for (const LoweredKernel* kernel : share.kernels)
            (*code)[kernel->name] = {share.first.name, kernel->name};
        objects[share.first.name] = std::move(share.first);
    }
    std::vector<EmittedKernel> result;
    for (LoweredKernel& kernel : kernels) {
        if (const auto object = objects.find(kernel.name); object != objects.end()) {
            result.push_back(std::move(object->second));
        } else if (code->count(kernel.name) != 0) {
            result.emplace_back().name = kernel.name;
        } else {
            const std::string name = kernel.name;
            (*code)[name] = {name, name};
            result.push_back(guarded(name, [&] { return generate_alone(std::move(kernel), options); }));
        }
    }
    for (auto& [name, where] : *code)
        if (where.object.empty()) where.object = code->at(where.symbol).object;
    return result;
}

} // namespace tilewright::dsl
