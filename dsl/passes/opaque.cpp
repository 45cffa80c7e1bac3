// dsl/passes/opaque.cpp: the lowering pass that takes tw_opaque markers away.
#include "dsl/passes/opaque.h"

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

class WithoutMarkers : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call* op) override {
        const bool marker = op->call_type == Call::PureIntrinsic && op->name == kOpaqueMarker;
        return marker ? mutate(op->args[0]) : IRMutator::visit(op);
    }
};

} // namespace

void add_opaque_pass(Halide::Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return WithoutMarkers().mutate(statement); });
}

} // namespace tilewright::dsl
