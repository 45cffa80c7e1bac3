// dsl/runtime/plan.h: a plan as data. Its text is plan_text.md.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/runtime/dtype.h"
#include "dsl/runtime/size_expression.h"

namespace tilewright::runtime {

inline constexpr int kMaxRank = 8;

/// An argument of the function, in its order: an array, or a scalar passed by value.
struct PlanArgument {
    std::string name;
    DType dtype = DType::float64;
    bool is_array = true;
    int rank = 0;
};

/// Checked for every call. `message` is for the person whose call fails it.
struct PlanGuard {
    SizeExpression condition;
    std::string message;
};

/// A result or a temporary.
struct PlanBuffer {
    std::string name;
    DType dtype = DType::float64;
    std::vector<SizeExpression> shape;
};

struct PlanRequirement {
    enum class Kind { isa, layout_c, layout_f, condition };
    Kind kind = Kind::condition;
    std::string name; ///< the ISA level, or the array
    SizeExpression condition;
};

/// A kernel of an object, or a library routine.
struct PlanStep {
    enum class Kind { call, matmul };
    Kind kind = Kind::call;
    std::string symbol;
    std::string object;
    /// Of a call: an expression that is one symbol may name an array, a scalar or a size. Of matmul: three arrays.
    std::vector<SizeExpression> arguments;
};

struct PlanVersionBody {
    std::string label;
    std::vector<PlanRequirement> requirements;
    std::vector<PlanBuffer> temporaries;
    std::vector<PlanStep> steps;
};

struct Plan {
    std::string function;
    std::vector<PlanArgument> arguments;
    std::vector<PlanGuard> guards;
    std::vector<PlanBuffer> results;
    std::vector<std::string> returns; ///< names of results or arguments
    bool returns_tuple = false;
    std::vector<PlanVersionBody> versions;
};

/// Throws ExportError "plan of get_labels, line 4: ..." for text that is damaged or contradicts itself.
Plan parse_plan(std::string_view text);
/// Canonical: parse_plan(print_plan(p)) prints the same text.
std::string print_plan(const Plan& plan);

} // namespace tilewright::runtime
