// dsl/passes/memory_hints.h: memory instructions that Halide 21 cannot ask for on CPUs: non-temporal stores, and
// prefetches into all caches where its own go past them (prefetchnta).
//
// Two halves. A lowering pass sends the accesses to a second base address that lies kHintOffset below the array and
// adds the offset to the index, so that code generation writes it as their displacement. apply_memory_hints() then
// finds the instructions with that displacement in the machine code and gives them the opcode of their twin, which is
// as long. One that it does not recognise stays as it is, at the same address: only the traffic differs, never the
// answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/base/kernel_imports.h"

namespace tilewright::dsl {

/// How far from it displacements may lie, after unrolling and with the distance of a prefetch.
inline constexpr std::int64_t kHintReach = 0x80000;

/// `value ^ zero`, with a zero that the optimizer does not know.
inline Halide::Expr disguised(const Halide::Expr& value) {
    const Halide::Expr zero = Halide::Internal::Variable::make(Halide::Int(32), kOpaqueZero);
    return Halide::Internal::Call::make(value.type(), Halide::Internal::Call::bitwise_xor,
                                        {value, Halide::cast(value.type(), zero)},
                                        Halide::Internal::Call::PureIntrinsic);
}
/// The index of the second base address for index `index` of the array. The base itself has to be in use beside it, or
/// the optimizer adds the displacement to the base in front of the loop: stores ask whether they are aligned.
inline Halide::Expr hinted_index(const Halide::Expr& index, int element_bytes) {
    return disguised(index) + static_cast<int>(kHintOffset / element_bytes);
}
/// The address of element `index` after the second base address `base`; no part of it is known in front of a loop.
inline Halide::Expr hinted_address(const std::string& base, const Halide::Expr& index, int element_bytes) {
    const Halide::Type address = Halide::UInt(64);
    const Halide::Expr begin = Halide::reinterpret(address, Halide::Internal::Variable::make(Halide::Handle(), base)) +
                               Halide::cast(address, Halide::cast(Halide::Int(64), index)) *
                                   Halide::Internal::make_const(address, element_bytes);
    return Halide::reinterpret(Halide::Handle(), disguised(begin));
}
/// Binds what hinted_index() reads.
inline Halide::Internal::Stmt with_opaque_zero(const Halide::Internal::Stmt& body) {
    return Halide::Internal::LetStmt::make(kOpaqueZero,
                                           Halide::Internal::Call::make(Halide::Int(32), kOpaqueZero,
                                                                        std::vector<Halide::Expr>{},
                                                                        Halide::Internal::Call::Extern),
                                           body);
}

/// How many instructions of an object were changed.
struct MemoryHints {
    int stores = 0;
    int prefetches = 0;
};

/// Rewrites an ELF x86-64 object in place.
MemoryHints apply_memory_hints(std::string& object);

} // namespace tilewright::dsl
