// translator/program.h: a traced program: typed SSA over symbolic sizes. Text: program_text.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::translator {

/// A size expression, kept as canonical text ("X.0", "(X.0 + 1) // 2") with the symbols it reads.
struct Size {
    std::string text;
    bool is_constant = false;
    std::int64_t constant = 0;
};

struct Type {
    std::string dtype;       ///< NumPy's name: float64, int64, bool, complex64, ...
    std::vector<Size> shape; ///< empty for 0-d
};

struct Block;

/// The dtype of a `read`: its result is a symbol of sizes, and no value.
inline constexpr const char* kSizeType = "size";

struct Operation {
    std::string result; ///< "norm" (a stage) or "%3" (part of an expression)
    Type type;
    std::string op; ///< "add", "sum", "index", ...
    std::vector<std::string> operands;
    std::map<std::string, std::string> attributes;          ///< text as written: axes -> "[0, 1]"
    int line = 0;                                           ///< of the user's source
    std::vector<Block> regions;                             ///< for, while, if
    std::vector<std::pair<std::string, Type>> more_results; ///< for, while, if: the results after the first
};

struct Block {
    std::vector<std::pair<std::string, Type>> parameters;
    std::vector<Operation> operations;
    std::vector<std::string> yields;
};

struct ArrayArgument {
    std::string name;
    Type type;
};
struct ScalarArgument {
    std::string name;
    std::string dtype;
};
struct Guard {
    std::string condition;
    std::string message;
    int line = 0;
};

/// `check c "message"`: where c is not true, nothing has been written and NumPy runs the call.
struct Check {
    std::string value;
    std::string message;
    int line = 0;
};

/// `write A = B`: at the end of the call the memory of the argument A holds B.
struct Write {
    std::string argument;
    std::string value;
};

struct Program {
    std::string function;
    std::string file;
    std::vector<ArrayArgument> arrays;
    std::vector<ScalarArgument> scalars;
    std::vector<std::string> argument_order;
    std::vector<Guard> guards;
    Block body;                            ///< yields are the results
    std::vector<Check> checks;             ///< all values are there before the first
    std::vector<Write> writes;             ///< all values are there before the first write
    std::vector<std::string> result_kinds; ///< of each result: "", or int, float, bool: as a Python number
    bool returns_tuple = false;
    bool returns_none = false;
};

/// Throws TranslateError with line and column.
Program read_program(std::string_view text);
/// Canonical text: read_program(print_program(p)) == p.
std::string print_program(const Program& program);
/// A message between quotes, as programs and plans write it.
std::string quoted(const std::string& text);
/// 32 hexadecimal digits of the canonical text without file and line numbers.
std::string program_digest(const Program& program);
/// The executable specification: types, dominance, shapes, attributes. Throws InternalError.
void verify_program(const Program& program);

} // namespace tilewright::translator
