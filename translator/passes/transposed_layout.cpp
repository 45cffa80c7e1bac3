// translator/passes/transposed_layout.cpp: which arrays are columns alone, by classes of values that share memory or
// could.
#include "translator/passes/transposed_layout.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/passes/array_classes.h"

namespace tilewright::translator {
namespace {

class Turner {
  public:
    explicit Turner(Program program) : program_(std::move(program)) {}

    Program run() {
        for (const ScalarArgument& argument : program_.scalars)
            single_.insert(argument.name);
        read(program_.body);
        classes_.refuse_ends(program_);
        const std::set<std::string> refused = classes_.refused_roots();
        for (const std::string& name : columns_)
            if (refused.count(classes_.root(name)) == 0) turned_.insert(classes_.root(name));
        if (!turned_.empty()) rewrite(program_.body);
        return std::move(program_);
    }

  private:
    Program program_;
    ArrayClasses classes_;
    std::set<std::string> columns_; ///< values whose columns are read or written
    std::set<std::string> turned_;  ///< roots
    std::set<std::string> single_;  ///< values of no dimensions
    int copies_ = 0;

    bool is_turned(const std::string& name) const { return turned_.count(classes_.root(name)) != 0; }

    void note(const std::string& array, const Operation& operation) {
        const std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        const auto is = [&](std::size_t k, IndexEntry::Kind kind) { return entries[k].kind == kind; };
        if (entries.size() != 2 || !is(1, IndexEntry::Kind::position) || is(0, IndexEntry::Kind::newaxis))
            classes_.refuse(array);
        else if (is(0, IndexEntry::Kind::slice))
            columns_.insert(array);
    }

    void read(const Block& block) {
        for (const Operation& operation : block.operations)
            read(operation);
    }

    void read(const Operation& operation) {
        const std::vector<std::string>& operands = operation.operands;
        if (operation.type.shape.empty()) single_.insert(operation.result);
        if (operation.op == Op::update) {
            classes_.continues(operation.result, operands[0]);
            note(operation.result, operation);
            for (std::size_t k = 1; k < operands.size(); ++k)
                classes_.refuse(operands[k]);
            return;
        }
        if (operation.op == Op::index) {
            note(operands[0], operation);
            classes_.refuse(operation.result);
            return;
        }
        if (operation.regions.empty()) {
            for (const std::string& operand : operands)
                classes_.refuse(operand);
            if (operation.op == Op::broadcast_to && operation.type.shape.size() == 2 && single_.count(operands[0]) != 0)
                classes_.add_fill(operation);
            classes_.refuse(operation.result);
            return;
        }
        classes_.join_regions(operation, [this](const Block& region) { read(region); });
    }

    void turn(const std::string& name, Type& type) const {
        if (is_turned(name)) std::swap(type.shape[0], type.shape[1]);
    }

    void rewrite(Block& block) {
        for (auto& [name, type] : block.parameters)
            turn(name, type);
        std::vector<Operation> out;
        for (Operation& operation : block.operations) {
            const bool reads = operation.op == Op::index && is_turned(operation.operands[0]);
            const bool writes = operation.op == Op::update && is_turned(operation.result);
            if (reads || writes) exchange_axes(operation.attributes);
            if (writes) begin(operation.operands[0], out);
            if (!operation.regions.empty() && operation.op != Op::if_else) {
                const auto& parameters = operation.regions.front().parameters;
                for (std::size_t k = 0; k < parameters.size(); ++k)
                    if (is_turned(parameters[k].first)) begin(operation.operands[k], out);
            }
            turn(operation.result, operation.type);
            for (auto& [name, type] : operation.more_results)
                turn(name, type);
            for (Block& region : operation.regions)
                rewrite(region);
            out.push_back(std::move(operation));
        }
        block.operations = std::move(out);
    }

    /// The array that a turned one starts from, where that is one value everywhere: of the turned shape.
    void begin(std::string& start, std::vector<Operation>& out) {
        const Operation* fill = classes_.fill(start);
        if (fill == nullptr) return;
        Operation copy = *fill;
        copy.result = "%turned" + std::to_string(++copies_);
        std::swap(copy.type.shape[0], copy.type.shape[1]);
        start = copy.result;
        out.push_back(std::move(copy));
    }
};

} // namespace

Program transposed_layout(const Program& program) {
    return Turner(program).run();
}

} // namespace tilewright::translator
