// translator/ir/values.h: the values of a program, by name: where each comes from, who reads it, and names for more.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "translator/ir/fresh_names.h"
#include "translator/ir/program.h"

namespace tilewright::translator {

/// What is read under another name: old name -> new name.
using Renamed = std::map<std::string, std::string>;

/// Each value of a program: its type, what makes it, and its users. It refers to the program, which has to stay as it
/// is: a pass reads the program that came and changes a copy of it.
class Values {
  public:
    explicit Values(const Program& program);
    /// Of one block: nothing of what stands around it is known.
    explicit Values(const Block& block) : body_(&block) { define(block, nullptr); }
    explicit Values(Program&&) = delete;
    Values(const Values&) = delete; // entries point into declared_
    Values(Values&&) = default;

    bool has(const std::string& name) const { return values_.count(name) != 0; }
    const Type& type(const std::string& name) const { return *values_.at(name).type; }
    /// The operation whose result it is; null for arguments, parameters, and what was declared behind.
    const Operation* made_by(const std::string& name) const;
    /// The same, where it is that operation; else null.
    const Operation* made_by(const std::string& name, Op op) const;
    /// The loop whose region has it as a parameter; null for others.
    const Operation* carried_by(const std::string& name) const;
    /// Its place among the results or parameters.
    std::size_t position(const std::string& name) const { return values_.at(name).position; }

    /// Calls see(name, type) for each of them, in no order.
    template <class See> void for_each(const See& see) const {
        for (const auto& [name, value] : values_)
            see(name, *value.type);
    }

    /// The operations that have it as an operand, in the order of the text; one that has it twice comes twice.
    const std::vector<const Operation*>& users(const std::string& name) const { return uses_of(name).users; }
    /// How often it is an operand, or yielded, returned, checked or written.
    int uses(const std::string& name) const { return uses_of(name).count; }

    /// One value more, or another type of one.
    void declare(const std::string& name, Type type);
    /// Names that none of them has, and no index of a loop.
    FreshNames& names();
    /// The %N among them are above all that are there from the start, not in gaps between them.
    void number_above() { above_ = true; }

  private:
    struct Value {
        const Type* type = nullptr;
        const Operation* operation = nullptr;
        std::size_t position = 0;
        bool is_parameter = false;
    };
    struct Uses {
        int count = 0;
        std::vector<const Operation*> users;
    };

    void define(const Block& block, const Operation* around);
    void count_uses() const;
    const Uses& uses_of(const std::string& name) const;

    const Program* program_ = nullptr; ///< null for those of a block
    const Block* body_;
    std::unordered_map<std::string, Value> values_;
    mutable std::unordered_map<std::string, Uses> uses_; ///< once somebody asks
    mutable bool counted_ = false;
    std::deque<Type> declared_;
    std::optional<FreshNames> names_; ///< once somebody asks
    bool above_ = false;
};

/// `result: type = op(operands) attributes`, without regions.
Operation make_operation(std::string result, Type type, Op op, std::vector<std::string> operands,
                         Attributes attributes = {}, int line = 0);

/// Whoever reads a value of `renamed` reads the other one, and what that is renamed to.
void replace_uses(Block& block, const Renamed& renamed);
/// Checks and writes too.
void replace_all_uses(Program& program, const Renamed& renamed);

/// The symbols in an operation's extents, positions and sizes. Limits of loops and reads are not among them.
void collect_symbols(const Operation& operation, std::set<std::string>& symbols);

/// The check that has seen the positions of a take; -1 where none has.
int check_of(const Operation& take);

/// The reduced axes of a reduction, ascending.
std::vector<int> reduced_axes(const Operation& operation);

/// All results of an operation, the first one first.
std::vector<std::pair<std::string, Type>> results_of(const Operation& operation);

} // namespace tilewright::translator
