// dsl/model/algorithm.cpp: what a schedule's check has to know of the Funcs, as plain data.
#include "dsl/model/algorithm.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {
namespace {

using Halide::Internal::Call;
using Halide::Internal::Dim;
using Halide::Internal::DimType;
using Halide::Internal::Function;
using Halide::Internal::Variable;

/// Halide's names of a definition's loops -> ours.
std::map<std::string, std::string> loop_names(const StageImpl& stage, int update) {
    std::map<std::string, std::string> names;
    for (const auto& [ours, var] : stage.pure_loops)
        names[var.name()] = ours;
    if (update >= 0 && update < static_cast<int>(stage.update_loops.size())) {
        for (const auto& [ours, rvar] : stage.update_loops[update])
            names[rvar.name()] = ours;
    }
    return names;
}

/// Finds the calls of other stages in a definition. Funcs that are no stage are part of the expression.
class FindCalls : public Halide::Internal::IRGraphVisitor {
  public:
    FindCalls(const std::map<std::string, std::string>& stage_of, const std::map<std::string, std::string>& names,
              std::string self)
        : stage_of_(stage_of), names_(names), self_(std::move(self)) {}
    std::vector<CallInfo> calls;

  private:
    using Halide::Internal::IRGraphVisitor::visit;
    const std::map<std::string, std::string>& stage_of_;
    const std::map<std::string, std::string>& names_;
    std::string self_;
    std::set<std::string> helpers_;
    bool in_helper_ = false;

    std::string axis(const Halide::Expr& index) const {
        if (in_helper_) return "";
        if (const Variable* variable = index.as<Variable>()) {
            const auto found = names_.find(variable->name);
            if (found != names_.end()) return found->second;
            if (variable->param.defined()) return "=";
        }
        return Halide::Internal::is_const(index) ? "=" : "";
    }
    void visit(const Call* op) override {
        IRGraphVisitor::visit(op);
        if (op->call_type != Call::Halide || op->name == self_) return;
        const auto stage = stage_of_.find(op->name);
        if (stage != stage_of_.end()) {
            CallInfo info{stage->second, {}};
            for (auto it = op->args.rbegin(); it != op->args.rend(); ++it)
                info.axes.push_back(axis(*it));
            calls.push_back(std::move(info));
        } else if (op->func.defined() && helpers_.insert(op->name).second) {
            const bool outer = std::exchange(in_helper_, true);
            const Function helper(op->func);
            for (const Halide::Expr& value : helper.values())
                value.accept(this);
            in_helper_ = outer;
        }
    }
};

void complete(DefinitionInfo& info, const StageImpl& stage, const std::string& name, int update,
              const std::map<std::string, std::string>& stage_of) {
    const Function function = stage.func.function();
    const auto& definition = update < 0 ? function.definition() : function.update(update);
    const auto names = loop_names(stage, update);
    const std::string where = update < 0 ? name : name + ".update(" + std::to_string(update) + ")";

    std::vector<LoopInfo> loops;
    bool any_ordered = false;
    bool any_racing = false;
    const std::vector<Dim>& dims = definition.schedule().dims();
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
        if (dim->var == Halide::Var::outermost().name()) continue;
        const auto ours = names.find(dim->var);
        if (ours == names.end()) throw InternalError(where + ": Halide's loop " + dim->var + " has no name of ours.");
        const auto loop = std::find_if(info.loops.begin(), info.loops.end(),
                                       [&](const LoopInfo& candidate) { return candidate.name == ours->second; });
        if (loop == info.loops.end()) {
            throw InternalError(where + ": loop " + ours->second + " is not described.");
        }
        LoopInfo completed = *loop;
        completed.reduced = dim->is_rvar();
        completed.racing = dim->dim_type == DimType::ImpureRVar;
        completed.ordered = completed.ordered && completed.reduced;
        any_ordered = any_ordered || completed.ordered;
        any_racing = any_racing || completed.racing;
        loops.push_back(std::move(completed));
    }
    info.loops = std::move(loops);

    // The proof is expensive and only asked for where a reduction might be reordered.
    if (update >= 0 && any_racing && !any_ordered) {
        const auto proof =
            Halide::Internal::prove_associativity(function.name(), definition.args(), definition.values());
        info.associative = proof.associative() && proof.commutative();
    }

    FindCalls find(stage_of, names, function.name());
    for (const Halide::Expr& value : definition.values())
        value.accept(&find);
    for (const Halide::Expr& argument : definition.args())
        argument.accept(&find);
    if (definition.predicate().defined()) definition.predicate().accept(&find);
    info.calls = std::move(find.calls);
}

void complete(AlgorithmInfo& info, const AlgorithmImpl& impl) {
    std::map<std::string, std::string> stage_of;
    for (const auto& [name, stage] : impl.stages)
        stage_of[stage.func.name()] = name;
    for (StageInfo& stage : info.stages) {
        const auto found = impl.stages.find(stage.name);
        if (found == impl.stages.end()) throw InternalError("stage " + stage.name + " has no Func.");
        const int updates = found->second.func.num_update_definitions();
        if (updates != static_cast<int>(stage.updates.size())) {
            throw InternalError(stage.name + ": " + std::to_string(updates) + " updates, but " +
                                std::to_string(stage.updates.size()) + " are described.");
        }
        complete(stage.pure, found->second, stage.name, -1, stage_of);
        for (int k = 0; k < updates; ++k)
            complete(stage.updates[k], found->second, stage.name, k, stage_of);
        stage.inlinable = updates == 0 && !stage.output;
    }
}

} // namespace

Algorithm::Algorithm() = default;
Algorithm::Algorithm(std::unique_ptr<AlgorithmImpl> impl, AlgorithmInfo info)
    : impl_(std::move(impl)), info_(std::move(info)) {
    guarded<InternalError>(info_.function, [&] { complete(info_, *impl_); });
}
Algorithm::~Algorithm() = default;
Algorithm::Algorithm(Algorithm&&) noexcept = default;
Algorithm& Algorithm::operator=(Algorithm&&) noexcept = default;

} // namespace tilewright::dsl
