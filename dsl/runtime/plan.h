// dsl/runtime/plan.h: a plan as data. Its text is plan_text.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/base/dtypes.h"
#include "dsl/base/size_expression.h"

namespace tilewright::runtime {

inline constexpr int kMaxRank = 8;
inline constexpr std::size_t kMaxStageArrays = 32; ///< the result counted

/// As messages write sizes: without blanks around `*`.
inline std::string print_size(const SizeExpression& size) {
    return size.text(SizeStyle::plan);
}

/// An argument of the function, in its order: an array, or a scalar passed by value.
struct PlanArgument {
    std::string name;
    DType dtype = DType::float64;
    bool is_array = true;
    int rank = 0;
    bool written = false; ///< an array that the call writes into; it shares no memory with the call's other arrays
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

    bool operator==(const PlanRequirement&) const = default;
};

enum class StepKind {
    call,         ///< a kernel of an object; an argument that is one symbol may name an array, a scalar or a size
    matmul,       ///< three arrays, the first two of them perhaps with their axes in another order
    stage,        ///< arrays, the last of them the result; `message` is the expression that Python computes of them
    copy,         ///< two arrays: from, to
    save,         ///< an argument that is written, a temporary: copied, and copied back where the call fails later
    swap,         ///< two temporaries
    read,         ///< one array, of no dimensions; `symbol` is the size that it gives
    check,        ///< a truth; where it is false, the call ends, and `message` says why
    temporary,    ///< `temporary` of the version begins to be known here, until its block ends
    for_range,    ///< three sizes: from, to, step; `symbol` is the size that counts
    loop,         ///< again and again, until something in it leaves it
    leave,        ///< the innermost loop; always
    leave_if,     ///< where the one argument is true
    leave_unless, ///< where it is not
    branch        ///< the body where the one argument is true, else `otherwise`
};

/// How a step is written, and what follows from its kind alone.
struct StepForm {
    StepKind kind;
    /// `$` its symbol, `@` its object, `?` the next argument, `*` all arguments, `!` its message, `#` its temporary.
    const char* text;
    bool opens_block = false; ///< it has a body
    bool waits = false;       ///< on a device, the host waits for data or starts each iteration
};
inline constexpr StepForm kStepForms[] = {
    {StepKind::call, "call $ in @ (*)"},
    {StepKind::matmul, "library $ (*)"},
    {StepKind::stage, "stage ! (*)"},
    {StepKind::copy, "copy ? to ?"},
    {StepKind::save, "save ? in ?"},
    {StepKind::swap, "swap ? ?"},
    {.kind = StepKind::read, .text = "read $ from ?", .waits = true},
    {.kind = StepKind::check, .text = "check ? !", .waits = true},
    {StepKind::temporary, "temp #"},
    {.kind = StepKind::for_range, .text = "for $ from ? to ? step ?", .opens_block = true, .waits = true},
    {.kind = StepKind::loop, .text = "loop", .opens_block = true, .waits = true},
    {.kind = StepKind::leave, .text = "leave", .waits = true},
    {.kind = StepKind::leave_if, .text = "leave if ?", .waits = true},
    {.kind = StepKind::leave_unless, .text = "leave unless ?", .waits = true},
    {.kind = StepKind::branch, .text = "if ?", .opens_block = true, .waits = true},
};
constexpr const StepForm& form(StepKind kind) {
    return kStepForms[static_cast<std::size_t>(kind)];
}
static_assert(std::ranges::all_of(kStepForms, [](const StepForm& each) { return form(each.kind).kind == each.kind; }));

/// What every step says, from the translator's cut to the executor. `Step` is what stands in its blocks: the cut has
/// steps that know what a call will compute (translator/plan/steps.h).
template <class Step> struct StepOf {
    using Kind = StepKind;

    Kind kind = Kind::call;
    std::string symbol{};
    /// A half of a complex array or scalar is a symbol as well: `Z.real`, `Z.imag`.
    std::vector<SizeExpression> arguments{};
    std::string message{};
    std::vector<Step> body{}, otherwise{};

    bool is_loop() const { return kind == Kind::for_range || kind == Kind::loop; }
};

/// How a function of several kernels runs a loop or a copy; the text of a plan says nothing of it.
struct InGroup {
    SizeExpression count; ///< of a loop its iterations, of a copy its elements
    bool parallel = false;
    std::int64_t iterations_per_task = 1;     ///< of a parallel loop, at least
    std::int64_t iterations_between_asks = 1; ///< for an interrupt, of a loop that data end
    /// Elements of the output's other axes do not need each other: around one kernel the loop may run inside the
    /// outermost loops of that.
    bool may_go_inside = false;
    std::vector<std::string> own; ///< temporaries of no dimensions that each iteration has for itself
    /// Truths that iterations of a parallel loop only lower: the plan gives the call up where one did.
    std::vector<std::string> flags;
    /// Not 0: a loop over rows around loops over columns: so many rows are under way together, each at least
    /// `skew` columns behind the one before it (dsl/passes/wavefront). A schedule may name another number.
    int rows_together = 0;
    int skew = 0;
    int first_column = 0; ///< of a loop over columns: that of its first iteration
};

/// A step of a version, with the steps in it.
struct PlanStep : StepOf<PlanStep> {
    std::string object{};
    std::size_t temporary = 0;
    std::optional<InGroup> in_group{}; ///< of a loop, branch or copy that a function of kernels may hold
};

/// Calls `seen(step)` for each step, those in blocks too, in the order of the text.
template <class Steps, class Seen> void for_each_step(Steps& steps, const Seen& seen) {
    for (auto& step : steps) {
        seen(step);
        for_each_step(step.body, seen);
        for_each_step(step.otherwise, seen);
    }
}

/// `Z.real` is Z and its half 0, `Z.imag` Z and 1; any other name is itself and -1.
std::pair<std::string, int> complex_half(const std::string& name);
/// `B^021` is B and "021", the axes of B in another order; any other name is itself and "".
std::pair<std::string, std::string> ordered_axes(const std::string& name);
/// The array or scalar of a name that stands for a part of it, or for its axes in another order.
std::string array_of(const std::string& name);

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
    std::vector<std::size_t> sliced; ///< arguments; a call may be given the same part of all their first axes
    std::vector<PlanBuffer> results;
    std::vector<std::string> returns; ///< names of results or arguments; none: the function returns None
    std::vector<std::string> numbers; ///< for each, the Python type that is made of it: int, float, bool, or
                                      ///< nothing; held: what a stage holds under that number
    bool returns_tuple = false;
    std::vector<PlanVersionBody> versions;
};

/// Throws ExportError "plan of get_labels, line 4: ..." for text that is damaged or contradicts itself.
Plan parse_plan(std::string_view text);
/// Canonical: parse_plan(print_plan(p)) prints the same text.
std::string print_plan(const Plan& plan);
/// Its parts: the lines before the first version, and those between `version` and `end`.
std::string print_header(const Plan& plan);
std::string print_body(const PlanVersionBody& version);

/// A version that was compiled by itself as one of several of a plan: `label` is for people ("x86-64-v4, tuned"),
/// `in "K"` becomes `in "K.SUFFIX"`, and `requirements` come before its own; each stands once.
PlanVersionBody under_terms(PlanVersionBody version, const std::string& label, const std::string& object_suffix,
                            const std::vector<PlanRequirement>& requirements);

} // namespace tilewright::runtime
