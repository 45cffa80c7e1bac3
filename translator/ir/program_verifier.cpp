// translator/ir/program_verifier.cpp: the executable specification of a program (program_text.md).
#include <algorithm>
#include <set>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/literal.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"

namespace tilewright::translator {
namespace {

using Scope = std::map<std::string, Type>;

class Verifier {
  public:
    Verifier(const Program& program, Dialect dialect) : program_(program), dialect_(dialect) {}

    void run() {
        for (const ArrayArgument& argument : program_.arrays) {
            declare(argument.name, argument.type);
            for (std::size_t k = 0; k < argument.type.shape.size(); ++k)
                symbols_.insert(argument.name + "." + std::to_string(k));
        }
        for (const ScalarArgument& argument : program_.scalars) {
            declare(argument.name, {argument.dtype, {}});
            where_ = argument.name;
            check_dtype(argument.dtype);
            if (find_dtype(argument.dtype)->is_integer()) symbols_.insert(argument.name);
        }
        std::vector<std::string> order = program_.argument_order;
        std::sort(order.begin(), order.end());
        where_ = "the argument order";
        require(std::ranges::equal(order, names_), "lists other names than the arguments");
        for (const ArrayArgument& argument : program_.arrays) {
            where_ = argument.name;
            check_type(argument.type);
        }
        for (const Guard& guard : program_.guards) {
            where_ = "guard " + guard.condition.text();
            require(is_comparison(guard.condition.op()), "not a comparison");
            for (const Size& side : guard.condition.operands())
                check_size(side);
        }
        check_block(program_.body);
        for (const std::string& name : program_.body.yields) {
            where_ = "return";
            const Type& type = type_of(name);
            where_ = "return " + name;
            check_type(type);
        }
        check_checks();
        check_writes();
        check_conversions();
        where_ = "return";
        require(program_.returns_tuple || program_.body.yields.size() <= 1, "one value, or a tuple");
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        throw InternalError("program " + program_.function + ", " + where_ + ": " + why + ".");
    }
    void require(bool holds, const std::string& why) const {
        if (!holds) fail(why);
    }

    void declare(const std::string& name) {
        if (names_.insert(name).second) return;
        where_ = name;
        fail("is defined twice");
    }
    void declare(const std::string& name, const Type& type) {
        declare(name);
        scope_[name] = type;
    }

    /// `what` it is: "the yielded ".
    const Type& type_of(const std::string& name, const std::string& what = "") const {
        const auto found = scope_.find(name);
        require(found != scope_.end(), what + name + " is not defined");
        return found->second;
    }

    void check_dtype(const std::string& dtype) const {
        require(find_dtype(dtype) != nullptr, "'" + dtype + "' is no dtype");
    }

    void check_size(const Size& tree) const {
        std::set<std::string> used;
        tree.collect_symbols(used);
        for (const std::string& symbol : used)
            require(symbols_.count(symbol) != 0, "the size '" + symbol + "' is not known here");
    }

    void check_type(const Type& type) const {
        check_dtype(type.dtype);
        for (const Size& extent : type.shape) {
            check_size(extent);
            require(!extent.is_constant() || extent.constant() >= 0, "the negative extent " + extent.text());
        }
    }

    void check_block(const Block& block) {
        std::vector<std::string> read; // sizes that are known to the end of the block
        for (const Operation& operation : block.operations) {
            where_ = operation.result + (operation.line > 0 ? " (line " + std::to_string(operation.line) + ")" : "") +
                     " = " + text_of(operation.op);
            const auto results = results_of(operation);
            for (const auto& [name, type] : results) {
                declare(name);
                check_type(type);
            }
            for (const std::string& operand : operation.operands)
                require(scope_.count(operand) != 0, "the operand " + operand + " is not defined before");
            if (operation.op == Op::read) {
                check_read(operation);
                symbols_.insert(operation.result);
                read.push_back(operation.result);
                continue;
            }
            if (has_regions(operation.op))
                check_region(operation);
            else
                check_operation(operation);
            scope_.insert(results.begin(), results.end());
        }
        for (const std::string& name : read)
            symbols_.erase(name);
    }

    void check_read(const Operation& operation) const {
        require(operation.operands.size() == 1, "reads one value");
        require(operation.result[0] != '%', "a size has a name");
        require_type(scope_.at(operation.operands[0]), Type{"int64", {}}, "what it reads");
        for (const Attribute& each : operation.attributes)
            require(each.name == attr::min.name || each.name == attr::max.name,
                    std::string("has no attribute ") + text_of(each.name));
        require(operation.attributes.size() != 1, "has both limits or none");
        operation.attributes.for_each_size([&](const Size& size) { check_size(size); });
    }

    void check_checks() {
        for (const Check& check : program_.checks) {
            where_ = "check " + check.value;
            require_type(type_of(check.value), Type{"bool", {}}, "the value");
        }
    }

    /// The dtype of a Python number is that of the value it is made of.
    void check_conversions() {
        const std::vector<std::string>& results = program_.body.yields;
        where_ = "return";
        require(program_.conversions.size() == results.size(), "has another number of conversions");
        for (std::size_t k = 0; k < results.size(); ++k) {
            const std::string& to = program_.conversions[k];
            if (to.empty()) continue;
            where_ = "return " + to;
            const std::string dtype = to == "int" || to == "held" ? "int64" : to == "float" ? "float64" : "bool";
            require_type(scope_.at(results[k]), Type{dtype, {}}, results[k]);
        }
    }

    void check_writes() {
        std::set<std::string> written;
        for (const Write& write : program_.writes) {
            where_ = "write " + write.argument;
            const auto argument = std::ranges::find(program_.arrays, write.argument, &ArrayArgument::name);
            require(argument != program_.arrays.end(), "is no array argument");
            require(written.insert(write.argument).second, "is written twice");
            require_type(type_of(write.value), argument->type, "the value " + write.value);
        }
    }

    /// A block whose values end with it, and what it yields.
    void check_inner_block(const Block& block, const std::vector<Type>& types) {
        const Scope outer = scope_;
        const std::string where = where_;
        check_block(block);
        where_ = where;
        require(block.yields.size() == types.size(),
                "yields " + std::to_string(block.yields.size()) + " values, not " + std::to_string(types.size()));
        for (std::size_t k = 0; k < types.size(); ++k)
            require_type(type_of(block.yields[k], "the yielded "), types[k], "the yielded " + block.yields[k]);
        scope_ = outer;
    }

    void check_region(const Operation& operation) {
        const std::vector<Block>& regions = operation.regions;
        const std::vector<std::string>& operands = operation.operands;
        const Type truth{"bool", {}};
        std::vector<Type> types;
        for (const auto& [name, type] : results_of(operation))
            types.push_back(type);
        if (operation.op == Op::if_else) {
            require(regions.size() == 2 && operands.size() == 1, "needs two regions");
            require_type(scope_.at(operands[0]), truth, "the condition");
            for (const Block& block : regions)
                check_inner_block(block, types);
            return;
        }
        const bool is_for = operation.op == Op::for_loop;
        require(regions.size() == (is_for ? 1U : 2U), "has a wrong number of regions");
        const auto& parameters = regions[0].parameters;
        require(parameters.size() == types.size() && operands.size() == types.size(),
                "carries another number of values than it gives");
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            const auto& [name, type] = parameters[k];
            declare(name);
            check_type(type);
            require_type(type, types[k], "the carried " + name);
            require_type(scope_.at(operands[k]), types[k], "the initial " + operands[k]);
        }
        const Scope outer = scope_;
        scope_.insert(parameters.begin(), parameters.end());
        if (is_for) {
            for (const auto& key : {attr::start, attr::stop, attr::step})
                check_size(attribute(operation, key));
            const Size& step = attribute(operation, attr::step);
            require(!step.is_constant() || step.constant() != 0, "the step is 0");
            const std::string& variable = attribute(operation, attr::variable);
            declare(variable);
            symbols_.insert(variable);
        }
        for (const Block& block : regions)
            check_inner_block(block, !is_for && &block == &regions[0] ? std::vector<Type>{truth} : types);
        if (is_for) symbols_.erase(attribute(operation, attr::variable));
        scope_ = outer;
    }

    template <class T> const T& attribute(const Operation& operation, const AttributeKey<T>& key) const {
        const T* const found = operation.attributes.find(key);
        if (found == nullptr) fail_missing(key.name);
        return *found;
    }
    [[noreturn]] void fail_missing(AttributeName name) const {
        fail(std::string("the attribute ") + text_of(name) + " is missing");
    }

    void require_type(const Type& is, const Type& should, const std::string& what) const {
        require(is.dtype == should.dtype && same_shape(is.shape, should.shape),
                what + " is " + text_of(is) + ", not " + text_of(should));
    }
    void require_shape(const std::vector<Size>& is, const std::vector<Size>& should, const std::string& what) const {
        require(same_shape(is, should), what + " is " + text_of(Type{"", is}) + ", not " + text_of(Type{"", should}));
    }

    void check_attributes(const Operation& operation, std::initializer_list<AttributeName> names) const {
        require(operation.regions.empty() && operation.more_results.empty(), "has no regions");
        for (const Attribute& each : operation.attributes) {
            const bool known = std::find(names.begin(), names.end(), each.name) != names.end() ||
                               (each.name == attr::product.name && operation.op == Op::sum);
            require(known || (dialect_ == Dialect::rewritten && is_of_pass(operation, each)),
                    std::string("has no attribute ") + text_of(each.name));
        }
        for (const AttributeName name : names)
            if (!operation.attributes.has(name)) fail_missing(name);
    }

    /// Whether a pass gives such an attribute to such an operation.
    bool is_of_pass(const Operation& operation, const Attribute& each) const {
        const Op op = operation.op;
        if (each.name == attr::clamped.name) return op == Op::index;
        if (each.name == attr::unread.name) return op == Op::broadcast_to;
        if (each.name == attr::checked.name) {
            const int check = op == Op::take ? check_of(operation) : -1;
            return check >= 0 && check < static_cast<int>(program_.checks.size());
        }
        if (each.name != attr::order.name || !(is_reduction(op) || op == Op::matmul)) return false;
        const auto& order = std::get<SumOrder>(each.value);
        return order.iterations >= 0 && order.iterations <= static_cast<int>(operation.type.shape.size()) &&
               order.joined >= 0 && (op == Op::matmul || !order.library);
    }

    /// Operand axes stand under the result's last ones and have the same extent or the literal 1.
    void check_broadcast(const Type& operand, const Type& result) const {
        std::size_t missing = result.shape.size() - operand.shape.size();
        require(operand.shape.size() <= result.shape.size(), "an operand has more axes than the result");
        for (std::size_t k = 0; k < operand.shape.size(); ++k) {
            const Size& extent = operand.shape[k];
            require(is_one(extent) || same_size(extent, result.shape[k + missing]),
                    text_of(operand) + " does not broadcast to " + text_of(result));
        }
    }

    /// Of matrices that lie along some axes: those axes.
    static Type stack_of(const Type& matrices) {
        return {matrices.dtype, {matrices.shape.begin(), matrices.shape.end() - 2}};
    }

    void check_elementwise(const Operation& operation) const {
        check_attributes(operation, {});
        for (const std::string& name : operation.operands)
            check_broadcast(scope_.at(name), operation.type);
        const std::string& out = operation.type.dtype;
        auto dtype = [&](std::size_t k) { return scope_.at(operation.operands[k]).dtype; };
        auto all_equal = [&](std::size_t from, const std::string& to) {
            for (std::size_t k = from; k < operation.operands.size(); ++k)
                require(dtype(k) == to, "operand " + operation.operands[k] + " is " + dtype(k) + ", not " + to);
        };
        DTypeKind kind = find_dtype(dtype(operation.operands.size() - 1))->kind;
        if (kind == DTypeKind::complex_number) {
            require(!has_trait(operation.op, Trait::real_only), "does not take complex numbers");
            if (operation.op == Op::absolute) {
                require(out == real_dtype(dtype(0)), "gives " + real_dtype(dtype(0)) + ", not " + out);
                return;
            }
        }
        const Signature signature = info(operation.op).signature;
        const bool is_float = kind == DTypeKind::floating, is_complex = kind == DTypeKind::complex_number;
        const bool is_bool = kind == DTypeKind::boolean;
        const auto takes = [&](bool holds, const char* what, std::size_t k = 0) {
            require(holds, std::string("takes ") + what + ", not " + dtype(k));
        };
        if (is_truth(operation.op)) require(out == "bool", "gives bool, not " + out);
        if (signature == Signature::choose) require(dtype(0) == "bool", "the condition is " + dtype(0) + ", not bool");
        if (signature == Signature::float_test) takes(is_float, "floats");
        if (signature == Signature::floats) takes(is_float || is_complex, "floats");
        if (signature == Signature::numbers) require(!is_bool, "does not take bool");
        if (signature == Signature::bits) takes(!is_float && !is_complex, "integers and bool");
        if (signature == Signature::integers) takes(!is_float && !is_complex && !is_bool, "integers");
        if (signature == Signature::words) takes(dtype(0) == "uint64", "uint64");
        if (signature == Signature::magnitude) {
            takes(is_float, "floats", 2);
            require(scope_.at(operation.operands[2]).shape.empty(), "compares with one number");
            return all_equal(0, dtype(2));
        }
        if (signature == Signature::test || signature == Signature::float_test || signature == Signature::convert)
            return;
        if (signature != Signature::compare) return all_equal(signature == Signature::choose ? 1 : 0, out);
        if ((dtype(0) == "int64" && dtype(1) == "uint64") || (dtype(0) == "uint64" && dtype(1) == "int64")) return;
        all_equal(0, dtype(0));
    }

    const std::vector<int>& axes(const Operation& operation, std::size_t rank) const {
        const std::vector<int>& out = attribute(operation, attr::axes);
        std::set<int> seen;
        for (int axis : out) {
            require(axis >= 0 && axis < static_cast<int>(rank),
                    "axis " + std::to_string(axis) + " of " + std::to_string(rank));
            require(seen.insert(axis).second, "axis " + std::to_string(axis) + " twice");
        }
        return out;
    }

    /// The attribute `axis`, which is one of `type`.
    int axis_of(const Operation& operation, const std::vector<Size>& shape, const std::string& what) const {
        const int axis = attribute(operation, attr::axis);
        require(axis >= 0 && axis < static_cast<int>(shape.size()),
                "axis=" + std::to_string(axis) + " is no axis of " + what);
        return axis;
    }

    static std::vector<Size> without(const std::vector<Size>& shape, const std::vector<int>& axes) {
        std::vector<Size> out;
        for (std::size_t k = 0; k < shape.size(); ++k) {
            if (std::find(axes.begin(), axes.end(), static_cast<int>(k)) == axes.end()) out.push_back(shape[k]);
        }
        return out;
    }

    void check_reduction(const Operation& operation, const Type& operand) const {
        const Op op = operation.op;
        const std::string& out = operation.type.dtype;
        std::vector<int> reduced;
        if (is_search(op)) {
            check_attributes(operation, {attr::axis.name});
            reduced = {axis_of(operation, operand.shape, text_of(operand))};
            require(out == "int64", "gives int64, not " + out);
        } else {
            check_attributes(operation, {attr::axes.name});
            reduced = axes(operation, operand.shape.size());
            if (info(op).signature == Signature::truths) require(out == "bool", "gives bool, not " + out);
            if (info(op).signature == Signature::same)
                require(out == operand.dtype, "gives " + operand.dtype + ", not " + out);
        }
        require_shape(operation.type.shape, without(operand.shape, reduced), "the result's shape");
    }

    void check_index(const Operation& operation, const Type& whole, const std::vector<Size>& part) const {
        std::size_t axis = 0;
        std::size_t result_axis = 0;
        for (const IndexEntry& entry : attribute(operation, attr::index)) {
            if (entry.kind != IndexEntry::Kind::newaxis) {
                require(axis < whole.shape.size(), "more indices than " + text_of(whole) + " has axes");
                ++axis;
                check_size(entry.start);
            }
            if (entry.kind == IndexEntry::Kind::position) continue;
            require(result_axis < part.size(), "more result axes than the result has");
            if (entry.kind == IndexEntry::Kind::slice)
                check_size(entry.step);
            else
                require(operation.op == Op::index && part[result_axis].is_constant() &&
                            part[result_axis].constant() == 1,
                        "a new axis has the extent 1");
            ++result_axis;
        }
        require(axis == whole.shape.size() && result_axis == part.size(),
                "index=" + text_of(attribute(operation, attr::index)) + " does not fit " + text_of(whole));
    }

    void check_take(const Operation& operation, const Type& operand, const Type& positions) const {
        check_attributes(operation, {attr::axis.name});
        const auto at = static_cast<std::ptrdiff_t>(axis_of(operation, operand.shape, text_of(operand)));
        require(positions.dtype == "int64", "the positions are " + positions.dtype + ", not int64");
        std::vector<Size> shape(operand.shape.begin(), operand.shape.begin() + at);
        shape.insert(shape.end(), positions.shape.begin(), positions.shape.end());
        shape.insert(shape.end(), operand.shape.begin() + at + 1, operand.shape.end());
        require_type(operation.type, Type{operand.dtype, shape}, "the result");
    }

    /// `windows`: element (i, r) of two axes is element start + step i + stride r of the one that they stand for.
    void check_windows(const Operation& operation, const Type& operand) const {
        check_attributes(operation, {attr::axis.name, attr::start.name, attr::step.name, attr::stride.name});
        const int axis = attribute(operation, attr::axis);
        const std::vector<Size>& shape = operation.type.shape;
        require(axis >= 0 && axis < static_cast<int>(operand.shape.size()) && shape.size() == operand.shape.size() + 1,
                "axis=" + std::to_string(axis) + " does not fit " + text_of(operand));
        operation.attributes.for_each_size([&](const Size& size) { check_size(size); });
        std::vector<Size> whole = shape;
        const auto at = static_cast<std::size_t>(axis);
        whole.erase(whole.begin() + axis);
        whole[at] = operand.shape[at];
        require_type(Type{operation.type.dtype, whole}, operand, "the operand");
    }

    void check_operation(const Operation& operation) {
        const Op op = operation.op;
        const Type& result = operation.type;
        auto operand = [&](std::size_t k) -> const Type& { return scope_.at(operation.operands[k]); };
        const int count = info(operation.op).operands;
        require(count < 0 || operation.operands.size() == static_cast<std::size_t>(count),
                "takes " + std::to_string(count) + " operands, not " + std::to_string(operation.operands.size()));
        if (is_elementwise(op)) return check_elementwise(operation);
        if (op == Op::complex) {
            check_attributes(operation, {});
            require(find_dtype(result.dtype)->is_complex(), "gives complex numbers, not " + result.dtype);
            for (std::size_t k = 0; k < 2; ++k)
                require_type(operand(k), Type{real_dtype(result.dtype), result.shape},
                             "the operand " + operation.operands[k]);
        } else if (op == Op::conjugate || op == Op::real || op == Op::imag) {
            check_attributes(operation, {});
            require(find_dtype(operand(0).dtype)->is_complex(), "takes complex numbers, not " + operand(0).dtype);
            const std::string dtype = op == Op::conjugate ? operand(0).dtype : real_dtype(operand(0).dtype);
            require_type(result, Type{dtype, operand(0).shape}, "the result");
        } else if (op == Op::constant) {
            check_attributes(operation, {attr::value.name});
            require(result.shape.empty(), "a constant has no axes");
            require(is_literal(attribute(operation, attr::value), result.dtype),
                    attribute(operation, attr::value) + " is no " + result.dtype);
        } else if (op == Op::scalar_size) {
            check_attributes(operation, {attr::size.name});
            check_size(attribute(operation, attr::size));
            require_type(result, Type{"int64", {}}, "the result");
        } else if (op == Op::index) {
            check_attributes(operation, {attr::index.name});
            require(result.dtype == operand(0).dtype, "keeps the dtype");
            check_index(operation, operand(0), result.shape);
        } else if (op == Op::update) {
            check_attributes(operation, {attr::index.name});
            require_type(result, operand(0), "the result");
            require(operand(1).dtype == result.dtype, "the part has the dtype " + operand(1).dtype);
            check_index(operation, operand(0), operand(1).shape);
        } else if (op == Op::transpose) {
            check_attributes(operation, {attr::axes.name});
            const std::vector<int>& order = axes(operation, operand(0).shape.size());
            require(order.size() == operand(0).shape.size(), "needs every axis");
            std::vector<Size> shape;
            for (int axis : order)
                shape.push_back(operand(0).shape[static_cast<std::size_t>(axis)]);
            require_type(result, Type{operand(0).dtype, shape}, "the result");
        } else if (op == Op::reshape) {
            // Equal element counts are not decidable in general: the trace guards them.
            check_attributes(operation, {});
            require(result.dtype == operand(0).dtype, "keeps the dtype");
            Size before = product(operand(0).shape);
            Size after = product(result.shape);
            require(!before.is_constant() || !after.is_constant() || before.constant() == after.constant(),
                    text_of(operand(0)) + " has not the elements of " + text_of(result));
        } else if (op == Op::broadcast_to) {
            check_attributes(operation, {});
            require(result.dtype == operand(0).dtype, "keeps the dtype");
            check_broadcast(operand(0), result);
        } else if (op == Op::iota) {
            check_attributes(operation, {attr::axis.name});
            require(result.dtype == "int64", "gives int64");
            axis_of(operation, result.shape, "the result");
        } else if (op == Op::windows && dialect_ == Dialect::rewritten) {
            check_windows(operation, operand(0));
        } else if (op == Op::call) {
            check_attributes(operation, {attr::callee.name});
            require(!operation.operands.empty(), "has operands");
            require(!operation.attributes.at(attr::callee).text.empty(), "names its callee");
        } else if (op == Op::take) {
            check_take(operation, operand(0), operand(1));
        } else if (op == Op::matmul) {
            check_attributes(operation, {});
            const Type& a = operand(0);
            const Type& b = operand(1);
            require(a.shape.size() >= 2 && b.shape.size() >= 2, "takes matrices");
            require(same_size(a.shape.back(), b.shape.end()[-2]), text_of(a) + " @ " + text_of(b));
            require(a.dtype == result.dtype && b.dtype == result.dtype, "takes and gives one dtype");
            require(result.shape.size() == std::max(a.shape.size(), b.shape.size()),
                    "the result has other axes than " + text_of(a) + " @ " + text_of(b));
            std::vector<Size> shape = stack_of(result).shape;
            for (const Type* each : {&a, &b})
                check_broadcast(stack_of(*each), stack_of(result));
            shape.insert(shape.end(), {a.shape.end()[-2], b.shape.back()});
            require_shape(result.shape, shape, "the result's shape");
        } else if (is_reduction(op)) {
            check_reduction(operation, operand(0));
        } else {
            fail("no such operation");
        }
    }

    const Program& program_;
    const Dialect dialect_;
    std::set<std::string> names_;
    std::set<std::string> symbols_;
    Scope scope_; ///< the values that are visible
    std::string where_;
};

} // namespace

void verify_program(const Program& program, Dialect dialect) {
    Verifier(program, dialect).run();
}

} // namespace tilewright::translator
