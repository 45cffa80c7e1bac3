// translator/plan/cut_steps.cpp: the steps of a program, block by block: segments, regions, and the memory that they
// carry.
#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"
#include "translator/plan/checked_flags.h"
#include "translator/plan/cut.h"
#include "translator/plan/written_parts.h"

namespace tilewright::translator {
namespace {

using Steps = std::vector<Step>;

/// All of a buffer that has another name than the value.
Target whole(const std::string& name, const Type& type, int line) {
    return {name, type, false, whole_region(type.shape.size()), line};
}

/// Without the number behind it.
std::string base_name(const std::string& name) {
    const std::size_t end = name.find_last_not_of("0123456789");
    const bool numbered = end != std::string::npos && name[end] == '_' && end + 1 < name.size();
    return numbered ? name.substr(0, end) : name;
}

/// A copy, a swap, or what looks at one buffer.
Step step_of(Step::Kind kind, const std::vector<std::string>& memory) {
    Step step;
    step.kind = kind;
    for (const std::string& name : memory)
        step.arguments.push_back(Size::symbol(name));
    return step;
}

/// Of a loop or a branch.
Step region_step(Step::Kind kind, const Operation& operation) {
    Step step;
    step.kind = kind;
    step.operation = &operation;
    return step;
}

Names parameters_of(const Block& block) {
    Names out;
    for (const auto& [name, type] : block.parameters)
        out.insert(name);
    return out;
}

Names set_of(const std::vector<std::string>& values) {
    return {values.begin(), values.end()};
}

void add_array(Program& program, const std::string& name, const Type& type) {
    if (std::ranges::find(program.arrays, name, &ArrayArgument::name) != program.arrays.end()) return;
    program.arrays.push_back({name, type});
    program.argument_order.push_back(name);
}

void rename_all(Operation& operation, const Renamed& renamed) {
    const auto apply = [&](std::string& name) {
        const auto found = renamed.find(name);
        if (found != renamed.end()) name = found->second;
    };
    walk_operation(operation, [&](Operation& each) {
        apply(each.result);
        for (auto& [name, type] : each.more_results)
            apply(name);
    });
    walk_uses(operation, apply);
}

class Cutter {
  public:
    Cutter(const Program& program, bool device) : program_(program), cut_(program, device) {}

    Stepped run() {
        Names ends;
        for (const std::string& value : program_.body.yields)
            if (cut_.values.made_by(value) != nullptr) add_end(value, ends); // an argument is returned as it lies
        for (const Write& write : program_.writes)
            add_end(write.value, ends);
        cut_.out.steps = block(program_.body, ends, cut_.written);
        for (const std::string& flag : checked_flags(program_, cut_.values))
            if (const auto place = cut_.places.find(flag); place != cut_.places.end())
                cut_.out.flags[cut_.values.made_by(flag)].insert(place->second);
        finish();
        return std::move(cut_.out);
    }

  private:
    const Program& program_;
    Cut cut_;
    /// Temporaries from this index on are made by the region whose yields are moved.
    std::size_t inside_from_ = 0;
    Names taken_; ///< arguments that no longer hold what they did

    const Type& type(const std::string& value) const { return cut_.values.type(value); }
    bool is_scalar(const std::string& value) const { return cut_.scalars.count(value) != 0; }
    bool is_in_memory(const std::string& value) const { return cut_.places.count(value) != 0; }
    const Operation* complex_of(const std::string& value) const { return cut_.values.made_by(value, Op::complex); }

    /// A complex value ends as its halves.
    void add_end(const std::string& value, Names& ends) const {
        if (const Operation* complex = complex_of(value))
            ends.insert(complex->operands.begin(), complex->operands.end());
        else
            ends.insert(value);
    }

    BufferPlan& buffer(const std::string& name) {
        const auto found = std::ranges::find(cut_.out.buffers, name, &BufferPlan::name);
        if (found == cut_.out.buffers.end()) throw InternalError("buffer " + name + ": not in the table.");
        return *found;
    }

    std::string add_temporary(const std::string& name, const Type& type, Steps& steps) {
        const bool local = cut_.moves(type);
        cut_.out.buffers.push_back({name, type, BufferPlan::Kind::temporary, false, local});
        if (local) steps.push_back(step_of(Step::Kind::temporary, {name}));
        return name;
    }
    /// Named after a buffer.
    std::string add_temporary_of(const std::string& other, const char* suffix, const Type& type, Steps& steps) {
        return add_temporary(cut_.fresh_name("%", base_name(other) + suffix), type, steps);
    }
    std::string saved_copy(const std::string& from, const char* suffix, const Type& type, Steps& steps,
                           Step::Kind kind = Step::Kind::copy) {
        const std::string copy = add_temporary_of(from, suffix, type, steps);
        steps.push_back(step_of(kind, {from, copy}));
        return copy;
    }

    // ---- one block ----

    Steps block(const Block& block, const Names& ends, const Names& takeable) {
        const std::vector<Item> items = items_of(cut_, block, ends, takeable);
        Steps steps;
        std::vector<std::string> waiting; ///< fresh values for one segment
        std::vector<bool> done(items.size(), false);
        for (std::size_t count = 0; count < items.size(); ++count) {
            const std::size_t next = next_of(items, done);
            done[next] = true;
            const Item& item = items[next];
            if (item.kind == Item::Kind::fresh && item.consumed.empty()) {
                for (const auto& [name, exact] : results_of(*item.operation))
                    waiting.push_back(name);
                continue;
            }
            emit_fresh(waiting, steps);
            taken_.insert(item.consumed.begin(), item.consumed.end());
            for (const std::string& argument : item.saved)
                saved_copy(argument, "_before", type(argument), steps, Step::Kind::save);
            if (item.kind == Item::Kind::fresh)
                emit_replacement(item, steps);
            else if (item.kind == Item::Kind::check)
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
        emit_fresh(waiting, steps);
        return steps;
    }

    /// Checks as early as they can be, then the order of the text.
    static std::size_t next_of(const std::vector<Item>& items, const std::vector<bool>& done) {
        std::size_t next = items.size();
        for (std::size_t k = 0; k < items.size(); ++k) {
            const bool is_check = items[k].kind == Item::Kind::check;
            if (done[k] || (next != items.size() && !is_check)) continue;
            if (!std::ranges::all_of(items[k].before, [&](std::size_t b) { return done[b]; })) continue;
            next = k;
            if (is_check) break;
        }
        if (next == items.size()) throw InternalError("the order of a block has a cycle.");
        return next;
    }

    void emit_fresh(std::vector<std::string>& waiting, Steps& steps) {
        if (waiting.empty()) return;
        std::vector<std::pair<std::string, Target>> yields;
        for (const std::string& value : waiting) {
            const Operation& operation = *cut_.values.made_by(value);
            const std::string name = cut_.fresh_name(value, text_of(operation.op));
            add_temporary(name, type(value), steps);
            yields.push_back({value, Target{name, type(value), true, {}, operation.line}});
        }
        steps.push_back(segment(yields));
        for (const auto& [value, target] : yields)
            cut_.places[value] = target.buffer;
        waiting.clear();
    }

    void emit_store(const Item& item, Steps& steps) {
        const Operation& update = *item.operation;
        const std::string& base = update.operands[0];
        const std::string name =
            item.consumed.count(base) != 0 ? cut_.places.at(base) : fresh_buffer(update.result, base, steps, update);
        store(update.operands[1], name, type(base), update.attributes.at(attr::index), update, steps);
    }

    /// A fresh value into the memory that it takes over.
    void emit_replacement(const Item& item, Steps& steps) {
        const Operation& operation = *item.operation;
        const std::string& name = cut_.places.at(*item.consumed.begin());
        store(operation.result, name, operation.type, whole_region(operation.type.shape.size()), operation, steps);
    }

    /// A new buffer for `value` that holds what `from` holds.
    std::string fresh_buffer(const std::string& value, const std::string& from, Steps& steps,
                             const Operation& operation) {
        const std::string name = add_temporary(cut_.fresh_name(value, text_of(operation.op)), type(from), steps);
        const Operation* start = cut_.values.made_by(from);
        if (start != nullptr && start->attributes.has(attr::unread)) return name;
        if (is_in_memory(from))
            steps.push_back(step_of(Step::Kind::copy, {cut_.places.at(from), name}));
        else
            steps.push_back(segment({{from, whole(name, type(from), operation.line)}}));
        return name;
    }

    /// Writes `part` into a region of a buffer, which then holds the operation's result. Everything is read before
    /// anything is written, as NumPy does it.
    void store(const std::string& part, const std::string& name, const Type& of_buffer,
               const std::vector<IndexEntry>& region, const Operation& operation, Steps& steps) {
        const std::vector<Size>& shape = type(part).shape;
        // One element is written when everything that it needs has been read.
        const bool is_one_element = std::ranges::all_of(shape, is_one);
        bool apart = true;
        bool lanes_apart = true;
        for (const Access& access : accesses(part, cut_.access_context())) {
            const auto place = cut_.places.find(access.memory);
            if (place == cut_.places.end() || place->second != name) continue;
            const Overlap found = overlap(access, region, shape);
            apart = apart && (found != Overlap::unknown || is_one_element);
            lanes_apart = lanes_apart && same_lanes(access, region);
        }
        const Target target{name, of_buffer, false, region, operation.line};
        if (apart) {
            steps.push_back(segment({{part, target}}));
            steps.back().segment.lanes_apart = lanes_apart;
        } else {
            // Outside of the loop where it has room for every iteration.
            const Type most = cut_.bounded(type(part)).value_or(type(part));
            const std::string between = add_temporary_of(name, "_part", most, steps);
            steps.push_back(segment({{part, whole(between, most, operation.line)}}));
            steps.push_back(copy_part(between, most, type(part), target));
        }
        cut_.places[operation.result] = name;
    }

    // ---- segments ----

    /// Straight-line code without operations.
    Step empty_segment() const {
        Step step;
        step.segment.moving = cut_.symbols;
        Program& out = step.segment.program;
        out.function = program_.function;
        out.file = program_.file;
        out.arrays = program_.arrays;
        out.scalars = program_.scalars;
        out.argument_order = program_.argument_order;
        for (const MovingSize& symbol : cut_.symbols) {
            out.scalars.push_back({symbol.name, "int64"});
            out.argument_order.push_back(symbol.name);
        }
        out.returns_tuple = true;
        return step;
    }

    Step segment(const std::vector<std::pair<std::string, Target>>& yields) {
        Step step = empty_segment();
        Program& program = step.segment.program;
        std::map<std::size_t, const Operation*> needed; ///< by place in the text
        Renamed renamed;
        for (const auto& [value, target] : yields)
            gather(value, needed, renamed, program);
        for (const auto& [value, target] : yields)
            if (target.fresh) renamed[value] = target.buffer;
        // A half of an argument is a view of it, whatever copies of it are called.
        for (const auto& [at, operation] : needed)
            if (is_half(operation->op)) renamed[operation->result] = cut_.fresh_name("%", operation->result + "_view");
        for (const auto& [at, operation] : needed) {
            program.body.operations.push_back(*operation);
            rename_all(program.body.operations.back(), renamed);
        }
        for (const auto& [value, target] : yields) {
            program.body.yields.push_back(renamed.count(value) != 0 ? renamed.at(value) : value);
            const Operation* made = cut_.operation_of(value);
            const bool copies = target.fresh && made != nullptr && is_half(made->op);
            step.segment.targets.push_back(copies ? whole(target.buffer, target.type, target.line) : target);
            if (cut_.symbols.empty()) continue;
            for (Access& access : accesses(value, cut_.access_context())) {
                const auto place = cut_.places.find(access.memory);
                if (place != cut_.places.end()) step.segment.reads.push_back({place->second, std::move(access.map)});
            }
        }
        return step;
    }

    void gather(const std::string& value, std::map<std::size_t, const Operation*>& needed, Renamed& renamed,
                Program& program) {
        if (is_scalar(value)) return;
        const auto place = cut_.places.find(value);
        if (place != cut_.places.end()) {
            renamed[value] = place->second;
            add_array(program, place->second, cut_.type_of_buffer(place->second));
            return;
        }
        const Operation* operation = cut_.values.made_by(value);
        if (operation == nullptr || is_region(*operation) || operation->op == Op::update)
            throw InternalError(value + ": is read before it is in memory.");
        if (!needed.emplace(cut_.order.at(operation), operation).second) return;
        for (const std::string& operand : operation->operands)
            gather(operand, needed, renamed, program);
        for (const std::string& name : cut_.free_names(*operation))
            gather(name, needed, renamed, program);
    }

    /// The first elements of a temporary into a region.
    Step copy_part(const std::string& from, const Type& of_buffer, const Type& part, Target target) {
        Step step = empty_segment();
        step.segment.reads.push_back({from, std::nullopt});
        step.segment.copied = from;
        Program& program = step.segment.program;
        add_array(program, from, of_buffer);
        program.body.operations.push_back(make_operation("%part", part, Op::index, {from},
                                                         {attr::index(whole_region(part.shape.size()))}, target.line));
        program.body.yields.push_back("%part");
        step.segment.targets.push_back(std::move(target));
        return step;
    }

    std::string in_memory(const std::string& value, Steps& steps, const char* wish, int line) {
        if (is_in_memory(value)) return cut_.places.at(value);
        const std::string name = add_temporary(cut_.fresh_name("%", wish), type(value), steps);
        steps.push_back(segment({{value, Target{name, type(value), true, {}, line}}}));
        return name;
    }

    /// A 0-d truth that the plan can look at.
    std::string truth(const std::string& value, Steps& steps, int line) {
        return is_scalar(value) ? value : in_memory(value, steps, "truth", line);
    }

    // ---- regions ----

    /// Memory for what a loop carries; its first content is there after the steps.
    std::vector<std::string> enter(const Item& item, Steps& steps) {
        const Operation& operation = *item.operation;
        const auto results = results_of(operation);
        std::vector<std::string> homes;
        for (std::size_t k = 0; k < operation.operands.size(); ++k) {
            const std::string& init = operation.operands[k];
            const bool takes = item.consumed.count(init) != 0 && is_in_memory(init);
            homes.push_back(takes ? cut_.places.at(init) : fresh_buffer(results[k].first, init, steps, operation));
        }
        for (const Block& inner : operation.regions)
            for (std::size_t k = 0; k < inner.parameters.size(); ++k)
                cut_.places[inner.parameters[k].first] = homes[k];
        return homes;
    }

    void leave(Step step, const std::vector<std::string>& homes, Steps& steps) {
        const auto results = results_of(*step.operation);
        for (std::size_t k = 0; k < results.size(); ++k)
            cut_.places[results[k].first] = homes[k];
        steps.push_back(std::move(step));
    }

    /// `taken`: values from outside whose memory the block may change.
    Steps body(const Block& inner, const std::vector<std::string>& homes, const Operation& operation,
               const Names& taken) {
        const std::size_t before = cut_.out.buffers.size();
        const std::size_t known = cut_.symbols.size();
        Steps steps = block(inner, set_of(inner.yields), taken);
        const std::size_t saved = std::exchange(inside_from_, before);
        move(inner.yields, homes, steps, operation);
        inside_from_ = saved;
        cut_.symbols.resize(known); // sizes that the block read
        return steps;
    }

    /// Puts the yields of a block where they belong.
    void move(const std::vector<std::string>& yields, const std::vector<std::string>& homes, Steps& steps,
              const Operation& operation) {
        std::vector<std::pair<std::string, std::string>> moves; ///< from, to
        std::map<std::string, int> uses;
        for (std::size_t k = 0; k < yields.size(); ++k) {
            std::string from;
            if (is_scalar(yields[k]) || !is_in_memory(yields[k])) {
                from = add_temporary_of(homes[k], "_next", type(yields[k]), steps);
                steps.push_back(segment({{yields[k], whole(from, type(yields[k]), operation.line)}}));
            } else {
                from = cut_.places.at(yields[k]);
            }
            if (from == homes[k]) continue;
            moves.emplace_back(from, homes[k]);
            ++uses[from];
        }
        // A home that another one wants is saved first.
        for (auto& [from, to] : moves)
            if (std::ranges::find(homes, from) != homes.end())
                from = saved_copy(from, "_last", cut_.type_of_buffer(from), steps);
        for (const auto& [from, to] : moves) {
            // One element costs nothing to copy on the host, and a group of kernels, which are the host's, swaps no
            // memory.
            const std::vector<Size>& shape = cut_.type_of_buffer(to).shape;
            const bool both = (cut_.device || !shape.empty()) && cut_.is_temporary(from) && cut_.is_temporary(to) &&
                              uses[from] <= 1 && made_inside(from) &&
                              same_shape(cut_.type_of_buffer(from).shape, shape);
            if (both) buffer(from).swapped = buffer(to).swapped = true;
            steps.push_back(step_of(both ? Step::Kind::swap : Step::Kind::copy, {from, to}));
        }
    }

    bool made_inside(const std::string& name) {
        return &buffer(name) - cut_.out.buffers.data() >= static_cast<std::ptrdiff_t>(inside_from_);
    }

    void emit_for(const Item& item, Steps& steps) {
        const Operation& operation = *item.operation;
        const std::vector<std::string> homes = enter(item, steps);
        Step loop = region_step(Step::Kind::for_range, operation);
        loop.symbol = operation.attributes.at(attr::variable);
        for (const auto& limit : {attr::start, attr::stop, attr::step})
            loop.arguments.push_back(operation.attributes.at(limit));
        const bool known = loop.step().is_constant();
        const Size last = loop.stop() - Size::integer(known && loop.step().constant() < 0 ? -1 : 1);
        cut_.symbols.push_back({loop.symbol, loop.first(), last, known});
        loop.body = body(operation.regions[0], homes, operation, parameters_of(operation.regions[0]));
        cut_.symbols.pop_back();
        leave(std::move(loop), homes, steps);
    }

    void emit_while(const Item& item, Steps& steps) {
        const Operation& operation = *item.operation;
        const std::vector<std::string> homes = enter(item, steps);
        const Block& condition = operation.regions[0];
        Step loop = region_step(Step::Kind::loop, operation);
        const std::size_t known = cut_.symbols.size();
        loop.body = block(condition, set_of(condition.yields), {});
        const std::string goes_on = truth(condition.yields[0], loop.body, operation.line);
        loop.body.push_back(step_of(Step::Kind::leave_unless, {goes_on}));
        cut_.symbols.resize(known);
        // The condition's block reads what is carried; the other one may take it over.
        Steps rest = body(operation.regions[1], homes, operation, parameters_of(operation.regions[1]));
        std::move(rest.begin(), rest.end(), std::back_inserter(loop.body));
        leave(std::move(loop), homes, steps);
    }

    void emit_if(const Item& item, Steps& steps) {
        const Operation& operation = *item.operation;
        Step branch = region_step(Step::Kind::branch, operation);
        const auto of_sizes = cut_.device ? cut_.plan_condition(operation.operands[0]) : std::nullopt;
        branch.arguments.push_back(of_sizes ? *of_sizes
                                            : Size::symbol(truth(operation.operands[0], steps, operation.line)));
        std::vector<std::string> homes;
        const std::map<std::string, std::string> in_place = changed_in_place(cut_, operation);
        for (const auto& [name, type] : results_of(operation)) {
            const auto start = in_place.find(name);
            const bool takes = start != in_place.end() && item.consumed.count(start->second) != 0;
            homes.push_back(takes ? cut_.places.at(start->second)
                                  : add_temporary(cut_.fresh_name(name, text_of(operation.op)), type, steps));
        }
        branch.body = body(operation.regions[0], homes, operation, item.consumed);
        branch.otherwise = body(operation.regions[1], homes, operation, item.consumed);
        leave(std::move(branch), homes, steps);
    }

    void emit_check(const Check& check, Steps& steps) {
        Step step = step_of(Step::Kind::check, {truth(check.value, steps, 0)});
        step.message = check.text;
        steps.push_back(std::move(step));
    }

    void emit_read(const Operation& operation, Steps& steps) {
        Step step = step_of(Step::Kind::read, {in_memory(operation.operands[0], steps, "size", operation.line)});
        step.symbol = operation.result;
        if (operation.attributes.has(attr::min))
            step.limits.emplace(operation.attributes.at(attr::min), operation.attributes.at(attr::max));
        const auto [least, most] = step.limits.value_or(std::pair<Size, Size>());
        cut_.symbols.push_back({operation.result, least, most, step.limits.has_value()});
        steps.push_back(std::move(step));
    }

    // ---- the end ----

    void finish() {
        Steps& steps = cut_.out.steps;
        std::vector<std::string>& returned = cut_.out.returned;
        // Written arguments get their values; one that another one wants is saved first.
        struct Move {
            std::string from, to, value;
        };
        std::vector<Move> moves;
        Names targets;
        for (const Write& write : program_.writes) {
            if (complex_of(write.value) != nullptr) continue;
            const std::string& from = cut_.places.at(write.value); // an end of the block is in memory
            if (from == write.argument) continue;
            moves.push_back({from, write.argument, write.value});
            targets.insert(write.argument);
        }
        Names results;
        std::map<std::string, std::string> known; ///< what is returned already, and where it is
        for (const std::string& value : program_.body.yields) {
            if (cut_.values.made_by(value) == nullptr) {
                returned.push_back(value);
                continue;
            }
            std::string& name = known[value];
            if (!name.empty()) {
                returned.push_back(name);
                continue;
            }
            if (const Operation* complex = complex_of(value)) {
                name = add_temporary(cut_.fresh_name(value, "result"), type(value), steps);
                steps.push_back(halves(*complex, name));
            } else {
                name = cut_.places.at(value);
                if (!cut_.is_temporary(name) || buffer(name).swapped || results.count(name) != 0)
                    name = saved_copy(name, "_result", type(value), steps);
                results.insert(name);
            }
            buffer(name).kind = BufferPlan::Kind::result;
            returned.push_back(name);
        }
        std::map<std::string, std::string> saved; ///< of an argument: what it held before
        const auto before_writes = [&](const std::string& from) {
            if (targets.count(from) == 0) return from;
            std::string& copy = saved[from];
            if (copy.empty()) copy = saved_copy(from, "_last", cut_.type_of_buffer(from), steps);
            return copy;
        };
        for (Move& move : moves)
            move.from = before_writes(move.from);
        for (const Write& write : program_.writes) {
            const Operation* complex = complex_of(write.value);
            if (complex == nullptr) continue;
            // The half of a real array that became complex is that array itself.
            for (const std::string& half : complex->operands)
                if (const auto place = cut_.places.find(half); place != cut_.places.end())
                    place->second = before_writes(place->second);
        }
        // Other threads may write into the rest.
        for (const auto& [from, to, value] : moves) {
            const auto parts = parts_of(value, to, to);
            if (!parts || std::ranges::any_of(*parts, [&](const ArrayPart& part) { return is_all(part, type(to)); }))
                steps.push_back(step_of(Step::Kind::copy, {from, to}));
            else
                for (const ArrayPart& part : *parts)
                    steps.push_back(copy_part({{from, to}}, type(to), part));
        }
        for (const Write& write : program_.writes)
            if (const Operation* complex = complex_of(write.value)) write_halves(*complex, write.argument, steps);
    }

    /// What of an argument, or of a half of it, the call has to write; nothing for all of it.
    std::optional<std::vector<ArrayPart>> parts_of(const std::string& value, const std::string& argument,
                                                   const std::string& start) const {
        if (taken_.count(argument) != 0) return std::nullopt;
        return written_parts(program_, cut_.values, value, start);
    }

    static bool is_all(const ArrayPart& part, const Type& of) {
        const auto is_slice = [](const IndexEntry& entry) { return entry == IndexEntry::all(); };
        return std::ranges::all_of(part.region, is_slice) && same_shape(part.shape, of.shape);
    }

    /// A part of arrays of one type, each into another one.
    Step copy_part(const std::vector<std::pair<std::string, std::string>>& moves, const Type& whole,
                   const ArrayPart& part) const {
        Step step = empty_segment();
        Program& program = step.segment.program;
        for (const auto& [from, to] : moves) {
            const std::string value = "%part" + std::to_string(program.body.yields.size());
            add_array(program, from, cut_.type_of_buffer(from));
            program.body.operations.push_back(
                make_operation(value, {whole.dtype, part.shape}, Op::index, {from}, {attr::index(part.region)}, 0));
            program.body.yields.push_back(value);
            step.segment.targets.push_back({to, whole, false, part.region, 0});
        }
        return step;
    }

    void write_halves(const Operation& complex, const std::string& argument, Steps& steps) {
        std::vector<std::vector<ArrayPart>> parts;
        std::vector<std::pair<std::string, std::string>> moves;
        for (const std::string& half : complex.operands) {
            const Op op = moves.empty() ? Op::real : Op::imag;
            const auto& operations = program_.body.operations;
            const auto view = std::ranges::find_if(
                operations, [&](const Operation& each) { return each.op == op && each.operands[0] == argument; });
            const auto found =
                view == operations.end() || !is_in_memory(half) ? std::nullopt : parts_of(half, argument, view->result);
            if (!found) return steps.push_back(halves(complex, argument));
            parts.push_back(*found);
            moves.emplace_back(cut_.places.at(half), argument + (op == Op::real ? ".real" : ".imag"));
        }
        const Type& half = type(complex.operands[0]);
        if (parts[0] != parts[1]) return steps.push_back(halves(complex, argument));
        for (const ArrayPart& part : parts[0])
            steps.push_back(copy_part(moves, half, part));
    }

    /// Both halves of a complex value, which are in separate memory, into a buffer.
    Step halves(const Operation& complex, const std::string& name) {
        Type half = type(complex.result);
        half.dtype = type(complex.operands[0]).dtype;
        return segment({{complex.operands[0], whole(name + ".real", half, complex.line)},
                        {complex.operands[1], whole(name + ".imag", half, complex.line)}});
    }
};

} // namespace

std::set<std::string> memory_of(const Step& step) {
    std::set<std::string> names;
    if (!step.is_range())
        for (const Size& argument : step.arguments)
            if (argument.op() == Size::Op::symbol) names.insert(argument.name());
    for (const ArrayArgument& array : step.segment.program.arrays)
        names.insert(array.name);
    for (const Target& target : step.segment.targets)
        names.insert(target.buffer);
    return names;
}

Stepped cut_into_steps(const Program& program, bool device) {
    Stepped stepped = Cutter(program, device).run();
    if (!device) find_wavefronts(stepped);
    return stepped;
}

} // namespace tilewright::translator
