// dsl/runtime/plan_text.cpp: reads and checks the text of a plan (plan_text.md).
#include <algorithm>
#include <cctype>
#include <map>
#include <ranges>
#include <set>
#include <stdexcept>
#include <tuple>

#include "dsl/base/targets.h"
#include "dsl/runtime/plan.h"
#include "dsl/runtime/plan_lines.h"

namespace tilewright::runtime {
namespace {

// Far above what plans hold; text beyond it is damaged or hostile.
constexpr std::size_t kMaxTextBytes = 16u << 20;
constexpr std::size_t kMaxNames = 4096;
constexpr std::size_t kMaxBlocks = 1000; // one inside the other

class PlanReader : PlanLines {
  public:
    explicit PlanReader(std::string_view text) : PlanLines(text) {}

    Plan read() {
        if (text_.size() > kMaxTextBytes)
            fail("the text has " + std::to_string(text_.size()) + " bytes; the limit is 16 MiB.");
        if (!next_line() || line_ != "tilewright-plan 1")
            fail("expected 'tilewright-plan 1', found '" + shown(line_) +
                 "'; this is not a plan, or a newer release wrote it.");
        while (next_line())
            statement();
        if (version_) fail("the text ends inside version \"" + version_->label + "\"; the file is truncated.");
        if (plan_.function.empty()) fail("there is no 'function' line; the file is truncated.");
        if (!returns_) fail("there is no 'return' line; the file is truncated.");
        if (plan_.versions.empty()) fail("there is no version; the file is truncated.");
        return std::move(plan_);
    }

  private:
    enum class What { array, scalar };
    /// A loop, or a half of a branch, that is open.
    struct Block {
        PlanStep step;
        int line;
        bool is_otherwise = false;             ///< the second half of `step`
        bool is_left = false;                  ///< a loop, by some `leave`
        std::vector<std::string> names, sizes; ///< what is known in it alone
    };

    DType dtype() {
        std::string name = word("a dtype");
        if (auto found = dtype_named(name)) return *found;
        fail("dtype '" + name + "' is unknown.");
    }
    SizeExpression size() {
        try {
            return parse_size_prefix(line_);
        } catch (const std::invalid_argument& e) {
            fail(std::string(e.what()) + ".");
        }
    }
    /// Every symbol must be an extent of an argument, an int64 scalar, or in a version a size that a line above
    /// defines.
    void check_symbols(const SizeExpression& e) const {
        if (e.op() == SizeExpression::Op::symbol && !sizes_.count(e.name()) && !local_sizes_.count(e.name()))
            fail(ended_.count(e.name())
                     ? "'" + e.name() + "' is known only in the block that defines it, which has ended."
                     : "'" + e.name() + "' is not a size of an argument.");
        for (const SizeExpression& operand : e.operands())
            check_symbols(operand);
    }
    SizeExpression checked_size() {
        SizeExpression result = size();
        check_symbols(result);
        return result;
    }
    void check_new(const std::string& name) const {
        if (names_.count(name) || sizes_.count(name) || local_sizes_.count(name))
            fail("'" + name + "' is declared twice.");
        if (complex_half(name).second >= 0) fail("'" + name + "' is how the half of a complex array is called.");
    }
    void declare(const std::string& name, What what) {
        if (names_.size() > kMaxNames) fail("more than 4096 names.");
        check_new(name);
        names_.emplace(name, what);
    }
    /// A size that is known until the innermost block ends.
    void declare_size(const std::string& name) {
        if (local_sizes_.size() > kMaxNames) fail("more than 4096 sizes.");
        check_new(name);
        local_sizes_.insert(name);
        if (!blocks_.empty()) blocks_.back().sizes.push_back(name);
    }

    void statement() {
        std::string keyword = word("a statement");
        if (version_) {
            if (keyword == "require") return requirement();
            if (keyword == "temp") return temporary();
            if (keyword == "}") return close();
            if (keyword == "end") return end_version();
            // "leave if" stands behind "leave".
            for (const StepForm& each : kStepForms | std::views::reverse)
                if (std::string_view rest = each.text; take_first_words(keyword, rest)) return step(each.kind, rest);
            fail("'" + keyword + "' is not a statement of a version.");
        }
        if (keyword == "function") {
            plan_.function = function_ = word("a name");
            return expect_end();
        }
        if (keyword == "arg" || keyword == "scalar") return argument(keyword == "arg");
        if (keyword == "guard") return guard();
        if (keyword == "slices") return slices();
        if (keyword == "result") return result();
        if (keyword == "return") return returns();
        if (keyword == "version") {
            version_.emplace();
            has_steps_ = false;
            local_sizes_.clear();
            ended_.clear();
            version_->label = quoted("a label");
            return expect_end();
        }
        fail("'" + keyword + "' is not a statement of a plan.");
    }
    void argument(bool is_array) {
        PlanArgument a;
        a.name = word("a name");
        a.dtype = dtype();
        a.is_array = is_array;
        if (is_array) {
            std::string rank = word("a rank");
            if (rank.size() != 1 || rank[0] < '0' || rank[0] > '0' + kMaxRank)
                fail("rank " + rank + " of " + a.name + " is not between 0 and " + std::to_string(kMaxRank) + ".");
            a.rank = rank[0] - '0';
            a.written = take_word("written");
        }
        expect_end();
        declare(a.name, is_array ? What::array : What::scalar);
        for (int k = 0; k < a.rank; ++k)
            sizes_.insert(a.name + "." + rank_digit(k));
        if (!is_array && a.dtype == DType::int64) sizes_.insert(a.name);
        plan_.arguments.push_back(std::move(a));
    }
    static std::string rank_digit(int k) { return std::string(1, static_cast<char>('0' + k)); }
    void guard() {
        PlanGuard g;
        g.condition = checked_size();
        g.message = quoted("a message");
        expect_end();
        plan_.guards.push_back(std::move(g));
    }
    void slices() {
        expect("(");
        do {
            const std::string name = word("an argument");
            const auto found = std::find_if(plan_.arguments.begin(), plan_.arguments.end(),
                                            [&](const PlanArgument& each) { return each.name == name; });
            if (found == plan_.arguments.end() || found->rank == 0)
                fail(name + " is not an array argument with an axis.");
            plan_.sliced.push_back(static_cast<std::size_t>(found - plan_.arguments.begin()));
        } while (take(","));
        expect(")");
        expect_end();
    }
    PlanBuffer buffer() {
        PlanBuffer b;
        b.name = word("a name");
        b.dtype = dtype();
        expect("[");
        if (!take("]")) {
            do
                b.shape.push_back(checked_size());
            while (take(","));
            expect("]");
        }
        if (b.shape.size() > kMaxRank)
            fail(b.name + " has rank " + std::to_string(b.shape.size()) + "; the limit is 8.");
        expect_end();
        return b;
    }
    void result() {
        PlanBuffer b = buffer();
        declare(b.name, What::array);
        plan_.results.push_back(std::move(b));
    }
    /// To the innermost block.
    void add(PlanStep s) {
        if (s.kind != PlanStep::Kind::temporary) has_steps_ = true;
        if (blocks_.empty()) return version_->steps.push_back(std::move(s));
        Block& block = blocks_.back();
        (block.is_otherwise ? block.step.otherwise : block.step.body).push_back(std::move(s));
    }
    void temporary() {
        PlanBuffer b = buffer();
        declare(b.name, What::array);
        if (!blocks_.empty()) blocks_.back().names.push_back(b.name);
        PlanStep s;
        s.kind = PlanStep::Kind::temporary;
        s.temporary = version_->temporaries.size();
        version_->temporaries.push_back(std::move(b));
        add(std::move(s));
    }
    void returns() {
        if (returns_) fail("a second 'return' line.");
        returns_ = true;
        // No name of a Python function's is None.
        if (take_word("None")) return expect_end();
        plan_.returns_tuple = take("(");
        do {
            skip_blanks();
            if (plan_.returns_tuple && line_ == ")") break;
            std::string number;
            for (const char* type : {"int", "float", "bool", "held"})
                if (number.empty() && take_keyword(type)) number = type;
            plan_.returns.push_back(word("a name"));
            plan_.numbers.push_back(number);
            const std::string& name = plan_.returns.back();
            if (!names_.count(name)) fail("'" + name + "' is neither a result nor an argument.");
            const DType dtype = number == "float" ? DType::float64 : number == "bool" ? DType::boolean : DType::int64;
            if (!number.empty() && type_of(name) != std::pair(dtype, 0))
                fail("'" + name + "' makes no " + number + ": it has another dtype, or dimensions.");
        } while (take(","));
        if (plan_.returns_tuple) expect(")");
        expect_end();
        if (plan_.returns.empty()) fail("expected a name after 'return'.");
    }
    void requirement() {
        PlanRequirement r;
        if (has_steps_) fail("'require' stands before the steps of a version.");
        // An integer argument may be called isa or layout too: its conditions go on with an operator, not with a name.
        if (take_keyword("isa")) {
            r.kind = PlanRequirement::Kind::isa;
            r.name = word("an ISA level");
            if (isa_rank(r.name) == 0 && r.name != "host" && cuda_capability(r.name) == 0)
                fail("ISA level '" + r.name + "' is unknown to this release.");
        } else if (take_keyword("layout")) {
            r.name = word("an array");
            auto found = names_.find(r.name);
            bool is_argument = found != names_.end() && found->second == What::array;
            if (!is_argument) fail("'" + r.name + "' is not an array argument.");
            std::string layout = word("C, F or any");
            if (layout != "C" && layout != "F" && layout != "any") fail("layout '" + layout + "' is neither C nor F.");
            if (layout == "any") return expect_end();
            r.kind = layout == "C" ? PlanRequirement::Kind::layout_c : PlanRequirement::Kind::layout_f;
        } else {
            r.condition = checked_size();
        }
        expect_end();
        version_->requirements.push_back(std::move(r));
    }
    static std::string_view take_from(std::string_view& words) {
        const std::string_view first = words.substr(0, words.find(' '));
        words.remove_prefix(std::min(first.size() + 1, words.size()));
        return first;
    }
    /// The words that a form begins with; `rest` is what comes behind them.
    bool take_first_words(std::string_view keyword, std::string_view& rest) {
        if (take_from(rest) != keyword) return false;
        return rest.empty() || std::isalpha(static_cast<unsigned char>(rest[0])) == 0 || take_word(take_from(rest));
    }
    void step(StepKind kind, std::string_view words) {
        PlanStep s{{.kind = kind}};
        while (!words.empty()) {
            const std::string_view each = take_from(words);
            if (each == "$")
                s.symbol = word(kind == StepKind::call     ? "a symbol"
                                : kind == StepKind::matmul ? "a routine"
                                                           : "a name");
            else if (each == "@")
                s.object = quoted("an object");
            else if (each == "?")
                s.arguments.push_back(argument_of(kind));
            else if (each == "(*)")
                arguments(s);
            else if (each == "!")
                s.message = quoted(kind == StepKind::stage ? "an expression" : "what failed");
            else
                expect_word(each);
        }
        if (form(kind).opens_block) expect("{");
        expect_end();
        check(s);
        if (!form(kind).opens_block) return add(std::move(s));
        if (blocks_.size() == kMaxBlocks) fail("more than 1000 blocks inside each other.");
        has_steps_ = true;
        blocks_.push_back({std::move(s), number_, false, false, {}, {}});
        if (kind == StepKind::for_range) declare_size(blocks_.back().step.symbol);
    }
    SizeExpression argument_of(StepKind kind) {
        switch (kind) {
        case StepKind::copy:
            return array_operand("copy");
        case StepKind::save:
            return array_operand("save");
        case StepKind::read:
            return array_operand("read");
        case StepKind::swap:
            return SizeExpression::symbol(word("a temporary"));
        case StepKind::for_range:
            return checked_size();
        default:
            return condition();
        }
    }
    void check(const PlanStep& s) {
        switch (s.kind) {
        case StepKind::call:
            for (const SizeExpression& a : s.arguments)
                if (!is_buffer_or_scalar(a)) check_symbols(a);
            return;
        case StepKind::matmul:
            return check_product(s);
        case StepKind::stage:
            return check_stage(s);
        case StepKind::copy:
            return check_copy(s);
        case StepKind::save:
            return check_save(s);
        case StepKind::swap:
            return check_swap(s);
        case StepKind::read:
            return check_read(s);
        case StepKind::for_range:
            if (s.arguments[2] == SizeExpression()) fail("the step is 0.");
            return;
        case StepKind::leave:
        case StepKind::leave_if:
        case StepKind::leave_unless:
            return check_leave();
        default:
            return;
        }
    }
    /// Also a half of a complex one.
    bool is_buffer_or_scalar(const SizeExpression& e) const {
        if (e.op() != SizeExpression::Op::symbol) return false;
        auto [name, half] = complex_half(e.name());
        if (!names_.count(name)) return false;
        if (half >= 0) type_of(e.name());
        return true;
    }
    bool is_array(const SizeExpression& e) const {
        if (e.op() != SizeExpression::Op::symbol) return false;
        auto found = names_.find(complex_half(e.name()).first);
        return found != names_.end() && found->second == What::array;
    }
    /// A size, or the name of an array, of a scalar or of a half.
    SizeExpression operand() {
        skip_blanks();
        std::size_t n = std::min(line_.find_first_of(" \t(),[]{}\"+*/%<>=!"), line_.size());
        std::string name(line_.substr(0, n));
        if (complex_half(name).second < 0 && name.find('^') == std::string::npos) return size();
        line_.remove_prefix(n);
        return SizeExpression::symbol(name);
    }
    SizeExpression array_operand(const char* statement) {
        SizeExpression result = operand();
        if (!is_array(result))
            fail(std::string(statement) + " takes arrays, and '" + print_size(result) + "' is not one.");
        return result;
    }
    void arguments(PlanStep& s) {
        expect("(");
        if (!take(")")) {
            do
                s.arguments.push_back(operand());
            while (take(","));
            expect(")");
        }
        if (s.arguments.size() > kMaxNames) fail("more than 4096 arguments.");
    }
    const PlanArgument* argument_named(const std::string& name) const {
        for (const PlanArgument& a : plan_.arguments)
            if (a.name == name) return &a;
        return nullptr;
    }
    void check_may_be_written(const std::string& name) const {
        const PlanArgument* argument = argument_named(complex_half(name).first);
        if (argument && !argument->written) fail("'" + argument->name + "' is an argument that is not written.");
    }
    void check_copy(const PlanStep& s) const {
        const std::string &from = s.arguments[0].name(), &to = s.arguments[1].name();
        check_may_be_written(to);
        if (from == to) fail("'" + from + "' is copied to itself.");
        if (type_of(from) != type_of(to)) fail("copy takes arrays of one dtype and rank; " + to + " has another.");
    }
    void check_save(const PlanStep& s) const {
        const std::string &from = s.arguments[0].name(), &to = s.arguments[1].name();
        const PlanArgument* argument = argument_named(from);
        if (!argument || !argument->written)
            fail("save takes an argument that is written, and '" + from + "' is none.");
        if (!temporary_named(to)) fail("save takes a temporary, and '" + to + "' is not one.");
        if (type_of(from) != type_of(to)) fail("save takes arrays of one dtype and rank; " + to + " has another.");
        if (!blocks_.empty()) fail("'save' stands in a block.");
    }
    const PlanBuffer* temporary_named(const std::string& name) const {
        const PlanBuffer* found = nullptr;
        for (const PlanBuffer& b : version_->temporaries)
            if (b.name == name && names_.count(name)) found = &b;
        return found;
    }
    void check_swap(const PlanStep& s) const {
        const PlanBuffer* buffers[2] = {};
        for (std::size_t k = 0; k < 2; ++k) {
            const std::string& name = s.arguments[k].name();
            buffers[k] = temporary_named(name);
            if (!buffers[k]) fail("swap takes two temporaries, and '" + name + "' is not one.");
        }
        auto [a, b] = buffers;
        if (a->dtype != b->dtype || a->shape != b->shape)
            fail("swap takes temporaries of one dtype and shape; " + b->name + " has another.");
        if (a == b) fail("'" + a->name + "' is swapped with itself.");
    }
    void check_read(const PlanStep& s) {
        auto [type, rank] = type_of(s.arguments[0].name());
        if (rank != 0 || type < DType::int8 || type > DType::uint64)
            fail("read takes an integer array of no dimensions, and " + s.arguments[0].name() + " is not one.");
        declare_size(s.symbol);
    }
    /// The name of a truth that a call computes or gets, or a comparison of sizes.
    SizeExpression condition() {
        SizeExpression c = size();
        if (c.op() != SizeExpression::Op::symbol || !names_.count(c.name()) || sizes_.count(c.name())) {
            check_symbols(c);
        } else if (type_of(c.name()) != std::pair(DType::boolean, 0)) {
            fail("'" + c.name() + "' is not a condition: it is not bool, or it has dimensions.");
        }
        return c;
    }
    void check_leave() {
        auto loop = std::find_if(blocks_.rbegin(), blocks_.rend(), [](const Block& b) { return b.step.is_loop(); });
        if (loop == blocks_.rend()) fail("'leave' stands in no loop.");
        loop->is_left = true;
    }
    /// `}` or `} else {`.
    void close() {
        if (blocks_.empty()) fail("there is no block that '}' could end.");
        Block block = std::move(blocks_.back());
        blocks_.pop_back();
        for (const std::string& name : block.names)
            names_.erase(name);
        for (const std::string& name : block.sizes)
            local_sizes_.erase(name);
        for (auto* names : {&block.names, &block.sizes})
            ended_.insert(names->begin(), names->end());
        if (take_word("else")) {
            if (block.step.kind != PlanStep::Kind::branch || block.is_otherwise) fail("'else' follows no 'if'.");
            expect("{");
            expect_end();
            blocks_.push_back({std::move(block.step), number_, true, false, {}, {}});
            return;
        }
        expect_end();
        if (block.step.kind == PlanStep::Kind::loop && !block.is_left)
            fail("nothing leaves the loop of line " + std::to_string(block.line) + ".");
        add(std::move(block.step));
    }
    void check_product(const PlanStep& s) const {
        if (s.symbol != "matmul") fail("library routine '" + s.symbol + "' is unknown to this release.");
        if (s.arguments.size() != 3) fail("matmul takes three arrays, not " + std::to_string(s.arguments.size()) + ".");
        DType first = DType::float64;
        int most = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            std::string name = s.arguments[i].name(), axes;
            if (i < 2) std::tie(name, axes) = ordered_axes(name);
            if (!is_array(SizeExpression::symbol(name)) || complex_half(name).second >= 0)
                fail("matmul takes three arrays, and '" + print_size(s.arguments[i]) + "' is not one.");
            auto [type, rank] = type_of(name);
            if (name != s.arguments[i].name()) rank = check_axes(s.arguments[i].name(), axes, rank);
            if (rank < 2)
                fail("matmul takes arrays of rank 2 or more; " + name + " has rank " + std::to_string(rank) + ".");
            if (i == 2 && rank != most)
                fail("matmul gives an array of rank " + std::to_string(most) + " here; " + name + " has rank " +
                     std::to_string(rank) + ".");
            most = std::max(most, rank);
            if (i == 0)
                first = type;
            else if (type != first)
                fail("matmul takes arrays of one dtype; " + name + " has another.");
        }
        check_writes_in_c("matmul", s.arguments[2].name());
    }
    void check_writes_in_c(const char* what, const std::string& result) const {
        check_may_be_written(result);
        bool lies_in_c = !argument_named(result);
        for (const PlanRequirement& r : version_->requirements)
            lies_in_c = lies_in_c || (r.kind == PlanRequirement::Kind::layout_c && r.name == result);
        if (!lies_in_c)
            fail(std::string(what) + " writes in C order; the version does not require 'layout " + result + " C'.");
    }
    void check_stage(const PlanStep& s) const {
        if (s.message.empty()) fail("the stage says nothing that could be computed.");
        if (s.arguments.size() < 2 || s.arguments.size() > kMaxStageArrays)
            fail("a stage takes one to " + std::to_string(kMaxStageArrays - 1) + " arrays, and gives one.");
        for (const SizeExpression& a : s.arguments) {
            const auto [name, axes] = ordered_axes(a.op() == SizeExpression::Op::symbol ? a.name() : "");
            if (!is_array(SizeExpression::symbol(name)))
                fail("a stage takes arrays, and '" + print_size(a) + "' is not one.");
            const int rank = type_of(name).second;
            if (name != a.name()) check_axes(a.name(), axes, rank);
        }
        check_writes_in_c("a stage", s.arguments.back().name());
    }
    /// Each axis once, and `n` for an axis of one element; gives how many there are.
    int check_axes(const std::string& name, const std::string& axes, int rank) const {
        std::set<char> seen;
        for (const char c : axes)
            if (c != 'n' && (c < '0' || c >= '0' + rank || !seen.insert(c).second))
                fail(name + ": '" + axes + "' are not the axes of an array of rank " + std::to_string(rank) + ".");
        if (static_cast<int>(seen.size()) != rank || axes.size() > static_cast<std::size_t>(kMaxRank))
            fail(name + ": '" + axes + "' are not the axes of an array of rank " + std::to_string(rank) + ".");
        return static_cast<int>(axes.size());
    }
    /// dtype and rank of an array, of a scalar or of a half of either.
    std::pair<DType, int> type_of(const std::string& of) const {
        auto [name, half] = complex_half(of);
        auto typed = [&, part = half](DType dtype, std::size_t rank) {
            if (part < 0) return std::pair(dtype, static_cast<int>(rank));
            if (!info(dtype).is_complex()) fail("'" + of + "': it is not complex.");
            return std::pair(info(dtype).part, static_cast<int>(rank));
        };
        if (const PlanArgument* a = argument_named(name)) return typed(a->dtype, static_cast<std::size_t>(a->rank));
        for (const PlanBuffer& b : plan_.results)
            if (b.name == name) return typed(b.dtype, b.shape.size());
        // The last of a name: those of blocks that have ended come before it.
        for (std::size_t k = version_ ? version_->temporaries.size() : 0; k-- > 0;)
            if (const PlanBuffer& b = version_->temporaries[k]; b.name == name) return typed(b.dtype, b.shape.size());
        fail("'" + name + "' is not an array.");
    }
    void end_version() {
        expect_end();
        if (!blocks_.empty())
            fail("the version ends, but the block of line " + std::to_string(blocks_.back().line) + " does not.");
        std::set<std::string> used;
        for_each_step(version_->steps, [&](const PlanStep& s) {
            if (s.kind == PlanStep::Kind::call || s.kind == PlanStep::Kind::matmul || s.kind == PlanStep::Kind::stage)
                for (const SizeExpression& a : s.arguments)
                    used.insert(a.name());
            if (s.kind == PlanStep::Kind::copy) used.insert(s.arguments[1].name());
        });
        // A written argument may also be left as it was: what a function puts back it has written all the same, and
        // nothing may share its memory.
        for (const PlanBuffer& b : plan_.results)
            if (!used.count(b.name) && !(used.count(b.name + ".real") && used.count(b.name + ".imag")))
                fail("no step of version \"" + version_->label + "\" writes result " + b.name + ".");
        for (const PlanBuffer& b : version_->temporaries)
            names_.erase(b.name);
        plan_.versions.push_back(std::move(*version_));
        version_.reset();
        local_sizes_.clear();
        ended_.clear();
    }

    Plan plan_;
    bool returns_ = false;
    std::optional<PlanVersionBody> version_;
    bool has_steps_ = false; ///< of the version, beside temporaries
    std::vector<Block> blocks_;
    std::map<std::string, What> names_;
    std::set<std::string> sizes_;       ///< of arguments
    std::set<std::string> local_sizes_; ///< that steps define
    std::set<std::string> ended_;       ///< of blocks that have ended
};

} // namespace

std::pair<std::string, int> complex_half(const std::string& name) {
    for (const char* half : {".real", ".imag"})
        if (name.size() > 5 && name.ends_with(half)) return {name.substr(0, name.size() - 5), half[1] == 'i'};
    return {name, -1};
}

std::pair<std::string, std::string> ordered_axes(const std::string& name) {
    const std::size_t at = name.find('^');
    if (at == std::string::npos) return {name, ""};
    return {name.substr(0, at), name.substr(at + 1)};
}

std::string array_of(const std::string& name) {
    return complex_half(ordered_axes(name).first).first;
}

Plan parse_plan(std::string_view text) {
    return PlanReader(text).read();
}

} // namespace tilewright::runtime
