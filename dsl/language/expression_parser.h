// dsl/language/expression_parser.h: expressions by precedence climbing.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "dsl/language/schedule.h"
#include "dsl/language/token_stream.h"

namespace tilewright::dsl {

class ExpressionParser {
  public:
    /// Holes that are declared go to schedule.holes.
    ExpressionParser(TokenStream& tokens, Schedule& schedule) : tokens_(tokens), schedule_(schedule) {}

    void allow_holes(bool allow) { holes_ = allow; }
    /// Said only where it is needed: most expressions are right, and words cost more than reading them.
    using Words = std::function<std::string()>;
    /// Throws Problem: "expected WHAT, found ...".
    Expression read(const Words& what, const Words& hint);
    /// After a Problem.
    void recover() { brackets_ = calls_ = 0; }

  private:
    struct Measured {
        Expression expression;
        int height = 1;
    };

    Measured operation(int at_least, const Words& what, const Words& hint);
    Measured prefix(int at_least, const Words& what, const Words& hint);
    Measured atom(const Words& what, const Words& hint);
    Measured bracket(const Words& hint);
    Measured call_of(const Token& name);
    Measured symbol_of(const Token& name);
    Measured hole_of(const Token& name);
    Measured combine(Expression expression, int height, Position at);
    /// A binary operator at the current token, or nullptr.
    const SizeOperator* operator_here() const;
    void open_bracket(Position at);

    TokenStream& tokens_;
    Schedule& schedule_;
    std::map<std::string, Position> declared_;
    bool holes_ = true;
    int brackets_ = 0;
    int calls_ = 0;
};

} // namespace tilewright::dsl
