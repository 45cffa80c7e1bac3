// translator/ir/element_order.h: in which order the elements of a value lie, as NumPy would have them.
#pragma once

#include <string>
#include <vector>

#include "translator/ir/program.h"

namespace tilewright::translator {

struct ElementOrder {
    int contiguous_axis = -1; ///< the axis along which NumPy's own array of this value is contiguous, -1 if 0-d
    bool flat = false;        ///< readable by the C-order position of an element without division
};

struct OrderedOperand {
    const Type& type;
    ElementOrder order;
};

/// Of an array in C order.
ElementOrder c_order(const Type& type);
/// Of an array in Fortran's order.
ElementOrder f_order(const Type& type);
/// In C order, where only the position along each axis says where an element is.
ElementOrder by_axes(const Type& type);
/// Of a result. A view has its operand's order, an elementwise result that of its first operand with most axes.
/// `stored`: the result is an array and no expression over its operands.
ElementOrder element_order(const Operation& operation, const std::vector<OrderedOperand>& operands, bool stored);
/// Whether an index list keeps every element in order (it only adds or removes axes of extent 1).
bool keeps_order(const Operation& operation, const Type& operand);
/// Whether the program names the result or it is more than an expression over its operands: it is stored.
bool is_stored(const Operation& operation);

/// The extents other than 1, each in normal form.
std::vector<std::string> wide_extents(const std::vector<Size>& shape);

} // namespace tilewright::translator
