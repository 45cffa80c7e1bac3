// tests/dsl/random_directives.cpp: draws directives from the live loops that the model knows.
#include "random_directives.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/check/check.h"
#include "dsl/code/run_schedule.h"
#include "dsl/language/schedule_text.h"
#include "dsl/model/schedule_model.h"

namespace tilewright::dsl::test {
namespace {

class Draw {
  public:
    Draw(const AlgorithmInfo& info, std::mt19937_64& rng, std::string target)
        : info_(info), rng_(rng), target_(std::move(target)) {}

    std::string line(const Schedule& so_far) {
        ScheduleModel model(info_, target_, false);
        run_schedule(model, so_far, nullptr);
        const std::string name = any(model.order);
        const StageModel& stage = model.stages.at(name);
        const int which = below(static_cast<int>(stage.definitions.size()));
        const DefinitionModel& definition = stage.definitions[which];
        const std::vector<std::string> loops = definition.nest.names();
        const std::string target = which == 0 ? name : name + ".update(" + std::to_string(which - 1) + ")";
        const std::string loop = loops.empty() ? "i" : any(loops);
        if (model.device && below(3) == 0) return device_line(name, target, loop, loops, so_far);
        switch (below(25)) {
        case 0:
        case 1:
            return target + ".split(" + loop + ", " + fresh() + ", " + fresh() + ", " + factor() + tail() + ")";
        case 2:
            return target + ".vectorize(" + loop + ", " + factor() + tail() + ")";
        case 3:
            return target + ".vectorize(" + loop + ")";
        case 4:
            return target + ".unroll(" + loop + ", " + factor() + tail() + ")";
        case 5:
            return target + ".unroll(" + loop + ")";
        case 6:
            return target + ".parallel(" + loop + ")";
        case 7:
            return target + ".parallel(" + loop + ", " + factor() + ")";
        case 8:
            return target + ".reorder(" + shuffled(loops) + ")";
        case 9:
            return loops.size() < 2 ? line(so_far)
                                    : target + ".fuse(" + loop + ", " + any(loops) + ", " + fresh() + ")";
        case 10:
            return target + ".rename(" + loop + ", " + fresh() + ")";
        case 11:
            return name + ".compute_root()";
        case 12:
        case 13:
        case 14:
            return name + "." + place(model) + "(" + place_loop(model, name) + ")";
        case 15:
            return target + ".partition(" + loop + ", " + any(std::vector<std::string>{"never", "auto"}) + ")";
        case 16:
            return specialization(target, loop);
        case 17:
            return which == 0 ? line(so_far) : divided_reduction(target, loop);
        case 18:
            return name + ".in() as s" + std::to_string(++fresh_);
        case 19:
            return which == 0 ? name + ".align_storage(" + axis(stage) + ", 8)" : target + ".atomic()";
        case 20:
            return name + ".bound(" + axis(stage) + ", 0, 16)";
        case 21:
        case 22:
            return target + ".prefetch_lines(" + loop + ", " + any(std::vector<std::string>{"64", "2048"}) + ")";
        case 23:
            return name + ".store_nontemporal(1)";
        default:
            return name + "." +
                   any(std::vector<std::string>{"store_root()", "hoist_storage_root()", "inline()", "store_in(heap)",
                                                "store_in(stack)", "align_bounds(" + axis(stage) + ", 8)"});
        }
    }

  private:
    const AlgorithmInfo& info_;
    std::mt19937_64& rng_;
    std::string target_;
    int fresh_ = 0;

    std::string device_line(const std::string& stage, const std::string& target, const std::string& loop,
                            const std::vector<std::string>& loops, const Schedule& so_far) {
        static const std::vector<std::string> threads = {"1", "4", "5", "8", "32"};
        switch (below(9)) {
        case 0:
            return target + ".gpu_blocks(" + loop + ")";
        case 1:
            return target + ".gpu_threads(" + loop + ")";
        case 2:
        case 6: {
            const std::string inner = fresh();
            const bool lanes = below(2) == 0;
            return target + ".split(" + loop + ", " + fresh() + ", " + inner + ", " + (lanes ? "32" : any(threads)) +
                   tail() + (lanes ? ").gpu_lanes(" : ").gpu_threads(") + inner + ")";
        }
        case 3:
            return target + ".gpu_single_thread()";
        case 4:
            return target + ".gpu_tile(" + loop + ", " + fresh() + ", " + fresh() + ", " + any(threads) + tail() + ")";
        case 5: {
            if (loops.size() < 2) return line(so_far);
            const std::string other = any(loops);
            return target + ".gpu_tile(" + loop + ", " + other + ", " + fresh() + ", " + fresh() + ", " + any(threads) +
                   ", " + any(threads) + tail() + ")";
        }
        default:
            return stage + ".store_in(" + any(std::vector<std::string>{"gpu_shared", "register", "stack", "heap"}) +
                   ")";
        }
    }

    int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
    template <class T> T any(const std::vector<T>& list) { return list[below(static_cast<int>(list.size()))]; }
    std::string fresh() { return "x" + std::to_string(++fresh_); }
    std::string factor() { return any(std::vector<std::string>{"2", "3", "4", "8", "16", "5"}); }
    std::string tail() {
        static const std::vector<std::string> tails = {"",
                                                       "",
                                                       "",
                                                       "",
                                                       "",
                                                       ", round_up",
                                                       ", guard_with_if",
                                                       ", predicate",
                                                       ", shift_inwards",
                                                       ", shift_inwards_and_blend",
                                                       ", round_up_and_blend",
                                                       ", predicate_loads",
                                                       ", predicate_stores"};
        return any(tails);
    }
    std::string axis(const StageModel& stage) { return stage.axes.empty() ? "i" : any(stage.axes); }
    std::string shuffled(std::vector<std::string> names) {
        if (names.empty()) return "i";
        std::shuffle(names.begin(), names.end(), rng_);
        names.resize(1 + below(static_cast<int>(names.size())));
        std::string text;
        for (const std::string& name : names)
            text += (text.empty() ? "" : ", ") + name;
        return text;
    }
    std::string place(const ScheduleModel&) {
        return any(std::vector<std::string>{"compute_at", "compute_at", "compute_at", "store_at", "hoist_storage"});
    }
    std::string place_loop(const ScheduleModel& model, const std::string& stage) {
        if (const auto sites = model.legal_sites(stage); sites && !sites->empty() && below(4)) {
            const Site site = any(*sites);
            return site.stage + ", " + site.loop;
        }
        return any(model.order) + ", i";
    }
    std::string divided_reduction(const std::string& target, const std::string& loop) {
        const std::string kept = fresh();
        const std::string other = fresh();
        const std::string outer = below(2) ? kept : other;
        const std::string inner = outer == kept ? other : kept;
        const std::string split = ".split(" + loop + ", " + outer + ", " + inner + ", 4)";
        return target + split + ".rfactor(" + kept + ", " + fresh() + ") as s" + std::to_string(++fresh_);
    }
    std::string specialization(const std::string& target, const std::string& loop) {
        static const std::vector<std::string> conditions = {"X.1 == 4", "X.0 >= 8", "X.0 % 8 == 0 and X.1 < 40",
                                                            "extent(i) == 16"};
        static const std::vector<std::string> blocks = {"unroll", "vectorize", "parallel", "serial"};
        const std::string verb = any(blocks);
        return target + ".specialize(" + any(conditions) + ") { " + verb + "(" + loop +
               (verb == "vectorize" || below(2) == 0 ? ", 4) }" : ") }");
    }
};

} // namespace

Schedule random_legal_schedule(const AlgorithmInfo& info, std::mt19937_64& rng, int length, const std::string& target,
                               const std::string& seed) {
    const std::string header = "tilewright-schedule 1\nschedule f for " + target + "\n";
    Draw draw(info, rng, target);
    std::string body = seed;
    Schedule legal = parse_schedule(header + body);
    for (int k = 0, tries = 0; k < length && tries < 12 * length; ++tries) {
        const std::string line = draw.line(legal);
        Schedule next;
        try {
            next = parse_schedule(header + body + line + "\n");
        } catch (const std::exception&) {
            continue; // the parser has rules of its own
        }
        if (!check(info, next).empty()) continue;
        body += line + "\n";
        legal = std::move(next);
        ++k;
    }
    return legal;
}

} // namespace tilewright::dsl::test
