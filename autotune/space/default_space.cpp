// autotune/space/default_space.cpp: the search's whole choice for an algorithm. The rules run in the order of this
// file: stages from the results backwards: inline, inside a reader's reduction, inside the root's loops, or a nest of
// its own.
#include "autotune/space/default_space.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "autotune/space/gpu_space.h"
#include "autotune/space/loop_rule.h"
#include "autotune/space/root_rule.h"
#include "autotune/space/stage_graph.h"
#include "autotune/space/statements.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/space.h"

namespace tilewright::autotune {
namespace {

using dsl::StagePart;

// Vectors that a block's lanes are added up in: a register each.
constexpr std::int64_t kMostAccumulators = 8;
// Operations of the vectors that go across one row, which are one run of code: beyond, compilers take seconds, and gaps
// between the elements cost little beside the work on them.
constexpr double kMostRowOps = 160;
// A formula of that many is not copied for each vector of lanes: sums of three powers took 20 s to compile.
constexpr double kLongestCopiedOps = 80;
// Results from this size on are written past the caches, arguments fetched ahead: twice what the L2 of a big core has.
constexpr std::int64_t kStreamedBytes = 4 << 20;
// Rows whose ends are gathered are kept where they are read at so many places.
constexpr double kFramedPlaces = 2;
// A step of a stencil that is read at several places, and computed again for each, with all that it is computed from:
// so many operations that are saved for an element outweigh its way through L2, where the step is more than a few of
// them. With fewer rows in a task, those at its ends count.
constexpr double kSavedOps = 16;
constexpr double kDearOps = 8;
constexpr std::int64_t kLeastTaskRows = 8;
// Rows and columns of a matrix whose columns are added up row by row: with fewer of either, a vector of sums may as
// well be in registers. So many sums of a task and what they read stay in L1; so many rows are added at once.
constexpr std::int64_t kFewRows = 16;
constexpr std::int64_t kFewColumns = 64;
constexpr std::int64_t kStreamedColumns = 1024;
constexpr std::int64_t kRowsAtOnce = 8;
// A matrix with so many columns and blocks of rows is read once for two sums of it: with fewer columns the stages
// between the sums want vectors of rows, with fewer blocks the rows that the last one has too many are a share to see.
constexpr std::int64_t kColumnsReadOnce = 256;
constexpr std::int64_t kBlocksReadOnce = 4;

class SpaceBuilder {
  public:
    SpaceBuilder(const dsl::AlgorithmInfo& info, const Machine& machine, Widths widths)
        : info_(info), machine_(machine), widths_(widths), graph_(info) {}

    dsl::Schedule build() {
        for (auto stage = info_.stages.rbegin(); stage != info_.stages.rend(); ++stage)
            place(*stage);
        for (auto stage = info_.stages.rbegin(); stage != info_.stages.rend(); ++stage) {
            const auto root = roots_.find(stage->name);
            if (root != roots_.end()) offer_memory_hints(*stage, root->second);
            offer_rows(*stage);
        }
        return space_of(info_, machine_, lines_);
    }

  private:
    /// The first rule that fits a stage decides its place; what no rule takes gets a separate nest.
    void place(const dsl::StageInfo& stage) {
        using Rule = bool (SpaceBuilder::*)(const dsl::StageInfo&);
        static constexpr Rule kRules[] = {
            &SpaceBuilder::place_result,      &SpaceBuilder::place_loop,    &SpaceBuilder::place_framed_rows,
            &SpaceBuilder::place_dear_step,   &SpaceBuilder::place_inlined, &SpaceBuilder::place_rows,
            &SpaceBuilder::place_beside_rows, &SpaceBuilder::place_columns, &SpaceBuilder::place_in_reduction,
            &SpaceBuilder::place_lanes,       &SpaceBuilder::place_in_root};
        for (const Rule rule : kRules)
            if ((this->*rule)(stage)) return;
        place_root(stage, true);
    }

    bool place_result(const dsl::StageInfo& stage) {
        if (!stage.output && !graph_.uses(stage.name).empty()) return false;
        place_root(stage, false);
        return true;
    }

    /// A loop inside its elements runs in registers, in the innermost of the loops of the one stage that reads it.
    bool place_loop(const dsl::StageInfo& stage) {
        if (stage.part != StagePart::loop || graph_.uses(stage.name).empty()) return false;
        if (stage.pure.loops.empty()) {
            // A single state: nothing but its iterations to arrange.
            place_root(stage, true);
            return true;
        }
        const dsl::StageInfo& host = *graph_.uses(stage.name).front().reader;
        if (!roots_.count(host.name) || hosted_loop(host, graph_, info_) != &stage) return false;
        StagePlan plan = graph_.follow(stage, plans_);
        plan.attach(host.name, roots_.at(host.name).attach_at.back());
        plans_[stage.name] = plan;
        for (const Line& line : hosted_loop_lines(stage, host, roots_.at(host.name)))
            lines_.push_back(line);
        return true;
    }

    /// Rows whose ends are gathered, as of np.pad, and that a stencil reads at several places: each row once, for all
    /// rows of the root that read it, and not each of these places anew. Where no loop of a root has its rows, all.
    bool place_framed_rows(const dsl::StageInfo& stage) {
        if (!stage.gathers_at_ends || !may_inline(stage) || stage.pure.loops.empty()) return false;
        StagePlan plan = graph_.follow(stage, plans_);
        if (plan.most_copies() * plan.repeats < kFramedPlaces) return false;
        const std::string rows = rows_in_root(plan);
        if (rows.empty()) {
            place_root(stage, true);
            return true;
        }
        const RootLoops& root = roots_.at(plan.root->name);
        if (is_read_in_task(plan)) {
            in_tasks_.insert(stage.name);
            attach(stage, plan, *plan.root, root.outermost, true);
            return true;
        }
        if (rows != root.outermost) plan.store_loop = root.outermost;
        attach(stage, plan, *plan.root, rows, true);
        return true;
    }

    /// A dear step of a stencil that is read at several places: once for a task of the root, with the rows at its ends
    /// that the next task computes as well. Not in rows that move along (store_at): what else is computed in the loop
    /// over rows would run for the rows before the first one too, and read beyond the ends of arrays.
    bool place_dear_step(const dsl::StageInfo& stage) {
        if (!may_inline(stage) || stage.part != StagePart::whole || stage.pure.loops.empty()) return false;
        const StagePlan plan = graph_.follow(stage, plans_);
        if (rows_in_root(plan).empty() || plan.root->scans ||
            (plan.spread - 1) * graph_.operations_behind(stage) < kSavedOps ||
            graph_.operations_behind(stage) < kDearOps || is_read_along_loops(stage))
            return false;
        const RootLoops& root = roots_.at(plan.root->name);
        const auto& loops = plan.root->pure.loops;
        const double in_task = iterations_of(loops) / static_cast<double>(std::max<std::int64_t>(1, root.all_rows)) *
                               static_cast<double>(root.task_rows);
        if (root.task_rows < kLeastTaskRows || in_task * bytes_of(stage) > static_cast<double>(machine_.l2_bytes) / 2)
            return false;
        in_tasks_.insert(stage.name);
        attach(stage, plan, *plan.root, root.outermost, true);
        return true;
    }

    /// The loop of the root in which a row of it is computed, or a task of its one long axis; "" where a stage can be
    /// computed in none of these.
    std::string rows_in_root(const StagePlan& plan) const {
        const auto found = plan.root == nullptr ? roots_.end() : roots_.find(plan.root->name);
        if (found == roots_.end() || plan.in_update) return "";
        const RootLoops& root = found->second;
        if (root.axes.empty() || root.vector_axis != root.axes.back() || !follows_every_axis(plan)) return "";
        const std::string rows = root.axes.size() > 1 ? root.attach_at[root.axes.size() - 1] : root.outermost;
        return root.is_for_one_vector(rows) ? "" : rows;
    }

    bool place_inlined(const dsl::StageInfo& stage) {
        if (!may_inline(stage)) return false;
        StagePlan plan = graph_.follow(stage, plans_);
        // Beside dear steps, a task of what is cheap is more memory than work.
        const bool is_cheap =
            is_read_in_task(plan) && graph_.operations_behind(stage) < kSavedOps && !is_read_along_loops(stage);
        if (!inline_by_default(stage) && !is_repeated_anyway(stage, plan) && !is_cheap) return false;
        const double copies = plan.most_copies();
        if (plan.repeats > 1 && stage.operations > kCheapOps &&
            plan.repeats * graph_.operations_with_own(stage) > kMostCopiedOps)
            return false;
        if (copies > kMostCopies || (copies > 2 && copies * graph_.operations_with_own(stage) > kMostCopiedOps))
            return false;
        plan.placement = Placement::inlined;
        plans_[stage.name] = plan;
        offer_storage(stage, plan);
        return true;
    }

    /// One vector of the root's elements at a time, in the loop that reduces over this stage.
    bool place_in_reduction(const dsl::StageInfo& stage) {
        std::string loop;
        const dsl::StageInfo* reducer = graph_.reducing_reader(stage, plans_, &loop);
        const StagePlan plan = graph_.follow(stage, plans_);
        if (reducer == nullptr || plan.root == nullptr || !vector_granular(*reducer) || !follows_every_axis(plan) ||
            plans_.at(reducer->name).placement != Placement::attached || unrolls_own_extent(stage, *reducer, loop))
            return false;
        attach(stage, plan, *reducer, loop);
        return true;
    }

    /// Whether the reduction is unrolled for one length (emit_attached_update), which is the extent of several axes of
    /// this stage: of more than the one that is reduced. Halide would know it in the loop, and not in all bounds of the
    /// stage computed there: their difference may be negative.
    bool unrolls_own_extent(const dsl::StageInfo& stage, const dsl::StageInfo& reducer, const std::string& loop) const {
        for (const auto& update : reducer.updates)
            for (const dsl::LoopInfo& reduced : update.loops)
                if (reduced.name == loop && is_short_size(reduced, info_) &&
                    std::ranges::count(stage.pure.loops, reduced.extent, &dsl::LoopInfo::extent) > 1)
                    return true;
        return false;
    }

    /// Blocks of rows are what a reduction over a non-contiguous axis can share out.
    bool place_rows(const dsl::StageInfo& stage) {
        if (stage.part != StagePart::rows || extent_of(stage.pure.loops.front(), 1) <= 1) return false;
        place_root(stage, true);
        return true;
    }

    /// What is computed from a row of a matrix that no cache holds, and weighs that row in a sum over all of them, as
    /// in X.T @ f(X @ w): a few rows before they are added, so that the matrix comes from memory once.
    bool place_beside_rows(const dsl::StageInfo& stage) {
        const auto& uses = graph_.uses(stage.name);
        if (uses.size() != 1 || weights_of_rows(*uses.front().reader) != &stage) return false;
        const dsl::StageInfo& rows = *uses.front().reader;
        plans_[stage.name] = StagePlan::own_root(stage);
        RootLoops loops = RootLoops::of(stage);
        loops.attach_at.back() = loops.axes.back();
        roots_[stage.name] = loops;
        lines_.push_back(
            line_of(stage.name).add("compute_at", rows.name, reduced_first(rows.updates.front()).front() + "o"));
        for (std::size_t update = 0; update < stage.updates.size(); ++update)
            emit_root_update(stage, loops, update);
        return true;
    }

    /// The stage that weighs the rows which blocks of rows add, where it is computed from these rows: nullptr for none.
    const dsl::StageInfo* weights_of_rows(const dsl::StageInfo& rows) const {
        if (rows.part != StagePart::rows || rows.pure.loops.size() != 2 || rows.updates.size() != 1) return nullptr;
        const auto& loops = rows.updates.front().loops;
        const std::int64_t columns = extent_of(rows.pure.loops.back(), 1);
        const std::int64_t blocks = extent_of(rows.pure.loops.front(), 1);
        const double row_bytes = static_cast<double>(columns) * bytes_of(rows);
        // A few rows and their sums stay in L2.
        if (columns < kColumnsReadOnce || blocks < std::max<std::int64_t>(kBlocksReadOnce, machine_.cores) ||
            row_bytes * (kRowsAtOnce + 2) > static_cast<double>(machine_.l2_bytes) ||
            iterations_of(loops) * bytes_of(rows) < static_cast<double>(machine_.l2_bytes))
            return nullptr;
        const dsl::StageInfo* found = nullptr;
        for (const dsl::ReadInfo& read : rows.reads) {
            const dsl::StageInfo* from = graph_.find(read.from);
            if (from == nullptr || !read.by_block_rows || from->pure.loops.size() != 1 || from->output ||
                from->kernel != rows.kernel || graph_.uses(from->name).size() != 1)
                continue;
            const bool same = std::ranges::any_of(rows.reads, [&](const dsl::ReadInfo& matrix) {
                return matrix.by_block_rows && matrix.axes.size() == 2 && graph_.find(matrix.from) == nullptr &&
                       is_computed_from(*from, matrix.from);
            });
            if (same && found != nullptr) return nullptr;
            if (same) found = from;
        }
        return found;
    }

    /// Whether a stage, or one that it is computed from, reads an argument.
    bool is_computed_from(const dsl::StageInfo& stage, const std::string& argument) const {
        return std::ranges::any_of(stage.reads, [&](const dsl::ReadInfo& read) {
            const dsl::StageInfo* from = graph_.find(read.from);
            return read.from == argument || (from != nullptr && from != &stage && from->kernel == stage.kernel &&
                                             is_computed_from(*from, argument));
        });
    }

    /// Sums of the columns of a matrix that no cache holds go along its rows, in the tasks of the stage that reads
    /// them: a vector of columns at a time would touch one line of each row, on a page of its own, and come back for
    /// the rest of the line when it is gone.
    bool place_columns(const dsl::StageInfo& stage) {
        if (!sums_streamed_columns(stage)) return false;
        const StagePlan plan = graph_.follow(stage, plans_);
        if (plan.root == nullptr || plan.in_update || roots_.at(plan.root->name).streams.empty() ||
            !follows_every_axis(plan))
            return false;
        attach(stage, plan, *plan.root, roots_.at(plan.root->name).streams);
        return true;
    }

    bool sums_streamed_columns(const dsl::StageInfo& stage) const {
        if (stage.part != StagePart::whole || stage.updates.size() != 1 || stage.pure.loops.size() != 1) return false;
        const auto& loops = stage.updates.front().loops;
        const auto row = std::ranges::find(loops, true, &dsl::LoopInfo::reduced);
        const dsl::LoopInfo& column = stage.pure.loops.front();
        if (loops.size() != 2 || row == loops.end() || extent_of(*row, 1) < kFewRows ||
            extent_of(column, 1) < kFewColumns)
            return false;
        return iterations_of(loops) * bytes_of(stage) > static_cast<double>(machine_.l2_bytes) &&
               std::ranges::any_of(stage.reads, [&](const dsl::ReadInfo& read) {
                   return read.definition == 0 && is_matrix_of_memory(read, row->name, column.name);
               });
    }

    /// Whether a read moves along both loops, in memory or in what is computed from that at once.
    bool is_matrix_of_memory(const dsl::ReadInfo& read, const std::string& row, const std::string& column) const {
        if (read.innermost != column || std::ranges::find(read.axes, row) == read.axes.end()) return false;
        const dsl::StageInfo* from = graph_.find(read.from);
        if (from == nullptr || from->output) return true;
        const auto& loops = from->pure.loops;
        return loops.size() == 2 && may_inline(*from) && inline_by_default(*from) &&
               std::ranges::any_of(from->reads, [&](const dsl::ReadInfo& inner) {
                   return is_matrix_of_memory(inner, loops.front().name, loops.back().name);
               });
    }

    /// The columns of a task of `root` that reads such sums, 0 where it reads none.
    std::int64_t streamed_tile(const dsl::StageInfo& root) const {
        if (root.pure.loops.size() != 1 || root.scans ||
            !graph_.reads(root, [&](const dsl::StageInfo& from) { return sums_streamed_columns(from); }))
            return 0;
        return tile_of_columns(root);
    }

    /// An even share of the columns for each core, as far as their sums stay in L1.
    std::int64_t tile_of_columns(const dsl::StageInfo& stage) const {
        const std::int64_t lanes = 2 * default_lanes(stage, graph_, machine_);
        const std::int64_t columns = extent_of(stage.pure.loops.front(), 1);
        const std::int64_t share = (columns + machine_.cores - 1) / machine_.cores;
        return std::min({columns, (share + lanes - 1) / lanes * lanes, kStreamedColumns});
    }

    /// Lanes go into the loops of the stage that adds them up.
    bool place_lanes(const dsl::StageInfo& stage) {
        if (stage.part != StagePart::lanes) return false;
        const dsl::StageInfo& tree = *graph_.uses(stage.name).front().reader;
        if (tree.pure.loops.empty()) {
            place_last_lanes(stage);
            return true;
        }
        const std::string loop = innermost_of(tree);
        if (loop.empty()) {
            place_root(stage, true);
            return true;
        }
        StagePlan plan = graph_.follow(stage, plans_);
        plan.root = plans_.at(tree.name).root;
        attach(stage, plan, tree, loop);
        return true;
    }

    bool place_in_root(const dsl::StageInfo& stage) {
        const StagePlan plan = graph_.follow(stage, plans_);
        const std::string loop = loop_in_root(plan);
        if (loop.empty()) return false;
        if (is_read_in_task(plan)) in_tasks_.insert(stage.name);
        attach(stage, plan, *plan.root, loop, may_inline(stage));
        return true;
    }

    void attach(const dsl::StageInfo& stage, StagePlan plan, const dsl::StageInfo& to, const std::string& loop,
                bool or_inlined = false) {
        plan.attach(to.name, loop);
        plans_[stage.name] = plan;
        if (in_tasks_.contains(to.name)) in_tasks_.insert(stage.name);
        emit_attached(stage, plan, or_inlined);
    }

    bool may_inline(const dsl::StageInfo& stage) const { return stage.inlinable && !reads_lanes(stage); }

    /// The last level of a blocked reduction: a handful of values, so it is one vector and no threads.
    void place_last_lanes(const dsl::StageInfo& stage) {
        plans_[stage.name] = StagePlan::own_root(stage);
        roots_[stage.name] = RootLoops::of(stage);
        const dsl::LoopInfo& lane = stage.pure.loops.back();
        const Factor factor = number(extent_of(lane, 16));
        lines_.push_back(line_of(stage.name).add("compute_root").add("vectorize", lane.name, factor));
        for (std::size_t update = 0; update < stage.updates.size(); ++update)
            emit_attached_update(stage, update, {lane.name, factor}, "", &lines_);
    }

    /// Lanes are computed inside of the stage that adds them up, which then has to have loops.
    bool reads_lanes(const dsl::StageInfo& stage) const {
        return graph_.reads(stage, [](const dsl::StageInfo& from) { return from.part == StagePart::lanes; });
    }

    bool reads_blocks(const dsl::StageInfo& stage) const {
        return graph_.reads(stage, [](const dsl::StageInfo& from) { return from.part == StagePart::block; });
    }

    bool inline_by_default(const dsl::StageInfo& stage) const {
        if (stage.part == StagePart::block) return false;
        const auto& uses = graph_.uses(stage.name);
        if (stage.operations <= kCheapOps) return true;
        for (const Use& use : uses) {
            if (use.read->broadcast) return false; // it would be computed again for each step of a loop of its reader
            if (!is_looked_up(stage, *use.read)) continue;
            if (use.reader->part == StagePart::loop) return false; // again in each iteration
            const auto& loops = use.reader->definition(use.read->definition).loops;
            if (stage.operations > kMostLookedUpOps && iterations_of(loops) >= iterations_of(stage.pure.loops))
                return false; // again for each element of a row that begins with it
        }
        const bool is_mask = stage.dtypes == std::vector<std::string>{"bool"};
        return uses.size() == 1 || (is_mask && stage.operations <= kCheapMaskOps);
    }

    /// Of an inner step of a stencil each vector of the root would compute all elements between the places that it
    /// reads, and the next vector again: in the expressions these places alone are computed.
    bool is_repeated_anyway(const dsl::StageInfo& stage, const StagePlan& plan) const {
        const auto& uses = graph_.uses(stage.name);
        const auto root = plan.root == nullptr ? roots_.end() : roots_.find(plan.root->name);
        if (root == roots_.end() || plan.in_update || stage.part != StagePart::whole || plan.copies.size() != 1 ||
            !plan.copies.contains(plan.root->name) || !root->second.is_for_one_vector(loop_in_root(plan)))
            return false;
        return plan.most_copies() > static_cast<double>(uses.size()) && !is_read_along_loops(stage);
    }

    /// Whether a reader would compute a stage again for each step of a loop.
    bool is_read_along_loops(const dsl::StageInfo& stage) const {
        return std::ranges::any_of(graph_.uses(stage.name), [](const Use& use) { return use.read->broadcast; });
    }

    /// Read at places that no loop gives: a table.
    static bool is_looked_up(const dsl::StageInfo& stage, const dsl::ReadInfo& read) {
        return !stage.pure.loops.empty() &&
               std::all_of(read.axes.begin(), read.axes.end(), [](const std::string& axis) { return axis.empty(); });
    }

    /// The innermost loop of the root in which a stage may be computed, or "".
    std::string loop_in_root(const StagePlan& plan) const {
        if (!plan.root) return "";
        const RootLoops& root = roots_.at(plan.root->name);
        std::size_t depth = fixed_axes(plan);
        // The updates of a root do not have the loops that the directives of its first definition made.
        while (depth > 0 && plan.in_update && !is_loop_of_every_update(*plan.root, root.attach_at[depth]))
            --depth;
        // What is computed for a whole task has to have all that it reads there.
        if (depth > 0 && is_read_in_task(plan)) return root.outermost;
        return depth ? root.attach_at[depth] : "";
    }

    /// Whether a reader of a stage is computed for a whole task of the root.
    bool is_read_in_task(const StagePlan& plan) const {
        return std::ranges::any_of(plan.copies, [&](const auto& reader) { return in_tasks_.contains(reader.first); });
    }

    static bool is_loop_of_every_update(const dsl::StageInfo& stage, const std::string& name) {
        return std::all_of(stage.updates.begin(), stage.updates.end(), [&](const auto& update) {
            return std::any_of(update.loops.begin(), update.loops.end(),
                               [&](const dsl::LoopInfo& loop) { return !loop.reduced && loop.name == name; });
        });
    }

    /// How many of the root's axes, from the outside, are fixed where this stage may be computed.
    std::size_t fixed_axes(const StagePlan& plan) const {
        const RootLoops& root = roots_.at(plan.root->name);
        std::size_t depth = 0;
        for (; depth < root.axes.size(); ++depth) {
            const bool moves = plan.root->pure.loops[depth].extent != "1";
            if (moves && !plan.follows({root.axes[depth]})) break;
        }
        while (depth > 0 && root.attach_at[depth].empty())
            --depth;
        return depth;
    }

    /// Whether a stage moves along all axes of its root: what does not would be computed again for each step along
    /// them.
    bool follows_every_axis(const StagePlan& plan) const { return plan.follows(roots_.at(plan.root->name).axes); }

    /// Whether a stage is computed for one vector of its root's elements at a time.
    bool vector_granular(const dsl::StageInfo& stage) const {
        const StagePlan& plan = plans_.at(stage.name);
        if (!plan.root) return false;
        const RootLoops& root = roots_.at(plan.root->name);
        return plan.attach_stage == plan.root->name && root.is_for_one_vector(plan.attach_loop);
    }

    /// The innermost loop of a placed stage, where something may be computed inside it.
    std::string innermost_of(const dsl::StageInfo& stage) const {
        auto root = roots_.find(stage.name);
        if (root != roots_.end()) return root->second.attach_at.back();
        return stage.pure.loops.back().name;
    }

    RootLoops loops_of_root(const dsl::StageInfo& stage) const {
        const auto& loops = stage.pure.loops;
        if (loops.empty()) return RootLoops::of(stage);
        const double chain = chain_operations(stage);
        const std::size_t place = vector_place(stage, graph_, info_, machine_, chain);
        const double work = work_per_element(stage);
        RootLoops result =
            root_rule(stage, graph_, machine_, work, chain, widths_, place, grouped_axis(stage, graph_, info_),
                      least_task(stage, info_, machine_, work), streamed_tile(stage));
        // Of a row of known length, vectors across rows are loaded and stored without gaps, several at once.
        const dsl::LoopInfo& row = loops.back();
        if (!knows_row(stage, place, info_)) return result;
        const Line whole_row = constant_size(row.extent)
                                   ? line_of(stage.name).add("unroll", row.name)
                                   : line_of(stage.name).unroll_where(is_extent(row, row.extent_here), row.name);
        const bool is_brief = static_cast<double>(row.extent_here) * chain <= kMostRowOps;
        result.lines.push_back(is_brief ? choose({{whole_row}, {}}) : choose({{}, {whole_row}}));
        return result;
    }

    void place_root(const dsl::StageInfo& stage, bool internal) {
        plans_[stage.name] = StagePlan::own_root(stage);
        const dsl::StageInfo* loop = hosted_loop(stage, graph_, info_);
        RootLoops loops = loop != nullptr ? loop_host_rule(stage, *loop, graph_, machine_) : loops_of_root(stage);
        if (internal) lines_.push_back(line_of(stage.name).add("compute_root"));
        for (const Line& line : loops.lines)
            lines_.push_back(line);
        roots_[stage.name] = loops;
        for (std::size_t update = 0; update < stage.updates.size(); ++update)
            emit_root_update(stage, loops, update);
    }

    /// Rows of a wavefront: more hide more of the latency of a chain, fewer are all under way in a short row too.
    void offer_rows(const dsl::StageInfo& stage) {
        if (stage.rows_together == 0) return;
        lines_.push_back(
            line_of(stage.name)
                .add("rows_together", hole(stage.name + "_rows", stage.rows_together, {1, 2, 4, 6, 8, 12, 16}, 1, 16)));
    }

    /// Data that no cache holds until its next use: fetched ahead, and written past the caches.
    void offer_memory_hints(const dsl::StageInfo& stage, const RootLoops& loops) {
        // What loops write in place they read again soon.
        if (loops.outermost.empty() || stage.guarded) return;
        if (argument_bytes(stage) >= static_cast<double>(kStreamedBytes)) {
            const Factor ahead =
                hole(stage.name + "_ahead", first_distance(stage), {1024, 2048, 4096, 8192}, 64, 1 << 18);
            lines_.push_back(choose({{line_of(stage.name).add("prefetch_lines", loops.outermost, ahead)}, {}}));
        }
        if (!stage.output || loops.vector_axis.empty() || is_read(stage)) return;
        if (iterations_of(stage.pure.loops) * bytes_of(stage) < static_cast<double>(kStreamedBytes)) return;
        lines_.push_back(choose({{line_of(stage.name).add("store_nontemporal", kStreamedBytes)}, {}}));
    }

    /// Bytes to fetch ahead, as measured on sums, k-means and softmax.
    static int first_distance(const dsl::StageInfo& stage) { return stage.part == StagePart::block ? 2048 : 4096; }

    /// Whether the kernel reads what the stage has stored.
    bool is_read(const dsl::StageInfo& stage) const {
        return !stage.updates.empty() ||
               std::any_of(info_.stages.begin(), info_.stages.end(), [&](const dsl::StageInfo& other) {
                   return other.kernel == stage.kernel &&
                          std::any_of(other.reads.begin(), other.reads.end(),
                                      [&](const dsl::ReadInfo& read) { return read.from == stage.name; });
               });
    }

    int bytes_of(const dsl::StageInfo& stage) const {
        const int lanes = stage.dtypes.empty() ? 0 : machine_.lanes(stage.dtypes.front());
        return lanes ? machine_.vector_bytes() / lanes : 1;
    }

    /// About how much of the arguments the stages inside a root read, each place once.
    double argument_bytes(const dsl::StageInfo& root) const {
        double total = 0;
        for (const dsl::StageInfo& stage : info_.stages) {
            if (plans_.at(stage.name).root != &root) continue;
            for (const dsl::ReadInfo& read : stage.reads) {
                if (graph_.find(read.from)) continue;
                const auto& loops = stage.definition(read.definition).loops;
                std::vector<dsl::LoopInfo> moving;
                std::copy_if(loops.begin(), loops.end(), std::back_inserter(moving), [&](const dsl::LoopInfo& loop) {
                    return !read.broadcast ||
                           std::find(read.axes.begin(), read.axes.end(), loop.name) != read.axes.end();
                });
                total += iterations_of(moving) * bytes_of(stage);
            }
        }
        return total;
    }

    /// Operations for one element of a root with all that feeds it: what decides whether threads pay.
    double work_per_element(const dsl::StageInfo& root) const {
        double total = 0;
        for (const dsl::StageInfo& stage : info_.stages) {
            if (stage.kernel != root.kernel) continue;
            double own = iterations_of(stage.pure.loops);
            for (const auto& update : stage.updates)
                own = std::max(own, iterations_of(update.loops));
            total += own * (1 + stage.operations);
        }
        return std::max(1.0, total / std::max(1.0, iterations_of(root.pure.loops)));
    }

    /// Operations on the way to one element without those inside of reductions, whose terms keep the units busy.
    double chain_operations(const dsl::StageInfo& root) const {
        double total = 0;
        for (const dsl::StageInfo& stage : info_.stages)
            if (stage.kernel == root.kernel && stage.updates.empty()) total += stage.operations;
        return total;
    }

    void emit_root_update(const dsl::StageInfo& stage, const RootLoops& root, std::size_t update) {
        const auto& loops = stage.updates[update].loops;
        const std::vector<std::string> inside = reduced_first(stage.updates[update]);
        const bool has_vector_loop = std::any_of(loops.begin(), loops.end(), [&](const dsl::LoopInfo& loop) {
            return !loop.reduced && loop.name == root.vector_axis;
        });
        const std::string vector_loop = has_vector_loop ? root.vector_axis : "";
        Line line = line_of(stage.name, static_cast<int>(update));
        const bool share = machine_.cores > 1;
        if (has_vector_loop && loops.front().name != vector_loop && !loops.front().reduced) {
            Line threads = line_of(stage.name);
            if (share) threads.add("parallel", loops.front().name);
            const Line rest = line_of(stage.name).add("vectorize", vector_loop, root.vector_factor).add_all(threads);
            // Of the rows of a block eight at a time, so that a sum is loaded and stored once for these.
            const bool takes_rows = stage.part == StagePart::rows && inside.size() == 1;
            if (takes_rows && multiplies_few_rows(stage)) {
                const auto& all = stage.pure.loops;
                lines_.push_back(along_rows_beside(stage, line, all[1], all[2], root.vector_factor).add_all(threads));
                return;
            }
            const Line by_rows = takes_rows ? along_rows(stage, line, vector_loop, root.vector_factor).add_all(threads)
                                            : Line(line).add("reorder", vector_loop, inside).add_all(rest);
            if (stage.part == StagePart::rows) {
                // One vector of columns at a time keeps its accumulators in registers: where that is the whole row, two
                // to five times as fast.
                const Line by_columns = Line(line).add("reorder", inside, vector_loop).add_all(rest);
                const bool one_vector = extent_of(stage.pure.loops.back(), 1 << 20) <= root.vector_lanes;
                if (weights_of_rows(stage) != nullptr) {
                    lines_.push_back(by_rows);
                    return;
                }
                lines_.push_back(one_vector ? choose({{by_columns}, {by_rows}}) : choose({{by_rows}, {by_columns}}));
                return;
            }
            line = by_rows;
        } else if (has_vector_loop) {
            const std::string outer = vector_loop + "o";
            const std::string middle = vector_loop + "i";
            const std::int64_t extent = extent_of(loops.front(), 1 << 20);
            const bool streams = sums_streamed_columns(stage);
            const std::int64_t tile =
                streams ? tile_of_columns(stage) : std::max<std::int64_t>(root.vector_lanes * 4, 256);
            const auto tiles = [&] {
                return hole(stage.name + "_part" + std::to_string(update), tile, {tile / 2, tile * 4, tile * 16},
                            root.vector_lanes, extent);
            };
            if (streams) {
                line = along_rows(stage, line.add("split", vector_loop, outer, middle, tiles()), middle,
                                  root.vector_factor, {outer});
                if (share && extent > tile) line.add("parallel", outer);
            } else if (share && extent >= tile * 2)
                line.add("split", vector_loop, outer, middle, tiles())
                    .add("reorder", middle, inside, outer)
                    .add("vectorize", middle, root.vector_factor)
                    .add("parallel", outer);
            else
                line.add("reorder", vector_loop, inside).add("vectorize", vector_loop, root.vector_factor);
        }
        if (stage.part == StagePart::loop) add_chunks(line, stage);
        if (!line.empty()) lines_.push_back(line);
    }

    /// Blocks of rows of the right matrix of a product, by a few rows of the left one.
    static bool multiplies_few_rows(const dsl::StageInfo& stage) {
        const auto& loops = stage.pure.loops;
        return loops.size() == 3 && std::ranges::any_of(stage.reads, [&](const dsl::ReadInfo& read) {
                   return read.definition == 0 && read.broadcast && read.innermost == loops[2].name;
               });
    }

    /// A loop that becomes vectors, "" for none.
    struct VectorLoop {
        std::string loop;
        Factor factor;
    };

    /// What becomes vectors in an attached stage. `fixed`: one width, of a stage that is kept only perhaps.
    VectorLoop vector_loop_of(const dsl::StageInfo& stage, const StagePlan& plan, bool fixed = false) const {
        if (stage.part == StagePart::block || stage.pure.loops.empty()) return {};
        const dsl::LoopInfo& inner = stage.pure.loops.back();
        if (stage.part == StagePart::lanes) return {inner.name, own_width(stage, fixed)};
        const RootLoops& root = roots_.at(plan.root->name);
        const bool at_vector = plan.attach_stage != plan.root->name ? vector_granular(*graph_.find(plan.attach_stage))
                                                                    : root.is_for_one_vector(plan.attach_loop);
        if (at_vector) {
            for (const auto& [own, loop] : plan.to_root)
                if (loop == root.vector_axis) return {own, root.vector_factor};
            return {};
        }
        auto follows = plan.to_root.find(inner.name);
        const bool is_one = follows != plan.to_root.end() && is_fixed(follows->second, root, plan.attach_loop);
        if (is_one || extent_of(inner, 1 << 20) < 2) return {};
        return {inner.name, own_width(stage, fixed)};
    }

    /// The width of the vectors of an attached stage that has one to itself.
    Factor own_width(const dsl::StageInfo& stage, bool fixed) const {
        const int own = default_lanes(stage, graph_, machine_);
        if (fixed) return number(fitting_lanes(own, stage.pure.loops.back(), widths_));
        const std::string name = stage.name + "_vec";
        if (stage.part == StagePart::lanes) {
            const std::int64_t lanes = extent_of(stage.pure.loops.back(), 16);
            const std::int64_t least = std::max<std::int64_t>(2, lanes / kMostAccumulators);
            return hole(name, std::clamp<std::int64_t>(own, least, lanes), {lanes, lanes / 2, lanes / 4}, least, lanes);
        }
        // As in root_rule: long chains of dependent steps want two vectors at a time.
        const int lanes =
            fitting_lanes(own * (stage.operations >= kLongChainOps ? 2 : 1), stage.pure.loops.back(), widths_);
        return hole(name, lanes, {lanes / 2, lanes * 2, lanes * 4}, 2, 1 << 20);
    }

    /// The loop of an attached stage over the rows that its root takes together, or "".
    std::string group_loop_of(const dsl::StageInfo& stage, const StagePlan& plan) const {
        const RootLoops& root = roots_.at(plan.root->name);
        if (root.grouped_axis.empty() || stage.updates.empty() || plan.attach_stage != plan.root->name) return "";
        for (const auto& [own, loop] : plan.to_root)
            if (loop == root.grouped_axis) return own;
        return "";
    }

    static bool is_fixed(const std::string& axis, const RootLoops& root, const std::string& attach_loop) {
        for (std::size_t depth = 0; depth < root.attach_at.size(); ++depth)
            if (root.attach_at[depth] == attach_loop)
                return std::find(root.axes.begin(), root.axes.begin() + static_cast<std::ptrdiff_t>(depth), axis) !=
                       root.axes.begin() + static_cast<std::ptrdiff_t>(depth);
        return false;
    }

    void emit_attached(const dsl::StageInfo& stage, const StagePlan& plan, bool or_inlined) {
        const VectorLoop vectors = vector_loop_of(stage, plan);
        Line line = line_of(stage.name).add("compute_at", plan.attach_stage, plan.attach_loop);
        if (!plan.store_loop.empty()) line.add("store_at", plan.attach_stage, plan.store_loop);
        if (!vectors.loop.empty()) line.add("vectorize", vectors.loop, vectors.factor);
        const std::string group = group_loop_of(stage, plan);
        if (!group.empty()) line.add("unroll", group, roots_.at(plan.root->name).group_factor);
        std::vector<Line> body{line};
        for (std::size_t update = 0; update < stage.updates.size(); ++update)
            emit_attached_update(stage, update, vectors, group, &body);
        // The last block has fewer rows, which its loop over them knows: whole blocks need no code of their own.
        const dsl::StageInfo* blocks = graph_.find(plan.attach_stage);
        if (stage.part == StagePart::lanes && blocks != nullptr && blocks->part == StagePart::block &&
            unpartitioned_.insert(blocks->name).second)
            body.push_back(line_of(blocks->name).add("partition", plan.attach_loop, "never"));
        if (or_inlined) body = {choose({body, {line_of(stage.name).add("inline")}})};
        lines_.insert(lines_.end(), body.begin(), body.end());
    }

    /// Sums of columns that go along rows, those along `columns` in vectors, several rows at once: a sum is loaded and
    /// stored once for these.
    static Line along_rows(const dsl::StageInfo& stage, Line line, const std::string& columns, const Factor& width,
                           const std::vector<std::string>& around = {}) {
        const std::string row = row_of(stage);
        return line.add("split", columns, columns + "v", columns + "x", width)
            .add("split", row, row + "o", row + "i", rows_at_once(stage))
            .add("reorder", columns + "x", row + "i", columns + "v", row + "o", around)
            .add("vectorize", columns + "x")
            .add("unroll", row + "i");
    }

    /// The same of a product of a few rows, `beside`, all of which take the rows of the right matrix that are there:
    /// tiles of its columns whose sums stay in L1.
    Line along_rows_beside(const dsl::StageInfo& stage, Line line, const dsl::LoopInfo& beside,
                           const dsl::LoopInfo& columns, const Factor& width) const {
        const std::string row = row_of(stage), &c = columns.name, &b = beside.name;
        std::int64_t tile = kStreamedColumns;
        while (tile > extent_of(columns, kStreamedColumns))
            tile /= 2;
        const std::int64_t together = std::min(extent_of(beside, kRowsAtOnce), kRowsAtOnce);
        const Factor group = hole(stage.name + "_group", together, {2, 4, 8}, 1, 16);
        // More copies of the innermost loop gain nothing and take seconds to compile.
        const std::int64_t at_once = together > kRowsAtOnce / 2 ? kRowsAtOnce / 2 : kRowsAtOnce;
        return line
            .add("split", c, c + "o", c + "i", hole(stage.name + "_tile", tile, {tile / 2, tile * 2}, 64, 1 << 16))
            .add("split", c + "i", c + "v", c + "x", width)
            .add("split", row, row + "o", row + "i", rows_at_once(stage, at_once))
            .add("split", b, b + "g", b + "u", group)
            .add("reorder", c + "x", b + "u", row + "i", c + "v", b + "g", row + "o", c + "o")
            .add("vectorize", c + "x")
            .add("unroll", b + "u")
            .add("unroll", row + "i");
    }

    static std::string row_of(const dsl::StageInfo& stage) {
        return std::ranges::find(stage.updates.front().loops, true, &dsl::LoopInfo::reduced)->name;
    }

    /// Of blocks of rows "_rows" is how many blocks a task has.
    static Factor rows_at_once(const dsl::StageInfo& stage, std::int64_t first = kRowsAtOnce) {
        return hole(stage.name + (stage.part == StagePart::rows ? "_at_once" : "_rows"), first, {1, 2, 4, 8}, 1, 16);
    }

    /// Whether the sums of a stage go along rows in the tasks of its root.
    bool runs_in_tasks(const dsl::StageInfo& stage) const {
        const StagePlan& plan = plans_.at(stage.name);
        const auto root = plan.root == nullptr ? roots_.end() : roots_.find(plan.root->name);
        return root != roots_.end() && !root->second.streams.empty() && plan.attach_loop == root->second.streams &&
               sums_streamed_columns(stage);
    }

    /// Operations of a stage and of all that are inlined into it by default.
    double operations_here(const dsl::StageInfo& stage) const {
        double sum = stage.operations;
        for (const dsl::ReadInfo& read : stage.reads) {
            const dsl::StageInfo* from = graph_.find(read.from);
            const bool is_other = from != nullptr && from != &stage && from->kernel == stage.kernel;
            if (is_other && may_inline(*from) && inline_by_default(*from)) sum += operations_here(*from);
        }
        return sum;
    }

    void emit_attached_update(const dsl::StageInfo& stage, std::size_t update, const VectorLoop& vectors,
                              const std::string& group, std::vector<Line>* body) const {
        const auto& loops = stage.updates[update].loops;
        const std::vector<std::string> reduced = reduced_first(stage.updates[update]);
        const bool has_vector_loop =
            !vectors.loop.empty() && std::ranges::find(loops, vectors.loop, &dsl::LoopInfo::name) != loops.end();
        const auto last = std::find_if(loops.rbegin(), loops.rend(), [](const auto& loop) { return loop.reduced; });
        const dsl::LoopInfo* last_reduced = last == loops.rend() ? nullptr : &*last;
        const Line head = line_of(stage.name, static_cast<int>(update));
        if (runs_in_tasks(stage)) {
            body->push_back(along_rows(stage, head, vectors.loop, vectors.factor));
            return;
        }
        Line line = head;
        const std::vector<std::string> rows(group.empty() ? 0 : 1, group);
        if (has_vector_loop && !reduced.empty()) line.add("reorder", vectors.loop, rows, reduced);
        if (has_vector_loop) line.add("vectorize", vectors.loop, vectors.factor);
        if (!group.empty()) line.add("unroll", group, roots_.at(plans_.at(stage.name).root->name).group_factor);
        const std::string lane_count = stage.pure.loops.empty() ? "" : stage.pure.loops.back().extent;
        // Sums of blocks add a few hundredths of the elements: copies of their loops are all compile time. So are those
        // of what is left behind the last whole row.
        const bool is_first_level = stage.part == StagePart::lanes && !reads_blocks(stage);
        const bool is_rest = last_reduced != nullptr && last_reduced->extent == "1";
        // One accumulator for each vector of lanes: all of them stay in registers, while rows stay a loop. Copies of it
        // (16) gained nothing and took two to eight times as long to compile.
        if (is_first_level && !is_rest && has_vector_loop && operations_here(stage) < kLongestCopiedOps &&
            dsl::print_expression(vectors.factor.expression) != lane_count)
            line.add("unroll", vectors.loop);
        if (stage.part == StagePart::loop) add_chunks(line, stage);
        if (!line.empty()) body->push_back(line);
        // A condition on an extent such as X.0 // 2 would not make the extent of the loop a constant.
        if (last_reduced && is_short_size(*last_reduced, info_) && stage.part == StagePart::whole)
            body->push_back(choose(
                {{Line(head).unroll_where(is_extent(*last_reduced, last_reduced->extent_here), last_reduced->name)},
                 {}}));
    }

    /// A stage that is inlined by default may also be kept for each row or vector of its root.
    void offer_storage(const dsl::StageInfo& stage, const StagePlan& plan) {
        if (!plan.root || stage.operations <= kCheapOps || !roots_.count(plan.root->name)) return;
        const std::string loop = loop_in_root(plan);
        if (loop.empty()) return;
        StagePlan kept = plan;
        kept.attach(plan.root->name, loop);
        const VectorLoop vectors = vector_loop_of(stage, kept, true);
        Line line = line_of(stage.name).add("compute_at", kept.attach_stage, kept.attach_loop);
        if (!vectors.loop.empty()) line.add("vectorize", vectors.loop, vectors.factor);
        lines_.push_back(choose({{line_of(stage.name).add("inline")}, {line}}));
    }

    const dsl::AlgorithmInfo& info_;
    const Machine& machine_;
    Widths widths_;
    StageGraph graph_;
    std::map<std::string, StagePlan> plans_;
    std::map<std::string, RootLoops> roots_;
    std::set<std::string> in_tasks_;      ///< stages that are computed for a whole task of their root
    std::set<std::string> unpartitioned_; ///< blocks
    std::vector<Line> lines_;
};

} // namespace

dsl::Schedule default_space(const dsl::AlgorithmInfo& info, const Machine& machine, Widths widths) {
    if (machine.is_device()) return gpu_space(info, machine);
    return SpaceBuilder(info, machine, widths).build();
}

dsl::Schedule default_schedule(const dsl::AlgorithmInfo& info, const Machine& machine, Widths widths) {
    dsl::Space space(default_space(info, machine, widths));
    return space.at(space.first_point());
}

} // namespace tilewright::autotune
