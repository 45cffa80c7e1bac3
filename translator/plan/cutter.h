// translator/plan/cutter.h: the state of a cut, for the files cut*.cpp alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/values.h"
#include "translator/loops/access.h"
#include "translator/plan/steps.h"

namespace tilewright::translator {

using Names = std::set<std::string>;

/// What happens at one place of a block: memory is made or written.
struct Item {
    enum class Kind { fresh, store, region, read, check };
    Kind kind = Kind::fresh;
    const Operation* operation = nullptr; ///< null for a check
    const Check* check = nullptr;
    Names reads;                  ///< values in memory, or made by other items of the block
    std::set<std::size_t> before; ///< items that run before
    Names consumed;               ///< values whose memory it takes over
};
class Cutter {
  public:
    Cutter(const Program& program, bool device) : program_(program), device_(device) {}

    Stepped run();

  private:
    const Program& program_;
    const bool device_;
    Stepped out_;
    std::map<std::string, const Operation*> operations_; ///< by result
    std::map<std::string, std::size_t> order_;           ///< of results, in the program's text
    std::map<std::string, Type> types_;
    std::map<std::string, const Block*> home_; ///< the block that defines a value
    std::map<std::string, std::string> place_; ///< value -> buffer
    Names names_, scalars_, written_;
    std::vector<MovingSize> symbols_; ///< of the loops around, and sizes that were read
    Names read_;                      ///< every size that some block reads

    // ---- the program ----

    /// A complex value ends as its halves.
    void add_end(const std::string& value, Names& ends) const;
    const Operation* complex_of(const std::string& value) const;

    void collect(const Block& block);

    const Operation* operation_of(const std::string& value) const;

    std::string fresh_name(const std::string& value, const std::string& otherwise);
    Names used_;

    BufferPlan& buffer(const std::string& name);
    bool is_temporary(const std::string& name) const;

    /// Sizes that were read and stand in the types, positions and limits of an operation.
    Names sizes_of(const Operation& operation) const;

    static bool has_unbounded_read(const Block& block, bool outermost);

    /// The most elements that a temporary needs, where its shape follows a loop around; nothing where that is not
    /// known.
    std::optional<Type> bounded(Type type) const;

    /// Whether a shape changes from iteration to iteration, or with a size that was read.
    bool moves(const Type& type) const;

    std::string add_temporary(const std::string& name, const Type& type, std::vector<Step>& steps);

    // ---- what a value reads ----

    /// Values that have to be in memory so that `value` can be computed in another block, at any time.
    void roots(const std::string& value, Names& found) const;

    /// Names that the blocks of a region read from outside of it.
    void free_names(const Operation& operation, Names& defined, Names& found) const;
    Names free_names(const Operation& operation) const;

    void closure(const std::string& value, const Names& made, Names& found, Names& seen) const;
    /// Of all that an operation needs.
    void closure(const Operation& operation, const Names& made, Names& found, Names& seen) const;

    // ---- one block ----

    struct Work {
        std::vector<Item> items;
        std::map<std::string, std::size_t> maker; ///< value -> item
        Names made;                               ///< values that an item makes
        Names ends;                               ///< values that are read after the block
        const Block* block = nullptr;
        Names takeable; ///< values from outside whose memory the block may change
    };

    /// `ends`: read behind the block. `takeable`: values of other blocks whose memory items may take over.
    std::vector<Step> block(const Block& block, const Names& ends, const Names& takeable);

    void find_items(Work& work);

    static bool is_wanted(const Operation& operation, const Names& names);

    /// An array of one value: filled anew wherever it is changed.
    bool is_fill(const std::string& value) const;

    void connect(Work& work);

    static void note_makers(const Work& work, Item& item);

    /// Takes without clamps run behind the check that has seen their positions. It reads arguments alone, so nothing
    /// that it waits for can wait for the takes.
    void wait_for_checks(const Work& work, Item& item) const;

    /// Ends the call for NumPy, which must find the arguments as they were.
    static bool may_end_the_call(const Item& item);

    static bool comes_before(const Work& work, std::size_t first, std::size_t second);

    /// Lets `item` take over the memory of `value` where everybody else can read it before.
    void try_take(Work& work, std::size_t k, const std::string& value);

    void take_memory(Work& work);

    /// Of the results of a branch those that are, on both ways, what an array from outside is then, by that array: one
    /// way updates it, the other one leaves it or updates it too.
    std::map<std::string, std::string> changed_in_place(const Operation& branch) const;

    /// The block that defines a value; null for an argument.
    const Block* home_of(const std::string& value) const;

    /// What an iteration hands on, and what an argument is to be, may lie where it came from, if it reads of that the
    /// element alone that it replaces: no second array to change places with or to copy from. Neighbours of its shape
    /// in a loop share a kernel with it, which is worth more than not to change places; a copy costs more than a
    /// kernel, but less than an elementary function that both would compute.
    void try_replace(Work& work, std::size_t k);
    /// Whether another new value of the block needs some elementary function's value that this one needs.
    bool shares_long_work(const Work& work, std::size_t k) const;
    /// The argument that gets this value at the end of the call, "" if none does.
    std::string written_by(const std::string& value) const;
    /// What this value is in the next iteration, "" if nothing.
    static std::string carried_by(const std::string& value, const Block& block);

    std::vector<Step> emit(Work& work);

    AccessContext access_context() const;

    void emit_store(Item& item, std::vector<Step>& steps);
    /// A fresh value into the memory that it takes over.
    void emit_replacement(const Item& item, std::vector<Step>& steps);

    /// A new buffer for `value` that holds what `from` holds.
    std::string fresh_buffer(const std::string& value, const std::string& from, std::vector<Step>& steps,
                             const Operation& operation);

    /// Writes `part` into a region of a buffer. Everything is read before anything is written, as NumPy does it.
    void store(const std::string& part, const std::string& name, const Type& whole,
               const std::vector<IndexEntry>& region, const Operation& operation, std::vector<Step>& steps);

    /// All of a buffer that has another name than the value.
    static Target whole(const std::string& name, const Type& type, int line);

    static std::string base_name(const std::string& name);

    // ---- segments ----

    Program shell() const;

    static void add_array(Program& program, const std::string& name, const Type& type);

    const Type& type_of_buffer(const std::string& name) const;

    Step segment(const std::vector<std::pair<std::string, Target>>& yields);

    static void rename(Operation& operation, const std::map<std::string, std::string>& renamed);

    void gather(const std::string& value, std::map<std::size_t, const Operation*>& needed,
                std::map<std::string, std::string>& renamed, Program& program);

    /// The first elements of a temporary into a region.
    Step copy_part(const std::string& from, const Type& whole, const Type& part, Target target);

    // ---- regions ----

    /// Memory for what a loop carries; its first content is there after the steps.
    std::string home(const Item& item, std::size_t k, std::vector<Step>& steps);

    /// Puts the yields of a block where they belong.
    void move(const std::vector<std::string>& yields, const std::vector<std::string>& homes, std::vector<Step>& steps,
              const Operation& operation);
    /// Temporaries from this index on are made by the region whose yields are moved.
    std::size_t inside_from_ = 0;
    bool made_inside(const std::string& name) const;

    /// A copy, a swap, or what looks at one buffer.
    static Step step_of(Step::Kind kind, const std::vector<std::string>& memory);

    static Names parameters_of(const Block& block);
    static Names set_of(const std::vector<std::string>& values) { return {values.begin(), values.end()}; }

    std::vector<std::string> enter(const Item& item, std::vector<Step>& steps);

    void leave(const Operation& operation, const std::vector<std::string>& homes);

    /// `taken`: values from outside whose memory the block may change.
    std::vector<Step> body(const Block& inner, const std::vector<std::string>& homes, const Operation& operation,
                           const Names& taken);

    void emit_for(Item& item, std::vector<Step>& steps);

    void emit_while(Item& item, std::vector<Step>& steps);

    /// A 0-d truth that the plan can look at.
    std::string truth(const std::string& value, std::vector<Step>& steps, int line);

    /// A 0-d truth as a condition of the plan, where it says something of sizes, loops' indices and integer arguments
    /// alone: on a device a value costs a kernel, a copy and a wait. nullopt for all else.
    std::optional<Size> plan_condition(const std::string& value) const;
    /// An int64 as a size expression that cannot leave int64 where the value does not, nullopt for all else.
    std::optional<Size> plan_number(const std::string& value) const;

    std::string in_memory(const std::string& value, std::vector<Step>& steps, const char* wish, int line);

    void emit_check(const Check& check, std::vector<Step>& steps);

    void emit_read(const Operation& operation, std::vector<Step>& steps);

    void emit_if(Item& item, std::vector<Step>& steps);

    // ---- the end ----

    void finish();

    /// Both halves of a complex value, which are in separate memory, into a buffer.
    Step halves(const Operation& complex, const std::string& name);
};

} // namespace tilewright::translator
