// translator/ops/pcg64.cpp: NumPy's default bit generator, PCG64 (XSL-RR 128/64), at any place of its sequence.
//
// The state moves by s -> a s + c modulo 2^128. With d = (a - 1) s + c, the step that comes next, the state n steps on
// is s + d G(n), G(n) = 1 + a + ... + a^(n-1). So a state and a table of G give any draw with one product, and draws
// are independent of each other. 128 bits are pairs of 64, products of them are made of 32-bit halves: that is what
// vectorises.
#include <array>

#include "dsl/base/kernel_imports.h"
#include "dsl/passes/markers.h"
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;

namespace {

Expr word(std::uint64_t value) {
    return integer_constant(Halide::UInt(64), value);
}

constexpr std::uint64_t like(std::uint64_t, std::uint64_t value) {
    return value;
}
Expr like(const Expr&, std::uint64_t value) {
    return word(value);
}

constexpr std::uint64_t one_if(bool condition) {
    return condition ? 1 : 0;
}
Expr one_if(const Expr& condition) {
    return Halide::select(condition, word(1), word(0));
}

/// T: a number that is known while this is compiled, or an expression.
template <class T> struct Pair {
    T high;
    T low;
};
using Word128 = Pair<std::uint64_t>;
using State = Pair<Expr>;

template <class T> constexpr T high_product(const T& a, const T& b) {
    const T mask = like(a, 0xFFFFFFFFULL);
    const T half = like(a, 32);
    const T low = (a & mask) * (b & mask);
    const T first = (a >> half) * (b & mask) + (low >> half);
    const T second = (a & mask) * (b >> half) + (first & mask);
    return (a >> half) * (b >> half) + (first >> half) + (second >> half);
}

template <class T> constexpr Pair<T> operator*(const Pair<T>& a, const Pair<T>& b) {
    return {high_product(a.low, b.low) + a.high * b.low + a.low * b.high, a.low * b.low};
}

template <class T> constexpr Pair<T> operator+(const Pair<T>& a, const Pair<T>& b) {
    const T low = a.low + b.low;
    return {a.high + b.high + one_if(low < a.low), low};
}

constexpr Word128 kMultiplier{0x2360ED051FC65DA4ULL, 0x4385DF649FCCF645ULL};

/// a^n and G(n) of n = 2^k.
struct Jump {
    Word128 power;
    Word128 sum;
};

constexpr std::array<Jump, kPcg64OffsetBits> make_jumps() {
    std::array<Jump, kPcg64OffsetBits> out{};
    Jump jump{kMultiplier, {0, 1}};
    for (Jump& one : out) {
        one = jump;
        jump = {jump.power * jump.power, jump.sum + jump.sum * jump.power};
    }
    return out;
}

constexpr std::array<Jump, kPcg64OffsetBits> kJumps = make_jumps();

State constant(const Word128& value) {
    return {word(value.high), word(value.low)};
}

/// The step from a state to the next one.
State step_from(const State& state, const State& increment) {
    return state * constant({kMultiplier.high, kMultiplier.low - 1}) + increment;
}

State chosen(const Expr& condition, const State& a, const State& b) {
    return {dsl::opaque(Halide::select(condition, a.high, b.high)),
            dsl::opaque(Halide::select(condition, a.low, b.low))};
}

Expr is_set(const Expr& steps, int bit) {
    return ((steps >> word(static_cast<std::uint64_t>(bit))) & word(1)) != word(0);
}

/// On a CPU the runtime jumps: the same time for an element as in vectors, and 40 jumps of 128 bits in each kernel that
/// draws took 300 ms to compile.
Expr runtime_call(const char* name, const Exprs& operands) {
    return outside_call(Halide::UInt(64), name, operands);
}

} // namespace

Expr pcg64_high(const Exprs& x, const RuleContext& context) {
    if (!context.device) return runtime_call(kPcg64High, x);
    State state{x[0], x[1]};
    State step = step_from(state, {x[2], x[3]});
    for (int bit = 0; bit < kPcg64OffsetBits; ++bit) {
        const Jump& jump = kJumps[static_cast<std::size_t>(bit)];
        const Expr moves = is_set(x[4], bit);
        const State moved = state + step * constant(jump.sum);
        const State next = step * constant(jump.power);
        state = chosen(moves, moved, state);
        step = chosen(moves, next, step);
    }
    return state.high;
}

Expr pcg64_low(const Exprs& x, const RuleContext& context) {
    if (!context.device) return runtime_call(kPcg64Low, x);
    Expr state = x[0];
    Expr step = state * word(kMultiplier.low - 1) + x[1];
    for (int bit = 0; bit < kPcg64OffsetBits; ++bit) {
        const Jump& jump = kJumps[static_cast<std::size_t>(bit)];
        const Expr moves = is_set(x[2], bit);
        const Expr moved = state + step * word(jump.sum.low);
        const Expr next = step * word(jump.power.low);
        state = dsl::opaque(Halide::select(moves, moved, state));
        step = dsl::opaque(Halide::select(moves, next, step));
    }
    return state;
}

Expr pcg64_word(const Exprs& x, const RuleContext&) {
    const State start{dsl::opaque(x[0]), dsl::opaque(x[1])};
    const State state = start + step_from(start, {x[2], x[3]}) * State{x[4], x[5]};
    const Expr mixed = state.high ^ state.low;
    const Expr turn = state.high >> word(58);
    return (mixed >> turn) | (mixed << ((word(64) - turn) & word(63)));
}

} // namespace tilewright::translator::ops
