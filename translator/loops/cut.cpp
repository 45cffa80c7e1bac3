// translator/loops/cut.cpp: segments, the order they run in, and which memory each value lives in.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "dsl/base/error.h"
#include "translator/analysis.h"
#include "translator/complex.h"
#include "translator/loops/access.h"
#include "translator/loops/pixelwise.h"
#include "translator/loops/steps.h"

namespace tilewright::translator {
namespace {

using Names = std::set<std::string>;

/// A loop or branch that stays in the plan.
bool is_region(const Operation& operation) {
    return !operation.regions.empty() && !(operation.op == "for" && why_not_pixelwise(operation).empty());
}

std::vector<std::pair<std::string, Type>> results_of(const Operation& operation) {
    std::vector<std::pair<std::string, Type>> out{{operation.result, operation.type}};
    out.insert(out.end(), operation.more_results.begin(), operation.more_results.end());
    return out;
}

/// An operation whose value costs nothing to have anywhere.
bool is_free(const Operation& operation) {
    static const Names list = {"const", "scalar_size", "iota"};
    return list.count(operation.op) != 0 || is_view(operation.op) || is_half(operation.op);
}

bool is_heavy(const Operation& operation) {
    return is_reduction(operation.op) || operation.op == "matmul" || !operation.regions.empty();
}

/// What happens at one place of a block: memory is made or written.
struct Item {
    enum class Kind { fresh, store, region, read, check };
    Kind kind = Kind::fresh;
    const Operation* operation = nullptr; ///< null for a check
    const Check* check = nullptr;
    Names reads;                  ///< values in memory, or made by other items of the block
    std::set<std::size_t> before; ///< items that run before
    Names consumed;               ///< values whose memory it takes over
};

class Cutter {
  public:
    Cutter(const Program& program, const TranslateOptions& options) : program_(program), options_(options) {}

    Stepped run() {
        for (const ArrayArgument& argument : program_.arrays) {
            types_[argument.name] = argument.type;
            names_.insert(argument.name);
        }
        for (const ScalarArgument& argument : program_.scalars) {
            types_[argument.name] = Type{argument.dtype, {}};
            scalars_.insert(argument.name);
            names_.insert(argument.name);
        }
        for (const Write& write : program_.writes)
            written_.insert(write.argument);
        collect(program_.body);
        for (const ArrayArgument& argument : program_.arrays) {
            place_[argument.name] = argument.name;
            if (written_.count(argument.name) != 0)
                out_.buffers.push_back({argument.name, argument.type, BufferPlan::Kind::written, false});
        }
        Names ends;
        for (const std::string& value : program_.body.yields)
            if (operations_.count(value) != 0) add_end(value, ends); // an argument is returned as it lies
        for (const Write& write : program_.writes)
            add_end(write.value, ends);
        // Where a size that is read does not fit, NumPy runs the call: that has to be known before anything is written.
        const bool may_write = !has_unbounded_read(program_.body, true);
        out_.steps = block(program_.body, ends, may_write ? written_ : Names());
        finish();
        return std::move(out_);
    }

  private:
    const Program& program_;
    const TranslateOptions& options_;
    Stepped out_;
    std::map<std::string, const Operation*> operations_; ///< by result
    std::map<std::string, std::size_t> order_;           ///< of results, in the program's text
    std::map<std::string, Type> types_;
    std::map<std::string, const Block*> home_; ///< the block that defines a value
    std::map<std::string, std::string> place_; ///< value -> buffer
    Names names_, scalars_, written_;
    std::vector<MovingSize> symbols_; ///< of the loops around, and sizes that were read
    Names read_;                      ///< every size that some block reads

    // ---- the program ----

    /// A complex value ends as its halves.
    void add_end(const std::string& value, Names& ends) const {
        if (const Operation* complex = complex_of(value))
            ends.insert(complex->operands.begin(), complex->operands.end());
        else
            ends.insert(value);
    }
    const Operation* complex_of(const std::string& value) const {
        const auto found = operations_.find(value);
        return found != operations_.end() && found->second->op == "complex" ? found->second : nullptr;
    }

    void collect(const Block& block) {
        for (const auto& [name, type] : block.parameters) {
            types_[name] = type;
            home_[name] = &block;
            names_.insert(name);
        }
        for (const Operation& operation : block.operations) {
            order_[operation.result] = order_.size();
            for (const auto& [name, type] : results_of(operation)) {
                types_[name] = type;
                home_[name] = &block;
                names_.insert(name);
                operations_[name] = &operation;
            }
            if (operation.op == "read") read_.insert(operation.result);
            for (const Block& inner : operation.regions)
                collect(inner);
        }
    }

    const Operation* operation_of(const std::string& value) const {
        if (place_.count(value) != 0) return nullptr;
        const auto found = operations_.find(value);
        return found == operations_.end() ? nullptr : found->second;
    }

    std::string fresh_name(const std::string& value, const std::string& otherwise) {
        if (value[0] != '%' && used_.insert(value).second) return value;
        std::string wish = value[0] == '%' ? otherwise : value;
        std::string name = wish;
        for (int k = 2; names_.count(name) != 0 || used_.count(name) != 0; ++k)
            name = wish + "_" + std::to_string(k);
        used_.insert(name);
        names_.insert(name);
        return name;
    }
    Names used_;

    BufferPlan& buffer(const std::string& name) {
        for (BufferPlan& plan : out_.buffers)
            if (plan.name == name) return plan;
        throw InternalError("buffer " + name + ": not in the table.");
    }
    bool is_temporary(const std::string& name) const {
        return std::any_of(out_.buffers.begin(), out_.buffers.end(), [&](const BufferPlan& plan) {
            return plan.name == name && plan.kind == BufferPlan::Kind::temporary;
        });
    }

    /// Sizes that were read and stand in the types, positions and limits of an operation.
    Names sizes_of(const Operation& operation) const {
        Names found;
        if (read_.empty()) return found;
        for (const auto& [name, type] : results_of(operation))
            for (const Size& extent : type.shape)
                tree_of(extent).collect_symbols(found);
        static const Names limits = {"size", "start", "stop", "step", "min", "max"};
        for (const auto& [key, text] : operation.attributes) {
            if (limits.count(key) != 0) parse_size(text).collect_symbols(found);
            if (key != "index") continue;
            for (const IndexEntry& entry : index_entries(text)) {
                if (entry.kind != IndexEntry::Kind::newaxis) entry.start.collect_symbols(found);
                if (entry.kind == IndexEntry::Kind::slice) entry.step.collect_symbols(found);
            }
        }
        std::erase_if(found, [this](const std::string& name) { return read_.count(name) == 0; });
        return found;
    }

    static bool has_unbounded_read(const Block& block, bool outermost) {
        return std::any_of(block.operations.begin(), block.operations.end(), [&](const Operation& operation) {
            if (operation.op == "read") return !outermost && operation.attributes.count("min") == 0;
            return std::any_of(operation.regions.begin(), operation.regions.end(),
                               [](const Block& inner) { return has_unbounded_read(inner, false); });
        });
    }

    /// The most elements that a temporary needs, where its shape follows a loop around; nothing where that is not
    /// known.
    std::optional<Type> bounded(Type type) const {
        for (Size& extent : type.shape) {
            if (!translator::moves(tree_of(extent), symbols_)) continue;
            const std::optional<SizeTree> most = largest(tree_of(extent), symbols_);
            if (!most) return std::nullopt;
            // A loop without trips may end before it begins.
            extent = SizeTree::call("max", {*most, SizeTree::integer(0)}).size();
        }
        return type;
    }

    /// Whether a shape changes from trip to trip, or with a size that was read.
    bool moves(const Type& type) const {
        return std::any_of(type.shape.begin(), type.shape.end(),
                           [&](const Size& extent) { return translator::moves(tree_of(extent), symbols_); });
    }

    std::string add_temporary(const std::string& name, const Type& type, std::vector<Step>& steps) {
        out_.buffers.push_back({name, type, BufferPlan::Kind::temporary, false, moves(type)});
        if (out_.buffers.back().local) {
            Step step;
            step.kind = Step::Kind::temporary;
            step.from = name;
            steps.push_back(std::move(step));
        }
        return name;
    }

    // ---- what a value reads ----

    /// Values that have to be in memory so that `value` can be computed in another block, at any time.
    void roots(const std::string& value, Names& found) const {
        if (scalars_.count(value) != 0) return;
        const auto operation = operations_.find(value);
        if (place_.count(value) != 0 || operation == operations_.end()) {
            found.insert(value);
        } else if (is_free(*operation->second)) {
            for (const std::string& operand : operation->second->operands)
                roots(operand, found);
        } else {
            found.insert(value);
        }
    }

    /// Names that the blocks of a region read from outside of it.
    void free_names(const Operation& operation, Names& defined, Names& found) const {
        const auto sizes = [&](const Operation& of) {
            for (const std::string& name : sizes_of(of))
                if (defined.count(name) == 0) found.insert(name);
        };
        sizes(operation);
        for (const Block& block : operation.regions) {
            for (const auto& [name, type] : block.parameters)
                defined.insert(name);
            for (const Operation& inner : block.operations) {
                for (const std::string& operand : inner.operands)
                    if (defined.count(operand) == 0) found.insert(operand);
                sizes(inner);
                free_names(inner, defined, found);
                for (const auto& [name, type] : results_of(inner))
                    defined.insert(name);
            }
            for (const std::string& value : block.yields)
                if (defined.count(value) == 0) found.insert(value);
        }
    }
    Names free_names(const Operation& operation) const {
        Names defined, found;
        free_names(operation, defined, found);
        return found;
    }

    void closure(const std::string& value, const Names& made, Names& found, Names& seen) const {
        if (scalars_.count(value) != 0 || !seen.insert(value).second) return;
        const auto operation = operations_.find(value);
        if (read_.count(value) != 0 && made.count(value) == 0) return; // known here
        if (place_.count(value) != 0 || operation == operations_.end() || made.count(value) != 0) {
            found.insert(value);
            return;
        }
        for (const std::string& operand : operation->second->operands)
            closure(operand, made, found, seen);
        for (const std::string& name : free_names(*operation->second))
            closure(name, made, found, seen);
        for (const std::string& size : sizes_of(*operation->second))
            closure(size, made, found, seen);
    }

    // ---- one block ----

    struct Work {
        std::vector<Item> items;
        std::map<std::string, std::size_t> maker; ///< value -> item
        Names made;                               ///< values that an item makes
        Names ends;                               ///< values that are read after the block
        const Block* block = nullptr;
        Names takeable; ///< values from outside whose memory the block may change
    };

    /// `ends`: read behind the block. `takeable`: values of other blocks whose memory items may take over.
    std::vector<Step> block(const Block& block, const Names& ends, const Names& takeable) {
        Work work;
        work.block = &block;
        work.ends = ends;
        work.takeable = takeable;
        find_items(work);
        connect(work);
        take_memory(work);
        return emit(work);
    }

    bool here(const std::string& value, const Work& work) const {
        const auto found = home_.find(value);
        return found != home_.end() && found->second == work.block && operations_.count(value) != 0;
    }

    void find_items(Work& work) {
        Names wanted;
        auto want = [&](const std::string& value) {
            if (here(value, work) && place_.count(value) == 0) wanted.insert(value);
        };
        for (const std::string& value : work.ends)
            want(value);
        const bool outermost = work.block == &program_.body;
        for (std::size_t k = 0; outermost && k < program_.checks.size(); ++k)
            want(program_.checks[k].value);
        for (const Operation& operation : work.block->operations) {
            if (operation.op == "read") want(operation.operands[0]);
            if (is_region(operation)) {
                Names found;
                for (const std::string& name : free_names(operation))
                    roots(name, found);
                const bool carries = operation.op != "if";
                for (const std::string& operand : operation.operands) {
                    if (!carries)
                        found.insert(operand);
                    else if (!is_fill(operand))
                        roots(operand, found);
                }
                for (const std::string& name : found)
                    want(name);
            } else if (operation.op == "update" && !is_fill(operation.operands[0])) {
                want(operation.operands[0]);
            }
        }
        // A reduction that several items would compute is computed once.
        for (bool changed = true; changed;) {
            changed = false;
            Names makers = wanted;
            for (const Operation& operation : work.block->operations)
                if (operation.op == "update" || operation.op == "read") makers.insert(operation.result);
            for (const Operation& operation : work.block->operations) {
                if (!is_heavy(operation) || is_region(operation) || is_wanted(operation, wanted)) continue;
                int users = 0;
                Names cut = makers;
                for (const auto& [name, type] : results_of(operation))
                    cut.insert(name);
                for (const std::string& maker : makers) {
                    Names found, seen;
                    for (const std::string& operand : operations_.at(maker)->operands)
                        closure(operand, cut, found, seen);
                    for (const std::string& name : free_names(*operations_.at(maker)))
                        closure(name, cut, found, seen);
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
            else if (operation.op == "update")
                item.kind = Item::Kind::store;
            else if (operation.op == "read")
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

    static bool is_wanted(const Operation& operation, const Names& names) {
        const auto results = results_of(operation);
        return std::any_of(results.begin(), results.end(),
                           [&](const auto& result) { return names.count(result.first) != 0; });
    }

    /// An array of one value: filled anew wherever it is changed.
    bool is_fill(const std::string& value) const {
        if (place_.count(value) != 0 || scalars_.count(value) != 0) return scalars_.count(value) != 0;
        Names found;
        roots(value, found);
        return found.empty();
    }

    void connect(Work& work) {
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
            for (const std::string& operand : item.operation->operands)
                closure(operand, made, item.reads, seen);
            for (const std::string& size : sizes_of(*item.operation))
                closure(size, made, item.reads, seen);
            if (!item.operation->regions.empty()) {
                for (const std::string& name : free_names(*item.operation))
                    closure(name, made, item.reads, seen);
            }
            note_makers(work, item);
        }
    }

    static void note_makers(const Work& work, Item& item) {
        for (const std::string& name : item.reads) {
            const auto maker = work.maker.find(name);
            if (maker != work.maker.end()) item.before.insert(maker->second);
        }
    }

    /// Ends the call for NumPy, which must find the arguments as they were.
    static bool may_end_the_call(const Item& item) {
        return item.kind == Item::Kind::check ||
               (item.kind == Item::Kind::read && item.operation->attributes.count("min") == 0);
    }

    static bool comes_before(const Work& work, std::size_t first, std::size_t second) {
        if (first == second) return true;
        return std::any_of(work.items[second].before.begin(), work.items[second].before.end(),
                           [&](std::size_t k) { return comes_before(work, first, k); });
    }

    /// Lets `item` take over the memory of `value` where everybody else can read it before.
    void try_take(Work& work, std::size_t k, const std::string& value) {
        const bool own = work.maker.count(value) != 0;
        if (!own && work.takeable.count(value) == 0) return;
        if (work.ends.count(value) != 0) return;
        std::vector<std::size_t> readers;
        for (std::size_t other = 0; other < work.items.size(); ++other) {
            const Item& item = work.items[other];
            const bool reads = item.reads.count(value) != 0 || (!own && may_end_the_call(item));
            if (other == k || !reads) continue;
            if (item.consumed.count(value) != 0 || comes_before(work, k, other)) return;
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

    void take_memory(Work& work) {
        for (std::size_t k = 0; k < work.items.size(); ++k) {
            if (work.items[k].kind == Item::Kind::check) continue;
            const Operation& operation = *work.items[k].operation;
            if (work.items[k].kind == Item::Kind::store) try_take(work, k, operation.operands[0]);
            if (work.items[k].kind != Item::Kind::region || operation.op == "if") continue;
            const Names inside = free_names(operation);
            Names read;
            for (const std::string& name : inside) {
                Names seen;
                closure(name, work.made, read, seen);
            }
            for (const std::string& operand : operation.operands) {
                const bool twice = std::count(operation.operands.begin(), operation.operands.end(), operand) > 1;
                if (!twice && read.count(operand) == 0) try_take(work, k, operand);
            }
        }
    }

    std::vector<Step> emit(Work& work) {
        std::vector<Step> steps;
        std::vector<std::string> waiting; ///< fresh values for one segment
        auto flush = [&] {
            if (waiting.empty()) return;
            std::vector<std::pair<std::string, Target>> yields;
            std::vector<std::pair<std::string, std::string>> places;
            for (const std::string& value : waiting) {
                const Operation& operation = *operations_.at(value);
                const std::string name = fresh_name(value, operation.op);
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
                if (!std::all_of(before.begin(), before.end(), [&](std::size_t b) { return done[b]; })) continue;
                next = k;
                if (is_check) break;
            }
            if (next == work.items.size()) throw InternalError("the order of a block has a cycle.");
            done[next] = true;
            Item& item = work.items[next];
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
            else if (item.operation->op == "for")
                emit_for(item, steps);
            else if (item.operation->op == "while")
                emit_while(item, steps);
            else
                emit_if(item, steps);
        }
        flush();
        return steps;
    }

    AccessContext access_context() const {
        return {[this](const std::string& name) { return operation_of(name); },
                [this](const std::string& name) -> const Type& { return types_.at(name); }};
    }

    void emit_store(Item& item, std::vector<Step>& steps) {
        const Operation& update = *item.operation;
        const std::string& base = update.operands[0];
        const std::string& part = update.operands[1];
        const Type& whole = types_.at(base);
        const std::vector<IndexEntry> region = index_entries(update.attributes.at("index"));
        std::string name;
        if (item.consumed.count(base) != 0) {
            name = place_.at(base);
        } else {
            name = fresh_buffer(update.result, base, steps, update);
        }
        store(part, name, whole, region, update, steps);
        place_[update.result] = name;
    }

    /// A new buffer for `value` that holds what `from` holds.
    std::string fresh_buffer(const std::string& value, const std::string& from, std::vector<Step>& steps,
                             const Operation& operation) {
        const Type type = types_.at(from);
        const std::string name = add_temporary(fresh_name(value, operation.op), type, steps);
        const auto place = place_.find(from);
        if (place == place_.end()) {
            steps.push_back(segment({{from, whole(name, type, operation.line)}}));
        } else {
            steps.push_back(exchange(Step::Kind::copy, place->second, name));
        }
        return name;
    }

    /// Writes `part` into a region of a buffer. Everything is read before anything is written, as NumPy does it.
    void store(const std::string& part, const std::string& name, const Type& whole,
               const std::vector<IndexEntry>& region, const Operation& operation, std::vector<Step>& steps) {
        const std::vector<Size>& shape = types_.at(part).shape;
        // One element is written when everything that it needs has been read.
        const bool is_one_element = std::all_of(shape.begin(), shape.end(), [](const Size& e) { return is_one(e); });
        bool apart = true;
        bool only_same = true;
        bool lanes_apart = true;
        for (const Access& access : accesses(part, access_context())) {
            const auto place = place_.find(access.memory);
            if (place == place_.end() || place->second != name) continue;
            const Overlap found = overlap(access, region, shape);
            apart = apart && (found != Overlap::unknown || is_one_element);
            only_same = only_same && found == Overlap::same;
            lanes_apart = lanes_apart && same_lanes(access, region);
        }
        if (apart) {
            steps.push_back(segment({{part, Target{name, whole, false, region, operation.line}}}));
            steps.back().segment.reads_only_what_it_writes = only_same;
            steps.back().segment.lanes_apart = lanes_apart;
            return;
        }
        // Outside of the loop where it has room for every trip.
        const Type most = bounded(types_.at(part)).value_or(types_.at(part));
        const std::string between = add_temporary(fresh_name("%", base_name(name) + "_part"), most, steps);
        steps.push_back(segment({{part, Target{between, most, false, all_of(shape.size()), operation.line}}}));
        steps.push_back(copy_part(between, most, types_.at(part), Target{name, whole, false, region, operation.line}));
    }

    static std::vector<IndexEntry> all_of(std::size_t rank) {
        return std::vector<IndexEntry>(rank,
                                       IndexEntry{IndexEntry::Kind::slice, SizeTree::integer(0), SizeTree::integer(1)});
    }
    /// All of a buffer that has another name than the value.
    static Target whole(const std::string& name, const Type& type, int line) {
        return {name, type, false, all_of(type.shape.size()), line};
    }

    static std::string base_name(const std::string& name) {
        const std::size_t at = name.rfind('_');
        const bool numbered = at != std::string::npos && at + 1 < name.size() &&
                              std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 1, name.end(),
                                          [](char c) { return c >= '0' && c <= '9'; });
        return numbered ? name.substr(0, at) : name;
    }

    // ---- segments ----

    Program shell() const {
        Program out;
        out.function = program_.function;
        out.file = program_.file;
        out.arrays = program_.arrays;
        out.scalars = program_.scalars;
        out.argument_order = program_.argument_order;
        for (const MovingSize& symbol : symbols_) {
            out.scalars.push_back({symbol.name, "int64"});
            out.argument_order.push_back(symbol.name);
        }
        out.returns_tuple = true;
        return out;
    }

    static void add_array(Program& program, const std::string& name, const Type& type) {
        const bool known = std::any_of(program.arrays.begin(), program.arrays.end(),
                                       [&](const ArrayArgument& argument) { return argument.name == name; });
        if (known) return;
        program.arrays.push_back({name, type});
        program.argument_order.push_back(name);
    }

    const Type& type_of_buffer(const std::string& name) const {
        for (const BufferPlan& plan : out_.buffers)
            if (plan.name == name) return plan.type;
        return types_.at(name);
    }

    Step segment(const std::vector<std::pair<std::string, Target>>& yields) {
        Step step;
        step.kind = Step::Kind::segment;
        step.segment.moving = symbols_;
        Program& program = step.segment.program;
        program = shell();
        std::map<std::size_t, const Operation*> needed; ///< by place in the text
        std::map<std::string, std::string> renamed;
        for (const auto& [value, target] : yields)
            gather(value, needed, renamed, program);
        for (const auto& [value, target] : yields)
            if (target.fresh) renamed[value] = target.buffer;
        for (const auto& [at, operation] : needed) {
            program.body.operations.push_back(*operation);
            rename(program.body.operations.back(), renamed);
        }
        for (const auto& [value, target] : yields) {
            program.body.yields.push_back(renamed.count(value) != 0 ? renamed.at(value) : value);
            step.segment.targets.push_back(target);
        }
        return step;
    }

    static void rename(Operation& operation, const std::map<std::string, std::string>& renamed) {
        auto apply = [&](std::string& name) {
            const auto found = renamed.find(name);
            if (found != renamed.end()) name = found->second;
        };
        apply(operation.result);
        for (auto& [name, type] : operation.more_results)
            apply(name);
        for (std::string& operand : operation.operands)
            apply(operand);
        for (Block& block : operation.regions) {
            for (Operation& inner : block.operations)
                rename(inner, renamed);
            for (std::string& value : block.yields)
                apply(value);
        }
    }

    void gather(const std::string& value, std::map<std::size_t, const Operation*>& needed,
                std::map<std::string, std::string>& renamed, Program& program) {
        if (scalars_.count(value) != 0) return;
        const auto place = place_.find(value);
        if (place != place_.end()) {
            renamed[value] = place->second;
            add_array(program, place->second, type_of_buffer(place->second));
            return;
        }
        const Operation& operation = *operations_.at(value);
        if (is_region(operation) || operation.op == "update")
            throw InternalError(value + ": is read before it is in memory.");
        if (!needed.emplace(order_.at(operation.result), &operation).second) return;
        for (const std::string& operand : operation.operands)
            gather(operand, needed, renamed, program);
        for (const std::string& name : free_names(operation))
            gather(name, needed, renamed, program);
    }

    /// The first elements of a temporary into a region.
    Step copy_part(const std::string& from, const Type& whole, const Type& part, Target target) {
        Step step;
        step.kind = Step::Kind::segment;
        step.segment.moving = symbols_;
        Program& program = step.segment.program;
        program = shell();
        add_array(program, from, whole);
        Operation view;
        view.result = "%part";
        view.type = part;
        view.op = "index";
        view.operands = {from};
        view.line = target.line;
        std::string entries;
        for (std::size_t k = 0; k < part.shape.size(); ++k)
            entries += entries.empty() ? "0:1" : ", 0:1";
        view.attributes["index"] = "[" + entries + "]";
        program.body.operations.push_back(view);
        program.body.yields.push_back(view.result);
        step.segment.targets.push_back(std::move(target));
        return step;
    }

    // ---- regions ----

    /// Memory for what a loop carries; its first content is there after the steps.
    std::string home(const Item& item, std::size_t k, std::vector<Step>& steps) {
        const Operation& operation = *item.operation;
        const std::string& init = operation.operands[k];
        const std::string result = results_of(operation)[k].first;
        if (item.consumed.count(init) != 0 && place_.count(init) != 0) return place_.at(init);
        return fresh_buffer(result, init, steps, operation);
    }

    struct Move {
        std::string from, to;
    };
    /// Puts the yields of a block where they belong.
    void move(const std::vector<std::string>& yields, const std::vector<std::string>& homes, std::vector<Step>& steps,
              const Operation& operation) {
        std::vector<Move> moves;
        std::map<std::string, int> uses;
        for (std::size_t k = 0; k < yields.size(); ++k) {
            std::string from;
            if (scalars_.count(yields[k]) != 0 || place_.count(yields[k]) == 0) {
                const Type& type = types_.at(yields[k]);
                from = add_temporary(fresh_name("%", base_name(homes[k]) + "_next"), type, steps);
                steps.push_back(segment({{yields[k], whole(from, type, operation.line)}}));
            } else {
                from = place_.at(yields[k]);
            }
            if (from == homes[k]) continue;
            moves.push_back({from, homes[k]});
            ++uses[from];
        }
        // A home that another one wants is saved first.
        for (Move& each : moves) {
            if (std::find(homes.begin(), homes.end(), each.from) == homes.end()) continue;
            const std::string saved =
                add_temporary(fresh_name("%", base_name(each.from) + "_last"), type_of_buffer(each.from), steps);
            steps.push_back(exchange(Step::Kind::copy, each.from, saved));
            each.from = saved;
        }
        for (const Move& each : moves) {
            const bool both = is_temporary(each.from) && is_temporary(each.to) && uses[each.from] <= 1 &&
                              made_inside(each.from) &&
                              same_shape(type_of_buffer(each.from).shape, type_of_buffer(each.to).shape);
            if (both) buffer(each.from).swapped = buffer(each.to).swapped = true;
            steps.push_back(exchange(both ? Step::Kind::swap : Step::Kind::copy, each.from, each.to));
        }
    }
    /// Temporaries from this index on are made by the region whose yields are moved.
    std::size_t inside_from_ = 0;
    bool made_inside(const std::string& name) const {
        for (std::size_t k = inside_from_; k < out_.buffers.size(); ++k)
            if (out_.buffers[k].name == name) return true;
        return false;
    }

    static Step exchange(Step::Kind kind, const std::string& from, const std::string& to) {
        Step step;
        step.kind = kind;
        step.from = from;
        step.to = to;
        return step;
    }

    static Names parameters_of(const Block& block) {
        Names out;
        for (const auto& [name, type] : block.parameters)
            out.insert(name);
        return out;
    }
    static Names set_of(const std::vector<std::string>& values) { return {values.begin(), values.end()}; }

    std::vector<std::string> enter(const Item& item, std::vector<Step>& steps) {
        std::vector<std::string> homes;
        for (std::size_t k = 0; k < item.operation->operands.size(); ++k)
            homes.push_back(home(item, k, steps));
        for (const Block& inner : item.operation->regions)
            for (std::size_t k = 0; k < inner.parameters.size(); ++k)
                place_[inner.parameters[k].first] = homes[k];
        return homes;
    }

    void leave(const Operation& operation, const std::vector<std::string>& homes) {
        const auto results = results_of(operation);
        for (std::size_t k = 0; k < results.size(); ++k)
            place_[results[k].first] = homes[k];
    }

    std::vector<Step> body(const Block& inner, const std::vector<std::string>& homes, const Operation& operation) {
        const std::size_t before = out_.buffers.size();
        const std::size_t known = symbols_.size();
        std::vector<Step> steps = block(inner, set_of(inner.yields), parameters_of(inner));
        const std::size_t saved = std::exchange(inside_from_, before);
        move(inner.yields, homes, steps, operation);
        inside_from_ = saved;
        symbols_.resize(known); // sizes that the block read
        return steps;
    }

    void emit_for(Item& item, std::vector<Step>& steps) {
        const Operation& operation = *item.operation;
        const std::vector<std::string> homes = enter(item, steps);
        Step loop;
        loop.kind = Step::Kind::range;
        loop.operation = &operation;
        loop.index = operation.attributes.at("variable");
        loop.first = parse_size(operation.attributes.at("start"));
        loop.stop = parse_size(operation.attributes.at("stop"));
        loop.step = parse_size(operation.attributes.at("step"));
        const bool known = loop.step.is_constant();
        const SizeTree last = loop.stop - SizeTree::integer(known && loop.step.constant() < 0 ? -1 : 1);
        symbols_.push_back({loop.index, loop.first, last, known});
        loop.body = body(operation.regions[0], homes, operation);
        symbols_.pop_back();
        loop.independent = is_independent(loop.body, loop.index);
        steps.push_back(std::move(loop));
        leave(operation, homes);
    }

    /// Whether each trip writes elements of its own, and reads of what is written only these.
    static bool is_independent(const std::vector<Step>& body, const std::string& index) {
        if (body.size() != 1) return false;
        if (body[0].kind == Step::Kind::range) return is_independent(body[0].body, index);
        if (body[0].kind != Step::Kind::segment || body[0].segment.targets.size() != 1) return false;
        const Target& target = body[0].segment.targets[0];
        if (target.fresh || !body[0].segment.reads_only_what_it_writes) return false;
        return std::any_of(target.region.begin(), target.region.end(), [&](const IndexEntry& entry) {
            if (entry.kind != IndexEntry::Kind::position) return false;
            const SizeTree next = substitute(entry.start, index, SizeTree::symbol(index) + SizeTree::integer(1));
            const auto moved = constant_difference(next, entry.start);
            return moved && *moved != 0;
        });
    }

    void emit_while(Item& item, std::vector<Step>& steps) {
        const Operation& operation = *item.operation;
        const std::vector<std::string> homes = enter(item, steps);
        const Block& condition = operation.regions[0];
        Step loop;
        loop.kind = Step::Kind::loop;
        loop.operation = &operation;
        const std::size_t known = symbols_.size();
        loop.body = block(condition, set_of(condition.yields), {});
        Step out;
        out.kind = Step::Kind::leave;
        out.from = truth(condition.yields[0], loop.body, operation.line);
        loop.body.push_back(std::move(out));
        symbols_.resize(known);
        // The condition's block reads what is carried; the other one may take it over.
        std::vector<Step> rest = body(operation.regions[1], homes, operation);
        std::move(rest.begin(), rest.end(), std::back_inserter(loop.body));
        steps.push_back(std::move(loop));
        leave(operation, homes);
    }

    /// A 0-d truth that the plan can look at.
    std::string truth(const std::string& value, std::vector<Step>& steps, int line) {
        if (scalars_.count(value) != 0) return value;
        return in_memory(value, steps, "truth", line);
    }

    std::string in_memory(const std::string& value, std::vector<Step>& steps, const char* wish, int line) {
        if (place_.count(value) != 0) return place_.at(value);
        const std::string name = add_temporary(fresh_name("%", wish), types_.at(value), steps);
        steps.push_back(segment({{value, Target{name, types_.at(value), true, {}, line}}}));
        return name;
    }

    void emit_check(const Check& check, std::vector<Step>& steps) {
        Step step;
        step.kind = Step::Kind::check;
        step.from = truth(check.value, steps, 0);
        step.text = check.text;
        steps.push_back(std::move(step));
    }

    void emit_read(const Operation& operation, std::vector<Step>& steps) {
        Step step;
        step.kind = Step::Kind::read;
        step.from = in_memory(operation.operands[0], steps, "size", operation.line);
        step.index = operation.result;
        step.limited = operation.attributes.count("min") != 0;
        if (step.limited) {
            step.first = parse_size(operation.attributes.at("min"));
            step.stop = parse_size(operation.attributes.at("max"));
        }
        MovingSize symbol{operation.result, step.first, step.stop, step.limited};
        symbols_.push_back(std::move(symbol));
        steps.push_back(std::move(step));
    }

    void emit_if(Item& item, std::vector<Step>& steps) {
        const Operation& operation = *item.operation;
        Step branch;
        branch.kind = Step::Kind::branch;
        branch.operation = &operation;
        branch.from = truth(operation.operands[0], steps, operation.line);
        std::vector<std::string> homes;
        for (const auto& [name, type] : results_of(operation)) {
            homes.push_back(add_temporary(fresh_name(name, operation.op), type, steps));
        }
        branch.body = body(operation.regions[0], homes, operation);
        branch.other = body(operation.regions[1], homes, operation);
        steps.push_back(std::move(branch));
        leave(operation, homes);
    }

    // ---- the end ----

    void finish() {
        // Written arguments get their values; one that another one wants is saved first.
        std::vector<std::pair<std::string, std::string>> moves;
        Names targets;
        for (const Write& write : program_.writes) {
            std::string from;
            if (complex_of(write.value) != nullptr) continue;
            if (place_.count(write.value) == 0) {
                const Operation& operation = *operations_.at(write.value);
                from = add_temporary(fresh_name(write.value, operation.op), types_.at(write.value), out_.steps);
                out_.steps.push_back(
                    segment({{write.value, Target{from, types_.at(write.value), true, {}, operation.line}}}));
                place_[write.value] = from;
            } else {
                from = place_.at(write.value);
            }
            if (from == write.argument) continue;
            moves.emplace_back(from, write.argument);
            targets.insert(write.argument);
        }
        Names results;
        for (const std::string& value : program_.body.yields) {
            if (scalars_.count(value) != 0 || operations_.count(value) == 0) {
                out_.returned.push_back(value);
                continue;
            }
            if (const Operation* complex = complex_of(value)) {
                const std::string whole_name = add_temporary(fresh_name(value, "result"), types_.at(value), out_.steps);
                out_.steps.push_back(halves(*complex, whole_name));
                buffer(whole_name).kind = BufferPlan::Kind::result;
                out_.returned.push_back(whole_name);
                continue;
            }
            std::string name;
            if (place_.count(value) == 0) {
                const Operation& operation = *operations_.at(value);
                name = add_temporary(fresh_name(value, operation.op), types_.at(value), out_.steps);
                out_.steps.push_back(segment({{value, Target{name, types_.at(value), true, {}, operation.line}}}));
                place_[value] = name;
            } else {
                name = place_.at(value);
            }
            const bool seen = results.count(name) != 0 && value_of_result_[name] == value;
            if (!seen && (!is_temporary(name) || buffer(name).swapped || results.count(name) != 0)) {
                const std::string copy =
                    add_temporary(fresh_name("%", base_name(name) + "_result"), types_.at(value), out_.steps);
                out_.steps.push_back(exchange(Step::Kind::copy, name, copy));
                name = copy;
            }
            buffer(name).kind = BufferPlan::Kind::result;
            results.insert(name);
            value_of_result_[name] = value;
            out_.returned.push_back(name);
        }
        for (auto& [from, to] : moves) {
            if (targets.count(from) == 0) continue;
            const std::string saved =
                add_temporary(fresh_name("%", base_name(from) + "_last"), type_of_buffer(from), out_.steps);
            out_.steps.push_back(exchange(Step::Kind::copy, from, saved));
            from = saved;
        }
        for (const auto& [from, to] : moves)
            out_.steps.push_back(exchange(Step::Kind::copy, from, to));
        for (const Write& write : program_.writes)
            if (const Operation* complex = complex_of(write.value))
                out_.steps.push_back(halves(*complex, write.argument));
    }

    /// Both halves of a complex value, which are in memory of their own, into a buffer.
    Step halves(const Operation& complex, const std::string& name) {
        Type half = types_.at(complex.result);
        half.dtype = types_.at(complex.operands[0]).dtype;
        return segment({{complex.operands[0], whole(name + ".real", half, complex.line)},
                        {complex.operands[1], whole(name + ".imag", half, complex.line)}});
    }
    std::map<std::string, std::string> value_of_result_;
};

bool has_regions(const Block& block) {
    return std::any_of(block.operations.begin(), block.operations.end(),
                       [](const Operation& operation) { return is_region(operation) || operation.op == "read"; });
}

} // namespace

bool needs_steps(const Program& program) {
    return !program.writes.empty() || !program.checks.empty() || has_regions(program.body);
}

Stepped cut_into_steps(const Program& program, const TranslateOptions& options) {
    return Cutter(program, options).run();
}

} // namespace tilewright::translator
