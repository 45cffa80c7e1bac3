// autotune/space/stage_graph.h: who reads whom, and inside which loops a stage could be computed.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// One read of a stage by another.
struct Use {
    const dsl::StageInfo* reader = nullptr;
    const dsl::ReadInfo* read = nullptr;
};

/// Where a stage is computed.
enum class Placement {
    root,     ///< a separate loop nest
    attached, ///< inside a loop of another stage
    inlined   ///< inside the expressions that read it
};

/// What the rules decided for a stage, so far.
struct StagePlan {
    Placement placement = Placement::root;
    const dsl::StageInfo* root = nullptr; ///< the stage whose loop nest it runs in (itself when root)
    std::map<std::string, std::string>
        to_root;              ///< own pure loop -> the loop of `root` that it follows; absent: runs over all
    bool in_update = false;   ///< read, perhaps through other stages, by an update of `root`
    std::string attach_stage; ///< attached: compute_at(attach_stage, attach_loop)
    std::string attach_loop;
    std::string store_loop; ///< attached: store_at(attach_stage, store_loop); "": where it is computed
    /// How often the expression would stand in each stage that has loops: twice where that reads two places of
    /// it, or two places of an inlined stage that reads it. Doubles, since such chains multiply.
    std::map<std::string, double> copies;

    /// At how many places a stage that has loops reads it, through inlined stages too: the same place read twice is
    /// one.
    double spread = 1;
    /// How often a loop that runs inside the elements of a reader comes to each place of it, in other iterations:
    /// inlined it is computed again each time.
    double repeats = 1;

    /// Of a stage with a separate loop nest.
    static StagePlan own_root(const dsl::StageInfo& stage) {
        StagePlan plan;
        plan.root = &stage;
        return plan;
    }
    void attach(const std::string& stage, const std::string& loop) {
        placement = Placement::attached;
        attach_stage = stage;
        attach_loop = loop;
    }
    double most_copies() const;
    /// Whether some loop of the stage follows each of these loops of the root.
    bool follows(const std::vector<std::string>& axes) const;
};

/// Beyond this many copies in one stage nothing is inlined by default, however cheap: in a chain of stages that read
/// the one before them twice and more, the code grows with the power of its length.
inline constexpr double kMostCopies = 32;
/// The same of all operations in the copies of a stage and of those that only it reads: two passes of a filter, the
/// first of which each point of the second computes again, for a dozen points.
inline constexpr double kMostCopiedOps = 64;
/// Of a stage that is read at places which no loop of its reader gives, such as one for each row of a flat array, where
/// it is computed again for each place that is read.
inline constexpr int kMostLookedUpOps = 200;

/// An AlgorithmInfo with its edges turned round.
class StageGraph {
  public:
    explicit StageGraph(const dsl::AlgorithmInfo& info);

    const std::vector<Use>& uses(const std::string& stage) const;
    const dsl::StageInfo* find(const std::string& stage) const;
    /// Whether `stage` reads another stage of which `which` is true.
    template <class Which> bool reads(const dsl::StageInfo& stage, const Which& which) const {
        return std::ranges::any_of(stage.reads, [&](const dsl::ReadInfo& read) {
            const dsl::StageInfo* from = find(read.from);
            return from != nullptr && from != &stage && which(*from);
        });
    }

    /// Operations of an element of `stage`, with those of stages that only it reads, at one place.
    double operations_with_own(const dsl::StageInfo& stage) const;

    /// Operations of an element of `stage`, with those of all stages that it is computed from, each once, up to arrays
    /// and reductions.
    double operations_behind(const dsl::StageInfo& stage) const;

    /// The same where each of them is computed again for each place at which it is read.
    double operations_repeated(const dsl::StageInfo& stage) const;

    /// Which loop of the one root that all readers run in each loop of `stage` follows. `root` is null where the
    /// readers run in different roots. With `copies`. Requires a plan for every reader.
    StagePlan follow(const dsl::StageInfo& stage, const std::map<std::string, StagePlan>& plans) const;

    /// The single reader whose update runs over an axis of `stage` with a reduced loop: (reader, that loop); nullptr
    /// where there are several readers or none is such. Looks through inlined readers.
    const dsl::StageInfo* reducing_reader(const dsl::StageInfo& stage, const std::map<std::string, StagePlan>& plans,
                                          std::string* loop) const;

  private:
    /// The stages of its kernel that a stage reads, but reductions and results, and at how many places each time.
    std::vector<std::pair<const dsl::StageInfo*, int>> computed_from(const dsl::StageInfo& stage) const;

    const dsl::AlgorithmInfo& info_;
    std::map<std::string, std::vector<Use>> uses_;
    std::map<std::string, const dsl::StageInfo*> by_name_;
};

/// An expression this cheap is computed again rather than kept.
inline constexpr int kCheapOps = 3;
/// The same of a bool: in memory it is a byte, which is packed from a vector's mask and spread to one again.
inline constexpr int kCheapMaskOps = 12;

/// Whether a loop's extent is a size of the program, 2 to 8 at the sizes translated for: worth a copy of the loop with
/// the length known. A condition on an extent such as X.0 // 2 would not make the extent of the loop a constant.
bool is_short_size(const dsl::LoopInfo& loop, const dsl::AlgorithmInfo& info);

/// The value of a loop's extent at the sizes translated for; `otherwise` where it is not known.
std::int64_t extent_of(const dsl::LoopInfo& loop, std::int64_t otherwise);

std::vector<std::string> names_of(const std::vector<dsl::LoopInfo>& loops);
/// The reduced loops of a definition as reorder() wants them, innermost first.
std::vector<std::string> reduced_first(const dsl::DefinitionInfo& definition);

/// How often the body of a nest runs; an extent that is not known counts as 1024.
double iterations_of(const std::vector<dsl::LoopInfo>& loops);

} // namespace tilewright::autotune
