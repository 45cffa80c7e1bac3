// translator/sum_order.cpp: orders as attributes, and the cut that says which they are.
#include "translator/sum_order.h"

#include <set>
#include <vector>

#include "translator/analysis.h"
#include "translator/attributes.h"
#include "translator/loops/steps.h"
#include "translator/pipeline.h"

namespace tilewright::translator {
namespace {

constexpr const char* kMark = "reduction"; ///< which one it is, while the program is cut

bool has_order(const Operation& operation) {
    return is_reduction(operation.op) || operation.op == "matmul";
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
    std::map<std::string, SumOrder> orders_;
    bool two_ = false;

    void mark(Block& block) {
        for (Operation& operation : block.operations) {
            if (has_order(operation)) operation.attributes[kMark] = std::to_string(++marks_);
            for (Block& region : operation.regions)
                mark(region);
        }
    }

    void set(Block& block) {
        for (Operation& operation : block.operations) {
            if (has_order(operation)) {
                const auto found = orders_.find(std::to_string(++marks_));
                if (found != orders_.end()) set_order(operation, found->second);
            }
            for (Block& region : operation.regions)
                set(region);
        }
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
            if (operation.op == "matmul") {
                const StagePlan* stage = analysis.stage_of_value(operation.result);
                order.library = stage != nullptr && stage->library;
            } else {
                const ReductionShape shape = analysis.reduction_shape(operation);
                order.contiguous = shape.contiguous;
                order.joined = shape.joined;
            }
            const auto [found, first] = orders_.emplace(operation.attributes.at(kMark), order);
            two_ = two_ || !(found->second == order);
        }
    }
};

} // namespace

std::optional<SumOrder> order_of(const Operation& operation) {
    const auto found = operation.attributes.find(kOrder);
    if (found == operation.attributes.end()) return std::nullopt;
    const std::string& text = found->second;
    const auto has = [&](char letter) { return text.find(letter) != std::string::npos; };
    const std::size_t joined = text.find('j');
    return SumOrder{has('c'), joined == std::string::npos ? 1 : std::stoi(text.substr(joined + 1)), std::stoi(text),
                    has('l')};
}

/// "2cj3": two axes of trips, contiguous, the last three axes are one.
void set_order(Operation& operation, const SumOrder& order) {
    operation.attributes[kOrder] = std::to_string(order.trips) + (order.contiguous ? "c" : "") +
                                   (order.library ? "l" : "") +
                                   (order.joined == 1 ? "" : "j" + std::to_string(order.joined));
}

Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options) {
    return Orders(prepared, options).run();
}

} // namespace tilewright::translator
