// translator/parts/split_reduction.cpp: cuts a program at its reductions over the rows.
#include "translator/parts/split_reduction.h"

#include <algorithm>
#include <map>
#include <optional>

#include "translator/ir/attributes.h"
#include "translator/ir/builder.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/parts/rows.h"

namespace tilewright::translator {
namespace {

using Operations = std::vector<Operation>;

/// The values that an operation reads, in its regions too, those that it defines itself included.
std::set<std::string> reads_of(const Operation& operation) {
    std::set<std::string> names;
    walk_operation(operation, [&](const Operation& each) {
        names.insert(each.operands.begin(), each.operands.end());
        for (const Block& region : each.regions)
            names.insert(region.yields.begin(), region.yields.end());
    });
    return names;
}

/// Calls see(name, type) for each result and parameter, in regions too.
template <class See> void for_each_definition(const Operation& operation, const See& see) {
    walk_operation(operation, [&](const Operation& each) {
        for (const auto& [name, type] : results_of(each))
            see(name, type);
        for (const Block& region : each.regions)
            for (const auto& [name, type] : region.parameters)
                see(name, type);
    });
}

using Renames = std::map<std::string, std::string>;

/// With other symbols: X.1 -> sums.1. A whole size may have a name too.
Size renamed(const Size& size, const Renames& names) {
    if (const auto whole = names.find(size.text()); whole != names.end()) return Size::symbol(whole->second);
    if (size.operands().empty()) return size;
    return Size::folded(size.op(), renamed(size.operands()[0], names), renamed(size.operands()[1], names));
}

void rename(Type& type, const Renames& names) {
    for (Size& extent : type.shape)
        extent = renamed(extent, names);
}

void rename(Operation& operation, const Renames& names) {
    walk_operation(operation, [&](Operation& each) {
        rename(each.type, names);
        for (auto& [name, type] : each.more_results)
            rename(type, names);
        each.attributes.map_sizes([&](const Size& size) { return renamed(size, names); });
        for (Block& region : each.regions)
            for (auto& [name, type] : region.parameters)
                rename(type, names);
    });
}

/// The symbols in the sizes of an operation.
void collect_all_symbols(const Operation& operation, std::set<std::string>& symbols) {
    const auto see = [&](const Size& size) { size.collect_symbols(symbols); };
    for_each_definition(operation,
                        [&](const std::string&, const Type& type) { std::ranges::for_each(type.shape, see); });
    walk_operation(operation, [&](const Operation& each) { each.attributes.for_each_size(see); });
}

class Splitter {
  public:
    Splitter(const Program& program, const Rows& rows, const std::set<std::string>& names)
        : program_(program), rows_(rows), values_(program), names_(values_.names()) {
        for (const std::string& name : names)
            names_.take(name);
    }

    std::optional<Partials> run() {
        if (!rows_.are_clear()) return std::nullopt;
        for (const Operation& operation : program_.body.operations)
            if (!take(operation)) return std::nullopt;
        const std::vector<std::string>& yields = program_.body.yields;
        if (std::ranges::any_of(yields, [&](const auto& name) { return rows_.is_argument(name); })) return std::nullopt;
        return made();
    }

  private:
    /// A result of `partial`: one row a part.
    struct Row {
        std::string value; ///< in `partial`, without the axis of the parts
        Type type;         ///< likewise
        std::string stack; ///< the argument of `total`
    };

    // ---- which operation belongs where ----------------------------------------------------------------------------

    bool take(const Operation& operation) {
        bool has_read = false;
        walk_operation(operation, [&](const Operation& each) { has_read = has_read || each.op == Op::read; });
        if (has_read) return false;
        const std::set<std::string> reads = reads_of(operation);
        const auto reads_some = [&](const std::set<std::string>& names) {
            return std::ranges::any_of(reads, [&](const std::string& name) { return names.count(name) != 0; });
        };
        if (operation.op == Op::scalar_size && rows_.speaks_of_it(operation.attributes.at(attr::size)))
            return take_length(operation);
        const bool is_later = reads_some(later_);
        const bool is_of_rest = reads_some(rest_) || (is_later && touches_rows(operation, reads));
        if (is_of_rest || is_later) {
            if (!is_of_rest && !rows_.fits(operation)) return false;
            for (const auto& [name, type] : results_of(operation))
                (is_of_rest ? rest_ : later_).insert(name);
            if (!is_of_rest) total_.push_back(operation);
            return true;
        }
        if (is_cut(operation)) return take_cut(operation);
        if (!rows_.fits(operation)) return false;
        partial_.push_back(operation);
        // What has no rows may be needed behind the reductions too.
        if (!touches_rows(operation, reads)) total_.push_back(operation);
        return true;
    }

    bool touches_rows(const Operation& operation, const std::set<std::string>& reads) const {
        std::set<std::string> names = reads;
        for_each_definition(operation, [&](const std::string& name, const Type&) { names.insert(name); });
        return std::ranges::any_of(names, [&](const std::string& name) { return rows_.place_of(name) != Rows::kNone; });
    }

    /// Whether the rows are reduced here, and nothing of them is left.
    bool is_cut(const Operation& operation) const {
        if (!operation.regions.empty() || rows_.place_of(operation.result) != Rows::kNone) return false;
        if (operation.op == Op::matmul)
            return rows_.place_of(operation.operands[0]) == rows_.rank_of(operation.operands[0]) - 1 &&
                   rows_.place_of(operation.operands[1]) == rows_.rank_of(operation.operands[1]) - 2;
        if (!is_reduction(operation.op)) return false;
        const std::vector<int> axes = reduced_axes(operation);
        return std::ranges::count(axes, rows_.place_of(operation.operands[0])) != 0;
    }

    void at_line(int line) {
        in_partial_.at_line(line);
        in_total_.at_line(line);
    }

    // ---- reductions -----------------------------------------------------------------------------------------------

    /// A value of `partial` with an axis for the parts in front: the argument of `total` that has it of all parts.
    const Row& row_of(const std::string& value, const Type& type) {
        const std::string wish = value[0] == '%' ? "part" : value + "_parts";
        rows_given_.push_back({value, type, names_.named(wish)});
        return rows_given_.back();
    }
    /// `kParts`, in place of the extent that the stacks have in common, until they are named.
    Type stacked(const Type& type) const {
        Type out = type;
        out.shape.insert(out.shape.begin(), Size::symbol(kParts));
        return out;
    }

    bool take_cut(const Operation& operation) {
        // Sums of parts would be rounded to float16 before they are added.
        if (operation.type.dtype == "float16" && has_trait(operation.op, Trait::ordered)) return false;
        at_line(operation.line);
        partial_.push_back(operation);
        later_.insert(operation.result);
        if (is_search(operation.op)) {
            take_search(operation);
            return true;
        }
        const Row& row = row_of(operation.result, operation.type);
        const Op op = operation.op == Op::matmul ? (operation.type.dtype == "bool" ? Op::any : Op::sum) : operation.op;
        in_total_.emit(operation.result, operation.type, op, {row.stack}, {attr::axes({0})});
        return true;
    }

    /// The first part whose best value is best has the position, which counts from where that part begins.
    void take_search(const Operation& operation) {
        const std::string& operand = operation.operands[0];
        const bool is_min = operation.op == Op::argmin;
        const Type best_type{rows_.type_of(operand).dtype, operation.type.shape};
        const std::string best = names_.named(is_min ? "least" : "most");
        in_partial_.emit(best, best_type, is_min ? Op::min : Op::max, {operand},
                         {attr::axes({operation.attributes.at(attr::axis)})});
        const std::string positions = row_of(operation.result, operation.type).stack;
        const std::string bests = row_of(best, best_type).stack;
        const std::string lengths = length_of_parts();

        const Type one{"int64", {}}, a_part = stacked(one), a_truth{"bool", {Size::symbol(kParts)}};
        const Size unit = Size::integer(1);
        const std::string zero = in_total_.add(one, Op::constant, {}, {attr::value("0")});
        const std::string part = in_total_.add(a_part, Op::iota, {}, {attr::axis(0)});
        const std::string column = in_total_.add({"int64", {a_part.shape[0], unit}}, Op::index, {part},
                                                 {attr::index({IndexEntry::all(), IndexEntry::newaxis()})});
        const std::vector<Size> square{a_part.shape[0], a_part.shape[0]};
        const std::string before = in_total_.add({"bool", square}, Op::less, {part, column});
        const std::string counted = in_total_.add({"int64", square}, Op::where, {before, lengths, zero});
        std::string begins = in_total_.add(a_part, Op::sum, {counted}, {attr::axes({1})});
        std::string numbers = part;
        if (!operation.type.shape.empty()) {
            Type spread = a_part;
            std::vector<IndexEntry> index{IndexEntry::all()};
            for (std::size_t k = 0; k < operation.type.shape.size(); ++k) {
                spread.shape.push_back(unit);
                index.push_back(IndexEntry::newaxis());
            }
            begins = in_total_.add(spread, Op::index, {begins}, {attr::index(index)});
            numbers = in_total_.add(spread, Op::index, {numbers}, {attr::index(index)});
        }
        const Type all = stacked(operation.type);
        const std::string first = in_total_.add(operation.type, operation.op, {bests}, {attr::axis(0)});
        const std::string is_there = in_total_.add({"bool", all.shape}, Op::equal, {numbers, first});
        const std::string whole = in_total_.add(all, Op::add, {positions, begins});
        const std::string there = in_total_.add(all, Op::where, {is_there, whole, zero});
        in_total_.emit(operation.result, operation.type, Op::sum, {there}, {attr::axes({0})});
    }

    // ---- lengths --------------------------------------------------------------------------------------------------

    /// A size that `total` gets from the first part.
    std::string symbol_value(const std::string& symbol) {
        return in_total_.add({"int64", {}}, Op::scalar_size, {}, {attr::size(Size::symbol(symbol))});
    }

    /// A size as a result of each part.
    const Row& row_of_size(const std::string& symbol) {
        const Type one{"int64", {}};
        return row_of(in_partial_.add(one, Op::scalar_size, {}, {attr::size(Size::symbol(symbol))}), one);
    }

    /// How many rows each part has.
    std::string length_of_parts() {
        if (lengths_.empty()) lengths_ = row_of_size(rows_.extent()).stack;
        return lengths_;
    }

    /// A size of the whole call as a value: the length of the rows is beyond what a size can be.
    std::optional<std::string> value_of(const Size& tree) {
        const Type one{"int64", {}};
        if (tree.is_constant())
            return in_total_.add(one, Op::constant, {}, {attr::value(std::to_string(tree.constant()))});
        if (tree.op() == Size::Op::symbol) {
            if (tree.name() != rows_.extent()) return symbol_value(tree.name());
            return in_total_.add(one, Op::sum, {length_of_parts()}, {attr::axes({0})});
        }
        const Size &left = tree.operands()[0], &right = tree.operands()[1];
        const bool divides = tree.op() == Size::Op::floordiv || tree.op() == Size::Op::mod;
        if (divides && (!right.is_constant() || right.constant() <= 0)) return std::nullopt;
        const std::optional<std::string> a = value_of(left);
        const std::optional<std::string> b = a ? value_of(right) : std::nullopt;
        if (!b) return std::nullopt;
        return in_total_.add(one, operation_for(tree.op()), {*a, *b});
    }

    bool take_length(const Operation& operation) {
        at_line(operation.line);
        const std::optional<std::string> value = value_of(operation.attributes.at(attr::size));
        if (!value) return false;
        // The last operation is the one whose value that is.
        total_.back().result = operation.result;
        later_.insert(operation.result);
        return true;
    }

    // ---- the programs ---------------------------------------------------------------------------------------------

    Program empty(const char* suffix) const {
        Program out;
        out.function = program_.function + suffix;
        out.file = program_.file;
        return out;
    }

    std::optional<Partials> made() {
        Program total = empty("_total");
        total.body.operations = total_;
        for (const Check& check : program_.checks) // nothing is written until then
            if (rest_.count(check.value) == 0) total.checks.push_back(check);
        std::vector<Row> handed;
        const std::vector<std::size_t> kept = results_of_total();
        const std::vector<std::string>& yields = program_.body.yields;
        const bool has_rest = !rest_.empty() || !program_.writes.empty() || kept.size() < yields.size();
        std::optional<Program> rest;
        if (has_rest) rest = rest_program(handed);
        give(total, handed);
        for (const std::size_t k : kept) {
            total.body.yields.push_back(yields[k]);
            total.conversions.push_back(program_.conversions[k]);
        }
        total.returns_tuple = has_rest || program_.returns_tuple;
        total = without_dead_code(total);

        std::set<std::string> used(total.body.yields.begin(), total.body.yields.end()), words;
        for (const Check& check : total.checks)
            used.insert(check.value);
        for (const Operation& operation : total.body.operations) {
            used.merge(reads_of(operation));
            collect_all_symbols(operation, words);
        }
        std::vector<Row> given;
        for (const Row& row : rows_given_)
            if (used.count(row.stack) != 0) given.push_back(row);
        if (given.empty()) return std::nullopt; // nothing is reduced

        std::map<std::string, std::string> names{{kParts, given[0].stack + ".0"}};
        for (const Row& row : given)
            for (std::size_t k = 0; k < row.type.shape.size(); ++k)
                if (const Size& extent = row.type.shape[k]; !extent.is_constant())
                    names.emplace(extent.text(), row.stack + "." + std::to_string(k + 1));
        for (const Row& row : given)
            total.arrays.push_back({row.stack, stacked(row.type)});
        for (const std::string& name : program_.argument_order)
            if (is_needed(name, used, words)) keep_argument(name, names, total);
        take_sizes_from_partial(words, names, given, total);
        for (ArrayArgument& argument : total.arrays) {
            rename(argument.type, names);
            total.argument_order.push_back(argument.name);
        }
        for (const ScalarArgument& argument : total.scalars)
            total.argument_order.push_back(argument.name);
        for (Operation& operation : total.body.operations)
            rename(operation, names);
        if (!knows_its_sizes(total)) return std::nullopt;
        Partials out{rows_.arguments(), {}, partial_program(given), std::move(total), std::move(rest), {}, {}};
        for (const Row& row : given)
            out.stacks.push_back(row.stack);
        for (const Row& row : handed)
            out.handed.push_back(row.stack);
        if (has_rest) out.kept = kept;
        return out;
    }

    /// Arguments in parts are not there any more.
    bool is_needed(const std::string& name, const std::set<std::string>& used,
                   const std::set<std::string>& words) const {
        const bool is_array = std::ranges::find(program_.arrays, name, &ArrayArgument::name) != program_.arrays.end();
        if (is_array && rows_.place_of(name) != Rows::kNone) return false;
        const auto is_own = [&](const std::string& word) {
            return is_array ? word.starts_with(name + ".") : word == name;
        };
        return used.count(name) != 0 || std::ranges::any_of(words, is_own);
    }

    void keep_argument(const std::string& name, Renames& names, Program& total) const {
        for (const ScalarArgument& argument : program_.scalars)
            if (argument.name == name) total.scalars.push_back(argument);
        for (const ArrayArgument& argument : program_.arrays) {
            if (argument.name != name) continue;
            total.arrays.push_back(argument);
            // Where no result of `partial` has the extent, this argument does.
            for (std::size_t k = 0; k < argument.type.shape.size(); ++k)
                if (const Size& extent = argument.type.shape[k]; !extent.is_constant())
                    names.emplace(extent.text(), name + "." + std::to_string(k));
        }
    }

    /// Extents of arguments that are given in parts, as far as they are values: each part says them.
    void take_sizes_from_partial(const std::set<std::string>& words, const Renames& names, std::vector<Row>& given,
                                 Program& total) {
        at_line(0);
        std::set<std::string> missing;
        for (const std::string& argument : rows_.arguments())
            for (const std::string& word : words)
                if (word.starts_with(argument + ".") && names.count(word) == 0) missing.insert(word);
        for (const std::string& symbol : missing) {
            const Row row = row_of_size(symbol);
            given.push_back(row);
            total.arrays.insert(total.arrays.begin() + static_cast<std::ptrdiff_t>(given.size()) - 1,
                                {row.stack, stacked(row.type)});
            for (Operation& operation : total.body.operations) {
                if (operation.op != Op::scalar_size || operation.attributes.at(attr::size) != Size::symbol(symbol))
                    continue;
                operation.op = Op::index;
                operation.operands = {row.stack};
                operation.attributes = {attr::index({IndexEntry::position(Size::integer(0))})};
            }
        }
    }

    /// Whether its arguments have every symbol that is left.
    static bool knows_its_sizes(const Program& total) {
        std::set<std::string> known, words;
        for (const ArrayArgument& argument : total.arrays)
            for (std::size_t k = 0; k < argument.type.shape.size(); ++k) {
                known.insert(argument.name + "." + std::to_string(k));
                argument.type.shape[k].collect_symbols(words);
            }
        for (const Operation& operation : total.body.operations)
            collect_all_symbols(operation, words);
        return std::ranges::all_of(words, [&](const std::string& word) {
            return word.find('.') == std::string::npos || known.count(word) != 0;
        });
    }

    /// The program's arguments, for parts of the rows.
    Program of_parts(const char* suffix) const {
        Program out = program_;
        out.function = program_.function + suffix;
        // What is said of all rows was asked of the whole call.
        std::erase_if(out.guards, [&](const Guard& guard) { return !rows_.fits(guard); });
        return out;
    }

    static Type as_row(Type type) {
        type.shape.insert(type.shape.begin(), Size::integer(1));
        return type;
    }
    static Attribute all_behind(IndexEntry first, const Type& type) {
        std::vector<IndexEntry> entries(type.shape.size(), IndexEntry::all());
        entries.insert(entries.begin(), std::move(first));
        return attr::index(entries);
    }

    /// Makes each value a result of one row.
    void give(Program& program, const std::vector<Row>& values) {
        program.body.yields.clear();
        for (const Row& each : values) {
            const std::string name = names_.named(each.stack + "_row");
            program.body.operations.push_back(make_operation(name, as_row(each.type), Op::index, {each.value},
                                                             {all_behind(IndexEntry::newaxis(), each.type)}));
            program.body.yields.push_back(name);
        }
        program.conversions.assign(values.size(), "");
        program.returns_tuple = true;
    }

    Program partial_program(const std::vector<Row>& given) {
        Program out = of_parts("_partial");
        out.checks.clear();
        out.writes.clear();
        out.body.operations = partial_;
        give(out, given);
        return without_dead_code(out);
    }

    bool is_of_total(const std::string& name) const {
        return rest_.count(name) == 0 && rows_.place_of(name) == Rows::kNone;
    }
    std::vector<std::size_t> results_of_total() const {
        std::vector<std::size_t> found;
        for (std::size_t k = 0; k < program_.body.yields.size(); ++k)
            if (is_of_total(program_.body.yields[k])) found.push_back(k);
        return found;
    }

    /// All but the reductions and what follows from them alone, which it is handed. What the reductions read is
    /// computed anew, where it is needed: memory for it would be as large as the arguments.
    Program rest_program(std::vector<Row>& handed) {
        Program out = of_parts("_rest");
        out.checks.clear();
        for (const Check& check : program_.checks)
            if (rest_.count(check.value) != 0) out.checks.push_back(check);
        out.body.operations.clear();
        for (const Operation& operation : program_.body.operations)
            if (later_.count(operation.result) == 0) out.body.operations.push_back(operation);
        out.body.yields.clear();
        out.conversions.clear();
        for (std::size_t k = 0; k < program_.body.yields.size(); ++k) {
            if (is_of_total(program_.body.yields[k])) continue;
            out.body.yields.push_back(program_.body.yields[k]);
            out.conversions.push_back(program_.conversions[k]);
        }
        out.returns_tuple = program_.returns_tuple && !out.body.yields.empty();
        out = without_dead_code(out);
        std::set<std::string> read;
        for (const Operation& operation : out.body.operations)
            read.merge(reads_of(operation));
        Operations opening;
        for (const std::string& name : later_) {
            if (read.count(name) == 0) continue;
            const Type& type = rows_.type_of(name);
            const std::string argument = names_.named(name[0] == '%' ? "whole" : name + "_whole");
            handed.push_back({name, type, argument});
            out.arrays.push_back({argument, as_row(type)});
            out.argument_order.push_back(argument);
            opening.push_back(make_operation(name, type, Op::index, {argument},
                                             {all_behind(IndexEntry::position(Size::integer(0)), type)}));
        }
        out.body.operations.insert(out.body.operations.begin(), opening.begin(), opening.end());
        return out;
    }

    static constexpr const char* kParts = "..parts"; ///< no symbol of a program

    // In this order: the later ones refer to the earlier ones.
    const Program& program_;
    const Rows& rows_;
    Values values_;
    FreshNames& names_;
    std::set<std::string> later_; ///< values that only `total` has
    std::set<std::string> rest_;  ///< values of rows that need those, and what is made of them
    Operations partial_, total_;
    std::vector<Row> rows_given_;
    std::string lengths_;
    Builder in_partial_{values_, partial_}, in_total_{values_, total_};
};

/// Whether these arguments may be given in parts, in one pass or in more. A rest has fewer reductions than its program.
bool is_served(const Program& rest, const std::vector<std::string>& rows) {
    const auto are_all_in = [&](const std::vector<std::string>& names) {
        return std::ranges::all_of(
            rows, [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); });
    };
    return are_all_in(sliced_arguments(rest)) || std::ranges::any_of(partials_of(rest), are_all_in, &Partials::rows);
}

} // namespace

std::vector<Partials> partials_of(const Program& program, const std::set<std::string>& taken) {
    std::vector<Partials> all;
    for (const std::string& extent : extents_of_rows(program)) {
        const Rows rows(program, extent);
        std::optional<Partials> found = Splitter(program, rows, taken).run();
        if (found && (!found->rest || is_served(*found->rest, found->rows))) all.push_back(std::move(*found));
    }
    return all;
}

} // namespace tilewright::translator
