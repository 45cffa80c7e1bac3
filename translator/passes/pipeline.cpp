// translator/passes/pipeline.cpp: the list of passes, and who runs them.
#include "translator/passes/pipeline.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
constexpr bool kVerifies = false; // it would take some percent of a translation
#else
constexpr bool kVerifies = true;
#endif

template <Program (*rewrite)(const Program&)> Prepared plain(const Prepared& prepared, const TranslateOptions&) {
    return {rewrite(prepared.program), prepared.in_steps, prepared.variants, prepared.chosen, prepared.requirements};
}

bool is_known(const std::string& name) {
    return std::any_of(passes().begin(), passes().end(), [&](const Pass& pass) { return pass.name == name; });
}

[[noreturn]] void refuse_switch(const std::string& entry, const std::string& why) {
    std::string names;
    for (const Pass& pass : passes())
        if (!pass.needed && names.find("-" + std::string(pass.name)) == std::string::npos)
            names += (names.empty() ? "-" : ", -") + std::string(pass.name);
    throw TranslateError("TILEWRIGHT_PASSES: " + entry + ": " + why, "Use some of " + names + ", with commas between.");
}

/// The names in TILEWRIGHT_PASSES=-NAME,-NAME.
std::set<std::string> switched_off() {
    std::set<std::string> off;
    const char* given = std::getenv("TILEWRIGHT_PASSES");
    const std::string text = given == nullptr ? "" : given;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string entry = text.substr(at, end - at);
        at = end + 1;
        if (entry.empty()) continue;
        if (entry[0] != '-' || !is_known(entry.substr(1))) refuse_switch(entry, "there is no such pass.");
        off.insert(entry.substr(1));
    }
    for (const Pass& pass : passes())
        if (pass.needed && off.count(pass.name) != 0)
            refuse_switch("-" + std::string(pass.name), "what follows cannot do without this pass.");
    return off;
}

bool is_for(const Pass& pass, const Prepared& prepared, const TranslateOptions& options) {
    if (pass.when == When::always) return true;
    return prepared.in_steps && (pass.when == When::in_steps || options.axes.value_or(options.device));
}

} // namespace

const std::vector<Pass>& passes() {
    static const std::vector<Pass> list = {
        {.name = "split_complex",
         .meaning = "complex numbers as pairs of floats",
         .run = plain<split_complex>,
         .needed = true},
        {.name = "reduction_recognition",
         .meaning = "loops that only add up integers as reductions over their iterations",
         .run = plain<reduction_recognition>,
         .fate = "reduction: sums of integers over the iterations, in any order"},
        {.name = "pixelwise_if_conversion",
         .meaning = "branches inside of pixelwise loops as `where`",
         .run = plain<pixelwise_if_conversion>},
        {.name = "linear_bits",
         .meaning = "chains of choices by single bits as one look-up",
         .run = plain<linear_bits>},
        {.name = "dimension_contraction",
         .meaning = "arrays that are the same all along an axis without that axis",
         .run = plain<dimension_contraction>},
        {.name = "transposed_layout",
         .meaning = "arrays that are used in columns alone stored by columns",
         .run = plain<transposed_layout>},
        {.name = "sum_orders",
         .meaning = "the order of each reduction and product as an attribute, before loops move",
         .run = sum_orders,
         .needed = true},
        {.name = "if_conversion",
         .meaning = "branches of loops that choose between numbers as `where`, before loops become axes",
         .when = When::axes,
         .run = plain<if_conversion>},
        {.name = "store_forwarding",
         .meaning = "reads of what was just written as what was written, before loops become axes",
         .when = When::axes,
         .run = plain<store_forwarding>,
         .fate = "gone: nothing of it is needed"},
        {.name = "batching",
         .meaning = "loops whose iterations are independent as arrays with an axis of iterations",
         .when = When::axes,
         .run = batching,
         .fate = "axis: its iterations are independent, and an axis of the kernels",
         .why_not = why_no_axis},
        {.name = "column_products",
         .meaning = "loops over columns that each add up a product as operations on rows",
         .when = When::in_steps,
         .run = column_products,
         .fate = "axis: its iterations are independent, and neighbours in memory"},
        {.name = "loop_products",
         .meaning = "products of a vector of each iteration and a matrix as one product before the loop",
         .when = When::in_steps,
         .run = loop_products,
         .fate = "gone: nothing of it is needed"},
        {.name = "if_conversion",
         .meaning = "branches of loops that choose between numbers as `where`",
         .when = When::in_steps,
         .run = plain<if_conversion>},
        {.name = "store_forwarding",
         .meaning = "reads of what was just written as what was written",
         .when = When::in_steps,
         .run = plain<store_forwarding>,
         .fate = "gone: nothing of it is needed"},
        {.name = "bounds_check_elimination",
         .meaning = "takes whose positions a check has seen marked: they need no clamp",
         .when = When::in_steps,
         .run = plain<bounds_check_elimination>},
        {.name = "dead_store_elimination",
         .meaning = "starts of arrays that are written before they are read marked: nobody fills them",
         .when = When::in_steps,
         .run = plain<dead_store_elimination>},
        {.name = "packing",
         .meaning = "arguments that loops read by columns again and again copied by columns, once",
         .when = When::in_steps,
         .run = packing},
    };
    return list;
}

Prepared prepare(const Program& program, const TranslateOptions& options, const PassWatch& watch) {
    const std::set<std::string> off = switched_off();
    Prepared prepared;
    prepared.program = program;
    bool decided = false;
    for (const Pass& pass : passes()) {
        if (pass.when != When::always && !std::exchange(decided, true))
            prepared.in_steps = needs_steps(prepared.program);
        if (off.count(pass.name) != 0 || !is_for(pass, prepared, options)) continue;
        Prepared made = pass.run(prepared, options);
        if (kVerifies) verify_program(made.program, Dialect::rewritten);
        if (watch) watch(pass, prepared.program, made.program);
        prepared = std::move(made);
    }
    return prepared;
}

} // namespace tilewright::translator
