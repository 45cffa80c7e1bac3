// translator/ops/math.cpp: the list of elementary functions.
#include "translator/ops/math.h"

#include <array>

#include "dsl/base/error.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator {

namespace {

using math::Real;

/// A function of one or of two arguments; the other pointer is null.
struct Elementary {
    const char* name;
    Real (*unary)(const Real&);
    Real (*binary)(const Real&, const Real&);
    const char* libdevice; ///< the float64 function of CUDA's library: at most 2 ULP each (CUDA programming guide);
                           ///< null: ours is faster
};

constexpr std::array kFunctions = {
    Elementary{"arccos", math::arccos, nullptr, "__nv_acos"},
    Elementary{"arcsin", math::arcsin, nullptr, "__nv_asin"},
    Elementary{"arctan", math::arctan, nullptr, "__nv_atan"},
    Elementary{"arctan2", nullptr, math::arctan2, "__nv_atan2"},
    Elementary{"cbrt", math::cbrt, nullptr, "__nv_cbrt"},
    Elementary{"cos", math::cos, nullptr, nullptr},
    Elementary{"cosh", math::cosh, nullptr, "__nv_cosh"},
    Elementary{"exp", math::exp, nullptr, nullptr},
    Elementary{"exp2", math::exp2, nullptr, "__nv_exp2"},
    Elementary{"expm1", math::expm1, nullptr, "__nv_expm1"},
    Elementary{"hypot", nullptr, math::hypot, "__nv_hypot"},
    Elementary{"log", math::log, nullptr, "__nv_log"},
    Elementary{"log10", math::log10, nullptr, "__nv_log10"},
    Elementary{"log1p", math::log1p, nullptr, "__nv_log1p"},
    Elementary{"log2", math::log2, nullptr, "__nv_log2"},
    Elementary{"power", nullptr, math::power, "__nv_pow"},
    Elementary{"sin", math::sin, nullptr, nullptr},
    Elementary{"sinh", math::sinh, nullptr, "__nv_sinh"},
    Elementary{"tan", math::tan, nullptr, "__nv_tan"},
    Elementary{"tanh", math::tanh, nullptr, "__nv_tanh"},
};

const Elementary* find(const std::string& name) {
    for (const Elementary& f : kFunctions) {
        if (name == f.name) return &f;
    }
    return nullptr;
}

} // namespace

bool has_elementary(const std::string& name) {
    return find(name) != nullptr;
}

Halide::Expr elementary(const std::string& name, std::vector<Halide::Expr> args, Contraction contraction) {
    const Elementary* f = find(name);
    if (f == nullptr) throw InternalError("elementary: no function is called '" + name + "'.");
    const std::size_t arity = f->unary != nullptr ? 1 : 2;
    if (args.size() != arity) {
        throw InternalError("elementary: " + name + " takes " + std::to_string(arity) + " arguments, not " +
                            std::to_string(args.size()) + ".");
    }
    const Halide::Type type = args[0].type();
    for (const Halide::Expr& arg : args) {
        if (arg.type() != type || (type != Halide::Float(32) && type != Halide::Float(64))) {
            throw InternalError("elementary: " + name + " takes float32 or float64 of one type.");
        }
    }
    // libdevice's float64 functions keep to 2 ULP and read their coefficients from tables. Its float32 ones flush
    // subnormal numbers the way Halide links them, so those are ours.
    if (contraction == Contraction::device && type == Halide::Float(64) && f->libdevice != nullptr)
        return Halide::Internal::Call::make(type, f->libdevice, args, Halide::Internal::Call::PureExtern);
    // Arguments become variables and shared values lets: passes that walk an expression as a tree would otherwise
    // take time exponential in the depth of nested calls.
    std::vector<std::string> names;
    std::vector<Real> values;
    for (std::size_t i = 0; i < arity; ++i) {
        names.push_back(Halide::Internal::unique_name("elementary_argument"));
        values.emplace_back(Halide::Internal::Variable::make(type, names.back()), contraction);
    }
    const Real result = arity == 1 ? f->unary(values[0]) : f->binary(values[0], values[1]);
    Halide::Expr body = Halide::Internal::common_subexpression_elimination(result.expr());
    for (std::size_t i = arity; i-- > 0;)
        body = Halide::Internal::Let::make(names[i], args[i], body);
    return body;
}

} // namespace tilewright::translator
