// dsl/passes/whole_threads.cpp: takes the branches out of the way of a thread with several elements.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr const char* kRareBranch = "tw_rare_branch";
/// Elements, beyond which their values take the registers that hide waiting: a lane's sixteen, and what the last block
/// adds to them.
constexpr std::ptrdiff_t kMostElements = 17;
/// Elements are written down three times; beyond so many calls that costs more in compiling than it gives.
constexpr int kMostCalls = 1500;

bool is_rare_branch(const IfThenElse* op) {
    const auto* call = op->condition.as<Call>();
    return call != nullptr && is_marker(call, kRareBranch) && op->else_case.defined();
}

/// What a statement does beside computing.
struct Survey {
    std::set<std::string> stored, allocated;
    bool cooperates = false; ///< threads wait for each other or hand values on: none may be sent another way
    bool loads_arguments = false;
    bool has_rare = false;
    bool uses_library = false; ///< libdevice: long code with branches, in which loads do not matter
    int calls = 0;
};

Survey survey(const Stmt& code) {
    Survey found;
    for_each_node(
        code, [&](const Store* op) { found.stored.insert(op->name); },
        [&](const Allocate* op) { found.allocated.insert(op->name); },
        [&](const Load* op) { found.loads_arguments = found.loads_arguments || op->param.defined(); },
        [&](const IfThenElse* op) { found.has_rare = found.has_rare || is_rare_branch(op); },
        [&](const Call* op) {
            ++found.calls;
            found.uses_library = found.uses_library || op->name.starts_with("__nv_");
            found.cooperates = found.cooperates || op->is_intrinsic(Call::gpu_thread_barrier) ||
                               op->name.find("shfl") != std::string::npos;
        });
    return found;
}

/// Whether a statement writes a variable of the thread before it reads it, whatever the data are.
bool writes_first(const Stmt& code, const std::string& name) {
    bool written = false, read_before = false;
    int branches = 0;
    visit_with(
        code,
        [&](Visitor& self, const Store* op) {
            self.inside(op);
            written = written || (op->name == name && branches == 0);
        },
        [&](Visitor& self, const Load* op) {
            read_before = read_before || (op->name == name && !written);
            self.inside(op);
        },
        [&](Visitor& self, const IfThenElse* op) {
            op->condition.accept(&self);
            ++branches;
            op->then_case.accept(&self);
            if (op->else_case.defined()) op->else_case.accept(&self);
            --branches;
        },
        [&](Visitor& self, const For* op) {
            ++branches;
            self.inside(op);
            --branches;
        });
    return written && !read_before;
}

/// Whether a condition asks that something is one number of many: few threads meet it.
bool asks_for_one(const Expr& condition) {
    if (const auto* both = condition.as<And>()) return asks_for_one(both->a) || asks_for_one(both->b);
    return condition.as<EQ>() != nullptr;
}

/// What one thread does, one after the other.
struct Elements {
    std::vector<Stmt> statements;
    std::vector<Expr> guards;
    std::vector<const IRNode*> blocks; ///< that they were found in

    /// Elements with the conditions of sizes around them, which Halide nests where one implies the next:
    /// `if (a) { f; if (b) { g } }`. What the last block of a sum alone has to do is no element that most threads have.
    void find(const Stmt& statement) {
        if (const auto* block = statement.as<Block>()) {
            blocks.push_back(block);
            find(block->first);
            find(block->rest);
            return;
        }
        const auto* guarded = statement.as<IfThenElse>();
        const bool is_guard = guarded != nullptr && !guarded->else_case.defined() &&
                              guarded->condition.type().is_scalar() && !has_load(guarded->condition) &&
                              !asks_for_one(guarded->condition);
        if (!is_guard) {
            statements.push_back(statement);
            return;
        }
        guards.push_back(guarded->condition);
        find(guarded->then_case);
    }
};

/// A size in a condition.
Expr size_in(const Expr& condition) {
    Expr size;
    for_each_node(condition, [&](const Variable* op) {
        const bool is_place =
            op->name.find("thread_id") != std::string::npos || op->name.find("block_id") != std::string::npos;
        if (!size.defined() && op->type == Int(32) && !is_place) size = op;
    });
    return size;
}

Expr is_set(const std::string& flag) {
    return load_of(flag, UInt(8), 0, const_true()) != make_zero(UInt(8));
}
Stmt set(const std::string& flag, const Expr& value) {
    return store_of(flag, cast<std::uint8_t>(value), 0, const_true());
}

/// The fast way alone. Where it is the wrong one, `flag` is set. `nothing`: added to the places of arguments, undefined
/// for none.
Stmt optimistic(const Stmt& code, const std::string& flag, const Expr& nothing) {
    return mutate_with(
        code,
        [&](Mutator& self, const IfThenElse* op) {
            if (flag.empty() || !is_rare_branch(op)) return self.inside(op);
            const Expr rare = self.mutate(op->condition.as<Call>()->args[0]);
            return Block::make(set(flag, is_set(flag) || rare), self.mutate(op->else_case));
        },
        [&](Mutator& self, const Load* op) {
            if (!nothing.defined() || !op->param.defined() || !op->index.type().is_scalar()) return self.inside(op);
            return Load::make(op->type, op->name, self.mutate(op->index) + nothing, op->image, op->param, op->predicate,
                              ModulusRemainder());
        });
}

/// Takes out what frees memory that was allocated further out, and adds its names to `names`.
Stmt without_frees(const Stmt& code, std::set<std::string>& names) {
    std::multiset<std::string> inside;
    return mutate_with(
        code,
        [&](Mutator&, const Free* op) {
            if (inside.count(op->name) != 0) return Stmt(op);
            names.insert(op->name);
            return Evaluate::make(0);
        },
        [&](Mutator& self, const Allocate* op) {
            const auto name = inside.insert(op->name);
            Stmt result = self.inside(op);
            inside.erase(name);
            return result;
        });
}

class WholeThreads : public IRMutator {
    using IRMutator::visit;
    bool in_thread_ = false;
    std::set<std::string> variables_; ///< of the threads
    std::set<const IRNode*> parts_;   ///< the ends of what is too long: no whole either

    Stmt visit(const For* op) override {
        const ScopedValue<bool> inside(in_thread_, in_thread_ || is_over_threads(op));
        return IRMutator::visit(op);
    }

    Stmt visit(const Allocate* op) override {
        if (in_thread_ && op->constant_allocation_size() == 1) variables_.insert(op->name);
        return IRMutator::visit(op);
    }

    Stmt visit(const Block* op) override {
        const Survey all = survey(Stmt(op));
        if (!in_thread_ || all.cooperates || all.uses_library || all.calls > kMostCalls) return IRMutator::visit(op);
        if (parts_.count(op) != 0) return IRMutator::visit(op);
        Elements found;
        found.find(op);
        std::vector<Stmt>& elements = found.statements;
        const std::vector<Expr>& guards = found.guards;
        // What the thread has allocated is freed once, behind whichever way it took.
        std::set<std::string> freed;
        for (Stmt& element : elements)
            element = without_frees(element, freed);
        const auto is_empty = [](const Stmt& element) { return is_no_op(element); };
        elements.erase(std::remove_if(elements.begin(), elements.end(), is_empty), elements.end());
        // Loads that wait for branches, and branches that wait for loads.
        const auto waiting = std::count_if(elements.begin(), elements.end(), [](const Stmt& element) {
            const Survey of_element = survey(element);
            return of_element.loads_arguments || of_element.has_rare;
        });
        if (waiting > kMostElements) parts_.insert(found.blocks.begin(), found.blocks.end());
        if (waiting < 2 || waiting > kMostElements) return IRMutator::visit(op);
        // Done again, the elements must find what they found before.
        bool can_repeat = all.has_rare;
        const std::set<std::string> loaded = loaded_names(Stmt(op));
        for (const std::string& name : all.stored) {
            if (all.allocated.count(name) != 0 || loaded.count(name) == 0) continue;
            can_repeat = can_repeat && variables_.count(name) != 0 && writes_first(Block::make(elements), name);
        }
        if (guards.empty() && !can_repeat) return IRMutator::visit(op);
        Expr inside = const_true();
        for (const Expr& guard : guards)
            inside = inside && guard;
        const std::string flag = can_repeat ? unique_name("is_rare") : "";
        Stmt fast = optimistic(Block::make(elements), flag, nothing(guards));
        if (can_repeat) {
            fast = Block::make({set(flag, 0), fast, IfThenElse::make(is_set(flag), Block::make(elements))});
            fast = Allocate::make(flag, UInt(8), MemoryType::Stack, {1}, const_true(), fast);
        }
        Stmt result = guards.empty() ? fast : IfThenElse::make(simplify(inside), fast, without_frees(Stmt(op), freed));
        for (const std::string& name : freed)
            result = Block::make(result, Free::make(name));
        return result;
    }

    /// A zero that LLVM does not know: the square of an odd number is 1 modulo 8. Without it LLVM would move what both
    /// ways begin with in front of the branch, the whole first element, for which the loads of the others would wait.
    static Expr nothing(const std::vector<Expr>& guards) {
        Expr size;
        for (const Expr& guard : guards)
            if (!size.defined()) size = size_in(guard);
        if (!size.defined()) return Expr();
        const Expr odd = cast<std::uint32_t>(size) | make_one(UInt(32));
        return cast<std::int32_t>((odd * odd >> 2) & make_one(UInt(32)));
    }
};

} // namespace

Expr mark_rare_branch(const Expr& condition) {
    return marked(kRareBranch, condition.type(), {condition});
}

Stmt whole_threads(const Stmt& statement) {
    return without_markers(WholeThreads().mutate(statement), kRareBranch);
}

} // namespace tilewright::dsl
