// translator/loop_report.cpp: kinds of loops as text.
#include "translator/loop_report.h"

#include <functional>
#include <map>
#include <numeric>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "translator/ir/attributes.h"
#include "translator/loops/pixelwise.h"
#include "translator/passes/pipeline.h"
#include "translator/plan/steps.h"

namespace tilewright::translator {
namespace {

/// What became of the loops that are not pixelwise.
using Kinds = std::map<std::string, std::string>; ///< by the loop's first result

void report_wavefront(const Stepped& stepped, const Step& rows, Kinds& kinds) {
    const std::int64_t skew = rows.wavefront->skew;
    const std::string behind = skew == 0
                                   ? ""
                                   : ", each " + std::to_string(skew) + (skew == 1 ? " iteration" : " iterations") +
                                         " of the inner loop behind the one before it";
    kinds[rows.operation->result] =
        "wavefront: several iterations are under way together" + behind + "; no map: " + rows.wavefront->why;
    for (const Step& columns : rows.body) {
        if (columns.operation == nullptr) continue;
        const std::string why = why_not_independent(stepped, columns);
        kinds[columns.operation->result] = "inner loop of a wavefront" + (why.empty() ? "" : ": " + why);
    }
}

void collect_kinds(const Stepped& stepped, const std::vector<Step>& steps, Kinds& kinds) {
    for (const Step& step : steps) {
        if (step.is_range()) {
            if (step.wavefront) {
                report_wavefront(stepped, step, kinds);
                continue;
            }
            const std::string why = why_not_independent(stepped, step);
            const bool scans = step.body.size() == 1 && step.body[0].segment.lanes_apart;
            kinds[step.operation->result] = why.empty() ? "map: each iteration keeps to its elements"
                                            : scans     ? "scan: " + why + "; along the other axes elements are apart"
                                                        : "serial: " + why;
        } else if (step.kind == Step::Kind::loop) {
            kinds[step.operation->result] = "serial: how many iterations there are is known at the last";
        }
        collect_kinds(stepped, step.body, kinds);
        collect_kinds(stepped, step.otherwise, kinds);
    }
}

/// Calls `seen(loop, depth)` for each `for` and `while`, outer ones first.
void for_each_loop(const Block& block, int depth, const std::function<void(const Operation&, int)>& seen) {
    for (const Operation& operation : block.operations) {
        const bool loop = operation.op == Op::for_loop || operation.op == Op::while_loop;
        if (loop) seen(operation, depth);
        for (const Block& region : operation.regions)
            for_each_loop(region, depth + (loop ? 1 : 0), seen);
    }
}

using Loops = std::map<std::string, const Operation*>; ///< by the first result

Loops loops_of(const Program& program) {
    Loops loops;
    for_each_loop(program.body, 0, [&](const Operation& loop, int) { loops.emplace(loop.result, &loop); });
    return loops;
}

std::string exit_text(const Operation& loop) {
    std::vector<std::size_t> all(loop.regions[0].parameters.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto exit = exit_condition(loop, all);
    if (!exit) return "";
    const bool unnamed = exit->value[0] == '%';
    return "an element is done once " + (unnamed ? "the condition" : exit->value) + " is " +
           (exit->alive_if ? "false" : "true");
}

/// A loop of the program and what becomes of it.
struct Followed {
    LoopReport report;
    std::string result;      ///< its name now
    bool is_gone = false;    ///< then report.kind says how
    std::string why_no_axis; ///< on a device
};

/// The same loop where a rewrite has given its result another name.
const Operation* try_renamed(const Loops& before, const Loops& after, const Operation& loop) {
    for (const auto& [result, candidate] : after)
        if (before.count(result) == 0 && candidate->line == loop.line && call_text(*candidate) == call_text(loop))
            return candidate;
    return nullptr;
}

void follow(std::vector<Followed>& all, const Program& from, const Program& to, const Pass& pass) {
    const Loops before = loops_of(from), after = loops_of(to);
    for (Followed& one : all) {
        const auto loop = before.find(one.result);
        if (one.is_gone || loop == before.end()) continue;
        if (after.count(one.result) == 0) {
            if (const Operation* const renamed = try_renamed(before, after, *loop->second)) {
                one.result = renamed->result;
                continue;
            }
            one.is_gone = true;
            one.report.kind = *pass.fate != 0 ? pass.fate : std::string("gone by the pass ") + pass.name;
        } else if (pass.why_not != nullptr && loop->second->op == Op::for_loop) {
            one.why_no_axis = pass.why_not(from, *loop->second);
        }
    }
}

void describe(Followed& one, const Operation& loop, const Kinds& kinds) {
    const std::string why = why_not_pixelwise(loop);
    one.report.kind = why.empty() ? "pixelwise" : "not pixelwise: " + why;
    if (why.empty()) {
        one.report.exit = exit_text(loop);
        return;
    }
    if (const auto kind = kinds.find(one.result); kind != kinds.end())
        one.report.kind = kind->second + " (" + one.report.kind + ")";
    if (!one.why_no_axis.empty()) one.report.kind += "; no axis of the kernels: " + one.why_no_axis;
}

} // namespace

std::vector<LoopReport> loop_reports(const Program& program, const TranslateOptions& options) {
    return guarded<TranslateError>(program.function, [&] {
        std::vector<Followed> all;
        const Prepared prepared =
            prepare(program, options, [&](const Pass& pass, const Program& before, const Program& after) {
                if (&pass != &passes().front()) return follow(all, before, after, pass);
                // Complex numbers are pairs behind it: loops stay, and have other names.
                for_each_loop(after.body, 0, [&](const Operation& loop, int depth) {
                    all.push_back({{loop.line, depth, call_text(loop), "", ""}, loop.result, false, ""});
                });
            });
        Kinds kinds;
        if (prepared.in_steps) {
            const Stepped stepped = cut_into_steps(prepared.program, options.device);
            collect_kinds(stepped, stepped.steps, kinds);
        }
        const Loops left = loops_of(prepared.program);
        std::vector<LoopReport> reports;
        for (Followed& one : all) {
            const auto loop = left.find(one.result);
            if (!one.is_gone && loop != left.end())
                describe(one, *loop->second, kinds);
            else if (!one.is_gone)
                one.report.kind = "gone: nothing of it is needed";
            reports.push_back(std::move(one.report));
        }
        return reports;
    });
}

} // namespace tilewright::translator
