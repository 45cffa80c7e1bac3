// translator/plan/dependence_test.cpp: the dependence test between the iterations of a loop that stays one.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "translator/plan/steps.h"

namespace tilewright::translator {
namespace {

using Names = std::set<std::string>;

/// What an iteration reads of the one before it, in memory of no dimensions: a walk in the order of the text.
class FirstUses {
  public:
    explicit FirstUses(const std::vector<Step>& body) { walk(body, true); }

    /// Written by the iteration's own steps, those of branches too, and never read before.
    Names written_first() const {
        Names out;
        std::ranges::set_difference(written_, read_first_, std::inserter(out, out.end()));
        return out;
    }

  private:
    Names written_;    ///< somewhere in the iteration, inner loops apart
    Names read_first_; ///< perhaps before it was written
    Names known_;      ///< written whichever way the iteration goes

    void read(const std::string& name) {
        if (known_.count(name) == 0) read_first_.insert(name);
    }
    void write(const std::string& name, bool here) {
        known_.insert(name);
        if (here) written_.insert(name);
    }

    /// `here`: not in an inner loop.
    void walk(const std::vector<Step>& steps, bool here) {
        for (const Step& step : steps) {
            for (const ArrayArgument& array : step.segment.program.arrays)
                read(array.name);
            for (const Target& target : step.segment.targets)
                target.type.shape.empty() ? write(target.buffer, here) : read(target.buffer);
            switch (step.kind) {
            case Step::Kind::copy:
                read(step.from());
                write(step.to(), here);
                break;
            case Step::Kind::branch:
                branch(step, here);
                break;
            case Step::Kind::for_range:
            case Step::Kind::loop: { // it may have no iterations
                const Names before = known_;
                walk(step.body, false);
                known_ = before;
                break;
            }
            default:
                for (const std::string& name : memory_of(step))
                    read(name);
            }
        }
    }

    void branch(const Step& step, bool here) {
        if (step.looks_at_memory()) read(step.from());
        const Names before = known_;
        walk(step.body, here);
        const Names then = std::exchange(known_, before);
        walk(step.otherwise, here);
        std::erase_if(known_, [&](const std::string& name) { return then.count(name) == 0; });
    }
};

class Test {
  public:
    Test(const Step& range, const Names& own) : index_(range.symbol), own_(own) {
        runtime::for_each_step(range.body, [&](const Step& step) { inner_.insert(step.symbol); });
        runtime::for_each_step(range.body, [&](const Step& step) { writes(step); });
        if (reason.empty()) runtime::for_each_step(range.body, [&](const Step& step) { reads(step); });
    }
    std::string reason;

  private:
    const std::string& index_;
    const Names& own_;
    Names inner_; ///< symbols that have other values in the course of one iteration
    /// Of each buffer that is written: the axes with a position of the iteration's own.
    std::map<std::string, std::map<std::size_t, Size>> positions_;

    void depends(const std::string& why) {
        if (reason.empty()) reason = why;
    }

    bool is_own_position(const Size& at) const {
        Names symbols;
        at.collect_symbols(symbols);
        for (const std::string& symbol : symbols)
            if (inner_.count(symbol) != 0) return false;
        const Size next = substitute(at, index_, Size::symbol(index_) + Size::integer(1));
        const auto moved = constant_difference(next, at);
        return moved && *moved != 0;
    }

    void write(const Target& target) {
        if (own_.count(target.buffer) != 0) return;
        std::map<std::size_t, Size> positions;
        for (std::size_t axis = 0; !target.fresh && axis < target.region.size(); ++axis) {
            const IndexEntry& entry = target.region[axis];
            if (entry.kind == IndexEntry::Kind::position && is_own_position(entry.start))
                positions.emplace(axis, entry.start);
        }
        const std::string line =
            target.line > 0 ? "line " + std::to_string(target.line) + " writes " : "iterations write ";
        keep(target.buffer, positions, line + target.buffer + ", whose parts iterations share");
    }

    void keep(const std::string& buffer, const std::map<std::size_t, Size>& positions, const std::string& why) {
        auto [found, first] = positions_.emplace(buffer, positions);
        if (!first) {
            std::erase_if(found->second, [&](const auto& each) {
                const auto other = positions.find(each.first);
                return other == positions.end() || constant_difference(other->second, each.second) != 0;
            });
        }
        if (found->second.empty()) depends(why);
    }

    void writes(const Step& step) {
        switch (step.kind) {
        case Step::Kind::call:
            for (const Target& target : step.segment.targets)
                write(target);
            break;
        case Step::Kind::for_range:
        case Step::Kind::loop:
        case Step::Kind::leave_unless: // of the loop inside
        case Step::Kind::branch:
        case Step::Kind::read:
            break;
        case Step::Kind::copy:
            if (own_.count(step.to()) != 0) break;
            [[fallthrough]];
        case Step::Kind::swap:
            depends("each iteration needs all of " + step.from() + " of the one before");
            break;
        default:
            depends("an iteration may end the loop");
        }
    }

    void reads(const Step& step) {
        for (const Access& access : step.segment.reads)
            read(access);
        if (step.looks_at_memory() || step.kind == Step::Kind::read) read({step.from(), std::nullopt});
    }

    void read(const Access& access) {
        const auto written = positions_.find(access.memory);
        if (written == positions_.end()) return;
        const std::string why = "an iteration reads " + access.memory + " where others write it";
        if (!access.map) return depends(why);
        std::map<std::size_t, Size> positions;
        for (std::size_t axis = 0; axis < access.map->size(); ++axis) {
            const AxisMap& map = (*access.map)[axis];
            if (map.axis < 0) positions.emplace(axis, map.start);
        }
        keep(access.memory, positions, why);
    }
};

/// Names of memory that steps outside of the range use.
void collect_elsewhere(const std::vector<Step>& steps, const Step& range, Names& names) {
    for (const Step& step : steps) {
        if (&step == &range) continue;
        names.merge(memory_of(step));
        collect_elsewhere(step.body, range, names);
        collect_elsewhere(step.otherwise, range, names);
    }
}

} // namespace

std::set<std::string> own_of_each_iteration(const Stepped& stepped, const Step& loop) {
    Names own = FirstUses(loop.body).written_first(), elsewhere;
    collect_elsewhere(stepped.steps, loop, elsewhere);
    std::erase_if(own, [&](const std::string& name) {
        const BufferPlan* buffer = stepped.buffer(name);
        const bool is_number = buffer != nullptr && buffer->kind == BufferPlan::Kind::temporary && !buffer->swapped &&
                               buffer->type.shape.empty();
        return elsewhere.count(name) != 0 || !is_number;
    });
    return own;
}

std::string why_not_independent(const Stepped& stepped, const Step& range) {
    // What the iterations of the range, and of the loops in it, have for themselves.
    Names own = own_of_each_iteration(stepped, range);
    own.merge(stepped.flags_of(range));
    runtime::for_each_step(range.body, [&](const Step& step) {
        if (step.is_loop()) own.merge(own_of_each_iteration(stepped, step));
    });
    return Test(range, own).reason;
}

} // namespace tilewright::translator
