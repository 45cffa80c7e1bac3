// dsl/passes/device_functions.cpp: lets of the host that call functions of a device become lets of its blocks.
#include <algorithm>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

Stmt device_functions_in_blocks(const Stmt& statement) {
    Lets moved;
    const auto is_devices = [&](const Expr& value) {
        const auto calls_device = [](const Call* op) {
            return op->name.starts_with("__nv_") || op->name.starts_with("llvm.nvvm.");
        };
        return contains(value, calls_device) || std::any_of(moved.begin(), moved.end(), [&](const auto& let) {
                   return expr_uses_var(value, let.first);
               });
    };
    const auto is_over_blocks = [](const For* op) { return op->for_type == ForType::GPUBlock; };
    return mutate_with(
        statement,
        [&](Mutator& self, const LetStmt* op) {
            if (!is_devices(op->value)) return self.inside(op);
            moved.emplace_back(op->name, op->value);
            Stmt body = self.mutate(op->body);
            moved.pop_back();
            return body;
        },
        [&](Mutator& self, const For* op) {
            if (!is_over_blocks(op) || contains(op->body, is_over_blocks)) return self.inside(op);
            return with_body(op, within_used<LetStmt>(moved, op->body));
        });
}

} // namespace tilewright::dsl
