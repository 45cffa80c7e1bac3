// dsl/passes/statement_pass.h: a function on statements as one of Halide's lowering passes.
#pragma once

#include <utility>

#include "Halide.h"

namespace tilewright::dsl {

/// Makes a pipeline run `function` (Stmt -> Stmt) on its statement at the end of each lowering.
template <class F> void add_statement_pass(Halide::Pipeline& pipeline, F function) {
    class Pass : public Halide::Internal::IRMutator {
      public:
        explicit Pass(F run) : run_(std::move(run)) {}
        using IRMutator::mutate;
        Halide::Internal::Stmt mutate(const Halide::Internal::Stmt& statement) override { return run_(statement); }

      private:
        F run_;
    };
    auto* pass = new Pass(std::move(function));
    pipeline.add_custom_lowering_pass(pass, [pass] { delete pass; });
}

} // namespace tilewright::dsl
