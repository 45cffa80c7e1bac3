// translator/passes/dead_store_elimination.cpp: what is written of an array along one axis, version by version.
#include "translator/passes/passes.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

/// Positions along the axis that are written, as intervals [first, behind) that nothing orders.
struct Interval {
    Size first, behind;
};
using Intervals = std::vector<Interval>;

Size number(std::int64_t value) {
    return Size::integer(value);
}

bool at_most(const Size& a, const Size& b) {
    const auto difference = constant_difference(b, a);
    return difference && *difference >= 0;
}

/// More intervals than this are not worth a proof.
constexpr std::size_t kMostIntervals = 64;

/// Adds an interval, and what it makes together with those that it touches: [a, b) and [c, d) are [a, d) where c <= b,
/// wherever the other ends lie.
void add(Intervals& written, const Interval& one) {
    const bool known = std::any_of(written.begin(), written.end(), [&](const Interval& each) {
        return at_most(each.first, one.first) && at_most(one.behind, each.behind);
    });
    if (known || written.size() >= kMostIntervals) return;
    written.push_back(one);
    for (std::size_t k = 0, count = written.size() - 1; k < count; ++k) {
        const Interval other = written[k];
        if (at_most(one.first, other.behind)) add(written, {other.first, one.behind});
        if (at_most(other.first, one.behind)) add(written, {one.first, other.behind});
    }
}

bool contains(const Intervals& written, const Size& first, const Size& behind) {
    return std::any_of(written.begin(), written.end(), [&](const Interval& each) {
        return at_most(each.first, first) && at_most(behind, each.behind);
    });
}

/// Follows one array from its first write through the rest of a block.
class Follower {
  public:
    Follower(const Values& values, const Type& type, std::size_t axis) : values_(values), type_(type), axis_(axis) {}

    /// Whether no element is read before it is written. `first` is the place in the block of what takes over the start
    /// as its operand.
    bool run(const Block& block, std::size_t first, const std::string& start) {
        versions_[start] = {};
        // Other readers of the start get a copy of it.
        if (!step(block.operations[first], start)) return false;
        versions_.erase(start);
        for (std::size_t k = first + 1; k < block.operations.size(); ++k)
            if (!step(block.operations[k], "")) return false;
        return std::all_of(block.yields.begin(), block.yields.end(),
                           [&](const std::string& name) { return whole(name); });
    }

    /// Whether a value that leaves the block is written everywhere.
    bool whole(const std::string& name) const {
        const auto found = versions_.find(name);
        return found == versions_.end() || contains(found->second, number(0), type_.shape[axis_]);
    }

  private:
    const Values& values_;
    const Type& type_;
    std::size_t axis_;
    std::map<std::string, Intervals> versions_;

    /// The position along the axis of a region that has all of the others.
    std::optional<Size> position_of(const Operation& operation, const std::vector<Size>& part) const {
        const std::optional<Size> at = read_at(operation);
        if (!at) return std::nullopt;
        const std::vector<IndexEntry>& entries = operation.attributes.at(attr::index);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < entries.size(); ++k) {
            if (k == axis_) continue;
            const IndexEntry& entry = entries[k];
            const bool all = entry.kind == IndexEntry::Kind::slice &&
                             constant_difference(entry.start, number(0)) == 0 &&
                             constant_difference(entry.step, number(1)) == 0 && kept < part.size() &&
                             same_size(part[kept], type_.shape[k]);
            if (!all) return std::nullopt;
            ++kept;
        }
        return at;
    }

    /// Where along the axis a read is; of a part of the other axes too.
    std::optional<Size> read_at(const Operation& operation) const {
        const std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        if (entries.size() != type_.shape.size() || entries[axis_].kind != IndexEntry::Kind::position)
            return std::nullopt;
        for (const IndexEntry& entry : entries)
            if (entry.kind == IndexEntry::Kind::newaxis) return std::nullopt;
        return entries[axis_].start;
    }

    bool is_version(const std::string& name) const { return versions_.count(name) != 0; }

    bool step(const Operation& operation, const std::string& start) {
        if (operation.op == Op::for_loop && operation.regions.size() == 1) return loop(operation, start);
        if (operation.op == Op::update && is_version(operation.operands[0])) {
            if (is_version(operation.operands[1])) return false;
            Intervals written = versions_.at(operation.operands[0]);
            if (const auto at = position_of(operation, values_.type(operation.operands[1]).shape))
                add(written, {*at, *at + number(1)});
            versions_[operation.result] = std::move(written);
            return true;
        }
        if (operation.op == Op::index && is_version(operation.operands[0])) {
            if (whole(operation.operands[0])) return true;
            const auto at = read_at(operation);
            return at && contains(versions_.at(operation.operands[0]), *at, *at + number(1));
        }
        return uses_whole(operation);
    }

    /// Anything else: every element of what it names.
    bool uses_whole(const Operation& operation) const {
        bool all = true;
        walk_uses(operation, [&](const std::string& name) { all = all && whole(name); });
        return all;
    }

    /// A loop that carries a version and writes one position of it in each iteration, each next to the one before.
    bool loop(const Operation& loop, const std::string& start) {
        const Block& body = loop.regions[0];
        std::optional<std::size_t> carried;
        for (std::size_t k = 0; k < loop.operands.size(); ++k) {
            const bool follows =
                start.empty() ? is_version(loop.operands[k]) && !whole(loop.operands[k]) : loop.operands[k] == start;
            if (!follows) continue;
            if (carried) return false;
            carried = k;
        }
        if (!carried) return uses_whole(loop);
        const Size step = loop.attributes.at(attr::step);
        if (!step.is_constant() || std::abs(step.constant()) != 1) return false;
        const bool up = step.constant() == 1;
        const Size first = loop.attributes.at(attr::start), stop = loop.attributes.at(attr::stop);
        const std::string& index = loop.attributes.at(attr::variable);
        const Intervals before = versions_.at(loop.operands[*carried]);

        // What one iteration writes and reads, as distances from its index.
        std::optional<std::int64_t> written;
        std::vector<std::int64_t> reads;
        std::string now = body.parameters[*carried].first;
        for (const Operation& operation : body.operations) {
            if (operation.op == Op::index && operation.operands[0] == now) {
                const auto at = read_at(operation);
                const auto distance = at ? constant_difference(*at, Size::symbol(index)) : std::nullopt;
                if (!distance) return false;
                // What this iteration has written, or another one before.
                if (written != distance) reads.push_back(*distance);
            } else if (operation.op == Op::update && operation.operands[0] == now && operation.operands[1] != now) {
                const auto at = position_of(operation, values_.type(operation.operands[1]).shape);
                const auto distance = at ? constant_difference(*at, Size::symbol(index)) : std::nullopt;
                if (!distance || written) return false;
                written = *distance;
                old_.insert(now);
                now = operation.result;
            } else if (mentions(operation, now) || !uses_whole(operation)) {
                return false;
            }
        }
        if (!written || body.yields[*carried] != now) return false;
        for (std::size_t k = 0; k < body.yields.size(); ++k)
            if (k != *carried && (body.yields[k] == now || old_.count(body.yields[k]) != 0 || !whole(body.yields[k])))
                return false;

        // The position of the first iteration touches what was written before, from where the furthest read is on.
        const Size at = first + number(*written);
        std::int64_t furthest = 0;
        for (const std::int64_t read : reads) {
            const std::int64_t back = up ? *written - read : read - *written;
            if (back <= 0) return false;
            furthest = std::max(furthest, back);
        }
        const bool reaches = furthest == 0 || (up ? contains(before, at - number(furthest), at)
                                                  : contains(before, at + number(1), at + number(1 + furthest)));
        if (!reaches) return false;
        // Without iterations the interval that they write is empty.
        const Size end = stop + number(*written);
        Intervals after = before;
        add(after, up ? Interval{at, end} : Interval{end + number(1), at + number(1)});
        const std::string result = *carried == 0 ? loop.result : loop.more_results[*carried - 1].first;
        versions_[result] = std::move(after);
        return true;
    }

    std::set<std::string> old_; ///< versions of an iteration that it has replaced

    bool mentions(const Operation& operation, const std::string& now) const {
        bool any = false;
        walk_uses(operation, [&](const std::string& name) { any = any || name == now || old_.count(name) != 0; });
        return any;
    }
};

class Starts {
  public:
    explicit Starts(const Program& program) : program_(program), values_(program) {}

    Program run() {
        Program out = program_;
        find(out.body, true);
        return out;
    }

  private:
    const Program& program_;
    Values values_;

    /// In inner blocks first.
    void find(Block& block, bool is_outermost) {
        for (Operation& operation : block.operations)
            for (Block& region : operation.regions)
                find(region, false);
        std::map<std::string, Operation> fills;
        for (std::size_t k = 0; k < block.operations.size(); ++k) {
            const Operation& operation = block.operations[k];
            if (operation.op == Op::broadcast_to && values_.type(operation.operands[0]).shape.empty())
                fills.emplace(operation.result, operation);
            const bool takes = operation.op == Op::update || operation.op == Op::for_loop;
            for (std::size_t at = 0; takes && at < (operation.op == Op::update ? 1 : operation.operands.size()); ++at) {
                const auto fill = fills.find(operation.operands[at]);
                if (fill == fills.end() || !is_unread(block, k, fill->second, is_outermost)) continue;
                Operation start = fill->second;
                start.result = values_.names().value("%unread");
                start.attributes.set(attr::unread, true);
                values_.declare(start.result, start.type);
                block.operations[k].operands[at] = start.result;
                block.operations.insert(block.operations.begin() + static_cast<std::ptrdiff_t>(k), std::move(start));
                break; // this operation comes again, one place on
            }
        }
    }

    bool is_unread(const Block& block, std::size_t k, const Operation& fill, bool is_outermost) const {
        const auto& operands = block.operations[k].operands;
        if (std::count(operands.begin(), operands.end(), fill.result) != 1) return false;
        for (std::size_t axis = 0; axis < fill.type.shape.size(); ++axis) {
            Follower follower(values_, fill.type, axis);
            if (follower.run(block, k, fill.result) &&
                (!is_outermost || (std::all_of(program_.writes.begin(), program_.writes.end(),
                                               [&](const Write& write) { return follower.whole(write.value); }) &&
                                   std::all_of(program_.checks.begin(), program_.checks.end(),
                                               [&](const Check& check) { return follower.whole(check.value); }))))
                return true;
        }
        return false;
    }
};

} // namespace

Program dead_store_elimination(const Program& program) {
    return Starts(program).run();
}

} // namespace tilewright::translator
