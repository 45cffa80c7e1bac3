// dsl/passes/while_loop.h: a loop whose end nobody knows, of loops that Halide has.
#pragma once

#include <cstdint>
#include <string>

#include "Halide.h"

namespace tilewright::dsl {

/// `body` again and again while the one byte `alive` is not 0. It is 1 before the first time, and `body` stores it.
/// Asks about every `iterations_between_asks` whether the call is interrupted.
Halide::Internal::Stmt while_loop(const std::string& alive, const Halide::Internal::Stmt& body,
                                  std::int64_t iterations_between_asks);

/// The store that ends such a loop where `goes_on` does not hold, and `rest` where it does.
Halide::Internal::Stmt leave_unless(const std::string& alive, const Halide::Expr& goes_on,
                                    const Halide::Internal::Stmt& rest);

} // namespace tilewright::dsl
