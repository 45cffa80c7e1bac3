// translator/plan/cut_blocks.cpp: what a block does, the order of it, and who takes over whose memory.
#include <algorithm>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"
#include "translator/plan/cutter.h"

namespace tilewright::translator {

namespace {

bool is_heavy(const Operation& operation) {
    return is_reduction(operation.op) || operation.op == Op::matmul || !operation.regions.empty();
}

/// Checks that the positions of takes rely on.
void collect_checks(const Block& block, std::set<int>& checks) {
    walk(block, [&](const Operation& operation) {
        if (check_of(operation) >= 0) checks.insert(check_of(operation));
    });
}

} // namespace

std::vector<Step> Cutter::block(const Block& block, const Names& ends, const Names& takeable) {
    Work work;
    work.block = &block;
    work.ends = ends;
    work.takeable = takeable;
    find_items(work);
    connect(work);
    take_memory(work);
    return emit(work);
}

void Cutter::find_items(Work& work) {
    Names wanted;
    auto want = [&](const std::string& value) {
        if (home_of(value) == work.block && operation_of(value) != nullptr) wanted.insert(value);
    };
    for (const std::string& value : work.ends)
        want(value);
    const bool outermost = work.block == &program_.body;
    for (std::size_t k = 0; outermost && k < program_.checks.size(); ++k)
        want(program_.checks[k].value);
    for (const Operation& operation : work.block->operations) {
        if (operation.op == Op::read) want(operation.operands[0]);
        if (is_region(operation)) {
            Names found;
            for (const std::string& name : free_names(operation))
                roots(name, found);
            const bool carries = operation.op != Op::if_else;
            for (const std::string& operand : operation.operands) {
                if (carries && !is_fill(operand)) roots(operand, found);
                if (!carries && !(device_ && plan_condition(operand))) found.insert(operand);
            }
            for (const std::string& name : found)
                want(name);
        } else if (operation.op == Op::update && !is_fill(operation.operands[0])) {
            want(operation.operands[0]);
        }
    }
    // A reduction that several items would compute is computed once.
    for (bool changed = true; changed;) {
        changed = false;
        Names makers = wanted;
        for (const Operation& operation : work.block->operations)
            if (operation.op == Op::update || operation.op == Op::read) makers.insert(operation.result);
        for (const Operation& operation : work.block->operations) {
            if (!is_heavy(operation) || is_region(operation) || is_wanted(operation, wanted)) continue;
            int users = 0;
            Names cut = makers;
            for (const auto& [name, type] : results_of(operation))
                cut.insert(name);
            for (const std::string& maker : makers) {
                Names found, seen;
                closure(*operations_.at(maker), cut, found, seen);
                users += is_wanted(operation, found) ? 1 : 0;
            }
            if (users > 1) {
                wanted.insert(operation.result);
                changed = true;
            }
        }
    }
    for (const Operation& operation : work.block->operations) {
        Item item;
        item.operation = &operation;
        if (is_region(operation))
            item.kind = Item::Kind::region;
        else if (operation.op == Op::update)
            item.kind = Item::Kind::store;
        else if (operation.op == Op::read)
            item.kind = Item::Kind::read;
        else if (!is_wanted(operation, wanted))
            continue;
        for (const auto& [name, type] : results_of(operation)) {
            work.maker[name] = work.items.size();
            work.made.insert(name);
        }
        work.items.push_back(std::move(item));
    }
    for (std::size_t k = 0; outermost && k < program_.checks.size(); ++k) {
        Item item;
        item.kind = Item::Kind::check;
        item.check = &program_.checks[k];
        work.items.push_back(std::move(item));
    }
}

bool Cutter::is_wanted(const Operation& operation, const Names& names) {
    const auto results = results_of(operation);
    return std::ranges::any_of(results, [&](const auto& result) { return names.count(result.first) != 0; });
}

bool Cutter::is_fill(const std::string& value) const {
    if (place_.count(value) != 0 || scalars_.count(value) != 0) return scalars_.count(value) != 0;
    Names found;
    roots(value, found);
    return found.empty();
}

void Cutter::connect(Work& work) {
    for (std::size_t k = 0; k < work.items.size(); ++k) {
        Item& item = work.items[k];
        Names made = work.made;
        Names seen;
        if (item.kind == Item::Kind::check) {
            closure(item.check->value, made, item.reads, seen);
            note_makers(work, item);
            continue;
        }
        for (const auto& [name, type] : results_of(*item.operation))
            made.erase(name);
        closure(*item.operation, made, item.reads, seen);
        note_makers(work, item);
        if (work.block == &program_.body) wait_for_checks(work, item);
    }
}

void Cutter::note_makers(const Work& work, Item& item) {
    for (const std::string& name : item.reads) {
        const auto maker = work.maker.find(name);
        if (maker != work.maker.end()) item.before.insert(maker->second);
    }
}

void Cutter::wait_for_checks(const Work& work, Item& item) const {
    std::set<int> checks;
    for (const Block& region : item.operation->regions)
        collect_checks(region, checks);
    for (std::size_t k = 0; k < work.items.size(); ++k) {
        const Check* check = work.items[k].check;
        if (check != nullptr && checks.count(static_cast<int>(check - program_.checks.data())) != 0)
            item.before.insert(k);
    }
}

bool Cutter::may_end_the_call(const Item& item) {
    return item.kind == Item::Kind::check ||
           (item.kind == Item::Kind::read && !item.operation->attributes.has(attr::min));
}

bool Cutter::comes_before(const Work& work, std::size_t first, std::size_t second) {
    // Each item once: chains of branches have more ways through them than can be walked.
    std::set<std::size_t> seen{second};
    std::vector<std::size_t> pending{second};
    while (!pending.empty()) {
        const std::size_t item = pending.back();
        if (item == first) return true;
        pending.pop_back();
        for (std::size_t before : work.items[item].before)
            if (seen.insert(before).second) pending.push_back(before);
    }
    return false;
}

void Cutter::try_take(Work& work, std::size_t k, const std::string& value) {
    const bool own = work.maker.count(value) != 0;
    if (!own && work.takeable.count(value) == 0) return;
    if (work.ends.count(value) != 0) return;
    std::vector<std::size_t> readers;
    for (std::size_t other = 0; other < work.items.size(); ++other) {
        const Item& item = work.items[other];
        if (other == k) continue;
        // One has it already, which need not read it: what is written all over replaces it.
        if (item.consumed.count(value) != 0) return;
        if (item.reads.count(value) == 0 && (own || !may_end_the_call(item))) continue;
        if (comes_before(work, k, other)) return;
        readers.push_back(other);
    }
    // What the block yields may be an expression that reads it.
    for (const std::string& end : work.ends) {
        Names found, seen;
        closure(end, work.made, found, seen);
        if (found.count(value) != 0) return;
    }
    work.items[k].consumed.insert(value);
    work.items[k].before.insert(readers.begin(), readers.end());
}

void Cutter::take_memory(Work& work) {
    for (std::size_t k = 0; k < work.items.size(); ++k) {
        if (work.items[k].kind == Item::Kind::check) continue;
        const Operation& operation = *work.items[k].operation;
        if (work.items[k].kind == Item::Kind::fresh) try_replace(work, k);
        if (work.items[k].kind == Item::Kind::store) try_take(work, k, operation.operands[0]);
        if (work.items[k].kind != Item::Kind::region) continue;
        if (operation.op == Op::if_else) {
            for (const auto& [result, value] : changed_in_place(operation))
                try_take(work, k, value);
            continue;
        }
        const Names inside = free_names(operation);
        Names read;
        for (const std::string& name : inside) {
            Names seen;
            closure(name, work.made, read, seen);
        }
        for (const std::string& operand : operation.operands) {
            const bool twice = std::ranges::count(operation.operands, operand) > 1;
            if (!twice && read.count(operand) == 0) try_take(work, k, operand);
        }
    }
}

std::map<std::string, std::string> Cutter::changed_in_place(const Operation& branch) const {
    std::map<std::string, std::string> out;
    std::map<std::string, int> uses;
    const auto results = results_of(branch);
    for (std::size_t k = 0; k < results.size(); ++k) {
        std::optional<std::string> start;
        bool same = true;
        for (const Block& way : branch.regions) {
            std::string value = way.yields[k];
            for (auto each = way.operations.rbegin(); each != way.operations.rend(); ++each)
                if (each->op == Op::update && each->result == value) value = each->operands[0];
            same = same && home_of(value) != &way && (!start || *start == value);
            start = value;
        }
        if (!same || !start || scalars_.count(*start) != 0) continue;
        out[results[k].first] = *start;
        ++uses[*start];
    }
    std::erase_if(out, [&](const auto& one) { return uses[one.second] > 1; });
    return out;
}

void Cutter::try_replace(Work& work, std::size_t k) {
    const Operation& operation = *work.items[k].operation;
    const auto shares = [&](std::size_t other) {
        return other < work.items.size() && work.items[other].kind == Item::Kind::fresh &&
               same_shape(work.items[other].operation->type.shape, operation.type.shape);
    };
    if (is_heavy(operation) || operation.type.shape.empty()) return;
    const bool outermost = work.block == &program_.body;
    const std::string replaced = outermost ? written_by(operation.result) : carried_by(operation.result, *work.block);
    if (replaced.empty() || (outermost ? shares_long_work(work, k) : shares(k - 1) || shares(k + 1))) return;
    const Type& type = types_.at(replaced);
    if (!same_shape(type.shape, operation.type.shape) || moves(type)) return;
    const std::vector<IndexEntry> all = whole_region(type.shape.size());
    for (const Access& access : accesses(operation.result, access_context())) {
        const auto place = place_.find(access.memory);
        if (place == place_.end() || place->second != place_.at(replaced)) continue;
        if (overlap(access, all, type.shape) != Overlap::same) return;
    }
    try_take(work, k, replaced);
}

bool Cutter::shares_long_work(const Work& work, std::size_t k) const {
    const auto computed = [&](std::size_t item) {
        Names found, seen;
        for (const std::string& operand : work.items[item].operation->operands)
            closure(operand, work.made, found, seen);
        return seen;
    };
    const Names mine = computed(k);
    for (std::size_t other = 0; other < work.items.size(); ++other) {
        if (other == k || work.items[other].kind != Item::Kind::fresh) continue;
        for (const std::string& value : computed(other)) {
            const Operation* operation = mine.count(value) != 0 ? operation_of(value) : nullptr;
            const bool is_long = operation != nullptr && is_elementary(operation->op);
            if (is_long && work.made.count(value) == 0) return true;
        }
    }
    return false;
}

std::string Cutter::written_by(const std::string& value) const {
    const auto write = std::ranges::find_if(program_.writes, [&](const Write& each) { return each.value == value; });
    return write == program_.writes.end() ? "" : write->argument;
}

std::string Cutter::carried_by(const std::string& value, const Block& block) {
    const auto yielded = std::ranges::find(block.yields, value);
    const auto at = static_cast<std::size_t>(yielded - block.yields.begin());
    if (at >= block.parameters.size() || std::ranges::count(block.yields, value) != 1) return "";
    return block.parameters[at].first;
}

std::vector<Step> Cutter::emit(Work& work) {
    std::vector<Step> steps;
    std::vector<std::string> waiting; ///< fresh values for one segment
    auto flush = [&] {
        if (waiting.empty()) return;
        std::vector<std::pair<std::string, Target>> yields;
        std::vector<std::pair<std::string, std::string>> places;
        for (const std::string& value : waiting) {
            const Operation& operation = *operations_.at(value);
            const std::string name = fresh_name(value, text_of(operation.op));
            const Type type = types_.at(value);
            add_temporary(name, type, steps);
            yields.push_back({value, Target{name, type, true, {}, operation.line}});
            places.emplace_back(value, name);
        }
        steps.push_back(segment(yields));
        for (const auto& [value, name] : places)
            place_[value] = name;
        waiting.clear();
    };
    std::vector<bool> done(work.items.size(), false);
    for (std::size_t count = 0; count < work.items.size(); ++count) {
        // Checks as early as they can be, then the order of the text.
        std::size_t next = work.items.size();
        for (std::size_t k = 0; k < work.items.size(); ++k) {
            const std::set<std::size_t>& before = work.items[k].before;
            const bool is_check = work.items[k].kind == Item::Kind::check;
            if (done[k] || (next != work.items.size() && !is_check)) continue;
            if (!std::ranges::all_of(before, [&](std::size_t b) { return done[b]; })) continue;
            next = k;
            if (is_check) break;
        }
        if (next == work.items.size()) throw InternalError("the order of a block has a cycle.");
        done[next] = true;
        Item& item = work.items[next];
        if (item.kind == Item::Kind::fresh && !item.consumed.empty()) {
            flush();
            emit_replacement(item, steps);
            continue;
        }
        if (item.kind == Item::Kind::fresh) {
            for (const auto& [name, exact] : results_of(*item.operation))
                waiting.push_back(name);
            continue;
        }
        flush();
        if (item.kind == Item::Kind::check)
            emit_check(*item.check, steps);
        else if (item.kind == Item::Kind::read)
            emit_read(*item.operation, steps);
        else if (item.kind == Item::Kind::store)
            emit_store(item, steps);
        else if (item.operation->op == Op::for_loop)
            emit_for(item, steps);
        else if (item.operation->op == Op::while_loop)
            emit_while(item, steps);
        else
            emit_if(item, steps);
    }
    flush();
    return steps;
}

AccessContext Cutter::access_context() const {
    return {[this](const std::string& name) { return operation_of(name); },
            [this](const std::string& name) -> const Type& { return types_.at(name); }};
}

void Cutter::emit_store(Item& item, std::vector<Step>& steps) {
    const Operation& update = *item.operation;
    const std::string& base = update.operands[0];
    const std::string& part = update.operands[1];
    const Type& whole = types_.at(base);
    const std::vector<IndexEntry> region = update.attributes.at(attr::index);
    const std::string name =
        item.consumed.count(base) != 0 ? place_.at(base) : fresh_buffer(update.result, base, steps, update);
    store(part, name, whole, region, update, steps);
    place_[update.result] = name;
}

void Cutter::emit_replacement(const Item& item, std::vector<Step>& steps) {
    const Operation& operation = *item.operation;
    const std::string& name = place_.at(*item.consumed.begin());
    store(operation.result, name, operation.type, whole_region(operation.type.shape.size()), operation, steps);
    place_[operation.result] = name;
}

std::string Cutter::fresh_buffer(const std::string& value, const std::string& from, std::vector<Step>& steps,
                                 const Operation& operation) {
    const Type type = types_.at(from);
    const std::string name = add_temporary(fresh_name(value, text_of(operation.op)), type, steps);
    const auto place = place_.find(from);
    const auto start = operations_.find(from);
    if (start != operations_.end() && start->second->attributes.has(attr::unread)) return name;
    if (place == place_.end()) {
        steps.push_back(segment({{from, whole(name, type, operation.line)}}));
    } else {
        steps.push_back(step_of(Step::Kind::copy, {place->second, name}));
    }
    return name;
}

void Cutter::store(const std::string& part, const std::string& name, const Type& whole,
                   const std::vector<IndexEntry>& region, const Operation& operation, std::vector<Step>& steps) {
    const std::vector<Size>& shape = types_.at(part).shape;
    // One element is written when everything that it needs has been read.
    const bool is_one_element = std::ranges::all_of(shape, is_one);
    bool apart = true;
    bool lanes_apart = true;
    for (const Access& access : accesses(part, access_context())) {
        const auto place = place_.find(access.memory);
        if (place == place_.end() || place->second != name) continue;
        const Overlap found = overlap(access, region, shape);
        apart = apart && (found != Overlap::unknown || is_one_element);
        lanes_apart = lanes_apart && same_lanes(access, region);
    }
    if (apart) {
        steps.push_back(segment({{part, Target{name, whole, false, region, operation.line}}}));
        steps.back().segment.lanes_apart = lanes_apart;
        return;
    }
    // Outside of the loop where it has room for every iteration.
    const Type most = bounded(types_.at(part)).value_or(types_.at(part));
    const std::string between = add_temporary(fresh_name("%", base_name(name) + "_part"), most, steps);
    steps.push_back(segment({{part, Target{between, most, false, whole_region(shape.size()), operation.line}}}));
    steps.push_back(copy_part(between, most, types_.at(part), Target{name, whole, false, region, operation.line}));
}

Target Cutter::whole(const std::string& name, const Type& type, int line) {
    return {name, type, false, whole_region(type.shape.size()), line};
}

std::string Cutter::base_name(const std::string& name) {
    const std::size_t at = name.rfind('_');
    const bool numbered = at != std::string::npos && at + 1 < name.size() &&
                          std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 1, name.end(),
                                      [](char c) { return c >= '0' && c <= '9'; });
    return numbered ? name.substr(0, at) : name;
}

} // namespace tilewright::translator
