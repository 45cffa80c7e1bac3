// dsl/passes/nontemporal_stores.cpp: the lowering pass behind store_nontemporal().
#include <map>
#include <set>
#include <string>
#include <utility>

#include "dsl/passes/memory_hints.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr int kVectorBytes = 64;

std::string stream_name(const std::string& output) {
    return output + ".stream";
}

Stmt fence() {
    return Evaluate::make(Call::make(Int(32), kStreamFence, std::vector<Expr>{}, Call::Extern));
}

/// The store past the caches where its place is aligned, else as it was; undefined for a store of another kind.
Stmt streamed(const Store* op) {
    const Ramp* ramp = op->index.as<Ramp>();
    const int bytes = op->value.type().bytes();
    if (!ramp || !is_const_one(ramp->stride) || !ramp->base.type().is_scalar() || !is_const_one(op->predicate) ||
        ramp->lanes * bytes % kVectorBytes != 0)
        return {};
    const std::string name = stream_name(op->name);
    const Expr base = reinterpret(UInt(64), Variable::make(Handle(), name));
    const Expr address = base + cast(UInt(64), cast(Int(64), ramp->base)) * make_const(UInt(64), bytes);
    Expr aligned = (address & make_const(UInt(64), kVectorBytes - 1)) == make_zero(UInt(64));
    // A base of 1 stands for "do not": with elements of one byte some index would make it look aligned.
    if (bytes == 1) aligned = aligned && (base & make_one(UInt(64))) == make_zero(UInt(64));
    const Expr place = Ramp::make(hinted_index(ramp->base, bytes), ramp->stride, ramp->lanes);
    return IfThenElse::make(aligned, store_of(name, op->value, place, op->predicate), Stmt(op));
}

} // namespace

Stmt stream_stores(const Stmt& statement, const std::vector<NonTemporalStores>& outputs) {
    std::map<std::string, std::int64_t> least_bytes;
    for (const NonTemporalStores& output : outputs)
        least_bytes[output.func] = output.min_bytes;
    std::set<std::string> used;
    bool stored = false;
    Stmt result = mutate_with(
        statement,
        [&](Mutator&, const Store* op) {
            const Stmt made = least_bytes.count(op->name) ? streamed(op) : Stmt();
            if (!made.defined()) return Stmt(op);
            used.insert(op->name);
            stored = true;
            return made;
        },
        // Each task of a parallel loop makes its own stores visible before the loop counts it as done.
        [&](Mutator& self, const For* op) {
            if (op->for_type != ForType::Parallel) return self.inside(op);
            const bool before = std::exchange(stored, false);
            Stmt body = self.mutate(op->body);
            if (stored) body = Block::make(body, fence());
            stored = stored || before;
            return with_body(op, body);
        });
    for (const std::string& output : used) {
        const Expr buffer = Variable::make(type_of<struct halide_buffer_t*>(), output + ".buffer");
        const Expr base =
            Call::make(Handle(), kStreamBase, {buffer, make_const(Int(64), least_bytes.at(output))}, Call::Extern);
        result = LetStmt::make(stream_name(output), base, Block::make(result, fence()));
    }
    return used.empty() ? result : with_opaque_zero(result);
}

} // namespace tilewright::dsl
