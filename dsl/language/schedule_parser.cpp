// dsl/language/schedule_parser.cpp: tokens to a schedule, by recursive descent of limited depth.
#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/base/targets.h"
#include "dsl/language/directive_arguments.h"
#include "dsl/language/directive_signature.h"
#include "dsl/language/expression_parser.h"
#include "dsl/language/schedule_lexer.h"
#include "dsl/language/schedule_rules.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/token_stream.h"

namespace tilewright::dsl {
namespace {

constexpr std::uint64_t kMaxUpdates = 1 << 16;
constexpr std::size_t kMaxArguments = 64;

const std::vector<std::string>& targets() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all = host_targets();
        all.insert(all.end(), {"host", "cuda"});
        std::ranges::move(cuda_targets(), std::back_inserter(all));
        return all;
    }();
    return names;
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text), tokens_(text), expressions_(tokens_, schedule_.holes) {}

    Schedule run() {
        first_line();
        function_line();
        std::vector<std::string> comments = variants();
        schedule_.statements = statements(std::move(comments), schedule_.footer_comments);
        if (!tokens_.at_end()) tokens_.expected("a statement", "");
        return std::move(schedule_);
    }

  private:
    void first_line() {
        std::string_view line = text_.substr(0, std::min(text_.find('\n'), text_.size()));
        line = line.substr(0, line.find('#'));
        while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
            line.remove_suffix(1);
        }
        const bool space = line == "tilewright-space 1";
        if (!space && line != "tilewright-schedule 1") {
            const std::string found = line.empty() ? "nothing" : quoted(line);
            const bool other_version =
                line.rfind("tilewright-schedule ", 0) == 0 || line.rfind("tilewright-space ", 0) == 0;
            fail({1, 1}, "expected 'tilewright-schedule 1' or 'tilewright-space 1' on the first line, found " + found,
                 other_version ? "This tilewright reads version 1." : "");
        }
        expressions_.allow_holes(space);
        is_space_ = space;
        while (tokens_.kind() != Token::Kind::newline && !tokens_.at_end()) {
            if (tokens_.kind() == Token::Kind::comment) schedule_.header_comments.emplace_back(tokens_.peek().text);
            tokens_.next();
        }
    }

    /// schedule NAME for TARGET
    void function_line() {
        while (tokens_.kind() == Token::Kind::newline || tokens_.kind() == Token::Kind::comment) {
            if (tokens_.kind() == Token::Kind::comment) schedule_.header_comments.emplace_back(tokens_.peek().text);
            tokens_.next();
        }
        const std::string word = is_space_ ? "space" : "schedule";
        const std::string usage = "The second line is: " + word + " FUNCTION for TARGET.";
        if (!tokens_.is_word(word)) tokens_.expected("'" + word + "'", usage);
        tokens_.next();
        schedule_.function = function_name(usage);
        if (!tokens_.is_word("for")) tokens_.expected("'for' and a target", usage);
        tokens_.next();
        schedule_.target = target();
        schedule_.function_comment = end_of_line();
    }

    /// Tokens up to the next blank, as one text.
    std::string_view unbroken() {
        const std::size_t start = tokens_.peek().offset;
        std::size_t end = start;
        while (tokens_.is_printable() && tokens_.peek().offset == end)
            end = tokens_.next().end_offset;
        return text_.substr(start, end - start);
    }

    std::string function_name(const std::string& usage) {
        if (tokens_.kind() != Token::Kind::word && !tokens_.is_mark("<")) tokens_.expected("a function name", usage);
        const Position at = tokens_.peek().at;
        const std::string_view name = unbroken();
        // Qualified names and what Python calls an unnamed function: KMeans.fit, f.<locals>.g, <lambda>.
        std::string plain(name);
        std::erase_if(plain, [](char c) { return c == '.' || c == '<' || c == '>'; });
        if (!is_name(plain)) fail(at, "expected a function name, found " + quoted(name), usage);
        return std::string(name);
    }

    std::string target() {
        const std::string list = joined(targets());
        if (!tokens_.is_printable()) tokens_.expected("a target after 'for'", "Targets: " + list + ".");
        const Position at = tokens_.peek().at;
        const std::string_view name = unbroken();
        if (std::find(targets().begin(), targets().end(), name) == targets().end()) {
            const auto near = near_name(name, targets());
            fail(at, "expected a target after 'for', found " + quoted(name),
                 (near ? "Is '" + *near + "' meant? " : "") + "Targets: " + list + ".");
        }
        return std::string(name);
    }

    /// The comment at the end of the line, if any; anything else there is an error.
    std::string end_of_line() {
        std::string comment;
        if (tokens_.kind() == Token::Kind::comment) comment = tokens_.next().text;
        if (tokens_.kind() != Token::Kind::newline && !tokens_.at_end()) tokens_.expected("the end of the line", "");
        return comment;
    }

    /// variant NAME = OPTION, variant NAME = {OPTION, ...}. Returns the comments that belong to what follows.
    std::vector<std::string> variants() {
        std::vector<std::string> comments;
        for (;;) {
            if (tokens_.kind() == Token::Kind::newline) {
                tokens_.next();
            } else if (tokens_.kind() == Token::Kind::comment) {
                comments.emplace_back(tokens_.next().text);
            } else if (is_keyword("variant")) {
                schedule_.variants.push_back(variant(std::exchange(comments, {})));
            } else {
                return comments;
            }
        }
    }

    VariantChoice variant(std::vector<std::string> comments) {
        VariantChoice choice;
        choice.comments = std::move(comments);
        tokens_.next();
        choice.at = tokens_.peek().at;
        choice.name = tokens_.name("a variant's name after 'variant'", "Write variant name = option.");
        tokens_.expect_mark("=", "after 'variant " + choice.name + "'", "Write variant " + choice.name + " = option.");
        if (!tokens_.is_mark("{")) {
            choice.options.push_back(option());
        } else {
            const Position at = tokens_.peek().at;
            tokens_.open();
            do {
                choice.options.push_back(option());
            } while (tokens_.skip_mark(","));
            if (!tokens_.is_mark("}"))
                tokens_.expected("',' or '}' after the option '" + choice.options.back() + "'", "");
            tokens_.close();
            if (!is_space_ && choice.options.size() != 1) {
                fail(at, "variant " + choice.name + " is left open, but this is a schedule",
                     "Choose one option, or write 'tilewright-space 1' on the first line.");
            }
        }
        move_into(tokens_.take_loose_comments(), choice.comments);
        choice.trailing_comment = end_of_line();
        return choice;
    }

    std::string option() {
        const bool number = tokens_.kind() == Token::Kind::number;
        if (!number && tokens_.kind() != Token::Kind::word) tokens_.expected("an option (a name or a number)", "");
        return std::string(tokens_.next().text);
    }

    /// A word that starts a statement; stages may be called where or choose, as NumPy's functions are.
    bool is_keyword(std::string_view word) const { return tokens_.is_word(word) && !tokens_.next_is_mark("."); }

    static void move_into(std::vector<std::string> from, std::vector<std::string>& to) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    }

    /// Up to the end of the text or of the branch. Comments with no statement after them go to `leftover`.
    std::vector<Statement> statements(std::vector<std::string> comments, std::vector<std::string>& leftover) {
        std::vector<Statement> list;
        for (;;) {
            if (tokens_.at_end() || (block_depth_ > 0 && (tokens_.is_mark("|") || tokens_.is_mark("}")))) break;
            if (tokens_.kind() == Token::Kind::newline || tokens_.is_mark(";")) {
                tokens_.next();
            } else if (tokens_.kind() == Token::Kind::comment) {
                comment(list, comments);
            } else {
                list.push_back(statement(std::exchange(comments, {})));
            }
        }
        move_into(std::move(comments), leftover);
        return list;
    }

    void comment(std::vector<Statement>& list, std::vector<std::string>& comments) {
        const bool trailing = !list.empty() && comments.empty() && tokens_.follows_statement();
        const std::string text(tokens_.next().text);
        if (!trailing) {
            comments.push_back(text);
        } else if (list.back().trailing_comment.empty()) {
            list.back().trailing_comment = text;
        } else {
            list.back().comments.push_back(text);
        }
    }

    Statement statement(std::vector<std::string> comments) {
        Statement result;
        result.comments = std::move(comments);
        result.at = tokens_.peek().at;
        if (is_keyword("choose")) {
            choose(result);
        } else if (is_keyword("when")) {
            when(result);
        } else if (is_keyword("where")) {
            where(result);
        } else if (is_keyword("variant")) {
            fail(result.at, "'variant' after the first statement", "Write all variants above the first statement.");
        } else {
            directives(result);
        }
        move_into(tokens_.take_loose_comments(), result.comments);
        const bool ended = tokens_.at_end() || tokens_.kind() == Token::Kind::newline ||
                           tokens_.kind() == Token::Kind::comment || tokens_.is_mark(";") ||
                           (block_depth_ > 0 && (tokens_.is_mark("|") || tokens_.is_mark("}")));
        if (!ended) tokens_.expected("the end of the statement", "Write one statement a line, or ';' between them.");
        return result;
    }

    void needs_space(const std::string& word, Position at) {
        if (!is_space_) {
            fail(at, "'" + word + "' in a schedule, which leaves nothing open",
                 "Write 'tilewright-space 1' on the first line and 'space' for 'schedule' on the second.");
        }
    }

    void choose(Statement& result) {
        result.kind = Statement::Kind::choose;
        needs_space("choose", result.at);
        tokens_.next();
        block(result, "choose", "Write choose { a | b }.");
        while (tokens_.is_mark("|")) {
            tokens_.next();
            branch(result);
        }
        close_block("'|' or '}' after a branch of 'choose'");
    }

    void when(Statement& result) {
        result.kind = Statement::Kind::when;
        needs_space("when", result.at);
        tokens_.next();
        result.condition = expressions_.read([] { return "a condition after 'when'"; },
                                             [] { return "Write when variant == option { statements }."; });
        block(result, "when " + print_expression(result.condition), "Write when variant == option { statements }.");
        if (tokens_.is_mark("|")) {
            fail(tokens_.peek().at, "'|' inside 'when'", "Branches belong to choose { a | b }.");
        }
        close_block("'}' after the body of 'when'");
    }

    void block(Statement& result, const std::string& after, const std::string& usage) {
        const Token& open = tokens_.peek();
        tokens_.expect_mark("{", "after " + quoted(after), usage);
        if (++block_depth_ > kMaxScheduleDepth) {
            fail(open.at, "blocks nested deeper than " + std::to_string(kMaxScheduleDepth) + " levels",
                 "Write it flatter.");
        }
        if (tokens_.kind() == Token::Kind::comment) result.trailing_comment = tokens_.next().text;
        branch(result);
    }

    void branch(Statement& result) {
        // Comments at the end of a branch have no statement after them: they go before the whole block.
        result.alternatives.push_back(statements({}, result.comments));
    }

    void close_block(const std::string& what) {
        if (!tokens_.is_mark("}")) tokens_.expected(what, "");
        tokens_.next();
        --block_depth_;
    }

    void where(Statement& result) {
        result.kind = Statement::Kind::where;
        needs_space("where", result.at);
        tokens_.next();
        result.condition = expressions_.read([] { return "a condition after 'where'"; },
                                             [] { return "Write where ?tile % ?lanes == 0."; });
    }

    void directives(Statement& result) {
        static const std::vector<std::string> keywords = {"choose", "variant", "when", "where"};
        const Token first = tokens_.peek();
        result.stage = tokens_.name("a statement", "A statement is stage.directive(...).");
        if (!tokens_.is_mark(".")) {
            const auto near = near_name(result.stage, keywords);
            tokens_.expected("'.' after " + quoted(first.text),
                             (near ? "Is '" + *near + "' meant? " : "") + "A statement is stage.directive(...).");
        }
        tokens_.next();
        if (tokens_.is_word("update")) {
            update(result);
            if (!tokens_.is_mark(".") && !tokens_.continues_chain()) {
                tokens_.expected("'.' and a directive after " +
                                     quoted(result.stage + ".update(" + std::to_string(result.update) + ")"),
                                 "update(k) chooses a definition: write what to do with it.");
            }
            tokens_.next();
        }
        for (;;) {
            result.chain.push_back(directive(result, 0));
            if (!result.made_stage.empty()) return;
            if (!tokens_.is_mark(".") && !tokens_.continues_chain()) return;
            tokens_.next();
        }
    }

    void update(Statement& result) {
        const Position at = tokens_.next().at;
        tokens_.expect_mark("(", "after 'update'", "Write update(0).");
        result.update = 0;
        if (tokens_.kind() == Token::Kind::number) {
            if (tokens_.peek().value >= kMaxUpdates)
                fail(at, "update " + quoted(tokens_.peek().text) + " is too large", "");
            result.update = static_cast<int>(tokens_.next().value);
        }
        if (!tokens_.is_mark(")"))
            tokens_.expected("the number of an update and ')' after 'update('", "Write update(0).");
        tokens_.next();
    }

    Directive directive(Statement& statement, int depth) {
        Directive result;
        result.at = tokens_.peek().at;
        result.verb = verb(statement, depth);
        const auto usage = [&] { return "Write " + short_usage(result.verb) + "."; };
        if (!tokens_.is_mark("(")) tokens_.expected("'(' after " + quoted(result.verb), usage());
        tokens_.open();
        std::vector<Expression> arguments;
        const auto argument = [&] { return expected_argument(result.verb, arguments); };
        while (!tokens_.is_mark(")")) {
            if (arguments.size() >= kMaxArguments) {
                fail(tokens_.peek().at,
                     quoted(result.verb) + " with more than " + std::to_string(kMaxArguments) + " arguments", usage());
            }
            arguments.push_back(expressions_.read(argument, usage));
            if (tokens_.is_mark(")")) break;
            if (!tokens_.is_mark(",")) {
                tokens_.expected("',' or ')' after " + quoted(written(result.verb, arguments)), usage());
            }
            tokens_.next();
            if (tokens_.is_mark(")")) tokens_.expected(argument(), usage());
        }
        const Token& close = tokens_.close();
        // A pointer: g++ 13 takes a reference for one into the arguments.
        const DirectiveSignature* const signature = &match_arguments(result, std::move(arguments), close.at);
        if (tokens_.is_mark("{")) directive_block(result, *signature, statement, depth);
        made_stage(statement, result, *signature, depth);
        return result;
    }

    std::string verb(const Statement& statement, int depth) {
        const Token token = tokens_.peek();
        const auto where = [&] {
            return depth > 0 ? " in the block of 'specialize'" : " after " + quoted(statement.stage + ".");
        };
        if (token.kind != Token::Kind::word) tokens_.expected("a directive" + where(), "");
        std::string word(token.text);
        const auto& verbs = directive_verbs();
        if (std::find(verbs.begin(), verbs.end(), word) == verbs.end()) {
            std::string hint = "The directives are listed in dsl/schedule_text.md.";
            if (word == "update") {
                hint = "update(k) stands once, right after the stage.";
            } else if (const std::string_view alias = verb_alias(word); !alias.empty()) {
                hint = "Write " + short_usage(std::string(alias)) + ".";
            } else if (const auto near = near_name(word, verbs)) {
                hint = "Is '" + *near + "' meant?";
            }
            tokens_.expected("a directive" + where(), hint);
        }
        tokens_.next();
        return word;
    }

    /// specialize(condition) { directives }: chains, on one line or several.
    void directive_block(Directive& result, const DirectiveSignature& signature, Statement& statement, int depth) {
        const Position at = tokens_.peek().at;
        if (!signature.has_block)
            fail(at, "a block after " + quoted(result.verb), "Only specialize(condition) has one.");
        if (depth >= kMaxScheduleDepth) {
            fail(at, "blocks nested deeper than " + std::to_string(kMaxScheduleDepth) + " levels", "Write it flatter.");
        }
        tokens_.open();
        result.has_block = true;
        while (!tokens_.is_mark("}")) {
            result.block.push_back(directive(statement, depth + 1));
            if (tokens_.skip_mark(".") || tokens_.skip_mark(";")) continue;
            if (!tokens_.is_mark("}") && !tokens_.on_new_line()) {
                tokens_.expected("'.' or '}' after a directive in the block of 'specialize'", "");
            }
        }
        tokens_.close();
    }

    void made_stage(Statement& statement, const Directive& directive, const DirectiveSignature& signature, int depth) {
        const Token token = tokens_.peek();
        const bool as = tokens_.is_word("as");
        if (!signature.makes_stage) {
            if (as) fail(token.at, "'as' after " + quoted(directive.verb), "Only rfactor and in make a stage.");
            return;
        }
        if (depth > 0) {
            fail(directive.at, quoted(directive.verb) + " in the block of 'specialize'",
                 "It makes a stage, which exists whatever the condition: write it as a separate statement.");
        }
        if (!as) {
            tokens_.expected("'as' and a name after " + quoted(print_directive(directive)),
                             "It makes a stage: write " + short_usage(directive.verb) + ".");
        }
        tokens_.next();
        statement.made_stage = tokens_.name("a name for the new stage after 'as'", "");
        if (tokens_.is_mark(".") || tokens_.continues_chain()) {
            fail(tokens_.peek().at, "a directive after 'as " + statement.made_stage + "'",
                 "Schedule the new stage in a separate statement: " + statement.made_stage + ".compute_root().");
        }
    }

    std::string_view text_;
    Schedule schedule_;
    TokenStream tokens_;
    ExpressionParser expressions_;
    int block_depth_ = 0;
    bool is_space_ = false;
};

} // namespace

Schedule parse_schedule(std::string_view text, const std::string& file) {
    Violation problem;
    try {
        Schedule schedule = Parser(text).run();
        const std::vector<Violation> problems = check_space(schedule, true);
        if (problems.empty()) return schedule;
        problem = problems.front();
    } catch (const Problem& found) {
        problem = found.violation;
    }
    const std::string hint = std::exchange(problem.hint, "");
    throw ScheduleError(problem.text(file), hint);
}

} // namespace tilewright::dsl
