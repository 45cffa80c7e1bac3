// translator/passes/prepared.h: a program on its way through the passes (pipeline.h), and what they decide beside it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "translator/ir/program.h"
#include "translator/translate.h"

namespace tilewright::translator {

struct Prepared {
    Program program;
    bool in_steps = false;                     ///< build_stepped makes it (needs_steps)
    std::vector<VariantInfo> variants;         ///< choices that passes leave open
    std::map<std::string, std::string> chosen; ///< what is taken of these
    std::vector<std::string> requirements;     ///< of the sizes of a call, in the plan's words
};

} // namespace tilewright::translator
