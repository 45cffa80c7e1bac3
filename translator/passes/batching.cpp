// translator/passes/batching.cpp: the body of a loop, once for all iterations: what differs from iteration to iteration
// gets an axis of iterations in front, and the arrays that iterations write are written at all their positions at once.
#include "translator/passes/passes.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"
#include "translator/loops/pixelwise.h"
#include "translator/passes/iteration_axis.h"

namespace tilewright::translator {
namespace {

using Kind = IndexEntry::Kind;

/// Values of iterations that a loop keeps in memory are at most so many bytes, or a few times the arrays that it
/// writes.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 26;
constexpr std::int64_t kMostTimes = 4;
/// Columns that are worth vectors along rows.
constexpr std::int64_t kLeastColumns = 16;
/// Multiplications that are worth a library.
constexpr std::int64_t kLeastProduct = 64 * 64 * 64;

/// At least how much a size is in every call that the program answers, as far as its guards say; nothing where they say
/// nothing.
std::optional<std::int64_t> least(const Program& program, const Size& size) {
    if (size.is_constant()) return size.constant();
    std::optional<std::int64_t> out;
    const auto know = [&](const Size& other, std::int64_t bound) {
        if (const auto apart = constant_difference(size, other))
            out = std::max(out.value_or(*apart + bound), *apart + bound);
    };
    for (const ArrayArgument& array : program.arrays)
        for (const Size& extent : array.type.shape)
            know(extent, 0);
    for (const Guard& guard : program.guards) {
        const Size::Op op = guard.condition.op();
        if (op == Size::Op::ne) continue;
        const Size &left = guard.condition.operands()[0], &right = guard.condition.operands()[1];
        const std::int64_t bound = op == Size::Op::lt || op == Size::Op::gt ? 1 : 0;
        if (op != Size::Op::lt && op != Size::Op::le) know(left - right, bound);
        if (op != Size::Op::gt && op != Size::Op::ge) know(right - left, bound);
    }
    return out;
}

/// One loop's iterations as an axis.
class Lift : IterationAxis {
  public:
    Lift(const Program& program, const TranslateOptions& options, Values& values, const Operation& loop)
        : IterationAxis(values, loop, "%axis"), options_(options) {
        counts_ = true;
        const Size plain = ceil_div(distance(), std::abs(step_of(loop)));
        // A division says nothing about its operand's guards.
        const auto at_least = least(program, std::abs(step_of(loop)) == 1 ? plain : distance());
        runs_ = at_least && *at_least >= 1;
        iterations_ = at_least && *at_least >= 0 ? plain : iterations_of(loop);
    }

    /// The operations that stand for the loop; what its results are called from there on.
    std::vector<Operation> run(Renamed& renamed) {
        const Block& body = loop_.regions[0];
        classes_.resize(body.parameters.size());
        for (std::size_t k = 0; k < body.parameters.size(); ++k) {
            class_of_[body.parameters[k].first] = k;
            now_[body.parameters[k].first] = loop_.operands[k];
        }
        find_positions(body);
        for (const Operation& operation : body.operations) {
            at_line(operation.line);
            lift(operation);
        }
        const auto results = results_of(loop_);
        for (std::size_t k = 0; k < results.size(); ++k) {
            const auto version = class_of_.find(body.yields[k]);
            if (version == class_of_.end() || version->second != k)
                throw Refusal{"it carries " + body.parameters[k].first + ", which iterations do not write in parts"};
            renamed[results[k].first] = now(body.yields[k]);
        }
        keep_in_bounds(body);
        return std::move(out_);
    }

  private:
    /// An array that is carried: where each iteration writes and reads it.
    struct Carried {
        bool written = false;
        std::size_t axis = 0;
        Size position;
    };

    Even evenly(const Operation& operation, const Size& place) const {
        const std::optional<Even> steps = even(place);
        if (!steps) refuse(operation, "is at places that do not move evenly");
        return *steps;
    }

    // -- the arrays that iterations write ----------------------------------------------------------------------------

    bool is_version(const std::string& name) const { return class_of_.count(name) != 0; }
    const Carried* written(const std::string& name) const {
        const auto found = class_of_.find(name);
        return found == class_of_.end() || !classes_[found->second].written ? nullptr : &classes_[found->second];
    }
    /// What a value of the body that has no axis of iterations is called.
    const std::string& now(const std::string& name) const {
        const auto found = now_.find(name);
        return found == now_.end() ? name : found->second;
    }

    /// Each iteration reads and writes the array at one position alone, another one in each.
    void find_positions(const Block& body) {
        for (const Operation& operation : body.operations) {
            if (operation.op != Op::update || !is_version(operation.operands[0])) continue;
            const std::size_t number = class_of_.at(operation.operands[0]);
            class_of_[operation.result] = number;
            Carried& carried = classes_[number];
            const std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
            const auto own = [&](const IndexEntry& entry) { return entry.kind == Kind::position && moves(entry); };
            if (!carried.written) {
                const auto at = std::find_if(entries.begin(), entries.end(), own);
                if (at == entries.end()) refuse(operation, "writes where other iterations write");
                const Even steps = evenly(operation, at->start);
                if (!steps.step.is_constant() || steps.step.constant() == 0)
                    refuse(operation, "writes where other iterations may write");
                carried.axis = static_cast<std::size_t>(at - entries.begin());
                carried.position = at->start;
                carried.written = true;
            }
            check_own(operation, entries, carried);
        }
    }

    void check_own(const Operation& operation, const std::vector<IndexEntry>& entries, const Carried& carried) const {
        std::size_t axis = 0;
        for (const IndexEntry& entry : entries) {
            if (entry.kind == Kind::newaxis) continue;
            const bool own = axis++ == carried.axis;
            if (own && (entry.kind != Kind::position || constant_difference(entry.start, carried.position) != 0))
                refuse(operation, "is where other iterations write");
            if (!own && moves(entry)) refuse(operation, "moves along two axes");
        }
    }

    /// A part of an array in each iteration: parts of it, side by side along the axis of its positions.
    void update(const Operation& operation) {
        const std::string& part = operation.operands[1];
        if (written(part) != nullptr) refuse(operation, "copies an array that iterations write");
        std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        const Carried& carried = *written(operation.result);
        const Even steps = evenly(operation, carried.position);
        std::size_t before = 0;
        for (std::size_t k = 0; k < carried.axis; ++k)
            before += entries[k].kind == Kind::slice ? 1 : 0;
        entries[carried.axis] = IndexEntry::slice(steps.first, steps.step);
        const std::string placed = moved(with_axis(part), 0, before);
        const std::vector<Size>& extents = values_.type(placed).shape;
        bool whole = true;
        std::size_t next = 0;
        for (std::size_t k = 0; k < entries.size(); ++k)
            whole = whole && entries[k].kind == Kind::slice &&
                    is_whole(entries[k], extents[next++], operation.type.shape[k]);
        // A copy, since a view of an argument is no result.
        if (whole)
            emit(operation.result, operation.type, Op::cast, {placed}, {});
        else
            emit(operation.result, operation.type, Op::update, {now(operation.operands[0]), placed},
                 {attr::index(entries)});
    }

    // -- values of an iteration as arrays over the iterations --------------------------------------------------------

    void lift(const Operation& operation) {
        const Op op = operation.op;
        if (!operation.regions.empty()) refuse(operation, "is a loop or a branch");
        if (op == Op::read) refuse(operation, "reads a size from data");
        for (const Size& extent : operation.type.shape)
            if (moves(extent)) refuse(operation, "has another size in each iteration");
        if (op == Op::update && written(operation.result) != nullptr) return update(operation);
        for (const std::string& operand : operation.operands)
            if (written(operand) != nullptr && op != Op::index)
                refuse(operation, "reads all of an array that iterations write");
        const bool follows = moves(operation), reads = reads_lifted(operation);
        if (op == Op::index && follows && !reads) {
            if (const Carried* carried = written(operation.operands[0]))
                check_own(operation, operation.attributes.at(attr::index), *carried);
            lifted_[operation.result] = moving_read(operation);
            return;
        }
        if (op == Op::index && written(operation.operands[0]) != nullptr)
            refuse(operation, "reads what other iterations write");
        if (op == Op::scalar_size && follows) {
            lifted_[operation.result] = number(operation.attributes.at(attr::size));
            return;
        }
        if (follows) refuse(operation, "is " + text_of(op) + " at a place that differs from iteration to iteration");
        if (!reads) return stand(operation);
        lifted_[operation.result] = operation.result;
        with_iterations(operation);
    }

    /// What is the same in every iteration.
    void stand(const Operation& operation) {
        Operation made = operation;
        for (std::string& operand : made.operands)
            operand = now(operand);
        if (!runs_) {
            if (is_search(operation.op)) refuse(operation, "may be of nothing");
            if (operation.op == Op::index && !is_there(operation)) made.attributes.set(attr::clamped, true);
        }
        append(std::move(made));
    }

    /// Whether the places that an index reads exist in an array of any size.
    bool is_there(const Operation& operation) const {
        const std::vector<Size>& whole = values_.type(now(operation.operands[0])).shape;
        std::size_t axis = 0, at = 0;
        for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
            if (entry.kind == Kind::position) return false;
            if (entry.kind == Kind::slice) {
                if (!is_whole(entry, operation.type.shape[at], whole[axis++])) {
                    if (!entry.step.is_constant() || entry.step.constant() <= 0)
                        refuse(operation, "reads places that need not exist");
                    return false;
                }
            }
            ++at;
        }
        return true;
    }

    /// An operation on values; at least one has an axis of iterations.
    void with_iterations(const Operation& operation) {
        const Op op = operation.op;
        const std::vector<std::string>& operands = operation.operands;
        Type type = along(operation.type);
        auto attributes = operation.attributes;
        if (is_elementwise(op)) {
            if (info(op).signature == Signature::words) refuse(operation, "draws a random number");
            if (info(op).signature == Signature::magnitude && is_lifted(operands[2]))
                refuse(operation, "compares with another number in each iteration");
            std::vector<std::string> wide;
            for (const std::string& operand : operands)
                wide.push_back(is_lifted(operand) ? stretched(operand, operation.type.shape.size()) : now(operand));
            std::string name = operation.result;
            // Of a size that nobody keeps: a part of expressions.
            if (name[0] != '%' && !is_small(type)) lifted_[operation.result] = name = fresh();
            return emit(name, type, op, wide, attributes);
        }
        const auto first = [&] { return with_axis(operands[0]); };
        if (op == Op::index || op == Op::update) {
            std::vector<IndexEntry> entries = attributes.at(attr::index);
            entries.insert(entries.begin(), IndexEntry::all());
            attributes.set(attr::index, entries);
            std::vector<std::string> wide;
            for (const std::string& operand : operands)
                wide.push_back(with_axis(operand));
            return emit(operation.result, type, op, wide, attributes);
        }
        if (op == Op::transpose) {
            std::vector<int> axes{0};
            for (const int axis : attributes.at(attr::axes))
                axes.push_back(axis + 1);
            return emit(operation.result, type, op, {first()}, {attr::axes(axes)});
        }
        if (op == Op::reshape) return emit(operation.result, type, op, {first()}, attributes);
        if (op == Op::broadcast_to)
            return emit(operation.result, type, op, {stretched(operands[0], operation.type.shape.size())}, attributes);
        if (is_reduction(op)) return reduction(operation, type);
        if (op == Op::matmul) return product_of(operation, type);
        if (op == Op::take) return taken(operation);
        refuse(operation, "is " + text_of(op));
    }

    void reduction(const Operation& operation, const Type& type) {
        auto attributes = operation.attributes;
        if (const int* axis = attributes.find(attr::axis)) {
            attributes.set(attr::axis, *axis + 1);
        } else {
            std::vector<int> axes = attributes.at(attr::axes);
            for (int& each : axes)
                ++each;
            attributes.set(attr::axes, axes);
        }
        SumOrder order = attributes.at(attr::order);
        ++order.iterations;
        // Of a product: no order of NumPy's, and the iterations are the neighbours.
        if (operation.attributes.has(attr::product) && !options_.device) order.contiguous = false;
        attributes.set(attr::order, order);
        keeps(operation, type);
        emit(operation.result, type, operation.op, {with_axis(operation.operands[0])}, attributes);
    }

    /// The sum over k of a[i, k] * b[k, j], one by one as products are by loops.
    void product_of(const Operation& operation, const Type& type) {
        if (operation.attributes.at(attr::order).library) refuse(operation, "is a product by a library");
        if (type.dtype == "bool") refuse(operation, "is a product of truths");
        const std::string& a = operation.operands[0];
        const std::string& b = operation.operands[1];
        keeps(operation, type);
        const auto opened = [&](const std::string& name, bool left) {
            // A stack with an axis of iterations has as many axes behind it as the result.
            const std::string from = is_lifted(name) ? stretched(name, operation.type.shape.size()) : now(name);
            Type open = values_.type(from);
            std::vector<IndexEntry> entries(open.shape.size(), IndexEntry::all());
            const auto at = static_cast<std::ptrdiff_t>(open.shape.size()) - (left ? 0 : 2);
            open.shape.insert(open.shape.begin() + at, Size::integer(1));
            entries.insert(entries.begin() + at, IndexEntry::newaxis());
            return add(open, Op::index, {from}, {attr::index(entries)});
        };
        const std::string left = opened(a, true), right = opened(b, false);
        Type all_products = type;
        const std::vector<Size>& shape_a = values_.type(is_lifted(a) ? lifted(a) : now(a)).shape;
        all_products.shape.insert(all_products.shape.end() - 1, shape_a.back());
        const std::string terms = add(all_products, Op::multiply, {left, right}, {});
        emit(operation.result, type, Op::sum, {terms},
             {attr::axes({static_cast<int>(type.shape.size()) - 1}), attr::order({.iterations = 1})});
    }

    void taken(const Operation& operation) {
        const std::string& array = operation.operands[0];
        const std::string& positions = operation.operands[1];
        if (is_lifted(array)) refuse(operation, "takes from another array in each iteration");
        const auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
        Type type = operation.type;
        type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(axis), iterations_);
        const std::string all_taken = axis == 0 ? operation.result : fresh();
        emit(all_taken, type, Op::take, {now(array), lifted(positions)}, operation.attributes);
        if (axis != 0) lifted_[operation.result] = moved(all_taken, axis, 0);
    }

    /// A place that moves evenly along one axis: a slice along the iterations, or windows.
    std::string moving_read(const Operation& operation) {
        std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return moves(entry); });
        if (std::count_if(entries.begin(), entries.end(), [&](const auto& entry) { return moves(entry); }) != 1)
            refuse(operation, "reads along a diagonal");
        if (at->kind == Kind::slice && moves(at->step)) refuse(operation, "reads every so many in each iteration");
        const auto entry = at - entries.begin();
        std::size_t axis = 0, place = 0; // of the array, and of the result
        for (auto before = entries.begin(); before != at; ++before) {
            axis += before->kind != Kind::newaxis ? 1 : 0;
            place += before->kind != Kind::position ? 1 : 0;
        }
        std::string array = now(operation.operands[0]);
        Type type = operation.type;
        type.shape.insert(type.shape.begin() + static_cast<std::ptrdiff_t>(place), iterations_);
        auto attributes = operation.attributes;
        const bool clamped = attributes.has(attr::clamped) && written(operation.operands[0]) == nullptr;
        if (!clamped) attributes.erase(attr::clamped);
        if (clamped && at->kind == Kind::position) return nearest(operation, entries, entry, axis, place, type);
        if (clamped) refuse(operation, "reads places that need not exist");
        const Even steps = evenly(operation, at->start);
        if (at->kind == Kind::position) {
            *at = IndexEntry::slice(steps.first, steps.step);
        } else {
            Type windows = values_.type(array);
            const Size extent = operation.type.shape[place];
            windows.shape[axis] = extent;
            windows.shape.insert(windows.shape.begin() + static_cast<std::ptrdiff_t>(axis), iterations_);
            array = add(windows, Op::windows, {array},
                        {attr::axis(static_cast<int>(axis)), attr::start(steps.first), attr::step(steps.step),
                         attr::stride(at->step)});
            *at = IndexEntry::all();
            entries.insert(entries.begin() + entry, IndexEntry::all());
        }
        attributes.set(attr::index, entries);
        return moved(add(type, Op::index, {array}, attributes), place, 0);
    }

    /// An element at a position that need not exist, where nobody needs it then: the nearest one.
    std::string nearest(const Operation& operation, std::vector<IndexEntry> entries, std::ptrdiff_t entry,
                        std::size_t axis, std::size_t place, const Type& type) {
        const Size position = entries[static_cast<std::size_t>(entry)].start;
        entries[static_cast<std::size_t>(entry)] = IndexEntry::all();
        Type lines = type;
        lines.shape[place] = values_.type(now(operation.operands[0])).shape[axis];
        auto attributes = operation.attributes;
        attributes.set(attr::index, entries);
        const std::string from = add(lines, Op::index, {now(operation.operands[0])}, attributes);
        return moved(add(type, Op::take, {from, number(position)}, {attr::axis(static_cast<int>(place))}), place, 0);
    }

    // -- shapes ------------------------------------------------------------------------------------------------------

    Type along(Type type) const {
        type.shape.insert(type.shape.begin(), iterations_);
        return type;
    }

    /// With an axis of iterations, along which it may be the same.
    std::string with_axis(const std::string& name) {
        if (is_lifted(name)) return lifted(name);
        const std::string& same = now(name);
        return add(along(values_.type(same)), Op::broadcast_to, {same}, {});
    }

    /// With axes of one element behind that of iterations, so that the others stand where those of `rank` axes do.
    std::string stretched(const std::string& name, std::size_t rank) {
        const std::string wide = with_axis(name);
        Type type = values_.type(wide);
        const std::size_t missing = rank + 1 - type.shape.size();
        if (missing == 0) return wide;
        std::vector<IndexEntry> entries(type.shape.size(), IndexEntry::all());
        entries.insert(entries.begin() + 1, missing, IndexEntry::newaxis());
        type.shape.insert(type.shape.begin() + 1, missing, Size::integer(1));
        return add(type, Op::index, {wide}, {attr::index(entries)});
    }

    /// With an axis at another place.
    std::string moved(const std::string& name, std::size_t from, std::size_t to) {
        if (from == to) return name;
        Type type = values_.type(name);
        std::vector<int> axes(type.shape.size());
        std::iota(axes.begin(), axes.end(), 0);
        const auto move = [&](auto& all) {
            const auto one = all[from];
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(from));
            all.insert(all.begin() + static_cast<std::ptrdiff_t>(to), one);
        };
        move(axes);
        move(type.shape);
        return add(type, Op::transpose, {name}, {attr::axes(axes)});
    }

    // -- memory ------------------------------------------------------------------------------------------------------

    std::int64_t bytes_of(const Type& type) const {
        const auto count = evaluate(product(type.shape), options_.sizes_here);
        return count ? *count * find_dtype(type.dtype)->bytes : -1;
    }
    std::int64_t most_bytes() const {
        std::int64_t most = kMostBytes;
        for (const auto& [name, type] : results_of(loop_))
            most = std::max(most, kMostTimes * bytes_of(type));
        return most;
    }
    bool is_small(const Type& type) const {
        const std::int64_t bytes = bytes_of(type);
        return bytes >= 0 && bytes <= most_bytes();
    }
    /// What is reduced may lie in memory.
    void keeps(const Operation& operation, const Type& type) {
        if (bytes_of(type) > most_bytes())
            refuse(operation, "would take " + std::to_string(bytes_of(type) >> 20) + " MiB for all iterations");
    }

    /// Kernels count in 32 bits, and have at most so many axes.
    void keep_in_bounds(const Block& body) const {
        for (const Operation& operation : out_)
            if (operation.type.shape.size() > kMostAxes)
                refuse(body.operations.front(), "has too many axes for one more");
    }
    static constexpr std::size_t kMostAxes = 12;

    const TranslateOptions& options_;
    std::vector<Carried> classes_;                ///< by the number of what is carried
    std::map<std::string, std::size_t> class_of_; ///< of the versions of what is carried
    Renamed now_;                                 ///< what is carried, before it is written
};

/// Of a loop whose limits may follow those around it: in the first or the last iteration of them all. 0: not known.
std::int64_t most_iterations(const Operation& loop, const std::vector<const Operation*>& around,
                             const TranslateOptions& options) {
    std::int64_t most = 0;
    for (const bool last : {false, true}) {
        std::map<std::string, std::int64_t> here = options.sizes_here;
        for (const Operation* outer : around) {
            if (outer->op != Op::for_loop) continue;
            const auto first = evaluate(start_of(*outer), here), count = evaluate(iterations_of(*outer), here);
            if (!first || !count) return 0;
            here[outer->attributes.at(attr::variable)] =
                *first + (last ? step_of(*outer) * std::max<std::int64_t>(0, *count - 1) : 0);
        }
        most = std::max(most, evaluate(iterations_of(loop), here).value_or(0));
    }
    return most;
}

/// Whether the iterations are neighbours in memory, in all that they read and write, and each adds up a product: one
/// column after the other, which a kernel for each would read with gaps.
/// Not few of them, whose vectors would be empty for the most part, nor columns of an array that is the same in the
/// loops `around`, unless all together is work for a library (loop_products): their copy is read again and again
/// (packing).
bool is_along_rows(const Values& values, const Operation& loop, const std::vector<const Operation*>& around,
                   const TranslateOptions& options) {
    const std::string& index = loop.attributes.at(attr::variable);
    std::int64_t all = most_iterations(loop, around, options);
    if (all < kLeastColumns || step_of(loop) != 1) return false;
    bool repeats = false;
    std::set<std::string> changed{};
    for (const Operation* outer : around) {
        if (outer->op == Op::if_else) continue;
        repeats = true;
        if (outer->op == Op::for_loop)
            all *=
                std::clamp<std::int64_t>(evaluate(iterations_of(*outer), options.sizes_here).value_or(1), 1, 1 << 16);
        walk_operation(*outer, [&](const Operation& each) {
            for (const Block& region : each.regions)
                for (const auto& [name, type] : region.parameters)
                    changed.insert(name);
            changed.insert(each.result);
        });
    }
    const auto moves = [&](const Size& size) {
        std::set<std::string> symbols;
        size.collect_symbols(symbols);
        return symbols.contains(index);
    };
    bool adds_up = false;
    for (const Operation& operation : loop.regions[0].operations) {
        std::set<std::string> symbols;
        collect_symbols(operation, symbols);
        if (!operation.regions.empty()) return false;
        if (!symbols.contains(index)) continue;
        if (operation.op == Op::scalar_size) continue;
        if (operation.op != Op::index && operation.op != Op::update) return false;
        const std::string& array = operation.operands[0];
        const auto& entries = operation.attributes.at(attr::index);
        const bool last_alone = std::ranges::none_of(entries.begin(), entries.end() - 1, [&](const IndexEntry& entry) {
            return moves(entry.start) || moves(entry.step);
        });
        if (!last_alone || entries.back().kind != Kind::position || options.layout(array) != Layout::c) return false;
        for (const Operation* user : values.users(operation.result)) {
            if (operation.type.shape.size() != 1 || user->op != Op::multiply ||
                std::ranges::none_of(values.users(user->result), [](const Operation* sum) {
                    return sum->op == Op::sum && sum->attributes.has(attr::product);
                }))
                continue;
            const std::int64_t terms = evaluate(operation.type.shape[0], options.sizes_here).value_or(1);
            if (repeats && !changed.contains(array) && all <= kLeastProduct / std::max<std::int64_t>(1, terms))
                return false;
            adds_up = true;
        }
    }
    return adds_up;
}

/// Nothing where no loop becomes an axis. `all`: not only those along rows.
std::optional<Program> with_axes(const Program& program, const TranslateOptions& options, bool all) {
    Values values(program);
    Renamed renamed;
    Program out = program;
    rewrite<Order::inner_first>(out.body, [&](Operation& operation, Place& place) {
        if (operation.regions.empty()) return Fate::keeps;
        // As it came: with axes inside of it, it may be another kind of loop.
        const Operation& source = *values.made_by(operation.result);
        if (source.op == Op::for_loop && why_not_pixelwise(source).empty()) return Fate::keeps;
        for (Block& region : operation.regions)
            replace_uses(region, renamed);
        if (operation.op != Op::for_loop || !(all || is_along_rows(values, source, place.around, options)))
            return Fate::keeps;
        try {
            Renamed results;
            auto made = Lift(program, options, values, operation).run(results);
            std::ranges::move(made, std::back_inserter(place.out));
            renamed.merge(results);
            return Fate::goes;
        } catch (const Refusal&) {
            return Fate::keeps;
        }
    });
    if (renamed.empty()) return std::nullopt;
    replace_all_uses(out, renamed);
    return without_dead_code(out);
}

} // namespace

Prepared column_products(const Prepared& prepared, const TranslateOptions& options) {
    if (options.axes.value_or(options.device)) return prepared;
    Prepared out = prepared;
    if (std::optional<Program> made = with_axes(prepared.program, options, false)) {
        out.program = std::move(*made);
        out.in_steps = needs_steps(out.program);
    }
    return out;
}

Prepared batching(const Prepared& prepared, const TranslateOptions& options) {
    Prepared out = prepared;
    if (std::optional<Program> made = with_axes(prepared.program, options, true)) {
        out.program = std::move(*made);
        out.in_steps = needs_steps(out.program);
    }
    return out;
}

std::string why_no_axis(const Program& program, const Operation& loop) {
    Values values(program);
    Renamed renamed;
    const TranslateOptions options;
    try {
        Lift(program, options, values, loop).run(renamed);
        return "";
    } catch (const Refusal& refusal) {
        return refusal.why;
    }
}

} // namespace tilewright::translator
