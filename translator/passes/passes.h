// translator/passes/passes.h: the rewrites of whole programs that pipeline.cpp runs, and what others ask of them. Each
// is in the file of its name, sum_orders in sum_order.cpp. Prepared: a program on its way through them, and what they
// decide beside it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/element_order.h"
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

/// Every complex value becomes two floats of half its width: Z -> Z_real, Z_imag.
///   C: complex128[n] = multiply(A, B)   ->   C_real: float64[n] = subtract(%1, %2)   C_imag: float64[n] = add(%3, %4)
/// What stays complex: arguments, which `real` and `imag` read as views of every other element; results and written
/// values, which `complex(C_real, C_imag)` at the end of the program puts together. Formulas are NumPy's own without
/// contraction; `absolute(z) < h` for a single h becomes `magnitude_less(z_real, z_imag, h)`, which takes no root.
/// A program without complex numbers comes back as it is. Requires a verified program, and gives one.
/// Throws TranslateError for operations that have no formula here, with their source line.
Program split_complex(const Program& program);

/// The program with each `for`, those inside of loops that stay too, whose carried values are sums of integers (or
/// truths that are all, or any, true) as reductions over the iterations, which run in any order: each iteration's term
/// becomes an element of an array.
///   c = for i in range(0, n, 1) carry (p = c0) { ... yield add(p, f(i)) }   ->   c = add(c0, sum(f(iota)))
/// Sums of floats keep their order, and stay loops.
Program reduction_recognition(const Program& program);
/// "" where reduction_recognition takes the loop, which may be inside of another one; else the reason, for people.
std::string why_no_sum(const Program& program, const Operation& loop, bool inner = false);

/// The program with the branches inside of its pixelwise loops (`if` on a truth, a `break`) as both blocks' operations
/// and a `where` for each result. Both blocks may always be computed: no operation fails, and a place that moves with
/// the loop, which need not exist in iterations that do not take the branch, is kept inside of its array (the attribute
/// attr::clamped). Loops that are not pixelwise afterwards stay as they are.
Program pixelwise_if_conversion(const Program& program);
/// One loop without its branches; nothing where one of them cannot be computed always.
std::optional<Operation> without_branches(const Operation& loop);

/// A chain of shifts, masks, exclusive ors and choices by single bits between numbers that differ by what no iteration
/// changes (checksums, shift registers) is linear over single bits: each bit of the start adds (xor) a number of its
/// own to the end, whatever the other bits are. The program with such a chain of a loop's body as one sum: the numbers
/// are computed before the loop, and an iteration depends on the one before by some eight steps instead of three for
/// each choice. Values are the same integers.
Program linear_bits(const Program& program);

/// Arrays of two axes that the program makes, one axis only ever read and written in one and the same slice,
/// and all that is written is the same all along it: the array without that axis. Expressions behind such a part are
/// computed once instead of for each element.
Program dimension_contraction(const Program& program);

/// The program with the axes exchanged of each array that it makes itself, writes and reads in columns alone
/// (`p[1:-1, j] = ... p[1:-1, j - 1]`), and hands to nobody: its columns become rows, which vectors load and store
/// whole. No value changes.
Program transposed_layout(const Program& program);

/// Elements that may be summed one by one along the contiguous axis.
inline constexpr std::int64_t kLongestSerialSum = 32;

/// The order in which each reduction adds up, and whether a library makes a product, as an attribute (SumOrder). An
/// array that another block computes, a loop or a branch leaves or an update writes lies in C order, an argument as its
/// layout says, a view as its operand, an elementwise result as NumPy's (ir/element_order.h).
Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options);
/// In which order the elements of an argument of this layout lie.
ElementOrder order_of(Layout layout, const Type& type);
/// Whether a library may make this product: its dtype, its axes, the contract.
bool may_use_library(const Operation& product, const TranslateOptions& options);

/// The program with each `if` inside of a loop whose blocks do little more than choose a number as both blocks and a
/// `where`: min(a, b) of Python, x if c else y, and an element that both blocks write:
///   if c { A[i, j] = x } else { A[i, j] = y }   ->   A[i, j] = where(c, x, y)
/// Both blocks may always be computed: no operation fails, and places that need not exist are clamped (attr::clamped).
Program if_conversion(const Program& program);

/// The program with reads of a single element that was just written as what was written, with updates that a later one
/// of the same elements covers left out, and without values that nobody reads. `A[i, j] += x; A[i, j] /= 9` writes
/// once.
Program store_forwarding(const Program& program);

/// Each `for` whose iterations keep to their elements as operations on arrays that have an axis of
/// iterations, inner loops first. Requires the orders of sums (sum_orders), and leaves them where a loop moved.
///   for i: A[i, :] = sum(x[i:i + k] * w)   ->   A[0:n, :] = sum(windows(x) * w)
/// where windows(x)[i, r] is x[i + r]. Other loops stay, and so does all of the program where the order of a sum would
/// not.
Prepared batching(const Prepared& prepared, const TranslateOptions& options);
/// "" where the loop becomes an axis; else the reason, for people. Loops inside of it stay what they are.
std::string why_no_axis(const Program& program, const Operation& loop);

/// On a CPU the same for loops over columns alone, each of which adds up a product: kernels along rows instead of one
/// for each column, and no order of a sum that NumPy has.
///   for j: B[i, j] += a @ B[i + 1:, j]   ->   B[i, :] += sum(a[:, newaxis] * B[i + 1:, :])
Prepared column_products(const Prepared& prepared, const TranslateOptions& options);

/// A product of a line of X at each iteration's place and lines of Y, where no iteration changes X or Y, as lines of
/// one product of matrices, which a library may compute:
///   for i: C[i, i:] = x[:, i] @ x[:, i:]   ->   P = x.T @ x; for i: C[i, i:] = P[i, i:]
/// Where the library is worth it for what the iterations need, and P is not much larger than what the loop writes. On a
/// CPU. Sums that are no products (attr::product) keep their order, and stay.
Prepared loop_products(const Prepared& prepared, const TranslateOptions& options);

/// The program with `checked=K` at each take inside of a region whose positions are elements of an array that check K
/// has found to be inside of the axis: where the check comes first, they need no clamp.
/// Not done here: the order; see plan/cut_items.
Program bounds_check_elimination(const Program& program);

/// The program with attr::unread at the starts (np.empty, np.zeros) of arrays that are then written position by
/// position along one axis, in loops that read nothing but what was written before: they need no start. Where that is
/// not proved the start stays as it is.
Program dead_store_elimination(const Program& program);

/// Before -> after, for `for i: for k: C[i, :i + 1] += A[i, k] * A[:i + 1, k]` with a small A in C order:
///   A_columns = copy of A.T; for i: for k: C[i, :i + 1] += A[i, k] * A_columns[k, :i + 1]
/// A column of A is a line of memory for each element; a row of the copy is loaded in vectors. All copies take at most
/// 1 MiB, so that no program needs noticeably more memory than NumPy, or 16 MiB where columns are read again and again.
/// Whether it is copied is a variant of each
/// argument that could be. Arrays that the program makes: see transposed_layout.
Prepared packing(const Prepared& prepared, const TranslateOptions& options);

} // namespace tilewright::translator
