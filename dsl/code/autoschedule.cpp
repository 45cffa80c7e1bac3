// dsl/code/autoschedule.cpp: what Halide's autoschedulers do to the Funcs, read back as a schedule of ours.
//
// Their own texts come in three dialects, so the applied schedule is read instead: splits, order and kinds of loops,
// places. Tail strategies are left to our own rule, which knows that kernels check no bounds; memory kinds are left to
// Halide, which sees the final extents.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/base/spelling.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/code/isa.h"
#include "dsl/code/lowering.h"
#include "dsl/language/expression.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {
namespace {

using Halide::Internal::Definition;
using Halide::Internal::Dim;
using Halide::Internal::Split;

// ---- running --------------------------------------------------------------------------------------------------------

/// The plugins lie beside libHalide.so, wherever that was loaded from.
void load_autoscheduler(const std::string& name) {
    static std::set<std::string> loaded;
    if (loaded.count(name)) return;
    Dl_info where{};
    if (!dladdr(reinterpret_cast<void*>(&Halide::load_plugin), &where) || !where.dli_fname) {
        throw ScheduleError("autoscheduler " + name + ": libHalide.so cannot be found on disk.");
    }
    std::string file = name;
    std::transform(file.begin(), file.end(), file.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto path = std::filesystem::path(where.dli_fname).parent_path() / ("libautoschedule_" + file + ".so");
    if (!std::filesystem::exists(path)) {
        throw ScheduleError("autoscheduler " + name + ": " + path.string() + " is not there.",
                            "Use the complete halide wheel.");
    }
    guarded("autoscheduler " + name, [&] { Halide::load_plugin(path.string()); });
    loaded.insert(name);
}

constexpr const char* kGoesOn = "Nothing needs to be done: the search goes on with its own schedules.";

/// Why there is no number for what an autoscheduler plans with.
[[noreturn]] void refuse_unknown(const AlgorithmInfo& info, const std::string& what) {
    const bool none = std::all_of(info.sizes.begin(), info.sizes.end(), [](const SizeInfo& s) { return s.here < 0; });
    if (none) throw ScheduleError("autoscheduler: " + what + " is not known.", "Give sizes to translate for.");
    // The call's own sizes are all there.
    throw ScheduleError("autoscheduler: a loop of the program decides " + what +
                            " as it runs, and Halide's autoschedulers plan for sizes that are fixed before.",
                        kGoesOn);
}

/// Halide's autoschedulers fail on programs that Halide compiles, at times with numbers for a reason.
template <class Body> auto proposed_by(const std::string& name, Body&& body) -> decltype(body()) {
    try {
        return std::forward<Body>(body)();
    } catch (const Halide::Error& error) {
        const std::string said = halide_message(error);
        const bool in_words = std::any_of(said.begin(), said.end(), [](unsigned char c) { return std::isalpha(c); });
        throw ScheduleError("autoscheduler " + name + ": it gave up on this program: " +
                                (in_words ? said : "one of its assertions failed (it says \"" + said + "\")") + ".",
                            kGoesOn);
    }
}

void set_estimates(AlgorithmImpl& impl, const AlgorithmInfo& info) {
    std::map<std::string, Halide::Expr> values;
    std::map<std::string, std::int64_t> known;
    for (const SizeInfo& size : info.sizes) {
        const auto param = impl.sizes.find(size.name);
        if (param == impl.sizes.end()) continue;
        if (size.here < 0) refuse_unknown(info, "the size " + size.name);
        param->second.set_estimate(static_cast<int>(size.here));
        values[param->second.name()] = static_cast<int>(size.here);
        known[size.name] = size.here;
    }
    for (auto& [name, input] : impl.inputs) {
        const int rank = input.dimensions();
        for (int d = 0; d < rank; ++d) {
            const auto size = known.find(name + "." + std::to_string(rank - 1 - d));
            Halide::Expr extent;
            if (size != known.end()) {
                extent = static_cast<int>(size->second);
            } else {
                extent = Halide::Internal::simplify(Halide::Internal::substitute(values, input.dim(d).extent()));
            }
            if (!Halide::Internal::is_const(extent)) {
                throw ScheduleError("autoscheduler: axis " + std::to_string(rank - 1 - d) + " of " + name +
                                        " has no size parameter: another argument's size stands for it, or a loop of "
                                        "the program moves it.",
                                    kGoesOn);
            }
            input.dim(d).set_estimate(0, extent);
        }
    }
    for (const StageInfo& stage : info.stages) {
        if (!stage.output) continue;
        Halide::Func& func = impl.stages.at(stage.name).func;
        for (const LoopInfo& loop : stage.pure.loops) {
            if (loop.extent_here < 0) refuse_unknown(info, "the extent of " + stage.name + "." + loop.name);
            func.set_estimate(impl.stages.at(stage.name).pure_loops.at(loop.name), 0,
                              static_cast<int>(loop.extent_here));
        }
    }
}

// ---- reading back ---------------------------------------------------------------------------------------------------

Argument named(std::string name) {
    Argument argument;
    argument.name = std::move(name);
    return argument;
}
Argument counted(std::int64_t value) {
    Argument argument;
    argument.kind = Argument::Kind::expression;
    argument.expression = Expression::integer(value);
    return argument;
}
Directive directive(std::string verb, std::vector<Argument> arguments) {
    Directive result;
    result.verb = std::move(verb);
    result.arguments = std::move(arguments);
    return result;
}

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('.') + 1);
}

/// One definition: directives, and Halide's names of the final loops under ours.
class ReadDefinition {
  public:
    std::vector<Directive> chain;
    std::map<std::string, std::string> loops; ///< Halide's full name -> ours
    std::vector<std::string> order;           ///< ours, outermost first

    ReadDefinition(const StageImpl& stage, const DefinitionInfo& info, const Definition& definition, int update) {
        for (const auto& [ours, var] : stage.pure_loops)
            loops[var.name()] = ours;
        if (update >= 0) {
            for (const auto& [ours, rvar] : stage.update_loops.at(update))
                loops[rvar.name()] = ours;
        }
        for (const LoopInfo& loop : info.loops)
            order.push_back(loop.name);
        for (const Split& split : definition.schedule().splits()) {
            switch (split.split_type) {
            case Split::SplitVar:
                read_split(split);
                break;
            case Split::FuseVars:
                read_fuse(split);
                break;
            case Split::RenameVar:
                loops[split.outer] = ours(split.old_var);
                break;
            }
        }
        std::vector<Dim> dims = definition.schedule().dims();
        std::erase_if(dims, [](const Dim& dim) { return dim.var == Halide::Var::outermost().name(); });
        read_order(dims);
        for (const Dim& dim : dims) {
            const char* verb = dim.for_type == Halide::Internal::ForType::Parallel     ? "parallel"
                               : dim.for_type == Halide::Internal::ForType::Vectorized ? "vectorize"
                               : dim.for_type == Halide::Internal::ForType::Unrolled   ? "unroll"
                                                                                       : nullptr;
            if (verb) chain.push_back(directive(verb, {named(ours(dim.var))}));
        }
    }

  private:
    const std::string& ours(const std::string& path) const {
        const auto found = loops.find(path);
        if (found == loops.end()) throw ScheduleError("autoscheduler: no loop " + path + ".");
        return found->second;
    }

    /// Halide's last name where it can stand in our text and is free, so that places in other stages stay readable.
    std::string fresh(const std::string& path, const std::string& gone, const std::string& taken) const {
        std::string name = last_part(path);
        for (char& c : name) {
            if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
        }
        if (name.empty() || !(std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_')) name = "v" + name;
        auto used = [&](const std::string& candidate) {
            return candidate == taken ||
                   (candidate != gone && std::find(order.begin(), order.end(), candidate) != order.end());
        };
        std::string unique = name;
        for (int k = 2; used(unique); ++k)
            unique = name + std::to_string(k);
        return unique;
    }

    void read_split(const Split& split) {
        const auto factor = Halide::Internal::as_const_int(split.factor);
        if (!factor) throw ScheduleError("autoscheduler: a split by a factor that is not constant.");
        const std::string old = ours(split.old_var);
        const std::string outer = fresh(split.outer, old, "");
        const std::string inner = fresh(split.inner, old, outer);
        loops[split.outer] = outer;
        loops[split.inner] = inner;
        const auto at = std::find(order.begin(), order.end(), old);
        *at = outer;
        order.insert(at + 1, inner);
        chain.push_back(directive("split", {named(old), named(outer), named(inner), counted(*factor)}));
    }

    void read_fuse(const Split& split) {
        const std::string inner = ours(split.inner);
        const std::string outer = ours(split.outer);
        const std::string fused = fresh(split.old_var, inner, "");
        loops[split.old_var] = fused;
        std::erase(order, outer);
        std::replace(order.begin(), order.end(), inner, fused);
        chain.push_back(directive("fuse", {named(inner), named(outer), named(fused)}));
    }

    void read_order(const std::vector<Dim>& dims) {
        std::vector<std::string> wanted;
        for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim)
            wanted.push_back(ours(dim->var));
        if (wanted == order) return;
        if (wanted.size() != order.size()) throw ScheduleError("autoscheduler: loops are missing.");
        std::vector<Argument> arguments;
        for (auto name = wanted.rbegin(); name != wanted.rend(); ++name)
            arguments.push_back(named(*name));
        order = wanted;
        chain.push_back(directive("reorder", std::move(arguments)));
    }
};

class ReadBack {
  public:
    ReadBack(const Algorithm& algorithm, const AlgorithmInfo& info) : impl_(algorithm.impl()), info_(info) {}

    std::vector<Statement> statements() {
        for (const StageInfo& stage : info_.stages)
            read_definitions(stage);
        std::vector<Statement> result;
        // Readers first, as a person writes: the loops that a place names are then known to who reads the text.
        for (auto stage = info_.stages.rbegin(); stage != info_.stages.rend(); ++stage) {
            add(result, *stage);
        }
        return result;
    }

  private:
    const AlgorithmImpl& impl_;
    const AlgorithmInfo& info_;
    std::map<std::string, std::vector<ReadDefinition>> definitions_;

    void read_definitions(const StageInfo& stage) {
        const StageImpl& impl = impl_.stages.at(stage.name);
        const auto function = impl.func.function();
        std::vector<ReadDefinition>& list = definitions_[stage.name];
        list.emplace_back(impl, stage.pure, function.definition(), -1);
        for (std::size_t k = 0; k < stage.updates.size(); ++k) {
            const int update = static_cast<int>(k);
            list.emplace_back(impl, stage.updates[k], function.update(update), update);
        }
    }

    std::optional<std::pair<std::string, std::string>> site(const Halide::LoopLevel& level) const {
        for (const StageInfo& stage : info_.stages) {
            if (impl_.stages.at(stage.name).func.name() != level.func()) continue;
            const std::string name = level.var().name();
            const auto& list = definitions_.at(stage.name);
            // Updates first: reductions are where stages are placed inside.
            for (auto definition = list.rbegin(); definition != list.rend(); ++definition) {
                for (const auto& [path, ours] : definition->loops) {
                    const bool live =
                        std::find(definition->order.begin(), definition->order.end(), ours) != definition->order.end();
                    if (live && (path == name || last_part(path) == name)) return std::pair(stage.name, ours);
                }
            }
        }
        return std::nullopt;
    }

    void add_place(std::vector<Directive>& chain, const Halide::LoopLevel& level, const std::string& verb) const {
        if (level.is_inlined()) return;
        if (level.is_root()) {
            chain.push_back(directive(verb + "_root", {}));
        } else if (const auto found = site(level)) {
            chain.push_back(directive(verb + "_at", {named(found->first), named(found->second)}));
        } else {
            throw ScheduleError("autoscheduler: " + verb + " at " + level.to_string() +
                                " is not a loop of this program.");
        }
    }

    void add(std::vector<Statement>& result, const StageInfo& stage) const {
        const auto schedule = impl_.stages.at(stage.name).func.function().schedule();
        const auto& list = definitions_.at(stage.name);
        Statement pure;
        pure.stage = stage.name;
        if (!stage.output) {
            Halide::LoopLevel compute = schedule.compute_level();
            Halide::LoopLevel store = schedule.store_level();
            compute.lock();
            store.lock();
            add_place(pure.chain, compute, "compute");
            if (!compute.is_inlined() && !store.is_inlined() && store != compute) add_place(pure.chain, store, "store");
            if (compute.is_inlined() && stage.updates.empty()) return;
        }
        pure.chain.insert(pure.chain.end(), list[0].chain.begin(), list[0].chain.end());
        add_storage_order(pure.chain, stage);
        if (!pure.chain.empty()) result.push_back(std::move(pure));
        for (std::size_t k = 1; k < list.size(); ++k) {
            if (list[k].chain.empty()) continue;
            Statement update;
            update.stage = stage.name;
            update.update = static_cast<int>(k) - 1;
            update.chain = list[k].chain;
            result.push_back(std::move(update));
        }
    }

    void add_storage_order(std::vector<Directive>& chain, const StageInfo& stage) const {
        const StageImpl& impl = impl_.stages.at(stage.name);
        const Halide::Internal::Function function = impl.func.function();
        const auto& dims = function.schedule().storage_dims();
        const auto& args = function.args();
        if (stage.output || dims.size() < 2) return;
        bool same = true;
        std::vector<Argument> axes;
        for (std::size_t d = 0; d < dims.size(); ++d) {
            same = same && dims[d].var == args[d];
            for (const auto& [ours, var] : impl.pure_loops) {
                if (var.name() == dims[d].var) axes.push_back(named(ours));
            }
        }
        if (!same && axes.size() == dims.size()) chain.push_back(directive("reorder_storage", std::move(axes)));
    }
};

/// Drops what our rules refuse (reordered float sums, loops that are not constant with our tails), smallest part first.
void drop_refused(const AlgorithmInfo& info, Schedule& schedule) {
    for (int round = 0;; ++round) {
        // Positions tell which directive is meant.
        Schedule numbered = schedule;
        for (std::size_t s = 0; s < numbered.statements.size(); ++s) {
            Statement& statement = numbered.statements[s];
            statement.at = Position{static_cast<int>(s) + 1, 0};
            for (std::size_t d = 0; d < statement.chain.size(); ++d) {
                statement.chain[d].at = Position{static_cast<int>(s) + 1, static_cast<int>(d) + 1};
            }
        }
        const auto violations = check(info, numbered);
        if (violations.empty()) return;
        const Position at = violations.front().at;
        const bool in_line = at.line >= 1 && at.line <= static_cast<int>(schedule.statements.size());
        if (!in_line || round == 200) throw ScheduleError(violations.front().text());
        std::vector<Directive>& chain = schedule.statements[at.line - 1].chain;
        if (at.column < 1 || at.column > static_cast<int>(chain.size())) throw ScheduleError(violations.front().text());
        // A mark goes by itself; without a split or a reorder the rest of the line names loops that do not exist.
        const std::string& verb = chain[at.column - 1].verb;
        const bool structure = verb == "split" || verb == "fuse" || verb == "reorder";
        if (structure) {
            chain.resize(at.column - 1);
        } else {
            chain.erase(chain.begin() + at.column - 1);
        }
        if (chain.empty()) schedule.statements.erase(schedule.statements.begin() + at.line - 1);
    }
}

} // namespace

Schedule autoschedule(Algorithm algorithm, const std::string& name, const std::string& isa, int cores) {
    static const std::vector<std::string> names = {"Adams2019", "Mullapudi2016", "Li2018"};
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        const auto near = near_name(name, names);
        throw ScheduleError("autoscheduler " + name + ": unknown.",
                            near ? "Did you mean " + *near + "?" : "There are Adams2019, Mullapudi2016 and Li2018.");
    }
    if (is_cuda_isa(isa)) {
        throw ScheduleError(name + ": schedules for CPUs alone, and the target is " + isa + ".",
                            "Take the default schedule or a search for this target.");
    }
    load_autoscheduler(name);
    const AlgorithmInfo info = algorithm.info();
    AlgorithmImpl& impl = algorithm.impl();
    return proposed_by(name, [&] {
        set_estimates(impl, info);
        const Halide::Target target = halide_target(isa, true);
        Halide::AutoschedulerParams params(name, {{"parallelism", std::to_string(std::max(cores, 1))}});
        for (KernelImpl& kernel : impl.kernels)
            Halide::Pipeline(kernel.outputs).apply_autoscheduler(target, params);
        Schedule schedule;
        schedule.function = info.function;
        schedule.target = resolve_isa(isa);
        for (const auto& [choice, option] : info.variant) {
            schedule.variants.push_back({choice, {option}, {}, {}, {}});
        }
        schedule.header_comments = {" proposed by Halide's autoscheduler " + name};
        schedule.statements = ReadBack(algorithm, info).statements();
        drop_refused(info, schedule);
        return schedule;
    });
}

} // namespace tilewright::dsl
