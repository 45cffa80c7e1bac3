// translator/stages/reductions.cpp: sums in a fixed order: one by one, in lanes and blocks, or in blocks of rows.
#include "translator/stages/reductions.h"

#include <algorithm>
#include <limits>

#include "dsl/base/error.h"
#include "dsl/passes/device_extremes.h"
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

Expr byte(const Expr& truth) {
    return Halide::cast<uint8_t>(truth);
}

} // namespace

StageDraft ReductionBuilder::draft(const std::string& name, const std::string& dtype) {
    StageDraft out(shared_, name);
    out.dtypes = {dtype};
    out.operation = plan_.operation;
    out.kernel = plan_.kernel;
    return out;
}

std::string ReductionBuilder::helper(const std::string& suffix) {
    return shared_.analysis.unique(plan_.name + suffix);
}

void ReductionBuilder::finish(StageDraft draft, const Ends& ends) {
    if (!ends.last) return table_.finish(std::move(draft));
    if (!draft.has_updates() || !(plan_.materialised || copied_)) {
        draft.output = plan_.materialised;
        shared_.funcs[plan_.name] = draft.func();
        return table_.finish(std::move(draft));
    }
    // An output with updates can only be computed whole. A pure output that reads it lets the reduction run inside
    // the output's loops; and on a device a thread then adds up in its registers what it stores once.
    Halide::Func all = draft.func();
    table_.finish(std::move(draft));
    const Type& type = shared_.analysis.value(plan_.value).type;
    StageDraft result = this->draft(plan_.name, type.dtype);
    if (!plan_.materialised) result.part = dsl::StagePart::end;
    std::vector<Size> extents;
    for (const Size& extent : type.shape)
        extents.push_back(extent);
    std::vector<std::string> names;
    Exprs kept = kept_index(result, extents, names);
    Expr value = all(Exprs(kept.rbegin(), kept.rend()));
    if (Element storage = storage_type(type.dtype); value.type() != storage) value = Halide::cast(storage, value);
    result.define({names.rbegin(), names.rend()}, {value}, 0);
    finish(std::move(result), ends);
}

std::string ReductionBuilder::with_updates(const Ends& ends, const Size& terms) {
    copied_ = shared_.options.device && shared_.analysis.here(terms) > kTermsInThread;
    return ends.last && (plan_.materialised || copied_) ? helper("_all") : ends.name;
}

Exprs ReductionBuilder::kept_index(StageDraft& draft, const std::vector<Size>& kept, std::vector<std::string>& names) {
    Exprs index;
    for (std::size_t k = 0; k < kept.size(); ++k) {
        names.push_back(loop_name(k));
        index.push_back(draft.pure(names.back(), kept[k]));
    }
    return index;
}

ReductionBuilder::Monoid ReductionBuilder::monoid() const {
    const Op op = plan_.operation->op;
    const std::string& dtype = plan_.operation->type.dtype;
    const DTypeInfo& info = *find_dtype(dtype);
    Monoid out;
    out.type = storage_type(info);
    out.finish = [](const Expr& x) { return x; };
    const bool is_float = info.kind == DTypeKind::floating;
    const bool fast = shared_.options.contract == "fast";
    if (info.kind == DTypeKind::boolean) {
        // Truth as bytes: any is a maximum, all a minimum, and Halide knows that both are associative.
        bool any = op == Op::any || op == Op::max || op == Op::sum;
        out.identity = out.start = integer_constant(out.type, any ? 0 : 1);
        out.step = [any](const Expr& sum, const Expr& x) {
            return any ? Halide::max(sum, byte(x)) : Halide::min(sum, byte(x));
        };
        out.pair = [any](const Expr& a, const Expr& b) { return any ? Halide::max(a, b) : Halide::min(a, b); };
        out.tree = [pair = out.pair](const std::vector<Expr>& lanes) { return pairwise(lanes, pair); };
        return out;
    }
    if (op == Op::sum || op == Op::prod) {
        const bool sum = op == Op::sum;
        // Signed accumulators are unsigned in memory: their overflow wraps, and Halide sees an associative update.
        if (out.type.is_int()) out.type = Halide::UInt(out.type.bits());
        const Element type = out.type;
        auto combine = [sum](const Expr& a, const Expr& b) { return sum ? a + b : a * b; };
        out.start = sum ? Halide::Internal::make_zero(type) : Halide::Internal::make_one(type);
        // -0.0 + x is x for every x; 0.0 + x loses the sign of -0.0, which is what NumPy's start does at the end.
        out.identity = sum && is_float ? float_constant(type, -0.0) : out.start;
        out.ordered = is_float && !fast;
        out.step = [combine, type](const Expr& a, const Expr& x) {
            return combine(a, x.type() == type ? x : Halide::cast(type, x));
        };
        out.pair = combine;
        out.tree = [combine](const std::vector<Expr>& lanes) { return pairwise(lanes, combine); };
        if (sum && is_float) out.finish = [type](const Expr& x) { return Halide::Internal::make_zero(type) + x; };
        return out;
    }
    const bool largest = op == Op::max;
    out.identity = out.start = largest ? lowest(out.type) : highest(out.type);
    if (!is_float) {
        auto combine = [largest](const Expr& a, const Expr& b) {
            return largest ? Halide::max(a, b) : Halide::min(a, b);
        };
        out.step = out.pair = combine;
        out.tree = [combine](const std::vector<Expr>& lanes) { return pairwise(lanes, combine); };
        return out;
    }
    // NaN wins. The update is associative, but in a form that Halide does not recognise, so its order is kept.
    out.ordered = true;
    if (shared_.options.device && out.type == Halide::Float(32)) {
        out.step = out.pair = [largest](const Expr& a, const Expr& b) { return dsl::device_extreme(largest, a, b); };
        out.tree = [pair = out.pair](const std::vector<Expr>& lanes) { return pairwise(lanes, pair); };
        return out;
    }
    out.step = [largest](const Expr& best, const Expr& x) {
        return Halide::select((largest ? x > best : x < best) || Halide::is_nan(x), x, best);
    };
    const Element type = out.type;
    const Expr nan = float_constant(type, std::numeric_limits<double>::quiet_NaN());
    out.pair = [largest, nan](const Expr& a, const Expr& b) {
        return Halide::select(Halide::is_nan(a) || Halide::is_nan(b), nan,
                              largest ? Halide::max(a, b) : Halide::min(a, b));
    };
    out.tree = [largest, nan](const std::vector<Expr>& lanes) {
        // Two trees, each reading a lane once: one nested select would grow as 3^levels.
        std::vector<Expr> nans;
        for (const Expr& lane : lanes)
            nans.push_back(Halide::is_nan(lane));
        Expr best = pairwise(
            lanes, [largest](const Expr& a, const Expr& b) { return largest ? Halide::max(a, b) : Halide::min(a, b); });
        Expr any = pairwise(nans, [](const Expr& a, const Expr& b) { return a || b; });
        return Halide::select(any, nan, best);
    };
    return out;
}

Expr ReductionBuilder::operand_at(const Exprs& index) {
    const Operation& operation = *plan_.operation;
    const DTypeInfo& from = *find_dtype(shared_.analysis.value(operation.operands[0]).type.dtype);
    return ops::convert(evaluator_.at(operation.operands[0], index), from, *find_dtype(operation.type.dtype));
}

ReductionBuilder::Source ReductionBuilder::operand_source(const std::vector<int>& axes, bool collapsed) {
    return value_source(plan_.operation->operands[0], axes, collapsed);
}

ReductionBuilder::Source ReductionBuilder::value_source(const std::string& value, const std::vector<int>& axes,
                                                        bool collapsed) {
    const Operation& operation = *plan_.operation;
    const Type& type = shared_.analysis.value(value).type;
    const DTypeInfo& from = *find_dtype(type.dtype);
    const bool searches = is_search(operation.op);
    const DTypeInfo& to = searches ? from : *find_dtype(operation.type.dtype);
    Source out;
    out.extent = constant(1);
    std::vector<Size> trailing;
    for (std::size_t k = 0; k < type.shape.size(); ++k) {
        bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(k)) != axes.end();
        if (reduced)
            out.extent = out.extent * type.shape[k];
        else
            out.kept.push_back(type.shape[k]);
        if (!axes.empty() && static_cast<int>(k) > axes.back()) trailing.push_back(type.shape[k]);
    }
    if (!collapsed) {
        const auto axis = static_cast<std::ptrdiff_t>(axes[0]);
        out.at = [this, value, axis, &from, &to](const Exprs& kept, const Expr& position) {
            Exprs index = kept;
            index.insert(index.begin() + axis, position);
            return ops::convert(evaluator_.at(value, index), from, to);
        };
        return out;
    }
    const auto leading = static_cast<std::size_t>(axes.front());
    if (!shared_.analysis.value(value).order.flat) {
        // One long axis all the same, since the program had one where this operand comes from.
        std::vector<Size> whole(type.shape.begin() + axes.front(), type.shape.begin() + axes.back() + 1);
        out.at = [this, value, leading, whole, &from, &to](const Exprs& kept, const Expr& position) {
            Exprs index = kept;
            Expr rest = position;
            for (std::size_t k = whole.size(); k-- > 0;) {
                const Expr extent = shared_.size(whole[k]);
                index.insert(index.begin() + static_cast<std::ptrdiff_t>(leading), k == 0 ? rest : rest % extent);
                rest = rest / extent;
            }
            return ops::convert(evaluator_.at(value, index), from, to);
        };
        return out;
    }
    out.at = [this, value, leading, &from, &to, extents = out.kept, count = out.extent](const Exprs& kept,
                                                                                        const Expr& position) {
        Expr flat;
        for (std::size_t k = 0; k < leading; ++k)
            flat = flat.defined() ? flat * shared_.size(extents[k]) + kept[k] : kept[k];
        flat = flat.defined() ? flat * shared_.size(count) + position : position;
        for (std::size_t k = leading; k < kept.size(); ++k)
            flat = flat * shared_.size(extents[k]) + kept[k];
        return ops::convert(evaluator_.at_flat(value, flat), from, to);
    };
    return out;
}

void ReductionBuilder::serial(const Source& source, const Monoid& op, const Ends& ends) {
    StageDraft stage = draft(with_updates(ends, source.extent), plan_.operation->type.dtype);
    std::vector<std::string> names;
    Exprs kept = kept_index(stage, source.kept, names);
    stage.define({names.rbegin(), names.rend()}, {op.start}, 0);
    evaluator_.begin_definition();
    std::vector<Loop> loops{{"r", source.extent, true, op.ordered}};
    Halide::RDom domain = stage.reduce(loops);
    Expr x = source.at(kept, domain[0]);
    Expr value = op.step(stage.current(), x);
    stage.update(domain, loops, {value}, {}, evaluator_.operations() + 1);
    finish(std::move(stage), ends);
}

void ReductionBuilder::serial_over_axes(const Monoid& op) {
    const Operation& operation = *plan_.operation;
    const std::vector<Size>& shape = shared_.analysis.value(operation.operands[0]).type.shape;
    std::vector<int> axes = reduced_axes(operation);
    const Ends ends{plan_.name, true};
    Size terms = constant(1);
    for (const int axis : axes)
        terms = terms * shape[static_cast<std::size_t>(axis)];
    StageDraft stage = draft(axes.empty() ? plan_.name : with_updates(ends, terms), operation.type.dtype);
    std::vector<std::string> names;
    std::vector<Size> extents;
    for (const Size& extent : operation.type.shape)
        extents.push_back(extent);
    Exprs kept = kept_index(stage, extents, names);
    if (axes.empty()) {
        // Nothing is reduced: the result is the operand, after the conversion and the start of the operation.
        evaluator_.begin_definition();
        Expr value = op.step(op.start, operand_at(kept));
        stage.define({names.rbegin(), names.rend()}, {value}, evaluator_.operations());
        return finish(std::move(stage), ends);
    }
    stage.define({names.rbegin(), names.rend()}, {op.start}, 0);
    std::vector<Loop> loops;
    for (std::size_t k = 0; k < axes.size(); ++k)
        loops.push_back({"r" + std::to_string(k), shape[static_cast<std::size_t>(axes[k])], true, op.ordered});
    evaluator_.begin_definition();
    Halide::RDom domain = stage.reduce(loops);
    Exprs index;
    std::size_t next_kept = 0;
    std::size_t next_reduced = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
        if (next_reduced < axes.size() && axes[next_reduced] == static_cast<int>(k))
            index.push_back(domain[static_cast<int>(axes.size() - 1 - next_reduced++)]);
        else
            index.push_back(kept[next_kept++]);
    }
    Expr value = op.step(stage.current(), operand_at(index));
    stage.update(domain, loops, {value}, {}, evaluator_.operations() + 1);
    finish(std::move(stage), ends);
}

void ReductionBuilder::rows(Source source, const Monoid& op, int levels, const Ends& ends) {
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

/// The sum of each kRowsPerBlock rows, one by one.
ReductionBuilder::Source ReductionBuilder::blocks_of_rows(const Source& source, const Monoid& op, int level) {
    StageDraft stage =
        draft(helper(level == 1 ? "_rows" : "_rows" + std::to_string(level)), plan_.operation->type.dtype);
    stage.part = dsl::StagePart::rows;
    Size blocks = ceil_div(source.extent, kRowsPerBlock);
    Halide::Var b = stage.pure("b", blocks);
    std::vector<std::string> names;
    Exprs kept = kept_index(stage, source.kept, names);
    std::vector<std::string> storage(names.rbegin(), names.rend());
    storage.push_back("b");
    stage.define(storage, {op.identity}, 0);
    evaluator_.begin_definition();
    const BlockRows rows = rows_of_block(stage, b, source.extent, op.ordered);
    Expr x = source.at(kept, rows.position);
    if (rows.is_there.defined()) x = Halide::select(rows.is_there, x, Halide::cast(x.type(), op.identity));
    stage.update(rows.domain, rows.loops, {op.step(stage.current(), x)}, rows.conditions, evaluator_.operations() + 1);
    Halide::Func partial = stage.func();
    table_.finish(std::move(stage));
    Source sums;
    sums.kept = source.kept;
    sums.extent = blocks;
    sums.at = [partial](const Exprs& index, const Expr& block) {
        Exprs storage_index(index.rbegin(), index.rend());
        storage_index.push_back(block);
        return Expr(partial(storage_index));
    };
    return sums;
}

/// Lane u of block b adds elements b*B + u + L*t in the order of t; a tree adds the lanes; then the same again over the
/// sums of the blocks, until one is left. Padding is the identity, so the bits do not depend on the number of levels.
void ReductionBuilder::lanes(Source source, const Monoid& op, int levels, const Ends& ends) {
    const LaneShape shape = shared_.analysis.lane_shape(*plan_.operation);
    const std::string& dtype = plan_.operation->type.dtype;
    for (int level = 1; level <= levels; ++level) {
        const bool last = level == levels;
        const std::string number = level == 1 ? "" : std::to_string(level);
        const std::string base = ends.last ? "" : ends.name.substr(plan_.name.size());
        Size rows_count = floor_div(source.extent, constant(shape.lanes));
        Size rest = floor_mod(source.extent, constant(shape.lanes));
        // Halide folds what is rounded up level by level into one sum: behind three levels of 1024, (n + 2^30 - 1) //
        // 2^30, which leaves 32 bits where n does not. Rounded so it is (n - 1) // 2^30 + 1.
        Size blocks = level < 3 ? ceil_div(source.extent, shape.block())
                                : floor_div(source.extent - constant(1), constant(shape.block())) + constant(1);

        const bool device = shared_.options.device;
        StageDraft stage = draft(helper(base + (device ? "_lane" : "_lanes") + number), dtype);
        stage.part = device ? dsl::StagePart::lane : dsl::StagePart::lanes;
        std::vector<std::string> names;
        Exprs kept = kept_index(stage, source.kept, names);
        Expr block = 0;
        if (!last) block = stage.pure("b", blocks);
        Halide::Var u = stage.pure("u", constant(shape.lanes));
        std::vector<std::string> storage{"u"};
        if (!last) storage.push_back("b");
        storage.insert(storage.end(), names.rbegin(), names.rend());
        stage.define(storage, {op.identity}, 0);

        Expr extent = shared_.size(source.extent);
        Expr row_extent = shared_.size(rows_count);
        const bool has_rows = !source.extent.is_constant() || source.extent.constant() >= shape.lanes;
        const bool has_rest = !rest.is_constant() || rest.constant() != 0;
        if (has_rows) {
            evaluator_.begin_definition();
            std::vector<Loop> loops{{"r", last ? rows_count : constant(shape.per_lane), true, op.ordered}};
            Halide::RDom domain = stage.reduce(loops);
            Expr row = last ? Expr(domain[0]) : block * shape.per_lane + domain[0];
            Expr value = op.step(stage.current(), source.at(kept, inside(row * shape.lanes + u, extent)));
            stage.update(domain, loops, {value},
                         last ? std::vector<Expr>() : std::vector<Expr>{Halide::likely(row < row_extent)},
                         evaluator_.operations() + 1);
        }
        if (has_rest) {
            evaluator_.begin_definition();
            // One round that only some lanes take; the position has to name the loop, or Halide drops its condition.
            std::vector<Loop> loops{{"r", constant(1), true, op.ordered}};
            Halide::RDom domain = stage.reduce(loops);
            Expr value =
                op.step(stage.current(), source.at(kept, inside(row_extent * shape.lanes + u + domain[0], extent)));
            std::vector<Expr> conditions;
            if (!last) conditions.push_back(block == row_extent / shape.per_lane);
            conditions.push_back(u < shared_.size(rest));
            stage.update(domain, loops, {value}, conditions, evaluator_.operations() + 1);
        }
        Halide::Func partial = stage.func();
        table_.finish(std::move(stage));
        int lane_count = shape.lanes;
        if (device) {
            lane_count = std::min(lane_count, kFolded);
            partial = fold(base, number, {dtype}, partial, shape.lanes, source.kept,
                           last ? std::nullopt : std::optional<Size>(blocks), [&op](const std::vector<Exprs>& values) {
                               Exprs firsts;
                               for (const Exprs& value : values)
                                   firsts.push_back(value[0]);
                               return Exprs{pairwise(firsts, op.pair)};
                           });
        }

        StageDraft tree = draft(last ? ends.name : helper(base + "_block" + number), dtype);
        tree.part = dsl::StagePart::block;
        names.clear();
        kept = kept_index(tree, source.kept, names);
        Exprs index;
        storage.clear();
        if (!last) {
            index.push_back(tree.pure("b", blocks));
            storage.push_back("b");
        }
        storage.insert(storage.end(), names.rbegin(), names.rend());
        index.insert(index.end(), kept.rbegin(), kept.rend());
        std::vector<Expr> values;
        for (int lane = 0; lane < lane_count; ++lane) {
            Exprs at{Expr(lane)};
            at.insert(at.end(), index.begin(), index.end());
            values.push_back(partial(at));
        }
        Expr sum = lane_count < shape.lanes ? pairwise(values, op.pair) : op.tree(values);
        tree.define(storage, {last ? op.finish(sum) : sum}, lane_count);
        if (last) return finish(std::move(tree), ends);
        Halide::Func sums = tree.func();
        table_.finish(std::move(tree));
        source.extent = blocks;
        source.at = [sums](const Exprs& kept_at, const Expr& position) {
            Exprs at{position};
            at.insert(at.end(), kept_at.rbegin(), kept_at.rend());
            return Expr(sums(at));
        };
    }
}

Halide::Func ReductionBuilder::fold(const std::string& base, const std::string& number,
                                    const std::vector<std::string>& dtypes, const Halide::Func& lane, int lanes,
                                    const std::vector<Size>& kept_extents, const std::optional<Size>& blocks,
                                    const Combine& combine) {
    const Halide::Func stored =
        folded(helper(base + "_lanes" + number), dsl::StagePart::lanes, dtypes, lane, lanes, lanes, kept_extents,
               blocks, [](const std::vector<Exprs>& one) { return one.front(); });
    if (lanes <= kFolded) return stored;
    return folded(helper(base + "_fold" + number), dsl::StagePart::fold, dtypes, stored, lanes, kFolded, kept_extents,
                  blocks, combine);
}

Halide::Func ReductionBuilder::folded(const std::string& name, dsl::StagePart part,
                                      const std::vector<std::string>& dtypes, const Halide::Func& partial, int lanes,
                                      int left, const std::vector<Size>& kept_extents,
                                      const std::optional<Size>& blocks, const Combine& combine) {
    StageDraft stage = draft(name, dtypes[0]);
    stage.dtypes = dtypes;
    stage.part = part;
    std::vector<std::string> names;
    const Exprs kept = kept_index(stage, kept_extents, names);
    Exprs outer;
    if (blocks) outer.push_back(stage.pure("b", *blocks));
    const Halide::Var u = stage.pure("u", constant(left));
    std::vector<std::string> storage{"u"};
    if (blocks) storage.push_back("b");
    storage.insert(storage.end(), names.rbegin(), names.rend());
    outer.insert(outer.end(), kept.rbegin(), kept.rend());
    std::vector<Exprs> values;
    for (int first = 0; first < lanes; first += left) {
        Exprs at{first == 0 ? Expr(u) : u + first};
        at.insert(at.end(), outer.begin(), outer.end());
        const Halide::FuncRef value = partial(at);
        values.emplace_back();
        for (int k = 0; k < static_cast<int>(dtypes.size()); ++k)
            values.back().push_back(dtypes.size() == 1 ? Expr(value) : Expr(value[k]));
    }
    stage.define(storage, combine(values), lanes / left * static_cast<int>(dtypes.size()));
    Halide::Func func = stage.func();
    table_.finish(std::move(stage));
    return func;
}

/// Several axes that are not one loop: innermost first, neighbours of a flat operand among them as one, the others one
/// at a time.
void ReductionBuilder::axis_by_axis(const Monoid& op, int levels) {
    const Operation& operation = *plan_.operation;
    std::vector<int> axes = reduced_axes(operation);
    const std::vector<int> innermost = shared_.analysis.reduction_shape(operation).innermost();
    Source source = operand_source(innermost, innermost.size() > 1);
    axes.resize(axes.size() - innermost.size() + 1);
    for (std::size_t left = axes.size(); left-- > 0;) {
        const bool last = left == 0;
        Ends ends{last ? plan_.name : helper("_axis" + std::to_string(axes[left])), last};
        const int rank = static_cast<int>(source.kept.size()) + 1;
        if (axes[left] == rank - 1)
            lanes(source, op, levels, ends);
        else
            rows(source, op, 1, ends);
        if (last) return;
        Halide::Func done = table_.impls.at(ends.name).func;
        const auto axis = static_cast<std::ptrdiff_t>(axes[left - 1]);
        source.extent = source.kept[static_cast<std::size_t>(axis)];
        source.kept.erase(source.kept.begin() + axis);
        source.at = [done, axis](const Exprs& kept, const Expr& position) {
            Exprs index = kept;
            index.insert(index.begin() + axis, position);
            return Expr(done(Exprs(index.rbegin(), index.rend())));
        };
    }
}

void ReductionBuilder::matmul() {
    const Operation& operation = *plan_.operation;
    const Type& a = shared_.analysis.value(operation.operands[0]).type;
    const Type& b = shared_.analysis.value(operation.operands[1]).type;
    const std::vector<Size>& shape = operation.type.shape;
    Source source;
    for (const Size& extent : shape)
        source.kept.push_back(extent);
    source.extent = a.shape.back();
    const bool is_bool = a.dtype == "bool";
    // The matrix of an operand that is at the result's place in the stack.
    const auto stack = [](const auto& all) { return std::vector(all.begin(), all.end() - 2); };
    source.at = [&, is_bool, stack](const Exprs& kept, const Expr& position) {
        Exprs left = Evaluator::broadcast(stack(a.shape), stack(shape), stack(kept));
        Exprs right = Evaluator::broadcast(stack(b.shape), stack(shape), stack(kept));
        left.insert(left.end(), {kept.end()[-2], position});
        right.insert(right.end(), {position, kept.back()});
        const Expr x = evaluator_.at(operation.operands[0], left), y = evaluator_.at(operation.operands[1], right);
        return is_bool ? x && y : ops::wrapping_multiply(x, y);
    };
    Operation as_sum = operation;
    as_sum.op = Op::sum;
    StagePlan plan = plan_;
    plan.operation = &as_sum;
    ReductionBuilder builder(shared_, table_, evaluator_, plan);
    builder.serial(source, builder.monoid(), {plan_.name, true});
    for (dsl::StageInfo& info : table_.infos) {
        if (info.name == plan_.name || info.name == plan_.name + "_all")
            info.source = "matmul(" + operation.operands[0] + ", " + operation.operands[1] + ")";
    }
}

void ReductionBuilder::build() {
    const Operation& operation = *plan_.operation;
    if (operation.op == Op::matmul) return matmul();
    if (is_search(operation.op)) return search();
    const std::string& choice = shared_.analysis.chosen(plan_.name);
    const ReductionShape shape = shared_.analysis.reduction_shape(operation);
    const Monoid op = monoid();
    const Ends ends{plan_.name, true};
    const bool single = shape.is_one_loop();
    const int levels = lane_levels(choice);
    if (!single && levels > 0) return axis_by_axis(op, levels);
    if (!single) return serial_over_axes(op);
    Source source = operand_source(shape.axes, shape.joined > 1);
    if (choice == "serial") return serial(source, op, ends);
    if (const int blocks = row_levels(choice); blocks > 0) return rows(source, op, blocks, ends);
    lanes(source, op, levels, ends);
}

} // namespace tilewright::translator
