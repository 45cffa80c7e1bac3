// autotune/space/gpu_nest.h: loops of one definition as blocks and threads of a device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autotune/machine.h"
#include "autotune/space/statements.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// The loops of a stage with a separate kernel, and where other stages may be computed in them.
struct GpuNest {
    std::vector<std::string> axes; ///< the pure loops, outermost first
    std::string
        block; ///< the loop over blocks; all of them are fused into one, since grids are long in one direction only
    std::string thread;          ///< the innermost loop over threads; "" where one thread does all
    Factor threads;              ///< threads of a block along it: ?sum_threads
    bool counts_threads = false; ///< a directive of the nest itself says how many
    bool cooperative = false;    ///< the threads of a block work on something together: stages may lie in shared memory
    std::string shared_axis;     ///< cooperative: the one axis that a block has several of; the others are fixed in it
    std::vector<Line> lines;
    Line tile;        ///< of an element_nest of tiles: the first line with several rows a thread
    Factor tile_rows; ///< how many rows of elements that has
    Factor tile_height;
};

/// A thread an element: tiles of the last two axes, or blocks of one long axis. A last axis that is shorter than a warp
/// is made one with the axis before it; where the two are still shorter, tiles have them as one of their axes.
/// `uneven`: elements take different times, so tiles of two axes are small and square.
GpuNest element_nest(const dsl::StageInfo& stage, bool uneven);

/// How a row is laid out in lanes: element j lies at lane j % lanes of block j / (lanes * per_lane).
struct LaneMap {
    std::int64_t lanes = 0; ///< 0: in none, or in one block
    std::int64_t per_lane = 0;
};

/// A block a row, whose elements the threads share out, as `map` has them where that is known: each thread then meets
/// the elements that its lanes add up.
GpuNest row_nest(const dsl::StageInfo& stage, const LaneMap& map);

/// A block for a few elements, each reduced from many; `threads` in a block to begin with. `whole`: never
/// for fewer.
GpuNest tree_nest(const dsl::StageInfo& stage, std::int64_t rows, std::int64_t threads, bool whole = false);

/// One block for a single number, whose threads reduce what it is made from.
GpuNest single_nest(const dsl::StageInfo& stage, std::int64_t threads);

/// What computing one element takes, with all that is computed in its thread.
struct ElementCost {
    double operations = 0;
    int bytes = 0;         ///< of the result
    bool hosts = false;    ///< other stages are computed for each element
    bool repeated = false; ///< loops run for each element
    /// X.1 == 2: the lengths of the short loops that run for each element, where they are sizes of the call.
    std::optional<Factor> lengths;
};

/// Several elements a thread: other forms of an element_nest, as branches of a choose; which comes first says the cost.
void offer_items(GpuNest& nest, const dsl::StageInfo& stage, const ElementCost& cost);

/// The loops of a stage that is computed in a block.
struct BlockLines {
    std::vector<Line> lines;     ///< one for each definition
    bool counts_threads = false; ///< some line says how many threads
    std::string thread;          ///< the loop over threads of the pure definition, "" where one thread does all
    std::string inner;           ///< its innermost loop
};

/// The loops of `stage` that are not in `fixed`, as threads of the block that it is computed in; `at` says where.
BlockLines in_block_lines(const dsl::StageInfo& stage, const std::vector<std::string>& fixed, const Line& at,
                          const Factor& threads, const LaneMap& map);

/// The innermost loop of an update where that is reduced, short and of a length that is known, else "".
std::string short_reduction(const dsl::DefinitionInfo& update, std::int64_t most);

} // namespace tilewright::autotune
