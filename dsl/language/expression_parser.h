// dsl/language/expression_parser.h: expressions by precedence climbing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dsl/language/schedule.h"
#include "dsl/language/token_stream.h"

namespace tilewright::dsl {

class ExpressionParser {
  public:
    /// Holes that are declared go to `holes`.
    ExpressionParser(TokenStream& tokens, std::vector<HoleDomain>& holes) : tokens_(tokens), domains_(holes) {}

    void allow_holes(bool allow) { holes_ = allow; }
    /// Said only where it is needed: most expressions are right, and words cost more than reading them.
    using Words = std::function<std::string()>;
    /// Throws Problem: "expected WHAT, found ...".
    Expression read(const Words& what, const Words& hint);

  private:
    /// Operators that bind at least as tightly as `at_least`.
    Expression operation(int at_least, const Words& what, const Words& hint);
    Expression prefix(int at_least, const Words& what, const Words& hint);
    Expression atom(const Words& what, const Words& hint);
    Expression bracket(const Words& hint);
    Expression call_of(const Token& name);
    Expression symbol_of(const Token& name);
    Expression hole_of(const Token& name);
    /// A binary operator at the current token, or nullptr.
    const SizeOperator* operator_here() const;
    void open_bracket(Position at);

    TokenStream& tokens_;
    std::vector<HoleDomain>& domains_;
    bool holes_ = true;
    int brackets_ = 0;
    int calls_ = 0;
};

} // namespace tilewright::dsl
