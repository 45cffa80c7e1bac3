// dsl/model/loop_nest.cpp: splitting and fusing loops, and what their extents then are.
#include "dsl/model/loop_nest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dsl/base/size_expression.h"

namespace tilewright::dsl {
namespace {

/// In the order of Tail.
constexpr const char* kTails[] = {
    "auto",     "guard_with_if",      "predicate",     "predicate_loads",        "predicate_stores",
    "round_up", "round_up_and_blend", "shift_inwards", "shift_inwards_and_blend"};

std::optional<std::int64_t> product(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    std::int64_t result = 0;
    if (!a || !b || __builtin_mul_overflow(*a, *b, &result)) return std::nullopt;
    return result;
}

std::string parenthesized(const std::string& text) {
    const bool atom = text.find_first_of(" +-*/%") == std::string::npos;
    return atom ? text : "(" + text + ")";
}

} // namespace

std::string tail_name(Tail tail) {
    return kTails[static_cast<std::size_t>(tail)];
}

std::optional<Tail> tail_by_name(const std::string& name) {
    const auto found = std::ranges::find(kTails, name);
    if (found == std::end(kTails)) return std::nullopt;
    return static_cast<Tail>(found - std::begin(kTails));
}

int LoopNest::find(const std::string& name) const {
    for (int loop : order) {
        if (loops[loop].name == name) return loop;
    }
    return -1;
}

std::vector<std::string> LoopNest::names() const {
    std::vector<std::string> result;
    for (int loop : order)
        result.push_back(loops[loop].name);
    return result;
}

int LoopNest::place(int loop) const {
    const auto found = std::find(order.begin(), order.end(), loop);
    return found == order.end() ? -1 : static_cast<int>(found - order.begin());
}

void LoopNest::add(const LoopInfo& info, bool full_region) {
    Loop loop;
    loop.name = info.name;
    loop.axis = info.name;
    loop.reduced = info.reduced;
    loop.ordered = info.ordered;
    loop.racing = info.racing;
    if (full_region || info.reduced) loop.extent = info.extent;
    loop.constant = constant_size(info.extent);
    order.push_back(static_cast<int>(loops.size()));
    loops.push_back(std::move(loop));
}

void LoopNest::split(int loop, const std::string& outer, const std::string& inner, std::int64_t factor, Tail tail) {
    Loop outer_loop;
    outer_loop.name = outer;
    outer_loop.parent = loop;
    outer_loop.reduced = loops[loop].reduced;
    outer_loop.ordered = loops[loop].ordered;
    outer_loop.racing = loops[loop].racing;
    outer_loop.run = loops[loop].run;
    outer_loop.run_at = loops[loop].run_at;
    Loop inner_loop = outer_loop;
    outer_loop.origin = Loop::Origin::outer;
    inner_loop.origin = Loop::Origin::inner;
    inner_loop.name = inner;
    const int outer_id = static_cast<int>(loops.size());
    loops.push_back(std::move(outer_loop));
    loops.push_back(std::move(inner_loop));
    loops[loop].outer = outer_id;
    loops[loop].inner = outer_id + 1;
    loops[loop].factor = factor;
    loops[loop].tail = tail;
    const int at = place(loop);
    order[at] = outer_id;
    order.insert(order.begin() + at + 1, outer_id + 1);
}

int LoopNest::fuse(int inner, int outer, const std::string& name) {
    Loop loop;
    loop.name = name;
    loop.origin = Loop::Origin::fused;
    loop.parent = inner;
    loop.second_parent = outer;
    loop.reduced = loops[inner].reduced || loops[outer].reduced;
    loop.ordered = loops[inner].ordered || loops[outer].ordered;
    loop.racing = loops[inner].racing || loops[outer].racing;
    loop.run = loops[inner].run;
    loop.run_at = loops[inner].run_at;
    const int id = static_cast<int>(loops.size());
    loops.push_back(std::move(loop));
    loops[inner].fused = id;
    loops[outer].fused = id;
    order.erase(order.begin() + place(outer));
    order[place(inner)] = id;
    return id;
}

std::set<int> LoopNest::roots(int loop) const {
    const Loop& node = loops[loop];
    if (node.origin == Loop::Origin::base) return {loop};
    std::set<int> result = roots(node.parent);
    if (node.origin == Loop::Origin::fused) result.merge(roots(node.second_parent));
    return result;
}

std::optional<std::int64_t>
LoopNest::extent(int loop, const std::function<std::optional<std::int64_t>(const Loop&)>& base) const {
    const Loop& node = loops[loop];
    switch (node.origin) {
    case Loop::Origin::base:
        if (node.constant) return node.constant;
        return base ? base(node) : std::nullopt;
    case Loop::Origin::inner:
        return loops[node.parent].factor;
    case Loop::Origin::outer: {
        const auto whole = extent(node.parent, base);
        if (!whole) return std::nullopt;
        const std::int64_t factor = loops[node.parent].factor;
        return *whole / factor + (*whole % factor != 0);
    }
    case Loop::Origin::fused:
        return product(extent(node.parent, base), extent(node.second_parent, base));
    }
    return std::nullopt;
}

std::optional<std::int64_t> LoopNest::span(int loop, const std::function<bool(int)>& fixed,
                                           const std::function<std::optional<std::int64_t>(const Loop&)>& base) const {
    const Loop& node = loops[loop];
    if (node.outer >= 0) {
        const auto outer = span(node.outer, fixed, base);
        const auto inner = span(node.inner, fixed, base);
        const auto whole = extent(loop, base);
        if (!outer || !inner) return whole;
        const auto strided = product(*outer - 1, node.factor);
        if (!strided) return whole;
        return whole ? std::min(*whole, *strided + *inner) : *strided + *inner;
    }
    if (node.fused >= 0) {
        const auto fused = span(node.fused, fixed, base);
        return fused && *fused == 1 ? fused : extent(loop, base);
    }
    return fixed(loop) ? std::optional<std::int64_t>(1) : extent(loop, base);
}

std::int64_t LoopNest::step(int loop) const {
    const Loop& node = loops[loop];
    switch (node.origin) {
    case Loop::Origin::base:
        return 1;
    case Loop::Origin::outer: {
        const std::int64_t whole = step(node.parent);
        const std::int64_t factor = loops[node.parent].factor;
        return whole > kMostRounded / factor ? kMostRounded : whole * factor;
    }
    case Loop::Origin::inner:
        return step(node.parent);
    case Loop::Origin::fused: // the outer one goes past its end with it
        return std::max(step(node.parent), step(node.second_parent));
    }
    return 1;
}

std::string LoopNest::extent_text(int loop) const {
    const Loop& node = loops[loop];
    switch (node.origin) {
    case Loop::Origin::base:
        return node.extent;
    case Loop::Origin::inner:
        return std::to_string(loops[node.parent].factor);
    case Loop::Origin::outer: {
        const std::string whole = extent_text(node.parent);
        if (whole.empty()) return "";
        const std::int64_t factor = loops[node.parent].factor;
        if (factor == 1) return whole;
        return "(" + parenthesized(whole) + " + " + std::to_string(factor - 1) + ") // " + std::to_string(factor);
    }
    case Loop::Origin::fused: {
        const std::string inner = extent_text(node.parent);
        const std::string outer = extent_text(node.second_parent);
        return inner.empty() || outer.empty() ? "" : parenthesized(outer) + " * " + parenthesized(inner);
    }
    }
    return "";
}

bool LoopNest::from_inner(int loop) const {
    const Loop& node = loops[loop];
    if (node.origin == Loop::Origin::base) return false;
    if (node.origin == Loop::Origin::inner) return true;
    return from_inner(node.parent) || (node.second_parent >= 0 && from_inner(node.second_parent));
}

bool LoopNest::from_predicated(int loop) const {
    const Loop& node = loops[loop];
    if (node.origin != Loop::Origin::inner) return false;
    const Tail tail = loops[node.parent].tail;
    return tail == Tail::predicate_loads || tail == Tail::predicate_stores;
}

} // namespace tilewright::dsl
