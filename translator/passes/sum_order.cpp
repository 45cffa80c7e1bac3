// translator/passes/sum_order.cpp: orders as attributes, and the cut that says which they are.
#include "translator/passes/sum_order.h"

#include <set>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/walk.h"
#include "translator/passes/pipeline.h"
#include "translator/plan/steps.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {
namespace {

bool has_order(const Operation& operation) {
    return is_reduction(operation.op) || operation.op == Op::matmul;
}

class Orders {
  public:
    Orders(const Prepared& prepared, const TranslateOptions& options) : prepared_(prepared), options_(options) {
        options_.variant.clear();
    }

    Prepared run() {
        Prepared trial = prepared_;
        mark(trial.program.body);
        trial = prepare_steps(std::move(trial), options_);
        visit(cut_into_steps(trial.program, options_.device).steps);
        marks_ = 0;
        if (!two_) set(prepared_.program.body);
        return std::move(prepared_);
    }

  private:
    Prepared prepared_;
    TranslateOptions options_;
    int marks_ = 0;
    std::map<int, SumOrder> orders_;
    bool two_ = false;

    void mark(Block& block) {
        walk(block, [this](Operation& operation) {
            if (has_order(operation)) operation.attributes.set(attr::reduction, ++marks_);
        });
    }

    void set(Block& block) {
        walk(block, [this](Operation& operation) {
            if (!has_order(operation)) return;
            const auto found = orders_.find(++marks_);
            if (found != orders_.end()) operation.attributes.set(attr::order, found->second);
        });
    }

    void visit(const std::vector<Step>& steps) {
        for (const Step& step : steps) {
            if (step.kind == Step::Kind::call) visit(step.segment);
            visit(step.body);
            visit(step.otherwise);
        }
    }

    void visit(const Segment& segment) {
        std::set<std::string> names;
        const Analysis analysis(segment.program, options_, {&segment.targets, &segment.moving, &names, false});
        for (const Operation& operation : segment.program.body.operations) {
            if (!has_order(operation)) continue;
            SumOrder order;
            if (operation.op == Op::matmul) {
                const StagePlan* stage = analysis.stage_of_value(operation.result);
                order.library = stage != nullptr && stage->library;
            } else {
                const ReductionShape shape = analysis.reduction_shape(operation);
                order.contiguous = shape.contiguous;
                order.joined = shape.joined;
            }
            const auto [found, first] = orders_.emplace(operation.attributes.at(attr::reduction), order);
            two_ = two_ || !(found->second == order);
        }
    }
};

} // namespace

Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options) {
    return Orders(prepared, options).run();
}

} // namespace tilewright::translator
