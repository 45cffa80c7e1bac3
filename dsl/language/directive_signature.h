// dsl/language/directive_signature.h: how each directive is written: what the parser and the printer need to know of
// it.
//
// What a directive means, when it is legal and how it is applied stands in dsl/directives/, which needs Halide.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::dsl {

/// What an argument is. Expressions become Argument::Kind::expression, all else Argument::Kind::name.
enum class ArgumentRole : char {
    loop = 'l',       ///< an existing loop
    new_loop = 'n',   ///< the name that a loop gets
    stage = 's',      ///< a stage or a program argument
    expression = 'e', ///< a factor, a size, a condition
    tail = 't',       ///< guard_with_if, round_up, ...
    memory = 'm',     ///< heap, stack, register, gpu_shared, auto
    policy = 'p',     ///< never, always, auto (of loop partitioning)
    alignment = 'a',  ///< align_start, align_end, no_align, auto (of compute_with)
    bounds = 'b',     ///< clamp, guard_with_if, non_faulting (of prefetch)
    direction = 'd',  ///< forward, backward (of fold_storage)
    check = 'c',      ///< override_associativity_test (of atomic)
    anything = '*'    ///< a name or an expression
};

/// One way to write a directive; a verb may have several.
struct DirectiveSignature {
    std::string_view verb;
    std::string_view usage;   ///< for people: split(loop, outer, inner, factor[, tail])
    std::string_view roles;   ///< one ArgumentRole a letter; what follows `?` may be left out from the right;
                              ///< a `+` at the end repeats the whole pattern
    bool makes_stage = false; ///< must be the last of its chain and be followed by `as NAME`
    bool has_block = false;   ///< may be followed by `{ directives }`
};

const std::vector<DirectiveSignature>& directive_signatures();

/// Every verb once, in the order of the table.
const std::vector<std::string>& directive_verbs();

/// The words that may stand for a role: tail strategies, storage kinds, ...; empty for roles without fixed words.
const std::vector<std::string>& role_words(ArgumentRole role);

/// "a loop name", "a tail strategy", ...
std::string role_name(ArgumentRole role);

/// The verb of ours for a word of Halide's C++, Python or TVM that means the same; empty if there is none.
std::string_view verb_alias(std::string_view word);

} // namespace tilewright::dsl
