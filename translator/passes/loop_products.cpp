// translator/passes/loop_products.cpp: products of a vector of each iteration and one matrix, as a product of two
// matrices in front of the loop.
#include "translator/passes/passes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/ir/builder.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/size.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

using Kind = IndexEntry::Kind;

/// Multiplications of a product that is worth a library's while: loops do as well by smaller ones.
constexpr std::int64_t kLeastWork = 64 * 64 * 64;
/// A library is this much faster than vectors by a matrix, which read it again for each of them: it may compute so many
/// times what the iterations ask for, rows of a triangle say.
constexpr std::int64_t kMostWaste = 3;
/// What lies in memory for all iterations, or a few times what the loop writes.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 26;
constexpr std::int64_t kMostTimes = 4;

class LoopProducts {
  public:
    LoopProducts(const Program& program, const TranslateOptions& options)
        : program_(program), values_(program), options_(options) {}

    Program run() {
        Program out = program_;
        bool changed = false;
        rewrite<Order::outer_first>(out.body, [&](Operation& operation, Place& place) {
            if (operation.op != Op::for_loop) return Fate::keeps;
            const Loop loop(operation);
            for (Operation& each : operation.regions[0].operations)
                changed = take_out(each, loop, place) || changed;
            return Fate::keeps;
        });
        return changed ? without_dead_code(out) : program_;
    }

  private:
    struct Loop {
        explicit Loop(const Operation& loop) : source(loop), index(loop.attributes.at(attr::variable)) {
            walk_operation(loop, [this](const Operation& each) {
                for (const Block& region : each.regions)
                    for (const auto& [name, type] : region.parameters)
                        inside.insert(name);
                for (const auto& [name, type] : results_of(each))
                    inside.insert(name);
            });
        }
        const Operation& source;
        std::string index;
        std::set<std::string> inside; ///< what its iterations compute and carry
    };

    /// A line of a matrix that no iteration changes: a row where `axis` is 0, a column where it is 1.
    struct Line {
        std::string matrix;
        int axis;
        Size position;
    };
    /// Lines that follow each other, from `start` on.
    struct Lines {
        std::string matrix;
        int along; ///< the axis that is whole
        Size start;
    };

    const Program& program_;
    Values values_;
    const TranslateOptions& options_;

    std::optional<std::int64_t> here(const Size& size) const { return evaluate(size, options_.sizes_here); }

    const Operation* plain_index(const std::string& name) const {
        const Operation* const made = values_.made_by(name, Op::index);
        return made == nullptr || made->attributes.has(attr::clamped) ? nullptr : made;
    }

    static bool is_all(const IndexEntry& entry, const Size& extent, const Size& whole) {
        return entry.kind == Kind::slice && entry.start == Size::integer(0) && entry.step == Size::integer(1) &&
               constant_difference(extent, whole) == 0;
    }

    /// The line that an operand of a product is, which moves with the loop and runs along `reduced` of the product.
    std::optional<Line> line(std::string name, int reduced, const Loop& loop) const {
        const Operation* made = plain_index(name);
        if (made == nullptr) return std::nullopt;
        if (values_.type(made->operands[0]).shape.size() == 1) { // line[:, newaxis]
            name = made->operands[0];
            if (!runs_along(made->attributes.at(attr::index), reduced)) return std::nullopt;
            made = plain_index(name);
            if (made == nullptr || made->type.shape.size() != 1) return std::nullopt;
        } else if (made->type.shape.size() == 1 ? reduced != 1
                                                : !runs_along(made->attributes.at(attr::index), reduced)) {
            return std::nullopt;
        }
        const Type& matrix = values_.type(made->operands[0]);
        if (matrix.shape.size() != 2) return std::nullopt;
        std::optional<Line> out;
        const Size& extent = made->type.shape[made->type.shape.size() == 1 ? 0 : static_cast<std::size_t>(reduced)];
        int axis = 0;
        bool whole = false;
        for (const IndexEntry& entry : made->attributes.at(attr::index)) {
            if (entry.kind == Kind::newaxis) continue;
            if (entry.kind == Kind::position) {
                if (out) return std::nullopt;
                out = Line{made->operands[0], axis, entry.start};
            } else {
                whole = is_all(entry, extent, matrix.shape[static_cast<std::size_t>(axis)]);
            }
            ++axis;
        }
        std::set<std::string> symbols;
        if (out) out->position.collect_symbols(symbols);
        if (!whole || !symbols.contains(loop.index)) return std::nullopt;
        while (loop.inside.contains(out->matrix)) {
            const Operation* const turned = values_.made_by(out->matrix, Op::transpose);
            if (turned == nullptr) return std::nullopt;
            out = Line{turned->operands[0], turned->attributes.at(attr::axes)[0] == 1 ? 1 - out->axis : out->axis,
                       out->position};
        }
        return out;
    }

    /// Whether the one slice of an index with a newaxis becomes the axis `reduced` of two.
    static bool runs_along(const std::vector<IndexEntry>& entries, int reduced) {
        std::vector<Kind> kinds;
        for (const IndexEntry& entry : entries)
            if (entry.kind != Kind::position) kinds.push_back(entry.kind);
        return kinds ==
               (reduced == 0 ? std::vector{Kind::slice, Kind::newaxis} : std::vector{Kind::newaxis, Kind::slice});
    }

    /// The other operand: whole along `reduced`, neighbours along the other axis.
    std::optional<Lines> lines(const std::string& name, int reduced, const Loop& loop) const {
        if (values_.type(name).shape.size() != 2) return std::nullopt;
        if (!loop.inside.contains(name)) return Lines{name, reduced, Size::integer(0)};
        if (const Operation* turned = values_.made_by(name, Op::transpose))
            return lines(turned->operands[0], turned->attributes.at(attr::axes)[0] == 1 ? 1 - reduced : reduced, loop);
        const Operation* const made = plain_index(name);
        if (made == nullptr) return std::nullopt;
        const std::vector<IndexEntry>& entries = made->attributes.at(attr::index);
        const Type& matrix = values_.type(made->operands[0]);
        const auto along = static_cast<std::size_t>(reduced), other = 1 - along;
        if (entries.size() != 2 || matrix.shape.size() != 2 || entries[other].kind != Kind::slice ||
            !(entries[other].step == Size::integer(1)) ||
            !is_all(entries[along], made->type.shape[along], matrix.shape[along]))
            return std::nullopt;
        std::optional<Lines> out = lines(made->operands[0], reduced, loop);
        if (out) out->start = out->start + entries[other].start;
        return out;
    }

    /// Whether a product of this many rows and columns is worth it for what the iterations need of it.
    bool pays(const Operation& operation, const Loop& loop, const Type& product, const Size& inner) const {
        const auto rows = here(product.shape[0]), columns = here(product.shape[1]), terms = here(inner);
        const auto iterations = here(iterations_of(loop.source)), first = here(start_of(loop.source));
        if (!rows || !columns || !terms || !iterations || !first || *iterations < 1) return false;
        std::map<std::string, std::int64_t> halfway = options_.sizes_here;
        halfway[loop.index] = *first + step_of(loop.source) * (*iterations / 2);
        const auto needed = evaluate(operation.type.shape[0], halfway);
        const std::int64_t bytes = find_dtype(product.dtype)->bytes;
        std::int64_t most = kMostBytes;
        for (const auto& [name, type] : results_of(loop.source))
            if (const auto count = here(tilewright::translator::product(type.shape)))
                most = std::max(most, kMostTimes * *count * find_dtype(type.dtype)->bytes);
        return needed && *rows * *columns > kLeastWork / std::max<std::int64_t>(1, *terms) &&
               *rows * *columns <= kMostWaste * *iterations * *needed && *rows * *columns * bytes <= most;
    }

    bool take_out(Operation& operation, const Loop& loop, Place& place) {
        if (operation.op != Op::sum || !operation.attributes.has(attr::product) ||
            !loop.source.attributes.at(attr::step).is_constant())
            return false;
        const Operation* const terms = values_.made_by(operation.operands[0], Op::multiply);
        if (terms == nullptr || terms->type.shape.size() != 2) return false;
        const int reduced = operation.attributes.at(attr::axes).front();
        for (const std::size_t k : {0, 1}) {
            const auto vector = line(terms->operands[k], reduced, loop);
            const auto matrix = lines(terms->operands[1 - k], reduced, loop);
            if (!vector || !matrix) continue;
            const Type &left = values_.type(vector->matrix), &right = values_.type(matrix->matrix);
            const Type product{operation.type.dtype,
                               {left.shape[static_cast<std::size_t>(vector->axis)],
                                right.shape[static_cast<std::size_t>(1 - matrix->along)]}};
            const Operation probe = make_operation("", product, Op::matmul, {});
            if (!may_use_library(probe, options_) || left.dtype != product.dtype || right.dtype != product.dtype ||
                !pays(operation, loop, product, right.shape[static_cast<std::size_t>(matrix->along)]))
                continue;
            Builder builder(values_, place.out);
            builder.at_line(operation.line);
            const auto upright = [&](const std::string& name, bool turned) {
                if (!turned) return name;
                Type type = values_.type(name);
                std::swap(type.shape[0], type.shape[1]);
                return builder.add(type, Op::transpose, {name}, {attr::axes({1, 0})});
            };
            const std::string all = values_.names().named("products");
            builder.emit(all, product, Op::matmul,
                         {upright(vector->matrix, vector->axis == 1), upright(matrix->matrix, matrix->along == 1)},
                         {attr::order({.library = true})});
            operation.op = Op::index;
            operation.operands = {all};
            operation.attributes = {attr::index(
                {IndexEntry::position(vector->position), IndexEntry::slice(matrix->start, Size::integer(1))})};
            return true;
        }
        return false;
    }
};

} // namespace

Prepared loop_products(const Prepared& prepared, const TranslateOptions& options) {
    Prepared out = prepared;
    if (!options.device) out.program = LoopProducts(prepared.program, options).run();
    return out;
}

} // namespace tilewright::translator
