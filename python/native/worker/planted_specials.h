// python/native/worker/planted_specials.h: special values put into the recorded call for a moment.
#pragma once

#include <vector>

#include "python/native/worker/data_sets.h"

namespace tilewright::native {

/// While it lives, some elements of every float argument of `set` are NaN, infinite, -0.0, subnormal or the largest: at
/// both ends and scattered. Schedules that only serve large sizes never see the small derived data sets; this shows
/// them special values without a second copy of the data.
class PlantedSpecials {
  public:
    explicit PlantedSpecials(DataSet& set);
    ~PlantedSpecials();
    PlantedSpecials(const PlantedSpecials&) = delete;
    PlantedSpecials& operator=(const PlantedSpecials&) = delete;
    /// False where there is no float argument: nothing can be planted.
    bool any() const { return !saved_.empty(); }

  private:
    struct Saved {
        char* place;
        unsigned char bytes[8];
        std::size_t count;
    };
    DataSet& set_;
    std::vector<Saved> saved_;
};

} // namespace tilewright::native
