// dsl/runtime/executor_compile.cpp: the steps of a version as a flat array of instructions with jumps, every name
// resolved.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <set>

#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/executor.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Where a temporary's memory is needed: from the first to the last of the statements of its block that use it. A
/// loop or a branch in that block is one statement, so what lives across iterations is there before the first of them.
struct Life {
    std::size_t first = kNowhere, last = kNowhere;
    /// It is of the outermost block and is not swapped, which would carry its memory beyond its last use.
    bool may_borrow = false;
    bool until_the_end = false; ///< it holds what an argument was
    std::size_t lender =
        kNowhere; ///< the result, used behind the last use of the temporary, in whose memory it may lie
};

std::vector<Life> lives_of(const Plan& plan, const PlanVersionBody& body) {
    std::vector<Life> lives(body.temporaries.size());
    struct Declared {
        std::size_t temporary, depth;
    };
    std::map<std::string, Declared> known; // names are declared anew only where their old block has ended
    std::map<std::string, std::size_t> results;
    for (const PlanBuffer& result : plan.results)
        results.emplace(result.name, kNowhere); // the first statement that uses it
    std::vector<std::size_t> path;              // the statements that a step lies in, and the step, by their numbers
    std::size_t number = 0;
    const std::function<void(const std::vector<PlanStep>&)> visit = [&](const std::vector<PlanStep>& steps) {
        for (const PlanStep& s : steps) {
            path.push_back(number++);
            if (s.kind == PlanStep::Kind::temporary) {
                const PlanBuffer& b = body.temporaries[s.temporary];
                const bool is_new = known.insert_or_assign(b.name, Declared{s.temporary, path.size() - 1}).second;
                lives[s.temporary].may_borrow = is_new && path.size() == 1 && !b.shape.empty();
            }
            for (const SizeExpression& a : s.arguments) {
                if (a.op() != SizeExpression::Op::symbol) continue;
                const std::string name = array_of(a.name());
                if (const auto result = results.find(name); result != results.end())
                    result->second = std::min(result->second, path.front());
                const auto found = known.find(name);
                if (found == known.end()) continue;
                auto [temporary, depth] = found->second;
                Life& life = lives[temporary];
                life.last = path[std::min(depth, path.size() - 1)];
                life.first = std::min(life.first, life.last);
                life.until_the_end = life.until_the_end || s.kind == PlanStep::Kind::save;
                life.may_borrow = life.may_borrow && s.kind != PlanStep::Kind::swap && !life.until_the_end;
            }
            visit(s.body);
            visit(s.otherwise);
            path.pop_back();
        }
    };
    visit(body.steps);
    for (std::size_t r = 0; r < plan.results.size(); ++r) {
        if (plan.results[r].shape.empty()) continue;
        // One temporary for each: that with the most axes, the first of several.
        std::size_t best = kNowhere;
        for (std::size_t t = 0; t < lives.size(); ++t)
            if (lives[t].may_borrow && lives[t].first != kNowhere && lives[t].lender == kNowhere &&
                lives[t].last < results[plan.results[r].name] &&
                (best == kNowhere || body.temporaries[t].shape.size() > body.temporaries[best].shape.size()))
                best = t;
        if (best != kNowhere) lives[best].lender = r;
    }
    return lives;
}

} // namespace

class Executable::VersionCompiler {
  public:
    VersionCompiler(Executable& executable, std::size_t index, const std::map<std::string, std::string_view>& objects)
        : executable_(executable), plan_(executable.plan_), body_(plan_.versions[index]), objects_(objects) {
        v_.index = index;
    }

    /// False where this machine cannot run it.
    bool requirements() {
        for (const PlanRequirement& r : body_.requirements) {
            if (r.kind == PlanRequirement::Kind::isa) {
                v_.capability = std::max(v_.capability, cuda_capability(r.name));
                if (isa_rank(r.name) > machine_isa_rank()) return false;
                continue;
            }
            bool layout = r.kind != PlanRequirement::Kind::condition;
            v_.requirements.push_back(
                {r.kind, layout ? argument_named(r.name) : -1, layout ? CompiledSize() : compile(r.condition)});
        }
        return true;
    }

    Version steps() {
        for (std::size_t i = 0; i < plan_.arguments.size(); ++i) {
            const PlanArgument& a = plan_.arguments[i];
            if (a.is_array) add_buffer(a.name, Buffer::From::argument, i, static_cast<std::size_t>(a.rank), a.dtype);
        }
        for (std::size_t i = 0; i < plan_.results.size(); ++i)
            add_buffer(plan_.results[i].name, Buffer::From::result, i, plan_.results[i].shape.size(),
                       plan_.results[i].dtype);
        v_.temporaries.resize(body_.temporaries.size());
        buffer_of_temporary_.resize(body_.temporaries.size(), -1);
        lives_ = lives_of(plan_, body_);
        for (std::size_t t = 0; t < lives_.size(); ++t) {
            if (lives_[t].first == kNowhere) continue;
            begins_.emplace(lives_[t].first, t);
            if (!lives_[t].until_the_end) ends_.emplace(lives_[t].last, t);
        }
        block(body_.steps);
        emit(Instruction::Op::end);
        v_.looks_at_data = std::any_of(v_.code.begin(), v_.code.end(), [&](const Instruction& i) {
            const bool decides = i.op == Op::check || i.op == Op::jump_if || i.op == Op::jump_unless;
            return i.op == Op::read ||
                   (decides && v_.conditions[static_cast<std::size_t>(i.a)].kind == Operand::Kind::buffer);
        });
        return std::move(v_);
    }

    int symbols() const { return symbols_; }

  private:
    using Op = Instruction::Op;

    /// That is open.
    struct Loop {
        int begin;                           ///< its first instruction
        int range = -1;                      ///< of a for
        std::vector<int> to_end{};           ///< jumps to patch
        std::vector<std::size_t> declared{}; ///< inside, at any depth
    };

    int argument_named(const std::string& name) const {
        for (std::size_t i = 0; i < plan_.arguments.size(); ++i)
            if (plan_.arguments[i].name == name) return static_cast<int>(i);
        return -1;
    }
    CompiledSize compile(const SizeExpression& e) const {
        return CompiledSize::compile(e, [this](const std::string& name) {
            auto found = local_.find(name);
            if (found == local_.end()) return executable_.slot(name);
            used_.insert(found->second);
            return found->second;
        });
    }
    bool moves(const SizeExpression& e) const {
        return (e.op() == SizeExpression::Op::symbol && local_.count(e.name())) ||
               std::ranges::any_of(e.operands(), [this](const SizeExpression& o) { return moves(o); });
    }
    int new_symbol(const std::string& name) { return local_[name] = executable_.symbols_ + symbols_++; }

    int add_buffer(const std::string& name, Buffer::From from, std::size_t i, std::size_t rank, DType dtype) {
        int buffer = static_cast<int>(v_.buffers.size());
        const DTypeInfo& type = info(dtype);
        const auto log_bytes = static_cast<std::uint8_t>(std::countr_zero(static_cast<unsigned>(type.bytes)));
        v_.buffers.push_back(
            {from, static_cast<int>(i), static_cast<int>(rank), dtype, type.halide_code, type.halide_bits, log_bytes});
        v_.dimensions += rank;
        if (!name.empty()) buffer_of_[name] = buffer;
        return buffer;
    }
    /// -1 where it names no array.
    int buffer(const SizeExpression& e) {
        if (e.op() != SizeExpression::Op::symbol) return -1;
        auto [name, half] = complex_half(e.name());
        auto found = buffer_of_.find(name);
        if (found == buffer_of_.end() || half < 0) return found == buffer_of_.end() ? -1 : found->second;
        auto whole = static_cast<std::size_t>(found->second);
        if (v_.buffers[whole].halves[half] < 0) {
            int made = add_buffer("", Buffer::From::half, whole, static_cast<std::size_t>(v_.buffers[whole].rank),
                                  info(v_.buffers[whole].dtype).part);
            v_.buffers[whole].halves[half] = made;
            v_.has_halves = true;
        }
        return v_.buffers[whole].halves[half];
    }
    int emit(Op op, int a = 0, int b = 0, int target = 0) {
        v_.code.push_back({op, a, b, target});
        return static_cast<int>(v_.code.size()) - 1;
    }
    int here() const { return static_cast<int>(v_.code.size()); }
    void patch(int jump) { v_.code[static_cast<std::size_t>(jump)].target = here(); }

    void block(const std::vector<PlanStep>& steps) {
        const auto emit_for = [&](Op op, const std::multimap<std::size_t, std::size_t>& of, std::size_t at) {
            for (auto [it, end] = of.equal_range(at); it != end; ++it)
                emit(op, buffer_of_temporary_[it->second]);
        };
        for (const PlanStep& s : steps) {
            const std::size_t at = number_++;
            emit_for(Op::acquire, begins_, at);
            step(s);
            emit_for(Op::release, ends_, at);
        }
    }
    void step(const PlanStep& s) {
        switch (s.kind) {
        case PlanStep::Kind::call:
            return call(s);
        case PlanStep::Kind::matmul:
            return product(s);
        case PlanStep::Kind::stage:
            return host_stage(s);
        case PlanStep::Kind::copy:
        case PlanStep::Kind::save:
        case PlanStep::Kind::swap:
            emit(s.kind == PlanStep::Kind::copy   ? Op::copy
                 : s.kind == PlanStep::Kind::save ? Op::save
                                                  : Op::swap,
                 buffer(s.arguments[0]), buffer(s.arguments[1]));
            return;
        case PlanStep::Kind::read:
            emit(Op::read, buffer(s.arguments[0]), new_symbol(s.symbol),
                 failure("the size " + s.symbol + ", which the call reads, does not fit 32 bits"));
            return;
        case PlanStep::Kind::check:
            emit(Op::check, condition(s.arguments[0]), 0, failure(s.message));
            return;
        case PlanStep::Kind::temporary:
            return temporary(s.temporary);
        case PlanStep::Kind::for_range: {
            Range range{compile(s.arguments[0]), compile(s.arguments[1]), compile(s.arguments[2]), 0};
            range.symbol = new_symbol(s.symbol); // the bounds do not see it
            int index = static_cast<int>(v_.ranges.size());
            v_.ranges.push_back(std::move(range));
            int first = emit(Op::first_iteration, index);
            return loop(s, {here(), index, {first}});
        }
        case PlanStep::Kind::loop:
            return loop(s, {here()});
        case PlanStep::Kind::leave:
            return leave(emit(Op::jump));
        case PlanStep::Kind::leave_if:
            return leave(emit(Op::jump_if, condition(s.arguments[0])));
        case PlanStep::Kind::leave_unless:
            return leave(emit(Op::jump_unless, condition(s.arguments[0])));
        case PlanStep::Kind::branch:
            return branch(s);
        }
    }
    /// `B^021` as a buffer and where its dimensions are; gives its rank.
    int ordered(const SizeExpression& argument, int& array, std::int8_t* dimensions) {
        const auto [name, axes] = ordered_axes(argument.name());
        array = buffer(SizeExpression::symbol(name));
        const int own = v_.buffers[static_cast<std::size_t>(array)].rank;
        const int rank = axes.empty() ? own : static_cast<int>(axes.size());
        // Both count from the last axis, as buffers do.
        for (int d = 0; d < rank; ++d) {
            const char axis = axes.empty() ? ' ' : axes[static_cast<std::size_t>(rank - 1 - d)];
            dimensions[d] = static_cast<std::int8_t>(axis == ' ' ? d : axis == 'n' ? -1 : own - 1 - (axis - '0'));
        }
        return rank;
    }
    void host_stage(const PlanStep& s) {
        if (v_.capability > 0)
            throw ExportError("plan of " + plan_.function + ": the stage " + s.message + " in a version for a device.",
                              "Python computes it, of arrays of the host.");
        std::vector<std::string>& known = executable_.stages_;
        const auto found = std::ranges::find(known, s.message);
        HostStage made{static_cast<int>(found - known.begin()), {}, {}, {}};
        if (found == known.end()) known.push_back(s.message);
        for (const SizeExpression& argument : s.arguments) {
            made.arrays.emplace_back();
            made.dimensions.emplace_back();
            made.ranks.push_back(ordered(argument, made.arrays.back(), made.dimensions.back().data()));
        }
        emit(Op::stage, static_cast<int>(v_.host_stages.size()), 0,
             failure(s.message + " raised, or gave an array of another kind"));
        v_.host_stages.push_back(std::move(made));
    }
    void product(const PlanStep& s) {
        Product made;
        for (int k = 0; k < 3; ++k)
            made.ranks[k] = ordered(s.arguments[static_cast<std::size_t>(k)], made.arrays[k], made.dimensions[k]);
        const DType dtype = v_.buffers[static_cast<std::size_t>(made.arrays[0])].dtype;
        emit(Op::matmul, static_cast<int>(v_.products.size()));
        v_.products.push_back(made);
        if (v_.capability > 0 && dtype < DType::float32)
            throw ExportError("plan of " + plan_.function + ": library matmul of " + std::string(info(dtype).name) +
                                  " in a version for a device: cuBLAS has none.",
                              "Use a version whose loops compute the product.");
    }
    void temporary(std::size_t t) {
        const PlanBuffer& b = body_.temporaries[t];
        buffer_of_temporary_[t] = add_buffer(b.name, Buffer::From::temporary, t, b.shape.size(), b.dtype);
        if (lives_[t].lender != kNowhere)
            v_.buffers[static_cast<std::size_t>(buffer_of_temporary_[t])].lender =
                buffer_of_.at(plan_.results[lives_[t].lender].name);
        for (const SizeExpression& e : b.shape)
            v_.temporaries[t].push_back(compile(e));
        for (Loop& loop : loops_)
            loop.declared.push_back(t);
    }
    void call(const PlanStep& s) {
        Call c{};
        c.operand = static_cast<int>(v_.operands.size());
        c.size = static_cast<int>(v_.sizes.size());
        for (bool moving : {false, true}) {
            if (moving) c.moving_size = static_cast<int>(v_.sizes.size());
            for (std::size_t i = 0; i < s.arguments.size(); ++i) {
                const SizeExpression& a = s.arguments[i];
                if (!moving) v_.operands.push_back(array_or_scalar(a));
                if (v_.operands[static_cast<std::size_t>(c.operand) + i].kind != Operand::Kind::size ||
                    moves(a) != moving)
                    continue;
                v_.operands[static_cast<std::size_t>(c.operand) + i].index = static_cast<int>(v_.sizes.size());
                v_.sizes.push_back(compile(a));
            }
        }
        c.sizes_end = static_cast<int>(v_.sizes.size());
        c.kernel = kernel(s);
        emit(Op::call, static_cast<int>(v_.calls.size()));
        v_.calls.push_back(c);
    }
    /// A size where it is neither.
    Operand array_or_scalar(const SizeExpression& a) {
        if (int b = buffer(a); b >= 0) return {Operand::Kind::buffer, b};
        if (a.op() == SizeExpression::Op::symbol) {
            auto [name, half] = complex_half(a.name());
            int argument = argument_named(name);
            if (argument >= 0) {
                DType dtype = plan_.arguments[static_cast<std::size_t>(argument)].dtype;
                return {Operand::Kind::scalar, argument, half == 1 ? info(info(dtype).part).bytes : 0};
            }
        }
        return {Operand::Kind::size, 0};
    }
    int (*kernel(const PlanStep& s))(void**) {
        std::shared_ptr<const LoadedObject>& object = executable_.objects_[s.object];
        if (!object) {
            auto bytes = objects_.find(s.object);
            if (bytes == objects_.end())
                throw ExportError("plan of " + plan_.function + ": it calls " + s.object + ".o, which is not here.",
                                  "The module is incomplete; export it again.");
            object = LoadedObject::load(bytes->second, s.object);
        }
        auto found = reinterpret_cast<int (*)(void**)>(object->find(s.symbol + "_argv"));
        if (!found)
            throw ExportError(s.object + ".o: it does not define " + s.symbol + "_argv.",
                              "The file is damaged or not ours; export or tune again.");
        return found;
    }
    int failure(std::string text) {
        v_.failures.push_back(std::move(text));
        return static_cast<int>(v_.failures.size()) - 1;
    }
    int condition(const SizeExpression& c) {
        Operand operand = array_or_scalar(c);
        // An integer scalar is a size; a truth is no size.
        if (operand.kind == Operand::Kind::scalar &&
            plan_.arguments[static_cast<std::size_t>(operand.index)].dtype != DType::boolean)
            operand.kind = Operand::Kind::size;
        bool is_size = operand.kind == Operand::Kind::size;
        v_.conditions.push_back({operand.kind, operand.index, is_size ? compile(c) : CompiledSize()});
        return static_cast<int>(v_.conditions.size()) - 1;
    }
    void leave(int jump) { loops_.back().to_end.push_back(jump); }
    void branch(const PlanStep& s) {
        const int jump = emit(Op::jump_unless, condition(s.arguments[0]));
        block(s.body);
        if (s.otherwise.empty()) return patch(jump);
        const int end = emit(Op::jump);
        patch(jump);
        block(s.otherwise);
        patch(end);
    }
    void loop(const PlanStep& s, Loop opened) {
        loops_.push_back(std::move(opened));
        block(s.body);
        const Loop loop = std::move(loops_.back());
        loops_.pop_back();
        const bool counts = s.kind == PlanStep::Kind::for_range;
        if (counts) look_for_equal_iterations(loop);
        emit(counts ? Op::next_iteration : Op::again, counts ? loop.range : 0, 0, loop.begin);
        for (int jump : loop.to_end)
            patch(jump);
        // An iteration that was left half way has not come by where its temporaries end.
        if (loop.to_end.size() > (counts ? 1u : 0u))
            for (std::size_t t : loop.declared)
                emit(Op::release, buffer_of_temporary_[t]);
    }

    /// Iterations of kernels, copies and swaps alone, which the loop's index does not change.
    void look_for_equal_iterations(const Loop& loop) {
        Range& range = v_.ranges[static_cast<std::size_t>(loop.range)];
        if (v_.capability == 0 || used_.count(range.symbol)) return;
        std::map<int, int> place;      // buffer -> whose memory it has behind an iteration
        std::set<int> of_an_iteration; // temporaries: they have other memory in each
        int launches = 0;
        for (int at = loop.begin; at < here(); ++at) {
            const Instruction& i = v_.code[static_cast<std::size_t>(at)];
            if (i.op == Op::call || i.op == Op::copy)
                ++launches;
            else if (i.op == Op::swap)
                std::swap(place.try_emplace(i.a, i.a).first->second, place.try_emplace(i.b, i.b).first->second);
            else if (i.op == Op::acquire)
                of_an_iteration.insert(i.a);
            else if (i.op != Op::release)
                return;
        }
        for (const auto& [buffer, ignored] : place)
            if (of_an_iteration.count(buffer)) return;
        int period = 1;
        for (const auto& [buffer, ignored] : place) {
            int length = 1;
            for (int next = place[buffer]; next != buffer; next = place[next])
                ++length;
            period = std::lcm(period, length);
            if (period > 12) return;
        }
        range.period = launches > 0 ? period : 0;
        range.launches = launches;
    }

    Executable& executable_;
    const Plan& plan_;
    const PlanVersionBody& body_;
    const std::map<std::string, std::string_view>& objects_;
    Version v_;
    std::map<std::string, int> buffer_of_, local_;
    mutable std::set<int> used_; ///< symbols that steps define, and that some size reads
    std::vector<int> buffer_of_temporary_;
    std::vector<Life> lives_;                               ///< of temporaries
    std::multimap<std::size_t, std::size_t> begins_, ends_; ///< lives of temporaries: number of a step -> temporary
    std::size_t number_ = 0;                                ///< of the next step, in the order of the text
    std::vector<Loop> loops_;
    int symbols_ = 0;
};

int Executable::compile_version(std::size_t index, const std::map<std::string, std::string_view>& objects) {
    VersionCompiler compiler(*this, index, objects);
    if (!compiler.requirements()) return 0;
    versions_.push_back(compiler.steps());
    return compiler.symbols();
}

} // namespace tilewright::runtime
