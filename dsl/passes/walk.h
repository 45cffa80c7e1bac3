// dsl/passes/walk.h: visitors and mutators of Halide's IR out of lambdas, markers, and what several passes ask of code.
#pragma once

#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Halide.h"

namespace tilewright::dsl {

/// What a lambda of visit_with() gets beside its node: inside(op) visits what `op` holds, op->x.accept(&self) a part.
struct Visitor : Halide::Internal::IRVisitor {
    using IRVisitor::visit;
    template <class Node> void inside(const Node* op) { IRVisitor::visit(op); }
};

/// The same of walks that see each node once, however many paths lead to it.
struct GraphVisitor : Halide::Internal::IRGraphVisitor {
    using IRGraphVisitor::include;
    using IRGraphVisitor::visit;
    template <class Node> void inside(const Node* op) { IRGraphVisitor::visit(op); }
};

/// What a lambda of mutate_with() gets: inside(op) is `op` with mutated parts, mutate(op->x) a part.
struct Mutator : Halide::Internal::IRMutator {
    using IRMutator::visit;
    template <class Node> auto inside(const Node* op) { return IRMutator::visit(op); }
};
/// Changes each node once, whatever shares it.
struct GraphMutator : Halide::Internal::IRGraphMutator {
    using IRGraphMutator::visit;
    template <class Node> auto inside(const Node* op) { return IRGraphMutator::visit(op); }
};

namespace walk {

template <class F> struct NodeOfMember;
template <class R, class F, class Self, class Node> struct NodeOfMember<R (F::*)(Self&, const Node*) const> {
    using type = Node;
};
template <class R, class F, class Node> struct NodeOfMember<R (F::*)(const Node*) const> { using type = Node; };
/// The node type that a lambda takes.
template <class F> using NodeOf = typename NodeOfMember<decltype(&F::operator())>::type;

template <class Base, class Node>
using Result = std::conditional_t<
    std::is_base_of_v<Halide::Internal::IRVisitor, Base>, void,
    std::conditional_t<std::is_base_of_v<Halide::Internal::BaseExprNode, Node>, Halide::Expr, Halide::Internal::Stmt>>;

/// `Base` with each lambda in the place of the visit() of its node type.
template <class Base, class... Lambdas> struct With : Base {};
template <class Base, class Lambda, class... More> struct With<Base, Lambda, More...> : With<Base, More...> {
    explicit With(Lambda lambda, More... more) : With<Base, More...>{std::move(more)...}, lambda_(std::move(lambda)) {}
    using With<Base, More...>::visit;
    Result<Base, NodeOf<Lambda>> visit(const NodeOf<Lambda>* op) override { return lambda_(*this, op); }
    Lambda lambda_;
};

} // namespace walk

/// Visits an expression or a statement; a lambda (Visitor& self, const Op* op) sees the nodes of its type and decides
/// itself whether the walk goes on inside of them. Undefined code is empty. `Self`: Visitor or GraphVisitor.
template <class Self = Visitor, class Code, class... Lambdas> void visit_with(const Code& code, Lambdas... lambdas) {
    walk::With<Self, Lambdas...> visitor{std::move(lambdas)...};
    if (code.defined()) code.accept(&visitor);
}

/// The same for mutators: a lambda (Mutator& self, const Op* op) returns what stands in the place of its node.
template <class Self = Mutator, class Code, class... Lambdas> Code mutate_with(const Code& code, Lambdas... lambdas) {
    return walk::With<Self, Lambdas...>{std::move(lambdas)...}.mutate(code);
}

/// Shows lambdas (const Op* op) all nodes of their types, outer ones first.
template <class Self = Visitor, class Code, class... Lambdas>
void for_each_node(const Code& code, const Lambdas&... see) {
    visit_with<Self>(code, [&see](Self& self, const walk::NodeOf<Lambdas>* op) {
        see(op);
        self.inside(op);
    }...);
}

/// Whether code holds a node of the type that `which` (const Op* op) takes, and for which it is true.
template <class Code, class Which> bool contains(const Code& code, const Which& which) {
    bool found = false;
    visit_with(code, [&](Visitor& self, const walk::NodeOf<Which>* op) {
        found = found || which(op);
        if (!found) self.inside(op);
    });
    return found;
}

template <class Code> bool has_load(const Code& code) {
    return contains(code, [](const Halide::Internal::Load*) { return true; });
}

/// The names of the buffers that code loads from.
template <class Code> std::set<std::string> loaded_names(const Code& code) {
    std::set<std::string> names;
    for_each_node(code, [&](const Halide::Internal::Load* op) { names.insert(op->name); });
    return names;
}

/// The variables that code reads; those bound inside are counted too.
template <class Code> std::set<std::string> variables_in(const Code& code) {
    std::set<std::string> names;
    for_each_node(code, [&](const Halide::Internal::Variable* op) { names.insert(op->name); });
    return names;
}

/// A marker for a later pass. Pure and unknown to Halide: simplification and the elimination of common expressions
/// leave it alone, vectorization widens it.
inline Halide::Expr marked(const char* marker, const Halide::Type& type, std::vector<Halide::Expr> arguments) {
    using Halide::Internal::Call;
    return Call::make(type, marker, std::move(arguments), Call::PureIntrinsic);
}
inline bool is_marker(const Halide::Internal::Call* call, const char* marker) {
    return (call->is_intrinsic() || call->call_type == Halide::Internal::Call::PureExtern) && call->name == marker;
}
/// Each of these markers becomes its first argument.
template <class Code, class... Markers> Code without_markers(const Code& code, Markers... markers) {
    return mutate_with(code, [=](Mutator& self, const Halide::Internal::Call* op) {
        return (is_marker(op, markers) || ...) ? self.mutate(op->args[0]) : self.inside(op);
    });
}

using Lets = std::vector<std::pair<std::string, Halide::Expr>>; ///< outermost first

/// `body` inside of the lets.
inline Halide::Internal::Stmt within(const Lets& lets, Halide::Internal::Stmt body) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
        body = Halide::Internal::LetStmt::make(let->first, let->second, body);
    return body;
}

/// The same for the lets that `body` reads and those that they read.
template <class Let, class Code> Code within_used(const Lets& lets, Code body) {
    std::set<std::string> used = variables_in(body);
    for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
        if (used.erase(let->first) == 0) continue;
        used.merge(variables_in(let->second));
        body = Let::make(let->first, let->second, body);
    }
    return body;
}

inline Halide::Internal::Stmt with_body(const Halide::Internal::For* loop, const Halide::Internal::Stmt& body) {
    return Halide::Internal::For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy,
                                       loop->device_api, body);
}

/// A loop of the host from `first` on.
inline Halide::Internal::Stmt host_loop(const std::string& name, const Halide::Expr& first,
                                        const Halide::Expr& iterations, const Halide::Internal::Stmt& body,
                                        Halide::Internal::ForType type = Halide::Internal::ForType::Serial) {
    return Halide::Internal::For::make(name, first, iterations, type, Halide::Partition::Never, Halide::DeviceAPI::None,
                                       body);
}

/// Whether a loop runs over the threads of a block.
inline bool is_over_threads(const Halide::Internal::For* loop) {
    using Halide::Internal::ForType;
    return loop->for_type == ForType::GPUThread || loop->for_type == ForType::GPULane;
}

/// `rewrite` (Stmt -> Stmt) of each outermost loop over the blocks of a device.
template <class Rewrite> Halide::Internal::Stmt in_blocks(const Halide::Internal::Stmt& code, const Rewrite& rewrite) {
    return mutate_with(code, [&](Mutator& self, const Halide::Internal::For* op) {
        return op->for_type == Halide::Internal::ForType::GPUBlock ? rewrite(Halide::Internal::Stmt(op))
                                                                   : self.inside(op);
    });
}

/// Of memory that is known by a name alone, and may begin anywhere.
inline Halide::Expr load_of(const std::string& name, const Halide::Type& type, const Halide::Expr& index,
                            const Halide::Expr& predicate) {
    return Halide::Internal::Load::make(type, name, index, Halide::Buffer<>(), Halide::Parameter(), predicate, {});
}
inline Halide::Internal::Stmt store_of(const std::string& name, const Halide::Expr& value, const Halide::Expr& index,
                                       const Halide::Expr& predicate) {
    return Halide::Internal::Store::make(name, value, index, Halide::Parameter(), predicate, {});
}

/// Loads and stores of memory that may begin anywhere.
inline Halide::Expr unaligned(const Halide::Internal::Load* op) {
    return Halide::Internal::Load::make(op->type, op->name, op->index, op->image, op->param, op->predicate, {});
}
inline Halide::Internal::Stmt unaligned(const Halide::Internal::Store* op) {
    return Halide::Internal::Store::make(op->name, op->value, op->index, op->param, op->predicate, {});
}

/// Makes a pipeline run `function` (Stmt -> Stmt) on its statement at the end of each lowering.
template <class F> void add_statement_pass(Halide::Pipeline& pipeline, F function) {
    class Pass : public Halide::Internal::IRMutator {
      public:
        explicit Pass(F run) : run_(std::move(run)) {}
        using IRMutator::mutate;
        Halide::Internal::Stmt mutate(const Halide::Internal::Stmt& statement) override { return run_(statement); }

      private:
        F run_;
    };
    auto* pass = new Pass(std::move(function));
    pipeline.add_custom_lowering_pass(pass, [pass] { delete pass; });
}

} // namespace tilewright::dsl
