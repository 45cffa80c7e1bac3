// translator/loops/access.cpp: affine maps through views and broadcasts, and when two of them can meet.
#include "translator/loops/access.h"

#include <algorithm>
#include <set>
#include <utility>

#include "translator/ir/values.h"
#include "translator/ir/walk.h"

namespace tilewright::translator {
namespace {

using Map = std::vector<AxisMap>;

AxisMap position(Size at) {
    return {-1, std::move(at), Size::integer(1)};
}

class Collector {
  public:
    explicit Collector(const AccessContext& context) : context_(context) {}
    std::vector<Access> found;

    void walk(const std::string& value, const std::optional<Map>& map) {
        const Operation* operation = context_.operation(value);
        if (operation == nullptr) {
            found.push_back({value, map});
            return;
        }
        const Op op = operation->op;
        if (!map || !operation->regions.empty()) {
            if (!seen_.insert(value).second) return;
            for (const std::string& operand : operation->operands)
                walk(operand, std::nullopt);
            return regions(*operation);
        }
        if (!followed_.insert({value, text(*map)}).second) return;
        if (op == Op::index) return walk(operation->operands[0], through_index(*operation, *map));
        if (op == Op::transpose) return walk(operation->operands[0], through_transpose(*operation, *map));
        const bool aligned = op == Op::broadcast_to || is_elementwise(op) || op == Op::cast || op == Op::where;
        for (const std::string& operand : operation->operands)
            walk(operand, aligned ? through_broadcast(operand, operation->type, *map) : std::nullopt);
    }

  private:
    const AccessContext& context_;
    std::set<std::string> seen_; ///< read at places that are not followed
    std::set<std::pair<std::string, std::string>> followed_;

    static std::string text(const Map& map) {
        std::string out;
        for (const AxisMap& each : map)
            out += std::to_string(each.axis) + ":" + each.start.text() + ":" + each.step.text() + ",";
        return out;
    }

    /// What the regions of an operation read from outside of it.
    void regions(const Operation& operation) {
        for (const Block& region : operation.regions) {
            const Values own(region);
            const auto read = [&](const std::string& name) {
                if (!own.has(name)) walk(name, std::nullopt);
            };
            for (const Operation& inner : region.operations)
                walk_uses(inner, read);
            std::ranges::for_each(region.yields, read);
        }
    }

    static std::optional<Map> through_index(const Operation& operation, const Map& map) {
        Map out;
        std::size_t axis = 0;
        for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
            if (entry.kind == IndexEntry::Kind::newaxis) {
                ++axis;
            } else if (entry.kind == IndexEntry::Kind::position) {
                out.push_back(position(entry.start));
            } else {
                const AxisMap& old = map[axis++];
                out.push_back({old.axis, entry.start + entry.step * old.start, entry.step * old.step});
            }
        }
        return out;
    }

    static std::optional<Map> through_transpose(const Operation& operation, const Map& map) {
        const std::vector<int> axes = operation.attributes.at(attr::axes);
        Map out(axes.size());
        for (std::size_t k = 0; k < axes.size(); ++k)
            out[static_cast<std::size_t>(axes[k])] = map[k];
        return out;
    }

    std::optional<Map> through_broadcast(const std::string& operand, const Type& type, const Map& map) const {
        const std::vector<Size>& shape = context_.type(operand).shape;
        const std::size_t missing = type.shape.size() - shape.size();
        Map out;
        for (std::size_t k = 0; k < shape.size(); ++k) {
            const bool stretched = is_one(shape[k]) && !is_one(type.shape[k + missing]);
            out.push_back(stretched ? position(Size::integer(0)) : map[k + missing]);
        }
        return out;
    }
};

/// All places along one axis of memory, while the reader's or writer's index runs.
struct Span {
    Size first, beyond; ///< half open, for a step of one
    bool exact = false;
};

Span span(const AxisMap& map, const std::vector<Size>& shape) {
    if (map.axis < 0) return {map.start, map.start + Size::integer(1), true};
    return {map.start, map.start + shape[static_cast<std::size_t>(map.axis)], is_one(map.step)};
}

bool apart(const AxisMap& a, const std::vector<Size>& shape_a, const AxisMap& b, const std::vector<Size>& shape_b) {
    const Span one = span(a, shape_a);
    const Span other = span(b, shape_b);
    if (!one.exact || !other.exact) return false;
    const auto before = constant_difference(other.first, one.beyond);
    const auto after = constant_difference(one.first, other.beyond);
    return (before && *before >= 0) || (after && *after >= 0);
}

bool equal(const Size& a, const Size& b) {
    return constant_difference(a, b) == 0;
}

/// Of a region, whose slices are the axes of what lies there.
Map map_of(const std::vector<IndexEntry>& region) {
    Map out;
    int axis = 0;
    for (const IndexEntry& entry : region)
        out.push_back(entry.kind == IndexEntry::Kind::slice ? AxisMap{axis++, entry.start, entry.step}
                                                            : position(entry.start));
    return out;
}

Overlap overlap(const Map& a, const std::vector<Size>& shape_a, const Map& b, const std::vector<Size>& shape_b) {
    bool same = same_shape(shape_a, shape_b);
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (apart(a[k], shape_a, b[k], shape_b)) return Overlap::disjoint;
        same = same && a[k].axis == b[k].axis && equal(a[k].start, b[k].start) && equal(a[k].step, b[k].step);
    }
    return same ? Overlap::same : Overlap::unknown;
}

} // namespace

bool moves(const Size& tree, const std::vector<MovingSize>& moving) {
    std::set<std::string> used;
    tree.collect_symbols(used);
    return std::any_of(moving.begin(), moving.end(),
                       [&](const MovingSize& size) { return used.count(size.name) != 0; });
}

namespace {

/// The larger end of `tree` where one symbol moves; of a maximum, that of either side.
std::optional<Size> largest_of_one(const Size& tree, const MovingSize& size) {
    if (!moves(tree, {size})) return tree;
    if (!tree.is_constant() && tree.op() == Size::Op::max) {
        const auto a = largest_of_one(tree.operands()[0], size), b = largest_of_one(tree.operands()[1], size);
        return a && b ? std::optional(larger_of(*a, *b)) : std::nullopt;
    }
    const Size next = substitute(tree, size.name, Size::symbol(size.name) + Size::integer(1));
    const auto slope = multiplied_out(next - tree);
    // Where it goes up or down all the way, one of the ends is the largest.
    if (!slope || moves(*slope, {size}) || !size.bounded) return std::nullopt;
    return larger_of(substitute(tree, size.name, size.first), substitute(tree, size.name, size.last));
}

} // namespace

std::optional<Size> largest(const Size& tree, const std::vector<MovingSize>& moving) {
    std::optional<Size> out = tree;
    for (auto size = moving.rbegin(); out && size != moving.rend(); ++size)
        out = largest_of_one(*out, *size);
    return out;
}

Size substitute(const Size& tree, const std::string& symbol, const Size& by) {
    if (tree.is_constant()) return tree;
    if (tree.op() == Size::Op::symbol) return tree.name() == symbol ? by : tree;
    return Size::folded(tree.op(), substitute(tree.operands()[0], symbol, by),
                        substitute(tree.operands()[1], symbol, by));
}

std::vector<Access> accesses(const std::string& value, const AccessContext& context) {
    Collector collector(context);
    Map identity;
    for (std::size_t k = 0; k < context.type(value).shape.size(); ++k)
        identity.push_back({static_cast<int>(k), Size::integer(0), Size::integer(1)});
    collector.walk(value, identity);
    return std::move(collector.found);
}

bool same_lanes(const Access& read, const std::vector<IndexEntry>& region) {
    if (!read.map) return false;
    const Map written = map_of(region);
    for (std::size_t k = 0; k < region.size(); ++k) {
        const AxisMap &one = written[k], &other = (*read.map)[k];
        if (one.axis != other.axis) return false;
        if (one.axis >= 0 && !(equal(one.start, other.start) && equal(one.step, other.step))) return false;
    }
    return true;
}

Overlap overlap(const std::vector<IndexEntry>& a, const std::vector<Size>& shape_a, const std::vector<IndexEntry>& b,
                const std::vector<Size>& shape_b) {
    return overlap(map_of(a), shape_a, map_of(b), shape_b);
}

Overlap overlap(const Access& read, const std::vector<IndexEntry>& region, const std::vector<Size>& shape) {
    return read.map ? overlap(map_of(region), shape, *read.map, shape) : Overlap::unknown;
}

} // namespace tilewright::translator
