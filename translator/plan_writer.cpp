// translator/plan_writer.cpp: writing the plan's text.
#include "translator/plan_writer.h"

namespace tilewright::translator {
namespace {

std::string typed(const std::string& name, const Type& type) {
    std::string out = name + " " + type.dtype + " [";
    for (std::size_t k = 0; k < type.shape.size(); ++k)
        out += (k > 0 ? ", " : "") + type.shape[k].text;
    return out + "]\n";
}

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (std::size_t k = 0; k < names.size(); ++k)
        out += (k > 0 ? ", " : "") + names[k];
    return out;
}

} // namespace

std::string plan_header(const Program& program, const Analysis& analysis) {
    std::string out = "tilewright-plan 1\nfunction " + program.function + "\n";
    for (const std::string& name : program.argument_order) {
        const ValueInfo& info = analysis.value(name);
        if (info.kind == ValueInfo::Kind::array)
            out += "arg " + name + " " + info.type.dtype + " " + std::to_string(info.type.shape.size()) + "\n";
        else
            out += "scalar " + name + " " + info.type.dtype + "\n";
    }
    for (const Guard& guard : program.guards)
        out += "guard " + guard.condition + " " + quoted(guard.message) + "\n";
    for (const StagePlan& stage : analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers()) {
            // Halves are written into the results that follow.
            if (buffer.result && buffer.operand == buffer.name)
                out += "result " + typed(buffer.name, analysis.value(buffer.value).type);
        }
    }
    for (const auto& [name, type] : analysis.complex_results())
        out += "result " + typed(name, type);
    if (program.returns_none) return out + "return None\n";
    const std::vector<std::string>& returned = analysis.returned();
    if (program.returns_tuple) return out + "return (" + joined(returned) + (returned.size() == 1 ? ",)\n" : ")\n");
    return out + "return " + returned[0] + "\n";
}

std::string plan_body(const Program& program, const Analysis& analysis, const std::vector<dsl::KernelImpl>& kernels) {
    std::string out;
    for (const std::string& requirement : analysis.requirements())
        out += "require " + requirement + "\n";
    for (const ArrayArgument& argument : program.arrays) {
        Layout lies = analysis.layout(argument.name);
        if (lies != Layout::any && !argument.type.shape.empty())
            out += "require layout " + argument.name + (lies == Layout::c ? " C\n" : " F\n");
    }
    for (const StagePlan& stage : analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers()) {
            if (stage.materialised && !buffer.result)
                out += "temp " + typed(buffer.name, analysis.value(buffer.value).type);
        }
    }
    auto libraries_before = [&](int kernel) {
        for (const StagePlan& stage : analysis.stages()) {
            if (stage.library && stage.kernel == kernel)
                out += "library matmul (" + joined(stage.library_operands) + ", " + stage.name + ")\n";
        }
    };
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        libraries_before(static_cast<int>(k));
        std::vector<std::string> names = kernels[k].argument_names;
        names.insert(names.end(), kernels[k].output_names.begin(), kernels[k].output_names.end());
        out += "call " + kernels[k].name + " in \"" + kernels[k].name + "\" (" + joined(names) + ")\n";
    }
    libraries_before(static_cast<int>(kernels.size()));
    return out;
}

} // namespace tilewright::translator
