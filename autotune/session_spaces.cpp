// autotune/session_spaces.cpp: what a search session starts with: spaces of each variant, and what earlier sessions
// learnt.
#include <algorithm>

#include "autotune/search/seen_points.h"
#include "autotune/search_session.h"
#include "dsl/base/digest.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::autotune {

using nlohmann::json;

std::string words_of(const Variant& variant) {
    if (variant.empty()) return "the only variant";
    return dsl::joined(variant, ", ", [](const auto& each) { return each.first + " = " + each.second; });
}

Variant variant_of(const dsl::Schedule& schedule, const Variant& defaults) {
    Variant variant = defaults;
    for (const dsl::VariantChoice& choice : schedule.variants)
        if (!choice.options.empty()) variant[choice.name] = choice.options.front();
    return variant;
}

std::vector<Variant> variant_combinations(const std::vector<VariantOptions>& variants, std::size_t most) {
    std::vector<Variant> combinations(1);
    for (const VariantOptions& variant : variants)
        if (!variant.options.empty()) combinations.front()[variant.name] = variant.options.front();
    // Each is changed further behind the last choice that it changes, so that every combination is made once.
    std::vector<std::size_t> behind = {0};
    for (std::size_t at = 0; at < combinations.size(); ++at)
        for (std::size_t v = behind[at]; v < variants.size(); ++v)
            for (std::size_t option = 1; option < variants[v].options.size(); ++option) {
                if (combinations.size() >= most) return combinations;
                Variant changed = combinations[at];
                changed[variants[v].name] = variants[v].options[option];
                combinations.push_back(std::move(changed));
                behind.push_back(v + 1);
            }
    return combinations;
}

/// Null for a variant that has no translation; the default variant's error is thrown.
const dsl::AlgorithmInfo* SearchSession::try_describe(const Variant& variant) {
    const auto found = infos_.find(variant);
    if (found != infos_.end()) return found->second ? &*found->second : nullptr;
    std::optional<dsl::AlgorithmInfo>& info = infos_[variant];
    try {
        info = bench_.describe(variant);
    } catch (const TranslateError& error) {
        if (!variants_.empty() && variant == variants_.front()) throw;
        notes_.push_back("variant " + words_of(variant) + " is left out: " + error.what());
    }
    return info ? &*info : nullptr;
}

void SearchSession::add_space(const dsl::Schedule& text, const Variant& variant) {
    const dsl::AlgorithmInfo* info = try_describe(variant);
    if (info == nullptr) return;
    dsl::Schedule of_variant = text;
    of_variant.target = machine_.isa;
    if (of_variant.function.empty()) of_variant.function = job_.function;
    // A space of one variant names every choice, so that its schedules stay right when defaults change.
    for (const auto& [name, option] : variant) {
        auto choice = std::ranges::find(of_variant.variants, name, &dsl::VariantChoice::name);
        if (choice == of_variant.variants.end()) choice = of_variant.variants.insert(choice, {name, {}, {}, {}, {}});
        choice->options = {option};
    }
    const std::string digest = dsl::digest(dsl::print_schedule(of_variant));
    spaces_.push_back(
        {words_of(variant), dsl::Space(std::move(of_variant)), make_environment(*info, machine_), digest});
}

/// Those for which `why` gives a reason, the last one first.
void SearchSession::leave_out_spaces(const std::function<std::string(const SearchSpace&)>& why) {
    for (std::size_t i = spaces_.size(); i-- > 0;) {
        const std::string reason = why(spaces_[i]);
        if (reason.empty()) continue;
        notes_.push_back("variant " + spaces_[i].label + " is left out: " + reason);
        spaces_.erase(spaces_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

namespace {

/// Whether a point is found that satisfies every condition: by drawing, or by counting through a small space.
bool has_point(const SearchSpace& space) {
    std::mt19937_64 rng(1);
    if (space.space.random_point(rng, space.environment)) return true;
    const std::vector<SearchSpace> only = {space};
    return SeenPoints(only).next_by_counting().has_value();
}

/// The conditions that leave `space` without a point: one that nothing satisfies, or all of them.
std::string contradiction_of(const SearchSpace& space) {
    const std::vector<dsl::Statement>& statements = space.space.text().statements;
    const auto is_where = [](const dsl::Statement& one) { return one.kind == dsl::Statement::Kind::where; };
    std::string all;
    for (std::size_t kept = 0; kept < statements.size(); ++kept) {
        if (!is_where(statements[kept])) continue;
        dsl::Schedule alone = space.space.text();
        alone.statements.clear();
        for (std::size_t i = 0; i < statements.size(); ++i)
            if (i == kept || !is_where(statements[i])) alone.statements.push_back(statements[i]);
        const std::string text = dsl::print_statement(statements[kept]);
        if (!has_point({space.label, dsl::Space(std::move(alone)), space.environment})) return text;
        all += (all.empty() ? "" : ", ") + text;
    }
    if (!all.empty()) return all;
    return space.space.violated(space.space.first_point(), space.environment).value_or("its conditions");
}

} // namespace

/// A space of a person in which no point satisfies the conditions is a mistake and not a search that is done.
void SearchSession::refuse_empty_spaces() {
    std::string empty;
    leave_out_spaces([&](const SearchSpace& space) {
        if (has_point(space)) return std::string();
        empty = contradiction_of(space);
        return "no point of the space satisfies " + empty;
    });
    if (spaces_.empty() && !empty.empty())
        throw ScheduleError("<space>: " + empty + ": no point of the space satisfies that.",
                            "Correct the condition, leave it out, or give the holes more values.");
}

void SearchSession::open_spaces() {
    const std::vector<VariantOptions> choices = bench_.variants();
    variants_ = variant_combinations(choices);
    try_describe(variants_.front());
    if (job_.space) {
        const dsl::Schedule given = dsl::parse_schedule(*job_.space, "<space>");
        std::vector<VariantOptions> asked;
        for (const VariantOptions& choice : choices) {
            VariantOptions one{choice.name, {choice.options.front()}};
            for (const dsl::VariantChoice& written : given.variants)
                if (written.name == choice.name) one.options = written.options;
            asked.push_back(std::move(one));
        }
        for (const dsl::VariantChoice& written : given.variants) {
            if (std::ranges::find(choices, written.name, &VariantOptions::name) != choices.end()) continue;
            const std::string names = dsl::joined(choices, ", ", [](const auto& choice) { return choice.name; });
            throw ScheduleError("<space>:" + std::to_string(written.at.line) + ": variant " + written.name +
                                    ": this program leaves no such choice open.",
                                names.empty() ? "It has none." : "It has: " + names + ".");
        }
        for (const Variant& variant : variant_combinations(asked, 24))
            add_space(given, variant);
        refuse_empty_spaces();
        return;
    }
    for (const Variant& variant : variants_) {
        const dsl::AlgorithmInfo* info = try_describe(variant);
        if (info == nullptr) continue;
        try {
            add_space(env_.rules.default_space(*info, machine_), variant);
        } catch (const ScheduleError& error) {
            notes_.push_back("no space for variant " + words_of(variant) + ": " + error.what());
        }
    }
}

void SearchSession::read_known() {
    stored_best_ = log_.read([&](const Store& store) { return store.best(job_.workload_key); });
    for (StoredTrial& stored : log_.read([&](const Store& store) { return store.trials(job_.workload_key); })) {
        Trial trial;
        try {
            trial.schedule = dsl::parse_schedule(stored.schedule, "<store>");
        } catch (const ScheduleError&) {
            continue; // an older language: it cannot be built, so it teaches nothing
        }
        trial.digest = dsl::schedule_digest(trial.schedule);
        trial.text = stored.schedule;
        trial.origin = stored.origin;
        trial.outcome = stored.outcome;
        trial.median_ns = trial.earlier_median_ns = stored.median_ns;
        trial.runs = stored.runs;
        trial.earlier = true;
        stored.digest = trial.digest;
        trials_.emplace(trial.digest, std::move(trial));
        earlier_.push_back(std::move(stored));
    }
}

/// Tells the strategy what earlier sessions measured, in this session's frame: what was measured in both joins the two.
void SearchSession::observe_known(Strategy& strategy) {
    double factor = 1;
    double fastest = 0;
    for (const auto& [digest, trial] : trials_) {
        if (trial.earlier || !trial.measured() || trial.earlier_median_ns <= 0 || trial.cost <= 0) continue;
        if (fastest != 0 && trial.cost >= fastest) continue;
        fastest = trial.cost;
        factor = trial.cost / trial.earlier_median_ns;
    }
    for (const StoredTrial& stored : earlier_) {
        Trial& trial = trials_.at(stored.digest);
        if (trial.earlier && trial.measured()) trial.cost = trial.median_ns * factor;
        if (const std::optional<Proposal> proposal = try_read_point(stored.point))
            strategy.observe(*proposal,
                             trial.measured() && trial.cost > 0 ? std::optional<double>(trial.cost) : std::nullopt);
    }
}

Trial* SearchSession::try_known(const dsl::Schedule& schedule) {
    const auto found = trials_.find(dsl::schedule_digest(for_this_target(schedule)));
    return found == trials_.end() ? nullptr : &found->second;
}

std::string SearchSession::point_text(const Proposal& proposal) const {
    return json{{"space", spaces_[proposal.space].digest}, {"point", proposal.point}}.dump();
}

std::optional<Proposal> SearchSession::try_read_point(const std::string& text) const {
    if (text.empty()) return std::nullopt;
    try {
        const json object = json::parse(text);
        const std::string digest = object.at("space");
        for (std::size_t space = 0; space < spaces_.size(); ++space)
            if (spaces_[space].digest == digest)
                return Proposal{space, object.at("point").get<dsl::Point>(), "earlier"};
    } catch (const json::exception&) {
        // Not a point of this release: the schedule is still known by its digest.
    }
    return std::nullopt;
}

} // namespace tilewright::autotune
