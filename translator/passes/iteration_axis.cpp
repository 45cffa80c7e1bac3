// translator/passes/iteration_axis.cpp: sizes that follow the index of a loop, as sizes and numbers of all iterations.
#include "translator/passes/iteration_axis.h"

#include <algorithm>
#include <set>

#include "translator/ir/size.h"
#include "translator/loops/access.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {

void refuse(const Operation& operation, const std::string& what) {
    throw Refusal{(operation.line > 0 ? "line " + std::to_string(operation.line) + " " : "the loop ") + what};
}

IterationAxis::IterationAxis(Values& values, const Operation& loop, const std::string& prefix)
    : Builder(values, prefix), loop_(loop), index_(loop.attributes.at(attr::variable)) {
    if (!loop.attributes.at(attr::step).is_constant()) refuse(loop, "has a step that is no constant");
    enter(out_);
    at_line(loop.line);
}

Size IterationAxis::distance() const {
    const Size& stop = loop_.attributes.at(attr::stop);
    return step_of(loop_) > 0 ? stop - start_of(loop_) : start_of(loop_) - stop;
}

bool IterationAxis::moves(const Size& size) const {
    std::set<std::string> symbols;
    size.collect_symbols(symbols);
    return symbols.count(index_) != 0;
}

bool IterationAxis::moves(const IndexEntry& entry) const {
    using Kind = IndexEntry::Kind;
    return entry.kind != Kind::newaxis && (moves(entry.start) || (entry.kind == Kind::slice && moves(entry.step)));
}

bool IterationAxis::moves(const Operation& operation) const {
    std::set<std::string> symbols;
    collect_symbols(operation, symbols);
    return symbols.count(index_) != 0;
}

std::optional<IterationAxis::Even> IterationAxis::even(const Size& place) const {
    const Size next = substitute(place, index_, Size::symbol(index_) + Size::integer(step_of(loop_)));
    const std::optional<Size> step = multiplied_out(next - place);
    if (!step || moves(*step)) return std::nullopt;
    return Even{substitute(place, index_, start_of(loop_)), *step};
}

bool IterationAxis::reads_lifted(const Operation& operation) const {
    return std::ranges::any_of(operation.operands, [this](const std::string& name) { return is_lifted(name); });
}

std::string IterationAxis::number(const Size& size) {
    if (!moves(size)) return add({"int64", {}}, Op::scalar_size, {}, {attr::size(size)});
    const Type each{"int64", {iterations_}};
    if (size.op() == Size::Op::symbol) {
        const std::string along = add(each, Op::iota, {}, {attr::axis(0)});
        const Size start = start_of(loop_);
        if (counts_ && step_of(loop_) == 1 && start.is_constant() && start.constant() == 0) return along;
        const std::string far = add(each, Op::multiply, {along, number(Size::integer(step_of(loop_)))});
        return add(each, Op::add, {far, number(start)});
    }
    const std::string left = number(size.operands()[0]), right = number(size.operands()[1]);
    return add(each, operation_for(size.op()), {left, right});
}

} // namespace tilewright::translator
