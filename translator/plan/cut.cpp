// translator/plan/cut.cpp: the program as a cut sees it.
#include "translator/plan/cut.h"

#include <algorithm>

#include "translator/ir/walk.h"

namespace tilewright::translator {

/// Choices of choices say their conditions twice.
constexpr std::size_t kLongestCondition = 300;

Cut::Cut(const Program& of, bool for_device) : program(of), device(for_device), values(of) {
    values.for_each([this](const std::string& name, const Type&) { names_.take(name); });
    for (const ScalarArgument& argument : program.scalars)
        scalars.insert(argument.name);
    for (const Write& write : program.writes)
        written.insert(write.argument);
    for (const ArrayArgument& argument : program.arrays) {
        places[argument.name] = argument.name;
        if (written.count(argument.name) != 0)
            out.buffers.push_back({argument.name, argument.type, BufferPlan::Kind::written, false});
    }
    collect(program.body);
}

void Cut::collect(const Block& block) {
    for (const auto& [name, type] : block.parameters)
        homes[name] = &block;
    for (const Operation& operation : block.operations) {
        order[&operation] = order.size();
        for (const auto& [name, type] : results_of(operation))
            homes[name] = &block;
        if (operation.op == Op::read) read.insert(operation.result);
        for (const Block& inner : operation.regions)
            collect(inner);
    }
}

const Block* Cut::home_of(const std::string& value) const {
    const auto found = homes.find(value);
    return found == homes.end() ? nullptr : found->second;
}

const Operation* Cut::operation_of(const std::string& value) const {
    return places.count(value) != 0 ? nullptr : values.made_by(value);
}

bool Cut::is_temporary(const std::string& name) const {
    const BufferPlan* plan = out.buffer(name);
    return plan != nullptr && plan->kind == BufferPlan::Kind::temporary;
}

const Type& Cut::type_of_buffer(const std::string& name) const {
    const BufferPlan* plan = out.buffer(name);
    return plan != nullptr ? plan->type : values.type(name);
}

std::string Cut::fresh_name(const std::string& value, const std::string& otherwise) {
    if (value[0] == '%') return names_.named(otherwise);
    return own_.insert(value).second ? value : names_.named(value);
}

AccessContext Cut::access_context() const {
    return {[this](const std::string& name) { return operation_of(name); },
            [this](const std::string& name) -> const Type& { return values.type(name); }};
}

bool Cut::moves(const Type& type) const {
    return std::ranges::any_of(type.shape, [&](const Size& extent) { return translator::moves(extent, symbols); });
}

std::optional<Type> Cut::bounded(Type type) const {
    for (Size& extent : type.shape) {
        if (!translator::moves(extent, symbols)) continue;
        const std::optional<Size> most = largest(extent, symbols);
        if (!most) return std::nullopt;
        // A loop without iterations may end before it begins.
        extent = larger_of(*most, Size::integer(0));
    }
    return type;
}

Names Cut::sizes_of(const Operation& operation) const {
    Names found;
    if (read.empty()) return found;
    collect_symbols(operation, found);
    for (const auto& [name, type] : operation.more_results)
        for (const Size& extent : type.shape)
            extent.collect_symbols(found);
    operation.attributes.for_each_size([&](const Size& size) { size.collect_symbols(found); });
    std::erase_if(found, [this](const std::string& name) { return read.count(name) == 0; });
    return found;
}

void Cut::roots(const std::string& value, Names& found) const {
    if (scalars.count(value) != 0) return;
    const Operation* operation = operation_of(value);
    if (operation == nullptr || !is_free(operation->op)) {
        found.insert(value);
        return;
    }
    for (const std::string& operand : operation->operands)
        roots(operand, found);
}

Names Cut::free_names(const Operation& operation) const {
    Names found, defined;
    walk_operation(operation, [&](const Operation& each) {
        found.merge(sizes_of(each));
        for (const Block& region : each.regions) {
            for (const auto& [name, type] : region.parameters)
                defined.insert(name);
            for (const Operation& inner : region.operations) {
                found.insert(inner.operands.begin(), inner.operands.end());
                for (const auto& [name, type] : results_of(inner))
                    defined.insert(name);
            }
            found.insert(region.yields.begin(), region.yields.end());
        }
    });
    std::erase_if(found, [&](const std::string& name) { return defined.count(name) != 0; });
    return found;
}

void Cut::closure(const std::string& value, const Names& made, Names& found, Names& seen) const {
    if (scalars.count(value) != 0 || !seen.insert(value).second) return;
    const bool is_made = made.count(value) != 0;
    if (read.count(value) != 0 && !is_made) return; // known here
    const Operation* operation = operation_of(value);
    if (operation == nullptr || is_made) {
        found.insert(value);
        return;
    }
    closure(*operation, made, found, seen);
}

void Cut::closure(const Operation& operation, const Names& made, Names& found, Names& seen) const {
    for (const std::string& operand : operation.operands)
        closure(operand, made, found, seen);
    for (const std::string& name : free_names(operation)) // its sizes are among them
        closure(name, made, found, seen);
}

bool Cut::is_fill(const std::string& value) const {
    if (scalars.count(value) != 0) return true;
    Names found;
    roots(value, found);
    return found.empty();
}

std::optional<Size> Cut::plan_number(const std::string& value) const {
    if (values.type(value) != Type{"int64", {}}) return std::nullopt;
    if (scalars.count(value) != 0) return Size::symbol(value);
    const Operation* made = values.made_by(value);
    if (made == nullptr) return std::nullopt;
    if (made->op == Op::constant) return try_parse_size(made->attributes.at(attr::value));
    if (made->op == Op::scalar_size) {
        // Sizes and indices of loops have 32 bits; what is worked out of an argument may leave its 64, in the middle of
        // a loop that has written already.
        const Size size = made->attributes.at(attr::size);
        for (const std::string& symbol : size.symbols())
            if (scalars.count(symbol) != 0 && size.op() != Size::Op::symbol) return std::nullopt;
        return size;
    }
    if (made->op != Op::floor_divide && made->op != Op::remainder) return std::nullopt;
    // Nothing that is divided by a positive number leaves int64.
    const auto divided = plan_number(made->operands[0]);
    const auto divisor = plan_number(made->operands[1]);
    if (!divided || !divisor || !divisor->is_constant() || divisor->constant() <= 0) return std::nullopt;
    return Size::binary(made->op == Op::remainder ? Size::Op::mod : Size::Op::floordiv, *divided, *divisor);
}

std::optional<Size> Cut::plan_condition(const std::string& value) const {
    if (values.type(value) != Type{"bool", {}}) return std::nullopt;
    const Operation* made = values.made_by(value);
    if (made == nullptr || made->operands.empty()) return std::nullopt;
    if (made->op == Op::logical_not || made->op == Op::invert) {
        const auto inner = plan_condition(made->operands[0]);
        return inner ? std::optional(Size::unary(Size::Op::logical_not, *inner)) : std::nullopt;
    }
    if (made->op == Op::where) { // what Python's `and` and `or` leave
        std::vector<Size> parts;
        for (const std::string& operand : made->operands) {
            const auto part = plan_condition(operand);
            if (!part || part->text().size() > kLongestCondition) return std::nullopt;
            parts.push_back(*part);
        }
        const Size first =
            made->operands[1] == made->operands[0] ? parts[0] : Size::binary(Size::Op::logical_and, parts[0], parts[1]);
        if (made->operands[2] == made->operands[0]) return first;
        const Size second = Size::binary(Size::Op::logical_and, Size::unary(Size::Op::logical_not, parts[0]), parts[2]);
        return Size::binary(Size::Op::logical_or, first, second);
    }
    if (made->operands.size() != 2) return std::nullopt;
    static const std::map<Op, Size::Op> operators = {{Op::logical_and, Size::Op::logical_and},
                                                     {Op::bitwise_and, Size::Op::logical_and},
                                                     {Op::logical_or, Size::Op::logical_or},
                                                     {Op::bitwise_or, Size::Op::logical_or},
                                                     {Op::equal, Size::Op::eq},
                                                     {Op::not_equal, Size::Op::ne},
                                                     {Op::less, Size::Op::lt},
                                                     {Op::greater, Size::Op::gt},
                                                     {Op::less_equal, Size::Op::le},
                                                     {Op::greater_equal, Size::Op::ge}};
    const auto operation = operators.find(made->op);
    if (operation == operators.end()) return std::nullopt;
    const bool joined = operation->second == Size::Op::logical_and || operation->second == Size::Op::logical_or;
    const auto side = [&](std::size_t k) {
        return joined ? plan_condition(made->operands[k]) : plan_number(made->operands[k]);
    };
    const auto left = side(0), right = side(1);
    if (!left || !right) return std::nullopt;
    return Size::binary(operation->second, *left, *right);
}

} // namespace tilewright::translator
