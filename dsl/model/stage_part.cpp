// dsl/model/stage_part.cpp: names of the parts of reductions and loops, also for who does without Halide.
#include "dsl/model/algorithm.h"

namespace tilewright::dsl {

const char* part_name(StagePart part) {
    static constexpr const char* kNames[] = {"", "lanes", "block", "rows", "lane", "fold", "end", "loop"};
    return kNames[static_cast<int>(part)];
}

} // namespace tilewright::dsl
