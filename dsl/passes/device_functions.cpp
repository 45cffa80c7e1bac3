// dsl/passes/device_functions.cpp: lets of the host that call functions of a device become lets of its blocks.
#include "dsl/passes/device_functions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

using Lets = std::vector<std::pair<std::string, Expr>>; ///< outermost first

class Reads : public IRVisitor {
  public:
    std::set<std::string> variables;
    bool calls_device = false;

  private:
    using IRVisitor::visit;
    void visit(const Variable* op) override { variables.insert(op->name); }
    void visit(const Call* op) override {
        calls_device = calls_device || op->name.rfind("__nv_", 0) == 0 || op->name.rfind("llvm.nvvm.", 0) == 0;
        IRVisitor::visit(op);
    }
};

template <class Node> Reads reads_of(const Node& node) {
    Reads reads;
    node.accept(&reads);
    return reads;
}

/// The lets that `body` needs, and those that they need, in their order around it.
Stmt with_lets(const Lets& lets, Stmt body) {
    std::set<std::string> used = reads_of(body).variables;
    for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
        if (used.count(let->first) == 0) continue;
        used.merge(reads_of(let->second).variables);
        body = LetStmt::make(let->first, let->second, body);
    }
    return body;
}

bool has_blocks(const Stmt& statement) {
    class Find : public IRVisitor {
      public:
        bool found = false;

      private:
        using IRVisitor::visit;
        void visit(const For* op) override {
            found = found || op->for_type == ForType::GPUBlock;
            IRVisitor::visit(op);
        }
    } find;
    statement.accept(&find);
    return find.found;
}

class MoveIn : public IRMutator {
    using IRMutator::visit;
    Lets lets_; ///< that are moved

    bool is_devices(const Expr& value) const {
        const Reads reads = reads_of(value);
        if (reads.calls_device) return true;
        return std::any_of(lets_.begin(), lets_.end(),
                           [&](const auto& let) { return reads.variables.count(let.first) != 0; });
    }

    Stmt visit(const LetStmt* op) override {
        if (!is_devices(op->value)) return IRMutator::visit(op);
        lets_.emplace_back(op->name, op->value);
        Stmt body = mutate(op->body);
        lets_.pop_back();
        return body;
    }

    Stmt visit(const For* op) override {
        if (op->for_type != ForType::GPUBlock || has_blocks(op->body)) return IRMutator::visit(op);
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api,
                         with_lets(lets_, op->body));
    }
};

} // namespace

Stmt device_functions_in_blocks(const Stmt& statement) {
    return MoveIn().mutate(statement);
}

} // namespace tilewright::dsl
