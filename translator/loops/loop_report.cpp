// translator/loops/loop_report.cpp: kinds of loops as text.
#include "translator/loops/loop_report.h"

#include <map>
#include <numeric>

#include "translator/attributes.h"
#include "translator/complex.h"
#include "translator/loops/branches.h"
#include "translator/loops/choices.h"
#include "translator/loops/forward.h"
#include "translator/loops/independence.h"
#include "translator/loops/pixelwise.h"
#include "translator/loops/steps.h"
#include "translator/loops/sums_of_trips.h"

namespace tilewright::translator {
namespace {

/// What became of the loops that are not pixelwise.
using Kinds = std::map<std::string, std::string>; ///< by the loop's first result

void report_wavefront(const Stepped& stepped, const Step& rows, Kinds& kinds) {
    const std::int64_t skew = rows.wavefront->skew;
    const std::string behind = skew == 0 ? ""
                                         : ", each " + std::to_string(skew) + (skew == 1 ? " trip" : " trips") +
                                               " of the inner loop behind the one before it";
    kinds[rows.operation->result] =
        "wavefront: several trips are under way together" + behind + "; no map: " + rows.wavefront->why;
    for (const Step& columns : rows.body) {
        if (columns.operation == nullptr) continue;
        const std::string why = why_not_independent(stepped, columns);
        kinds[columns.operation->result] = "inner loop of a wavefront" + (why.empty() ? "" : ": " + why);
    }
}

void collect_kinds(const Stepped& stepped, const std::vector<Step>& steps, Kinds& kinds) {
    for (const Step& step : steps) {
        if (step.kind == Step::Kind::range) {
            if (step.wavefront) {
                report_wavefront(stepped, step, kinds);
                continue;
            }
            const std::string why = why_not_independent(stepped, step);
            const bool scans = step.body.size() == 1 && step.body[0].segment.lanes_apart;
            kinds[step.operation->result] = why.empty() ? "map: trips keep to elements of their own"
                                            : scans     ? "scan: " + why + "; along the other axes elements are apart"
                                                        : "serial: " + why;
        } else if (step.kind == Step::Kind::loop) {
            kinds[step.operation->result] = "driver: how many trips there are is known at the last";
        }
        collect_kinds(stepped, step.body, kinds);
        collect_kinds(stepped, step.other, kinds);
    }
}

void collect(const Program& program, const Block& block, int depth, const Kinds& kinds, std::vector<LoopReport>* out) {
    for (const Operation& operation : block.operations) {
        const bool loop = operation.op == "for" || operation.op == "while";
        if (loop) {
            LoopReport report;
            report.line = operation.line;
            report.depth = depth;
            report.source = call_text(operation);
            const std::string why = why_not_pixelwise(operation);
            const bool sum = operation.op == "for" && why_no_sum(program, operation, depth > 0).empty();
            if (sum) {
                report.kind = "reduction: sums of integers over the trips, in any order";
                out->push_back(std::move(report));
                continue;
            }
            report.kind = why.empty() ? "pixelwise" : "not pixelwise: " + why;
            const auto kind = kinds.find(operation.result);
            if (!why.empty() && kind != kinds.end()) report.kind = kind->second + " (" + report.kind + ")";
            if (why.empty()) {
                std::vector<std::size_t> all(operation.regions[0].parameters.size());
                std::iota(all.begin(), all.end(), std::size_t{0});
                if (const auto exit = exit_condition(operation, all)) {
                    const bool unnamed = exit->value[0] == '%';
                    report.exit = "an element is done once " + (unnamed ? "the condition" : exit->value) + " is " +
                                  (exit->alive_if ? "false" : "true");
                }
            }
            out->push_back(std::move(report));
        }
        for (const Block& region : operation.regions)
            collect(program, region, depth + (loop ? 1 : 0), kinds, out);
    }
}

} // namespace

std::vector<LoopReport> loop_reports(const Program& program) {
    std::vector<LoopReport> out;
    Kinds kinds;
    Program prepared = branches_as_values(split_complex(program));
    if (needs_steps(prepared)) {
        const Program chosen = forward_stores(choices_as_values(prepared));
        const Stepped stepped = cut_into_steps(chosen);
        collect_kinds(stepped, stepped.steps, kinds);
        prepared = forward_stores(prepared);
    }
    collect(prepared, prepared.body, 0, kinds, &out);
    return out;
}

} // namespace tilewright::translator
