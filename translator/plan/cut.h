// translator/plan/cut.h: what a cut knows of the program and of its memory so far. For the files cut*.cpp alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "translator/ir/fresh_names.h"
#include "translator/ir/values.h"
#include "translator/loops/access.h"
#include "translator/plan/steps.h"

namespace tilewright::translator {

using Names = std::set<std::string>;

struct Cut {
    Cut(const Program& of, bool for_device);

    const Program& program;
    const bool device;
    const Values values;
    Stepped out;
    std::map<std::string, std::string> places;     ///< value -> buffer
    std::vector<MovingSize> symbols;               ///< of the loops around, and sizes that were read
    Names scalars, written;                        ///< arguments
    Names read;                                    ///< every size that some block reads
    std::map<const Operation*, std::size_t> order; ///< in the program's text
    std::map<std::string, const Block*> homes;     ///< the block that defines a value; none for an argument

    const Block* home_of(const std::string& value) const;
    /// Null for what lies in memory.
    const Operation* operation_of(const std::string& value) const;
    bool is_temporary(const std::string& name) const;
    const Type& type_of_buffer(const std::string& name) const;
    std::string fresh_name(const std::string& value, const std::string& otherwise);
    AccessContext access_context() const;

    /// Whether a shape changes from iteration to iteration, or with a size that was read.
    bool moves(const Type& type) const;
    /// The most elements that a temporary needs, where its shape follows a loop around; nothing where that is not
    /// known.
    std::optional<Type> bounded(Type type) const;

    /// Values that have to be in memory so that `value` can be computed in another block, at any time.
    void roots(const std::string& value, Names& found) const;
    /// Names that the blocks of a region read from outside of it, and the sizes of the operation that were read.
    Names free_names(const Operation& operation) const;
    /// What is in memory, or `made`, of all that a value needs.
    void closure(const std::string& value, const Names& made, Names& found, Names& seen) const;
    /// Of all that an operation needs.
    void closure(const Operation& operation, const Names& made, Names& found, Names& seen) const;

    /// An array of one value: filled anew wherever it is changed.
    bool is_fill(const std::string& value) const;
    /// A 0-d truth as a condition of the plan, where it says something of sizes, loops' indices and integer arguments
    /// alone: on a device a value costs a kernel, a copy and a wait. nullopt for all else.
    std::optional<Size> plan_condition(const std::string& value) const;

  private:
    FreshNames names_;
    Names own_; ///< values whose name a buffer has

    void collect(const Block& block);
    /// Sizes that were read and stand in the types, positions and limits of an operation.
    Names sizes_of(const Operation& operation) const;
    /// An int64 as a size expression that cannot leave int64 where the value does not, nullopt for all else.
    std::optional<Size> plan_number(const std::string& value) const;
};

/// What happens at one place of a block: memory is made or written.
struct Item {
    enum class Kind { fresh, store, region, read, check };
    Kind kind = Kind::fresh;
    const Operation* operation = nullptr; ///< null for a check
    const Check* check = nullptr;
    Names reads = {};                  ///< values in memory, or made by other items of the block
    std::set<std::size_t> before = {}; ///< items that run before
    Names consumed = {};               ///< values whose memory it takes over
    Names saved = {};                  ///< of these the arguments that the call may still have to leave as they were
};

/// The items of a block, as they stand in the text and then the program's checks. `ends`: values that are read behind
/// the block. `takeable`: values of other blocks whose memory items may take over.
std::vector<Item> items_of(const Cut& cut, const Block& block, const Names& ends, const Names& takeable);

/// Of the results of a branch those that are, on both ways, what an array from outside is then, by that array: one
/// way updates it, the other one leaves it or updates it too.
std::map<std::string, std::string> changed_in_place(const Cut& cut, const Operation& branch);

} // namespace tilewright::translator
