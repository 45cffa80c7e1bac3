// translator/stages/variants.cpp: the structural choices of a program: the shape of a reduction, library or loops.
#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/walk.h"
#include "translator/passes/passes.h"
#include "translator/passes/pipeline.h"
#include "translator/plan/build_stepped.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {
namespace {

constexpr int kMostLevels = 4;
constexpr std::int64_t kManyRows = 16384; ///< from here on rows in parallel are the default for few columns
constexpr std::int64_t kFewColumns = 64;
constexpr std::int64_t kSomeRows = 1024; ///< the same where what blocks leave is little and columns are not too many
constexpr std::int64_t kSomeColumns = 65536;
constexpr std::int64_t kFewPartials = 1 << 20;
constexpr std::int64_t kMostBlocks = 512; ///< of rows, left for one thread a column
constexpr int kMostRowLevels = 3;
constexpr std::int64_t kFewThreads = 65536; ///< a device has room for more
constexpr std::int64_t kFewRows = 8;        ///< of a product's left operand
constexpr std::int64_t kLeastColumns = 256;
/// Elements of the right operand. Below, the threads of a library, which wait busily for its next call for some 25 ms,
/// take as much from ours as reading the matrix once gains.
constexpr std::int64_t kLeastMatrix = 1 << 26;
/// Results of a reduction whose terms are computed from that many times fewer elements, and how many results fill the
/// vectors of several tasks.
constexpr std::int64_t kFewerElements = 4;
constexpr std::int64_t kManyResults = 64;
constexpr const char* kNarrow = "narrow1";
constexpr const char* kRows = "rows";
constexpr int kNarrower = 4;
constexpr std::int64_t kLongestNarrow = 192; ///< rows up to this long begin with narrow lanes

bool is_float(const std::string& dtype) {
    return find_dtype(dtype)->kind == DTypeKind::floating;
}

std::int64_t power(std::int64_t base, int exponent) {
    std::int64_t out = 1;
    for (int k = 0; k < exponent; ++k)
        out *= base;
    return out;
}

} // namespace

int lane_levels(const std::string& option) {
    return option == kNarrow || option.rfind("lanes", 0) == 0 ? option.back() - '0' : 0;
}

int row_levels(const std::string& option) {
    if (option.rfind("rows", 0) != 0) return 0;
    return option.size() == 4 ? 1 : option.back() - '0';
}

LaneShape Analysis::lane_shape(const Operation& operation) const {
    bool searches = is_search(operation.op);
    const std::string& dtype = searches ? values_.at(operation.operands[0]).type.dtype : operation.type.dtype;
    LaneShape out;
    const auto stage = stage_names_.find(operation.result);
    const auto choice = stage == stage_names_.end() ? chosen_.end() : chosen_.find(stage->second);
    const bool narrow = choice != chosen_.end() && choice->second == kNarrow;
    // A block's lanes fill four registers of the widest machines, narrow ones one: a row of a hundred elements spends
    // less on the tree over them than on its elements.
    out.lanes = (find_dtype(dtype)->bytes == 8 ? 32 : 64) / (narrow ? kNarrower : 1);
    // Rounding asks for short sums; what is exact may have long ones.
    bool rounds = has_trait(operation.op, Trait::rounds) && is_float(dtype);
    // A device wants many lanes under way at once; of a search, which has two levels at most, one block of threads
    // looks through what the first one leaves.
    out.per_lane = rounds ? 16 : !options_.device ? 128 : searches ? 64 : 16;
    return out;
}

void Analysis::choose_reduction(const Operation& operation) {
    const std::string& name = stage_names_.at(operation.result);
    ReductionShape shape = reduction_shape(operation);
    bool searches = is_search(operation.op);
    bool rounds =
        has_trait(operation.op, Trait::rounds) && is_float(operation.type.dtype) && options_.contract != "fast";
    bool single = shape.is_one_loop();
    // Of an extent that changes from iteration to iteration: what is right for the longest.
    const std::optional<Size> whole = most(shape.extent);
    std::int64_t count = whole ? here(*whole) : -1;
    // Iterations of a loop that became an axis had their results.
    const auto own = operation.type.shape.begin() + operation.attributes.at(attr::order).iterations;
    std::int64_t results = here(product({own, operation.type.shape.end()}));
    // The longest of the loops that run in lanes decides the levels: the innermost, and of the axes before it those
    // that follow each other to the last one.
    Size longest = shape.extent;
    if (!single && !shape.axes.empty()) {
        const std::vector<Size>& extents = values_.at(operation.operands[0]).type.shape;
        const std::vector<int> innermost = shape.innermost();
        longest = product({extents.begin() + innermost.front(), extents.begin() + innermost.back() + 1});
        int before = innermost.back() + 1 == static_cast<int>(extents.size()) ? innermost.front() - 1 : -1;
        for (auto axis = shape.axes.rbegin(); axis != shape.axes.rend(); ++axis) {
            if (*axis != before) continue;
            longest = larger_of(longest, extents[static_cast<std::size_t>(*axis)]);
            --before;
        }
    }
    const std::optional<Size> most_length = most(longest);
    std::int64_t length = most_length ? here(*most_length) : -1;
    std::int64_t block = lane_shape(operation).block();
    const int most_levels = searches ? 2 : kMostLevels;
    int levels = searches ? 2 : 3;
    if (length >= 0) {
        levels = 1;
        while (levels < most_levels && length > power(block, levels))
            ++levels;
    }
    std::vector<std::string> options;
    const std::string lanes = "lanes" + std::to_string(levels);
    bool serial_is_accurate = !rounds || !shape.contiguous || (count >= 0 && count <= kLongestSerialSum);
    if (shape.contiguous && !shape.axes.empty() && (count < 0 || count > kLongestSerialSum)) {
        const bool narrow = levels == 1 && !searches && length >= 0 && length <= block / kNarrower;
        if (narrow && length <= kLongestNarrow) options.push_back(kNarrow);
        options.push_back(lanes);
        if (narrow && length > kLongestNarrow) options.push_back(kNarrow);
    }
    // Blocks of rows have a separate nest, and a stage as large as what it reads would lie in memory: the norms of
    // all pairs, where a search one by one needs them as they come.
    const std::string& operand = operation.operands[0];
    const bool of_stage = std::ranges::any_of(stored_behind({operand}), [&](const std::string& value) {
        return values_.at(value).type.shape.size() >= values_.at(operand).type.shape.size();
    });
    bool rows = !shape.contiguous && single && count > 512 && !(searches && of_stage);
    const bool few_columns = count >= kManyRows && results <= kFewColumns;
    const bool few_partials = !of_stage && count >= kSomeRows && results <= kSomeColumns &&
                              (count + kRowsPerBlock - 1) / kRowsPerBlock * results <= kFewPartials;
    bool rows_first = rows && results >= 0 && (options_.device ? results <= kFewThreads : few_columns || few_partials);
    // A device has a thread a column for the blocks of rows that are left.
    int deep = 1;
    while (options_.device && deep < kMostRowLevels && count / power(kRowsPerBlock, deep) > kMostBlocks)
        ++deep;
    const std::string in_rows = deep == 1 ? "rows" : "rows" + std::to_string(deep);
    // What is no result has its loop to itself, one by one, and its terms lie in memory.
    const bool is_result = std::ranges::find(program_.body.yields, operation.result) != program_.body.yields.end();
    if (!rounds && shape.contiguous && single && !options.empty() && !options_.device && results >= kManyResults &&
        is_result && has_computed_terms(operation))
        options.insert(options.begin(), "serial");
    if (rows_first) options.push_back(in_rows);
    const bool has_serial = std::ranges::find(options, "serial") != options.end();
    if (!has_serial && (serial_is_accurate || shape.axes.empty())) options.push_back("serial");
    if (rows && !rows_first) options.push_back(in_rows);
    if (options.empty()) options.push_back(lanes);

    const bool moving = context_.moving != nullptr && moves(shape.extent, *context_.moving);
    if (moving && rounds && shape.contiguous && single && !serial_is_accurate) {
        moving_lengths_.push_back(shape.extent);
        if (context_.short_sums) {
            chosen_[name] = "serial";
            return;
        }
    }
    const std::string choice = given_option(name, options);
    if (choice != options.front()) {
        // Any known shape is taken, whatever the sizes here: its requirement goes into the plan.
        bool known = choice == "serial" || (choice == kNarrow && !searches && !shape.axes.empty());
        for (const char* in_blocks : {"rows", "rows2", "rows3"})
            known = known || (choice == in_blocks && single && !shape.axes.empty());
        for (int k = 1; k <= most_levels; ++k)
            known = known || (choice == "lanes" + std::to_string(k) && !shape.axes.empty());
        if (!known)
            throw TranslateError(where(operation) + ": variant " + name + " = " + choice + ": no such option here.",
                                 "Take one of: " + dsl::joined(options) + ".");
    }
    chosen_[name] = choice;
    variants_.push_back(
        {name, options,
         searches
             ? "how the search runs: one by one, in lanes that are compared at the end, or in blocks of rows (rows2, "
               "rows3: of blocks of blocks)"
             : "the order of the reduction: one by one, in lanes and blocks, or in blocks of rows "
               "(rows2, rows3: of blocks of blocks)"});
    auto require = [&](const std::optional<Size>& bound, std::int64_t most_elements) {
        if (!bound) return; // in as many levels as there are
        const Size& size = *bound;
        // Extents are 32-bit integers: larger limits hold by themselves.
        if (most_elements >= INT32_MAX || (size.is_constant() && size.constant() <= most_elements)) return;
        requirements_.push_back(size.text() + " <= " + std::to_string(most_elements));
    };
    if (choice == "serial" && rounds && shape.contiguous && !shape.axes.empty()) require(whole, kLongestSerialSum);
    const int chosen_levels = lane_levels(choice);
    if (chosen_levels > 0 && !(searches && chosen_levels == 2))
        require(most_length, power(lane_shape(operation).block(), chosen_levels));
}

/// Whether what a reduction runs over is computed as it goes, from arrays with far fewer elements, and read by nobody
/// else: distances of all pairs of points. Neighbours in memory then say nothing for lanes along the reduced axis, and
/// vectors of results need no tree over lanes at the end, and no terms in memory.
bool Analysis::has_computed_terms(const Operation& operation) const {
    const std::int64_t terms = here(product(values_.at(operation.operands[0]).type.shape));
    std::set<std::string> large;
    std::vector<std::string> open{operation.operands[0]};
    while (!open.empty()) {
        const std::string value = open.back();
        open.pop_back();
        const ValueInfo& info = values_.at(value);
        const std::int64_t elements = here(product(info.type.shape));
        if (elements < 0) return false;
        if (elements * kFewerElements <= terms || !large.insert(value).second) continue;
        if (info.kind != ValueInfo::Kind::expression && info.kind != ValueInfo::Kind::stage) return false;
        const Operation& made_by = *info.operation;
        const bool adds_up = is_reduction(made_by.op) && chosen_.contains(stage_names_.at(value)) &&
                             chosen_.at(stage_names_.at(value)) == "serial";
        if (info.kind == ValueInfo::Kind::stage && !is_elementwise(made_by.op) && !adds_up) return false;
        open.insert(open.end(), made_by.operands.begin(), made_by.operands.end());
    }
    if (large.empty()) return false;
    bool is_read_elsewhere =
        std::ranges::any_of(program_.body.yields, [&](const std::string& value) { return large.contains(value); });
    for (const Operation& reader : program_.body.operations) {
        if (&reader == &operation || large.contains(reader.result)) continue;
        walk_uses(reader,
                  [&](const std::string& value) { is_read_elsewhere = is_read_elsewhere || large.contains(value); });
    }
    return !is_read_elsewhere;
}

/// Of a few rows by a wide matrix that lies by rows: a library copies all of the matrix before it multiplies, which
/// takes longer than reading it once beside all rows of the left operand.
bool Analysis::has_few_rows(const Operation& product) const {
    const std::vector<Size>& shape = product.type.shape;
    const ValueInfo& right = values_.at(product.operands[1]);
    if (options_.device || shape.size() != 2 || right.order.contiguous_axis != 1) return false;
    const std::int64_t rows = here(shape[0]);
    return rows >= 2 && rows <= kFewRows && here(shape[1]) >= kLeastColumns &&
           here(right.type.shape[0]) >= 2 * kRowsPerBlock;
}

void Analysis::choose_matmul(const Operation& operation) {
    const std::string& name = stage_names_.at(operation.result);
    const bool library = may_use_library(operation, options_);
    const bool is_librarys = library && operation.attributes.at(attr::order).library;
    std::vector<std::string> options{"loops"};
    if (library) options.insert(is_librarys ? options.begin() : options.end(), "blas");
    const bool few_rows = has_few_rows(operation);
    const bool is_large = here(product(values_.at(operation.operands[1]).type.shape)) >= kLeastMatrix;
    if (few_rows) options.insert(is_librarys && is_large ? options.begin() : options.end(), kRows);
    const std::string choice = given_option(name, options);
    if (std::ranges::find(options, choice) == options.end() && choice != kRows)
        throw TranslateError(where(operation) + ": variant " + name + " = " + choice +
                                 ": no such option under contract " + options_.contract + " for " +
                                 operation.type.dtype + ".",
                             "Take one of: " + dsl::joined(options) + ".");
    chosen_[name] = choice;
    variants_.push_back(
        {name, options,
         "the product by loops of ours, in blocks of the right matrix's rows, or by the BLAS that NumPy "
         "has loaded"});
    if (choice != kRows) return;
    // With more rows the library is the faster one.
    const Size& rows = operation.type.shape[0];
    if (few_rows && !rows.is_constant()) requirements_.push_back(rows.text() + " <= " + std::to_string(kFewRows));
    std::ranges::for_each(operation.operands, [&](const std::string& operand) { keep_before(operand, name + "_of"); });
}

void Analysis::choose_variants() {
    for (const Operation& operation : program_.body.operations) {
        if (is_reduction(operation.op))
            choose_reduction(operation);
        else if (operation.op == Op::matmul)
            choose_matmul(operation);
    }
}

std::string Analysis::given_option(const std::string& name, const std::vector<std::string>& options) const {
    const auto given = options_.variant.find(name);
    return given == options_.variant.end() ? options.front() : given->second;
}

void refuse_unknown_variant(const Program& program, const std::string& name, const std::string& option) {
    throw TranslateError(program.function + ": variant " + name + " = " + option + ": the program has no such choice.",
                         "Remove it.");
}

void Analysis::refuse_unknown_variants() const {
    for (const auto& [name, option] : options_.variant) {
        if (context_.targets != nullptr) break; // other segments have choices too
        if (chosen_.count(name) == 0) refuse_unknown_variant(program_, name, option);
    }
}

std::vector<VariantInfo> variants(const Program& program, const TranslateOptions& options) {
    verify_program(program);
    const Prepared prepared = prepare(program, options);
    return prepared.in_steps ? stepped_variants(prepared, options) : Analysis(prepared.program, options).variants();
}

} // namespace tilewright::translator
