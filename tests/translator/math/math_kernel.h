// tests/translator/math/math_kernel.h: one elementary function, compiled at run time for one instruction set.
#pragma once

#include <string>
#include <vector>

#include "Halide.h"

namespace tilewright::translator::test {

/// x86-64, x86-64-v3, x86-64-v4.
inline const std::vector<std::string> kIsas = {"x86-64", "x86-64-v3", "x86-64-v4"};

/// StrictFloat for strict contracts; throws std::invalid_argument for an ISA that is not in the list.
Halide::Target math_target(const std::string& isa, bool fast);
/// Whether this machine can run it.
bool runs_here(const std::string& isa);

class MathKernel {
  public:
    MathKernel(const std::string& name, Halide::Type type, const std::string& isa, int lanes, bool fast = false);
    int arity() const { return int(inputs_.size()); }
    /// Applies the function to `count` elements of each input; `out` may not overlap them.
    void run(const std::vector<const void*>& in, void* out, int count);

  private:
    Halide::Type type_;
    std::vector<Halide::ImageParam> inputs_;
    Halide::Pipeline pipeline_;
    Halide::Callable callable_;
};

} // namespace tilewright::translator::test
