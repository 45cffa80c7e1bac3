// translator/passes/transposed_layout.cpp: which arrays are columns alone, by classes of values that share memory or
// could.
#include "translator/passes/passes.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/walk.h"
#include "translator/passes/array_classes.h"

namespace tilewright::translator {
namespace {

class Turner {
  public:
    explicit Turner(const Program& program) : program_(program), values_(program), classes_(program, values_) {}

    Program run() {
        for (const auto& [array, operation] : classes_.accesses())
            note(array, *operation);
        const std::set<std::string> refused = classes_.refused_roots();
        for (const std::string& name : columns_)
            if (refused.count(classes_.root(name)) == 0) turned_.insert(classes_.root(name));
        Program out = program_;
        if (!turned_.empty())
            rewrite<Order::outer_first>(out.body,
                                        [this](Operation& operation, Place& place) { return turn(operation, place); });
        return out;
    }

  private:
    const Program& program_;
    Values values_;
    ArrayClasses classes_;
    std::set<std::string> columns_; ///< values whose columns are read or written
    std::set<std::string> turned_;  ///< roots

    bool is_turned(const std::string& name) const { return turned_.count(classes_.root(name)) != 0; }

    void note(const std::string& array, const Operation& operation) {
        const std::vector<IndexEntry>& entries = operation.attributes.at(attr::index);
        const auto is = [&](std::size_t k, IndexEntry::Kind kind) { return entries[k].kind == kind; };
        if (entries.size() != 2 || !is(1, IndexEntry::Kind::position) || is(0, IndexEntry::Kind::newaxis))
            classes_.refuse(array);
        else if (is(0, IndexEntry::Kind::slice))
            columns_.insert(array);
    }

    Fate turn(Operation& operation, Place& place) {
        const bool reads = operation.op == Op::index && is_turned(operation.operands[0]);
        const bool writes = operation.op == Op::update && is_turned(operation.result);
        if (reads || writes) exchange_axes(operation.attributes);
        Builder builder(values_, place.out, "%turned");
        classes_.change(operation, builder, [this](const std::string& name, Type& type) {
            if (!is_turned(name)) return false;
            std::swap(type.shape[0], type.shape[1]);
            return true;
        });
        return Fate::keeps;
    }
};

} // namespace

Program transposed_layout(const Program& program) {
    return Turner(program).run();
}

} // namespace tilewright::translator
