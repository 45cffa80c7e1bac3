// dsl/runtime/plan_text.cpp: reads, checks and writes the text of a plan (plan_text.md).
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#include "dsl/base/error.h"
#include "dsl/runtime/compose_plan.h"
#include "dsl/runtime/plan.h"

namespace tilewright::runtime {
namespace {

// Far above what plans hold; text beyond it is damaged or hostile.
constexpr std::size_t kMaxTextBytes = 16u << 20;
constexpr std::size_t kMaxNames = 4096;

class PlanReader {
  public:
    explicit PlanReader(std::string_view text) : text_(text) {}

    Plan read() {
        if (text_.size() > kMaxTextBytes)
            fail("the text has " + std::to_string(text_.size()) + " bytes; the limit is 16 MiB.");
        if (!next_line() || line_ != "tilewright-plan 1")
            fail("expected 'tilewright-plan 1', found '" + shown(line_) +
                 "'; this is no plan, or one of a newer release.");
        while (next_line())
            statement();
        if (version_) fail("the text ends inside version \"" + version_->label + "\"; the file is truncated.");
        if (plan_.function.empty()) fail("there is no 'function' line; the file is truncated.");
        if (plan_.returns.empty()) fail("there is no 'return' line; the file is truncated.");
        if (plan_.versions.empty()) fail("there is no version; the file is truncated.");
        return std::move(plan_);
    }

  private:
    enum class What { array, scalar };

    [[noreturn]] void fail(const std::string& why) const {
        std::string where = plan_.function.empty() ? "plan" : "plan of " + plan_.function;
        throw ExportError(where + ", line " + std::to_string(number_) + ": " + why,
                          "Export or tune the function again.");
    }
    static std::string shown(std::string_view text) {
        return text.size() > 40 ? std::string(text.substr(0, 40)) + "..." : std::string(text);
    }

    bool next_line() {
        while (at_ < text_.size()) {
            std::size_t end = std::min(text_.find('\n', at_), text_.size());
            line_ = text_.substr(at_, end - at_);
            at_ = end + 1;
            ++number_;
            cut_comment();
            while (!line_.empty() && (line_.front() == ' ' || line_.front() == '\t'))
                line_.remove_prefix(1);
            while (!line_.empty() && (line_.back() == ' ' || line_.back() == '\t' || line_.back() == '\r'))
                line_.remove_suffix(1);
            if (!line_.empty()) return true;
        }
        ++number_;
        line_ = {};
        return false;
    }
    void cut_comment() {
        bool quoted = false;
        for (std::size_t i = 0; i < line_.size(); ++i) {
            if (quoted && line_[i] == '\\')
                ++i;
            else if (line_[i] == '"')
                quoted = !quoted;
            else if (line_[i] == '#' && !quoted) {
                line_ = line_.substr(0, i);
                return;
            }
        }
    }

    void skip_blanks() {
        while (!line_.empty() && (line_[0] == ' ' || line_[0] == '\t'))
            line_.remove_prefix(1);
    }
    bool take(std::string_view token) {
        skip_blanks();
        if (!line_.starts_with(token)) return false;
        line_.remove_prefix(token.size());
        return true;
    }
    /// A word with a name after it.
    bool take_keyword(std::string_view keyword) {
        std::string_view before = line_;
        if (take(keyword) && !line_.empty() && line_[0] == ' ') {
            skip_blanks();
            const char next = line_.empty() ? ' ' : line_[0];
            if (next == '_' || static_cast<unsigned char>(next) >= 0x80 ||
                std::isalpha(static_cast<unsigned char>(next)))
                return true;
        }
        line_ = before;
        return false;
    }
    void expect(std::string_view token) {
        if (!take(token)) fail("expected '" + std::string(token) + "' at '" + shown(line_) + "'.");
    }
    void expect_end() {
        skip_blanks();
        if (!line_.empty()) fail("unexpected '" + shown(line_) + "' at the end of the line.");
    }
    std::string word(const char* what) {
        skip_blanks();
        std::size_t n = line_.find_first_of(" \t(),[]\"");
        std::string result(line_.substr(0, n));
        if (result.empty()) fail(std::string("expected ") + what + " at '" + shown(line_) + "'.");
        line_.remove_prefix(result.size());
        return result;
    }
    std::string quoted(const char* what) {
        skip_blanks();
        if (line_.empty() || line_[0] != '"')
            fail(std::string("expected ") + what + " in double quotes at '" + shown(line_) + "'.");
        std::string result;
        for (std::size_t i = 1; i < line_.size(); ++i) {
            if (line_[i] == '"') {
                line_.remove_prefix(i + 1);
                return result;
            }
            if (line_[i] == '\\' && i + 1 < line_.size()) {
                ++i;
                result += line_[i] == 'n' ? '\n' : line_[i];
            } else {
                result += line_[i];
            }
        }
        fail(std::string(what) + " has no closing quote.");
    }
    DType dtype() {
        std::string name = word("a dtype");
        if (auto found = dtype_named(name)) return *found;
        fail("dtype '" + name + "' is none that plans know.");
    }
    SizeExpression size() {
        try {
            return parse_size_prefix(line_);
        } catch (const std::invalid_argument& e) {
            fail(std::string(e.what()) + ".");
        }
    }
    /// Every symbol must be an extent of an argument or an int64 scalar.
    void check_symbols(const SizeExpression& e) const {
        if (e.op == SizeExpression::Op::symbol && !sizes_.count(e.name))
            fail("'" + e.name + "' is no size of an argument.");
        for (const SizeExpression& operand : e.operands)
            check_symbols(operand);
    }
    SizeExpression checked_size() {
        SizeExpression result = size();
        check_symbols(result);
        return result;
    }
    void declare(const std::string& name, What what) {
        if (names_.size() > kMaxNames) fail("more than 4096 names.");
        if (!names_.emplace(name, what).second) fail("'" + name + "' is declared twice.");
    }

    void statement() {
        std::string keyword = word("a statement");
        if (version_) {
            if (keyword == "require") return requirement();
            if (keyword == "temp") return temporary();
            if (keyword == "call") return call();
            if (keyword == "library") return library();
            if (keyword == "end") return end_version();
            fail("'" + keyword + "' is no statement of a version.");
        }
        if (keyword == "function") {
            plan_.function = word("a name");
            return expect_end();
        }
        if (keyword == "arg" || keyword == "scalar") return argument(keyword == "arg");
        if (keyword == "guard") return guard();
        if (keyword == "result") return result();
        if (keyword == "return") return returns();
        if (keyword == "version") {
            version_.emplace();
            version_->label = quoted("a label");
            return expect_end();
        }
        fail("'" + keyword + "' is no statement of a plan.");
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
            for (int k = 0; k < a.rank; ++k)
                sizes_.insert(a.name + "." + rank_digit(k));
        } else if (a.dtype == DType::int64) {
            sizes_.insert(a.name);
        }
        expect_end();
        declare(a.name, is_array ? What::array : What::scalar);
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
    void temporary() {
        PlanBuffer b = buffer();
        declare(b.name, What::array);
        version_->temporaries.push_back(std::move(b));
    }
    void returns() {
        if (!plan_.returns.empty()) fail("a second 'return' line.");
        plan_.returns_tuple = take("(");
        do {
            skip_blanks();
            if (plan_.returns_tuple && line_ == ")") break;
            plan_.returns.push_back(word("a name"));
            if (!names_.count(plan_.returns.back()))
                fail("'" + plan_.returns.back() + "' is neither a result nor an argument.");
        } while (take(","));
        if (plan_.returns_tuple) expect(")");
        expect_end();
        if (plan_.returns.empty()) fail("expected a name after 'return'.");
    }
    void requirement() {
        PlanRequirement r;
        // An integer argument may be called isa or layout too: its conditions go on with an operator, not with a name.
        if (take_keyword("isa")) {
            r.kind = PlanRequirement::Kind::isa;
            r.name = word("an ISA level");
            if (r.name != "x86-64" && r.name != "x86-64-v2" && r.name != "x86-64-v3" && r.name != "x86-64-v4" &&
                r.name != "host")
                fail("ISA level '" + r.name + "' is none that this release knows.");
        } else if (take_keyword("layout")) {
            r.name = word("an array");
            auto found = names_.find(r.name);
            bool is_argument = found != names_.end() && found->second == What::array;
            if (!is_argument) fail("'" + r.name + "' is no array argument.");
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
    void call() {
        PlanStep s;
        s.symbol = word("a symbol");
        expect("in");
        s.object = quoted("an object");
        arguments(s);
        for (const SizeExpression& a : s.arguments)
            if (!is_buffer_or_scalar(a)) check_symbols(a);
        version_->steps.push_back(std::move(s));
    }
    bool is_buffer_or_scalar(const SizeExpression& e) const {
        return e.op == SizeExpression::Op::symbol && names_.count(e.name);
    }
    void arguments(PlanStep& s) {
        expect("(");
        if (!take(")")) {
            do
                s.arguments.push_back(size());
            while (take(","));
            expect(")");
        }
        expect_end();
        if (s.arguments.size() > kMaxNames) fail("more than 4096 arguments.");
    }
    void library() {
        PlanStep s;
        s.kind = PlanStep::Kind::matmul;
        s.symbol = word("a routine");
        if (s.symbol != "matmul") fail("library routine '" + s.symbol + "' is none that this release knows.");
        arguments(s);
        if (s.arguments.size() != 3) fail("matmul takes three arrays, not " + std::to_string(s.arguments.size()) + ".");
        DType first = DType::float64;
        for (std::size_t i = 0; i < 3; ++i) {
            const SizeExpression& a = s.arguments[i];
            auto found = names_.find(a.name);
            if (a.op != SizeExpression::Op::symbol || found == names_.end() || found->second != What::array)
                fail("matmul takes three arrays; '" + print_size(a) + "' is none.");
            auto [type, rank] = type_of(a.name);
            if (rank != 2) fail("matmul takes arrays of rank 2; " + a.name + " has rank " + std::to_string(rank) + ".");
            if (i == 0)
                first = type;
            else if (type != first)
                fail("matmul takes arrays of one dtype; " + a.name + " has another.");
        }
        version_->steps.push_back(std::move(s));
    }
    std::pair<DType, int> type_of(const std::string& name) const {
        for (const PlanArgument& a : plan_.arguments)
            if (a.name == name) return {a.dtype, a.rank};
        for (const auto* list : {&plan_.results, &version_->temporaries})
            for (const PlanBuffer& b : *list)
                if (b.name == name) return {b.dtype, static_cast<int>(b.shape.size())};
        fail("'" + name + "' is no array.");
    }
    void end_version() {
        expect_end();
        std::set<std::string> used;
        for (const PlanStep& s : version_->steps)
            for (const SizeExpression& a : s.arguments)
                used.insert(a.name);
        for (const PlanBuffer& b : plan_.results)
            if (!used.count(b.name))
                fail("no step of version \"" + version_->label + "\" writes result " + b.name + ".");
        for (const PlanBuffer& b : version_->temporaries)
            names_.erase(b.name);
        plan_.versions.push_back(std::move(*version_));
        version_.reset();
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int number_ = 0;
    std::string_view line_;
    Plan plan_;
    std::optional<PlanVersionBody> version_;
    std::map<std::string, What> names_;
    std::set<std::string> sizes_;
};

std::string quote(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out + "\"";
}

template <class List, class Print> std::string joined(const List& list, Print print) {
    std::string out;
    for (const auto& item : list)
        out += (out.empty() ? "" : ", ") + print(item);
    return out;
}

std::string print_buffer(const PlanBuffer& b) {
    return b.name + " " + std::string(info(b.dtype).name) + " [" + joined(b.shape, print_size) + "]\n";
}

} // namespace

Plan parse_plan(std::string_view text) {
    return PlanReader(text).read();
}

std::string print_plan(const Plan& plan) {
    std::string out = "tilewright-plan 1\nfunction " + plan.function + "\n";
    for (const PlanArgument& a : plan.arguments) {
        out += (a.is_array ? "arg " : "scalar ") + a.name + " " + std::string(info(a.dtype).name);
        out += a.is_array ? " " + std::to_string(a.rank) + "\n" : "\n";
    }
    for (const PlanGuard& g : plan.guards)
        out += "guard " + print_size(g.condition) + " " + quote(g.message) + "\n";
    for (const PlanBuffer& b : plan.results)
        out += "result " + print_buffer(b);
    std::string names = joined(plan.returns, [](const std::string& name) { return name; });
    if (plan.returns_tuple) names = "(" + names + (plan.returns.size() == 1 ? ",)" : ")");
    out += "return " + names + "\n";
    for (const PlanVersionBody& v : plan.versions) {
        out += "version " + quote(v.label) + "\n";
        for (const PlanRequirement& r : v.requirements) {
            switch (r.kind) {
            case PlanRequirement::Kind::isa:
                out += "require isa " + r.name + "\n";
                break;
            case PlanRequirement::Kind::layout_c:
                out += "require layout " + r.name + " C\n";
                break;
            case PlanRequirement::Kind::layout_f:
                out += "require layout " + r.name + " F\n";
                break;
            case PlanRequirement::Kind::condition:
                out += "require " + print_size(r.condition) + "\n";
                break;
            }
        }
        for (const PlanBuffer& b : v.temporaries)
            out += "temp " + print_buffer(b);
        for (const PlanStep& s : v.steps) {
            out +=
                s.kind == PlanStep::Kind::call ? "call " + s.symbol + " in " + quote(s.object) : "library " + s.symbol;
            out += " (" + joined(s.arguments, print_size) + ")\n";
        }
        out += "end\n";
    }
    return out;
}

std::string compose_plan(const std::string& header, const std::vector<PlanVersion>& versions) {
    std::string out = header;
    if (!out.empty() && out.back() != '\n') out += '\n';
    for (const PlanVersion& v : versions) {
        out += "version " + quote(v.label) + "\n";
        for (const std::string& requirement : v.requires_)
            out += "require " + requirement + "\n";
        std::size_t at = 0;
        while (at < v.body.size()) {
            std::size_t end = std::min(v.body.find('\n', at), v.body.size());
            std::string line = v.body.substr(at, end - at);
            at = end + 1;
            // `call K in "K" (...)`: the suffix goes before the closing quote of the object's name.
            std::size_t first = line.find_first_not_of(" \t");
            std::size_t open = line.find(" in \"");
            if (first != std::string::npos && line.compare(first, 5, "call ") == 0 && open != std::string::npos &&
                !v.object_suffix.empty()) {
                std::size_t close = line.find('"', open + 5);
                if (close == std::string::npos)
                    throw InternalError("compose_plan: '" + line + "': the object's name has no closing quote.");
                line.insert(close, "." + v.object_suffix);
            }
            if (!line.empty()) out += line + "\n";
        }
        out += "end\n";
    }
    return out;
}

} // namespace tilewright::runtime
