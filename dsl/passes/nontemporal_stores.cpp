// dsl/passes/nontemporal_stores.cpp: the lowering pass behind store_nontemporal().
#include "dsl/passes/nontemporal_stores.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "dsl/passes/memory_hints.h"
#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr int kVectorBytes = 64;

std::string stream_name(const std::string& output) {
    return output + ".stream";
}

class StreamStores : public IRMutator {
  public:
    explicit StreamStores(const std::map<std::string, std::int64_t>& least_bytes) : least_bytes_(least_bytes) {}

    Stmt run(const Stmt& statement) {
        Stmt result = mutate(statement);
        for (const std::string& output : used_) {
            const Expr buffer = Variable::make(type_of<struct halide_buffer_t*>(), output + ".buffer");
            const Expr base =
                Call::make(Handle(), kStreamBase, {buffer, make_const(Int(64), least_bytes_.at(output))}, Call::Extern);
            result = Block::make(result, fence());
            result = LetStmt::make(stream_name(output), base, result);
        }
        return used_.empty() ? result : with_opaque_zero(result);
    }

  private:
    using IRMutator::visit;
    const std::map<std::string, std::int64_t>& least_bytes_; ///< of each output that is to be streamed
    std::set<std::string> used_;
    bool stored_ = false;

    static Stmt fence() { return Evaluate::make(Call::make(Int(32), kStreamFence, std::vector<Expr>{}, Call::Extern)); }

    Stmt visit(const Store* op) override {
        const Ramp* ramp = op->index.as<Ramp>();
        const int bytes = op->value.type().bytes();
        if (!least_bytes_.count(op->name) || !ramp || !is_const_one(ramp->stride) || !ramp->base.type().is_scalar() ||
            !is_const_one(op->predicate) || ramp->lanes * bytes % kVectorBytes != 0) {
            return Stmt(op);
        }
        used_.insert(op->name);
        stored_ = true;
        const std::string name = stream_name(op->name);
        const Expr base = reinterpret(UInt(64), Variable::make(Handle(), name));
        const Expr address = base + cast(UInt(64), cast(Int(64), ramp->base)) * make_const(UInt(64), bytes);
        Expr aligned = (address & make_const(UInt(64), kVectorBytes - 1)) == make_zero(UInt(64));
        // A base of 1 stands for "do not": with elements of one byte some index would make it look aligned.
        if (bytes == 1) aligned = aligned && (base & make_one(UInt(64))) == make_zero(UInt(64));
        Stmt past = Store::make(name, op->value, Ramp::make(hinted_index(ramp->base, bytes), ramp->stride, ramp->lanes),
                                Parameter(), op->predicate, ModulusRemainder());
        return IfThenElse::make(aligned, past, Stmt(op));
    }

    // Each task of a parallel loop makes its own stores visible before the loop counts it as done.
    Stmt visit(const For* op) override {
        if (op->for_type != ForType::Parallel) return IRMutator::visit(op);
        const bool before = std::exchange(stored_, false);
        Stmt body = mutate(op->body);
        if (stored_) body = Block::make(body, fence());
        stored_ = stored_ || before;
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
    }
};

} // namespace

void add_nontemporal_stores_pass(Pipeline& pipeline, const std::vector<NonTemporalStores>& outputs) {
    std::map<std::string, std::int64_t> least_bytes;
    for (const NonTemporalStores& output : outputs)
        least_bytes[output.func] = output.min_bytes;
    add_statement_pass(pipeline,
                       [least_bytes](const Stmt& statement) { return StreamStores(least_bytes).run(statement); });
}

} // namespace tilewright::dsl
