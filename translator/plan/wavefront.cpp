// translator/plan/wavefront.cpp: the parts of a row as updates of single elements, and whether rows may overlap.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "translator/ir/values.h"
#include "translator/loops/nest_distances.h"
#include "translator/loops/pixelwise.h"
#include "translator/ops/rules.h"
#include "translator/plan/steps.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {
namespace {

using Names = std::set<std::string>;

/// With rows further behind each other too few are under way in rows of a usual length.
constexpr std::int64_t kMostSkew = 16;

/// What is computed for a whole row at once runs in vectors as long as it is a separate kernel. Beyond so much work
/// an element that is worth more than to hide the latency of the rest.
constexpr int kMostRowOperations = 24;

/// A part of a row: what one step of the range over rows does.
struct Part {
    Step range;                 ///< over its columns
    Size position;              ///< of what it writes along the columns' axis, at iteration kColumn of its range
    std::int64_t direction = 0; ///< of that position from iteration to iteration; 0: there is but one, or it is unknown
    std::int64_t first = 0;     ///< the nest's column of its first iteration
    const Step* loop = nullptr; ///< of the program, where it is one
    bool at_once = false;       ///< NumPy reads all that it needs before it writes anything
    bool chain = false;         ///< a column needs the one before it
    std::vector<NestAccess> writes, reads;
};

bool is_single(const Target& target) {
    return target.fresh ? target.type.shape.empty() : std::ranges::all_of(target.region, [](const IndexEntry& entry) {
        return entry.kind == IndexEntry::Kind::position;
    });
}

/// Expressions alone: no sums, products of matrices or loops inside.
bool is_plain(const Segment& segment) {
    const auto& operations = segment.program.body.operations;
    const bool plain = std::ranges::all_of(operations, [](const Operation& operation) {
        static const std::set<Op> others = {Op::constant,  Op::scalar_size,  Op::index,
                                            Op::transpose, Op::broadcast_to, Op::take};
        return operation.regions.empty() && (is_elementwise(operation.op) || others.count(operation.op) != 0);
    });
    return plain && std::ranges::none_of(segment.targets, [](const Target& target) {
               return target.buffer.find('.') != std::string::npos || find_dtype(target.type.dtype)->is_complex();
           });
}

int operations_of(const Segment& segment) {
    int sum = 0;
    for (const Operation& operation : segment.program.body.operations)
        sum += cost_of(operation.op);
    return sum;
}

/// What needs NumPy's arrays in the middle of a row, a segment over a row of elements, as one over its element `at`.
Segment element_of(Segment segment, const Size& at, const MovingSize& column) {
    Program& program = segment.program;
    if (std::ranges::find(program.argument_order, column.name) == program.argument_order.end()) {
        program.scalars.push_back({column.name, "int64"});
        program.argument_order.push_back(column.name);
        segment.moving.push_back(column);
    }
    // Named values are stages: here all of them are parts of an expression.
    std::map<std::string, std::string> names;
    for (Operation& operation : program.body.operations) {
        for (std::string& operand : operation.operands)
            if (names.count(operand) != 0) operand = names.at(operand);
        if (operation.result[0] == '%') continue;
        operation.result = names[operation.result] = "%of_" + operation.result;
    }
    std::string& value = program.body.yields[0];
    if (names.count(value) != 0) value = names.at(value);
    Target& target = segment.targets[0];
    program.body.operations.push_back(make_operation("%element", {target.type.dtype, {}}, Op::index, {value},
                                                     {attr::index({IndexEntry::position(at)})}, target.line));
    value = "%element";
    if (target.fresh) target.region = whole_region(1);
    target.fresh = false;
    for (IndexEntry& entry : target.region) {
        if (entry.kind != IndexEntry::Kind::slice) continue;
        entry.kind = IndexEntry::Kind::position;
        entry.start = entry.start + entry.step * at;
    }
    for (Access& access : segment.reads) {
        for (std::size_t k = 0; access.map && k < access.map->size(); ++k) {
            AxisMap& map = (*access.map)[k];
            if (map.axis >= 0) map = {-1, map.start + map.step * at, Size::integer(1)};
        }
    }
    segment.lanes_apart = false;
    return segment;
}

class Nest {
  public:
    Nest(const Stepped& stepped, const Step& rows) : stepped_(stepped), rows_(rows) {}

    /// The range as a wavefront; nothing where it cannot be one.
    std::optional<Step> find() {
        if (!rows_.step().is_constant()) return std::nullopt;
        if (why_not_independent(stepped_, rows_).empty() || !split() || !align()) return std::nullopt;
        collect();
        if (std::ranges::none_of(parts_, [](const Part& part) { return part.chain; })) return std::nullopt;
        const auto skew = skew_of_all();
        if (!skew || *skew > kMostSkew) return std::nullopt;
        Step out = rows_;
        out.body.clear();
        out.wavefront = Wavefront{*skew, {}, {}};
        for (Part& part : parts_) {
            out.wavefront->first.push_back(part.first);
            for (Step& inner : part.range.body)
                inner.segment.lanes_apart = false; // the loop stays where it is
            out.body.push_back(std::move(part.range));
        }
        return out;
    }

  private:
    const Stepped& stepped_;
    const Step& rows_;
    std::vector<Part> parts_;
    const Step* scan_ = nullptr; ///< the first range over columns,
    std::int64_t direction_ = 0; ///< along an axis of what it writes: up or down,
    std::size_t axis_ = 0;       ///< counted from the last one; 0-based

    // ---- the parts of a row ----

    bool split() {
        for (const Step& step : rows_.body)
            if (scan_ == nullptr && step.is_range()) scan_ = &step;
        if (scan_ == nullptr || !scan_->step().is_constant()) return false;
        if (const auto axis = column_axis(*scan_)) std::tie(axis_, direction_) = std::pair(axis->axis, axis->direction);
        for (std::size_t k = 0; k < rows_.body.size(); ++k) {
            const Step& step = rows_.body[k];
            if (step.is_range()) {
                if (!add_scan(step)) return false;
            } else if (step.kind != Step::Kind::call || step.segment.targets.size() != 1 || !is_plain(step.segment)) {
                return false;
            } else if (is_single(step.segment.targets[0])) {
                if (!add_element(step)) return false;
            } else {
                const bool copied = k + 1 < rows_.body.size() &&
                                    rows_.body[k + 1].segment.copied == step.segment.targets[0].buffer &&
                                    rows_.body[k + 1].segment.targets.size() == 1;
                if (!add_row(step.segment, copied ? &rows_.body[k + 1].segment.targets[0] : nullptr)) return false;
                k += copied ? 1 : 0;
            }
        }
        return true;
    }

    /// Limits are the same in every row.
    bool follows_rows(const Size& tree) const { return moves(tree, {{rows_.symbol, {}, {}, false}}); }

    bool is_scan_body(const std::vector<Step>& steps) const {
        return std::ranges::all_of(steps, [&](const Step& step) {
            if (step.looks_at_memory())
                return stepped_.buffer(step.from()) != nullptr && is_scan_body(step.body) &&
                       is_scan_body(step.otherwise);
            return step.kind == Step::Kind::call && is_plain(step.segment) &&
                   std::ranges::all_of(step.segment.targets, is_single);
        });
    }

    bool add_scan(const Step& step) {
        if (!step.step().is_constant() || follows_rows(step.first()) || follows_rows(step.stop())) return false;
        if (!is_scan_body(step.body)) return false;
        Part part;
        part.range = step;
        part.loop = &step;
        part.chain = !why_not_independent(stepped_, step).empty();
        if (const auto axis = column_axis(step)) {
            part.direction = axis->direction;
            part.position = axis->position;
        }
        parts_.push_back(std::move(part));
        return true;
    }

    struct ColumnAxis {
        std::size_t axis;
        std::int64_t direction;
        Size position;
    };

    /// Along which axis the iterations of a range move, one element an iteration: the first write that says so.
    std::optional<ColumnAxis> column_axis(const Step& range) const {
        for (const Step& inner : range.body) {
            for (const Target& target : inner.segment.targets) {
                for (std::size_t axis = target.region.size(); axis-- > 0;) {
                    const Size at = in_columns(target.region[axis].start, range, 0);
                    const Size next = substitute(at, kColumn, Size::symbol(kColumn) + Size::integer(1));
                    const auto moved = constant_difference(next, at);
                    if (moved == 1 || moved == -1) return ColumnAxis{target.region.size() - 1 - axis, *moved, at};
                }
            }
        }
        return std::nullopt;
    }

    Step columns_of(Segment segment, const Size& count) const {
        Step range;
        range.kind = Step::Kind::for_range;
        range.symbol = scan_->symbol;
        range.arguments = {Size::integer(0), count, Size::integer(1)};
        Step inner;
        inner.segment = std::move(segment);
        range.body.push_back(std::move(inner));
        return range;
    }

    /// Of one element, beside the ranges: a row of one column.
    bool add_element(const Step& step) {
        const Target& target = step.segment.targets[0];
        if (target.fresh || target.region.size() <= axis_) return false;
        Part part;
        part.range = columns_of(step.segment, Size::integer(1));
        part.position = target.region[target.region.size() - 1 - axis_].start;
        parts_.push_back(std::move(part));
        return true;
    }

    /// `into`: where what the segment writes goes at once.
    bool add_row(Segment segment, const Target* into) {
        Target& target = segment.targets[0];
        const std::string& value = segment.program.body.yields[0];
        std::vector<Size> shape;
        for (const Operation& operation : segment.program.body.operations)
            if (operation.result == value) shape = operation.type.shape;
        for (const ArrayArgument& array : segment.program.arrays)
            if (array.name == value) shape = array.type.shape;
        const std::string dtype = target.type.dtype;
        if (into != nullptr) target = *into;
        if (shape.size() != 1 || target.type.dtype != dtype || operations_of(segment) > kMostRowOperations)
            return false;
        const Size count = shape[0];
        if (follows_rows(count)) return false;
        Size start = Size::integer(0), step = Size::integer(1);
        int slices = target.fresh ? 1 : 0;
        for (const IndexEntry& entry : target.region) {
            if (entry.kind != IndexEntry::Kind::slice) continue;
            ++slices;
            start = entry.start;
            step = entry.step;
        }
        if (slices != 1 || !step.is_constant() || step.constant() != 1) return false;
        Part part;
        part.at_once = true;
        part.direction = 1;
        part.position = start + Size::symbol(kColumn);
        part.range = columns_of(std::move(segment), count);
        parts_.push_back(std::move(part));
        return true;
    }

    static bool is_element(const Part& part) { return part.loop == nullptr && !part.at_once; }

    // ---- their columns ----

    /// Elements at one position belong to one column: rows run in the direction in which the first range does.
    bool align() {
        const auto leader = std::ranges::find_if(parts_, [&](const Part& part) { return part.loop == scan_; });
        if (parts_.size() > 1 && direction_ == 0) return false;
        for (Part& part : parts_) {
            Size at = Size::symbol(kColumn);
            if (part.at_once) {
                const Size last = part.range.stop() - Size::integer(1);
                const Size column = Size::symbol(scan_->symbol);
                if (direction_ < 0) part.position = substitute(part.position, kColumn, last - at);
                part.direction = direction_;
                const MovingSize moving{scan_->symbol, part.range.first(), last, true};
                Step& inner = part.range.body[0];
                inner.segment = element_of(std::move(inner.segment), direction_ < 0 ? last - column : column, moving);
            }
            if (parts_.size() == 1) break;
            if (part.direction != direction_ && !is_element(part)) return false;
            const Size zero = Size::integer(0);
            const auto apart = constant_difference(substitute(part.position, kColumn, zero),
                                                   substitute(leader->position, kColumn, zero));
            if (!apart) return false;
            part.first = *apart * direction_;
        }
        std::int64_t least = parts_[0].first;
        for (const Part& part : parts_)
            least = std::min(least, part.first);
        for (Part& part : parts_)
            part.first -= least;
        return true;
    }

    // ---- what they read and write ----

    /// `tree` at iteration kRow of the rows and column kColumn; `first` is the range's first column.
    Size in_columns(const Size& tree, const Step& range, std::int64_t first) const {
        const Size row = rows_.first() + rows_.step() * Size::symbol(kRow);
        const Size iteration = Size::symbol(kColumn) - Size::integer(first);
        return substitute(substitute(tree, range.symbol, range.first() + range.step() * iteration), rows_.symbol, row);
    }

    /// How many iterations a range has, if it has any: a plain difference says more than one with a limit.
    static Size iterations(const Step& range) {
        const std::int64_t step = range.step().constant();
        const Size distance = step > 0 ? range.stop() - range.first() : range.first() - range.stop();
        return ceil_div(distance, std::abs(step));
    }

    void collect() {
        for (Part& part : parts_) {
            const Names own = part.loop != nullptr ? own_of_each_iteration(stepped_, *part.loop) : Names();
            runtime::for_each_step(part.range.body, [&](const Step& step) { collect(part, step, own); });
        }
    }

    void collect(Part& part, const Step& step, const Names& own) const {
        for (const Target& target : step.segment.targets) {
            if (own.count(target.buffer) != 0) continue;
            std::vector<Size> at;
            for (const IndexEntry& entry : target.region)
                at.push_back(entry.start);
            part.writes.push_back(access(part, target.buffer, std::move(at)));
        }
        for (const Access& read : step.segment.reads) {
            if (own.count(read.memory) != 0) continue;
            std::optional<std::vector<Size>> at;
            const auto is_axis = [](const AxisMap& map) { return map.axis >= 0; };
            if (read.map && std::ranges::none_of(*read.map, is_axis)) {
                at.emplace();
                for (const AxisMap& map : *read.map)
                    at->push_back(map.start);
            }
            part.reads.push_back(access(part, read.memory, std::move(at)));
        }
        if (step.looks_at_memory() && own.count(step.from()) == 0)
            part.reads.push_back(access(part, step.from(), std::nullopt));
    }

    NestAccess access(const Part& part, const std::string& memory, std::optional<std::vector<Size>> at) const {
        if (at) {
            for (Size& position : *at)
                position = in_columns(position, part.range, part.first);
            // An element belongs to one column, and its place may as well move with that.
            if (is_element(part) && at->size() > axis_) {
                Size& position = (*at)[at->size() - 1 - axis_];
                const Size further = Size::symbol(kColumn) - Size::integer(part.first);
                position = position + Size::integer(direction_) * further;
            }
        }
        return {memory, std::move(at), part.first, iterations(part.range)};
    }

    // ---- whether they may run column by column, and rows together ----

    std::optional<std::int64_t> skew_of_all() const {
        const Size rows = iterations(rows_);
        std::vector<Distance> between_rows;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            for (const NestAccess& write : parts_[p].writes) {
                for (std::size_t q = 0; q < parts_.size(); ++q) {
                    for (const auto* accesses : {&parts_[q].writes, &parts_[q].reads}) {
                        for (const NestAccess& other : *accesses) {
                            if (other.memory != write.memory) continue;
                            const auto found = distance(write, other, rows);
                            if (!found) continue;
                            if (found->rows.value_or(0) == 0 && !may_fuse(p, q, found->columns)) return std::nullopt;
                            between_rows.push_back(*found);
                        }
                    }
                }
            }
        }
        return smallest_skew(between_rows);
    }

    /// Of a row: part p writes what part q reads or writes `columns` further on. Each part ran to its end before the
    /// next one began, and what NumPy computes at once it read before it wrote.
    bool may_fuse(std::size_t p, std::size_t q, std::optional<std::int64_t> columns) const {
        if (p == q && !parts_[p].at_once) return true;
        if (!columns) return false;
        return p < q ? *columns >= 0 : *columns <= 0;
    }
};

bool mark(Stepped& stepped, std::vector<Step>& steps) {
    bool found = false;
    for (Step& step : steps) {
        if (step.is_range()) {
            if (std::optional<Step> wavefront = Nest(stepped, step).find()) {
                step = std::move(*wavefront);
                step.wavefront->why = why_not_independent(stepped, step);
                found = true;
                continue;
            }
        }
        found = mark(stepped, step.body) || found;
        found = mark(stepped, step.otherwise) || found;
    }
    return found;
}

} // namespace

void find_wavefronts(Stepped& stepped) {
    if (!mark(stepped, stepped.steps)) return;
    // Rows that went through a temporary no longer do.
    Names used(stepped.returned.begin(), stepped.returned.end());
    runtime::for_each_step(stepped.steps, [&](const Step& step) { used.merge(memory_of(step)); });
    std::erase_if(stepped.buffers, [&](const BufferPlan& buffer) {
        return buffer.kind == BufferPlan::Kind::temporary && used.count(buffer.name) == 0;
    });
}

} // namespace tilewright::translator
