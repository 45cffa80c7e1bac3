// dsl/code/static_library.cpp: a C library is a Halide module: plans and objects are its buffers, the entries its
// functions.
#include "dsl/code/static_library.h"

#include <Halide.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/base/targets.h"
#include "dsl/runtime/plan.h"

namespace tilewright::dsl {

extern const char kCApiText[]; // c_api.h, from c_api_text.cpp.in

namespace {

using namespace Halide;
using namespace runtime;

constexpr const char* kObjects = "library.objects"; // no name in C, so that no function has it

[[noreturn]] void fail(const std::string& why) {
    throw ExportError("libkernels.a: " + why);
}

bool is_c_name(const std::string& name) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (name.empty() || !letter(name[0])) return false;
    for (char c : name)
        if (!letter(c) && !(c >= '0' && c <= '9')) return false;
    return true;
}

/// Whether a function is there for arrays of CUDA devices too.
bool serves_devices(const Plan& plan) {
    for (const PlanVersionBody& version : plan.versions)
        for (const PlanRequirement& r : version.requirements)
            if (r.kind == PlanRequirement::Kind::isa && cuda_capability(r.name) > 0) return true;
    return false;
}

/// int NAME(arguments): hands the function's plan, the library's objects and the arguments, in whole words, to the
/// runtime.
Internal::LoweredFunc entry(const CFunction& f, const Plan& plan, bool on_device) {
    std::vector<Internal::LoweredArgument> parameters;
    std::vector<Expr> words;
    auto parameter = [&](Type type) {
        const std::string name = "p" + std::to_string(parameters.size());
        parameters.emplace_back(name, Argument::InputScalar, type, 0, ArgumentEstimates{});
        return reinterpret<std::uint64_t>(Internal::Variable::make(type, name));
    };
    // The System V ABI passes a pair of floats in two of eight registers or as a whole on the stack; a float behind a
    // pair that found one register left takes that register.
    int floats = 0;
    Expr skipped;
    auto add_floats = [&](int count) {
        if (count == 1 && skipped.defined()) {
            words.push_back(std::exchange(skipped, Expr()));
            return;
        }
        if (count == 2 && floats == 7) skipped = parameter(Float(64));
        for (int k = 0; k < count; ++k)
            words.push_back(parameter(Float(64)));
        floats += count;
    };
    if (on_device) words.push_back(parameter(UInt(64)));
    for (const PlanArgument& a : plan.arguments)
        if (a.is_array || a.dtype < DType::float32 || a.dtype == DType::float16)
            words.push_back(parameter(UInt(64)));
        else
            add_floats((info(a.dtype).bytes + 7) / 8);
    for (std::size_t k = 0; k < plan.results.size(); ++k)
        words.push_back(parameter(UInt(64)));
    auto buffer = [](const std::string& name) {
        return Internal::Variable::make(type_of<halide_buffer_t*>(), name + ".buffer");
    };
    const Expr call = Internal::Call::make(
        Int(32), "tw_run_embedded",
        {buffer(f.name), buffer(kObjects),
         Internal::Call::make(type_of<void*>(), Internal::Call::make_struct, words, Internal::Call::Intrinsic),
         cast<std::int32_t>(on_device)},
        Internal::Call::Extern);
    const Expr status = Internal::Variable::make(Int(32), "status");
    return {f.name + (on_device ? "_cuda" : ""), parameters,
            Internal::LetStmt::make("status", call, Internal::AssertStmt::make(status == 0, status)),
            LinkageType::External, NameMangling::C};
}

Buffer<std::uint8_t> bytes_of(const std::string& bytes, const std::string& name) {
    if (bytes.size() > INT32_MAX) fail("its objects would be larger than 2 GiB.");
    Buffer<std::uint8_t> buffer(std::vector<int>{static_cast<int>(bytes.size())}, name);
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    return buffer;
}

/// Halide works in the folder of the objects: a thread that has a working directory to itself leaves the process in its
/// own, where the kernel lets it have one.
void archive(const std::vector<std::string>& objects, const Target& target, const std::string& path) {
    std::async(std::launch::async, [&] {
        unshare(CLONE_FS);
        create_static_library(objects, target, path);
    }).get();
}

void check(const std::vector<CFunction>& functions) {
    std::set<std::string> names;
    for (const CFunction& f : functions) {
        if (!is_c_name(f.name)) fail("'" + f.name + "' is not a name in C. Export it under another with --out.");
        const bool for_devices = serves_devices(parse_plan(f.plan_text));
        if (!names.insert(f.name).second || (for_devices && !names.insert(f.name + "_cuda").second))
            fail("'" + f.name + "' is there twice.");
    }
}

} // namespace

std::string c_header(const std::vector<CFunction>& functions) {
    check(functions);
    std::string out =
        "/* Compiled functions of this module, for C and C++. Link libkernels.a with -lpthread -ldl -lm. */\n";
    out += kCApiText;
    out += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
    for (const CFunction& f : functions) {
        const Plan plan = parse_plan(f.plan_text);
        std::vector<std::string> parameters, arguments, results;
        // Names of Python may be keywords of C or not even ASCII.
        const auto c_name = [&](const std::string& name) {
            return is_c_name(name) ? name + "_" : "a" + std::to_string(parameters.size());
        };
        const auto described = [](const std::string& name, DType dtype, std::size_t rank) {
            return name + " " + std::string(info(dtype).name) + "[" + joined(std::vector<std::string>(rank, ":")) + "]";
        };
        for (const PlanArgument& a : plan.arguments) {
            if (a.is_array) {
                parameters.push_back((a.written ? "struct tw_array* " : "const struct tw_array* ") + c_name(a.name));
                arguments.push_back(described(a.name, a.dtype, static_cast<std::size_t>(a.rank)) +
                                    (a.written ? " (written)" : ""));
            } else {
                parameters.push_back(std::string(info(a.dtype).c_name) + " " + c_name(a.name));
            }
        }
        for (const PlanBuffer& b : plan.results) {
            parameters.push_back("struct tw_array* " + c_name(b.name));
            results.push_back(described(b.name, b.dtype, b.shape.size()));
        }
        out += "\n/* " + joined(arguments) + " -> " + (results.empty() ? "nothing" : joined(results)) +
               "; returns a tw_status. */\n";
        out += "int " + f.name + "(" + (parameters.empty() ? "void" : joined(parameters)) + ");\n";
        if (!serves_devices(plan)) continue;
        parameters.insert(parameters.begin(), "void* stream");
        out += "/* The same with arrays of a CUDA device, on this stream. */\nint " + f.name + "_cuda(" +
               joined(parameters) + ");\n";
    }
    return out + "\n#ifdef __cplusplus\n}\n#endif\n";
}

void write_static_library(const std::string& folder, const std::string& runtime_object,
                          const std::vector<CFunction>& functions,
                          const std::map<std::string, std::string_view>& objects) {
    check(functions);
    std::string packed(1, '\n'); // a buffer is never empty
    auto pack = [&](std::string_view bytes) {
        const std::uint64_t size = bytes.size();
        packed.append(reinterpret_cast<const char*>(&size), sizeof size).append(bytes);
    };
    for (const auto& [name, bytes] : objects) {
        pack(name);
        pack(bytes);
    }
    const Target target(Target::Linux, Target::X86, 64, {Target::NoRuntime});
    Module library("kernels", target);
    library.append(bytes_of(packed, kObjects));
    for (const CFunction& f : functions) {
        const Plan plan = parse_plan(f.plan_text);
        library.append(bytes_of(f.plan_text, f.name));
        library.append(entry(f, plan, false));
        if (serves_devices(plan)) library.append(entry(f, plan, true));
    }
    const std::filesystem::path place = folder, own = place / "kernels.o", runtime = place / "tilewright.o";
    try {
        const Buffer<std::uint8_t> object = library.compile_to_buffer();
        std::ofstream file(own, std::ios::binary);
        file.write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size_in_bytes()));
        if (!file.flush())
            throw ExportError(own.string() + ": it cannot be written: " + std::strerror(errno) + ".",
                              "Choose another folder with --out.");
        std::filesystem::create_symlink(runtime_object, runtime);
        archive({own, runtime}, target, place / "libkernels.a");
        std::filesystem::remove(own);
        std::filesystem::remove(runtime);
    } catch (const Halide::Error& e) {
        fail(e.what());
    } catch (const std::filesystem::filesystem_error& e) {
        fail(std::string(e.what()) + ".");
    }
}

} // namespace tilewright::dsl
