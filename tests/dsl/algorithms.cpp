// tests/dsl/algorithms.cpp: the algorithms that schedules are tried on.
#include "algorithms.h"

#include <algorithm>

#include "dsl/language/expression.h"

namespace tilewright::dsl::test {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::RDom;
using Halide::RVar;
using Halide::Tuple;
using Halide::Type;
using Halide::Var;

Builder::Builder(const std::string& function) {
    info_.function = function;
    impl_->plan.function = function;
}

Var Builder::var(const std::string& loop) {
    return Var(loop);
}

Expr Builder::size(const std::string& name) {
    if (!impl_->sizes.count(name)) {
        std::string plain = name;
        std::replace(plain.begin(), plain.end(), '.', '_');
        impl_->sizes.emplace(name, Halide::Param<int32_t>(plain));
        sizes_.push_back(name);
    }
    return impl_->sizes.at(name);
}

ImageParam Builder::input(const std::string& name, Type type, int rank) {
    ImageParam param(type, rank, name);
    Expr stride = 1;
    for (int d = 0; d < rank; ++d) {
        const Expr extent = size(name + "." + std::to_string(rank - 1 - d));
        param.dim(d).set_min(0);
        param.dim(d).set_extent(extent);
        param.dim(d).set_stride(stride);
        stride = stride * extent;
    }
    impl_->inputs.emplace(name, param);
    inputs_.push_back(name);
    return param;
}

StageInfo& Builder::info(const std::string& stage) {
    return *std::find_if(info_.stages.begin(), info_.stages.end(),
                         [&](const StageInfo& candidate) { return candidate.name == stage; });
}

void Builder::stage(const std::string& name, Func func, std::vector<std::pair<std::string, std::string>> loops,
                    std::vector<std::string> dtypes, bool output) {
    StageInfo stage;
    stage.name = name;
    stage.dtypes = std::move(dtypes);
    stage.output = output;
    StageImpl impl;
    impl.func = func;
    for (const auto& [loop, extent] : loops) {
        LoopInfo one;
        one.name = loop;
        one.extent = extent;
        stage.pure.loops.push_back(one);
        impl.pure_loops.emplace(loop, var(loop));
    }
    for (const std::string& input : inputs_) {
        ReadInfo read;
        read.from = input;
        stage.reads.push_back(read);
    }
    if (output) {
        outputs_.push_back(name);
        Expr stride = 1;
        for (int d = 0; d < func.dimensions(); ++d) {
            const SizeExpression extent = parse_size(loops[loops.size() - 1 - d].second);
            Expr value = extent.is_constant() ? Expr(static_cast<int>(extent.constant())) : size(extent.name());
            for (Halide::OutputImageParam& buffer : func.output_buffers()) {
                buffer.dim(d).set_min(0);
                buffer.dim(d).set_extent(value);
                buffer.dim(d).set_stride(stride);
            }
            stride = stride * value;
        }
    }
    info_.stages.push_back(std::move(stage));
    impl_->stages.emplace(name, std::move(impl));
}

void Builder::update(const std::string& stage, std::vector<std::string> pure_loops, std::vector<Reduced> reduced) {
    DefinitionInfo definition;
    std::map<std::string, RVar> rvars;
    for (const std::string& loop : pure_loops) {
        for (const LoopInfo& known : info(stage).pure.loops) {
            if (known.name == loop) definition.loops.push_back(known);
        }
    }
    for (const Reduced& loop : reduced) {
        LoopInfo one;
        one.name = loop.name;
        one.reduced = true;
        one.ordered = loop.ordered;
        one.extent = loop.extent;
        definition.loops.push_back(one);
        rvars.emplace(loop.name, loop.rvar);
    }
    info(stage).updates.push_back(std::move(definition));
    impl_->stages.at(stage).update_loops.push_back(std::move(rvars));
}

Algorithm Builder::build() {
    KernelImpl kernel;
    kernel.name = info_.function + "_k0";
    for (const std::string& name : sizes_) {
        const auto& param = impl_->sizes.at(name);
        kernel.arguments.push_back(param);
        kernel.argument_names.push_back(name);
        SizeInfo size_info;
        size_info.name = name;
        if (here_.count(name)) size_info.here = here_.at(name);
        info_.sizes.push_back(size_info);
    }
    for (const std::string& name : inputs_) {
        kernel.arguments.push_back(impl_->inputs.at(name));
        kernel.argument_names.push_back(name);
    }
    for (const std::string& name : outputs_) {
        kernel.outputs.push_back(impl_->stages.at(name).func);
        kernel.output_names.push_back(name);
    }
    impl_->kernels.push_back(std::move(kernel));
    for (StageInfo& stage : info_.stages) {
        auto fill = [&](DefinitionInfo& definition) {
            for (LoopInfo& loop : definition.loops) {
                const auto value = parse_size(loop.extent).evaluate([&](const SizeExpression& symbol) {
                    const auto known = here_.find(symbol.name());
                    return known == here_.end() ? std::nullopt : std::optional<std::int64_t>(known->second);
                });
                loop.extent_here = value.value_or(-1);
            }
        };
        fill(stage.pure);
        for (DefinitionInfo& definition : stage.updates)
            fill(definition);
    }
    return Algorithm(std::move(impl_), std::move(info_));
}

Algorithm pointwise() {
    Builder b("pointwise");
    ImageParam x = b.input("X", Halide::Float(32), 2);
    ImageParam y = b.input("y", Halide::Float(32), 1);
    const Var i = b.var("i"), j = b.var("j");
    Func y2("y2"), out("out");
    y2(i) = y(i) * 2.0f;
    out(j, i) = x(j, i) * 2.0f + y2(j);
    b.stage("y2", y2, {{"i", "y.0"}}, {"float32"});
    b.stage("out", out, {{"i", "X.0"}, {"j", "X.1"}}, {"float32"}, true);
    return b.build();
}

Algorithm row_sums(bool integer) {
    Builder b(integer ? "row_sums_int" : "row_sums");
    const Type type = integer ? Halide::Int(32) : Halide::Float(32);
    const std::string dtype = integer ? "int32" : "float32";
    ImageParam x = b.input("X", type, 2);
    const Var i = b.var("i");
    Func sums("sums"), out("out");
    RDom r(0, b.size("X.1"), "r");
    sums(i) = Halide::cast(type, 0);
    sums(i) += x(r, i);
    out(i) = sums(i) * Halide::cast(type, 2);
    b.stage("sums", sums, {{"i", "X.0"}}, {dtype});
    b.update("sums", {"i"}, {{"r", r.x, "X.1", !integer}});
    b.stage("out", out, {{"i", "X.0"}}, {dtype}, true);
    return b.build();
}

Algorithm row_argmin() {
    Builder b("row_argmin");
    ImageParam x = b.input("X", Halide::Float(32), 2);
    const Var i = b.var("i");
    Func best("best"), out("out");
    RDom r(0, b.size("X.1"), "r");
    best(i) = Tuple(Halide::Float(32).max(), Halide::cast<int64_t>(0));
    const Expr value = x(r, i);
    const Expr less = value < best(i)[0];
    best(i) =
        Tuple(Halide::select(less, value, best(i)[0]), Halide::select(less, Halide::cast<int64_t>(r.x), best(i)[1]));
    out(i) = best(i)[1];
    b.stage("best", best, {{"i", "X.0"}}, {"float32", "int64"});
    b.update("best", {"i"}, {{"r", r.x, "X.1", true}});
    b.stage("out", out, {{"i", "X.0"}}, {"int64"}, true);
    return b.build();
}

Algorithm chain() {
    Builder b("chain");
    ImageParam x = b.input("X", Halide::Float(64), 2);
    const Var i = b.var("i"), j = b.var("j");
    Func a("a"), bb("b"), c("c");
    a(j, i) = x(j, i) + Halide::cast<double>(1);
    bb(j, i) = a(j, i) * a(j, i);
    c(j, i) = bb(j, i) - a(j, i);
    b.stage("a", a, {{"i", "X.0"}, {"j", "X.1"}}, {"float64"});
    b.stage("b", bb, {{"i", "X.0"}, {"j", "X.1"}}, {"float64"});
    b.stage("c", c, {{"i", "X.0"}, {"j", "X.1"}}, {"float64"}, true);
    return b.build();
}

Algorithm gemm() {
    Builder b("gemm");
    ImageParam x = b.input("A", Halide::Float(32), 2);
    ImageParam y = b.input("B", Halide::Float(32), 2);
    const Var i = b.var("i"), j = b.var("j");
    Func product("product"), out("out");
    RDom r(0, b.size("A.1"), "r");
    product(j, i) = 0.0f;
    product(j, i) += x(r, i) * y(j, r);
    out(j, i) = product(j, i);
    b.size_here("A.0", 64);
    b.size_here("A.1", 48);
    b.size_here("B.0", 48);
    b.size_here("B.1", 80);
    b.stage("product", product, {{"i", "A.0"}, {"j", "B.1"}}, {"float32"});
    b.update("product", {"i", "j"}, {{"r", r.x, "A.1", true}});
    b.stage("out", out, {{"i", "A.0"}, {"j", "B.1"}}, {"float32"}, true);
    return b.build();
}

Algorithm softmax() {
    Builder b("softmax");
    ImageParam x = b.input("X", Halide::Float(32), 2);
    const Var i = b.var("i"), j = b.var("j");
    Func top("top"), powers("powers"), total("total"), out("out");
    RDom r(0, b.size("X.1"), "r"), r2(0, b.size("X.1"), "r2");
    top(i) = Halide::Float(32).min();
    top(i) = Halide::max(top(i), x(r, i));
    powers(j, i) = Halide::exp(x(j, i) - top(i));
    total(i) = 0.0f;
    total(i) += powers(r2, i);
    out(j, i) = powers(j, i) / total(i);
    b.size_here("X.0", 60);
    b.size_here("X.1", 100);
    b.stage("top", top, {{"i", "X.0"}}, {"float32"});
    b.update("top", {"i"}, {{"r", r.x, "X.1", true}});
    b.stage("powers", powers, {{"i", "X.0"}, {"j", "X.1"}}, {"float32"});
    b.stage("total", total, {{"i", "X.0"}}, {"float32"});
    b.update("total", {"i"}, {{"r", r2.x, "X.1", true}});
    b.stage("out", out, {{"i", "X.0"}, {"j", "X.1"}}, {"float32"}, true);
    return b.build();
}

Algorithm kmeans() {
    Builder b("kmeans");
    ImageParam x = b.input("X", Halide::Float(64), 2);
    ImageParam means = b.input("means", Halide::Float(64), 2);
    const Var i = b.var("i"), k = b.var("k");
    Func norm("norm"), nearest("nearest"), labels("labels");
    RDom r(0, b.size("X.1"), "r"), q(0, b.size("means.0"), "q");
    norm(i, k) = Halide::cast<double>(0);
    const Expr difference = x(r, i) - means(r, k);
    norm(i, k) += difference * difference;
    nearest(i) = Tuple(Halide::Float(64).max(), Halide::cast<int64_t>(0));
    const Expr distance = Halide::sqrt(norm(i, q));
    const Expr less = distance < nearest(i)[0];
    nearest(i) = Tuple(Halide::select(less, distance, nearest(i)[0]),
                       Halide::select(less, Halide::cast<int64_t>(q.x), nearest(i)[1]));
    labels(i) = nearest(i)[1];
    b.size_here("X.0", 3000);
    b.size_here("X.1", 2);
    b.size_here("means.0", 2);
    b.size_here("means.1", 2);
    b.stage("norm", norm, {{"k", "means.0"}, {"i", "X.0"}}, {"float64"});
    b.update("norm", {"k", "i"}, {{"r", r.x, "X.1", true}});
    b.stage("nearest", nearest, {{"i", "X.0"}}, {"float64", "int64"});
    b.update("nearest", {"i"}, {{"k", q.x, "means.0", true}});
    b.stage("labels", labels, {{"i", "X.0"}}, {"int64"}, true);
    return b.build();
}

Algorithm output_update() {
    Builder b("output_update");
    ImageParam x = b.input("X", Halide::Int(32), 2);
    const Var i = b.var("i");
    Func out("out");
    RDom r(0, b.size("X.1"), "r");
    out(i) = 0;
    out(i) += x(r, i);
    b.stage("out", out, {{"i", "X.0"}}, {"int32"}, true);
    b.update("out", {"i"}, {{"r", r.x, "X.1", false}});
    return b.build();
}

} // namespace tilewright::dsl::test
