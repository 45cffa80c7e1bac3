// translator/loops/loop_report.cpp: kinds of loops as text.
#include "translator/loops/loop_report.h"

#include <numeric>

#include "translator/attributes.h"
#include "translator/complex.h"
#include "translator/loops/branches.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

void collect(const Block& block, int depth, std::vector<LoopReport>* out) {
    for (const Operation& operation : block.operations) {
        const bool loop = operation.op == "for" || operation.op == "while";
        if (loop) {
            LoopReport report;
            report.line = operation.line;
            report.depth = depth;
            report.source = call_text(operation);
            const std::string why = why_not_pixelwise(operation);
            report.kind = why.empty() ? "pixelwise" : "not pixelwise: " + why;
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
            collect(region, depth + (loop ? 1 : 0), out);
    }
}

} // namespace

std::vector<LoopReport> loop_reports(const Program& program) {
    std::vector<LoopReport> out;
    collect(branches_as_values(split_complex(program)).body, 0, &out);
    return out;
}

} // namespace tilewright::translator
