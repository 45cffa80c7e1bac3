// translator/passes/dimension_contraction.h: arrays whose elements are the same all along one axis.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// Arrays of two axes that the program makes, one axis only ever read and written in one and the same slice,
/// and all that is written is the same all along it: the array without that axis. Expressions behind such a part are
/// computed once instead of for each element.
Program dimension_contraction(const Program& program);

} // namespace tilewright::translator
