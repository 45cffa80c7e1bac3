// translator/passes/split_complex.cpp: the walk over a program that makes pairs of its complex values.
#include "translator/passes/passes.h"

#include <optional>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/literal.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/passes/complex_formulas.h"

namespace tilewright::translator {
namespace {

bool is_complex(const Type& type) {
    return find_dtype(type.dtype)->is_complex();
}

Type half_of(const Type& type) {
    return Type{real_dtype(type.dtype), type.shape};
}

bool has_complex(const Program& program) {
    bool found = false;
    for (const ArrayArgument& argument : program.arrays)
        found = found || is_complex(argument.type);
    for (const ScalarArgument& argument : program.scalars)
        found = found || is_complex(Type{argument.dtype, {}});
    walk(program.body, [&](const Operation& operation) {
        found = found || is_complex(operation.type);
        for (const auto& [name, type] : operation.more_results)
            found = found || is_complex(type);
    });
    return found;
}

/// Comparisons of a magnitude with one number: the internal operation, seen from the magnitude's side.
std::optional<Op> magnitude_comparison(Op op, bool magnitude_first) {
    if (op == (magnitude_first ? Op::less : Op::greater)) return Op::magnitude_less;
    if (op == (magnitude_first ? Op::less_equal : Op::greater_equal)) return Op::magnitude_less_equal;
    if (op == (magnitude_first ? Op::greater : Op::less)) return Op::magnitude_greater;
    if (op == (magnitude_first ? Op::greater_equal : Op::less_equal)) return Op::magnitude_greater_equal;
    return std::nullopt;
}

class Splitter {
  public:
    explicit Splitter(const Program& program) : program_(program), values_(program), builder_(values_) {}

    Program run() {
        find_magnitudes();
        Program out = program_;
        out.body = Block();
        builder_.enter(out.body.operations);
        for (const ArrayArgument& argument : program_.arrays)
            split_argument(argument.name);
        for (const ScalarArgument& argument : program_.scalars)
            split_argument(argument.name);
        rewrite(program_.body);
        out.body.yields.clear();
        for (const std::string& name : program_.body.yields)
            out.body.yields.push_back(joined(name));
        for (Write& write : out.writes)
            write.value = joined(write.value);
        builder_.leave();
        return without_dead_code(out);
    }

  private:
    [[noreturn]] void refuse(const Operation& operation, const std::string& why) const {
        const std::string file = program_.file.empty() ? program_.function : program_.file;
        throw TranslateError(file + (operation.line > 0 ? ":" + std::to_string(operation.line) : "") + ": " +
                                 operation.result + " = " + call_text(operation) + ": " + why + ".",
                             "Let NumPy run this function.");
    }

    const Type& type_of(const std::string& name) const { return values_.type(name); }
    bool complex(const std::string& name) const { return halves_.count(name) != 0; }
    const Complex& halves(const std::string& name) const { return halves_.at(name); }

    void split_argument(const std::string& name) {
        if (!is_complex(type_of(name))) return;
        builder_.begin(0);
        Complex halves;
        for (const Op half : {Op::real, Op::imag}) {
            const std::string view = values_.names().named(name + "_" + text_of(half));
            builder_.emit(view, half_of(type_of(name)), half, {name});
            (half == Op::real ? halves.real : halves.imag) = builder_.value(view);
        }
        halves_[name] = halves;
        arguments_.insert(name);
    }

    /// The value that a half goes by, where the source gave it a name.
    const std::string& resolved(const std::string& name) const {
        auto found = same_.find(name);
        return found == same_.end() ? name : found->second;
    }

    /// A value that the program returns or writes, as one name.
    std::string joined(const std::string& name) {
        if (same_.count(name) != 0) {
            builder_.begin(0);
            builder_.name(builder_.value(same_.at(name)), name);
            same_.erase(name);
        }
        if (!complex(name) || arguments_.count(name) != 0) return name;
        if (auto found = joined_.find(name); found != joined_.end()) return found->second;
        const std::string whole = name[0] == '%' ? builder_.fresh() : name;
        builder_.at_line(0);
        builder_.emit(whole, Type(type_of(name)), Op::complex, {halves(name).real.name, halves(name).imag.name});
        return joined_[name] = whole;
    }

    /// Magnitudes that are compared with one number each time and read by nobody else.
    void find_magnitudes() {
        walk(program_.body, [&](const Operation& operation) {
            if (operation.op == Op::absolute && is_complex(type_of(operation.operands[0])))
                magnitudes_.emplace(operation.result, operation.operands[0]);
        });
        std::set<std::string> others(program_.body.yields.begin(), program_.body.yields.end());
        for (const Write& write : program_.writes)
            others.insert(write.value);
        walk(program_.body, [&](const Operation& operation) {
            for (const Block& region : operation.regions)
                others.insert(region.yields.begin(), region.yields.end());
            const std::vector<std::string>& operands = operation.operands;
            for (std::size_t k = 0; k < operands.size(); ++k) {
                bool compares = operands.size() == 2 && magnitude_comparison(operation.op, k == 0) &&
                                type_of(operands[1 - k]).shape.empty() && magnitudes_.count(operands[1 - k]) == 0;
                if (!compares) others.insert(operands[k]);
            }
        });
        for (const std::string& name : others)
            magnitudes_.erase(name);
    }

    void rewrite(const Block& block) {
        for (Operation operation : block.operations) {
            for (std::string& operand : operation.operands)
                operand = resolved(operand);
            builder_.begin(operation.line);
            if (!operation.regions.empty())
                region(operation);
            else
                split(operation);
        }
    }

    void define(const Operation& operation, const Complex& value) {
        if (operation.result[0] == '%') {
            halves_[operation.result] = value;
            return;
        }
        Value real = builder_.named(value.real, operation.result + "_real");
        // Equal halves are one value.
        Value imag = value.imag.name == value.real.name ? real : value.imag;
        halves_[operation.result] = {real, builder_.named(imag, operation.result + "_imag")};
    }

    /// A real result, under its own name.
    void define(const Operation& operation, const Value& value) { builder_.name(value, operation.result); }

    /// The same operation on each half.
    void each_half(const Operation& operation) {
        Complex out;
        for (bool real : {true, false}) {
            std::vector<std::string> operands;
            for (const std::string& operand : operation.operands) {
                const bool pair = complex(operand);
                operands.push_back(!pair ? operand : real ? halves(operand).real.name : halves(operand).imag.name);
            }
            (real ? out.real : out.imag) =
                builder_.make(operation.op, operands, half_of(operation.type), operation.attributes);
        }
        define(operation, out);
    }

    void split(const Operation& operation) {
        const Op op = operation.op;
        if (magnitudes_.count(operation.result) != 0) return;
        if (compares_magnitude(operation)) return;
        bool reads_complex = false;
        for (const std::string& operand : operation.operands)
            reads_complex = reads_complex || complex(operand);
        const bool gives_complex = is_complex(operation.type);
        if (!reads_complex && !gives_complex) return builder_.append(operation);
        std::vector<Complex> operands;
        for (const std::string& operand : operation.operands) {
            if (complex(operand)) operands.push_back(halves(operand));
        }
        if (op == Op::constant) {
            const auto& [real, imag] = halves_of(operation.attributes.at(attr::value));
            const std::string half = real_dtype(operation.type.dtype);
            halves_[operation.result] = {builder_.constant(real, half), builder_.constant(imag, half)};
            literals_[operation.result] = {real, imag};
        } else if (op == Op::complex) {
            halves_[operation.result] = {builder_.value(operation.operands[0]), builder_.value(operation.operands[1])};
        } else if (op == Op::cast) {
            cast(operation);
        } else if (op == Op::real || op == Op::imag) {
            define(operation, op == Op::real ? operands[0].real : operands[0].imag, operation.operands[0]);
        } else if (op == Op::absolute) {
            define(operation, hypot(operands[0].real, operands[0].imag));
        } else if (op == Op::power) {
            power(operation);
        } else if (op == Op::where || op == Op::negative || op == Op::positive || op == Op::rint) {
            each_half(operation);
        } else if (op == Op::index || op == Op::transpose || op == Op::reshape || op == Op::broadcast_to ||
                   op == Op::update || op == Op::take || op == Op::sum) {
            each_half(operation);
            if (op != Op::sum && op != Op::update && literals_.count(operation.operands[0]) != 0)
                literals_[operation.result] = literals_.at(operation.operands[0]);
        } else if (is_reduction(op) && info(op).signature == Signature::truths) {
            Operation reduced = operation;
            reduced.operands = {truth(operands[0]).name};
            builder_.append(reduced);
        } else if (op == Op::matmul) {
            matmul(operation, operands[0], operands[1]);
        } else if (const ComplexTest test = complex_test(op)) {
            define(operation, test(operands));
        } else if (const ComplexFormula formula = complex_formula(op)) {
            define(operation, formula(operands));
        } else {
            refuse(operation, "complex numbers have no translation here in this release");
        }
    }

    bool compares_magnitude(const Operation& operation) {
        if (operation.operands.size() != 2) return false;
        for (std::size_t k = 0; k < 2; ++k) {
            auto found = magnitudes_.find(operation.operands[k]);
            if (found == magnitudes_.end()) continue;
            const Complex& z = halves(found->second);
            Operation test = operation;
            test.op = *magnitude_comparison(operation.op, k == 0);
            test.operands = {z.real.name, z.imag.name, operation.operands[1 - k]};
            builder_.append(test);
            return true;
        }
        return false;
    }

    void cast(const Operation& operation) {
        const std::string& from = operation.operands[0];
        const std::string half = is_complex(operation.type) ? real_dtype(operation.type.dtype) : "";
        if (!complex(from)) {
            const Type type{half, operation.type.shape};
            Value real = type_of(from).dtype == half ? builder_.value(from) : builder_.make(Op::cast, {from}, type);
            Value zero = builder_.constant("0.0", half);
            if (!type.shape.empty()) zero = builder_.make(Op::broadcast_to, {zero.name}, type);
            return define(operation, Complex{real, zero});
        }
        if (!half.empty()) return each_half(operation);
        Operation real = operation;
        if (operation.type.dtype == "bool") return define(operation, truth(halves(from)));
        real.operands = {halves(from).real.name};
        builder_.append(real);
    }

    void power(const Operation& operation) {
        auto exponent = literals_.find(operation.operands[1]);
        if (exponent == literals_.end())
            refuse(operation, "a power of complex numbers has a translation for a constant whole exponent alone");
        const double n = std::stod(exponent->second.first);
        const double imag = std::stod(exponent->second.second);
        if (!(imag == 0 && n > -100 && n < 100 && n == static_cast<int>(n)))
            refuse(operation, "the exponent is no whole number between -100 and 100");
        Complex out = integer_power(halves(operation.operands[0]), static_cast<int>(n));
        // The exponent may have more elements than the base.
        const Type half = half_of(operation.type);
        if (!same_shape(builder_.type(out.real.name).shape, half.shape))
            out = {builder_.make(Op::broadcast_to, {out.real.name}, half),
                   builder_.make(Op::broadcast_to, {out.imag.name}, half)};
        define(operation, out);
    }

    void matmul(const Operation& operation, const Complex& a, const Complex& b) {
        const Type half = half_of(operation.type);
        auto product = [&](const Value& x, const Value& y) {
            return builder_.make(Op::matmul, {x.name, y.name}, half);
        };
        Value real = product(a.real, b.real) - product(a.imag, b.imag);
        Value imag = product(a.real, b.imag) + product(a.imag, b.real);
        define(operation, Complex{real, imag});
    }

    /// `name` of the source as one value or two, for operands and yields.
    std::vector<std::string> pieces(const std::string& name) const {
        if (!complex(name)) return {resolved(name)};
        return {halves(name).real.name, halves(name).imag.name};
    }

    /// The same for what is declared: results and carried values.
    std::vector<std::pair<std::string, Type>> declared(const std::string& name, const Type& type) {
        if (!is_complex(type)) return {{name, type}};
        std::vector<std::pair<std::string, Type>> out;
        for (const char* half : {"_real", "_imag"}) {
            out.emplace_back(name[0] == '%' ? builder_.fresh() : values_.names().named(name + half), half_of(type));
            values_.declare(out.back().first, out.back().second);
        }
        halves_[name] = {builder_.value(out[0].first), builder_.value(out[1].first)};
        return out;
    }

    template <class T> static void extend(std::vector<T>& all, const std::vector<T>& more) {
        all.insert(all.end(), more.begin(), more.end());
    }

    void region(const Operation& operation) {
        Operation out = operation;
        out.operands.clear();
        for (const std::string& operand : operation.operands)
            extend(out.operands, pieces(operand));
        std::vector<std::pair<std::string, Type>> parameters;
        for (const auto& [name, type] : operation.regions[0].parameters)
            extend(parameters, declared(name, type));
        for (std::size_t k = 0; k < operation.regions.size(); ++k) {
            Block block;
            if (!operation.regions[k].parameters.empty()) block.parameters = parameters;
            builder_.enter(block.operations);
            rewrite(operation.regions[k]);
            builder_.leave();
            for (const std::string& name : operation.regions[k].yields)
                extend(block.yields, pieces(name));
            out.regions[k] = std::move(block);
        }
        std::vector<std::pair<std::string, Type>> results = declared(operation.result, operation.type);
        for (const auto& [name, type] : operation.more_results)
            extend(results, declared(name, type));
        out.result = results[0].first;
        out.type = results[0].second;
        out.more_results.assign(results.begin() + 1, results.end());
        builder_.append(out);
    }

    /// The real or imaginary half of `of`.
    void define(const Operation& operation, const Value& half, const std::string& of) {
        // Of an argument it stays a view: NumPy's result shares its memory.
        if (arguments_.count(of) != 0) return builder_.append(operation);
        const bool wants_stage = operation.result[0] != '%' && half.name[0] == '%';
        if (wants_stage) return builder_.name(half, operation.result);
        same_[operation.result] = half.name;
    }

    const Program& program_;
    Values values_;
    ComplexBuilder builder_;
    std::map<std::string, Complex> halves_;
    std::map<std::string, std::pair<std::string, std::string>> literals_;
    std::map<std::string, std::string> magnitudes_; ///< magnitude -> the complex number
    std::map<std::string, std::string> joined_;
    std::map<std::string, std::string> same_; ///< name in the source -> the half that it is
    std::set<std::string> arguments_;
};

} // namespace

Program split_complex(const Program& program) {
    return has_complex(program) ? Splitter(program).run() : program;
}

} // namespace tilewright::translator
