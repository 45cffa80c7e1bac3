// translator/passes/store_forwarding.cpp: forwarding of stores to loads, block by block.
#include "translator/passes/passes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

/// The reads of the program that came, and what they read.
class Forwarder {
  public:
    explicit Forwarder(const Program& program) : values_(program) {
        walk(program.body, [this](const Operation& operation) {
            if (operation.op == Op::index) forward(operation);
        });
    }
    const Renamed& replaced() const { return replaced_; }

  private:
    Values values_;
    Renamed replaced_;

    /// The value that an array was before its updates.
    std::string array_of(const std::string& value) const {
        const Operation* const made = values_.made_by(value);
        const bool same = made != nullptr && (made->op == Op::update || is_view(made->op));
        return same ? array_of(made->operands[0]) : value;
    }

    /// The arrays that an expression reads.
    void arrays_read(const std::string& value, std::set<std::string>& found, std::set<std::string>& seen) const {
        if (!seen.insert(value).second) return;
        const Operation* const made = values_.made_by(value);
        const bool memory = !values_.type(value).shape.empty() || made == nullptr;
        if (memory) {
            found.insert(array_of(value));
            return;
        }
        for (const std::string& operand : made->operands)
            arrays_read(operand, found, seen);
    }

    /// The arrays whose elements are computed from `value`.
    void arrays_written(const std::string& value, std::set<std::string>& found, std::set<std::string>& seen) const {
        for (const Operation* reader : values_.users(value)) {
            if (!seen.insert(reader->result).second) continue;
            if (reader->op == Op::update)
                found.insert(array_of(reader->result));
            else
                arrays_written(reader->result, found, seen);
        }
    }

    /// What a store's value reads, and what is computed from a read of it.
    struct Ends {
        std::set<std::string> needed, written;
        std::string own; ///< the array that is stored to
    };

    Ends ends_of(const Operation& read, const Operation& update, const std::string& stored) const {
        Ends out;
        std::set<std::string> seen;
        arrays_read(stored, out.needed, seen);
        out.written = arrays_written_from(read.result);
        out.own = array_of(update.result);
        return out;
    }

    std::set<std::string> arrays_written_from(const std::string& value) const {
        std::set<std::string> found, seen;
        arrays_written(value, found, seen);
        return found;
    }

    /// Two arrays that read each other: what would write the second one would need the first one as it was, and the
    /// other way round, so that one of them would be a copy.
    static bool crosses(const Ends& ends) {
        return ends.needed.count(ends.own) != 0 && std::ranges::any_of(ends.written, [&](const std::string& array) {
                   return array != ends.own && ends.needed.count(array) != 0;
               });
    }

    /// An array that would be needed as it was before the update and as it is behind it: some later write of it reads
    /// other elements of what the update left, and the stored value, computed once more for a later write, reads what
    /// was there before. One of the two would be a copy.
    bool needs_both(const Ends& ends, const Operation& update) const {
        if (ends.needed.count(ends.own) == 0 || ends.written.count(ends.own) == 0) return false;
        return std::ranges::any_of(values_.users(update.result), [&](const Operation* reader) {
            return reader->op == Op::index && !is_same_element(*reader, update) &&
                   arrays_written_from(reader->result).count(ends.own) != 0;
        });
    }

    bool is_same_element(const Operation& read, const Operation& update) const {
        const std::vector<IndexEntry>& wanted = read.attributes.at(attr::index);
        const bool has_newaxis = std::ranges::any_of(
            wanted, [](const IndexEntry& entry) { return entry.kind == IndexEntry::Kind::newaxis; });
        return !has_newaxis && overlap(wanted, read.type.shape, update.attributes.at(attr::index),
                                       values_.type(update.operands[1]).shape) == Overlap::same;
    }

    void forward(const Operation& read) {
        const Operation* const update = values_.made_by(read.operands[0], Op::update);
        if (update == nullptr) return;
        const auto again = replaced_.find(update->operands[1]);
        const std::string& stored = again == replaced_.end() ? update->operands[1] : again->second;
        // Of arrays, what was written is read back: to compute it again would cost more.
        if (!values_.type(stored).shape.empty() || !read.type.shape.empty() || !is_same_element(read, *update)) return;
        const Ends ends = ends_of(read, *update, stored);
        if (!crosses(ends) && !needs_both(ends, *update)) replaced_[read.result] = stored;
    }
};

/// update(update(A, x), y) of the same elements, where nobody else reads the first: update(A, y). Whether there is any.
bool cover(Program& program) {
    const Values values(program);
    bool changed = false;
    walk(program.body, [&](Operation& second) {
        if (second.op != Op::update) return;
        const Operation* const first = values.made_by(second.operands[0], Op::update);
        if (first == nullptr || values.uses(second.operands[0]) != 1) return;
        const auto region = [&](const Operation& update) {
            return std::pair(update.attributes.at(attr::index), values.type(update.operands[1]).shape);
        };
        const auto [at, shape] = region(second);
        const auto [before, old_shape] = region(*first);
        if (overlap(at, shape, before, old_shape) != Overlap::same) return;
        second.operands[0] = first->operands[0];
        changed = true;
    });
    return changed;
}

} // namespace

Program store_forwarding(const Program& program) {
    Program out = program;
    replace_all_uses(out, Forwarder(program).replaced());
    for (bool changed = true; changed;) {
        changed = cover(out);
        changed = drop_unused(out) || changed;
    }
    return out;
}

} // namespace tilewright::translator
