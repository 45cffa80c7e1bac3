// translator/passes/bounds_check_elimination.cpp: `check all(-n <= P and P < n)`, and takes at elements of P along n
// elements.
#include "translator/passes/bounds_check_elimination.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

class Marker {
  public:
    explicit Marker(Program program) : program_(std::move(program)), types_(types_of(program_)) {}

    Program run() {
        walk(program_.body, [this](const Operation& each) { operations_[each.result] = &each; });
        for (std::size_t k = 0; k < program_.checks.size(); ++k)
            if (auto seen = seen_by(program_.checks[k].value)) seen_.emplace_back(k, std::move(*seen));
        if (!seen_.empty())
            for (Operation& operation : program_.body.operations)
                for (Block& inner : operation.regions)
                    mark(inner);
        return std::move(program_);
    }

  private:
    /// Elements of an argument that lie in an axis of this extent, some of them perhaps counted from its end.
    struct Seen {
        std::string argument;
        Size extent;
    };

    Program program_;
    std::map<std::string, Type> types_;
    std::map<std::string, const Operation*> operations_; ///< by result
    std::vector<std::pair<std::size_t, Seen>> seen_;

    const Operation* operation(const std::string& value, Op op) const {
        const auto found = operations_.find(value);
        return found != operations_.end() && found->second->op == op ? found->second : nullptr;
    }

    /// The argument of whose elements a value consists. A cast to another integer keeps each that is in bounds, since
    /// what is compared and what is taken went through the same casts.
    std::optional<std::string> argument_of(std::string value, bool whole) const {
        for (;;) {
            const auto found = operations_.find(value);
            if (found == operations_.end()) break;
            const Op op = found->second->op;
            const bool view = op == Op::index || op == Op::transpose;
            const bool widens = op == Op::cast && found->second->type.dtype == "int64";
            if (!widens && (whole || !view)) return std::nullopt;
            value = found->second->operands[0];
        }
        const auto argument = std::find_if(program_.arrays.begin(), program_.arrays.end(),
                                           [&](const ArrayArgument& each) { return each.name == value; });
        if (argument == program_.arrays.end()) return std::nullopt;
        if (!find_dtype(argument->type.dtype)->is_integer()) return std::nullopt;
        return argument->type.dtype == "uint64" ? std::nullopt : std::optional(value);
    }

    std::optional<Size> size(const std::string& value) const {
        const Operation* found = operation(value, Op::scalar_size);
        return found != nullptr ? std::optional(found->attributes.at(attr::size)) : std::nullopt;
    }

    /// P < n, of whole arguments.
    std::optional<Seen> below_end(const std::string& value) const {
        const Operation* less = operation(value, Op::less);
        if (less == nullptr) return std::nullopt;
        const auto argument = argument_of(less->operands[0], true);
        const auto extent = size(less->operands[1]);
        if (!argument || !extent) return std::nullopt;
        return Seen{*argument, *extent};
    }

    /// P >= -n.
    bool from_start(const std::string& value, const Seen& seen) const {
        const Operation* least = operation(value, Op::greater_equal);
        if (least == nullptr || argument_of(least->operands[0], true) != seen.argument) return false;
        const Operation* start = operation(least->operands[1], Op::negative);
        const auto extent = start != nullptr ? size(start->operands[0]) : std::nullopt;
        return extent && constant_difference(*extent, seen.extent) == 0;
    }

    std::optional<Seen> seen_by(const std::string& check) const {
        const Operation* all = operation(check, Op::all);
        if (all == nullptr) return std::nullopt;
        const std::string& truths = all->operands[0];
        if (const Operation* both = operation(truths, Op::logical_and)) {
            auto seen = below_end(both->operands[1]);
            if (seen && from_start(both->operands[0], *seen)) return seen;
            return std::nullopt;
        }
        auto seen = below_end(truths);
        if (!seen || find_dtype(types_.at(seen->argument).dtype)->kind != DTypeKind::unsigned_integer)
            return std::nullopt;
        return seen;
    }

    void mark(Block& block) {
        walk(block, [this](Operation& operation) {
            if (operation.op != Op::take) return;
            const auto argument = argument_of(operation.operands[1], false);
            if (!argument) return;
            const std::vector<Size>& shape = types_.at(operation.operands[0]).shape;
            const auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
            for (const auto& [check, seen] : seen_) {
                if (seen.argument != *argument) continue;
                if (constant_difference(shape[axis], seen.extent) != 0) continue;
                operation.attributes.set(attr::checked, static_cast<int>(check));
                break;
            }
        });
    }
};

} // namespace

Program bounds_check_elimination(const Program& program) {
    return Marker(program).run();
}

} // namespace tilewright::translator
