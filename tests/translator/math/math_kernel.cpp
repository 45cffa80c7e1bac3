// tests/translator/math/math_kernel.cpp: one elementary function, compiled at run time for one instruction set.
#include "math_kernel.h"

#include <stdexcept>

#include "dsl/passes/passes.h"
#include "translator/ops/math.h"

namespace tilewright::translator::test {

Halide::Target math_target(const std::string& isa, bool fast) {
    Halide::Target target(Halide::Target::Linux, Halide::Target::X86, 64);
    std::vector<Halide::Target::Feature> features;
    if (isa == "x86-64-v3" || isa == "x86-64-v4") {
        features = {Halide::Target::SSE41, Halide::Target::AVX, Halide::Target::F16C, Halide::Target::FMA,
                    Halide::Target::AVX2};
        if (isa == "x86-64-v4") {
            features.push_back(Halide::Target::AVX512);
            features.push_back(Halide::Target::AVX512_Skylake);
        }
    } else if (isa != "x86-64") {
        throw std::invalid_argument("no instruction set is called " + isa);
    }
    for (Halide::Target::Feature f : features)
        target.set_feature(f);
    if (!fast) target.set_feature(Halide::Target::StrictFloat);
    return target;
}

bool runs_here(const std::string& isa) {
    if (isa == "x86-64-v4") return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
    if (isa == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return true;
}

MathKernel::MathKernel(const std::string& name, Halide::Type type, const std::string& isa, int lanes, bool fast)
    : type_(type) {
    const int arity = info(find_op(name).value()).operands;
    Halide::Var i("i");
    std::vector<Halide::Expr> args;
    std::vector<Halide::Argument> arguments;
    for (int a = 0; a < arity; ++a) {
        inputs_.emplace_back(type, 1);
        args.push_back(inputs_.back()(i));
        arguments.push_back(inputs_.back());
    }
    Halide::Func out("out");
    out(i) = elementary(find_op(name).value(), args, fast ? Contraction::any : Contraction::none);
    if (lanes > 1) out.vectorize(i, lanes, Halide::TailStrategy::GuardWithIf);
    pipeline_ = Halide::Pipeline(out);
    dsl::add_rare_path_pass(pipeline_);
    callable_ = pipeline_.compile_to_callable(arguments, math_target(isa, fast));
}

void MathKernel::run(const std::vector<const void*>& in, void* out, int count) {
    std::vector<Halide::Buffer<>> buffers;
    for (const void* p : in)
        buffers.emplace_back(type_, const_cast<void*>(p), count);
    Halide::Buffer<> result(type_, out, count);
    const int status = arity() == 1 ? callable_(buffers[0], result) : callable_(buffers[0], buffers[1], result);
    if (status != 0) throw std::runtime_error("the kernel returned " + std::to_string(status));
}

} // namespace tilewright::translator::test
