// dsl/passes/memory_hints.cpp: marked vector stores in machine code to non-temporal ones, marked prefetchnta to
// prefetcht0.
//
// Encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, MOVUPS, MOVAPS, MOVDQU, MOVDQA,
// MOVNTPS, MOVNTPD, MOVNTDQ, PREFETCHh. All of them are [prefix] opcode ModRM [SIB] disp32; twins differ in the opcode
// and, for integers, in the mandatory prefix (of prefetches: in ModRM), never in length.
#include <cstring>

#include "dsl/base/error.h"
#include "dsl/code/object_symbols.h"
#include "dsl/passes/memory_hints.h"

namespace tilewright::dsl {
namespace {

using Byte = unsigned char;

constexpr Byte kStoreFloats = 0x11;        // movups, movupd
constexpr Byte kStoreFloatsAligned = 0x29; // movaps, movapd
constexpr Byte kStoreIntegers = 0x7F;      // movdqu, movdqa
constexpr Byte kStreamFloats = 0x2B;       // movntps, movntpd
constexpr Byte kStreamIntegers = 0xE7;     // movntdq
constexpr Byte kPrefetch = 0x18;           // the level is in ModRM

// The mandatory prefix as VEX and EVEX write it.
enum Prefix : unsigned { none = 0, p66 = 1, pF3 = 2, pF2 = 3 };

bool is_store(Byte opcode) {
    return opcode == kStoreFloats || opcode == kStoreFloatsAligned || opcode == kStoreIntegers;
}

/// Whether opcode and prefix are a whole-vector store, not movss, movsd or movq.
bool is_vector_store(Byte opcode, unsigned prefix, bool evex) {
    if (opcode == kStoreIntegers) return prefix == p66 || prefix == pF3 || (evex && prefix == pF2);
    return prefix == none || prefix == p66;
}

void stream(Byte* op) {
    *op = *op == kStoreIntegers ? kStreamIntegers : kStreamFloats;
}

/// `op` points at the opcode; `begin` at the first byte that may be read.
bool rewrite_evex(Byte* op, const Byte* begin) {
    if (op - begin < 4 || op[-4] != 0x62) return false;
    const unsigned map = op[-3] & 0x0F;
    const unsigned prefix = op[-2] & 3;
    const bool no_operand = (op[-2] & 0x78) == 0x78 && (op[-2] & 4);
    const bool plain = (op[-1] & 0x97) == 0 && (op[-1] & 8); // no zeroing, broadcast or mask, and V' unused
    if (map != 1 || !no_operand || !plain || (op[-1] & 0x60) == 0x60 || !is_vector_store(*op, prefix, true))
        return false;
    if (*op == kStoreIntegers) op[-2] = static_cast<Byte>((op[-2] & 0x7C) | p66); // W0
    stream(op);
    return true;
}

bool rewrite_vex(Byte* op, const Byte* begin) {
    Byte* last = op - 1; // ends in W or R, vvvv, L, pp
    const bool three = op - begin >= 3 && op[-3] == 0xC4 && (op[-2] & 0x1F) == 1;
    const bool two = op - begin >= 2 && op[-2] == 0xC5;
    if (!three && !two) return false;
    if ((*last & 0x78) != 0x78 || !is_vector_store(*op, *last & 3, false)) return false;
    if (*op == kStoreIntegers) *last = static_cast<Byte>((*last & 0xFC) | p66);
    stream(op);
    return true;
}

bool rewrite_sse(Byte* op, const Byte* begin) {
    if (op - begin < 2 || op[-1] != 0x0F) return false;
    // The last byte of an EVEX prefix with mask k7 is 0F too.
    if (op - begin >= 4 && op[-4] == 0x62 && (op[-3] & 0x0F) == 1 && (op[-2] & 4)) return false;
    Byte* before = op - 2;
    if ((*before & 0xF0) == 0x40 && before > begin) --before; // REX
    unsigned prefix = none;
    if (*before == 0x66) prefix = p66;
    if (*before == 0xF3) prefix = pF3;
    if (*before == 0xF2) return false;
    if (!is_vector_store(*op, prefix, false)) return false;
    if (*op == kStoreIntegers) *before = 0x66;
    stream(op);
    return true;
}

/// 0F 18 /0 to 0F 18 /1.
bool rewrite_prefetch(Byte* op, Byte* modrm, const Byte* begin) {
    if (op - begin < 1 || op[-1] != 0x0F || *op != kPrefetch || (*modrm & 0x38) != 0) return false;
    *modrm |= 0x08;
    return true;
}

/// Rewrites the instruction that a 32-bit displacement at `at` belongs to, if it is one of those above.
void rewrite(Byte* at, const Byte* begin, MemoryHints& hints) {
    auto form = [&](Byte* op) {
        if (is_store(*op) && (rewrite_evex(op, begin) || rewrite_vex(op, begin) || rewrite_sse(op, begin))) {
            ++hints.stores;
            return true;
        }
        if (!rewrite_prefetch(op, op + 1, begin)) return false;
        ++hints.prefetches;
        return true;
    };
    // mod 2: a displacement of 32 bits; rm 4: a SIB byte follows.
    if (at - begin >= 3 && (at[-2] & 0xC7) == 0x84 && form(at - 3)) return;
    if (at - begin >= 2 && (at[-1] & 0xC0) == 0x80 && (at[-1] & 7) != 4) form(at - 2);
}

} // namespace

MemoryHints apply_memory_hints(std::string& object) {
    MemoryHints hints;
    for (const Elf64_Shdr& section : sections_of(object)) {
        if (section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_EXECINSTR)) continue;
        if (section.sh_offset > object.size() || object.size() - section.sh_offset < section.sh_size)
            throw InternalError("an object file ends in the middle of a section.");
        Byte* begin = reinterpret_cast<Byte*>(object.data()) + section.sh_offset;
        for (std::uint64_t byte = 0; byte + 4 <= section.sh_size; ++byte) {
            std::int32_t displacement;
            std::memcpy(&displacement, begin + byte, 4);
            if (displacement < kHintOffset - kHintReach || displacement >= kHintOffset + kHintReach) continue;
            rewrite(begin + byte, begin, hints);
        }
    }
    return hints;
}

} // namespace tilewright::dsl
