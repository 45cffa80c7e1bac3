// dsl/code/device_code.cpp: rewrites the text of PTX, and the calls that name its entries.
#include "dsl/code/device_code.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/check/device_limits.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;

/// The constant buffer that Halide puts the text into.
constexpr const char* kSource = "cuda_gpu_source_kernels";

bool word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}

/// Runs `change` on each word: names, registers, instructions with all their dots.
template <class Function> std::string change_words(std::string_view text, Function change) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && word_character(text[end]))
            ++end;
        if (end == at) {
            result += text[at++];
            continue;
        }
        result += change(text.substr(at, end - at));
        at = end;
    }
    return result;
}

std::string without_comments(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = line.substr(0, line.find("//"));
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
            line.remove_suffix(1);
        if (line.empty()) continue;
        result += line;
        result += '\n';
    }
    return result;
}

/// Blocks of more threads than this have fewer registers for each than a thread may take.
constexpr std::int64_t kThreadsWithAllRegisters = 256;

struct Entries {
    std::map<std::string, std::string> names;    ///< old to new
    std::map<std::string, std::int64_t> threads; ///< of a block, by the new name
    std::int64_t shared_bytes = 0;
};

/// Adds what a function launches: halide_cuda_run(state, entry, three numbers of blocks, three of threads, shared
/// bytes, ...)
void add_entries(Entries& entries, const Stmt& body, const std::string& prefix) {
    for_each_node(body, [&](const Call* op) {
        if (op->name != "halide_cuda_run") return;
        const StringImm* entry = op->args[1].as<StringImm>();
        if (!entry) throw InternalError("a launch without a name.");
        const std::string number = std::to_string(entries.names.size());
        const std::string& name = entries.names.emplace(entry->value, prefix + number).first->second;
        std::int64_t block = 1;
        for (std::size_t axis = 5; axis < 8; ++axis)
            block *= as_const_int(simplify(op->args[axis])).value_or(kMostThreads);
        std::int64_t& threads = entries.threads[name];
        threads = std::max(threads, std::min(block, kMostThreads));
        const auto bytes = as_const_int(simplify(op->args[8]));
        entries.shared_bytes = bytes && entries.shared_bytes >= 0 ? std::max(entries.shared_bytes, *bytes) : -1;
    });
}

/// Launches by the new names, of the new source.
Stmt with_new_source(const Stmt& body, const std::map<std::string, std::string>& names,
                     const Halide::Buffer<std::uint8_t>& source) {
    return mutate_with(
        body,
        [&](Mutator&, const Variable* op) {
            const bool is_source = op->image.defined() && op->image.name() == kSource;
            return is_source ? Variable::make(op->type, op->name, source) : Halide::Expr(op);
        },
        [&](Mutator& self, const Call* op) {
            const Halide::Expr mutated = self.inside(op);
            const Call* call = mutated.as<Call>();
            if (!call) return mutated;
            std::vector<Halide::Expr> arguments = call->args;
            if (call->name == "halide_cuda_run")
                arguments[1] = names.at(call->args[1].as<StringImm>()->value);
            else if (call->name == "halide_cuda_initialize_kernels")
                arguments[2] = static_cast<int>(source.number_of_elements());
            else
                return mutated;
            return Call::make(call->type, call->name, arguments, call->call_type);
        });
}

/// mul.f32 -> mul.rn.f32: without a rounding, ptxas may contract.
bool rounds_silently(std::string_view word) {
    for (const char* operation : {"add.", "sub.", "mul."}) {
        if (!word.starts_with(operation)) continue;
        const std::string_view type = word.substr(std::strlen(operation));
        return type == "f32" || type == "f64";
    }
    return false;
}

/// Tells the assembler how many threads share the registers: it took as many as it liked, and the launch failed.
std::string with_most_threads(std::string text, const std::string& entry, std::int64_t threads) {
    const std::size_t at = text.find(".entry " + entry + "(");
    const std::size_t brace = at == std::string::npos ? at : text.find("\n{", at);
    if (brace == std::string::npos) throw InternalError("no text of " + entry + ".");
    return text.insert(brace, "\n.maxntid " + std::to_string(threads));
}

} // namespace

std::string exact_ptx(const std::string& text) {
    return change_words(text, [](std::string_view word) {
        std::string result(word);
        if (rounds_silently(word)) result.insert(4, "rn.");
        // The two of double numbers have no other form, and what is below the smallest normal one is all that they
        // flush. ex2 is there where neither side is subnormal (translator/ops/math_exponential.cpp), and scales
        // without.
        const bool needed = word.ends_with(".approx.ftz.f64") || word == "ex2.approx.ftz.f32";
        const std::size_t ftz = word.find(".ftz");
        if (ftz != std::string_view::npos && !needed && word.front() != '%' && word.front() != '_')
            result.erase(result.find(".ftz"), 4);
        return result;
    });
}

DeviceCode finish_device_code(const Halide::Module& lowered, const std::string& name, bool exact) {
    Entries entries;
    for (const LoweredFunc& function : lowered.functions())
        add_entries(entries, function.body, name + "_device");
    DeviceCode result{Halide::Module(lowered.name(), lowered.target().without_feature(Halide::Target::NoAsserts)), "",
                      static_cast<int>(entries.names.size()), entries.shared_bytes};
    result.module.set_any_strict_float(lowered.any_strict_float());
    if (lowered.get_conceptual_stmt().defined()) result.module.set_conceptual_code_stmt(lowered.get_conceptual_stmt());
    Halide::Buffer<std::uint8_t> source;
    for (const Halide::Buffer<void>& buffer : lowered.buffers()) {
        if (buffer.name() != kSource) {
            result.module.append(buffer);
            continue;
        }
        const auto* bytes = static_cast<const char*>(buffer.data());
        result.text = without_comments(std::string_view(bytes, strnlen(bytes, buffer.number_of_elements())));
        result.text = change_words(result.text, [&](std::string_view word) {
            const std::size_t parameter = word.rfind("_param_");
            const auto found = entries.names.find(std::string(word.substr(0, parameter)));
            if (found == entries.names.end()) return std::string(word);
            return found->second + (parameter == std::string_view::npos ? "" : std::string(word.substr(parameter)));
        });
        if (exact) result.text = exact_ptx(result.text);
        for (const auto& [entry, threads] : entries.threads)
            if (threads > kThreadsWithAllRegisters) result.text = with_most_threads(result.text, entry, threads);
        source = Halide::Buffer<std::uint8_t>(static_cast<int>(result.text.size()) + 1, std::string(kSource));
        std::memcpy(source.data(), result.text.c_str(), result.text.size() + 1);
        result.module.append(source);
    }
    for (const LoweredFunc& function : lowered.functions()) {
        LoweredFunc copy = function;
        copy.body = with_new_source(copy.body, entries.names, source);
        result.module.append(copy);
    }
    return result;
}

} // namespace tilewright::dsl
