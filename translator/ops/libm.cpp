// translator/ops/libm.cpp: functions of the C library, to the bit: NumPy's normal draws are made with them.
#include "dsl/base/error.h"
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;

namespace {

Expr library_call(const char* name, const Exprs& x, const RuleContext& context) {
    if (context.device || context.to->dtype != DType::float64)
        throw TranslateError("the C library's functions are called by kernels for CPUs, of float64");
    return outside_call(Halide::Float(64), name, x);
}

} // namespace

Expr libm_exp(const Exprs& x, const RuleContext& context) {
    return library_call("exp", x, context);
}

Expr libm_log(const Exprs& x, const RuleContext& context) {
    return library_call("log", x, context);
}

Expr libm_log1p(const Exprs& x, const RuleContext& context) {
    return library_call("log1p", x, context);
}

} // namespace tilewright::translator::ops
