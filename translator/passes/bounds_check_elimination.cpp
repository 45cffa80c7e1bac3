// translator/passes/bounds_check_elimination.cpp: `check all(-n <= P and P < n)`, and takes at elements of P along n
// elements.
#include "translator/passes/passes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/match.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

class Marker {
  public:
    explicit Marker(const Program& program) : program_(program), values_(program) {}

    Program run() {
        Program out = program_;
        for (std::size_t k = 0; k < program_.checks.size(); ++k)
            if (auto seen = seen_by(program_.checks[k].value)) seen_.emplace_back(k, std::move(*seen));
        if (!seen_.empty())
            for (Operation& operation : out.body.operations)
                for (Block& inner : operation.regions)
                    mark(inner);
        return out;
    }

  private:
    /// Elements of an argument that lie in an axis of this extent, some of them perhaps counted from its end.
    struct Seen {
        std::string argument;
        Size extent;
    };

    const Program& program_;
    Values values_;
    std::vector<std::pair<std::size_t, Seen>> seen_;

    /// The argument of whose elements a value consists. A cast to another integer keeps each that is in bounds, since
    /// what is compared and what is taken went through the same casts.
    std::optional<std::string> argument_of(std::string value, bool whole) const {
        while (const Operation* made = values_.made_by(value)) {
            const bool view = made->op == Op::index || made->op == Op::transpose;
            const bool widens = made->op == Op::cast && made->type.dtype == "int64";
            if (!widens && (whole || !view)) return std::nullopt;
            value = made->operands[0];
        }
        const auto argument = std::find_if(program_.arrays.begin(), program_.arrays.end(),
                                           [&](const ArrayArgument& each) { return each.name == value; });
        if (argument == program_.arrays.end()) return std::nullopt;
        if (!find_dtype(argument->type.dtype)->is_integer()) return std::nullopt;
        return argument->type.dtype == "uint64" ? std::nullopt : std::optional(value);
    }

    /// all(P >= -n and P < n) or, where P is unsigned, all(P < n), of whole arguments.
    std::optional<Seen> seen_by(const std::string& check) const {
        using match::made_by;
        std::string low, high;
        Size start = Size::integer(0), extent = start;
        const auto below = made_by(Op::less, match::any(high), match::size(extent));
        const auto above = made_by(Op::greater_equal, match::any(low), made_by(Op::negative, match::size(start)));
        const bool both = made_by(Op::all, made_by(Op::logical_and, above, below))(values_, check);
        if (!both && !made_by(Op::all, below)(values_, check)) return std::nullopt;
        const auto argument = argument_of(high, true);
        if (!argument) return std::nullopt;
        const bool from_start = both ? argument_of(low, true) == argument && constant_difference(start, extent) == 0
                                     : find_dtype(values_.type(*argument).dtype)->kind == DTypeKind::unsigned_integer;
        return from_start ? std::optional(Seen{*argument, extent}) : std::nullopt;
    }

    void mark(Block& block) {
        walk(block, [this](Operation& operation) {
            if (operation.op != Op::take) return;
            const auto argument = argument_of(operation.operands[1], false);
            if (!argument) return;
            const std::vector<Size>& shape = values_.type(operation.operands[0]).shape;
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
