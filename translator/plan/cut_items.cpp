// translator/plan/cut_items.cpp: what a block does, the order of it, and who takes over whose memory.
#include <algorithm>
#include <ranges>

#include "translator/ir/attributes.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"
#include "translator/plan/cut.h"

namespace tilewright::translator {
namespace {

bool is_heavy(const Operation& operation) {
    return is_reduction(operation.op) || operation.op == Op::matmul || operation.op == Op::call ||
           !operation.regions.empty();
}

constexpr int kCostly = 20; ///< operations that an element takes, and no longer computed anew for each reader

bool is_wanted(const Operation& operation, const Names& names) {
    const auto results = results_of(operation);
    return std::ranges::any_of(results, [&](const auto& result) { return names.count(result.first) != 0; });
}

class Items {
  public:
    Items(const Cut& cut, const Block& block, const Names& ends, const Names& takeable)
        : cut_(cut), block_(block), outermost_(&block == &cut.program.body), ends_(ends), takeable_(takeable) {
        find();
        connect();
        take_memory();
    }

    std::vector<Item> items;

  private:
    const Cut& cut_;
    const Block& block_;
    const bool outermost_;
    const Names &ends_, &takeable_;
    std::map<std::string, std::size_t> maker_; ///< value -> item
    Names made_;                               ///< values that an item makes

    // ---- what happens ----

    void find() {
        const Names wanted = wanted_values();
        for (const Operation& operation : block_.operations) {
            Item item;
            item.operation = &operation;
            if (is_region(operation))
                item.kind = Item::Kind::region;
            else if (operation.op == Op::update)
                item.kind = Item::Kind::store;
            else if (operation.op == Op::read)
                item.kind = Item::Kind::read;
            else if (!is_item(operation, wanted))
                continue;
            for (const auto& [name, type] : results_of(operation)) {
                maker_[name] = items.size();
                made_.insert(name);
            }
            items.push_back(std::move(item));
        }
        if (!outermost_) return;
        for (const Check& check : cut_.program.checks)
            items.push_back({.kind = Item::Kind::check, .check = &check});
    }

    /// Whether something happens at an operation; all else is computed where it is read.
    static bool is_item(const Operation& operation, const Names& wanted) {
        return is_region(operation) || operation.op == Op::update || operation.op == Op::read ||
               operation.op == Op::call || is_wanted(operation, wanted);
    }

    /// Values that have to be in memory by themselves.
    Names wanted_values() const {
        Names wanted;
        auto want = [&](const std::string& value) {
            if (cut_.home_of(value) == &block_ && cut_.operation_of(value) != nullptr) wanted.insert(value);
        };
        std::ranges::for_each(ends_, want);
        if (outermost_) std::ranges::for_each(cut_.program.checks, want, &Check::value);
        Names makers;
        for (const Operation& operation : block_.operations) {
            if (operation.op == Op::update || operation.op == Op::read) makers.insert(operation.result);
            if (operation.op == Op::read) want(operation.operands[0]);
            if (is_region(operation)) {
                Names found;
                for (const std::string& name : cut_.free_names(operation))
                    cut_.roots(name, found);
                const bool carries = operation.op != Op::if_else;
                for (const std::string& operand : operation.operands) {
                    if (carries && !cut_.is_fill(operand)) cut_.roots(operand, found);
                    if (!carries && !(cut_.device && cut_.plan_condition(operand))) found.insert(operand);
                }
                std::ranges::for_each(found, want);
            } else if (operation.op == Op::update && !cut_.is_fill(operation.operands[0])) {
                want(operation.operands[0]);
            }
        }
        // A reduction that several items would compute is computed once.
        for (bool changed = true; changed;) {
            changed = false;
            makers.insert(wanted.begin(), wanted.end());
            for (const Operation& operation : block_.operations) {
                if (!is_heavy(operation) || is_region(operation) || is_wanted(operation, wanted)) continue;
                if (is_computed_twice(operation, makers)) {
                    wanted.insert(operation.result);
                    changed = true;
                }
            }
        }
        if (outermost_) want_read_before_write(wanted);
        makers.insert(wanted.begin(), wanted.end());
        want_costly(wanted, makers);
        std::ranges::for_each(parts_read_late(wanted), want);
        return wanted;
    }

    /// Whether several of `makers` compute an operation, each for itself.
    bool is_computed_twice(const Operation& operation, const Names& makers) const {
        int users = 0;
        Names cut = makers;
        for (const auto& [name, type] : results_of(operation))
            cut.insert(name);
        for (const std::string& maker : makers) {
            Names found, seen;
            cut_.closure(*cut_.values.made_by(maker), cut, found, seen);
            users += is_wanted(operation, found) ? 1 : 0;
        }
        return users > 1;
    }

    /// What is summed up of an argument that is replaced element by element: with the sums in memory before, the
    /// argument is written in place (`X -= X.mean(axis=0)`), where one kernel for both would need a second array.
    void want_read_before_write(Names& wanted) const {
        for (const Write& write : cut_.program.writes) {
            const Operation* made = cut_.operation_of(write.value);
            if (made == nullptr || is_heavy(*made) || cut_.home_of(write.value) != &block_) continue;
            if (!same_shape(cut_.values.type(write.argument).shape, made->type.shape)) continue;
            Names sums;
            const auto is_stored = [&](const std::string& name) {
                const Operation* operation = cut_.operation_of(name);
                if (name == write.value || operation == nullptr) return false;
                if (is_heavy(*operation) && cut_.home_of(name) == &block_) sums.insert(name);
                return sums.count(name) != 0 || is_item(*operation, wanted);
            };
            if (reads_elsewhere(*made, write.argument, is_stored)) continue;
            for (const std::string& sum : sums)
                if (reads_plainly(*cut_.operation_of(sum), write.argument)) wanted.insert(sum);
        }
    }

    /// Whether an operation reads an array and computes nothing costly of it first.
    bool reads_plainly(const Operation& operation, const std::string& array) const {
        Names found, seen;
        cut_.closure(operation, {}, found, seen);
        return found.count(array) != 0 && std::ranges::none_of(seen, [&](const std::string& name) {
                   const Operation* each = cut_.operation_of(name);
                   return each != nullptr && is_elementwise(each->op) && cost_of(each->op) >= kCostly;
               });
    }

    /// The elements of an array that take an exponential, a power or a remainder are computed once as well, where
    /// several items read them: the last value of their shape that all of these go by.
    void want_costly(Names& wanted, Names& makers) const {
        Names costly;
        for (const Operation& operation : block_.operations) {
            if (!is_elementwise(operation.op) || operation.type.shape.empty()) continue;
            const bool goes_by = std::ranges::any_of(operation.operands, [&](const std::string& operand) {
                return costly.count(operand) != 0 && makers.count(operand) == 0 &&
                       cut_.values.type(operand).shape == operation.type.shape;
            });
            if (goes_by || cost_of(operation.op) >= kCostly) costly.insert(operation.result);
        }
        for (const Operation& operation : std::views::reverse(block_.operations)) {
            if (costly.count(operation.result) == 0 || makers.count(operation.result) != 0) continue;
            if (!is_computed_twice(operation, makers)) continue;
            wanted.insert(operation.result);
            makers.insert(operation.result);
        }
    }

    // ---- parts of arrays that are read before others overwrite them ----

    /// What an operation of the block that makes memory takes over and reads.
    struct Use {
        const Operation* operation = nullptr;
        Names takes = {};                        ///< arrays that it changes, if nobody needs them any more
        std::map<std::string, Names> parts = {}; ///< array -> elements, rows, … of it
        Names elements = {};                     ///< of these parts
        Names whole = {};                        ///< arrays
        std::set<std::size_t> before = {};       ///< those that it waits for, all earlier in the text
        std::set<std::size_t> behind = {};       ///< earlier ones that read what it takes
    };
    using Makers = std::map<std::string, std::size_t>; ///< value -> its place among the uses

    /// Elements, rows and other parts of fewer dimensions that are read of an array and needed when some operation has
    /// changed it: `t = a[i]; a[i] = a[j]; a[j] = t`. Those are kept, or the change would need a copy of the array.
    Names parts_read_late(const Names& wanted) const {
        Makers makers;
        std::vector<Use> uses;
        std::map<std::string, std::size_t> last_readers; // of arrays, or of their parts
        std::map<std::string, std::set<std::size_t>> readers;
        Names in_parts;
        for (const Operation& operation : block_.operations) {
            if (!is_item(operation, wanted)) continue;
            const std::size_t place = uses.size();
            uses.push_back(use_of(operation, makers));
            for (const auto& [name, type] : results_of(operation))
                makers[name] = place;
            for (const std::string& array : uses.back().takes)
                uses.back().behind.insert(readers[array].begin(), readers[array].end());
            for (const std::string& array : uses.back().whole) {
                last_readers[array] = place;
                readers[array].insert(place);
            }
            for (const auto& [array, parts] : uses.back().parts) {
                last_readers[array] = place;
                readers[array].insert(place);
                in_parts.insert(array);
            }
        }
        Names found;
        for (std::size_t place = 0; place < uses.size(); ++place) {
            for (const std::string& array : uses[place].takes) {
                const bool is_ours = makers.count(array) != 0 || takeable_.count(array) != 0;
                if (is_ours && in_parts.count(array) != 0)
                    found.merge(late_parts(array, place, uses, last_readers.at(array)));
            }
        }
        return found;
    }

    /// The parts of `array` that are needed behind the operation at `place`, which changes it; none where some other
    /// operation needs all of it there.
    static Names late_parts(const std::string& array, std::size_t place, const std::vector<Use>& uses,
                            std::size_t last_reader) {
        Names found;
        const auto add = [&](const Use& use, Names& kept, bool elements_alone = false) {
            const auto parts = use.parts.find(array);
            if (parts == use.parts.end()) return;
            for (const std::string& part : parts->second)
                if (!elements_alone || use.elements.count(part) != 0) kept.insert(part);
        };
        // Its own blocks may need them behind a change of theirs. A branch need not be taken: of that an element alone.
        const Operation& changing = *uses[place].operation;
        if (is_region(changing)) {
            if (uses[place].whole.count(array) != 0) return {};
            add(uses[place], found, changing.op == Op::if_else);
        }
        std::set<std::size_t> behind{place};
        const auto follows = [&](const std::set<std::size_t>& earlier) {
            return std::ranges::any_of(earlier, [&](std::size_t one) { return behind.count(one) != 0; });
        };
        for (std::size_t later = place + 1; later <= last_reader; ++later) {
            if (!follows(uses[later].before)) continue;
            behind.insert(later);
            if (uses[later].whole.count(array) != 0) return {};
            add(uses[later], found);
        }
        // Of two that change what the other one reads, one comes first: `x[i], y[i] = c * x[i] - s * y[i], …`.
        Names in_turn = found;
        for (std::size_t later = place + 1; later <= last_reader; ++later) {
            if (behind.count(later) != 0 || !(follows(uses[later].before) || follows(uses[later].behind))) continue;
            behind.insert(later);
            if (uses[later].whole.count(array) != 0) return found;
            add(uses[later], in_turn);
        }
        return in_turn;
    }

    Use use_of(const Operation& operation, const Makers& makers) const {
        Use use{.operation = &operation};
        const bool is_branch = operation.op == Op::if_else;
        if (operation.op == Op::update) use.takes.insert(operation.operands[0]);
        if (is_branch) {
            for (const auto& [result, array] : changed_in_place(cut_, operation))
                use.takes.insert(array);
        } else if (is_region(operation)) {
            use.takes.insert(operation.operands.begin(), operation.operands.end());
        }
        for (const std::string& operand : operation.operands)
            if (const auto maker = makers.find(operand); maker != makers.end()) use.before.insert(maker->second);
        Names seen;
        // What a loop begins with is what it changes.
        if (!is_region(operation) || is_branch)
            for (const std::string& operand : operation.operands)
                if (use.takes.count(operand) == 0) collect_parts(operand, makers, use, seen);
        for (const std::string& name : cut_.free_names(operation))
            if (!is_branch || use.takes.count(name) == 0) collect_parts(name, makers, use, seen);
        return use;
    }

    /// What the value of an expression reads of arrays.
    void collect_parts(const std::string& value, const Makers& makers, Use& use, Names& seen) const {
        const auto maker = makers.find(value);
        if (maker != makers.end()) use.before.insert(maker->second);
        const Operation* operation = cut_.operation_of(value);
        if (maker != makers.end() || operation == nullptr) {
            use.whole.insert(value);
            return;
        }
        if (!seen.insert(value).second) return;
        std::string array = value;
        const Operation* view = operation;
        while (view != nullptr && is_view(view->op) && makers.count(array) == 0) {
            array = view->operands[0];
            view = cut_.operation_of(array);
        }
        if (cut_.values.type(value).shape.size() < cut_.values.type(array).shape.size()) {
            use.parts[array].insert(value);
            if (cut_.values.type(value).shape.empty()) use.elements.insert(value);
            if (const auto made = makers.find(array); made != makers.end()) use.before.insert(made->second);
            return;
        }
        for (const std::string& operand : operation->operands)
            collect_parts(operand, makers, use, seen);
        for (const std::string& name : cut_.free_names(*operation))
            collect_parts(name, makers, use, seen);
    }

    // ---- in which order ----

    void connect() {
        for (Item& item : items) {
            Names made = made_, seen;
            if (item.kind == Item::Kind::check) {
                cut_.closure(item.check->value, made, item.reads, seen);
            } else {
                for (const auto& [name, type] : results_of(*item.operation))
                    made.erase(name);
                cut_.closure(*item.operation, made, item.reads, seen);
                if (outermost_) wait_for_checks(item);
            }
            for (const std::string& name : item.reads)
                if (const auto maker = maker_.find(name); maker != maker_.end()) item.before.insert(maker->second);
        }
    }

    /// Takes without clamps run behind the check that has seen their positions. It reads arguments alone, so nothing
    /// that it waits for can wait for the takes.
    void wait_for_checks(Item& item) const {
        std::set<int> checks; // that the positions of takes rely on
        for (const Block& region : item.operation->regions)
            walk(region, [&](const Operation& operation) { checks.insert(check_of(operation)); });
        for (std::size_t k = 0; k < items.size(); ++k) {
            const Check* check = items[k].check;
            if (check != nullptr && checks.count(static_cast<int>(check - cut_.program.checks.data())) != 0)
                item.before.insert(k);
        }
    }

    bool comes_before(std::size_t first, std::size_t second) const {
        // Each item once: chains of branches have more ways through them than can be walked.
        std::set<std::size_t> seen{second};
        std::vector<std::size_t> pending{second};
        while (!pending.empty()) {
            const std::size_t item = pending.back();
            if (item == first) return true;
            pending.pop_back();
            for (std::size_t before : items[item].before)
                if (seen.insert(before).second) pending.push_back(before);
        }
        return false;
    }

    // ---- whose memory ----

    /// Ends the call for NumPy, which must find the arguments as they were.
    static bool may_end_the_call(const Item& item) {
        return item.kind == Item::Kind::check || may_end_the_call(*item.operation);
    }
    /// A callee may raise; a size that is read without limits may not fit.
    static bool may_end_the_call(const Operation& operation) {
        bool found = false;
        walk_operation(operation, [&](const Operation& each) {
            found = found || each.op == Op::call || (each.op == Op::read && !each.attributes.has(attr::min));
        });
        return found;
    }

    /// A function that is not NumPy's may look at the caller's array by another way, a global say.
    static bool calls_unknown(const Item& item) {
        return item.operation != nullptr && item.operation->op == Op::call &&
               !item.operation->attributes.at(attr::callee).text.starts_with("numpy.");
    }

    /// Lets an item take over the memory of `value` where everybody else can read it before. An argument is saved first
    /// where NumPy may still have to run the call.
    void try_take(std::size_t k, const std::string& value) {
        const bool own = maker_.count(value) != 0;
        if (!own && takeable_.count(value) == 0) return;
        if (ends_.count(value) != 0) return;
        const bool is_argument = !own && outermost_;
        bool may_end_later = is_argument && may_end_the_call(items[k]);
        std::vector<std::size_t> readers;
        for (std::size_t other = 0; other < items.size(); ++other) {
            const Item& item = items[other];
            if (other == k) continue;
            // One has it already, which need not read it: what is written all over replaces it.
            if (item.consumed.count(value) != 0) return;
            const bool reads = item.reads.count(value) != 0;
            if (!reads && !(is_argument && may_end_the_call(item))) continue;
            const bool stays_behind = !reads && other > k && calls_unknown(item);
            if (!stays_behind && !comes_before(k, other))
                readers.push_back(other);
            else if (reads)
                return;
            else
                may_end_later = true;
        }
        if (may_end_later && cut_.device) return;
        // What the block yields may be an expression that reads it.
        for (const std::string& end : ends_) {
            Names found, seen;
            cut_.closure(end, made_, found, seen);
            if (found.count(value) != 0) return;
        }
        items[k].consumed.insert(value);
        if (may_end_later) items[k].saved.insert(value);
        items[k].before.insert(readers.begin(), readers.end());
    }

    void take_memory() {
        for (std::size_t k = 0; k < items.size(); ++k) {
            if (items[k].kind == Item::Kind::check) continue;
            const Operation& operation = *items[k].operation;
            if (items[k].kind == Item::Kind::fresh) try_replace(k);
            if (items[k].kind == Item::Kind::store) try_take(k, operation.operands[0]);
            if (items[k].kind != Item::Kind::region) continue;
            if (operation.op == Op::if_else) {
                for (const auto& [result, value] : changed_in_place(cut_, operation))
                    try_take(k, value);
                continue;
            }
            Names read;
            for (const std::string& name : cut_.free_names(operation)) {
                Names seen;
                cut_.closure(name, made_, read, seen);
            }
            for (const std::string& operand : operation.operands) {
                const bool twice = std::ranges::count(operation.operands, operand) > 1;
                if (!twice && read.count(operand) == 0) try_take(k, operand);
            }
        }
    }

    /// What an iteration hands on, and what an argument is to be, may lie where it came from, if it reads of that the
    /// element alone that it replaces: no second array to change places with or to copy from. Neighbours of its shape
    /// in a loop share a kernel with it, which is worth more than not to change places; a copy costs more than a
    /// kernel, but less than an elementary function that both would compute.
    void try_replace(std::size_t k) {
        const Operation& operation = *items[k].operation;
        const auto shares = [&](std::size_t other) {
            return other < items.size() && items[other].kind == Item::Kind::fresh &&
                   same_shape(items[other].operation->type.shape, operation.type.shape);
        };
        if (is_heavy(operation) || operation.type.shape.empty()) return;
        const std::string replaced = outermost_ ? written_by(operation.result) : carried_by(operation.result);
        if (replaced.empty() || (outermost_ ? shares_long_work(k) : shares(k - 1) || shares(k + 1))) return;
        const Type& type = cut_.values.type(replaced);
        if (!same_shape(type.shape, operation.type.shape) || cut_.moves(type)) return;
        // In a loop two arrays that change places cost nothing, and kernels that no other one waits for keep their
        // threads.
        const auto is_made_before = [&](const std::string& name) {
            return outermost_ && name != operation.result && maker_.count(name) != 0;
        };
        if (reads_elsewhere(operation, replaced, is_made_before)) return;
        try_take(k, replaced);
    }

    /// Whether an element of an expression reads other elements of `array` than its own. `is_stored(name)`: values that
    /// it finds in memory of their own.
    template <class IsStored>
    bool reads_elsewhere(const Operation& operation, const std::string& array, const IsStored& is_stored) const {
        AccessContext context = cut_.access_context();
        context.operation = [this, &is_stored](const std::string& name) {
            return is_stored(name) ? nullptr : cut_.operation_of(name);
        };
        const std::vector<Size>& shape = cut_.values.type(array).shape;
        const std::vector<IndexEntry> all = whole_region(shape.size());
        return std::ranges::any_of(accesses(operation.result, context), [&](const Access& access) {
            const auto place = cut_.places.find(access.memory);
            return place != cut_.places.end() && place->second == cut_.places.at(array) &&
                   overlap(access, all, shape) != Overlap::same;
        });
    }

    /// Whether another new value of the block needs some elementary function's value that this one needs.
    bool shares_long_work(std::size_t k) const {
        const auto computed = [&](std::size_t item) {
            Names found, seen;
            for (const std::string& operand : items[item].operation->operands)
                cut_.closure(operand, made_, found, seen);
            return seen;
        };
        const Names mine = computed(k);
        for (std::size_t other = 0; other < items.size(); ++other) {
            if (other == k || items[other].kind != Item::Kind::fresh) continue;
            for (const std::string& value : computed(other)) {
                const Operation* operation = mine.count(value) != 0 ? cut_.operation_of(value) : nullptr;
                const bool is_long = operation != nullptr && is_elementary(operation->op);
                if (is_long && made_.count(value) == 0) return true;
            }
        }
        return false;
    }

    /// The argument that gets this value at the end of the call, or a version of it that updates have changed; "" if
    /// none does.
    std::string written_by(const std::string& value) const {
        const auto is_version = [&](const Write& write) {
            std::string version = write.value;
            for (const Operation* made = nullptr; version != value; version = made->operands[0]) {
                made = cut_.values.made_by(version, Op::update);
                if (made == nullptr) return false;
            }
            return true;
        };
        const auto write = std::ranges::find_if(cut_.program.writes, is_version);
        return write == cut_.program.writes.end() ? "" : write->argument;
    }

    /// What this value is in the next iteration, "" if nothing.
    std::string carried_by(const std::string& value) const {
        const auto yielded = std::ranges::find(block_.yields, value);
        const auto at = static_cast<std::size_t>(yielded - block_.yields.begin());
        if (at >= block_.parameters.size() || std::ranges::count(block_.yields, value) != 1) return "";
        return block_.parameters[at].first;
    }
};

std::optional<std::string> start_of_ways(const Cut& cut, const Operation& branch, std::size_t result);

/// The array from outside of a block that `value`, one of the block's, is after updates, branches and loops of the
/// block; `value` itself where it is none of the block's; nothing where it is made there.
std::optional<std::string> start_in(const Cut& cut, const Block& block, std::string value) {
    while (cut.home_of(value) == &block) {
        const Operation* made = cut.values.made_by(value);
        if (made == nullptr) return std::nullopt;
        if (made->op == Op::update) {
            value = made->operands[0];
        } else if (made->op == Op::for_loop || made->op == Op::while_loop) {
            value = made->operands[cut.values.position(value)];
        } else if (made->op == Op::if_else) {
            const std::optional<std::string> start = start_of_ways(cut, *made, cut.values.position(value));
            if (!start) return std::nullopt;
            value = *start;
        } else {
            return std::nullopt;
        }
    }
    return value;
}

/// The array from outside of a branch that its result is, whichever way it goes.
std::optional<std::string> start_of_ways(const Cut& cut, const Operation& branch, std::size_t result) {
    const auto of = [&](std::size_t way) {
        return start_in(cut, branch.regions[way], branch.regions[way].yields[result]);
    };
    const std::optional<std::string> start = of(0);
    return start == of(1) ? start : std::nullopt;
}

} // namespace

std::vector<Item> items_of(const Cut& cut, const Block& block, const Names& ends, const Names& takeable) {
    return Items(cut, block, ends, takeable).items;
}

std::map<std::string, std::string> changed_in_place(const Cut& cut, const Operation& branch) {
    std::map<std::string, std::string> out;
    std::map<std::string, int> uses;
    const auto results = results_of(branch);
    for (std::size_t k = 0; k < results.size(); ++k) {
        const std::optional<std::string> start = start_of_ways(cut, branch, k);
        if (!start || cut.scalars.count(*start) != 0) continue;
        out[results[k].first] = *start;
        ++uses[*start];
    }
    std::erase_if(out, [&](const auto& one) { return uses[one.second] > 1; });
    return out;
}

} // namespace tilewright::translator
