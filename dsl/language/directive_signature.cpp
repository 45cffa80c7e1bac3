// dsl/language/directive_signature.cpp: the list of directives as they are written.
#include "dsl/language/directive_signature.h"

#include <algorithm>
#include <iterator>

namespace tilewright::dsl {

const std::vector<DirectiveSignature>& directive_signatures() {
    static const std::vector<DirectiveSignature> signatures = {
        // Loops: dividing and merging.
        {"split", "split(loop, outer, inner, factor[, tail])", "lnne?t"},
        {"tile", "tile(x, y, x_outer, y_outer, x_inner, y_inner, x_factor, y_factor[, tail])", "llnnnnee?t"},
        {"tile", "tile(x, y, x_inner, y_inner, x_factor, y_factor[, tail])", "llnnee?t"},
        {"fuse", "fuse(inner, outer, fused)", "lln"},
        {"rename", "rename(loop, new_name)", "ln"},
        // Loops: order and how each runs.
        {"reorder", "reorder(innermost, ..., outermost)", "l+"},
        {"serial", "serial(loop)", "l"},
        {"parallel", "parallel(loop[, task_size[, tail]])", "l?et"},
        {"vectorize", "vectorize(loop[, factor[, tail]])", "l?et"},
        {"unroll", "unroll(loop[, factor[, tail]])", "l?et"},
        {"atomic", "atomic()", "?c"},
        {"allow_race_conditions", "allow_race_conditions()", ""},
        {"partition", "partition(loop, policy)", "lp"},
        {"always_partition", "always_partition(loop, ...)", "l+"},
        {"never_partition", "never_partition(loop, ...)", "l+"},
        {"always_partition_all", "always_partition_all()", ""},
        {"never_partition_all", "never_partition_all()", ""},
        {"rows_together", "rows_together(rows)", "e"},
        // Placement: where a stage is computed and kept.
        {"inline", "inline()", ""},
        {"compute_root", "compute_root()", ""},
        {"compute_at", "compute_at(stage, loop)", "sl"},
        {"compute_with", "compute_with(stage, loop[, alignment])", "sl?a"},
        {"compute_with", "compute_with(stage, update, loop[, alignment])", "sel?a"},
        {"store_root", "store_root()", ""},
        {"store_at", "store_at(stage, loop)", "sl"},
        {"hoist_storage", "hoist_storage(stage, loop)", "sl"},
        {"hoist_storage_root", "hoist_storage_root()", ""},
        {"rfactor", "rfactor(loop, new_loop) as name", "ln+", true},
        {"in", "in(stage, ...) as name", "s+", true},
        {"in", "in() as name", "", true},
        {"specialize", "specialize(condition) { directives }", "e", false, true},
        {"specialize_fail", "specialize_fail()", ""},
        // Storage.
        {"store_in", "store_in(memory)", "m"},
        {"fold_storage", "fold_storage(loop, extent[, direction])", "le?d"},
        {"reorder_storage", "reorder_storage(innermost, ..., outermost)", "l+"},
        {"align_storage", "align_storage(loop, alignment)", "le"},
        {"bound", "bound(loop, min, extent)", "lee"},
        {"align_bounds", "align_bounds(loop, modulus[, remainder])", "le?e"},
        {"bound_extent", "bound_extent(loop, extent)", "le"},
        {"bound_storage", "bound_storage(loop, bound)", "le"},
        {"prefetch", "prefetch(stage, at, from[, offset[, bounds]])", "sll?eb"},
        // What moves between memory and caches.
        {"prefetch_lines", "prefetch_lines(loop, bytes_ahead)", "le"},
        {"store_nontemporal", "store_nontemporal(min_bytes)", "e"},
        {"memoize", "memoize()", ""},
        {"async", "async()", ""},
        {"ring_buffer", "ring_buffer(extent)", "e"},
        // For the CUDA target.
        {"gpu", "gpu(block, ..., thread, ...)", "*+"},
        {"gpu_blocks", "gpu_blocks(loop, ...)", "l+"},
        {"gpu_threads", "gpu_threads(loop, ...)", "l+"},
        {"gpu_lanes", "gpu_lanes(loop)", "l"},
        {"gpu_single_thread", "gpu_single_thread()", ""},
        {"gpu_single_block", "gpu_single_block(block)", "n"},
        {"gpu_tile", "gpu_tile(loop, ..., [block, ...,] thread, ..., factor, ...[, tail])", "*+"},
    };
    return signatures;
}

const std::vector<std::string>& directive_verbs() {
    static const std::vector<std::string> verbs = [] {
        std::vector<std::string> result;
        for (const DirectiveSignature& signature : directive_signatures()) {
            if (result.empty() || result.back() != signature.verb) result.emplace_back(signature.verb);
        }
        return result;
    }();
    return verbs;
}

namespace {

struct Role {
    ArgumentRole role;
    const char* name;
    std::vector<std::string> words;
};

const Role& row_of(ArgumentRole role) {
    static const std::vector<Role> rows = {
        {ArgumentRole::anything, "an argument", {}},
        {ArgumentRole::loop, "a loop name", {}},
        {ArgumentRole::new_loop, "a name for the new loop", {}},
        {ArgumentRole::stage, "a stage name", {}},
        {ArgumentRole::expression, "a number or an expression", {}},
        {ArgumentRole::tail,
         "a tail strategy",
         {"auto", "guard_with_if", "predicate", "predicate_loads", "predicate_stores", "round_up", "round_up_and_blend",
          "shift_inwards", "shift_inwards_and_blend"}},
        {ArgumentRole::memory, "a kind of memory", {"auto", "gpu_shared", "heap", "register", "stack"}},
        {ArgumentRole::policy, "a partition policy", {"always", "auto", "never"}},
        {ArgumentRole::alignment, "an alignment", {"align_end", "align_start", "auto", "no_align"}},
        {ArgumentRole::bounds, "a treatment of bounds", {"clamp", "guard_with_if", "non_faulting"}},
        {ArgumentRole::direction, "a direction", {"backward", "forward"}},
        {ArgumentRole::check, "'override_associativity_test'", {"override_associativity_test"}}};
    const auto found = std::ranges::find(rows, role, &Role::role);
    return found == rows.end() ? rows.front() : *found;
}

} // namespace

const std::vector<std::string>& role_words(ArgumentRole role) {
    return row_of(role).words;
}

std::string role_name(ArgumentRole role) {
    return row_of(role).name;
}

std::string_view verb_alias(std::string_view word) {
    struct Alias {
        std::string_view word;
        std::string_view verb;
    };
    static constexpr Alias kAliases[] = {
        {"compute_inline", "inline"}, {"computeInline", "inline"},
        {"inline_", "inline"},        {"in_", "in"},
        {"clone_in", "in"},           {"cache_read", "in"},
        {"async_", "async"},          {"vectorise", "vectorize"},
        {"parallelize", "parallel"},  {"reverse_compute_at", "compute_at"},
    };
    const auto found =
        std::find_if(std::begin(kAliases), std::end(kAliases), [&](const Alias& alias) { return alias.word == word; });
    return found == std::end(kAliases) ? std::string_view() : found->verb;
}

} // namespace tilewright::dsl
