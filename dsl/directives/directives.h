// dsl/directives/directives.h: the list of all directives.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/directives/directive.h"

namespace tilewright::dsl {

const std::vector<DirectiveRow>& directive_rows();
const DirectiveRow* find_directive(std::string_view verb);

/// Checks one directive against the model: its signature, then its row. Throws Refused.
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

/// Splits a loop of the context's definition after all checks. `asked` is the tail as written, or automatic.
void check_split(CheckContext& context, int loop, const std::string& outer, const std::string& inner,
                 std::int64_t factor, Tail asked, std::size_t argument);
/// The tail named by an argument; automatic where the argument is missing.
Tail tail_argument(const CheckContext& context, std::size_t argument);

/// Moves loops so that they stand in the order given, innermost first.
void check_reorder(CheckContext& context, const std::vector<int>& innermost_first);
/// Refuses what a loop cannot run as.
void check_run(CheckContext& context, int loop, Run run);

/// The same of the loops in Halide.
void run_in_halide(ApplyContext& context, const std::string& loop, Run run);

/// Splits a loop of the context's definition in Halide; `tail` counts the splits of the directive.
void split_in_halide(ApplyContext& context, const std::string& loop, const std::string& outer, const std::string& inner,
                     std::int64_t factor, std::size_t tail);

/// What tile and gpu_tile are written with: loops, names of their outer parts (or none, where these keep the loops'
/// names) and of their inner ones, as many factors, and a tail strategy at the end or none: tile(x, y, xi, yi, 8, 8).
struct TileArguments {
    std::size_t loops = 0; ///< 0: written in no way that there is
    std::size_t first_outer = 0;
    std::size_t first_inner = 0;
    std::size_t first_factor = 0;
    std::size_t tail = 0; ///< perhaps missing
};
TileArguments tile_arguments(const Directive& directive);
/// Splits each loop by the factors that the context's numbers begin with; the inner parts come to lie innermost.
void split_tiles(CheckContext& context, const TileArguments& tile);
void split_tiles_in_halide(ApplyContext& context, const TileArguments& tile);

/// Refuses a directive of devices in a schedule for a CPU.
void refuse_on_cpu(CheckContext& context);
/// Refuses a directive of CPUs in a schedule for a device.
void refuse_on_device(CheckContext& context, const std::string& hint);

} // namespace tilewright::dsl
