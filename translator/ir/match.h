// translator/ir/match.h: patterns of operations: made_by(Op::less, any(p), size(n)) of a value that is p < n.
//
// A pattern is called with the values and a name, and says whether that value is so; what it binds is set wherever it
// got that far.
#pragma once

#include <string>

#include "translator/ir/values.h"

namespace tilewright::translator::match {

/// Any value, bound to `into`.
inline auto any(std::string& into) {
    return [&into](const Values&, const std::string& value) {
        into = value;
        return true;
    };
}

/// A `scalar_size`; the size is bound to `into`.
inline auto size(Size& into) {
    return [&into](const Values& values, const std::string& value) {
        const Operation* const made = values.made_by(value, Op::scalar_size);
        if (made != nullptr) into = made->attributes.at(attr::size);
        return made != nullptr;
    };
}

/// The result of that operation, whose operands are so.
template <class... Operands> auto made_by(Op op, Operands... operands) {
    return [=](const Values& values, const std::string& value) {
        const Operation* const made = values.made_by(value, op);
        std::size_t k = 0;
        return made != nullptr && made->operands.size() == sizeof...(operands) &&
               (operands(values, made->operands[k++]) && ...);
    };
}

} // namespace tilewright::translator::match
