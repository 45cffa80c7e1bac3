// python/native/face/operations.cpp: rows of the table as tuples.
#include <string>
#include <vector>

#include "python/native/face/face_types.h"
#include "python/native/face/texts.h"
#include "translator/ir/op.h"

namespace tilewright::face {

PyObject* operations(PyObject*, PyObject*) {
    Ref rows(PyTuple_New(static_cast<Py_ssize_t>(translator::kOperations.size())));
    for (std::size_t k = 0; rows && k < translator::kOperations.size(); ++k) {
        const translator::OpInfo& info = translator::kOperations[k];
        std::vector<std::string> traits;
        for (std::size_t trait = 0; trait < std::size(translator::kTraits); ++trait)
            if (info.traits.has(static_cast<translator::Trait>(trait))) traits.emplace_back(translator::kTraits[trait]);
        PyObject* const row =
            Py_BuildValue("(ssiNs)", info.text, translator::kOpKinds[static_cast<std::size_t>(info.kind)],
                          info.operands, tuple_of(traits).release(), info.reduces);
        if (!row || PyTuple_SetItem(rows.get(), static_cast<Py_ssize_t>(k), row) != 0) return nullptr;
    }
    return rows.release();
}

} // namespace tilewright::face
