// dsl/passes/loaded_names.h: which memory a statement or an expression reads.
#pragma once

#include <set>
#include <string>

#include "Halide.h"

namespace tilewright::dsl {

/// The names of the buffers from which `node`, a Stmt or an Expr, loads.
template <class Node> std::set<std::string> loaded_names(const Node& node) {
    class Find : public Halide::Internal::IRVisitor {
      public:
        std::set<std::string> names;

      private:
        using Halide::Internal::IRVisitor::visit;
        void visit(const Halide::Internal::Load* op) override {
            names.insert(op->name);
            Halide::Internal::IRVisitor::visit(op);
        }
    } find;
    node.accept(&find);
    return find.names;
}

} // namespace tilewright::dsl
