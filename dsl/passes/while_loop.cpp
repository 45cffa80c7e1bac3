// dsl/passes/while_loop.cpp: blocks of iterations that double, each entered where the loop is still alive.
#include "dsl/passes/while_loop.h"

#include "dsl/base/kernel_imports.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

/// Blocks stand in rows, so that a loop that has ended skips those of its row and then the rows.
constexpr int kRows = 8, kBlocksOfRow = 8;

/// Of the first block; each other has the double of the one before it.
constexpr int kFirstIterations = 4;

/// Of a loop in a block, whose extent has 32 bits. The last block of all has 2^62 iterations and more.
constexpr int kMostDoublings = 30;

Halide::Type byte() {
    return Halide::UInt(8);
}

Stmt if_alive(const std::string& alive, const Stmt& body) {
    const Expr now = load_of(alive, byte(), 0, const_true());
    return IfThenElse::make(now != make_zero(byte()), body);
}

/// 2 to the part of the block's number between `from` and `from + most`.
Expr doublings(const Expr& block, int from, int most) {
    return Expr(1) << clamp(block - from, 0, most);
}

} // namespace

Stmt while_loop(const std::string& alive, const Stmt& body, std::int64_t iterations_between_asks) {
    // Blocks from this one on ask, each of their parts; those before have fewer iterations in all.
    int asking = 0;
    while ((kFirstIterations << asking) < iterations_between_asks && asking < kMostDoublings - 2)
        ++asking;
    const auto index = [&](const char* name) { return Variable::make(Halide::Int(32), alive + name); };
    const Expr block = index(".row") * kBlocksOfRow + index(".block");
    const Expr asked = Call::make(Halide::Int(32), kAskInterrupt, {}, Call::Extern);
    const Stmt ask = IfThenElse::make(block >= asking, Evaluate::make(asked));
    Stmt code =
        host_loop(alive + ".iteration", 0, kFirstIterations * doublings(block, 0, asking), if_alive(alive, body));
    code = if_alive(alive, Block::make(ask, code));
    code = host_loop(alive + ".part", 0, doublings(block, asking, kMostDoublings), code);
    code = if_alive(alive, code);
    code = host_loop(alive + ".parts", 0, doublings(block, asking + kMostDoublings, kMostDoublings), code);
    code = host_loop(alive + ".block", 0, kBlocksOfRow, if_alive(alive, code));
    code = host_loop(alive + ".row", 0, kRows, if_alive(alive, code));
    code = Block::make(store_of(alive, make_one(byte()), 0, const_true()), code);
    return Allocate::make(alive, byte(), Halide::MemoryType::Stack, {1}, const_true(), code);
}

Stmt leave_unless(const std::string& alive, const Expr& goes_on, const Stmt& rest) {
    const Stmt now = store_of(alive, Cast::make(byte(), goes_on), 0, const_true());
    return Block::make(now, if_alive(alive, rest));
}

} // namespace tilewright::dsl
