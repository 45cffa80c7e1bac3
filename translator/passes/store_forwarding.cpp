// translator/passes/store_forwarding.cpp: forwarding of stores to loads, block by block.
#include "translator/passes/store_forwarding.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "translator/ir/attributes.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

class Forwarder {
  public:
    explicit Forwarder(Program program) : program_(std::move(program)), types_(types_of(program_)) {}

    Program run() {
        note(program_.body);
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
    std::map<std::string, Type> types_;
    std::map<std::string, Operation> updates_;
    std::map<std::string, std::string> replaced_;
    std::map<std::string, int> uses_;
    std::map<std::string, Operation> operations_;          ///< of the program as it came, without their regions
    std::map<std::string, std::set<std::string>> readers_; ///< value -> results that need it directly

    void note(const Block& block) {
        walk(block, [this](const Operation& operation) {
            for (const std::string& operand : operation.operands)
                readers_[operand].insert(operation.result);
            Operation& known = operations_[operation.result] = operation;
            known.regions.clear();
        });
    }

    /// The value that an array was before its updates.
    std::string array_of(const std::string& value) const {
        const auto found = operations_.find(value);
        const bool same = found != operations_.end() && (found->second.op == Op::update || is_view(found->second.op));
        return same ? array_of(found->second.operands[0]) : value;
    }

    /// The arrays that an expression reads.
    void arrays_read(const std::string& value, std::set<std::string>& found, std::set<std::string>& seen) const {
        if (!seen.insert(value).second) return;
        const auto operation = operations_.find(value);
        const bool memory = !types_.at(value).shape.empty() || operation == operations_.end();
        if (memory) {
            found.insert(array_of(value));
            return;
        }
        for (const std::string& operand : operation->second.operands)
            arrays_read(operand, found, seen);
    }

    /// The arrays whose elements are computed from `value`.
    void arrays_written(const std::string& value, std::set<std::string>& found, std::set<std::string>& seen) const {
        const auto readers = readers_.find(value);
        if (readers == readers_.end()) return;
        for (const std::string& reader : readers->second) {
            if (!seen.insert(reader).second) continue;
            if (operations_.at(reader).op == Op::update)
                found.insert(array_of(reader));
            else
                arrays_written(reader, found, seen);
        }
    }

    /// Two arrays that read each other: what would write the second one would need the first one as it was, and the
    /// other way round, so that one of them would be a copy.
    bool crosses(const Operation& read, const Operation& update) const {
        std::set<std::string> needed, written, seen;
        arrays_read(update.operands[1], needed, seen);
        seen.clear();
        arrays_written(read.result, written, seen);
        const std::string own = array_of(update.result);
        return needed.count(own) != 0 && std::any_of(written.begin(), written.end(), [&](const std::string& array) {
                   return array != own && needed.count(array) != 0;
               });
    }

    std::string now(const std::string& name) const {
        const auto found = replaced_.find(name);
        return found == replaced_.end() ? name : found->second;
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
            if (operation.op == Op::update) updates_.emplace(operation.result, operation);
            if (operation.op == Op::index) forward(operation);
        }
        for (std::string& value : block.yields)
            value = now(value);
    }

    void forward(Operation& read) {
        const std::vector<IndexEntry> wanted = read.attributes.at(attr::index);
        if (has_newaxis(wanted)) return;
        const auto found = updates_.find(read.operands[0]);
        if (found == updates_.end()) return;
        // Of arrays, what was written is read back: to compute it again would cost more.
        const Type& part = types_.at(found->second.operands[1]);
        if (!part.shape.empty() || !read.type.shape.empty()) return;
        const std::vector<IndexEntry> written = found->second.attributes.at(attr::index);
        if (overlap(wanted, read.type.shape, written, part.shape) == Overlap::same && !crosses(read, found->second))
            replaced_[read.result] = found->second.operands[1];
    }

    void count(const Block& block) {
        const auto use = [this](const std::string& value) { ++uses_[value]; };
        std::ranges::for_each(block.yields, use);
        walk(block, [&](const Operation& operation) {
            std::ranges::for_each(operation.operands, use);
            for (const Block& region : operation.regions)
                std::ranges::for_each(region.yields, use);
        });
    }

    /// update(update(A, x), y) of the same elements, where nobody else reads the first.
    bool covered(Block& block) {
        bool changed = false;
        for (Operation& operation : block.operations) {
            for (Block& inner : operation.regions)
                changed = covered(inner) || changed;
            if (operation.op != Op::update) continue;
            const auto first = updates_.find(operation.operands[0]);
            if (first == updates_.end() || uses_[operation.operands[0]] != 1) continue;
            if (overlap(operation.attributes.at(attr::index), types_.at(operation.operands[1]).shape,
                        first->second.attributes.at(attr::index),
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
            return operation.regions.empty() && operation.op != Op::read && uses_.count(operation.result) == 0;
        });
        return changed || block.operations.size() != before;
    }
};

} // namespace

Program store_forwarding(const Program& program) {
    return Forwarder(program).run();
}

} // namespace tilewright::translator
