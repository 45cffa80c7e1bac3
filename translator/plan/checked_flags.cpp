// translator/plan/checked_flags.cpp: truths that loops only lower, and that a check asks behind them.
#include "translator/plan/checked_flags.h"

#include <algorithm>

namespace tilewright::translator {
namespace {

class Search {
  public:
    explicit Search(const Values& values) : values_(values) {}

    /// A false value fails a check.
    void ask(const std::string& value) {
        const Operation* made = values_.made_by(value);
        if (made == nullptr || !seen_.insert(value).second) return;
        if (made->op == Op::logical_and) {
            std::ranges::for_each(made->operands, [&](const std::string& operand) { ask(operand); });
        } else if (made->op == Op::if_else) {
            for (const Block& way : made->regions)
                ask(way.yields[values_.position(value)]);
        } else if (is_loop(*made)) {
            if (std::set<std::string> loops; is_lowered(value, first(*made, value), loops)) found.merge(loops);
        }
    }

    std::set<std::string> found;

  private:
    const Values& values_;
    std::set<std::string> seen_;

    static bool is_loop(const Operation& operation) {
        return operation.op == Op::for_loop || operation.op == Op::while_loop;
    }
    const std::string& first(const Operation& loop, const std::string& result) const {
        return loop.operands[values_.position(result)];
    }

    /// Whether `value` is true only where `base` is, by logical_and alone. Notes the loops' results on the way.
    bool is_lowered(const std::string& value, const std::string& base, std::set<std::string>& loops) const {
        if (value == base) return true;
        const Operation* made = values_.made_by(value);
        if (made == nullptr) return false;
        const auto lowered = [&](const std::string& from) { return is_lowered(from, base, loops); };
        if (made->op == Op::logical_and) return std::ranges::any_of(made->operands, lowered);
        const std::size_t position = values_.position(value);
        if (made->op == Op::if_else)
            return std::ranges::all_of(made->regions, [&](const Block& way) { return lowered(way.yields[position]); });
        if (!is_loop(*made) || !lowered(first(*made, value))) return false;
        const Block& body = made->regions.back();
        if (!is_lowered(body.yields[position], made->regions.front().parameters[position].first, loops)) return false;
        loops.insert(value);
        return true;
    }
};

} // namespace

std::set<std::string> checked_flags(const Program& program, const Values& values) {
    Search search(values);
    for (const Check& check : program.checks)
        search.ask(check.value);
    return std::move(search.found);
}

} // namespace tilewright::translator
