// dsl/check/check.cpp: a schedule against an algorithm, on the model alone.
#include "dsl/check/check.h"

#include "dsl/code/run_schedule.h"

namespace tilewright::dsl {

std::vector<Violation> check(const AlgorithmInfo& algorithm, const Schedule& schedule) {
    ScheduleModel model(algorithm, schedule.target, false);
    for (const VariantChoice& choice : schedule.variants) {
        const auto have = algorithm.variant.find(choice.name);
        if (choice.options.size() == 1 && have != algorithm.variant.end() && have->second != choice.options[0]) {
            model.refuse(choice.at, "", "variant",
                         "variant " + choice.name + " = " + choice.options[0] + ": this translation has " +
                             choice.name + " = " + have->second + ".",
                         "Translate with that option.");
        }
    }
    run_schedule(model, schedule, nullptr);
    return std::move(model.violations);
}

} // namespace tilewright::dsl
