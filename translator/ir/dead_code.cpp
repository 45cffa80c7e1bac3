// translator/ir/dead_code.cpp: liveness from the results backwards, through what loops carry.
#include "translator/ir/dead_code.h"

#include <algorithm>
#include <map>
#include <set>

#include "translator/ir/values.h"
#include "translator/ir/walk.h"

namespace tilewright::translator {
namespace {

bool is_needed_anyway(const Operation& operation) {
    return operation.op == Op::read || operation.op == Op::call;
}

bool has_regions(const Operation& operation) {
    return !operation.regions.empty();
}

class Marker {
  public:
    explicit Marker(const Program& program) : values_(program) {
        for (const std::string& name : program.body.yields)
            need(name);
        for (const Check& check : program.checks)
            need(check.value);
        for (const Write& write : program.writes)
            need(write.value);
        need_anyway(program.body);
        while (!pending_.empty()) {
            std::string name = pending_.back();
            pending_.pop_back();
            const Operation* made = values_.made_by(name);
            if (made == nullptr) made = values_.carried_by(name);
            if (made == nullptr) continue; // an argument
            if (has_regions(*made))
                hand(*made, values_.position(name));
            else
                std::ranges::for_each(made->operands, [this](const std::string& operand) { need(operand); });
        }
    }

    Block kept(const Block& block) const {
        Block out = block;
        out.operations.clear();
        for (const Operation& operation : block.operations) {
            if (!has_regions(operation)) {
                if (needed_.count(operation.result) != 0) out.operations.push_back(operation);
            } else if (auto found = handed_.find(&operation); found != handed_.end()) {
                out.operations.push_back(kept(operation, found->second));
            }
        }
        return out;
    }

  private:
    void need(const std::string& name) {
        if (needed_.insert(name).second) pending_.push_back(name);
    }

    /// Sizes that a block reads, for nobody says which of its types and limits name them, and calls, which may raise.
    void need_anyway(const Block& block) {
        for (const Operation& operation : block.operations)
            if (is_needed_anyway(operation)) need(operation.result);
    }

    /// A result of a loop or branch, or a value that a loop carries: what gives it is needed.
    void hand(const Operation& operation, std::size_t position) {
        if (!handed_[&operation].insert(position).second) return;
        for (const Block& region : operation.regions)
            need_anyway(region);
        if (operation.op == Op::if_else) {
            need(operation.operands[0]);
        } else {
            need(operation.operands[position]);
        }
        if (operation.op == Op::while_loop) need(operation.regions[0].yields[0]);
        for (std::size_t k = operation.op == Op::while_loop ? 1 : 0; k < operation.regions.size(); ++k)
            need(operation.regions[k].yields[position]);
    }

    template <class T>
    static std::vector<T> at_positions(const std::vector<T>& all, const std::set<std::size_t>& positions) {
        std::vector<T> out;
        for (std::size_t position : positions)
            out.push_back(all[position]);
        return out;
    }

    Operation kept(const Operation& operation, const std::set<std::size_t>& positions) const {
        Operation out = operation;
        const auto results = at_positions(results_of(operation), positions);
        out.result = results[0].first;
        out.type = results[0].second;
        out.more_results.assign(results.begin() + 1, results.end());
        if (operation.op != Op::if_else) out.operands = at_positions(operation.operands, positions);
        for (std::size_t k = 0; k < out.regions.size(); ++k) {
            out.regions[k] = kept(operation.regions[k]);
            if (operation.op != Op::if_else)
                out.regions[k].parameters = at_positions(out.regions[k].parameters, positions);
            const bool condition = operation.op == Op::while_loop && k == 0;
            if (!condition) out.regions[k].yields = at_positions(out.regions[k].yields, positions);
        }
        return out;
    }

    Values values_;
    std::set<std::string> needed_;
    std::map<const Operation*, std::set<std::size_t>> handed_;
    std::vector<std::string> pending_;
};

} // namespace

Program without_dead_code(const Program& program) {
    Program out = program;
    out.body = Marker(program).kept(program.body);
    return out;
}

bool drop_unused(Program& program) {
    const Values values(program);
    std::set<std::string> unused;
    walk(program.body, [&](const Operation& operation) {
        if (!has_regions(operation) && !is_needed_anyway(operation) && values.uses(operation.result) == 0)
            unused.insert(operation.result);
    });
    if (unused.empty()) return false;
    rewrite<Order::outer_first>(program.body, [&](const Operation& operation, const Place&) {
        return unused.count(operation.result) != 0 ? Fate::goes : Fate::keeps;
    });
    return true;
}

} // namespace tilewright::translator
