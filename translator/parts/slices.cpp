// translator/parts/slices.cpp: whether each row of what a call gives needs that row of its arguments alone.
#include "translator/parts/slices.h"

#include <algorithm>

#include "translator/parts/rows.h"

namespace tilewright::translator {
namespace {

/// No part has the length that the whole must have.
bool is_equality(const Guard& guard) {
    return guard.condition.op() == Size::Op::eq;
}

bool hold(const Program& program, const Rows& rows) {
    if (!rows.are_clear()) return false;
    for (const Write& write : program.writes)
        if (rows.place_of(write.argument) != 0) return false;
    for (const std::string& name : program.body.yields)
        if (rows.is_argument(name) || rows.place_of(name) != 0) return false;
    // Memory for a result is made when a first part has shown its shape; a written argument must not see that.
    if (program.body.yields.empty() == program.writes.empty()) return false;
    // The whole is asked before it is cut. A part that is then none for the program ends the call, which must not have
    // written anything.
    const auto asks_no_more = [&](const Guard& guard) {
        return rows.fits(guard) || (program.writes.empty() && !is_equality(guard));
    };
    const auto fits = [&](const Operation& operation) { return rows.fits(operation); };
    return std::all_of(program.guards.begin(), program.guards.end(), asks_no_more) &&
           std::all_of(program.body.operations.begin(), program.body.operations.end(), fits);
}

} // namespace

std::vector<std::string> sliced_arguments(const Program& program) {
    for (const std::string& extent : extents_of_rows(program))
        if (const Rows rows(program, extent); hold(program, rows)) return rows.arguments();
    return {};
}

} // namespace tilewright::translator
