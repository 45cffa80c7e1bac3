// tests/translator/harness.cpp: the plan's steps by hand: kernels through the JIT, libraries by loops.
#include "harness.h"

#include <sstream>
#include <stdexcept>

#include "dsl/base/kernel_imports.h"
#include "dsl/model/algorithm_impl.h"
#include "dsl/passes/passes.h"
#include "dsl/runtime/kernel_symbols.h"
#include "translator/ir/size.h"

namespace tilewright::translator::harness {
namespace {

thread_local std::string last_error;

struct Buffers {
    std::map<std::string, Array> arrays;
    std::map<std::string, Layout> layouts;
    std::vector<std::vector<char>> storage; ///< copies in other layouts
};

/// A buffer over an array, or over the halves of a complex one (Z.real, Z.imag); other layouts than C get memory of
/// their own, `any` with a negative stride and gaps.
Halide::Buffer<> buffer_of(Buffers& buffers, const std::string& operand, Halide::Type type, int dimensions) {
    const std::size_t dot = operand.find('.');
    const std::string name = operand.substr(0, dot);
    const int halves = dot == std::string::npos ? 1 : 2;
    const std::size_t element = static_cast<std::size_t>(type.bytes() * halves);
    const std::size_t offset = operand.substr(std::min(dot, operand.size())) == ".imag" ? element / 2 : 0;
    Array& array = buffers.arrays.at(name);
    // Halide takes a null pointer for a question about bounds, and then computes nothing.
    array.bytes.reserve(64);
    Layout lies = buffers.layouts.count(name) != 0 ? buffers.layouts.at(name) : Layout::c;
    const int rank = static_cast<int>(array.shape.size());
    std::vector<halide_dimension_t> dims;
    if (dimensions == 1 && rank != 1) {
        dims.emplace_back(0, static_cast<int32_t>(array.count()), halves);
        return Halide::Buffer<>(type, array.bytes.data() + offset, 1, dims.data());
    }
    std::vector<std::int64_t> strides(array.shape.size());
    std::int64_t stride = 1;
    for (int axis = rank; axis-- > 0;) {
        strides[static_cast<std::size_t>(axis)] = stride;
        stride *= array.shape[static_cast<std::size_t>(axis)];
    }
    char* data = array.bytes.data();
    if (lies != Layout::c && rank > 0) {
        std::vector<std::int64_t> other(array.shape.size());
        std::int64_t step = lies == Layout::any ? 3 : 1;
        for (int axis = 0; axis < rank; ++axis) {
            other[static_cast<std::size_t>(axis)] = step;
            step *= array.shape[static_cast<std::size_t>(axis)];
        }
        buffers.storage.emplace_back(static_cast<std::size_t>(step + 3) * element);
        char* base = buffers.storage.back().data();
        std::int64_t origin = 0;
        if (lies == Layout::any) {
            other[0] = -other[0];
            origin = array.count() > 0 ? -other[0] * (array.shape[0] - 1) : 0;
        }
        for (std::int64_t k = 0; k < array.count(); ++k) {
            std::int64_t rest = k;
            std::int64_t at = origin;
            for (int axis = rank; axis-- > 0;) {
                at += rest % array.shape[static_cast<std::size_t>(axis)] * other[static_cast<std::size_t>(axis)];
                rest /= array.shape[static_cast<std::size_t>(axis)];
            }
            std::memcpy(base + static_cast<std::size_t>(at) * element,
                        array.bytes.data() + static_cast<std::size_t>(k) * element, element);
        }
        data = base + static_cast<std::size_t>(origin) * element;
        strides = other;
    }
    for (int d = 0; d < rank; ++d) {
        auto axis = static_cast<std::size_t>(rank - 1 - d);
        dims.emplace_back(0, static_cast<int32_t>(array.shape[axis]), static_cast<int32_t>(strides[axis]) * halves);
    }
    return Halide::Buffer<>(type, data + offset, rank, dims.data());
}

/// Where the matrix of `array` begins that stands at a place of the stack `shape`, as NumPy broadcasts.
std::int64_t matrix_at(const Array& array, const std::vector<std::int64_t>& shape, std::int64_t place) {
    const std::size_t rank = array.shape.size();
    std::int64_t stride = array.shape[rank - 2] * array.shape[rank - 1], offset = 0;
    for (std::size_t d = 3; d <= shape.size(); ++d) {
        const std::int64_t at = place % shape[shape.size() - d];
        place /= shape[shape.size() - d];
        if (d > rank) continue;
        if (array.shape[rank - d] != 1) offset += at * stride;
        stride *= array.shape[rank - d];
    }
    return offset;
}

/// `B^021`: B with its axes in that order, n for one of one element.
Array operand_of(const Buffers& buffers, const std::string& name) {
    const std::size_t at = name.find('^');
    const Array& array = buffers.arrays.at(name.substr(0, at));
    if (at == std::string::npos) return array;
    const std::string order = name.substr(at + 1);
    std::vector<std::int64_t> strides(array.shape.size(), 1);
    for (std::size_t k = strides.size(); k-- > 1;)
        strides[k - 1] = strides[k] * array.shape[k];
    Array out = array;
    out.shape.clear();
    std::vector<std::int64_t> steps;
    for (const char c : order) {
        const auto axis = static_cast<std::size_t>(c - '0');
        out.shape.push_back(c == 'n' ? 1 : array.shape[axis]);
        steps.push_back(c == 'n' ? 0 : strides[axis]);
    }
    const std::size_t element = array.count() == 0 ? 1 : array.bytes.size() / static_cast<std::size_t>(array.count());
    for (std::int64_t k = 0; k < array.count(); ++k) {
        std::int64_t rest = k, from = 0;
        for (std::size_t axis = order.size(); axis-- > 0;) {
            from += rest % out.shape[axis] * steps[axis];
            rest /= out.shape[axis];
        }
        std::copy_n(array.bytes.begin() + from * static_cast<std::int64_t>(element), element,
                    out.bytes.begin() + k * static_cast<std::int64_t>(element));
    }
    return out;
}

template <class T> void multiply(const Array& a, const Array& b, Array& c) {
    const std::int64_t n = a.shape[a.shape.size() - 2];
    const std::int64_t inner = a.shape.back();
    const std::int64_t m = b.shape.back();
    std::int64_t matrices = 1;
    for (std::size_t k = 0; k + 2 < c.shape.size(); ++k)
        matrices *= c.shape[k];
    for (std::int64_t place = 0; place < matrices; ++place) {
        const T *left = a.as<T>() + matrix_at(a, c.shape, place), *right = b.as<T>() + matrix_at(b, c.shape, place);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < m; ++j) {
                double sum = 0;
                for (std::int64_t k = 0; k < inner; ++k)
                    sum += static_cast<double>(left[i * inner + k]) * static_cast<double>(right[k * m + j]);
                c.as<T>()[(place * n + i) * m + j] = static_cast<T>(sum);
            }
        }
    }
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> out;
    for (std::string word; stream >> word;)
        out.push_back(word);
    return out;
}

/// Unscheduled reductions would be computed again for each element that reads them.
Directives reductions_at_root(dsl::Algorithm& algorithm) {
    Directives done;
    for (const dsl::StageInfo& info : algorithm.info().stages) {
        if (info.inlinable || info.output) continue;
        algorithm.impl().stages.at(info.name).func.compute_root();
        done += info.name + " at root ";
    }
    return done;
}

} // namespace

Directives vectorize_all(dsl::Algorithm& algorithm) {
    auto& impl = algorithm.impl();
    Directives done;
    for (const dsl::StageInfo& info : algorithm.info().stages) {
        dsl::StageImpl& stage = impl.stages.at(info.name);
        if (!info.output) {
            stage.func.compute_root();
            done += info.name + " at root ";
        }
        std::vector<Halide::Var> arguments = stage.func.args();
        // The tree over the lanes is one large expression, which takes seconds to compile as a vector of blocks.
        if (arguments.empty() || info.part == tilewright::dsl::StagePart::block) continue;
        stage.func.vectorize(arguments[0], 8, Halide::TailStrategy::GuardWithIf);
        for (int k = 0; k < stage.func.num_update_definitions(); ++k)
            stage.func.update(k).vectorize(arguments[0], 4, Halide::TailStrategy::GuardWithIf);
        done += info.name + " vectorized ";
    }
    return done;
}

std::vector<Array> run(const Program& program, const std::map<std::string, Array>& arguments,
                       const RunOptions& options) {
    Buffers buffers;
    buffers.layouts = options.translate.layouts;
    std::map<std::string, std::int64_t> sizes;
    RunOptions filled = options;
    for (const auto& [name, array] : arguments) {
        buffers.arrays[name] = array;
        for (std::size_t k = 0; k < array.shape.size(); ++k)
            sizes[name + "." + std::to_string(k)] = array.shape[k];
        if (array.shape.empty() && array.dtype == "int64") sizes[name] = *array.as<std::int64_t>();
    }
    if (filled.translate.sizes_here.empty()) filled.translate.sizes_here = sizes;
    dsl::Algorithm algorithm = translate(program, filled.translate);
    const Directives directives = options.schedule ? options.schedule(algorithm) : reductions_at_root(algorithm);
    dsl::AlgorithmImpl& impl = algorithm.impl();
    Halide::Target target = Halide::get_jit_target_from_environment().with_feature(Halide::Target::StrictFloat);
    // Halide's checks find what leaves an array; they take a third of a compilation, and kernels that ship have none.
    if (options.schedule) target.set_features({Halide::Target::NoAsserts, Halide::Target::NoBoundsQuery});

    // Kernels do not depend on the sizes, so that runs which differ in nothing else share them.
    static std::map<std::string, Halide::Callable> compiled;
    const std::string body = runtime::print_body(impl.plan.versions[0]);
    std::string key = print_program(program) + body + options.translate.contract + " " + directives;
    for (const auto& [name, option] : algorithm.info().variant)
        key += name + "=" + option + " ";
    for (const auto& [name, layout] : options.translate.layouts)
        key += name + "=" + std::to_string(static_cast<int>(layout)) + " ";

    // Results and temporaries, from the plan's own lines.
    std::istringstream plan(runtime::print_header(impl.plan) + body);
    std::vector<std::string> lines;
    std::vector<std::string> returned;
    for (std::string line; std::getline(plan, line);) {
        std::vector<std::string> parts = words(line);
        if (parts[0] == "result" || parts[0] == "temp") {
            Array array{parts[2], {}, {}};
            std::string list = line.substr(line.find('[') + 1);
            list = list.substr(0, list.rfind(']'));
            int depth = 0;
            std::string entry;
            for (char c : list + ",") {
                depth += c == '(' ? 1 : c == ')' ? -1 : 0;
                if (c == ',' && depth == 0) {
                    if (!entry.empty()) array.shape.push_back(evaluate(parse_size(entry), sizes).value());
                    entry.clear();
                } else {
                    entry += c;
                }
            }
            // The content must not matter.
            array.bytes.assign(static_cast<std::size_t>(array.count()) *
                                   static_cast<std::size_t>(find_dtype(array.dtype)->bytes),
                               'x');
            buffers.arrays[parts[1]] = array;
        } else if (parts[0] == "return") {
            std::string name;
            for (char c : line.substr(7) + " ") {
                if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
                    name += c;
                } else if (!name.empty()) {
                    returned.push_back(name);
                    name.clear();
                }
            }
        } else if (parts[0] == "require" && parts[1] != "layout") {
            const bool is_least = line.find(">=") != std::string::npos;
            const std::size_t sign = line.find(is_least ? ">=" : "<=");
            const std::int64_t left = evaluate(parse_size(line.substr(8, sign - 8)), sizes).value();
            const std::int64_t right = evaluate(parse_size(line.substr(sign + 2)), sizes).value();
            if (!(is_least ? left >= right : left <= right))
                throw std::runtime_error("requirement does not hold: " + line);
        }
        lines.push_back(line);
    }
    for (const std::string& line : lines) {
        if (line.rfind("library matmul (", 0) == 0) {
            std::string names = line.substr(16, line.size() - 17);
            for (char& c : names)
                c = c == ',' ? ' ' : c;
            std::vector<std::string> operands = words(names);
            Array& c = buffers.arrays.at(operands[2]);
            const Array a = operand_of(buffers, operands[0]), b = operand_of(buffers, operands[1]);
            if (c.dtype == "float32")
                multiply<float>(a, b, c);
            else
                multiply<double>(a, b, c);
        }
        if (line.rfind("call ", 0) != 0) continue;
        std::string symbol = words(line)[1];
        for (dsl::KernelImpl& kernel : impl.kernels) {
            if (kernel.name != symbol) continue;
            auto [found, is_new] = compiled.try_emplace(key + kernel.name);
            Halide::Callable& callable = found->second;
            if (is_new) {
                // The JIT names its function after the first output; one called sin would take libm's place.
                Halide::Func first("translated_kernel");
                first() = 0;
                std::vector<Halide::Func> outputs{first};
                outputs.insert(outputs.end(), kernel.outputs.begin(), kernel.outputs.end());
                Halide::Pipeline pipeline(outputs);
                pipeline.set_jit_externs({{kPcg64High, Halide::JITExtern(runtime::kernel_pcg64_high)},
                                          {kPcg64Low, Halide::JITExtern(runtime::kernel_pcg64_low)}});
                dsl::add_passes(pipeline, target.has_feature(Halide::Target::F16C));
                callable = pipeline.compile_to_callable(kernel.arguments, target);
            }
            std::vector<Halide::Buffer<>> views;
            views.reserve(kernel.arguments.size() + kernel.output_names.size());
            std::vector<std::int64_t> scalars(kernel.arguments.size());
            std::vector<const void*> argv;
            Halide::JITUserContext context;
            Halide::JITUserContext* context_pointer = &context;
            argv.push_back(&context_pointer);
            for (std::size_t k = 0; k < kernel.arguments.size(); ++k) {
                const Halide::Argument& argument = kernel.arguments[k];
                const std::string& name = kernel.argument_names[k];
                if (argument.is_buffer()) {
                    views.push_back(buffer_of(buffers, name, argument.type, argument.dimensions));
                    argv.push_back(views.back().raw_buffer());
                } else if (impl.sizes.count(name) != 0 && argument.type == Halide::Int(32) &&
                           argument.name == impl.sizes.at(name).name()) {
                    scalars[k] = sizes.at(name);
                    argv.push_back(&scalars[k]);
                } else {
                    const std::size_t dot = name.find('.');
                    const std::size_t offset =
                        dot != std::string::npos && name.substr(dot) == ".imag" ? argument.type.bytes() : 0;
                    argv.push_back(buffers.arrays.at(name.substr(0, dot)).bytes.data() + offset);
                }
            }
            Halide::Buffer<std::int32_t> first = Halide::Buffer<std::int32_t>::make_scalar();
            argv.push_back(first.raw_buffer());
            std::size_t output = 0;
            for (const Halide::Func& func : kernel.outputs) {
                for (const Halide::Type& type : func.types()) {
                    views.push_back(buffer_of(buffers, kernel.output_names[output++], type, func.dimensions()));
                    argv.push_back(views.back().raw_buffer());
                }
            }
            context.handlers.custom_error = [](Halide::JITUserContext*, const char* message) {
                // No exception may cross compiled code.
                last_error = message;
            };
            last_error.clear();
            int status = callable.call_argv_fast(argv.size(), argv.data());
            if (status != 0 || !last_error.empty()) throw std::runtime_error("kernel " + symbol + ": " + last_error);
        }
    }
    std::vector<Array> out;
    for (const std::string& name : returned)
        out.push_back(buffers.arrays.at(name));
    return out;
}

} // namespace tilewright::translator::harness
