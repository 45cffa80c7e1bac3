// dsl/passes/whole_threads.cpp: takes the branches out of the way of a thread with several elements.
#include "dsl/passes/whole_threads.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "dsl/passes/loaded_names.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr const char* kRareBranch = "tw_rare_branch";
/// Elements, beyond which their values take the registers that hide waiting: a lane's sixteen, and what the last block
/// adds to them.
constexpr std::ptrdiff_t kMostElements = 17;
/// Elements are written down three times; beyond so many calls that costs more in compiling than it gives.
constexpr int kMostCalls = 1500;

bool is_rare_mark(const Call* call) {
    return call->call_type == Call::PureIntrinsic && call->name == kRareBranch;
}

bool is_rare_branch(const IfThenElse* op) {
    const auto* call = op->condition.as<Call>();
    return call != nullptr && is_rare_mark(call) && op->else_case.defined();
}

/// What a statement does beside computing.
class Survey : public IRVisitor {
  public:
    std::set<std::string> stored, allocated;
    bool cooperates = false; ///< threads wait for each other or hand values on: none may be sent another way
    bool loads_arguments = false;
    bool has_rare = false;
    bool uses_library = false; ///< libdevice: long code with branches of its own, in which loads do not matter
    int calls = 0;

  private:
    using IRVisitor::visit;
    void visit(const Store* op) override {
        stored.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Allocate* op) override {
        allocated.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Load* op) override {
        loads_arguments = loads_arguments || op->param.defined();
        IRVisitor::visit(op);
    }
    void visit(const Call* op) override {
        ++calls;
        uses_library = uses_library || op->name.rfind("__nv_", 0) == 0;
        cooperates =
            cooperates || op->is_intrinsic(Call::gpu_thread_barrier) || op->name.find("shfl") != std::string::npos;
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse* op) override {
        has_rare = has_rare || is_rare_branch(op);
        IRVisitor::visit(op);
    }
};

/// Whether a statement writes a variable of the thread before it reads it, whatever the data are.
class WritesFirst : public IRVisitor {
  public:
    explicit WritesFirst(std::string name) : name_(std::move(name)) {}
    bool written = false, read_before = false;

  private:
    using IRVisitor::visit;
    std::string name_;
    int branches_ = 0;
    void visit(const Store* op) override {
        IRVisitor::visit(op);
        written = written || (op->name == name_ && branches_ == 0);
    }
    void visit(const Load* op) override {
        read_before = read_before || (op->name == name_ && !written);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse* op) override {
        op->condition.accept(this);
        ++branches_;
        op->then_case.accept(this);
        if (op->else_case.defined()) op->else_case.accept(this);
        --branches_;
    }
    void visit(const For* op) override {
        ++branches_;
        IRVisitor::visit(op);
        --branches_;
    }
};

template <class Node> Survey survey(const Node& node) {
    Survey result;
    node.accept(&result);
    return result;
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
                              guarded->condition.type().is_scalar() && loaded_names(guarded->condition).empty() &&
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
class FindSize : public IRVisitor {
  public:
    Expr size;

  private:
    using IRVisitor::visit;
    void visit(const Variable* op) override {
        const bool is_place =
            op->name.find("thread_id") != std::string::npos || op->name.find("block_id") != std::string::npos;
        if (!size.defined() && op->type == Int(32) && !is_place) size = op;
    }
};

/// The fast way alone. Where it is the wrong one, `flag` is set.
class Optimist : public IRMutator {
  public:
    /// `nothing`: added to the places of arguments, undefined for none.
    Optimist(std::string flag, Expr nothing) : flag_(std::move(flag)), nothing_(std::move(nothing)) {}

    static Expr is_set(const std::string& flag) {
        return Load::make(UInt(8), flag, 0, Buffer<>(), Parameter(), const_true(), ModulusRemainder()) !=
               make_zero(UInt(8));
    }
    static Stmt set(const std::string& flag, const Expr& value) {
        return Store::make(flag, cast<std::uint8_t>(value), 0, Parameter(), const_true(), ModulusRemainder());
    }

  private:
    using IRMutator::visit;
    std::string flag_;
    Expr nothing_;

    Stmt visit(const IfThenElse* op) override {
        if (flag_.empty() || !is_rare_branch(op)) return IRMutator::visit(op);
        const Expr rare = mutate(op->condition.as<Call>()->args[0]);
        return Block::make(set(flag_, is_set(flag_) || rare), mutate(op->else_case));
    }
    Expr visit(const Load* op) override {
        if (!nothing_.defined() || !op->param.defined() || !op->index.type().is_scalar()) return IRMutator::visit(op);
        return Load::make(op->type, op->name, mutate(op->index) + nothing_, op->image, op->param, op->predicate,
                          ModulusRemainder());
    }
};

/// Takes out what frees memory that was allocated further out.
class WithoutFrees : public IRMutator {
  public:
    std::set<std::string> names;

  private:
    using IRMutator::visit;
    std::multiset<std::string> own_;
    Stmt visit(const Free* op) override {
        if (own_.count(op->name) != 0) return op;
        names.insert(op->name);
        return Evaluate::make(0);
    }
    Stmt visit(const Allocate* op) override {
        const auto name = own_.insert(op->name);
        Stmt result = IRMutator::visit(op);
        own_.erase(name);
        return result;
    }
};

class WholeThreads : public IRMutator {
    using IRMutator::visit;
    bool in_thread_ = false;
    std::set<std::string> variables_; ///< of the threads
    std::set<const IRNode*> parts_;   ///< the ends of what is too long: not even a whole of their own

    Stmt visit(const For* op) override {
        const bool is_thread = op->for_type == ForType::GPUThread || op->for_type == ForType::GPULane;
        const ScopedValue<bool> inside(in_thread_, in_thread_ || is_thread);
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
        WithoutFrees without;
        for (Stmt& element : elements)
            element = without.mutate(element);
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
            WritesFirst order(name);
            Block::make(elements).accept(&order);
            can_repeat = can_repeat && variables_.count(name) != 0 && order.written && !order.read_before;
        }
        if (guards.empty() && !can_repeat) return IRMutator::visit(op);
        Expr inside = const_true();
        for (const Expr& guard : guards)
            inside = inside && guard;
        const std::string flag = can_repeat ? unique_name("is_rare") : "";
        Stmt fast = Optimist(flag, nothing(guards)).mutate(Block::make(elements));
        if (can_repeat) {
            fast = Block::make(
                {Optimist::set(flag, 0), fast, IfThenElse::make(Optimist::is_set(flag), Block::make(elements))});
            fast = Allocate::make(flag, UInt(8), MemoryType::Stack, {1}, const_true(), fast);
        }
        Stmt result = guards.empty() ? fast : IfThenElse::make(simplify(inside), fast, without.mutate(Stmt(op)));
        for (const std::string& name : without.names)
            result = Block::make(result, Free::make(name));
        return result;
    }

    /// A zero that LLVM does not know: the square of an odd number is 1 modulo 8. Without it LLVM would move what both
    /// ways begin with in front of the branch, the whole first element, for which the loads of the others would wait.
    static Expr nothing(const std::vector<Expr>& guards) {
        FindSize find;
        for (const Expr& guard : guards)
            guard.accept(&find);
        if (!find.size.defined()) return Expr();
        const Expr odd = cast<std::uint32_t>(find.size) | make_one(UInt(32));
        return cast<std::int32_t>((odd * odd >> 2) & make_one(UInt(32)));
    }
};

class Unmark : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call* op) override { return is_rare_mark(op) ? mutate(op->args[0]) : IRMutator::visit(op); }
};

} // namespace

Expr mark_rare_branch(const Expr& condition) {
    return Call::make(condition.type(), kRareBranch, {condition}, Call::PureIntrinsic);
}

Stmt whole_threads(const Stmt& statement) {
    return Unmark().mutate(WholeThreads().mutate(statement));
}

} // namespace tilewright::dsl
