// translator/loops/branches.cpp: `if` regions of loops to `where`.
#include "translator/loops/branches.h"

#include <algorithm>
#include <map>
#include <utility>

#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

class Flatten {
  public:
    /// Appends the operations of a block, without its branches.
    void block(const std::vector<Operation>& operations, std::vector<Operation>* out) const {
        for (const Operation& operation : operations) {
            if (operation.op == "if")
                branch(operation, out);
            else
                out->push_back(operation);
        }
    }

  private:
    void branch(const Operation& operation, std::vector<Operation>* out) const {
        for (const Block& side : operation.regions)
            block(side.operations, out);
        std::vector<std::pair<std::string, Type>> results{{operation.result, operation.type}};
        results.insert(results.end(), operation.more_results.begin(), operation.more_results.end());
        for (std::size_t k = 0; k < results.size(); ++k) {
            Operation choice;
            choice.result = results[k].first;
            choice.type = results[k].second;
            choice.op = "where";
            choice.operands = {operation.operands[0], operation.regions[0].yields[k], operation.regions[1].yields[k]};
            choice.line = operation.line;
            out->push_back(std::move(choice));
        }
    }
};

bool has_branch(const Operation& loop) {
    const auto& operations = loop.regions[0].operations;
    return std::any_of(operations.begin(), operations.end(),
                       [](const Operation& operation) { return operation.op == "if"; });
}

} // namespace

Program branches_as_values(const Program& program) {
    Program out = program;
    for (Operation& operation : out.body.operations) {
        if (operation.op != "for" || !has_branch(operation)) continue;
        Operation flat = operation;
        flat.regions[0].operations.clear();
        Flatten().block(operation.regions[0].operations, &flat.regions[0].operations);
        if (why_not_pixelwise(flat).empty()) operation = std::move(flat);
    }
    return out;
}

} // namespace tilewright::translator
