// translator/ir/program_reader.cpp: program text -> Program, with errors that name line and column.
#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "translator/ir/program.h"
#include "translator/ir/size.h"

namespace tilewright::translator {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr int kMaxRegionDepth = 64;
constexpr std::size_t kMaxRank = 32;

bool starts_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool continues_name(char c) {
    return starts_name(c) || is_digit(c);
}

/// A cursor in one line; positions are columns from 1.
class Line {
  public:
    Line(std::string_view text, int number) : text_(text), number_(number) {}

    [[noreturn]] void fail(const std::string& reason) const {
        throw TranslateError("program:" + std::to_string(number_) + ":" + std::to_string(at_ + 1) + ": " + reason +
                             ".");
    }
    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
            ++at_;
    }
    bool at_end() {
        skip();
        return at_ >= text_.size();
    }
    char peek() {
        skip();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(std::string_view token) {
        skip();
        if (text_.substr(at_, token.size()) != token) return false;
        if (continues_name(token.back()) && at_ + token.size() < text_.size() &&
            continues_name(text_[at_ + token.size()]))
            return false;
        at_ += token.size();
        return true;
    }
    std::string found() {
        if (at_end()) return "the end of the line";
        return "'" + std::string(text_.substr(at_, 20)) + "'";
    }
    void expect(std::string_view token) {
        if (!take(token)) fail("expected '" + std::string(token) + "', found " + found());
    }
    void expect_end() {
        if (!at_end()) fail("expected the end of the line, found " + found());
    }
    std::string name(const char* what) {
        skip();
        if (at_ >= text_.size() || !starts_name(text_[at_]))
            fail(std::string("expected ") + what + ", found " + found());
        std::size_t start = at_;
        while (at_ < text_.size() && continues_name(text_[at_]))
            ++at_;
        return std::string(text_.substr(start, at_ - start));
    }
    /// An identifier or %N.
    std::string value_name() {
        if (peek() != '%') return name("a value's name");
        std::size_t start = at_++;
        while (at_ < text_.size() && is_digit(text_[at_]))
            ++at_;
        if (at_ == start + 1) fail("expected digits after '%'");
        return std::string(text_.substr(start, at_ - start));
    }
    int integer() {
        skip();
        std::size_t start = at_;
        int value = 0;
        while (at_ < text_.size() && is_digit(text_[at_])) {
            if (value > 200'000'000) fail("a number that is too large");
            value = value * 10 + (text_[at_++] - '0');
        }
        if (at_ == start) fail("expected a number, found " + found());
        return value;
    }
    /// The text up to a character of `stops` outside all brackets and quotes.
    std::string until(std::string_view stops) {
        skip();
        std::size_t start = at_;
        int depth = 0;
        while (at_ < text_.size()) {
            char c = text_[at_];
            if (depth == 0 && stops.find(c) != std::string_view::npos) break;
            if (c == '"') {
                quoted();
                continue;
            }
            if (c == '(' || c == '[' || c == '{') ++depth;
            if (c == ')' || c == ']' || c == '}') {
                if (--depth < 0) fail("a closing bracket that was never opened");
            }
            ++at_;
        }
        std::size_t end = at_;
        while (end > start && (text_[end - 1] == ' ' || text_[end - 1] == '\t'))
            --end;
        return std::string(text_.substr(start, end - start));
    }
    std::string quoted() {
        expect("\"");
        std::string out;
        while (true) {
            if (at_ >= text_.size()) fail("a text without its closing quote");
            char c = text_[at_++];
            if (c == '"') return out;
            if (c != '\\') {
                out += c;
                continue;
            }
            if (at_ >= text_.size()) fail("a text without its closing quote");
            char escaped = text_[at_++];
            if (escaped == 'n')
                out += '\n';
            else if (escaped == '"' || escaped == '\\')
                out += escaped;
            else
                fail("the unknown escape \\" + std::string(1, escaped));
        }
    }
    Size size(std::string_view stops) {
        std::string text = until(stops);
        std::string why;
        std::optional<Size> tree = try_parse_size(text, &why);
        if (!tree) fail("'" + text + "' is no size expression: " + why);
        return *tree;
    }
    int line_suffix() { return take("@") ? integer() : 0; }
    Type type() {
        Type out;
        out.dtype = name("a dtype");
        expect("[");
        if (!take("]")) {
            do {
                if (out.shape.size() == kMaxRank) fail("more than 32 axes");
                out.shape.push_back(size(",]"));
            } while (take(","));
            expect("]");
        }
        return out;
    }
    std::size_t column() const { return at_; }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
    int number_;
};

/// The value of an attribute from its text.
class AttributeReader {
  public:
    AttributeReader(const Line& line, const std::string& key, const std::string& text)
        : line_(line), key_(key), text_(text) {}

    Attribute run() const {
        const std::vector<AttributeInfo>& infos = attribute_infos();
        const auto found = std::ranges::find(infos, key_, &AttributeInfo::name);
        if (found == infos.end() || found->place != AttributeInfo::Place::braces)
            line_.fail("unknown attribute '" + key_ + "'");
        Attribute out{static_cast<AttributeName>(found - infos.begin()), found->empty};
        std::visit([this](auto& value) { read(value); }, out.value);
        return out;
    }

  private:
    const Line& line_;
    const std::string &key_, &text_;

    void read(Size& value) const { value = size(text_); }
    void read(bool& value) const {
        value = text_ == "true";
        if (!value) line_.fail("attribute " + key_ + ": '" + text_ + "' is not true");
    }
    void read(int& value) const { value = integer(text_); }
    void read(std::string& value) const { value = literal(); }
    void read(Text& value) const {
        if (text_.empty() || text_[0] != '"')
            line_.fail("attribute " + key_ + ": '" + text_ + "' is no text in quotes");
        Line line(text_, 0);
        value.text = line.quoted();
        if (!line.at_end()) line_.fail("attribute " + key_ + ": more than a text in quotes");
    }
    void read(std::vector<int>& value) const {
        for (const std::string& entry : entries())
            value.push_back(integer(entry));
    }
    void read(std::vector<IndexEntry>& value) const {
        for (const std::string& entry : entries())
            value.push_back(index_entry(entry));
    }
    template <class T> void read(T&) const {} // of passes: no text has it

    Size size(std::string_view part) const {
        std::string why;
        std::optional<Size> tree = try_parse_size(part, &why);
        if (!tree) line_.fail("attribute " + key_ + ": '" + std::string(part) + "' is no size expression: " + why);
        return *tree;
    }

    int integer(const std::string& part) const {
        const Size number = size(part);
        if (!number.is_constant() || number.constant() < INT32_MIN || number.constant() > INT32_MAX)
            line_.fail("attribute " + key_ + ": '" + part + "' is no axis");
        return static_cast<int>(number.constant());
    }

    std::string literal() const {
        if (text_.empty()) line_.fail("attribute " + key_ + ": empty");
        for (char c : text_) {
            if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '+')
                line_.fail("attribute " + key_ + ": '" + text_ + "' is no literal");
        }
        return text_;
    }

    IndexEntry index_entry(const std::string& entry) const {
        if (entry == "newaxis") return IndexEntry::newaxis();
        const std::size_t colon = entry.find(':');
        if (colon == std::string::npos) return IndexEntry::position(size(entry));
        const std::string_view view = entry;
        return IndexEntry::slice(size(view.substr(0, colon)), size(view.substr(colon + 1)));
    }

    /// "[a, min(b, c)]" -> a; min(b, c)
    std::vector<std::string> entries() const {
        if (text_.size() < 2 || text_.front() != '[' || text_.back() != ']')
            line_.fail("attribute " + key_ + ": expected a list in brackets, found '" + text_ + "'");
        Line inner(std::string_view(text_).substr(1, text_.size() - 2), 0);
        std::vector<std::string> out;
        while (!inner.at_end()) {
            try {
                out.push_back(inner.until(","));
                if (inner.take(",") && inner.at_end()) inner.fail("a trailing comma");
            } catch (const TranslateError&) {
                line_.fail("attribute " + key_ + ": '" + text_ + "' is no list");
            }
        }
        return out;
    }
};

class Reader {
  public:
    explicit Reader(std::string_view text) {
        if (text.size() > kMaxBytes) throw TranslateError("program: longer than 16 MiB.");
        int number = 0;
        while (!text.empty()) {
            std::size_t end = text.find('\n');
            std::string_view line = text.substr(0, end);
            text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
            ++number;
            if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
            if (line.find('\0') != std::string_view::npos)
                throw TranslateError("program:" + std::to_string(number) + ":1: a NUL byte.");
            std::size_t first = line.find_first_not_of(" \t");
            if (first == std::string_view::npos || line[first] == '#') continue;
            lines_.emplace_back(line, number);
        }
        last_ = number;
    }

    Program run() {
        Line& header = next("'tilewright-program 1'");
        if (!header.take("tilewright-program")) header.fail("expected 'tilewright-program 1', found " + header.found());
        if (int version = header.integer(); version != 1)
            header.fail("format version " + std::to_string(version) + "; this release reads version 1");
        header.expect_end();
        Line& function = next("'function NAME \"FILE\"'");
        function.expect("function");
        program_.function = function.name("the function's name");
        if (!function.at_end()) program_.file = function.quoted();
        function.expect_end();
        while (at_ < lines_.size() && declaration(lines_[at_]))
            ++at_;
        while (true) {
            Line& line = next("'return ...'");
            if (is_return(line)) break;
            if (is_write(line)) continue;
            if (!program_.writes.empty())
                line.fail("expected 'write' or 'return' after a write, found " + line.found());
            if (is_check(line)) continue;
            if (!program_.checks.empty())
                line.fail("expected 'check', 'write' or 'return' after a check, found " + line.found());
            program_.body.operations.push_back(operation(line, 0));
        }
        if (at_ < lines_.size()) lines_[at_].fail("something after 'return'");
        return std::move(program_);
    }

  private:
    Line& next(const char* expected) {
        if (at_ >= lines_.size())
            throw TranslateError("program:" + std::to_string(last_ + 1) + ":1: expected " + expected +
                                 ", found the end of the text.");
        return lines_[at_++];
    }

    /// A keyword and not a value that has the keyword's name ("arg: float64[] = ...").
    static bool keyword(Line& line, std::string_view word) {
        Line probe = line;
        if (!probe.take(word) || probe.peek() == ':' || probe.peek() == ',') return false;
        line = probe;
        return true;
    }

    void argue(const Line& line, const std::string& name) {
        if (!arguments_.insert(name).second) line.fail("the argument " + name + " is there already");
        program_.argument_order.push_back(name);
    }

    bool declaration(Line& line) {
        if (keyword(line, "arg")) {
            ArrayArgument argument{line.name("an argument's name"), {}};
            line.expect(":");
            argument.type = line.type();
            line.expect_end();
            argue(line, argument.name);
            program_.arrays.push_back(std::move(argument));
            return true;
        }
        if (keyword(line, "scalar")) {
            ScalarArgument argument{line.name("an argument's name"), ""};
            line.expect(":");
            argument.dtype = line.name("a dtype");
            line.expect_end();
            argue(line, argument.name);
            program_.scalars.push_back(std::move(argument));
            return true;
        }
        if (keyword(line, "guard")) {
            Size left = line.size("=!<>\"");
            const SizeOperator* comparison = nullptr;
            for (const SizeOperator& each : kSizeOperators)
                if (comparison == nullptr && is_comparison(each.op) && line.take(each.text)) comparison = &each;
            if (comparison == nullptr) line.fail("expected a comparison, found " + line.found());
            Size right = line.size("\"");
            Guard guard;
            guard.condition = Size::binary(comparison->op, left, right);
            guard.message = line.quoted();
            guard.line = line.line_suffix();
            line.expect_end();
            program_.guards.push_back(std::move(guard));
            return true;
        }
        return false;
    }

    bool is_write(Line& line) {
        if (!keyword(line, "write")) return false;
        Write write;
        write.argument = line.name("an argument's name");
        line.expect("=");
        write.value = line.value_name();
        line.expect_end();
        program_.writes.push_back(std::move(write));
        return true;
    }

    bool is_check(Line& line) {
        if (!keyword(line, "check")) return false;
        Check check;
        check.value = line.value_name();
        check.text = line.quoted();
        line.expect_end();
        program_.checks.push_back(std::move(check));
        return true;
    }

    bool is_return(Line& line) {
        if (!keyword(line, "return")) return false;
        if (line.take("(")) {
            program_.returns_tuple = true;
            while (!line.take(")")) {
                returned(line);
                if (!line.take(",")) {
                    line.expect(")");
                    break;
                }
            }
        } else if (!keyword(line, "none")) {
            returned(line);
        }
        line.expect_end();
        return true;
    }

    /// `x`, `int(x)`, or `held(x)`: what a call holds under that number.
    void returned(Line& line) {
        std::string name = line.value_name();
        std::string conversion;
        if (line.take("(")) {
            if (name != "int" && name != "float" && name != "bool" && name != "held")
                line.fail("expected int, float, bool or held before '(', found '" + name + "'");
            conversion = std::exchange(name, line.value_name());
            line.expect(")");
        }
        program_.body.yields.push_back(std::move(name));
        program_.conversions.push_back(std::move(conversion));
    }

    std::vector<std::string> yields(Line& line) {
        std::vector<std::string> out;
        if (line.at_end()) return out;
        do
            out.push_back(line.value_name());
        while (line.take(","));
        line.expect_end();
        return out;
    }

    using Parameters = std::vector<std::pair<std::string, Type>>;

    /// One more region of `owner`, behind the brace that ends `head`: up to the line that starts with '}', which is
    /// returned with the brace taken.
    Line& region(Line& head, Operation& owner, const Parameters& parameters, int outer_depth) {
        head.expect("{");
        head.expect_end();
        const int depth = outer_depth + 1;
        if (depth > kMaxRegionDepth) head.fail("regions nested deeper than 64");
        Block block{parameters, {}, {}};
        while (true) {
            Line& line = next("'}'");
            if (line.take("}")) line.fail("a region that does not end in 'yield'");
            if (!keyword(line, "yield")) {
                block.operations.push_back(operation(line, depth));
                continue;
            }
            block.yields = yields(line);
            owner.regions.push_back(std::move(block));
            Line& end = next("'}'");
            if (!end.take("}")) end.fail("expected '}' after 'yield', found " + end.found());
            return end;
        }
    }

    Parameters carries(Line& line, Operation& operation) {
        Parameters out;
        line.expect("carry");
        line.expect("(");
        if (line.take(")")) return out;
        do {
            std::string name = line.value_name();
            line.expect(":");
            Type type = line.type();
            line.expect("=");
            operation.operands.push_back(line.value_name());
            out.emplace_back(std::move(name), std::move(type));
        } while (line.take(","));
        line.expect(")");
        return out;
    }

    Operation operation(Line& line, int depth) {
        Operation out;
        out.result = line.value_name();
        line.expect(":");
        const bool is_size = line.take("size");
        out.type = is_size ? Type{"int64", {}} : line.type();
        while (line.take(",")) {
            std::string name = line.value_name();
            line.expect(":");
            out.more_results.emplace_back(std::move(name), line.type());
        }
        line.expect("=");
        const Line before = line;
        const std::string name = line.name("an operation");
        const std::optional<Op> op = find_op(name);
        if (!op) before.fail("there is no operation '" + name + "'");
        out.op = *op;
        if (is_size != (out.op == Op::read))
            line.fail(is_size ? "a size is the result of a read" : "a read gives a size");
        if (out.op == Op::for_loop) {
            out.attributes.set(attr::variable, line.name("the loop's variable"));
            line.expect("in");
            line.expect("range");
            line.expect("(");
            out.attributes.set(attr::start, line.size(","));
            line.expect(",");
            out.attributes.set(attr::stop, line.size(","));
            line.expect(",");
            out.attributes.set(attr::step, line.size(")"));
            line.expect(")");
            const Parameters carried = carries(line, out);
            return finished(out, region(line, out, carried, depth));
        }
        if (out.op == Op::while_loop) {
            const Parameters carried = carries(line, out);
            Line& middle = region(line, out, carried, depth);
            middle.expect("do");
            return finished(out, region(middle, out, carried, depth));
        }
        if (out.op == Op::if_else) {
            out.operands.push_back(line.value_name());
            Line& middle = region(line, out, {}, depth);
            middle.expect("else");
            return finished(out, region(middle, out, {}, depth));
        }
        if (!out.more_results.empty()) line.fail("only for, while and if have several results");
        line.expect("(");
        if (!line.take(")")) {
            do
                out.operands.push_back(line.value_name());
            while (line.take(","));
            line.expect(")");
        }
        if (line.take("{")) {
            do {
                std::string key = line.name("an attribute's name");
                line.expect("=");
                std::string text = line.until(",}");
                Attribute attribute = AttributeReader(line, key, text).run();
                if (out.attributes.has(attribute.name)) line.fail("attribute " + key + " given twice");
                out.attributes.set(std::move(attribute));
            } while (line.take(","));
            line.expect("}");
        }
        return finished(out, line);
    }

    static Operation finished(Operation& operation, Line& line) {
        operation.line = line.line_suffix();
        line.expect_end();
        return std::move(operation);
    }

    std::vector<Line> lines_;
    std::size_t at_ = 0;
    int last_ = 0;
    std::set<std::string> arguments_;
    Program program_;
};

} // namespace

Program read_program(std::string_view text) {
    return Reader(text).run();
}

} // namespace tilewright::translator
