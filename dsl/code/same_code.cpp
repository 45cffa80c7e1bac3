// dsl/code/same_code.cpp: which lowered kernels are one code under other names.
#include "dsl/code/same_code.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;

namespace {

struct NodeCount : IRGraphVisitor {
    std::int64_t nodes = 0;
    using IRGraphVisitor::include;
    void include(const Halide::Expr& code) override {
        ++nodes;
        IRGraphVisitor::include(code);
    }
    void include(const Stmt& code) override {
        ++nodes;
        IRGraphVisitor::include(code);
    }
};

/// Names in the order in which they occur. What Halide's comparison of code leaves out becomes a part of a name:
/// 0.0 and -0.0 are equal to it, and memory of any kind.
class Renamed {
  public:
    explicit Renamed(const Halide::Module& module) {
        const auto& functions = module.functions();
        for (std::size_t k = 0; k < functions.size(); ++k)
            names_["::" + functions[k].name] = "::f" + std::to_string(k);
        for (const LoweredFunc& function : functions)
            code_.push_back(of(function));
    }

    bool operator==(const Renamed& other) const {
        return std::ranges::equal(code_, other.code_,
                                  [](const Stmt& one, const Stmt& another) { return graph_equal(one, another); });
    }

  private:
    Stmt of(const LoweredFunc& function) {
        // An argument is its place.
        for (std::size_t k = 0; k < function.args.size(); ++k) {
            const std::string& name = function.args[k].name;
            names_[name] = "a" + std::to_string(k);
            names_[name + ".buffer"] = names_[name] + ".buffer";
        }
        return mutate_with(
            function.body, [&](Mutator&, const Variable* op) { return Variable::make(op->type, renamed(op->name)); },
            [&](Mutator&, const FloatImm* op) {
                return Variable::make(op->type, "float " + std::to_string(std::bit_cast<std::uint64_t>(op->value)));
            },
            [&](Mutator& self, const Let* op) -> Halide::Expr {
                const Halide::Expr value = self.mutate(op->value);
                return Let::make(renamed(op->name), value, self.mutate(op->body));
            },
            [&](Mutator& self, const LetStmt* op) {
                const Halide::Expr value = self.mutate(op->value);
                return LetStmt::make(renamed(op->name), value, self.mutate(op->body));
            },
            [&](Mutator& self, const For* op) {
                const Halide::Expr min = self.mutate(op->min), extent = self.mutate(op->extent);
                return For::make(renamed(op->name), min, extent, op->for_type, op->partition_policy, op->device_api,
                                 self.mutate(op->body));
            },
            [&](Mutator& self, const Load* op) -> Halide::Expr {
                return Load::make(op->type, renamed(op->name) + outside(op->param, op->image), self.mutate(op->index),
                                  {}, {}, self.mutate(op->predicate), op->alignment);
            },
            [&](Mutator& self, const Store* op) {
                return Store::make(renamed(op->name) + outside(op->param, {}), self.mutate(op->value),
                                   self.mutate(op->index), {}, self.mutate(op->predicate), op->alignment);
            },
            [&](Mutator& self, const Allocate* op) {
                std::vector<Halide::Expr> extents;
                for (const Halide::Expr& extent : op->extents)
                    extents.push_back(self.mutate(extent));
                const std::string name = renamed(op->name) + " " + std::to_string(static_cast<int>(op->memory_type)) +
                                         " " + std::to_string(op->padding);
                return Allocate::make(name, op->type, op->memory_type, extents, self.mutate(op->condition),
                                      self.mutate(op->body), self.mutate(op->new_expr), op->free_function, op->padding);
            },
            [&](Mutator&, const Free* op) { return Free::make(renamed(op->name)); },
            [&](Mutator& self, const ProducerConsumer* op) {
                return ProducerConsumer::make(renamed(op->name), op->is_producer, self.mutate(op->body));
            });
    }

    std::string renamed(const std::string& name) {
        return names_.try_emplace(name, "n" + std::to_string(names_.size())).first->second;
    }

    /// Memory that comes from outside, and how it is aligned. Constants lie in a module of their own.
    std::string outside(const Halide::Parameter& parameter, const Halide::Buffer<>& image) const {
        if (image.defined()) return " image " + std::to_string(std::bit_cast<std::uintptr_t>(image.data()));
        return parameter.defined() ? " " + std::to_string(parameter.host_alignment()) : "";
    }

    std::map<std::string, std::string> names_;
    std::vector<Stmt> code_;
};

/// What is compared before any code.
std::string outline(const LoweredKernel& kernel) {
    std::string text = kernel.module.any_strict_float() ? "strict" : "";
    for (const LoweredFunc& function : kernel.module.functions()) {
        text += '|';
        text += std::to_string(static_cast<int>(function.linkage));
        for (const LoweredArgument& argument : function.args) {
            text += ' ';
            text += std::to_string(argument.kind) + std::to_string(argument.type.code()) + "." +
                    std::to_string(argument.type.bits()) + "." + std::to_string(argument.dimensions) + "." +
                    std::to_string(argument.alignment.modulus) + "." + std::to_string(argument.alignment.remainder);
        }
    }
    return text + "|" + std::to_string(kernel.nodes);
}

} // namespace

std::int64_t nodes_of(const Halide::Module& module) {
    NodeCount count;
    for (const LoweredFunc& function : module.functions())
        count.include(function.body);
    return count.nodes;
}

std::vector<std::size_t> first_with_same_code(const std::vector<LoweredKernel>& kernels) {
    std::map<std::string, std::vector<std::size_t>> alike; // by outline
    std::vector<std::optional<Renamed>> renamed(kernels.size());
    const auto code_of = [&](std::size_t k) -> const Renamed& {
        if (!renamed[k]) renamed[k].emplace(kernels[k].module);
        return *renamed[k];
    };
    std::vector<std::size_t> result;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        result.push_back(k);
        if (!kernels[k].module.buffers().empty()) continue; // constants, which have names too
        std::vector<std::size_t>& candidates = alike[outline(kernels[k])];
        const auto same = std::ranges::find_if(candidates, [&](std::size_t e) { return code_of(e) == code_of(k); });
        if (same != candidates.end())
            result[k] = *same;
        else
            candidates.push_back(k);
    }
    return result;
}

} // namespace tilewright::dsl
