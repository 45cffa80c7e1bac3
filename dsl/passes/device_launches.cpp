// dsl/passes/device_launches.cpp: checks the loops of device kernels, and rewrites the calls around them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/check/device_limits.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// What a block may ask for on devices of today (compute capability 9.0), all but a KiB of 228.
constexpr std::int64_t kMostSharedBytes = 227 * 1024;
/// Of each thread, in the device's memory: a multiple of what pays, far below CUDA's limit of 512 KiB.
constexpr std::int64_t kMostLocalBytes = 64 * 1024;

[[noreturn]] void on_host(const std::string& name) {
    throw ScheduleError(name + ": runs on the host, and its arrays lie on the device.",
                        "Give it loops over blocks, as gpu_tile(i, io, ii, 128) does, or gpu_single_thread().");
}

/// "distance.s0.i" -> "distance"
std::string stage_of(const std::string& name) {
    return name.substr(0, name.find('.'));
}

/// One device kernel: how many threads, how much memory.
void check_block(const std::string& kernel, const Stmt& loops) {
    std::array<std::int64_t, 3> threads = {1, 1, 1};
    std::int64_t shared_bytes = 0, local_bytes = 0, largest_bytes = 0;
    std::string largest;
    for_each_node(
        loops,
        [&](const For* op) {
            for (int k = 0; k < 3; ++k) {
                if (!ends_with(op->name, gpu_thread_name(k))) continue;
                const auto count = as_const_int(op->extent);
                if (!count) {
                    throw ScheduleError(kernel + ": the number of threads of a block is not constant.",
                                        "Split the loop before gpu_threads, as gpu_tile(i, io, ii, 128) does.");
                }
                std::int64_t& most = threads[static_cast<std::size_t>(k)];
                most = std::max(most, *count);
            }
        },
        [&](const Allocate* op) {
            const std::int64_t bytes = std::int64_t{op->constant_allocation_size()} * op->type.bytes();
            if (op->memory_type == MemoryType::GPUShared) {
                shared_bytes += bytes; // 0 where it is not constant
                return;
            }
            if (bytes == 0) {
                throw ScheduleError(stage_of(op->name) +
                                        ": its size is not constant, as that of registers and of a stack is.",
                                    "Bound its loops (bound, or specialize on the sizes), or store_in(heap).");
            }
            local_bytes += bytes;
            if (bytes <= largest_bytes) return;
            largest_bytes = bytes;
            largest = stage_of(op->name);
        });
    const std::int64_t all = threads[0] * threads[1] * threads[2];
    if (all > kMostThreads || threads[2] > kMostThreadsInZ) {
        throw ScheduleError(kernel + ": " + std::to_string(all) + " threads a block (" + std::to_string(threads[0]) +
                                " x " + std::to_string(threads[1]) + " x " + std::to_string(threads[2]) +
                                "); CUDA has at most " + std::to_string(kMostThreads) + ", and " +
                                std::to_string(kMostThreadsInZ) + " in the third dimension.",
                            "Use smaller factors, such as 128 in all.");
    }
    if (shared_bytes > kMostSharedBytes) {
        throw ScheduleError(kernel + ": " + std::to_string(shared_bytes) +
                                " bytes of memory that the threads of a block share, more than " +
                                std::to_string(kMostSharedBytes) + ".",
                            "Use smaller blocks, compute stages further in, or store_in(heap).");
    }
    if (local_bytes > kMostLocalBytes) {
        throw ScheduleError(kernel + ": " + std::to_string(local_bytes) + " bytes of memory of each thread (" +
                                largest + " is the largest array), more than " + std::to_string(kMostLocalBytes) + ".",
                            "Compute stages further in, or store_in(heap).");
    }
}

/// A constant that a number of elements does not exceed; -1 where there is no such constant. `size` is built of extents
/// that are not negative, products and maxima. `counter`: the name of what the host counts in.
std::int64_t bound_of(const Expr& size, const std::string& counter) {
    if (const Max* both = size.as<Max>()) {
        const std::int64_t a = bound_of(both->a, counter), b = bound_of(both->b, counter);
        return a < 0 || b < 0 ? -1 : std::max(a, b);
    }
    if (const Mul* product = size.as<Mul>()) {
        const std::int64_t a = bound_of(product->a, counter), b = bound_of(product->b, counter);
        return a < 0 || b < 0 || a > INT32_MAX || b > INT32_MAX ? -1 : a * b;
    }
    const Load* before = size.as<Load>();
    if (before && before->name == counter) return 0;
    const auto constant = as_const_int(find_constant_bound(size, Direction::Upper, Scope<Interval>()));
    return constant && *constant <= INT32_MAX ? std::max<std::int64_t>(*constant, 0) : -1;
}

/// Halide counts on the host how much shared memory the largest block needs.
bool is_of_host(const std::string& name) {
    return ends_with(name, ".shared_size");
}

/// Where the memory that a block shares follows from sizes and the block's number, Halide has the host walk over all
/// blocks before each launch, for the largest. A tile has a constant that no block exceeds: by the name of what the
/// host counts in, -1 where there is none.
std::map<std::string, std::int64_t> shared_bounds(const Stmt& statement) {
    std::map<std::string, std::int64_t> most;
    Lets lets;
    visit_with(
        statement,
        [&](Visitor& self, const LetStmt* op) {
            lets.emplace_back(op->name, op->value);
            op->body.accept(&self);
            lets.pop_back();
        },
        [](Visitor& self, const For* op) {
            if (op->for_type != ForType::GPUBlock) self.inside(op);
        },
        [&](Visitor&, const Store* op) {
            if (!is_of_host(op->name)) return;
            const Expr size = substitute_in_all_lets(within_used<Let>(lets, op->value));
            const std::int64_t bound = bound_of(size, op->name);
            const auto found = most.emplace(op->name, bound).first;
            found->second = bound < 0 || found->second < 0 ? -1 : std::max(found->second, bound);
        });
    return most;
}

std::string buffer_of(const Call* call) {
    const Variable* buffer = call->args.empty() ? nullptr : call->args[0].as<Variable>();
    return buffer ? stage_of(buffer->name) : "a stage";
}

} // namespace

Stmt device_launches(const Stmt& statement) {
    const std::map<std::string, std::int64_t> shared = shared_bounds(statement);
    std::set<std::string> nowhere; // arrays without memory on the host
    // A constant number of elements in the place of what the host would count; -1 where there is none.
    const auto bound = [&](const std::string& name) {
        const auto found = shared.find(name);
        return found == shared.end() ? -1 : found->second;
    };
    return mutate_with(
        statement,
        [&](Mutator& self, const LetStmt* op) {
            if (ends_with(op->name, ".shared_size_var")) {
                const std::int64_t most = bound(op->name.substr(0, op->name.size() - 4));
                if (most >= 0) return self.mutate(substitute(op->name, static_cast<int>(most), op->body));
            }
            const Expr value = self.mutate(op->value);
            if (!value.same_as(op->value) || is_const(value) || !shared.empty()) {
                if (const auto constant = as_const_int(simplify(value)); constant && value.type() == Int(32))
                    return self.mutate(substitute(op->name, static_cast<int>(*constant), op->body));
            }
            return LetStmt::make(op->name, value, self.mutate(op->body));
        },
        [&](Mutator& self, const For* op) {
            if (op->for_type != ForType::GPUBlock) {
                // Of these only the launches inside are done by the host.
                if (op->for_type != ForType::Serial) on_host(stage_of(op->name));
                const Stmt mutated = self.inside(op);
                return is_no_op(mutated.as<For>()->body) ? Evaluate::make(0) : mutated;
            }
            check_block(stage_of(op->name), op);
            return Stmt(op);
        },
        [&](Mutator& self, const Store* op) {
            if (!is_of_host(op->name)) on_host(stage_of(op->name));
            return bound(op->name) >= 0 ? Evaluate::make(0) : self.inside(op);
        },
        [&](Mutator& self, const Load* op) {
            if (!is_of_host(op->name)) on_host(stage_of(op->name));
            return self.inside(op);
        },
        // Arrays that only the device touches have no memory on the host.
        [&](Mutator& self, const Allocate* op) {
            if (!is_const_zero(op->condition) && bound(op->name) < 0) return self.inside(op);
            nowhere.insert(op->name);
            return self.mutate(op->body);
        },
        [&](Mutator&, const Free* op) { return nowhere.count(op->name) ? Evaluate::make(0) : Stmt(op); },
        [&](Mutator& self, const Evaluate* op) {
            const Call* call = op->value.as<Call>();
            if (!call) return self.inside(op);
            if (call->name == "halide_copy_to_device") return Evaluate::make(0);
            if (call->name == "halide_copy_to_host" || call->name == "halide_device_and_host_malloc" ||
                call->name == "halide_device_and_host_free") {
                on_host(buffer_of(call));
            }
            if (call->name == "halide_device_malloc") return call_extern_and_assert(call->name, call->args);
            return self.inside(op);
        });
}

} // namespace tilewright::dsl
