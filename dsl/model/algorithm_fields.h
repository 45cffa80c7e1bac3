// dsl/model/algorithm_fields.h: the lists of fields of an algorithm's description: whoever sends or reads one
// walks them. A field that is added to a struct of dsl/model/algorithm.h does not compile here until it is listed.
#pragma once

#include "dsl/base/fields.h"
#include "dsl/model/algorithm.h"

namespace tilewright::dsl {

TW_FIELDS(LoopInfo, name, reduced, ordered, extent, extent_here, racing, follows, longest, longest_here);
TW_FIELDS(CallInfo, stage, axes);
TW_FIELDS(DefinitionInfo, loops, associative, calls);
TW_FIELDS(ReadInfo, from, innermost, broadcast, definition, axes, places, by_block_rows);
TW_FIELDS(StageInfo, name, dtypes, pure, updates, reads, output, inlinable, guarded, repeats, scans, in_parallel,
          rows_together, reads_neighbours, gathers_at_ends, operations, line, source, kernel, part);
TW_FIELDS(SizeInfo, name, here);
TW_FIELDS(AlgorithmInfo, function, variant, stages, sizes);

} // namespace tilewright::dsl
