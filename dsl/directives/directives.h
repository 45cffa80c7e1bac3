// dsl/directives/directives.h: the list of all directives.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/directives/directive.h"

namespace tilewright::dsl {

const std::vector<DirectiveRow>& directive_rows();
const DirectiveRow* find_directive(std::string_view verb);

/// Checks one directive against the model: its signature, then its row.
void check_directive(CheckContext& context);

// One list a family, joined by directive_rows(). Explicit, since a linker drops registries made by static constructors.
std::vector<DirectiveRow> split_rows();
std::vector<DirectiveRow> order_rows();
std::vector<DirectiveRow> placement_rows();
std::vector<DirectiveRow> stage_rows();
std::vector<DirectiveRow> storage_rows();
std::vector<DirectiveRow> traffic_rows();
std::vector<DirectiveRow> gpu_rows();
std::vector<DirectiveRow> refused_rows();

/// Splits a loop of the context's definition after all checks. `asked` is the tail as written, or automatic. False
/// after a refusal.
bool check_split(CheckContext& context, int loop, const std::string& outer, const std::string& inner,
                 std::int64_t factor, Tail asked, std::size_t argument);
/// The tail named by an argument; automatic where the argument is missing.
Tail tail_argument(const CheckContext& context, std::size_t argument);

/// Moves loops so that they stand in the order given, innermost first. False after a refusal.
bool check_reorder(CheckContext& context, const std::vector<int>& innermost_first);
/// Refuses what a loop cannot run as.
bool check_run(CheckContext& context, int loop, Run run);

/// Splits a loop of the context's definition in Halide; `tail` counts the splits of the directive.
void split_in_halide(ApplyContext& context, const std::string& loop, const std::string& outer, const std::string& inner,
                     std::int64_t factor, std::size_t tail);

/// Refuses a directive of devices in a schedule for a CPU; true after a refusal.
bool refuse_on_cpu(CheckContext& context);
/// Refuses a directive of CPUs in a schedule for a device; true after a refusal.
bool refuse_on_device(CheckContext& context, const std::string& hint);

/// The condition of specialize as Halide's expression over sizes.
Halide::Expr condition_expr(const Expression& condition, const AlgorithmImpl& algorithm, const AlgorithmInfo& info,
                            const std::string& stage, int update);

} // namespace tilewright::dsl
