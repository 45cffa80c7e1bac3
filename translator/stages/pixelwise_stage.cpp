// translator/stages/pixelwise_stage.cpp: the Func of a pixelwise loop.
#include "dsl/passes/markers.h"
#include "translator/ir/literal.h"
#include "translator/loops/pixelwise.h"
#include "translator/stages/kernels.h"

namespace tilewright::translator {

using Halide::Expr;

namespace {

/// The state of an element while the loop runs: one or more numbers in a Tuple.
class LoopStage {
  public:
    LoopStage(Shared& shared, Evaluator& evaluator, const StagePlan& plan)
        : shared_(shared), evaluator_(evaluator), plan_(plan), loop_(*plan.operation), draft_(shared, plan.name) {
        for (const Operation& operation : shared.program.body.operations)
            made_by_[operation.result] = &operation;
    }

    StageDraft build() {
        shape_ = shared_.analysis.value(plan_.value).type.shape;
        draft_.operation = &loop_;
        draft_.kernel = plan_.kernel;
        draft_.part = dsl::StagePart::loop;
        index_ = draft_.axes(shape_);
        define_start();
        define_iteration();
        return std::move(draft_);
    }

  private:
    const std::string& parameter(std::size_t k) const { return loop_.regions[0].parameters[k].first; }
    const Type& type(std::size_t k) const { return loop_.regions[0].parameters[k].second; }
    /// A value at the element: what has fewer axes stands at several of them. What has more, of one element each,
    /// decides a number that is carried.
    Expr at(const std::string& value) {
        const Type& type = shared_.analysis.value(value).type;
        if (type.shape.size() > shape_.size()) return evaluator_.at(value, Exprs(type.shape.size(), 0));
        return evaluator_.at(value, Evaluator::broadcast(type.shape, shape_, index_));
    }

    void define_start() {
        evaluator_.begin_definition();
        std::vector<Expr> values;
        for (std::size_t k : plan_.state) {
            narrow_.push_back(fits_32_bits(loop_, k, made_by_));
            draft_.dtypes.push_back(narrow_.back() ? "int32"
                                                   : std::string(accumulator(*find_dtype(type(k).dtype)).name));
            values.push_back(stored(at(loop_.operands[k]), narrow_.back()));
        }
        draft_.define(values, 0);
    }

    static Expr stored(const Expr& value, bool narrow) {
        if (narrow) return Halide::cast<int32_t>(value);
        return value.type().is_bool() ? Halide::cast<uint8_t>(value) : value;
    }

    void define_iteration() {
        const std::string& index = loop_.attributes.at(attr::variable);
        bool is_taken = false;
        for (std::size_t axis = 0; axis < shape_.size(); ++axis)
            is_taken = is_taken || loop_name(axis) == index;
        const std::vector<Loop> loops{{is_taken ? "t" : index, iterations_of(loop_), true, true}};
        const Halide::RDom iterations = draft_.reduce(loops);
        const std::int64_t step = step_of(loop_);
        const Expr iteration = iterations[0];
        number_ = shared_.size(start_of(loop_)) + (step == 1 ? iteration : iteration * static_cast<int>(step));
        shared_.loop_indices[index] = number_;
        evaluator_.begin_definition();
        evaluator_.give(index, Halide::cast<int64_t>(number_));
        const Exprs current = draft_.current();
        for (std::size_t j = 0; j < plan_.state.size(); ++j) {
            const std::size_t k = plan_.state[j];
            const Expr& now = current[j];
            state_[parameter(k)] = now;
            evaluator_.give(parameter(k), type(k).dtype == "bool" ? now != 0
                                          : narrow_[j]            ? Halide::cast<int64_t>(now)
                                                                  : now);
        }
        if (const auto exit = exit_condition(loop_, plan_.state)) {
            const Expr value = at(exit->value);
            const Expr alive = dsl::mark_alive(exit->alive_if ? value : !value, iteration);
            evaluator_.give(exit->value, exit->alive_if ? alive : !alive);
        }
        std::vector<Expr> values;
        for (std::size_t j = 0; j < plan_.state.size(); ++j) {
            const std::size_t k = plan_.state[j];
            const std::string& next = loop_.regions[0].yields[k];
            values.push_back(dsl::opaque_if_it_rounds(narrow_[j] ? narrow_value(next) : stored(at(next), false)));
        }
        draft_.update(iterations, loops, values, {}, evaluator_.operations());
        evaluator_.take_back_given();
        shared_.loop_indices.erase(index);
    }

    /// A value that fits_32_bits() has looked through, without leaving 32 bits.
    Expr narrow_value(const std::string& value) {
        if (const auto carried = state_.find(value); carried != state_.end()) return carried->second;
        if (value == loop_.attributes.at(attr::variable)) return number_;
        const ValueInfo& info = shared_.analysis.value(value);
        const Operation& made = *info.operation;
        if (made.op == Op::scalar_size) return number_;
        if (made.op == Op::broadcast_to) return narrow_value(made.operands[0]);
        if (made.op == Op::where) {
            return Halide::select(at(made.operands[0]), narrow_value(made.operands[1]), narrow_value(made.operands[2]));
        }
        return Halide::cast<int32_t>(literal(made.attributes.at(attr::value), made.type.dtype));
    }

    Shared& shared_;
    Evaluator& evaluator_;
    const StagePlan& plan_;
    const Operation& loop_;
    StageDraft draft_;
    std::map<std::string, const Operation*> made_by_;
    std::vector<Size> shape_;
    Exprs index_;
    std::vector<bool> narrow_;
    Expr number_; ///< the loop's index in this iteration, int32
    std::map<std::string, Expr> state_;
};

} // namespace

void build_pixelwise(Shared& shared, StageTable& table, Evaluator& evaluator, const StagePlan& plan) {
    LoopStage stage(shared, evaluator, plan);
    StageDraft draft = stage.build();
    shared.funcs[plan.name] = draft.func();
    table.finish(std::move(draft));
}

} // namespace tilewright::translator
