// dsl/runtime/plan_print.cpp: the one writer of the text of plans (plan_text.md).
#include <algorithm>
#include <utility>

#include "dsl/base/spelling.h"
#include "dsl/runtime/plan.h"

namespace tilewright::runtime {
namespace {

std::string quote(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out + "\"";
}

using dsl::joined;

std::string text_of(const SizeExpression& size) {
    return size.text();
}

std::string print_buffer(const PlanBuffer& b) {
    return b.name + " " + std::string(info(b.dtype).name) + " [" + joined(b.shape, ", ", text_of) + "]";
}

std::string print_step(const PlanStep& s, const PlanVersionBody& v) {
    std::string out;
    auto argument = s.arguments.begin();
    for (const char* c = form(s.kind).text; *c != '\0'; ++c)
        out += *c == '$'   ? s.symbol
               : *c == '@' ? quote(s.object)
               : *c == '?' ? text_of(*argument++)
               : *c == '*' ? joined(s.arguments, ", ", text_of)
               : *c == '!' ? quote(s.message)
               : *c == '#' ? print_buffer(v.temporaries[s.temporary])
                           : std::string(1, *c);
    return out;
}

void print_steps(const std::vector<PlanStep>& steps, const PlanVersionBody& v, const std::string& indent,
                 std::string& out) {
    for (const PlanStep& s : steps) {
        out += indent + print_step(s, v) + (form(s.kind).opens_block ? " {\n" : "\n");
        if (!form(s.kind).opens_block) continue;
        print_steps(s.body, v, indent + "  ", out);
        if (!s.otherwise.empty()) out += indent + "} else {\n";
        print_steps(s.otherwise, v, indent + "  ", out);
        out += indent + "}\n";
    }
}

} // namespace

std::string print_header(const Plan& plan) {
    std::string out = "tilewright-plan 1\nfunction " + plan.function + "\n";
    for (const PlanArgument& a : plan.arguments) {
        out += (a.is_array ? "arg " : "scalar ") + a.name + " " + std::string(info(a.dtype).name);
        out += (a.is_array ? " " + std::to_string(a.rank) : "") + (a.written ? " written\n" : "\n");
    }
    for (const PlanGuard& g : plan.guards)
        out += "guard " + text_of(g.condition) + " " + quote(g.message) + "\n";
    if (!plan.sliced.empty())
        out += "slices (" + joined(plan.sliced, ", ", [&](std::size_t k) { return plan.arguments[k].name; }) + ")\n";
    for (const PlanBuffer& b : plan.results)
        out += "result " + print_buffer(b) + "\n";
    std::string names;
    for (std::size_t k = 0; k < plan.returns.size(); ++k)
        names += (k > 0 ? ", " : "") + plan.numbers[k] + (plan.numbers[k].empty() ? "" : " ") + plan.returns[k];
    if (plan.returns_tuple) names = "(" + names + (plan.returns.size() == 1 ? ",)" : ")");
    return out + "return " + (plan.returns.empty() ? "None" : names) + "\n";
}

std::string print_body(const PlanVersionBody& version) {
    std::string out;
    for (const PlanRequirement& r : version.requirements) {
        using Kind = PlanRequirement::Kind;
        out += "require ";
        if (r.kind == Kind::condition)
            out += text_of(r.condition) + "\n";
        else if (r.kind == Kind::isa)
            out += "isa " + r.name + "\n";
        else
            out += "layout " + r.name + (r.kind == Kind::layout_c ? " C\n" : " F\n");
    }
    print_steps(version.steps, version, "", out);
    return out;
}

std::string print_plan(const Plan& plan) {
    std::string out = print_header(plan);
    for (const PlanVersionBody& version : plan.versions)
        out += "version " + quote(version.label) + "\n" + print_body(version) + "end\n";
    return out;
}

PlanVersionBody under_terms(PlanVersionBody version, const std::string& label, const std::string& object_suffix,
                            const std::vector<PlanRequirement>& requirements) {
    const std::vector<PlanRequirement> own = std::exchange(version.requirements, {});
    for (const auto* asked : {&requirements, &own})
        for (const PlanRequirement& each : *asked)
            if (std::ranges::find(version.requirements, each) == version.requirements.end())
                version.requirements.push_back(each);
    version.label = label;
    for_each_step(version.steps, [&](PlanStep& step) {
        if (step.kind == StepKind::call && !object_suffix.empty()) step.object += "." + object_suffix;
    });
    return version;
}

} // namespace tilewright::runtime
