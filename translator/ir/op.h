// translator/ir/op.h: the operations of a program and what is known of each (operations.def).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::translator {

enum class Op : std::uint8_t {
#define ELEMENTWISE(name, ...) name,
#define ELEMENTARY(name, ...) name,
#define REDUCTION(name, ...) name,
#define OPERATION(name, ...) name,
#include "translator/ir/operations.def"
};

// What kind of operation it is:
//   elementwise  computed element by element from operands that broadcast
//   elementary   elementwise too, by a formula of many steps
//   source       made of no operand
//   view         each element is one of the operand's
//   half         a view of complex numbers: their real or imaginary parts
//   search       a reduction that gives a position
//   region       has regions
#define TW_OP_KINDS(KIND)                                                                                              \
    KIND(elementwise)                                                                                                  \
    KIND(elementary)                                                                                                   \
    KIND(source) KIND(view) KIND(half) KIND(reduction) KIND(search) KIND(product) KIND(region) KIND(other)
enum class OpKind : std::uint8_t {
#define KIND(name) name,
    TW_OP_KINDS(KIND)
#undef KIND
};
inline constexpr const char* kOpKinds[] = {
#define KIND(name) #name,
    TW_OP_KINDS(KIND)
#undef KIND
};

/// Which dtypes an elementwise operation or a reduction takes and gives.
enum class Signature : std::uint8_t {
    none,       ///< it is neither
    same,       ///< T, T -> T
    floats,     ///< T, T -> T, floats only
    numbers,    ///< T, T -> T, no bool
    bits,       ///< T, T -> T, integers and bool
    integers,   ///< T, T -> T, integers only
    compare,    ///< T, T -> bool (also int64 with uint64)
    test,       ///< T -> bool
    float_test, ///< T -> bool, floats only
    choose,     ///< bool, T, T -> T
    magnitude,  ///< T, T, T[] -> bool, floats only
    words,      ///< uint64, uint64, ... -> uint64
    convert,    ///< T -> U
    sums,       ///< T -> what sums of T are kept in
    truths      ///< T -> bool, by x != 0
};

// What holds of it beside:
//   ufunc           NumPy has it as the ufunc of that name
//   real_only       not for complex numbers
//   rounds          NumPy's own float result is one of several good ones (python/results.md)
//   complex_rounds  so is that of complex numbers
//   ordered         a float result depends on the order of the operand's elements
//   compares        one of == != < <= > >=
//   keeps_integers  integers stay what they are
//   keeps_digits    the result is exact in the dtype of the operands
//   one_flop        at least one floating-point operation for each element of the result
//   of_passes       no traced program has it: passes make it
#define TW_OP_TRAITS(TRAIT)                                                                                            \
    TRAIT(ufunc)                                                                                                       \
    TRAIT(real_only)                                                                                                   \
    TRAIT(rounds)                                                                                                      \
    TRAIT(complex_rounds)                                                                                              \
    TRAIT(ordered) TRAIT(compares) TRAIT(keeps_integers) TRAIT(keeps_digits) TRAIT(one_flop) TRAIT(of_passes)
enum class Trait : std::uint8_t {
#define TRAIT(name) name,
    TW_OP_TRAITS(TRAIT)
#undef TRAIT
};
inline constexpr const char* kTraits[] = {
#define TRAIT(name) #name,
    TW_OP_TRAITS(TRAIT)
#undef TRAIT
};
class Traits {
  public:
    constexpr Traits(std::initializer_list<Trait> traits) {
        for (const Trait trait : traits)
            bits_ |= 1U << static_cast<unsigned>(trait);
    }
    constexpr bool has(Trait trait) const { return (bits_ >> static_cast<unsigned>(trait) & 1U) != 0; }

  private:
    unsigned bits_ = 0;
};

struct OpInfo {
    const char* text; ///< as programs write it
    OpKind kind;
    int operands; ///< -1 where it differs
    Signature signature;
    int cost; ///< arithmetic operations for each element, for the search
    Traits traits;
    const char* reduces = ""; ///< of a reduction: the ufunc whose `reduce` it is
};

inline constexpr int kElementaryCost = 20;

namespace op_table {
using enum Trait;
inline constexpr OpInfo kRows[] = {
#define ELEMENTWISE(name, operands, signature, cost, ...)                                                              \
    OpInfo{#name, OpKind::elementwise, operands, Signature::signature, cost, {__VA_ARGS__}},
#define ELEMENTARY(name, operands, libdevice, ...)                                                                     \
    OpInfo{#name, OpKind::elementary, operands, Signature::floats, kElementaryCost, {rounds, __VA_ARGS__}},
#define REDUCTION(name, signature, ufunc, ...)                                                                         \
    OpInfo{#name, OpKind::reduction, 1, Signature::signature, 0, {__VA_ARGS__}, #ufunc},
#define OPERATION(name, text, kind, operands, ...)                                                                     \
    OpInfo{text, OpKind::kind, operands, Signature::none, 0, {__VA_ARGS__}},
#include "translator/ir/operations.def"
};
} // namespace op_table
/// By the number of Op.
inline constexpr std::span<const OpInfo> kOperations{op_table::kRows};

constexpr const OpInfo& info(Op op) {
    return kOperations[static_cast<std::size_t>(op)];
}
constexpr bool has_trait(Op op, Trait trait) {
    return info(op).traits.has(trait);
}
/// Arithmetic operations for each element, for the search; 0 of what is not elementwise.
constexpr int cost_of(Op op) {
    return info(op).cost;
}
/// As programs write it: "for", "add".
inline std::string text_of(Op op) {
    return info(op).text;
}
/// nullopt for what is no operation.
std::optional<Op> find_op(std::string_view text);

constexpr bool is_elementary(Op op) {
    return info(op).kind == OpKind::elementary;
}
/// Elementary functions too.
constexpr bool is_elementwise(Op op) {
    return info(op).kind == OpKind::elementwise || is_elementary(op);
}
/// Searches too.
constexpr bool is_reduction(Op op) {
    return info(op).kind == OpKind::reduction || info(op).kind == OpKind::search;
}
constexpr bool is_search(Op op) {
    return info(op).kind == OpKind::search;
}
constexpr bool is_half(Op op) {
    return info(op).kind == OpKind::half;
}
/// Halves too.
constexpr bool is_view(Op op) {
    return info(op).kind == OpKind::view || is_half(op);
}
/// Computes nothing: a view, or made of nothing.
constexpr bool is_free(Op op) {
    return is_view(op) || info(op).kind == OpKind::source;
}
constexpr bool has_regions(Op op) {
    return info(op).kind == OpKind::region;
}
/// Gives bool, element by element.
constexpr bool is_truth(Op op) {
    const Signature signature = info(op).signature;
    return signature == Signature::compare || signature == Signature::test || signature == Signature::float_test ||
           signature == Signature::magnitude;
}

} // namespace tilewright::translator
