// translator/plan_writer.cpp: writing the plan's text.
#include "translator/plan_writer.h"

#include <algorithm>

#include "translator/slices.h"

namespace tilewright::translator {
namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (std::size_t k = 0; k < names.size(); ++k)
        out += (k > 0 ? ", " : "") + names[k];
    return out;
}

} // namespace

std::string typed_name(const std::string& name, const Type& type) {
    std::string out = name + " " + type.dtype + " [";
    for (std::size_t k = 0; k < type.shape.size(); ++k)
        out += (k > 0 ? ", " : "") + type.shape[k].text();
    return out + "]\n";
}

std::string return_line(const Program& program, const std::vector<std::string>& returned) {
    std::vector<std::string> names = returned;
    for (std::size_t k = 0; k < names.size(); ++k)
        if (!program.conversions[k].empty()) names[k] = program.conversions[k] + " " + names[k];
    if (program.returns_tuple) return "return (" + joined(names) + (names.size() == 1 ? ",)\n" : ")\n");
    return "return " + (names.empty() ? "None" : names[0]) + "\n";
}

std::string layout_requirements(const Program& program, const TranslateOptions& options) {
    std::string out;
    for (const ArrayArgument& argument : program.arrays) {
        const auto found = options.layouts.find(argument.name);
        const Layout lies = found == options.layouts.end() ? Layout::c : found->second;
        if (lies != Layout::any && !argument.type.shape.empty())
            out += "require layout " + argument.name + (lies == Layout::c ? " C\n" : " F\n");
    }
    return out;
}

std::string plan_opening(const Program& program) {
    std::string out = "tilewright-plan 1\nfunction " + program.function + "\n";
    for (const std::string& name : program.argument_order) {
        const auto named = [&](const auto& each) { return each.name == name; };
        const auto array = std::find_if(program.arrays.begin(), program.arrays.end(), named);
        if (array == program.arrays.end()) {
            const auto scalar = std::find_if(program.scalars.begin(), program.scalars.end(), named);
            out += "scalar " + name + " " + scalar->dtype + "\n";
            continue;
        }
        const bool written = std::any_of(program.writes.begin(), program.writes.end(),
                                         [&](const Write& write) { return write.argument == name; });
        out += "arg " + name + " " + array->type.dtype + " " + std::to_string(array->type.shape.size()) +
               (written ? " written\n" : "\n");
    }
    for (const Guard& guard : program.guards)
        out += "guard " + guard.condition.text() + " " + quoted(guard.message) + "\n";
    if (const std::vector<std::string> sliced = sliced_arguments(program); !sliced.empty())
        out += "slices (" + joined(sliced) + ")\n";
    return out;
}

std::string plan_header(const Program& program, const Analysis& analysis) {
    std::string out = plan_opening(program);
    for (const StagePlan& stage : analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers()) {
            // Halves are written into the results that follow.
            if (buffer.result && buffer.operand == buffer.name)
                out += "result " + typed_name(buffer.name, analysis.value(buffer.value).type);
        }
    }
    for (const auto& [name, type] : analysis.complex_results())
        out += "result " + typed_name(name, type);
    return out + return_line(program, analysis.returned());
}

std::string plan_body(const Program& program, const TranslateOptions& options, const Analysis& analysis,
                      const std::vector<dsl::KernelImpl>& kernels) {
    std::string out;
    for (const std::string& requirement : analysis.requirements())
        out += "require " + requirement + "\n";
    out += layout_requirements(program, options);
    for (const StagePlan& stage : analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers()) {
            if (stage.materialised && !buffer.result)
                out += "temp " + typed_name(buffer.name, analysis.value(buffer.value).type);
        }
    }
    for (const std::string& line : plan_calls(analysis, kernels))
        out += line;
    return out;
}

std::string plan_call(const std::string& symbol, const std::vector<std::string>& arguments) {
    return "call " + symbol + " in \"" + symbol + "\" (" + joined(arguments) + ")\n";
}

std::vector<std::string> plan_calls(const Analysis& analysis, const std::vector<dsl::KernelImpl>& kernels) {
    std::vector<std::string> out;
    auto libraries_before = [&](int kernel) {
        for (const StagePlan& stage : analysis.stages()) {
            if (!stage.library || stage.kernel != kernel) continue;
            std::vector<std::string> arrays = stage.library_operands;
            for (std::size_t k = 0; k < arrays.size(); ++k)
                if (!stage.library_axes[k].empty()) arrays[k] += "^" + stage.library_axes[k];
            arrays.push_back(stage.name);
            out.push_back("library matmul (" + joined(arrays) + ")\n");
        }
    };
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        libraries_before(static_cast<int>(k));
        std::vector<std::string> arguments = kernels[k].argument_names;
        arguments.insert(arguments.end(), kernels[k].output_names.begin(), kernels[k].output_names.end());
        out.push_back(plan_call(kernels[k].name, arguments));
    }
    libraries_before(static_cast<int>(kernels.size()));
    return out;
}

} // namespace tilewright::translator
