// dsl/runtime/compiled_size.cpp: postfix code, and the shapes that most sizes of plans have.
#include "dsl/runtime/compiled_size.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace tilewright::runtime {

CompiledSize CompiledSize::compile(const SizeExpression& e, const std::function<int(const std::string&)>& slot) {
    CompiledSize result;
    if (e.op() == Op::integer) {
        result.constant_ = e.constant();
        return result;
    }
    if (e.op() == Op::symbol) {
        result.shape_ = Shape::symbol;
        result.symbol_ = slot(e.name());
        return result;
    }
    if (is_comparison(e.op()) && e.operands()[0].op() == Op::symbol &&
        (e.operands()[1].op() == Op::integer || e.operands()[1].op() == Op::symbol)) {
        bool constant = e.operands()[1].op() == Op::integer;
        result.shape_ = constant ? Shape::compare_constant : Shape::compare_symbol;
        result.compare_ = e.op();
        result.symbol_ = slot(e.operands()[0].name());
        result.constant_ = constant ? e.operands()[1].constant() : slot(e.operands()[1].name());
        return result;
    }
    // How many elements a call has decides between versions: such a condition is met by every small call.
    if (is_comparison(e.op()) && e.operands()[1].op() == Op::integer && result.append_sum(e.operands()[0], slot)) {
        result.shape_ = Shape::compare_sum;
        result.compare_ = e.op();
        result.constant_ = e.operands()[1].constant();
        return result;
    }
    result.append(e, slot, 0);
    result.shape_ = Shape::code;
    std::int64_t folded = 0;
    bool reads_symbols =
        std::any_of(result.code_.begin(), result.code_.end(), [](auto& i) { return i.op == Op::symbol; });
    if (!reads_symbols && result.run(nullptr, folded)) {
        result.shape_ = Shape::constant;
        result.constant_ = folded;
    }
    return result;
}

bool CompiledSize::append_sum(const SizeExpression& e, const std::function<int(const std::string&)>& slot) {
    const bool is_sum = e.op() == Op::add;
    if (is_sum && !append_sum(e.operands()[0], slot)) return false;
    if (!append_product(is_sum ? e.operands()[1] : e, slot)) return false;
    factors_.push_back(kEndOfProduct);
    return true;
}

bool CompiledSize::append_product(const SizeExpression& e, const std::function<int(const std::string&)>& slot) {
    const bool is_product = e.op() == Op::mul;
    if (is_product && !append_product(e.operands()[0], slot)) return false;
    const SizeExpression& factor = is_product ? e.operands()[1] : e;
    if (factor.op() != Op::symbol) return false;
    factors_.push_back(slot(factor.name()));
    return true;
}

void CompiledSize::append(const SizeExpression& e, const std::function<int(const std::string&)>& slot, int below) {
    if (below >= kStack) throw std::invalid_argument("an expression nested too deeply");
    for (const SizeExpression& operand : e.operands())
        append(operand, slot, below++);
    code_.push_back({e.op(), e.op() == Op::symbol ? slot(e.name()) : e.constant()});
}

bool CompiledSize::run(const std::int64_t* symbols, std::int64_t& result) const {
    std::int64_t stack[kStack];
    int top = -1;
    for (const Instruction& instruction : code_) {
        switch (instruction.op) {
        case Op::integer:
            stack[++top] = instruction.operand;
            break;
        case Op::symbol:
            stack[++top] = symbols[instruction.operand];
            break;
        case Op::neg:
            if (stack[top] == INT64_MIN) return false;
            stack[top] = -stack[top];
            break;
        case Op::logical_not:
            stack[top] = !stack[top];
            break;
        default: {
            --top;
            const std::optional<std::int64_t> value = apply(instruction.op, stack[top], stack[top + 1]);
            if (!value) return false;
            stack[top] = *value;
        }
        }
    }
    result = stack[0];
    return true;
}

} // namespace tilewright::runtime
