// translator/ops/math.cpp: elementary functions by operation.
#include "translator/ops/math.h"

#include "dsl/base/error.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator {

namespace {

using math::Real;

/// A function of one or of two arguments; the other pointer is null.
struct Elementary {
    Real (*unary)(const Real&) = nullptr;
    Real (*binary)(const Real&, const Real&) = nullptr;
    const char* libdevice = ""; ///< the float64 function of CUDA's library: at most 2 ULP each (CUDA programming guide)
};
constexpr Elementary entry(Real (*function)(const Real&), const char* libdevice) {
    return {function, nullptr, libdevice};
}
constexpr Elementary entry(Real (*function)(const Real&, const Real&), const char* libdevice) {
    return {nullptr, function, libdevice};
}

Elementary find(Op op) {
    switch (op) {
#define ELEMENTARY(name, operands, libdevice, ...)                                                                     \
    case Op::name:                                                                                                     \
        return entry(math::name, libdevice);
#include "translator/ir/operations.def"
    case Op::power: // of floats
        return entry(math::power, "__nv_pow");
    default:
        throw InternalError("elementary: " + text_of(op) + " is no elementary function.");
    }
}

} // namespace

Halide::Expr outside_call(const Halide::Type& type, const std::string& name, const std::vector<Halide::Expr>& args) {
    using Halide::Internal::Call;
    return Call::make(type, name, args, Call::PureExtern);
}

Halide::Expr elementary(Op op, std::vector<Halide::Expr> args, Contraction contraction) {
    const Elementary f = find(op);
    const std::size_t arity = f.unary != nullptr ? 1 : 2;
    if (args.size() != arity) {
        throw InternalError("elementary: " + text_of(op) + " takes " + std::to_string(arity) + " arguments, not " +
                            std::to_string(args.size()) + ".");
    }
    const Halide::Type type = args[0].type();
    for (const Halide::Expr& arg : args) {
        if (arg.type() != type || (type != Halide::Float(32) && type != Halide::Float(64))) {
            throw InternalError("elementary: " + text_of(op) + " takes float32 or float64 of one type.");
        }
    }
    // libdevice's float64 functions keep to 2 ULP and read their coefficients from tables. Its float32 ones flush
    // subnormal numbers the way Halide links them, so those are ours.
    if (contraction == Contraction::device && type == Halide::Float(64) && *f.libdevice != '\0')
        return outside_call(type, f.libdevice, args);
    // Arguments become variables and shared values lets: passes that walk an expression as a tree would otherwise
    // take time exponential in the depth of nested calls.
    std::vector<std::string> names;
    std::vector<Real> values;
    for (std::size_t i = 0; i < arity; ++i) {
        names.push_back(Halide::Internal::unique_name("elementary_argument"));
        values.emplace_back(Halide::Internal::Variable::make(type, names.back()), contraction);
    }
    const Real result = arity == 1 ? f.unary(values[0]) : f.binary(values[0], values[1]);
    Halide::Expr body = Halide::Internal::common_subexpression_elimination(result.expr());
    for (std::size_t i = arity; i-- > 0;)
        body = Halide::Internal::Let::make(names[i], args[i], body);
    return body;
}

} // namespace tilewright::translator
