// translator/stages/kernels.h: from an analysis to the kernels of its stages.
#pragma once

#include <vector>

#include "dsl/model/algorithm_impl.h"
#include "translator/stages/evaluator.h"
#include "translator/stages/stage_table.h"

namespace tilewright::translator {

/// Makes the Funcs of all stages of `shared.analysis` and appends its kernels, which count on from those that are
/// there.
void build_kernels(Shared& shared, StageTable& table, std::vector<dsl::KernelImpl>& kernels);

/// The stage of a pixelwise loop: its pure definition is what the loop starts from at each element, its update runs
/// over the iterations.
void build_pixelwise(Shared& shared, StageTable& table, Evaluator& evaluator, const StagePlan& plan);

} // namespace tilewright::translator
