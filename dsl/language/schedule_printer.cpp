// dsl/language/schedule_printer.cpp: the canonical text of a schedule or a space, and its digest.
#include <map>
#include <utility>

#include "dsl/base/digest.h"
#include "dsl/base/spelling.h"
#include "dsl/language/expression.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

constexpr std::size_t kLineWidth = 120;
constexpr std::size_t kIndent = 4;

/// A comment that code made may hold anything: what would end the line or the text becomes a blank.
std::string one_line(const std::string& comment) {
    std::string clean;
    for (const char c : comment) {
        const auto byte = static_cast<unsigned char>(c);
        clean.push_back((byte < 0x20 && c != '\t') || byte == 0x7F ? ' ' : c);
    }
    while (!clean.empty() && clean.back() == ' ')
        clean.pop_back();
    return clean;
}

class Printer {
  public:
    Printer(const std::vector<HoleDomain>& holes, bool comments) : comments_(comments) {
        for (const HoleDomain& domain : holes)
            undeclared_.emplace(domain.name, &domain);
    }

    std::string take() { return std::move(out_); }

    void schedule(const Schedule& schedule) {
        const char* word = schedule.is_concrete() ? "schedule" : "space";
        out_ += std::string("tilewright-") + word + " 1\n";
        comment_lines(schedule.header_comments, 0);
        out_ += std::string(word) + " " + schedule.function + " for " + schedule.target;
        trailing(schedule.function_comment);
        for (const VariantChoice& choice : schedule.variants)
            variant(choice);
        for (const Statement& each : schedule.statements)
            statement(each, 0);
        comment_lines(schedule.footer_comments, 0);
    }

    void variant(const VariantChoice& choice) {
        comment_lines(choice.comments, 0);
        out_ += "variant " + choice.name + " = ";
        const std::string options = joined(choice.options);
        out_ += choice.options.size() == 1 ? options : "{" + options + "}";
        trailing(choice.trailing_comment);
    }

    /// With its comments and the end of its line.
    void statement(const Statement& statement, std::size_t indent) {
        comment_lines(statement.comments, indent);
        out_.append(indent, ' ');
        if (statement.kind == Statement::Kind::choose || statement.kind == Statement::Kind::when) {
            block_statement(statement, indent);
        } else {
            simple(statement);
            trailing(statement.trailing_comment);
        }
    }

    /// A statement on one line, whatever its length; comments are left out.
    void flat(const Statement& statement) {
        if (statement.kind != Statement::Kind::choose && statement.kind != Statement::Kind::when) {
            simple(statement);
            return;
        }
        head(statement);
        out_ += " {";
        for (std::size_t i = 0; i < statement.alternatives.size(); ++i) {
            if (i > 0) out_ += " |";
            const std::vector<Statement>& branch = statement.alternatives[i];
            for (std::size_t k = 0; k < branch.size(); ++k) {
                out_ += k > 0 ? " ; " : " ";
                flat(branch[k]);
            }
        }
        out_ += " }";
    }

    void expression(const Expression& e) {
        out_ += (undeclared_.empty() ? e : with_values(e)).text(SizeStyle::schedule);
    }

    void directive(const Directive& directive) {
        out_ += directive.verb + "(";
        for (std::size_t i = 0; i < directive.arguments.size(); ++i) {
            if (i > 0) out_ += ", ";
            const Argument& argument = directive.arguments[i];
            if (argument.kind == Argument::Kind::name) {
                out_ += argument.name;
            } else {
                expression(argument.expression);
            }
        }
        out_ += ")";
        if (!directive.has_block) return;
        out_ += " {";
        for (std::size_t i = 0; i < directive.block.size(); ++i) {
            out_ += i > 0 ? "." : " ";
            this->directive(directive.block[i]);
        }
        out_ += " }";
    }

  private:
    /// Where a hole stands first, its values stand behind its name.
    Expression with_values(const Expression& e) {
        const auto found = e.op() == Expression::Op::hole ? undeclared_.find(e.name()) : undeclared_.end();
        if (found == undeclared_.end()) {
            return e.with_operands([this](const Expression& operand) { return with_values(operand); });
        }
        const std::string values =
            joined(found->second->values, ", ", [](std::int64_t value) { return std::to_string(value); });
        declared_.push_back(undeclared_.extract(found));
        return Expression::hole(e.name() + "{" + values + "}");
    }

    void simple(const Statement& statement) {
        if (statement.kind == Statement::Kind::where) {
            head(statement);
            return;
        }
        out_ += statement.stage;
        if (statement.update >= 0) out_ += ".update(" + std::to_string(statement.update) + ")";
        for (const Directive& each : statement.chain) {
            out_ += ".";
            directive(each);
        }
        if (!statement.made_stage.empty()) out_ += " as " + statement.made_stage;
    }

    void head(const Statement& statement) {
        if (statement.kind == Statement::Kind::choose) {
            out_ += "choose";
            return;
        }
        out_ += statement.kind == Statement::Kind::when ? "when " : "where ";
        expression(statement.condition);
    }

    /// On one line where every branch is plain and the line stays short, else a line for each statement.
    void block_statement(const Statement& statement, std::size_t indent) {
        if (is_plain(statement)) {
            const std::size_t bytes_before = out_.size();
            const std::size_t declared_before = declared_.size();
            const std::size_t line_start = out_.size() - indent;
            flat(statement);
            if (out_.size() - line_start <= kLineWidth) {
                trailing(statement.trailing_comment);
                return;
            }
            out_.resize(bytes_before);
            for (; declared_.size() > declared_before; declared_.pop_back()) {
                undeclared_.insert(std::move(declared_.back()));
            }
        }
        head(statement);
        out_ += " {";
        trailing(statement.trailing_comment);
        for (std::size_t i = 0; i < statement.alternatives.size(); ++i) {
            if (i > 0) out_.append(indent, ' ').append("|\n");
            for (const Statement& inner : statement.alternatives[i])
                this->statement(inner, indent + kIndent);
        }
        out_.append(indent, ' ').append("}\n");
    }

    bool is_plain(const Statement& statement) const {
        for (const std::vector<Statement>& branch : statement.alternatives) {
            for (const Statement& inner : branch) {
                if (inner.kind != Statement::Kind::directives) return false;
                if (comments_ && !(inner.comments.empty() && inner.trailing_comment.empty())) return false;
            }
        }
        return true;
    }

    void comment_lines(const std::vector<std::string>& lines, std::size_t indent) {
        if (!comments_) return;
        for (const std::string& line : lines) {
            const std::string text = one_line(line);
            out_.append(indent, ' ').append(text.empty() ? "#" : "# ").append(text).append("\n");
        }
    }

    void trailing(const std::string& comment) {
        const std::string text = one_line(comment);
        if (comments_ && !text.empty()) out_ += "  # " + text;
        out_ += "\n";
    }

    bool comments_;
    using Domains = std::map<std::string, const HoleDomain*>;
    Domains undeclared_;
    std::vector<Domains::node_type> declared_; ///< in order, so that a line tried in vain can be taken back
    std::string out_;
};

std::string printed(const Schedule& schedule, bool comments) {
    Printer printer(schedule.holes, comments);
    printer.schedule(schedule);
    return printer.take();
}

} // namespace

std::string print_schedule(const Schedule& schedule) {
    return printed(schedule, true);
}

std::string schedule_digest(const Schedule& schedule) {
    return digest(printed(schedule, false));
}

std::string print_expression(const Expression& expression) {
    return expression.text(SizeStyle::schedule);
}

std::string print_directive(const Directive& directive) {
    Printer printer({}, false);
    printer.directive(directive);
    return printer.take();
}

std::string print_statement(const Statement& statement) {
    Printer printer({}, false);
    printer.flat(statement);
    return printer.take();
}

} // namespace tilewright::dsl
