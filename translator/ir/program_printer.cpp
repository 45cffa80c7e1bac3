// translator/ir/program_printer.cpp: Program -> canonical text and its digest.
#include "dsl/base/digest.h"
#include "dsl/base/spelling.h"
#include "translator/ir/program.h"

namespace tilewright::translator {
namespace {

/// "t in range(0, n, 1)"
std::string loop_text(const Operation& loop) {
    const Attributes& attributes = loop.attributes;
    return attributes.at(attr::variable) + " in range(" + attributes.at(attr::start).text() + ", " +
           attributes.at(attr::stop).text() + ", " + attributes.at(attr::step).text() + ")";
}

/// "(%3) {axes=[2]}"; `traced`: without what passes have added.
std::string operands_text(const Operation& operation, bool traced) {
    std::string attributes;
    for (const Attribute& attribute : operation.attributes) {
        const AttributeInfo& known = attribute_infos()[static_cast<std::size_t>(attribute.name)];
        if (traced && known.place == AttributeInfo::Place::passes) continue;
        attributes += std::string(attributes.empty() ? " {" : ", ") + known.name + "=" + value_text(attribute);
    }
    return "(" + dsl::joined(operation.operands) + ")" + (attributes.empty() ? "" : attributes + "}");
}

class Printer {
  public:
    explicit Printer(bool with_places) : with_places_(with_places) {}

    std::string run(const Program& program) {
        out_ = "tilewright-program 1\nfunction " + program.function;
        if (with_places_ && !program.file.empty()) out_ += " " + quoted(program.file);
        out_ += "\n";
        for (const std::string& name : program.argument_order) {
            for (const ArrayArgument& argument : program.arrays) {
                if (argument.name == name) out_ += "arg " + name + ": " + text_of(argument.type) + "\n";
            }
            for (const ScalarArgument& argument : program.scalars) {
                if (argument.name == name) out_ += "scalar " + name + ": " + argument.dtype + "\n";
            }
        }
        for (const Guard& guard : program.guards)
            out_ += "guard " + guard.condition.text() + " " + quoted(guard.message) + place(guard.line) + "\n";
        for (const Operation& operation : program.body.operations)
            print_operation(operation, "");
        for (const Check& check : program.checks)
            out_ += "check " + check.value + " " + quoted(check.text) + "\n";
        for (const Write& write : program.writes)
            out_ += "write " + write.argument + " = " + write.value + "\n";
        std::vector<std::string> results = program.body.yields;
        for (std::size_t k = 0; k < results.size(); ++k)
            if (!program.conversions[k].empty()) results[k] = program.conversions[k] + "(" + results[k] + ")";
        if (program.returns_tuple)
            out_ += "return (" + dsl::joined(results) + (results.size() == 1 ? ",)\n" : ")\n");
        else
            out_ += "return " + (results.empty() ? "none" : dsl::joined(results)) + "\n";
        return std::move(out_);
    }

  private:
    std::string place(int line) const { return with_places_ && line > 0 ? " @" + std::to_string(line) : ""; }

    void print_block(const Block& block, const std::string& indent) {
        for (const Operation& operation : block.operations)
            print_operation(operation, indent + "  ");
        out_ += indent + "  yield" + (block.yields.empty() ? "" : " ") + dsl::joined(block.yields) + "\n";
    }

    std::string carries(const Operation& operation) const {
        std::string out = "carry (";
        const auto& parameters = operation.regions[0].parameters;
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            out += (k > 0 ? ", " : "") + parameters[k].first + ": " + text_of(parameters[k].second) + " = " +
                   operation.operands[k];
        }
        return out + ")";
    }

    void print_operation(const Operation& operation, const std::string& indent) {
        out_ += indent + operation.result + ": " + (operation.op == Op::read ? "size" : text_of(operation.type));
        for (const auto& [name, type] : operation.more_results)
            out_ += ", " + name + ": " + text_of(type);
        out_ += " = " + text_of(operation.op);
        if (operation.op == Op::for_loop) {
            out_ += " " + loop_text(operation) + " " + carries(operation) + " {\n";
            print_block(operation.regions[0], indent);
        } else if (operation.op == Op::while_loop) {
            out_ += " " + carries(operation) + " {\n";
            print_block(operation.regions[0], indent);
            out_ += indent + "} do {\n";
            print_block(operation.regions[1], indent);
        } else if (operation.op == Op::if_else) {
            out_ += " " + operation.operands[0] + " {\n";
            print_block(operation.regions[0], indent);
            out_ += indent + "} else {\n";
            print_block(operation.regions[1], indent);
        } else {
            out_ += operands_text(operation, false) + place(operation.line) + "\n";
            return;
        }
        out_ += indent + "}" + place(operation.line) + "\n";
    }

    bool with_places_;
    std::string out_;
};

} // namespace

std::string text_of(const Type& type) {
    return type.dtype + "[" + dsl::joined(type.shape, ", ", [](const Size& extent) { return extent.text(); }) + "]";
}

std::string call_text(const Operation& operation) {
    return text_of(operation.op) +
           (operation.op == Op::for_loop ? " " + loop_text(operation) : operands_text(operation, true));
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string print_program(const Program& program) {
    return Printer(true).run(program);
}

std::string program_digest(const Program& program) {
    return dsl::digest(Printer(false).run(program));
}

} // namespace tilewright::translator
