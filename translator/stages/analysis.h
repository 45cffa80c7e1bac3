// translator/stages/analysis.h: what a translation decides before it makes any Func: stages, kernels, variants.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "translator/ir/element_order.h"
#include "translator/ir/fresh_names.h"
#include "translator/ir/program.h"
#include "translator/ir/size.h"
#include "translator/plan/steps.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// A value of the program.
struct ValueInfo {
    enum class Kind {
        array,
        scalar,
        expression,
        stage,
        given ///< inside a loop: what it carries, and its index
    };
    Kind kind = Kind::expression;
    Type type = {};
    const Operation* operation = nullptr; ///< null for arguments
    ElementOrder order = {};
    std::string view_of = {}; ///< the argument whose memory NumPy's result would share
    std::string half_of = {}; ///< the complex argument that this is the real or imaginary half of
};

/// How a reduction runs over its operand.
struct ReductionShape {
    std::vector<int> axes;   ///< reduced, ascending
    int joined = 1;          ///< of the last ones: neighbours of a flat operand, one loop
    bool contiguous = false; ///< NumPy's contiguous axis is among them
    Size extent;             ///< elements per result

    bool is_one_loop() const { return !axes.empty() && joined == static_cast<int>(axes.size()); }
    std::vector<int> innermost() const { return {axes.end() - joined, axes.end()}; }
};

/// An array that a stage leaves in memory.
struct StageBuffer {
    std::string name;
    std::string operand;                  ///< what the plan calls it: its name, or Z.real for a half of a result
    std::string value;                    ///< the program's value it holds
    const Operation* operation = nullptr; ///< null for a copy of `value`
    bool result = false;

    /// Whether it is computed element by element.
    bool is_elementwise() const { return operation == nullptr || translator::is_elementwise(operation->op); }
};

/// A stage that the plan needs in memory or the program names, with the one array that it makes.
struct StagePlan : StageBuffer {
    bool library = false;                      ///< a `library matmul` line
    std::vector<std::string> library_operands; ///< plan names
    /// Of each: which axis of that array the product has there ("021"; n: an axis of one element); "" for all in order.
    std::vector<std::string> library_axes;
    bool for_library = false;    ///< a library line reads it
    std::set<std::string> reads; ///< stages
    int kernel = 0;
    bool materialised = false;      ///< read by another kernel or the library, or a result
    bool flat = false;              ///< all its axes are one loop, over positions in C order
    const Target* target = nullptr; ///< the part of a buffer that it writes, where that is not its own buffer
    /// Of a loop that runs inside its elements (`operation` is the `for`): which carried values are its state.
    std::vector<std::size_t> state;
    /// Results of one loop that are computed together: one Tuple, a buffer each.
    std::vector<StageBuffer> joined;

    bool is_loop() const { return !state.empty(); }
    /// What has to be there before: stages, or what a library line reads, arguments among it.
    std::set<std::string> waits_for() const {
        return library ? std::set<std::string>(library_operands.begin(), library_operands.end()) : reads;
    }
    std::vector<StageBuffer> buffers() const { return joined.empty() ? std::vector<StageBuffer>{*this} : joined; }
};

/// Where a value that is a stage is read: an element of a stage's Tuple, and the buffer where that one is in memory.
struct StageSource {
    const StagePlan* stage = nullptr;
    std::size_t element = 0;
    std::string buffer;
};

/// A segment of a program with loops: what an analysis of it shares with the others.
struct SegmentContext {
    const std::vector<Target>* targets = nullptr; ///< of the yields
    const std::vector<MovingSize>* moving = nullptr;
    FreshNames* names = nullptr; ///< of stages and buffers so far
    /// Sums whose length changes from iteration to iteration run one by one: it is at most kLongestSerialSum
    /// whenever this code runs.
    bool short_sums = false;
};

/// Throws TranslateError.
[[noreturn]] void refuse_unknown_variant(const Program& program, const std::string& name, const std::string& option);

/// Block structure of a reduction in lanes.
struct LaneShape {
    int lanes = 64;
    int per_lane = 16;
    std::int64_t block() const { return std::int64_t{lanes} * per_lane; }
};

class Analysis {
  public:
    /// Both must outlive the analysis. Throws TranslateError for what has no translation.
    Analysis(const Program& program, const TranslateOptions& options, const SegmentContext& context = {});

    const ValueInfo& value(const std::string& name) const { return values_.at(name); }
    const std::vector<StagePlan>& stages() const { return stages_; }
    const StagePlan* stage_of_value(const std::string& value) const;
    /// An array that some stage leaves in memory; nothing for other names.
    std::optional<StageBuffer> buffer(const std::string& name) const;
    /// Where `reader`, a stage, finds a value of Kind::stage.
    StageSource source_of(const std::string& value, const std::string& reader) const;
    const std::vector<VariantInfo>& variants() const { return variants_; }
    /// The option of a stage that has a variant.
    const std::string& chosen(const std::string& stage) const { return chosen_.at(stage); }
    const std::map<std::string, std::string>& chosen() const { return chosen_; }
    /// Conditions of plan_text.md under which this translation is right.
    const std::vector<std::string>& requirements() const { return requirements_; }
    /// What the plan calls an argument, a half of one, or a stage: X, Z.real, t0.
    std::string operand(const std::string& name) const;
    /// Results of complex numbers, whose halves are outputs of kernels: `Z` of type complex128[n].
    const std::vector<std::pair<std::string, Type>>& complex_results() const { return complex_results_; }
    /// Plan names of what the function returns, in order.
    const std::vector<std::string>& returned() const { return returned_; }
    int kernels() const { return kernels_; }
    ReductionShape reduction_shape(const Operation& operation) const;
    LaneShape lane_shape(const Operation& operation) const;
    /// Program sizes, in the order of the arguments.
    const std::vector<std::string>& sizes() const { return sizes_; }
    /// The size itself, or the largest that it has in any iteration; nothing where that is not known.
    std::optional<Size> most(const Size& size) const;
    std::int64_t here(const Size& size) const;
    /// Lengths of rounding sums that change from iteration to iteration, some of which may be too long to be summed one
    /// by one.
    const std::vector<Size>& moving_lengths() const { return moving_lengths_; }
    /// "kmeans.py:8: norm = sum(%3) {axes=[2]}"
    std::string where(const Operation& operation) const;
    std::string unique(const std::string& wish);
    Layout layout(const std::string& argument) const;

  private:
    std::vector<Size> moving_lengths_;
    void collect_values();
    void require_32_bits();
    std::string stage_name(const std::string& value);
    ValueInfo describe(const Operation& operation, bool stage) const;
    // loop_stages.cpp
    void collect_loop(const Operation& loop, std::set<std::string>& used);
    void keep_before_loop(const std::string& value);
    /// The same, whatever it costs, as a stage of this name where the program has none for it.
    void keep_before(const std::string& value, const std::string& name);
    int operations_of(const std::string& value) const;
    void collect_loop_stages(const Operation& loop);
    void dissolve_readers_of_loops();
    void join_readers_of_loops();
    void join_halves();
    void choose_state();
    /// The values of Kind::stage in which the expressions over these ones end.
    std::set<std::string> stored_behind(const std::vector<std::string>& values) const;
    std::set<std::string> read_values(const StagePlan& plan) const;
    void refresh_reads(StagePlan& plan) const;
    /// Of all stages, which then come in order again.
    void refresh_stages();
    std::set<std::string> library_operands() const;
    bool reads_through(const StagePlan& reader, const std::string& stage) const;
    void order_stages();
    void refuse(const Operation& operation) const;
    bool is_translated(const std::string& dtype) const;
    void choose_variants();
    void choose_reduction(const Operation& operation);
    bool has_computed_terms(const Operation& operation) const;
    bool has_few_rows(const Operation& product) const;
    void choose_matmul(const Operation& operation);
    void collect_stages();
    /// The stage that gives a returned value; `operand` is its name in the plan, "" for the stage's own.
    std::string result_stage(const std::string& value, const std::string& operand);
    void return_complex(const Operation& operation);
    void refuse_view(const Operation& operation, const std::string& of) const;
    /// A stage that copies a value, in memory.
    StagePlan copy_of(const std::string& value, const std::string& name, const std::string& operand) const;
    void add_library_operand(StagePlan& product, const std::string& value, const char* suffix);
    void keep_live();
    void assign_kernels();
    // flat_stages.cpp
    void choose_axes();
    void refuse_unknown_variants() const;
    /// The option given for a choice, else the first one.
    std::string given_option(const std::string& name, const std::vector<std::string>& options) const;
    std::set<std::string> flat_candidates() const;
    bool may_be_flat(const StagePlan& plan) const;
    bool reads_in_order(const std::string& value, const std::vector<std::string>& extents,
                        const std::set<std::string>& flat) const;
    const StagePlan* find_stage(const std::string& name) const;
    StagePlan& stage(const std::string& name);

    const Program& program_;
    const TranslateOptions& options_;
    SegmentContext context_;
    std::map<std::string, ValueInfo> values_;
    std::vector<StagePlan> stages_;
    std::map<std::string, std::string> stage_names_;     ///< of values that are stages
    std::map<std::string, std::string> stage_of_value_;  ///< the same, once the stage is in the table
    std::map<std::string, std::string> buffer_of_value_; ///< of values in a stage of several buffers
    std::vector<VariantInfo> variants_;
    std::map<std::string, std::string> chosen_;
    std::vector<std::string> requirements_;
    std::vector<std::string> returned_;
    std::vector<std::pair<std::string, Type>> complex_results_;
    std::map<std::string, std::string> complex_names_;  ///< value -> its name in the plan
    std::map<std::string, std::string> copies_;         ///< value -> the result's stage that copies it
    std::map<std::string, std::string> library_copies_; ///< the same of what a library reads
    std::vector<std::string> sizes_;
    std::set<std::string> names_;
    int kernels_ = 0;
};

/// The levels of a reduction in lanes under a variant's option, 0 where it does not run in lanes.
int lane_levels(const std::string& option);
/// The same of blocks of rows, kRowsPerBlock in each.
int row_levels(const std::string& option);
inline constexpr int kRowsPerBlock = 256;

} // namespace tilewright::translator
