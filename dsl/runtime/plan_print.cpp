// dsl/runtime/plan_print.cpp: writes the text of a plan (plan_text.md), and puts the parts of one together.
#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/runtime/compose_plan.h"
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

template <class List, class Print> std::string joined(const List& list, Print print) {
    std::string out;
    for (const auto& item : list)
        out += (out.empty() ? "" : ", ") + print(item);
    return out;
}

std::string text_of(const SizeExpression& size) {
    return size.text();
}

std::string print_buffer(const PlanBuffer& b) {
    return b.name + " " + std::string(info(b.dtype).name) + " [" + joined(b.shape, text_of) + "]";
}

std::string print_step(const PlanStep& s, const PlanVersionBody& v) {
    std::string out;
    auto argument = s.arguments.begin();
    for (const char* c = form(s.kind).text; *c != '\0'; ++c)
        out += *c == '$'   ? s.symbol
               : *c == '@' ? quote(s.object)
               : *c == '?' ? text_of(*argument++)
               : *c == '*' ? joined(s.arguments, text_of)
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

std::string print_plan(const Plan& plan) {
    std::string out = "tilewright-plan 1\nfunction " + plan.function + "\n";
    for (const PlanArgument& a : plan.arguments) {
        out += (a.is_array ? "arg " : "scalar ") + a.name + " " + std::string(info(a.dtype).name);
        out += (a.is_array ? " " + std::to_string(a.rank) : "") + (a.written ? " written\n" : "\n");
    }
    for (const PlanGuard& g : plan.guards)
        out += "guard " + text_of(g.condition) + " " + quote(g.message) + "\n";
    for (std::size_t k = 0; k < plan.sliced.size(); ++k)
        out += (k > 0 ? ", " : "slices (") + plan.arguments[plan.sliced[k]].name +
               (k + 1 == plan.sliced.size() ? ")\n" : "");
    for (const PlanBuffer& b : plan.results)
        out += "result " + print_buffer(b) + "\n";
    std::string names;
    for (std::size_t k = 0; k < plan.returns.size(); ++k)
        names += (k > 0 ? ", " : "") + plan.numbers[k] + (plan.numbers[k].empty() ? "" : " ") + plan.returns[k];
    if (plan.returns_tuple) names = "(" + names + (plan.returns.size() == 1 ? ",)" : ")");
    out += "return " + (plan.returns.empty() ? "None" : names) + "\n";
    for (const PlanVersionBody& v : plan.versions) {
        out += "version " + quote(v.label) + "\n";
        for (const PlanRequirement& r : v.requirements) {
            switch (r.kind) {
            case PlanRequirement::Kind::isa:
                out += "require isa " + r.name + "\n";
                break;
            case PlanRequirement::Kind::layout_c:
                out += "require layout " + r.name + " C\n";
                break;
            case PlanRequirement::Kind::layout_f:
                out += "require layout " + r.name + " F\n";
                break;
            case PlanRequirement::Kind::condition:
                out += "require " + text_of(r.condition) + "\n";
                break;
            }
        }
        print_steps(v.steps, v, "", out);
        out += "end\n";
    }
    return out;
}

std::string compose_plan(const std::string& header, const std::vector<PlanVersion>& versions) {
    std::string out = header;
    if (!out.empty() && out.back() != '\n') out += '\n';
    for (const PlanVersion& v : versions) {
        out += "version " + quote(v.label) + "\n";
        for (const std::string& requirement : v.requires_)
            out += "require " + requirement + "\n";
        std::size_t at = 0;
        while (at < v.body.size()) {
            std::size_t end = std::min(v.body.find('\n', at), v.body.size());
            std::string line = v.body.substr(at, end - at);
            at = end + 1;
            // `call K in "K" (...)`: the suffix goes before the closing quote of the object's name.
            std::size_t first = line.find_first_not_of(" \t");
            std::size_t open = line.find(" in \"");
            if (first != std::string::npos && line.compare(first, 5, "call ") == 0 && open != std::string::npos &&
                !v.object_suffix.empty()) {
                std::size_t close = line.find('"', open + 5);
                if (close == std::string::npos)
                    throw InternalError("compose_plan: '" + line + "': the object's name has no closing quote.");
                line.insert(close, "." + v.object_suffix);
            }
            if (!line.empty()) out += line + "\n";
        }
        out += "end\n";
    }
    return out;
}

} // namespace tilewright::runtime
