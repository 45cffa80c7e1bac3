// dsl/passes/placed_outputs.cpp: adds the place of a part to the index of its stores.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;

namespace {

Stmt in_their_places(const Stmt& statement, const std::vector<PlacedOutput>& outputs) {
    // A read that the simplifier has dropped (y[i] - y[i] of integers) has taken the name of its buffer along.
    const std::set<std::string> loaded = loaded_names(statement);
    return mutate_with(statement, [&](Mutator& self, const Store* op) {
        const Stmt mutated = self.inside(op);
        const Store* store = mutated.as<Store>();
        const auto found = std::ranges::find(outputs, op->name, &PlacedOutput::func);
        if (!store || found == outputs.end()) return mutated;
        Halide::Expr offset = found->offset;
        const int lanes = store->index.type().lanes();
        if (lanes > 1) offset = Broadcast::make(offset, lanes);
        const auto is_loaded = [&](const std::string& name) { return loaded.count(name) != 0; };
        const std::string own[] = {found->input, found->flat_input};
        const auto* name = std::ranges::find_if(own, is_loaded);
        const bool in_place = name != std::end(own);
        return Store::make(in_place ? *name : store->name, store->value, simplify(store->index + offset),
                           in_place ? Halide::Parameter() : store->param, store->predicate, ModulusRemainder());
    });
}

/// Puts the values of whole numbers into the indices that name them. An element that one iteration of a loop stores and
/// the next one loads stays in a register only if LLVM sees that both indices count alike, and a name hides that: code
/// generation widens sums to 64 bits term by term, and names as a whole.
Stmt spell_out_indices(const Stmt& statement) {
    Scope<Halide::Expr> values;
    const auto spelt = [&](const Halide::Expr& index) {
        return mutate_with(index, [&](Mutator&, const Variable* op) {
            const Halide::Expr* value = values.find(op->name);
            return value == nullptr ? Halide::Expr(op) : *value;
        });
    };
    const auto let = [&](Mutator& self, const auto* op) {
        const bool counts = op->value.type() == Halide::Int(32) && is_pure(op->value);
        // An inner let of the same name hides an outer one.
        const ScopedBinding<Halide::Expr> bind(values, op->name,
                                               counts ? spelt(op->value) : Variable::make(op->value.type(), op->name));
        auto body = self.mutate(op->body);
        return std::remove_pointer_t<decltype(op)>::make(op->name, self.mutate(op->value), std::move(body));
    };
    return mutate_with(
        statement, [&](Mutator& self, const LetStmt* op) { return let(self, op); },
        [&](Mutator& self, const Let* op) { return let(self, op); },
        [&](Mutator& self, const Load* op) {
            return Load::make(op->type, op->name, self.mutate(spelt(op->index)), op->image, op->param,
                              self.mutate(op->predicate), op->alignment);
        },
        [&](Mutator& self, const Store* op) {
            return Store::make(op->name, self.mutate(op->value), self.mutate(spelt(op->index)), op->param,
                               self.mutate(op->predicate), op->alignment);
        });
}

/// Lowering takes strides from the buffer, which knows nothing of the part: every read of one becomes the part's.
Stmt with_part_strides(const Stmt& statement, const std::vector<PlacedOutput>& outputs) {
    std::map<std::string, Halide::Expr> strides;
    for (const PlacedOutput& output : outputs)
        for (std::size_t k = 0; k < output.strides.size(); ++k)
            strides.emplace(output.func + ".stride." + std::to_string(k), output.strides[k]);
    return mutate_with(statement, [&](Mutator&, const Variable* op) {
        const auto found = strides.find(op->name);
        return found == strides.end() ? Halide::Expr(op) : found->second;
    });
}

/// Defines the strides that offsets and strides read. Where nothing else of a kernel reads one, lowering has dropped
/// its definition.
Stmt with_strides(Stmt statement, const std::vector<PlacedOutput>& outputs) {
    const std::string mark = ".stride.";
    std::set<std::string> read;
    for (const PlacedOutput& output : outputs) {
        read.merge(variables_in(output.offset));
        for (const Halide::Expr& stride : output.strides)
            read.merge(variables_in(stride));
    }
    for (const std::string& name : read) {
        const std::size_t at = name.find(mark);
        if (at == std::string::npos) continue;
        const int dimension = std::stoi(name.substr(at + mark.size()));
        const Halide::Expr buffer = Variable::make(Halide::type_of<halide_buffer_t*>(), name.substr(0, at) + ".buffer");
        statement = LetStmt::make(
            name, Call::make(Halide::Int(32), Call::buffer_get_stride, {buffer, dimension}, Call::Extern), statement);
    }
    return statement;
}

/// One name for what is one buffer: LLVM takes stores and loads of two names for apart.
Stmt with_one_input(const Stmt& statement, const std::vector<PlacedOutput>& outputs) {
    return mutate_with(statement, [&](Mutator& self, const Load* op) {
        const Halide::Expr mutated = self.inside(op);
        const Load* load = mutated.as<Load>();
        const auto found = std::ranges::find(outputs, op->name, &PlacedOutput::flat_input);
        if (!load || found == outputs.end() || found->input.empty()) return mutated;
        return Load::make(load->type, found->input, load->index, Halide::Buffer<>(), Halide::Parameter(),
                          load->predicate, ModulusRemainder());
    });
}

} // namespace

Stmt place_outputs(Stmt statement, const std::vector<PlacedOutput>& outputs) {
    statement = in_their_places(with_one_input(with_part_strides(statement, outputs), outputs), outputs);
    const bool in_place = std::any_of(outputs.begin(), outputs.end(), [](const PlacedOutput& output) {
        return !output.input.empty() || !output.flat_input.empty();
    });
    return with_strides(in_place ? spell_out_indices(statement) : statement, outputs);
}

} // namespace tilewright::dsl
