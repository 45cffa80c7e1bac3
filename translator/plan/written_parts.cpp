// translator/plan/written_parts.cpp: from an array's last version back to its first one, a change after the other.
#include "translator/plan/written_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

constexpr std::size_t kMostParts = 4; ///< each is a kernel

class Finder {
  public:
    Finder(const Program& program, const Values& values, const std::vector<Size>& shape)
        : values_(values), shape_(shape) {
        for (const ScalarArgument& scalar : program.scalars)
            known_.insert(scalar.name);
        for (const ArrayArgument& array : program.arrays)
            for (std::size_t axis = 0; axis < array.type.shape.size(); ++axis)
                known_.insert(array.name + "." + std::to_string(axis));
    }

    /// False where `value` is no changed version of `start`.
    bool follow(std::string value, const std::string& start) {
        while (value != start) {
            const Operation* made = values_.made_by(value);
            if (made == nullptr) return false;
            const std::size_t at = values_.position(value);
            if (made->op == Op::update) {
                add(made->attributes.at(attr::index), values_.type(made->operands[1]).shape);
                value = made->operands[0];
            } else if (made->op == Op::for_loop || made->op == Op::while_loop) {
                const Block& body = made->regions.back();
                const std::size_t outside = parts.size();
                if (!follow(body.yields[at], body.parameters[at].first)) return false;
                if (made->op == Op::for_loop)
                    for (std::size_t k = outside; k < parts.size(); ++k)
                        widen(parts[k], *made);
                value = made->operands[at];
            } else if (made->op == Op::if_else) {
                return std::ranges::all_of(made->regions,
                                           [&](const Block& way) { return follow(way.yields[at], start); });
            } else {
                return false;
            }
        }
        return true;
    }

    /// What only iterations know is a whole axis, and each part is there once.
    void finish() {
        std::vector<ArrayPart> once;
        for (ArrayPart& part : parts) {
            std::size_t slice = 0;
            for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
                const bool is_slice = part.region[axis].kind == IndexEntry::Kind::slice;
                const Size extent = is_slice ? part.shape[slice] : Size::integer(1);
                if (!is_known(part.region[axis].start) || !is_known(part.region[axis].step) || !is_known(extent))
                    widen_to_all(part, axis, slice);
                slice += part.region[axis].kind == IndexEntry::Kind::slice ? 1 : 0;
            }
            if (std::ranges::find(once, part) == once.end()) once.push_back(std::move(part));
        }
        parts = std::move(once);
    }

    std::vector<ArrayPart> parts;

  private:
    const Values& values_;
    const std::vector<Size>& shape_;
    std::set<std::string> known_; ///< at the end of the call

    void add(const std::vector<IndexEntry>& region, const std::vector<Size>& shape) {
        parts.push_back({region, shape});
    }

    bool is_known(const Size& size) const {
        std::set<std::string> used;
        size.collect_symbols(used);
        return std::ranges::includes(known_, used);
    }

    void widen_to_all(ArrayPart& part, std::size_t axis, std::size_t slice) const {
        if (part.region[axis].kind == IndexEntry::Kind::slice)
            part.shape[slice] = shape_[axis];
        else
            part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(slice), shape_[axis]);
        part.region[axis] = IndexEntry::all();
    }

    /// A position that each iteration has at its own place is a slice behind the loop; a slice that moves, a whole
    /// axis.
    void widen(ArrayPart& part, const Operation& loop) const {
        const std::string& index = loop.attributes.at(attr::variable);
        const Size &first = loop.attributes.at(attr::start), &stop = loop.attributes.at(attr::stop),
                   &step = loop.attributes.at(attr::step);
        const auto uses = [&](const Size& size) {
            std::set<std::string> used;
            size.collect_symbols(used);
            return used.count(index) != 0;
        };
        std::size_t slice = 0;
        for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
            IndexEntry& entry = part.region[axis];
            const bool is_slice = entry.kind == IndexEntry::Kind::slice;
            if (is_slice ? uses(entry.start) || uses(entry.step) || uses(part.shape[slice]) : uses(entry.start)) {
                const Size next = substitute(entry.start, index, Size::symbol(index) + Size::integer(1));
                const auto slope = constant_difference(next, entry.start);
                if (is_slice || !step.is_constant() || step.constant() == 0 || !slope || *slope == 0) {
                    widen_to_all(part, axis, slice);
                } else {
                    const Size count = iterations(first, stop, step.constant());
                    entry = IndexEntry::slice(substitute(entry.start, index, first),
                                              Size::integer(*slope * step.constant()));
                    part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(slice), count);
                }
            }
            slice += part.region[axis].kind == IndexEntry::Kind::slice ? 1 : 0;
        }
    }
};

} // namespace

std::optional<std::vector<ArrayPart>> written_parts(const Program& program, const Values& values,
                                                    const std::string& value, const std::string& start) {
    Finder finder(program, values, values.type(start).shape);
    if (!finder.follow(value, start)) return std::nullopt;
    finder.finish();
    if (finder.parts.empty() || finder.parts.size() > kMostParts) return std::nullopt;
    return std::move(finder.parts);
}

} // namespace tilewright::translator
