// translator/passes/pipeline.h: the rewrites of whole programs that run before one is cut or built, as one ordered list
// of passes. translate(), variants() and loop_reports() all go through it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "translator/ir/program.h"
#include "translator/passes/passes.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// Which programs a pass is for.
enum class When {
    always,
    in_steps, ///< those with loops or branches that stay, checks, sizes that they read, or writes (needs_steps)
    axes      ///< of these, those whose loops may become axes (TranslateOptions.axes): on a device
};

struct Pass {
    const char* name;
    const char* meaning; ///< one line for people
    When when = When::always;
    Prepared (*run)(const Prepared&, const TranslateOptions&);
    /// What became of a loop that is gone behind it, for people; "" for a pass that takes none away.
    const char* fate = "";
    /// Why it leaves a `for` of the program as it is, for people; null where nobody asks.
    std::string (*why_not)(const Program&, const Operation& loop) = nullptr;
    /// What follows cannot do without it: it is never switched off.
    bool needed = false;
};

/// In their order. Some are there twice.
const std::vector<Pass>& passes();

/// Is told of each pass that ran, with the program before it and behind it.
using PassWatch = std::function<void(const Pass&, const Program& before, const Program& after)>;

/// `program` behind all passes that are for it. Requires a verified program. In debug and sanitizer builds it is
/// verified behind each pass (Dialect::rewritten); elsewhere a watch does that. TILEWRIGHT_PASSES=-NAME,-NAME switches
/// passes off. Throws TranslateError for what has no translation and for names there that no pass has.
Prepared prepare(const Program& program, const TranslateOptions& options, const PassWatch& watch = {});

} // namespace tilewright::translator
