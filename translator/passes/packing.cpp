// translator/passes/packing.cpp: which arguments are worth a copy with their axes exchanged, and who reads it.
#include "translator/passes/packing.h"

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/fresh_names.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

constexpr std::int64_t kMostBytes = 1 << 20;
/// Reading each column this often costs more than a copy and reading its rows.
constexpr std::int64_t kFewestReads = 4;

constexpr const char* kCopied = "copied";
constexpr const char* kInPlace = "in_place";

class Copier {
  public:
    Copier(Prepared& prepared, const TranslateOptions& options)
        : prepared_(prepared), program_(prepared.program), options_(options), names_(names_of(prepared.program)) {}

    void run() {
        std::map<std::string, std::int64_t> candidates; ///< and how often their columns are read
        for (const ArrayArgument& argument : program_.arrays) {
            if (!may_be_copied(argument)) continue;
            array_ = argument.name;
            reads_ = 0;
            find(program_.body);
            if (reads_ > 1) candidates[argument.name] = reads_;
        }
        for (const auto& [name, reads] : candidates) {
            array_ = name;
            decide(reads, kMostBytes / static_cast<std::int64_t>(candidates.size()));
        }
    }

  private:
    Prepared& prepared_;
    Program& program_;
    const TranslateOptions& options_;
    FreshNames names_;
    std::string array_;                   ///< whose reads are looked for
    std::int64_t reads_ = 0;              ///< of each column, at most
    std::vector<const Operation*> loops_; ///< around the block

    /// About `array_`, whose copy may take `bytes`.
    void decide(std::int64_t reads, std::int64_t bytes) {
        const auto argument = std::find_if(program_.arrays.begin(), program_.arrays.end(),
                                           [&](const ArrayArgument& each) { return each.name == array_; });
        const std::int64_t most = bytes / find_dtype(argument->type.dtype)->bytes;
        const Size elements = product(argument->type.shape);
        const auto here = evaluate(elements, options_.sizes_here);
        const bool fits = !here || *here <= most;
        const bool pays = reads >= kFewestReads && fits;
        VariantInfo variant{names_.named(array_ + "_columns"),
                            {pays ? kCopied : kInPlace, pays ? kInPlace : kCopied},
                            "columns of an argument from a copy with its axes exchanged, or from where they lie"};
        const std::string choice = chosen(variant);
        prepared_.chosen[variant.name] = choice;
        if (choice == kCopied) {
            copy(*argument, variant.name);
            if (!elements.is_constant() || elements.constant() > most)
                prepared_.requirements.push_back(elements.text() + " <= " + std::to_string(most));
        }
        if (!fits) variant.options = {kInPlace};
        prepared_.variants.push_back(std::move(variant));
    }

    bool may_be_copied(const ArrayArgument& argument) const {
        if (argument.type.shape.size() != 2 || find_dtype(argument.type.dtype)->is_complex()) return false;
        const auto layout = options_.layouts.find(argument.name);
        if (layout != options_.layouts.end() && layout->second != Layout::c) return false;
        return std::none_of(program_.writes.begin(), program_.writes.end(),
                            [&](const Write& write) { return write.argument == argument.name; });
    }

    std::string chosen(const VariantInfo& variant) const {
        const auto given = options_.variant.find(variant.name);
        if (given == options_.variant.end()) return variant.options.front();
        if (given->second != kCopied && given->second != kInPlace)
            throw TranslateError(program_.function + ": variant " + variant.name + " = " + given->second +
                                     ": no such option here.",
                                 std::string("Take one of: ") + kCopied + ", " + kInPlace + ".");
        return given->second;
    }

    /// How often a read of a column is repeated, by loops around it that the column does not follow. 0 where it is no
    /// such read, or always of one column.
    std::int64_t repeats(const Operation& operation) const {
        if (operation.op != Op::index || operation.operands[0] != array_) return 0;
        const std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        if (entries.size() != 2 || entries[0].kind != IndexEntry::Kind::slice ||
            entries[1].kind != IndexEntry::Kind::position)
            return 0;
        std::set<std::string> symbols;
        entries[1].start.collect_symbols(symbols);
        bool moves = false;
        std::int64_t times = 1;
        for (const Operation* loop : loops_) {
            if (loop->op == Op::for_loop && symbols.count(loop->attributes.at(attr::variable)) != 0) {
                moves = true;
                continue;
            }
            const auto iterations =
                loop->op == Op::for_loop ? evaluate(iterations_of(*loop), options_.sizes_here) : std::nullopt;
            times = std::min<std::int64_t>(
                times * std::clamp<std::int64_t>(iterations.value_or(kFewestReads), 0, 1 << 20), 1 << 20);
        }
        return moves ? times : 0;
    }

    void find(const Block& block) {
        for (const Operation& operation : block.operations) {
            reads_ = std::max(reads_, repeats(operation));
            const bool loop = operation.op == Op::for_loop || operation.op == Op::while_loop;
            if (loop) loops_.push_back(&operation);
            for (const Block& inner : operation.regions)
                find(inner);
            if (loop) loops_.pop_back();
        }
    }

    /// Reads in the block become reads of the copy; whether there are any.
    bool redirect(Block& block, const std::string& name) {
        bool any = false;
        for (Operation& operation : block.operations) {
            if (repeats(operation) > 0) {
                operation.operands[0] = name;
                exchange_axes(operation.attributes);
                any = true;
            }
            const bool loop = operation.op == Op::for_loop || operation.op == Op::while_loop;
            if (loop) loops_.push_back(&operation);
            for (Block& inner : operation.regions)
                any = redirect(inner, name) || any;
            if (loop) loops_.pop_back();
        }
        return any;
    }

    /// In front of the first loop that reads it.
    void copy(const ArrayArgument& argument, const std::string& name) {
        Type type = argument.type;
        std::swap(type.shape[0], type.shape[1]);
        Operation turned =
            make_operation(names_.named("%" + name), type, Op::transpose, {argument.name}, {attr::axes({1, 0})});
        Operation copy = make_operation(name, type, Op::cast, {turned.result});
        std::vector<Operation> out;
        bool made = false;
        for (Operation& operation : program_.body.operations) {
            Block alone;
            alone.operations.push_back(std::move(operation));
            if (redirect(alone, name) && !std::exchange(made, true)) {
                copy.line = turned.line = alone.operations.front().line;
                out.push_back(turned);
                out.push_back(copy);
            }
            out.push_back(std::move(alone.operations.front()));
        }
        program_.body.operations = std::move(out);
    }
};

} // namespace

Prepared packing(const Prepared& prepared, const TranslateOptions& options) {
    Prepared out = prepared;
    Copier(out, options).run();
    return out;
}

} // namespace tilewright::translator
