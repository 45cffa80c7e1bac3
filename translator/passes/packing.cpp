// translator/passes/packing.cpp: which arguments are worth a copy with their axes exchanged, and who reads it.
#include "translator/passes/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/fresh_names.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

/// Of all copies: beside these no program needs noticeably more memory than NumPy.
constexpr std::int64_t kMostBytes = 1 << 20;
/// Reading each column this often costs more than a copy and reading its rows.
constexpr std::int64_t kFewestReads = 4;
/// Reading each so often costs many times that, as long as caches hold the copy: a loop until convergence.
constexpr std::int64_t kManyReads = 16, kMostBytesOfMany = 16 << 20;

constexpr const char* kCopied = "copied";
constexpr const char* kInPlace = "in_place";

class Copier {
  public:
    Copier(Prepared& prepared, const TranslateOptions& options)
        : prepared_(prepared), program_(prepared.program), options_(options), names_(Values(prepared.program).names()) {
    }

    void run() {
        std::map<std::string, std::int64_t> candidates; ///< and how often their columns are read
        const auto see = [&](const Operation& operation, const std::vector<const Operation*>& around) {
            const std::int64_t times = repeats(operation, around);
            if (times <= 1) return;
            std::int64_t& most = candidates[operation.operands[0]];
            most = std::max(most, times);
        };
        walk_inside(program_.body, see);
        std::erase_if(candidates, [&](const auto& each) { return !may_be_copied(each.first); });
        for (const auto& [name, reads] : candidates)
            decide(name, reads,
                   (reads >= kManyReads ? kMostBytesOfMany : kMostBytes) /
                       static_cast<std::int64_t>(candidates.size()));
    }

  private:
    Prepared& prepared_;
    Program& program_;
    const TranslateOptions& options_;
    FreshNames names_;

    const ArrayArgument* find_argument(const std::string& name) const {
        const auto found = std::ranges::find(program_.arrays, name, &ArrayArgument::name);
        return found == program_.arrays.end() ? nullptr : &*found;
    }

    /// About an argument, whose copy may take `bytes`.
    void decide(const std::string& array, std::int64_t reads, std::int64_t bytes) {
        const ArrayArgument* const argument = find_argument(array);
        const std::int64_t most = bytes / find_dtype(argument->type.dtype)->bytes;
        const Size elements = product(argument->type.shape);
        const auto here = evaluate(elements, options_.sizes_here);
        const bool fits = !here || *here <= most;
        const bool pays = reads >= kFewestReads && fits;
        VariantInfo variant{names_.named(array + "_columns"),
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

    bool may_be_copied(const std::string& array) const {
        const ArrayArgument* const argument = find_argument(array);
        if (argument == nullptr || argument->type.shape.size() != 2) return false;
        if (find_dtype(argument->type.dtype)->is_complex()) return false;
        if (options_.layout(array) != Layout::c) return false;
        return std::none_of(program_.writes.begin(), program_.writes.end(),
                            [&](const Write& write) { return write.argument == array; });
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
    std::int64_t repeats(const Operation& operation, const std::vector<const Operation*>& around) const {
        if (operation.op != Op::index) return 0;
        const std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        if (entries.size() != 2 || entries[0].kind != IndexEntry::Kind::slice ||
            entries[1].kind != IndexEntry::Kind::position)
            return 0;
        std::set<std::string> symbols;
        entries[1].start.collect_symbols(symbols);
        bool moves = false;
        std::int64_t times = 1;
        for (const Operation* loop : around) {
            if (loop->op == Op::if_else) continue;
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

    /// In front of the first loop that reads it.
    void copy(const ArrayArgument& argument, const std::string& name) {
        Type type = argument.type;
        std::swap(type.shape[0], type.shape[1]);
        const std::string turned = names_.named("%" + name);
        bool reads = false, made = false;
        rewrite<Order::inner_first>(program_.body, [&](Operation& operation, Place& place) {
            if (repeats(operation, place.around) > 0 && operation.operands[0] == argument.name) {
                operation.operands[0] = name;
                exchange_axes(operation.attributes);
                reads = true;
            }
            if (reads && place.around.empty() && !std::exchange(made, true)) {
                place.out.push_back(
                    make_operation(turned, type, Op::transpose, {argument.name}, {attr::axes({1, 0})}, operation.line));
                place.out.push_back(make_operation(name, type, Op::cast, {turned}, {}, operation.line));
            }
            return Fate::keeps;
        });
    }
};

} // namespace

Prepared packing(const Prepared& prepared, const TranslateOptions& options) {
    Prepared out = prepared;
    Copier(out, options).run();
    return out;
}

} // namespace tilewright::translator
