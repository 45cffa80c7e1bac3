// translator/stages/pixelwise_stage.h: a pixelwise loop as a stage whose update runs over the iterations.
#pragma once

#include "translator/stages/evaluator.h"
#include "translator/stages/stage_table.h"

namespace tilewright::translator {

/// The stage of a loop: its pure definition is what the loop starts from at each element, its update runs over the
/// iterations.
void build_pixelwise(Shared& shared, StageTable& table, Evaluator& evaluator, const StagePlan& plan);

} // namespace tilewright::translator
