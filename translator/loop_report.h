// translator/loop_report.h: which kind each loop of a program is, for people.
#pragma once

#include <string>
#include <vector>

#include "translator/ir/program.h"
#include "translator/translate.h"

namespace tilewright::translator {

struct LoopReport {
    int line = 0;
    int depth = 0;      ///< loops around it
    std::string source; ///< "for n in range(0, maxiter, 1)"
    std::string kind;   ///< "pixelwise", or "map: … (not pixelwise: line 12 reads A at another element)"
    std::string exit;   ///< "an element is done once I is false"; "" where all iterations run
};

/// All `for` and `while` of a program, outer ones before inner ones, as the translation with these options (the target
/// and its variants) leaves them. Requires a verified program.
std::vector<LoopReport> loop_reports(const Program& program, const TranslateOptions& options = {});

} // namespace tilewright::translator
