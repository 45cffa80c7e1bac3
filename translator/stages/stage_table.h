// translator/stages/stage_table.h: defines Halide Funcs and describes them as stages with named loops.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"
#include "translator/stages/evaluator.h"

namespace tilewright::translator {

/// A loop of a definition: what schedules call it and how far it runs.
struct Loop {
    std::string name;
    Size extent;
    bool reduced = false;
    bool ordered = false;
};

/// A stage under construction. Loops are outermost first; the last pure one runs along the contiguous dimension.
class StageDraft {
  public:
    StageDraft(Shared& shared, std::string name);

    /// A pure loop of every definition of this stage.
    Halide::Var pure(const std::string& name, const Size& extent);
    /// The same for each axis of an array, i, j, ...: its index.
    Exprs axes(const std::vector<Size>& shape);
    void define(const Exprs& values, int operations);
    /// Reduced loops, outermost first; the RDom is made of them. Then update() uses it.
    Halide::RDom reduce(const std::vector<Loop>& loops);
    void update(const Halide::RDom& domain, const std::vector<Loop>& loops, const Exprs& values,
                const Exprs& predicates, int operations);

    Halide::Func func() const { return func_; }
    /// The elements so far at the pure loops: the left side of an update.
    Exprs current() const;
    bool has_updates() const { return !update_loops_.empty(); }

    std::vector<std::string> dtypes;
    const Operation* operation = nullptr;
    bool output = false;
    bool guarded = false; ///< StageInfo::guarded
    int kernel = 0;
    dsl::StagePart part = dsl::StagePart::whole;

  private:
    friend class StageTable;
    /// What a definition says, over the pure loops and those of an update's domain.
    void assign(Halide::FuncRef elements, Exprs values, const std::vector<Loop>& reduced,
                const Halide::RDom& domain) const;
    void note_reads(int definition, const Exprs& values, const std::vector<Loop>& loops);

    Shared& shared_;
    std::string name_;
    Halide::Func func_;
    std::vector<Loop> pure_;
    std::map<std::string, Halide::Var> vars_;
    std::vector<std::vector<Loop>> update_loops_;
    std::vector<std::map<std::string, Halide::RVar>> update_rvars_;
    struct Noted {
        int definition;
        Exprs values;
        std::map<std::string, std::string> variables; ///< Halide's variable -> loop
    };
    std::vector<Noted> noted_;
    int operations_ = 0;
};

/// All stages of a translation, in the order in which they were finished.
class StageTable {
  public:
    explicit StageTable(Shared& shared) : shared_(shared) {}
    void finish(StageDraft draft);

    std::map<std::string, dsl::StageImpl> impls;
    std::vector<dsl::StageInfo> infos;

  private:
    /// The stage or array that is read.
    struct ReadSource {
        std::string name;
        bool in_memory = false;
        bool is_flat = false; ///< as one long axis
    };
    std::optional<ReadSource> source_of(const std::string& loaded) const;
    bool follows_loops(const std::vector<Loop>& loops) const;
    std::vector<dsl::LoopInfo> loop_infos(const std::vector<Loop>& loops) const;

    Shared& shared_;
    std::map<std::string, std::string> stage_of_func_;
};

/// i, j, k, l, m, n, then d6, d7, ...
std::string loop_name(std::size_t axis);

/// The element of a stage, or the elements of its Tuple, at an index in NumPy's order of axes.
Exprs elements_of(const Halide::Func& stage, const Exprs& index);

} // namespace tilewright::translator
