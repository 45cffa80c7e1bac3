// python/native/face/plan_call_generators.h: the generators that one call draws from: locked while it runs, moved on
// when it is over.
#pragma once

#include <vector>

#include "dsl/runtime/compiled_size.h"
#include "python/native/face/generators.h"
#include "python/native/face/outside.h"

namespace tilewright::face {

/// A generator that a plan draws from.
struct DrawnGenerator {
    Ref argument; ///< the name of the argument that has its words; None of one that is locked and no more
    std::size_t place;
    bool is_locked;  ///< while the call runs
    bool is_counted; ///< the call moves it on by `draws`; otherwise stages draw from it, one after the other
    runtime::CompiledSize draws;
};

/// Of one call, while it lives.
class CallGenerators {
  public:
    explicit CallGenerators(const std::vector<DrawnGenerator>& drawn) : drawn_(drawn) {}
    ~CallGenerators();
    CallGenerators(const CallGenerators&) = delete;
    CallGenerators& operator=(const CallGenerators&) = delete;

    /// Finds and locks them. False where one is no Generator on PCG64, or is another one too: Python knows what to do;
    /// or with a Python error.
    bool take(Found& places);
    /// The words of one, by its number.
    Ref words(std::size_t number) const { return pcg64_array(*taken_[number].state, 4); }
    /// Reads how many numbers the call draws of each. False where they cannot be counted. `symbols`: of the call.
    bool count(const std::int64_t* symbols);
    /// The plan has run to its end.
    void move_on();

  private:
    struct Taken {
        Ref generator, bits;
        NumpyPcg64* state = nullptr;
        runtime::Pcg64 before;
        std::int64_t draws = 0;
    };
    bool find(Found& places);
    bool lock();

    const std::vector<DrawnGenerator>& drawn_;
    std::vector<Taken> taken_;
    std::vector<StreamLock> locks_;
    bool is_lent_ = false, is_done_ = false;
};

} // namespace tilewright::face
