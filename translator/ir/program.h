// translator/ir/program.h: a traced program: typed SSA over symbolic sizes. Text: program_text.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/base/size_expression.h"
#include "translator/ir/attributes.h"
#include "translator/ir/op.h"

namespace tilewright::translator {

struct Type {
    std::string dtype;       ///< NumPy's name: float64, int64, bool, complex64, ...
    std::vector<Size> shape; ///< empty for 0-d

    bool operator==(const Type&) const = default;
};

struct Block;

struct Operation {
    std::string result; ///< "norm" (a stage) or "%3" (part of an expression)
    Type type;
    Op op = Op::constant;
    std::vector<std::string> operands;
    Attributes attributes;
    int line = 0;                                           ///< of the user's source
    std::vector<Block> regions;                             ///< for, while, if
    std::vector<std::pair<std::string, Type>> more_results; ///< for, while, if: the results after the first

    bool operator==(const Operation&) const = default;
};

struct Block {
    std::vector<std::pair<std::string, Type>> parameters;
    std::vector<Operation> operations;
    std::vector<std::string> yields;

    bool operator==(const Block&) const = default;
};

struct ArrayArgument {
    std::string name;
    Type type;

    bool operator==(const ArrayArgument&) const = default;
};
struct ScalarArgument {
    std::string name;
    std::string dtype;

    bool operator==(const ScalarArgument&) const = default;
};
struct Guard {
    SizeExpression condition; ///< a comparison of two sizes
    std::string message;
    int line = 0;

    bool operator==(const Guard&) const = default;
};

/// `write A = B`: at the end of the call the memory of the argument A holds B.
struct Write {
    std::string argument;
    std::string value;

    bool operator==(const Write&) const = default;
};

/// `check V "text"`: a truth without which NumPy has to run the call; nothing was written until then.
struct Check {
    std::string value;
    std::string text;

    bool operator==(const Check&) const = default;
};

struct Program {
    std::string function;
    std::string file;
    std::vector<ArrayArgument> arrays;
    std::vector<ScalarArgument> scalars;
    std::vector<std::string> argument_order;
    std::vector<Guard> guards;
    Block body; ///< yields are the results
    std::vector<Check> checks;
    std::vector<Write> writes;            ///< all values are there before the first write
    std::vector<std::string> conversions; ///< of each result: int, float or bool, or nothing
    bool returns_tuple = false;

    bool operator==(const Program&) const = default;
};

/// Throws TranslateError with line and column.
Program read_program(std::string_view text);
/// Canonical text: read_program(print_program(p)) == p.
std::string print_program(const Program& program);
/// As programs write it: "float64[X.0, 3]".
std::string text_of(const Type& type);
/// The operands and attributes of the traced operation, without what passes have added: "sum(%3) {axes=[2]}".
std::string call_text(const Operation& operation);
/// A message between quotes, as programs and plans write it.
std::string quoted(const std::string& text);
/// 32 hexadecimal digits of the canonical text without file and line numbers.
std::string program_digest(const Program& program);
/// What a program may be made of.
enum class Dialect {
    traced,   ///< the operations and attributes of program_text.md
    rewritten ///< and those that passes make: `windows`, and the attributes OF_PASSES of ir/attributes.def
};
/// The executable specification: types, dominance, shapes, attributes. Throws InternalError.
void verify_program(const Program& program, Dialect dialect = Dialect::traced);

} // namespace tilewright::translator
