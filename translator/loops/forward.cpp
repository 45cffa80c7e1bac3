// translator/loops/forward.cpp: forwarding of stores to loads, block by block.
#include "translator/loops/forward.h"

#include <algorithm>
#include <map>
#include <string>

#include "translator/attributes.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

class Forwarder {
  public:
    explicit Forwarder(Program program) : program_(std::move(program)) {}

    Program run() {
        for (const ArrayArgument& argument : program_.arrays)
            types_[argument.name] = argument.type;
        for (const ScalarArgument& argument : program_.scalars)
            types_[argument.name] = Type{argument.dtype, {}};
        types(program_.body);
        rewrite(program_.body);
        for (Check& check : program_.checks)
            check.value = now(check.value);
        for (Write& write : program_.writes)
            write.value = now(write.value);
        for (bool changed = true; changed;) {
            uses_.clear();
            count(program_.body);
            for (const Check& check : program_.checks)
                ++uses_[check.value];
            for (const Write& write : program_.writes)
                ++uses_[write.value];
            changed = covered(program_.body);
            changed = prune(program_.body) || changed;
        }
        return std::move(program_);
    }

  private:
    Program program_;
    std::map<std::string, Operation> updates_;
    std::map<std::string, std::string> replaced_;
    std::map<std::string, Type> types_;
    std::map<std::string, int> uses_;

    std::string now(const std::string& name) const {
        const auto found = replaced_.find(name);
        return found == replaced_.end() ? name : found->second;
    }

    void types(const Block& block) {
        for (const auto& [name, type] : block.parameters)
            types_[name] = type;
        for (const Operation& operation : block.operations) {
            types_[operation.result] = operation.type;
            for (const auto& [name, type] : operation.more_results)
                types_[name] = type;
            for (const Block& inner : operation.regions)
                types(inner);
        }
    }

    static bool has_newaxis(const std::vector<IndexEntry>& entries) {
        return std::any_of(entries.begin(), entries.end(),
                           [](const IndexEntry& entry) { return entry.kind == IndexEntry::Kind::newaxis; });
    }

    void rewrite(Block& block) {
        for (Operation& operation : block.operations) {
            for (std::string& operand : operation.operands)
                operand = now(operand);
            for (Block& inner : operation.regions)
                rewrite(inner);
            if (operation.op == "update") updates_.emplace(operation.result, operation);
            if (operation.op == "index") forward(operation);
        }
        for (std::string& value : block.yields)
            value = now(value);
    }

    void forward(Operation& read) {
        const std::vector<IndexEntry> wanted = index_entries(read.attributes.at("index"));
        if (has_newaxis(wanted)) return;
        const auto found = updates_.find(read.operands[0]);
        if (found == updates_.end()) return;
        // Of arrays, what was written is read back: to compute it again would cost more.
        const Type& part = types_.at(found->second.operands[1]);
        if (!part.shape.empty() || !read.type.shape.empty()) return;
        const std::vector<IndexEntry> written = index_entries(found->second.attributes.at("index"));
        if (overlap(wanted, read.type.shape, written, part.shape) == Overlap::same)
            replaced_[read.result] = found->second.operands[1];
    }

    void count(const Block& block) {
        for (const Operation& operation : block.operations) {
            for (const std::string& operand : operation.operands)
                ++uses_[operand];
            for (const Block& inner : operation.regions)
                count(inner);
        }
        for (const std::string& value : block.yields)
            ++uses_[value];
    }

    /// update(update(A, x), y) of the same elements, where nobody else reads the first.
    bool covered(Block& block) {
        bool changed = false;
        for (Operation& operation : block.operations) {
            for (Block& inner : operation.regions)
                changed = covered(inner) || changed;
            if (operation.op != "update") continue;
            const auto first = updates_.find(operation.operands[0]);
            if (first == updates_.end() || uses_[operation.operands[0]] != 1) continue;
            if (overlap(index_entries(operation.attributes.at("index")), types_.at(operation.operands[1]).shape,
                        index_entries(first->second.attributes.at("index")),
                        types_.at(first->second.operands[1]).shape) != Overlap::same)
                continue;
            operation.operands[0] = first->second.operands[0];
            updates_.at(operation.result).operands[0] = operation.operands[0];
            changed = true;
        }
        return changed;
    }
    bool prune(Block& block) {
        bool changed = false;
        for (Operation& operation : block.operations)
            for (Block& inner : operation.regions)
                changed = prune(inner) || changed;
        const std::size_t before = block.operations.size();
        std::erase_if(block.operations, [&](const Operation& operation) {
            return operation.regions.empty() && operation.op != "read" && uses_.count(operation.result) == 0;
        });
        return changed || block.operations.size() != before;
    }
};

} // namespace

Program forward_stores(const Program& program) {
    return Forwarder(program).run();
}

} // namespace tilewright::translator
