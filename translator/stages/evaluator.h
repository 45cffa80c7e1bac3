// translator/stages/evaluator.h: Halide expressions for the program's values at given indices.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"
#include "translator/ops/rules.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {

/// ASCII letters and digits as they are, underscores for all else.
std::string identifier(const std::string& text);

/// What the kernels of a whole plan share.
struct Parameters {
    std::map<std::string, Halide::Param<int32_t>> sizes;
    std::map<std::string, Halide::Param<void>> scalars;
    std::map<std::string, Halide::ImageParam> arrays; ///< arguments and what earlier kernels left in memory
    std::map<std::string, Halide::ImageParam> flat;   ///< the same, as one long axis
    std::set<std::string> symbols;                    ///< names given to Halide, which must differ

    /// Sizes and inputs as schedules know them.
    void describe(dsl::AlgorithmImpl& impl) const;
};

/// What all kernels of an analysis share: those parameters and the stages made so far.
struct Shared : Parameters {
    const Program& program;
    const TranslateOptions& options;
    Analysis& analysis;
    std::set<std::string> loop_symbols = {};        ///< sizes that change from iteration to iteration of a loop around
    std::map<std::string, Halide::Func> funcs = {}; ///< stages of the kernel that makes them
    std::map<std::string, Halide::Expr> loop_indices = {}; ///< of the loop whose body is being evaluated
    /// Some stage so far reads other places at the ends of an axis than within (Evaluator::of_loops).
    bool turns_at_ends = false;

    Halide::Expr size(const Size& tree) const;
    /// The same in 64 bits, as a value of the program.
    Halide::Expr wide_size(const Size& tree) const;
    /// A name for Halide: an ASCII identifier, different from all others.
    std::string symbol(const std::string& wish);
    Halide::ImageParam array(const std::string& name);
    Halide::ImageParam flat_array(const std::string& name);
    /// Of each axis of an array with such strides; `innermost`: from one element to the next.
    Exprs strides(const std::vector<Size>& shape, Layout layout, int innermost) const;
    /// 2 for a half of complex numbers.
    static int element_stride(const std::string& operand);
};

/// What a definition used, for the table of stages and for the arguments of its kernel.
struct Used {
    std::set<std::string> scalars;
    std::set<std::string> arrays;
    std::set<std::string> flat;
};

/// Evaluates values inside one kernel. Indices are in NumPy's axis order, int32.
class Evaluator {
  public:
    Evaluator(Shared& shared, int kernel) : shared_(shared), kernel_(kernel) {}

    /// `flat`: the index is one position in C order. Requires ElementOrder::flat, or that all stages between are
    /// (StagePlan::flat).
    Halide::Expr at(const std::string& value, const Exprs& index, bool flat = false);
    /// The definition of a stage that is computed element by element, where at() would read the stage.
    Halide::Expr define(const Operation& operation, const Exprs& index, bool flat = false);
    /// The index of an operand that broadcasts to `shape`.
    static Exprs broadcast(const std::vector<Size>& operand, const std::vector<Size>& shape, const Exprs& index);
    /// Which stage's definitions come next: one of several buffers reads what it is made of, others read it.
    void begin_stage(const std::string& stage) { reader_ = stage; }
    /// From here on `value` is this expression, whatever the index: what a loop carries, at the element.
    void give(const std::string& value, const Halide::Expr& expression) { given_[value] = expression; }
    void take_back_given() { given_.clear(); }

    /// Forgets what was evaluated and counts operations anew; call it before each definition.
    void begin_definition() {
        memory_.clear();
        operations_ = 0;
    }
    int operations() const { return operations_; }
    const Used& used() const { return used_; }

  private:
    Halide::Expr compute(const ValueInfo& info, const std::string& name, const Exprs& index, bool flat);
    Halide::Expr read_array(const Halide::ImageParam& array, const std::string& dtype, const Exprs& index);
    bool repeats_along_rows(const Operation& operation) const;
    Halide::Expr apply(const Operation& operation, const Exprs& operands);
    Halide::Expr read_scalar(const std::string& name);
    /// A stage made in this kernel, or the memory that an earlier kernel left.
    Halide::Expr read_stage(const std::string& value, const std::string& dtype, const Exprs& index);
    Halide::Expr index_view(const Operation& operation, const Exprs& index);
    Halide::Expr windows_view(const Operation& operation, const Exprs& index);
    Halide::Expr reshape_view(const Operation& operation, const Exprs& index);
    Halide::Expr taken(const Operation& operation, const Exprs& index);
    /// A position that loops alone decide, such as np.arange(n)[:, None] + np.arange(3) (positions.cpp).
    struct OfLoops {
        Halide::Expr at; ///< int32
        Size least, most;
    };
    /// What a position is known to be where a condition on it holds.
    struct Narrowed {
        std::string value;
        Exprs index;
        OfLoops place;
    };
    struct BeyondAnEnd {
        Halide::Expr is_beyond;
        Narrowed narrowed;
    };
    /// Nothing for any other value.
    std::optional<OfLoops> of_loops(const std::string& value, const Exprs& index, int depth = 0);
    std::optional<OfLoops> turned(const Operation& operation, const Exprs& index, int depth);
    std::optional<OfLoops> on_a_ring(const std::optional<OfLoops>& x, const std::optional<OfLoops>& by) const;
    std::optional<OfLoops> clamped(const Operation& operation, const Exprs& index, int depth);
    std::optional<OfLoops> turned_back(const Operation& operation, const Exprs& index, int depth);
    std::optional<BeyondAnEnd> beyond_an_end(const Operation& operation, const Exprs& index, int depth);
    std::optional<Halide::Expr> framed(const Operation& operation, const Exprs& index);
    OfLoops inside(const Halide::Expr& position, const Size& extent) const;
    Halide::Expr updated(const Operation& operation, const Exprs& index);
    Halide::Expr linear(const std::vector<Size>& shape, const Exprs& index) const;
    /// The index of `value` where an operation that it is broadcast into has `index`.
    Exprs along(const std::string& value, const Operation& reader, const Exprs& index) const;

    struct Remembered {
        Exprs index; ///< kept alive, so that node addresses stay unique
        Halide::Expr value;
    };
    Shared& shared_;
    int kernel_;
    std::map<std::pair<std::string, std::vector<const void*>>, Remembered> memory_;
    std::map<std::string, Halide::Expr> given_;
    std::optional<Narrowed> narrowed_;
    std::string reader_;
    int operations_ = 0;
    bool part_may_be_empty_ = false; ///< what is evaluated is a part that `updated` reads, also where it is empty
    Used used_;
};

} // namespace tilewright::translator
