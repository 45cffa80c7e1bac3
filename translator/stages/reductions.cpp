// translator/stages/reductions.cpp: sums in a fixed order: one by one, in lanes and blocks, or in blocks of rows.
#include "translator/stages/reductions.h"

#include <algorithm>
#include <limits>

#include "dsl/base/error.h"
#include "dsl/passes/markers.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/values.h"

namespace tilewright::translator {

using Halide::Expr;
using Element = Halide::Type;

namespace {

// On a device: what is stored of sums of more terms than this is a separate stage.
constexpr std::int64_t kTermsInThread = 16;
// On a device: rows that are read together.
constexpr int kRowsPerGroup = 16;

Size constant(std::int64_t value) {
    return Size::integer(value);
}

/// Tells Halide that a position stays inside the axis: the update's condition says so, which bounds inference cannot
/// see.
Expr inside(const Expr& position, const Expr& extent) {
    return Halide::unsafe_promise_clamped(position, 0, extent - 1);
}

/// As names of stages have a level: the first one has none.
std::string number_of(int level) {
    return level == 1 ? "" : std::to_string(level);
}

/// An index with one more entry.
Exprs with(Exprs index, std::size_t axis, const Expr& position) {
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), position);
    return index;
}

Exprs firsts(const std::vector<Exprs>& values) {
    Exprs out;
    for (const Exprs& value : values)
        out.push_back(value[0]);
    return out;
}

} // namespace

StageDraft ReductionBuilder::draft(const std::string& name, const std::vector<std::string>& dtypes,
                                   dsl::StagePart part) {
    StageDraft out(shared_, name);
    out.dtypes = dtypes;
    out.operation = plan_.operation;
    out.kernel = plan_.kernel;
    out.part = part;
    return out;
}

std::string ReductionBuilder::helper(const std::string& suffix) {
    return shared_.analysis.unique(plan_.name + suffix);
}

Halide::Func ReductionBuilder::finish(StageDraft draft) {
    Halide::Func func = draft.func();
    table_.finish(std::move(draft));
    return func;
}

void ReductionBuilder::finish(StageDraft draft, const Ends& ends) {
    if (!ends.last) return table_.finish(std::move(draft));
    if (!draft.has_updates() || !(plan_.materialised || copied_)) {
        draft.output = plan_.materialised;
        shared_.funcs[plan_.name] = finish(std::move(draft));
        return;
    }
    // An output with updates can only be computed whole. A pure output that reads it lets the reduction run inside
    // the output's loops; and on a device a thread then adds up in its registers what it stores once.
    const Halide::Func all = finish(std::move(draft));
    const Type& type = shared_.analysis.value(plan_.value).type;
    StageDraft result =
        this->draft(plan_.name, {type.dtype}, plan_.materialised ? dsl::StagePart::whole : dsl::StagePart::end);
    const Expr value = elements_of(all, result.axes(type.shape))[0];
    result.define({Halide::cast(storage_type(type.dtype), value)}, 0);
    finish(std::move(result), ends);
}

std::string ReductionBuilder::with_updates(const Ends& ends, const Size& terms) {
    copied_ = shared_.options.device && shared_.analysis.here(terms) > kTermsInThread;
    return ends.last && (plan_.materialised || copied_) ? helper("_all") : ends.name;
}

ReductionBuilder::Reduction ReductionBuilder::reduction(Op op) const {
    const std::string& dtype = plan_.operation->type.dtype;
    const DTypeInfo& info = accumulator(*find_dtype(dtype));
    const bool is_float = info.kind == DTypeKind::floating;
    Element type = storage_type(info);
    Expr start, identity;
    bool ordered = false;
    std::function<Expr(const Expr&, const Expr&)> pair, step;
    std::function<Expr(const Exprs&)> tree;
    std::function<Expr(const Expr&)> end = [](const Expr& x) { return x; };
    if (info.kind == DTypeKind::boolean) {
        // Truth as bytes: any is a maximum, all a minimum, and Halide knows that both are associative.
        const bool any = op == Op::any || op == Op::max || op == Op::sum;
        start = integer_constant(type, any ? 0 : 1);
        pair = extreme(any);
    } else if (op == Op::sum || op == Op::prod) {
        const bool sum = op == Op::sum;
        // Signed accumulators are unsigned in memory: their overflow wraps, and Halide sees an associative update.
        if (type.is_int()) type = Halide::UInt(type.bits());
        pair = [sum](const Expr& a, const Expr& b) { return sum ? a + b : a * b; };
        start = sum ? Halide::Internal::make_zero(type) : Halide::Internal::make_one(type);
        ordered = is_float && shared_.options.contract != "fast";
        if (sum && is_float) {
            // -0.0 + x is x for every x; 0.0 + x loses the sign of -0.0, which is what NumPy's start does at the end.
            identity = float_constant(type, -0.0);
            end = [start](const Expr& x) { return start + x; };
        }
    } else {
        const bool largest = op == Op::max;
        start = largest ? lowest(type) : highest(type);
        pair = extreme(largest);
        // NaN wins. The update is associative, but in a form that Halide does not recognise, so its order is kept.
        ordered = is_float;
        if (is_float && shared_.options.device && type == Halide::Float(32)) {
            pair = [largest](const Expr& a, const Expr& b) { return dsl::device_extreme(largest, a, b); };
        } else if (is_float) {
            const Expr nan = float_constant(type, std::numeric_limits<double>::quiet_NaN());
            step = [largest](const Expr& best, const Expr& x) {
                return Halide::select((largest ? x > best : x < best) || Halide::is_nan(x), x, best);
            };
            pair = [nan, of = extreme(largest)](const Expr& a, const Expr& b) {
                return Halide::select(Halide::is_nan(a) || Halide::is_nan(b), nan, of(a, b));
            };
            tree = [largest, nan](const Exprs& lanes) {
                // Two trees, each reading a lane once: one nested select would grow as 3^levels.
                const Expr best = pairwise(lanes, extreme(largest));
                return Halide::select(any_nan(lanes), nan, best);
            };
        }
    }
    if (!step) step = [pair, type](const Expr& sum, const Expr& x) { return pair(sum, Halide::cast(type, x)); };
    if (!tree) tree = [pair](const Exprs& lanes) { return pairwise(lanes, pair); };
    if (!identity.defined()) identity = start;
    Reduction out{{std::string(info.name)}, 1, ordered, false, {start}, {}, {}, {}, {}, {}};
    out.identity = [identity](const Expr&) { return Exprs{identity}; };
    out.step = [step, identity](const Exprs& sum, const Exprs& x, const Expr& is_there) {
        const Expr term = dsl::opaque_if_it_rounds(x[0]);
        if (!is_there.defined()) return Exprs{step(sum[0], term)};
        return Exprs{step(sum[0], Halide::select(is_there, term, Halide::cast(term.type(), identity)))};
    };
    out.tree = [tree](const std::vector<Exprs>& lanes) { return Exprs{tree(firsts(lanes))}; };
    out.combine = [pair](const std::vector<Exprs>& values) { return Exprs{pairwise(firsts(values), pair)}; };
    out.finish = [end](const Exprs& x) { return Exprs{end(x[0])}; };
    return out;
}

Exprs ReductionBuilder::operand_at(const Exprs& index) {
    const Operation& operation = *plan_.operation;
    const DTypeInfo& from = *find_dtype(shared_.analysis.value(operation.operands[0]).type.dtype);
    return {ops::convert(evaluator_.at(operation.operands[0], index), from, *find_dtype(operation.type.dtype))};
}

ReductionBuilder::Source ReductionBuilder::source_of(const std::string& value, const std::vector<int>& axes,
                                                     bool collapsed) {
    const Operation& operation = *plan_.operation;
    const Type& type = shared_.analysis.value(value).type;
    const DTypeInfo& from = *find_dtype(type.dtype);
    const DTypeInfo& to = is_search(operation.op) ? from : *find_dtype(operation.type.dtype);
    Source out{{}, constant(1), {}};
    for (std::size_t k = 0; k < type.shape.size(); ++k) {
        if (std::ranges::count(axes, static_cast<int>(k)) != 0)
            out.extent = out.extent * type.shape[k];
        else
            out.kept.push_back(type.shape[k]);
    }
    const auto leading = static_cast<std::size_t>(axes.front());
    if (collapsed && shared_.analysis.value(value).order.flat) {
        out.at = [this, value, leading, &from, &to, extents = out.kept, count = out.extent](const Exprs& kept,
                                                                                            const Expr& position) {
            Expr flat;
            for (std::size_t k = 0; k < leading; ++k)
                flat = flat.defined() ? flat * shared_.size(extents[k]) + kept[k] : kept[k];
            flat = flat.defined() ? flat * shared_.size(count) + position : position;
            for (std::size_t k = leading; k < kept.size(); ++k)
                flat = flat * shared_.size(extents[k]) + kept[k];
            return Exprs{ops::convert(evaluator_.at(value, {flat}, true), from, to)};
        };
        return out;
    }
    // Several axes are one long one all the same, where the program had one where this operand comes from.
    const std::vector<Size> whole(type.shape.begin() + axes.front(), type.shape.begin() + axes.back() + 1);
    out.at = [this, value, leading, whole, &from, &to](const Exprs& kept, const Expr& position) {
        Exprs index = kept;
        Expr rest = position;
        for (std::size_t k = whole.size(); k-- > 0;) {
            const Expr extent = k == 0 ? Expr() : shared_.size(whole[k]);
            index.insert(index.begin() + static_cast<std::ptrdiff_t>(leading), k == 0 ? rest : rest % extent);
            if (k != 0) rest = rest / extent;
        }
        return Exprs{ops::convert(evaluator_.at(value, index), from, to)};
    };
    return out;
}

void ReductionBuilder::one_by_one(const std::vector<Size>& kept, const std::vector<Loop>& loops, const Size& terms,
                                  const ElementAt& at, const Reduction& op, const Ends& ends) {
    StageDraft stage = draft(with_updates(ends, terms), op.dtypes);
    const Exprs index = stage.axes(kept);
    stage.define(op.start, 0);
    evaluator_.begin_definition();
    const Halide::RDom domain = stage.reduce(loops);
    const Exprs x = at(index, domain);
    stage.update(domain, loops, op.step(stage.current(), x, {}), {}, evaluator_.operations() + op.operations);
    finish(std::move(stage), ends);
}

void ReductionBuilder::serial(const Source& source, const Reduction& op, const Ends& ends) {
    one_by_one(
        source.kept, {{"r", source.extent, true, op.ordered}}, source.extent,
        [&](const Exprs& kept, const Halide::RDom& domain) { return source.at(kept, domain[0]); }, op, ends);
}

void ReductionBuilder::serial_over_axes(const Reduction& op, const Ends& ends) {
    const Operation& operation = *plan_.operation;
    const std::vector<Size>& shape = shared_.analysis.value(operation.operands[0]).type.shape;
    const ReductionShape reduced = shared_.analysis.reduction_shape(operation);
    const std::vector<int>& axes = reduced.axes;
    if (axes.empty()) {
        // Nothing is reduced: the result is the operand, after the conversion and the start of the operation.
        StageDraft stage = draft(ends.name, op.dtypes);
        const Exprs index = stage.axes(operation.type.shape);
        evaluator_.begin_definition();
        const Exprs value = op.step(op.start, operand_at(index), {});
        stage.define(value, evaluator_.operations());
        return finish(std::move(stage), ends);
    }
    std::vector<Loop> loops;
    for (std::size_t k = 0; k < axes.size(); ++k)
        loops.push_back({"r" + std::to_string(k), shape[static_cast<std::size_t>(axes[k])], true, op.ordered});
    const auto at = [&](const Exprs& kept, const Halide::RDom& domain) {
        Exprs index = kept;
        for (std::size_t k = 0; k < axes.size(); ++k)
            index.insert(index.begin() + axes[k], domain[static_cast<int>(axes.size() - 1 - k)]);
        return operand_at(index);
    };
    one_by_one(operation.type.shape, loops, reduced.extent, at, op, ends);
}

void ReductionBuilder::rows(Source source, const Reduction& op, int levels, const Ends& ends) {
    for (int level = 1; level <= levels; ++level)
        source = blocks_of_rows(source, op, level);
    serial(source, op, ends);
}

ReductionBuilder::BlockRows ReductionBuilder::rows_of_block(StageDraft& stage, const Expr& block, const Size& extent,
                                                            bool ordered) {
    BlockRows out;
    const Expr count = shared_.size(extent);
    if (!shared_.options.device) {
        out.loops = {{"r", constant(kRowsPerBlock), true, ordered}};
        out.domain = stage.reduce(out.loops);
        const Expr position = block * kRowsPerBlock + out.domain[0];
        out.conditions = {Halide::likely(position < count)};
        out.position = inside(position, count);
        return out;
    }
    // A condition of each row would be a branch, and each load would wait for the one before it. So groups of rows have
    // it, and the rows of the last one that are not there repeat the last that is.
    out.loops = {{"g", constant(kRowsPerBlock / kRowsPerGroup), true, ordered},
                 {"r", constant(kRowsPerGroup), true, ordered}};
    out.domain = stage.reduce(out.loops);
    const Expr first = block * kRowsPerBlock + out.domain[1] * kRowsPerGroup;
    const Expr position = first + out.domain[0];
    out.conditions = {first < count};
    out.is_there = position < count;
    out.position = inside(Halide::min(position, count - 1), count);
    return out;
}

/// The result of each kRowsPerBlock rows, one by one.
ReductionBuilder::Source ReductionBuilder::blocks_of_rows(const Source& source, const Reduction& op, int level) {
    StageDraft stage = draft(helper("_rows" + number_of(level)), op.dtypes, dsl::StagePart::rows);
    const Size blocks = ceil_div(source.extent, kRowsPerBlock);
    const Halide::Var b = stage.pure("b", blocks);
    const Exprs kept = stage.axes(source.kept);
    int32_t rows_in_block = 1;
    for (int k = 0; k < level; ++k)
        rows_in_block *= kRowsPerBlock;
    stage.define(op.identity(b * rows_in_block), 0);
    evaluator_.begin_definition();
    const BlockRows rows = rows_of_block(stage, b, source.extent, op.ordered);
    const Exprs x = source.at(kept, rows.position);
    stage.update(rows.domain, rows.loops, op.step(stage.current(), x, rows.is_there), rows.conditions,
                 evaluator_.operations() + op.operations);
    return {source.kept, blocks, [done = finish(std::move(stage))](const Exprs& index, const Expr& block) {
                return elements_of(done, with(index, 0, block));
            }};
}

/// Lane u of block b adds elements b*B + u + L*t in the order of t; a tree adds the lanes; then the same again over the
/// sums of the blocks, until one is left. Padding is the identity, so the bits do not depend on the number of levels.
void ReductionBuilder::lanes(Source source, const Reduction& op, int levels, const Ends& ends) {
    for (int level = 1; level < levels; ++level)
        source = blocks_of_lanes(source, op, level, ends.stem);
    const Halide::Func last = lanes_of(source, op, levels, std::nullopt, ends.stem);
    finish(tree_of(last, source.kept, op, levels, std::nullopt, ends.stem, ends.name), ends);
}

ReductionBuilder::Source ReductionBuilder::blocks_of_lanes(const Source& source, const Reduction& op, int level,
                                                           const std::string& stem) {
    const std::int64_t block = shared_.analysis.lane_shape(*plan_.operation).block();
    // Halide folds what is rounded up level by level into one sum: behind three levels of 1024, (n + 2^30 - 1) //
    // 2^30, which leaves 32 bits where n does not. Rounded so it is (n - 1) // 2^30 + 1.
    const Size blocks = level < 3 ? ceil_div(source.extent, block)
                                  : floor_div(source.extent - constant(1), constant(block)) + constant(1);
    const Halide::Func lanes = lanes_of(source, op, level, blocks, stem);
    StageDraft tree = tree_of(lanes, source.kept, op, level, blocks, stem, helper(stem + "_block" + number_of(level)));
    return {source.kept, blocks, [done = finish(std::move(tree))](const Exprs& kept, const Expr& position) {
                return elements_of(done, with(kept, kept.size(), position));
            }};
}

Halide::Func ReductionBuilder::lanes_of(const Source& source, const Reduction& op, int level,
                                        const std::optional<Size>& blocks, const std::string& stem) {
    const LaneShape shape = shared_.analysis.lane_shape(*plan_.operation);
    const Size rows_count = floor_div(source.extent, constant(shape.lanes));
    const Size rest = floor_mod(source.extent, constant(shape.lanes));
    const bool device = shared_.options.device;
    StageDraft stage = draft(helper(stem + (device ? "_lane" : "_lanes") + number_of(level)), op.dtypes,
                             device ? dsl::StagePart::lane : dsl::StagePart::lanes);
    const Exprs kept = stage.axes(source.kept);
    Expr block = 0;
    if (blocks) block = stage.pure("b", *blocks);
    const Halide::Var u = stage.pure("u", constant(shape.lanes));
    stage.define(op.identity(block * static_cast<int32_t>(shape.block()) + u), 0);
    const Expr extent = shared_.size(source.extent), row_extent = shared_.size(rows_count);
    const auto add_update = [&](const Size& rounds, const auto& position, const auto& conditions) {
        evaluator_.begin_definition();
        const std::vector<Loop> loops{{"r", rounds, true, op.ordered}};
        const Halide::RDom domain = stage.reduce(loops);
        const Exprs x = source.at(kept, inside(position(domain[0]), extent));
        stage.update(domain, loops, op.step(stage.current(), x, {}), conditions(domain[0]),
                     evaluator_.operations() + op.operations);
    };
    const auto row = [&](const Expr& r) { return blocks ? block * shape.per_lane + r : r; };
    // A search has the same definitions for every length.
    if (op.searches || !source.extent.is_constant() || source.extent.constant() >= shape.lanes)
        add_update(
            blocks ? constant(shape.per_lane) : rows_count, [&](const Expr& r) { return row(r) * shape.lanes + u; },
            [&](const Expr& r) {
                if (!blocks) return Exprs{};
                return Exprs{op.searches ? row(r) < row_extent : Halide::likely(row(r) < row_extent)};
            });
    // One round that only some lanes take; the position has to name the loop, or Halide drops its condition.
    if (op.searches || !rest.is_constant() || rest.constant() != 0)
        add_update(
            constant(1), [&](const Expr& r) { return row_extent * shape.lanes + u + r; },
            [&](const Expr&) {
                Exprs conditions;
                if (blocks) conditions.push_back(block == row_extent / shape.per_lane);
                conditions.push_back(u < shared_.size(rest));
                return conditions;
            });
    return finish(std::move(stage));
}

StageDraft ReductionBuilder::tree_of(Halide::Func lanes, const std::vector<Size>& kept, const Reduction& op, int level,
                                     const std::optional<Size>& blocks, const std::string& stem,
                                     const std::string& name) {
    const int all = lane_count();
    int left = all;
    if (shared_.options.device) {
        left = std::min(all, kFolded);
        const std::string number = number_of(level);
        lanes = folded(helper(stem + "_lanes" + number), dsl::StagePart::lanes, op, lanes, all, all, kept, blocks);
        if (left < all)
            lanes = folded(helper(stem + "_fold" + number), dsl::StagePart::fold, op, lanes, all, left, kept, blocks);
    }
    StageDraft tree = draft(name, op.dtypes, dsl::StagePart::block);
    Exprs index = tree.axes(kept);
    if (blocks) index.push_back(tree.pure("b", *blocks));
    std::vector<Exprs> values;
    for (int lane = 0; lane < left; ++lane)
        values.push_back(elements_of(lanes, with(index, index.size(), lane)));
    const Exprs result = left < all ? op.combine(values) : op.tree(values);
    tree.define(blocks ? result : op.finish(result), op.operations * left);
    return tree;
}

Halide::Func ReductionBuilder::folded(const std::string& name, dsl::StagePart part, const Reduction& op,
                                      const Halide::Func& lanes, int count, int left, const std::vector<Size>& kept,
                                      const std::optional<Size>& blocks) {
    StageDraft stage = draft(name, op.dtypes, part);
    Exprs index = stage.axes(kept);
    if (blocks) index.push_back(stage.pure("b", *blocks));
    const Halide::Var u = stage.pure("u", constant(left));
    std::vector<Exprs> values;
    for (int first = 0; first < count; first += left)
        values.push_back(elements_of(lanes, with(index, index.size(), first == 0 ? Expr(u) : u + first)));
    const int width = static_cast<int>(op.dtypes.size());
    stage.define(left == count ? values.front() : op.combine(values), count / left * width);
    return finish(std::move(stage));
}

/// Several axes that are not one loop: innermost first, neighbours of a flat operand among them as one, the others one
/// at a time.
void ReductionBuilder::axis_by_axis(const Reduction& op, int levels, const Ends& end) {
    const Operation& operation = *plan_.operation;
    std::vector<int> axes = reduced_axes(operation);
    const std::vector<int> innermost = shared_.analysis.reduction_shape(operation).innermost();
    Source source = source_of(operation.operands[0], innermost, innermost.size() > 1);
    axes.resize(axes.size() - innermost.size() + 1);
    for (std::size_t left = axes.size(); left-- > 0;) {
        Ends ends = end;
        if (left > 0) {
            ends = {helper("_axis" + std::to_string(axes[left])), false};
            ends.stem = ends.name.substr(plan_.name.size());
        }
        if (axes[left] == static_cast<int>(source.kept.size()))
            lanes(source, op, levels, ends);
        else
            rows(source, op, 1, ends);
        if (left == 0) return;
        const auto axis = static_cast<std::size_t>(axes[left - 1]);
        source.extent = source.kept[axis];
        source.kept.erase(source.kept.begin() + static_cast<std::ptrdiff_t>(axis));
        source.at = [done = table_.impls.at(ends.name).func, axis](const Exprs& kept, const Expr& position) {
            return elements_of(done, with(kept, axis, position));
        };
    }
}

void ReductionBuilder::matmul(const Ends& ends) {
    const Operation& operation = *plan_.operation;
    const Type& a = shared_.analysis.value(operation.operands[0]).type;
    const Type& b = shared_.analysis.value(operation.operands[1]).type;
    const std::vector<Size>& shape = operation.type.shape;
    const bool is_bool = a.dtype == "bool";
    // The matrix of an operand that is at the result's place in the stack.
    const auto stack = [](const auto& all) { return std::vector(all.begin(), all.end() - 2); };
    Source source{shape, a.shape.back(), {}};
    source.at = [&, is_bool, stack](const Exprs& kept, const Expr& position) {
        Exprs left = Evaluator::broadcast(stack(a.shape), stack(shape), stack(kept));
        Exprs right = Evaluator::broadcast(stack(b.shape), stack(shape), stack(kept));
        left.insert(left.end(), {kept.end()[-2], position});
        right.insert(right.end(), {position, kept.back()});
        const Expr x = evaluator_.at(operation.operands[0], left), y = evaluator_.at(operation.operands[1], right);
        return Exprs{is_bool ? x && y : ops::wrapping_multiply(x, y)};
    };
    Reduction op = reduction(Op::sum);
    const int levels = row_levels(shared_.analysis.chosen(plan_.name));
    // In place of a library, which rounds a product and its sum once too.
    const bool once = levels > 0 && find_dtype(operation.type.dtype)->kind == DTypeKind::floating;
    if (once && !shared_.options.device && shared_.options.contract != "reproducible")
        op.step = [](const Exprs& sum, const Exprs& x, const Expr&) { return Exprs{sum[0] + x[0]}; };
    rows(source, op, levels, ends);
}

void ReductionBuilder::build() {
    if (is_search(plan_.operation->op)) return search();
    const Type& type = plan_.operation->type;
    const DTypeInfo& dtype = *find_dtype(type.dtype);
    if (accumulator(dtype).dtype == dtype.dtype) return reduce({plan_.name});
    // Rounded once, where all of it is there.
    const Ends all{helper("_all"), false};
    reduce(all);
    StageDraft result =
        draft(plan_.name, {type.dtype}, plan_.materialised ? dsl::StagePart::whole : dsl::StagePart::end);
    const Expr value = elements_of(table_.impls.at(all.name).func, result.axes(type.shape))[0];
    result.define({to_memory(value, dtype)}, 1);
    finish(std::move(result), {plan_.name});
}

void ReductionBuilder::reduce(const Ends& ends) {
    const Operation& operation = *plan_.operation;
    if (operation.op == Op::matmul) return matmul(ends);
    const std::string& choice = shared_.analysis.chosen(plan_.name);
    const ReductionShape shape = shared_.analysis.reduction_shape(operation);
    const Reduction op = reduction(operation.op);
    const int levels = lane_levels(choice);
    if (!shape.is_one_loop()) return levels > 0 ? axis_by_axis(op, levels, ends) : serial_over_axes(op, ends);
    const Source source = source_of(operation.operands[0], shape.axes, shape.joined > 1);
    if (levels > 0) return lanes(source, op, levels, ends);
    rows(source, op, row_levels(choice), ends);
}

} // namespace tilewright::translator
