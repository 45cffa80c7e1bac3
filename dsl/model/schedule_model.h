// dsl/model/schedule_model.h: an algorithm's stages while a schedule changes them: loops, places, storage. No Halide:
// check() runs directives on this model alone, apply() runs them on the model and on the Funcs side by side.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/check/preconditions.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"
#include "dsl/model/loop_nest.h"

namespace tilewright::dsl {

/// Most iterations that a schedule may unroll in one place: more makes compile time explode.
inline constexpr std::int64_t kMaxUnrolled = 1024;
/// Widest vector, all vectorized loops of a place together.
inline constexpr std::int64_t kMaxVectorBytes = 4096;

struct FuseWith {
    std::string stage;
    int update = -1;
    std::string loop;
    Position at;
};

/// The pure definition (update -1), an update, or a specialized copy of one.
struct DefinitionModel {
    int update = -1;
    LoopNest nest;
    std::vector<CallInfo> calls;
    bool associative = false;
    bool atomic = false;
    bool single_thread = false; ///< a kernel of one block of one thread
    Position single_thread_at;
    Expression condition;                                   ///< of a specialized copy
    std::vector<std::shared_ptr<DefinitionModel>> branches; ///< specialized copies, in order; addresses stay
    std::optional<FuseWith> with;
    Position first_at; ///< of the first directive that needs a loop nest
    std::string first_verb;

    /// Whether two loops may not change places.
    bool keeps_order(const Loop& a, const Loop& b) const {
        return (a.ordered && b.ordered) || (a.racing && b.racing && !associative);
    }
};

/// Where a stage is computed, stored, or where its storage is allocated.
struct Level {
    enum class Kind { unset, inlined, root, at };
    Kind kind = Kind::unset;
    std::string stage;
    std::string loop;
    Position at;
    int definition = -2; ///< resolved by finish(): which definition of `stage` the loop is in
};

struct StageModel {
    std::string name;
    std::vector<std::string> axes;            ///< its pure loops in NumPy's axis order
    std::vector<DefinitionModel> definitions; ///< [0] pure, [k + 1] update k
    bool output = false;
    bool guarded = false;  ///< StageInfo::guarded
    int rows_together = 0; ///< StageInfo::rows_together
    int kernel = 0;
    int element_bytes = 8;
    std::set<std::string> arguments; ///< program arguments that it reads
    Level compute;
    Level store;
    Level hoist;
    std::optional<Position> storage_at; ///< a directive that needs storage
    std::string storage_verb;
    std::string memory; ///< of store_in
    Position memory_at;

    bool pure() const { return definitions.size() == 1; }
    bool inlined() const {
        return !output && pure() && (compute.kind == Level::Kind::unset || compute.kind == Level::Kind::inlined);
    }
    std::string where(int update) const { return update < 0 ? name : name + ".update(" + std::to_string(update) + ")"; }
};

/// A loop that encloses a use of a stage.
struct Site {
    std::string stage;
    int definition = -1;
    std::string loop; ///< "" the one block of gpu_single_thread
    Run run = Run::serial;
    bool operator==(const Site& other) const { return stage == other.stage && loop == other.loop; }
};

class ScheduleModel {
  public:
    ScheduleModel(const AlgorithmInfo& algorithm, std::string target, bool guard_tails);

    std::map<std::string, StageModel> stages;
    std::vector<std::string> order; ///< names, each after what it reads
    std::vector<Violation> violations;
    std::map<int, Preconditions> preconditions; ///< by kernel
    std::string target;
    bool guard_tails = false;
    bool device = false; ///< the target is a CUDA device
    /// Under guard_tails a bound(...) is not relied on: loops that are constant only by it run serially instead.
    std::vector<std::pair<const DefinitionModel*, std::string>> demoted;

    void refuse(Position at, const std::string& stage, const std::string& verb, std::string message,
                std::string hint = "");
    const AlgorithmInfo& algorithm() const { return algorithm_; }
    /// A near name among the stages, as a hint.
    std::string stage_hint(const std::string& name) const;
    /// Replaces reads of `stage` in `consumers` by reads of `made`, a copy of it; rejects nothing.
    StageModel& add_wrapper(const std::string& stage, const std::string& made, const std::set<std::string>& consumers);

    /// What can only be said when every directive is known: places, inlined stages, constant extents, limits.
    void finish();

    /// The loops around every use of `stage`, outermost first; nullopt where nothing reads it.
    std::optional<std::vector<Site>> legal_sites(const std::string& stage) const;
    /// The loops around the place where `stage` is computed.
    std::vector<Site> sites_of(const std::string& stage) const;

  private:
    const AlgorithmInfo& algorithm_;

    struct Use {
        std::vector<Site> path;
        std::string reader; ///< not inlined
        const DefinitionModel* definition = nullptr;
        std::vector<std::string> axes; ///< loops of the reader, as CallInfo::axes
        bool operator==(const Use&) const = default;
    };
    /// Of stages that were asked for: chains of inlined stages have more ways through them than can be walked.
    using KnownUses = std::map<std::string, std::vector<Use>>;
    std::vector<Use> uses(const std::string& stage) const; ///< each once
    const std::vector<Use>& uses(const std::string& stage, KnownUses& known) const;
    void uses_in(const std::string& reader, const DefinitionModel& definition, const std::string& stage,
                 std::vector<Use>& result, KnownUses& known) const;
    /// `around` and the loops of the definition itself.
    static std::vector<Site> path_of(const std::string& stage, const DefinitionModel& definition,
                                     std::vector<Site> around);
    std::optional<int> resolve(const std::vector<Site>& sites, const Level& level) const;

    struct Region {
        std::optional<std::int64_t> extent;
        bool decided = true; ///< false: depends on indices that the model does not follow
    };
    Region region(const std::string& stage, const std::string& axis) const;
    Region base_extent(const StageModel& stage, const Loop& loop) const;
    Region extent(const StageModel& stage, const DefinitionModel& definition, int loop) const;

    friend class DeviceRules;
    void finish_device();
    void finish_stage(StageModel& stage);
    void finish_place(StageModel& stage);
    void finish_definition(const StageModel& stage, const DefinitionModel& definition);
    void finish_compute_with(const StageModel& stage, const DefinitionModel& definition);
    bool depends_on(const std::string& reader, const std::string& stage) const;
};

} // namespace tilewright::dsl
