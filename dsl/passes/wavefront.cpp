// dsl/passes/wavefront.cpp: blocks of rows, with the end of one block and the start of the next one overlapped.
#include "dsl/passes/wavefront.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dsl/passes/forward_elements.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

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
