// translator/passes/sum_order.cpp: orders of values, block by block.
#include "translator/passes/passes.h"

#include <algorithm>
#include <map>

#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/element_order.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

constexpr std::size_t kMostLibraryAxes = 8; ///< plans have no arrays of more
constexpr std::int64_t kLibraryWork = 64 * 64 * 64;
constexpr std::int64_t kLibraryWorkInStack = 256 * 256 * 256;  ///< loops have a matrix for each thread
constexpr std::int64_t kLibraryWorkOnDevice = 256 * 256 * 256; ///< below, a product takes as long as its launch
constexpr std::int64_t kLibraryMatrixOnDevice = 16 * 16 * 16;  ///< of a stack: loops do better by smaller ones

class Orders {
  public:
    Orders(const Program& program, const TranslateOptions& options)
        : values_(program), options_(options), sizes_(options.sizes_here) {}

    Program run(Program program) {
        for (const auto& [name, type] : program.arrays)
            orders_[name] = {order_of(options_.layout(name), type), nullptr};
        rewrite<Order::inner_first>(program.body, [this](Operation& operation, Place& place) {
            if (is_reduction(operation.op)) split_windows(operation, place);
            visit(operation, *place.blocks.back());
            return Fate::keeps;
        });
        return program;
    }

  private:
    struct Known {
        ElementOrder order;
        const Block* block = nullptr; ///< that computes the value; null where it is in memory for all
    };

    Values values_;
    const TranslateOptions& options_;
    std::map<std::string, std::int64_t> sizes_; ///< here; sizes that data decide are as large as they may be
    std::map<std::string, Known> orders_;       ///< those that are not C's

    OrderedOperand operand(const std::string& name, const Block& reader) const {
        const Type& type = values_.type(name);
        const auto found = orders_.find(name);
        const bool known = found != orders_.end() && (found->second.block == nullptr || found->second.block == &reader);
        return {type, known ? found->second.order : c_order(type)};
    }

    void visit(Operation& operation, const Block& block) {
        if (operation.op == Op::read && operation.attributes.has(attr::max))
            if (const auto most = evaluate(operation.attributes.at(attr::max), sizes_))
                sizes_.emplace(operation.result, *most);
        if (operation.op == Op::update || operation.op == Op::read || is_region(operation)) return; // in memory
        if (has_regions(operation.op)) {
            for (const auto& [name, type] : results_of(operation))
                orders_[name] = {by_axes(type), &block};
            return;
        }
        std::vector<OrderedOperand> operands;
        for (const std::string& name : operation.operands)
            operands.push_back(operand(name, block));
        if (is_reduction(operation.op))
            operation.attributes.set(attr::order, order_of_reduction(operation, operands[0].order));
        else if (operation.op == Op::matmul)
            operation.attributes.set(attr::order, {.library = may_use_library(operation, options_) &&
                                                              suits_library(operation, operands[1])});
        orders_[operation.result] = {element_order(operation, operands, is_stored(operation)),
                                     is_free(operation.op) ? nullptr : &block};
    }

    /// sum(x) {axes=[2, 3]} as sum(sum(x) {axes=[3]}) {axes=[2]}, where each axis is short and both together are not:
    /// sums one by one, which run along the axes that stay, instead of lanes that hold a few elements of one axis each.
    void split_windows(Operation& operation, Place& place) {
        const std::string& dtype = operation.type.dtype;
        if (!has_trait(operation.op, Trait::rounds) || find_dtype(dtype)->kind != DTypeKind::floating) return;
        const Block& block = *place.blocks.back();
        const auto is_short = [](std::int64_t count) { return count > 0 && count <= kLongestSerialSum; };
        while (true) {
            const std::vector<int> axes = reduced_axes(operation);
            const auto [type, elements] = operand(operation.operands[0], block);
            const SumOrder order = order_of_reduction(operation, elements);
            if (!order.contiguous || order.joined == static_cast<int>(axes.size())) return;
            std::int64_t count = 1;
            for (const int axis : axes) {
                const std::int64_t extent = here(type.shape[static_cast<std::size_t>(axis)]);
                if (!is_short(extent)) return;
                count *= extent;
            }
            if (is_short(count)) return;
            Operation inner = operation;
            inner.result = values_.names().value("%");
            inner.type.shape = type.shape;
            inner.type.shape.erase(inner.type.shape.begin() + axes.back());
            inner.attributes.set(attr::axes, {axes.back()});
            values_.declare(inner.result, inner.type);
            visit(inner, block);
            operation.operands[0] = inner.result;
            operation.attributes.set(attr::axes, std::vector<int>(axes.begin(), axes.end() - 1));
            place.out.push_back(std::move(inner));
        }
    }

    static SumOrder order_of_reduction(const Operation& operation, const ElementOrder& operand) {
        const std::vector<int> axes = reduced_axes(operation);
        const int count = static_cast<int>(axes.size());
        SumOrder out;
        out.contiguous = std::find(axes.begin(), axes.end(), operand.contiguous_axis) != axes.end();
        out.joined = std::min(count, 1);
        while (operand.flat && out.joined < count &&
               axes[static_cast<std::size_t>(count - out.joined - 1)] + out.joined == axes.back())
            ++out.joined;
        return out;
    }

    std::int64_t here(const Size& size) const { return evaluate(size, sizes_).value_or(-1); }

    /// Whether the library is the default for a product: by the multiplications of one matrix and of all of its stack.
    bool suits_library(const Operation& operation, const OrderedOperand& right) const {
        const std::vector<Size>& shape = operation.type.shape;
        const Size inner = right.type.shape.end()[-2];
        const std::int64_t one = here(product({shape.end() - 2, shape.end()}) * inner);
        const std::int64_t all = here(product(shape) * inner);
        if (shape.size() == 2) return all > (options_.device ? kLibraryWorkOnDevice : kLibraryWork);
        // Loops read a right matrix that lies in columns with gaps.
        const bool in_columns = right.order.contiguous_axis == static_cast<int>(right.type.shape.size()) - 2;
        if (!options_.device) return in_columns ? one >= kLibraryWork : one > kLibraryWorkInStack;
        return one >= kLibraryMatrixOnDevice && all > kLibraryWorkOnDevice / (in_columns ? 4 : 1);
    }
};

} // namespace

ElementOrder order_of(Layout layout, const Type& type) {
    return layout == Layout::c ? c_order(type) : layout == Layout::f ? f_order(type) : by_axes(type);
}

bool may_use_library(const Operation& product, const TranslateOptions& options) {
    return (product.type.dtype == "float32" || product.type.dtype == "float64") && options.contract != "reproducible" &&
           product.type.shape.size() <= kMostLibraryAxes;
}

Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options) {
    Prepared out = prepared;
    out.program = Orders(prepared.program, options).run(prepared.program);
    return out;
}

} // namespace tilewright::translator
