// dsl/runtime/plan_lines.h: lines and words of a plan's text, for its parser.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "dsl/base/error.h"

namespace tilewright::runtime {

/// Goes through the text line by line, and through each line word by word. What does not fit is an ExportError that
/// says where.
class PlanLines {
  public:
    explicit PlanLines(std::string_view text) : text_(text) {}

  protected:
    [[noreturn]] void fail(const std::string& why) const {
        std::string where = function_.empty() ? "plan" : "plan of " + function_;
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
    /// A whole word.
    bool take_word(std::string_view wanted) {
        std::string_view before = line_;
        if (take(wanted) && (line_.empty() || std::string_view(" \t{").find(line_[0]) != std::string_view::npos))
            return true;
        line_ = before;
        return false;
    }
    void expect_word(std::string_view wanted) {
        if (!take_word(wanted)) fail("expected '" + std::string(wanted) + "' at '" + shown(line_) + "'.");
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
        std::size_t n = line_.find_first_of(" \t(),[]{\"");
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

    std::string function_; ///< as far as it is known
    std::string_view text_;
    std::size_t at_ = 0;
    int number_ = 0;
    std::string_view line_;
};

} // namespace tilewright::runtime
