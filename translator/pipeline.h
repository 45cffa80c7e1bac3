// translator/pipeline.h: the rewrites of whole programs that run before one is cut or built, in their order. The one
// place that says so: translate(), variants() and loop_reports() all go through it.
#pragma once

#include <vector>

#include "translator/program.h"
#include "translator/translate.h"

namespace tilewright::translator {

struct Rewrite {
    const char* name;
    Program (*run)(const Program&, const TranslateOptions&);
    /// What became of a loop that is gone behind it, for people; "" for a rewrite that takes none away.
    const char* fate;
};

const std::vector<Rewrite>& rewrites();

/// After all of them. Requires a verified program.
Program rewritten(const Program& program, const TranslateOptions& options);

} // namespace tilewright::translator
