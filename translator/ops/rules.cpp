// translator/ops/rules.cpp: the formula of each elementwise operation.
#include "translator/ops/rules.h"

#include "dsl/base/error.h"

namespace tilewright::translator {

Formula formula_of(Op op) {
    switch (op) {
#define ELEMENTWISE(name, ...)                                                                                         \
    case Op::name:                                                                                                     \
        return ops::name;
#include "translator/ir/operations.def"
    default:
        throw InternalError("operation " + text_of(op) + ": it has no formula.");
    }
}

} // namespace tilewright::translator
