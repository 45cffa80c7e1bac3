// dsl/passes/wavefront.cpp: blocks of rows, with the end of one block and the start of the next one overlapped.
#include "dsl/passes/wavefront.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

// ---- what one statement stores and the next one loads stays in a register ------------------------------------------

enum class Place { same, other, unknown };

Place compare(const Expr& a, const Expr& b) {
    const Expr apart = simplify(a - b);
    if (is_const_zero(apart)) return Place::same;
    return is_const(apart) ? Place::other : Place::unknown;
}

/// Definitions of indices in place of their names: places are compared as expressions.
Stmt inlined(const Stmt& statement) {
    return mutate_with(statement, [](Mutator& self, const LetStmt* op) {
        return has_load(op->value) ? self.inside(op) : self.mutate(substitute(op->name, op->value, op->body));
    });
}

/// The store that a statement is, or null.
const Store* as_store(const Stmt& statement) {
    if (const auto* produce = statement.as<ProducerConsumer>()) return as_store(produce->body);
    const auto* store = statement.as<Store>();
    const bool plain = store != nullptr && is_const_one(store->predicate) && store->value.type().is_scalar();
    return plain ? store : nullptr;
}

/// Loads of the element that `store` writes become `value`; `unsure`: something may still read it.
Stmt with_value(const Stmt& statement, const Store& store, const Expr& value, bool& unsure) {
    return mutate_with(statement, [&](Mutator& self, const Load* op) {
        if (op->name != store.name) return self.inside(op);
        const bool plain = is_const_one(op->predicate) && op->type == value.type();
        const Place place = op->type.is_scalar() ? compare(op->index, store.index) : Place::unknown;
        if (plain && place == Place::same) return value;
        unsure = unsure || place != Place::other;
        return self.inside(op);
    });
}

Stmt sequence(std::vector<Stmt> rest, std::size_t first, const std::string& name) {
    const Stmt statement = rest[first];
    if (first + 1 == rest.size()) return statement;
    const Store* store = as_store(statement);
    if (store == nullptr) return Block::make(statement, sequence(std::move(rest), first + 1, name));
    const std::string variable = name + std::to_string(first);
    const Expr value = Variable::make(store->value.type(), variable);
    bool covered = false, unsure = false;
    for (std::size_t k = first + 1; k < rest.size(); ++k) {
        const bool stores = contains(rest[k], [&](const Store* op) { return op->name == store->name; });
        const Store* next = as_store(rest[k]);
        if (stores && next == nullptr) { // what it loads may be what it stored itself
            unsure = true;
            break;
        }
        rest[k] = with_value(rest[k], *store, value, unsure);
        if (!stores) continue;
        const Place place = compare(as_store(rest[k])->index, store->index);
        covered = place == Place::same;
        if (place != Place::other) break;
    }
    Stmt code = sequence(std::move(rest), first + 1, name);
    if (!covered || unsure)
        code = Block::make(
            Store::make(store->name, value, store->index, store->param, store->predicate, store->alignment), code);
    return LetStmt::make(variable, store->value, code);
}

/// Those that a statement is a sequence of go behind `all`.
void append_parts(const Stmt& statement, std::vector<Stmt>& all) {
    if (const auto* block = statement.as<Block>()) {
        append_parts(block->first, all);
        append_parts(block->rest, all);
    } else {
        all.push_back(statement);
    }
}

/// The statements in sequence. Where one is a store of one element, loads of that element by later ones become the
/// value; the store itself goes where a later one covers it and nothing else may read it before:
///   A[x] = u; A[x] = (A[x] + A[x - 1]) / 9   ->   let v = u in A[x] = (v + A[x - 1]) / 9
/// LLVM sees this for a few elements of one block, not for those of eight rows. `name`: of what holds the values.
Stmt forward_elements(const std::vector<Stmt>& statements, const std::string& name) {
    std::vector<Stmt> plain;
    for (const Stmt& statement : statements)
        append_parts(inlined(statement), plain);
    return sequence(std::move(plain), 0, name);
}

// ---- the loops ------------------------------------------------------------------------------------------------------

class Builder {
  public:
    Builder(const KernelLoop& rows, const std::vector<ColumnLoop>& columns)
        : rows_(rows), columns_(columns), prefix_(rows.variable + ".") {}

    Stmt build() {
        // Columns that a row has, and those that all its loops have but for what is done in one column.
        Expr stop = 0, shared_stop;
        int shared_first = 0;
        for (const ColumnLoop& each : columns_) {
            const Expr end = each.loop.first_column + max(each.loop.iterations, 0);
            stop = max(stop, end);
            if (is_single(each)) {
                shared_first = std::max(shared_first, each.loop.first_column + 1);
                continue;
            }
            shared_stop = shared_stop.defined() ? min(shared_stop, end) : end;
            shared_first = std::max(shared_first, each.loop.first_column);
        }
        if (!shared_stop.defined()) shared_stop = 0;
        const int together = rows_.rows_together;
        const int skew = rows_.skew;
        // A row must not come round again before the one in front of it is `skew` columns further.
        const Expr lanes = skew == 0 ? Expr(together) : clamp(name("columns") / skew, 1, together);
        const Expr block_count = (name("rows") + name("lanes") - 1) / name("lanes") + 1;
        // In a block: first the start of its rows, while those of the last one end; then, where it has all its rows,
        // what all of them have without a look at limits; then the rest.
        const Expr is_full = name("lanes") == together && (name("block") + 1) * together <= name("rows");
        const Expr start = select(name("full"), min(skew * (together - 1) + shared_first, name("columns")),
                                  skew * (name("lanes") - 1));
        const Expr steady = select(name("full"), max(name("steady_from"), name("shared_stop")), name("steady_from"));
        const Expr finish = select(name("block") * name("lanes") < name("rows"), name("columns"), name("steady_to"));
        Stmt code =
            loop("phase", 0, 2,
                 Block::make(loop("time", select(name("phase") == 0, 0, name("steady_to")),
                                  select(name("phase") == 0, name("steady_from"), name("finish")), any_rows()),
                             IfThenElse::make(name("phase") == 0 && name("full"),
                                              loop("time", name("steady_from"), name("steady_to"), all_rows()))));
        code = let("full", is_full, let("steady_from", start, let("steady_to", steady, let("finish", finish, code))));
        code = loop("block", 0, name("blocks"), code);
        code = let("lanes", lanes, let("blocks", block_count, code));
        return let("rows", max(rows_.iterations, 0), let("columns", stop, let("shared_stop", shared_stop, code)));
    }

  private:
    const KernelLoop& rows_;
    const std::vector<ColumnLoop>& columns_;
    const std::string prefix_;

    Expr name(const std::string& what) const {
        const Halide::Type type = what == "full" ? Halide::Bool() : Halide::Int(32);
        return Variable::make(type, prefix_ + what);
    }

    Stmt let(const std::string& what, const Expr& value, const Stmt& body) const {
        return LetStmt::make(prefix_ + what, simplify(value), body);
    }

    Stmt loop(const std::string& what, const Expr& first, const Expr& stop, const Stmt& body) const {
        return host_loop(prefix_ + what, first, simplify(stop - first), body);
    }

    /// What a row does in one column only: not one of the columns that all its loops have.
    bool is_single(const ColumnLoop& each) const { return columns_.size() > 1 && is_const_one(each.loop.iterations); }

    /// All that a row does in one column.
    Stmt element(const Expr& row, const Expr& column, bool everywhere) const {
        std::vector<Stmt> parts;
        for (const ColumnLoop& each : columns_) {
            if (everywhere && is_single(each)) continue;
            const std::string iteration = each.loop.variable + ".iteration";
            const Expr index = Variable::make(Halide::Int(32), iteration);
            Stmt code = LetStmt::make(each.loop.variable + ".value", simplify(each.loop.first + index * each.loop.step),
                                      each.code);
            if (!everywhere && columns_.size() > 1)
                code = IfThenElse::make(index >= 0 && index < each.loop.iterations, code);
            parts.push_back(LetStmt::make(iteration, simplify(column - each.loop.first_column), code));
        }
        Stmt all = everywhere && parts.size() > 1 ? forward_elements(parts, prefix_ + "stored.") : Block::make(parts);
        return LetStmt::make(rows_.variable + ".value", simplify(rows_.first + row * rows_.step), all);
    }

    /// One after the other: some rows have not begun, or have come round from the block before.
    Stmt any_rows() const {
        const Expr ahead = name("time") - name("lane") * rows_.skew;
        const Expr row = name("block") * name("lanes") + name("lane");
        const Expr is_of_last = name("ahead") < 0;
        Stmt code = element(name("row"), name("column"), false);
        code = IfThenElse::make(name("row") >= 0 && name("row") < name("rows"), code);
        code = let("row", select(is_of_last, row - name("lanes"), row),
                   let("column", select(is_of_last, name("ahead") + name("columns"), name("ahead")), code));
        return loop("lane", 0, name("lanes"), let("ahead", ahead, code));
    }

    Stmt all_rows() const {
        Stmt all;
        for (int lane = 0; lane < rows_.rows_together; ++lane) {
            Stmt code = element(name("block") * rows_.rows_together + lane, name("time") - lane * rows_.skew, true);
            all = all.defined() ? Block::make(all, code) : code;
        }
        return all;
    }
};

} // namespace

Stmt wavefront(const KernelLoop& rows, const std::vector<ColumnLoop>& columns) {
    return Builder(rows, columns).build();
}

} // namespace tilewright::dsl
