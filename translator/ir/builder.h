// translator/ir/builder.h: appends operations to blocks, under fresh names, and knows the types of what it made.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/values.h"

namespace tilewright::translator {

class Builder {
  public:
    /// `values` get what is made. `prefix`: of fresh names.
    explicit Builder(Values& values, std::string prefix = "%") : values_(values), prefix_(std::move(prefix)) {}
    Builder(Values& values, std::vector<Operation>& out, std::string prefix = "%")
        : Builder(values, std::move(prefix)) {
        enter(out);
    }

    /// Operations go to `out` until leave(), which has to stay where it is.
    void enter(std::vector<Operation>& out) { open_.push_back({&out, {}}); }
    void leave() { open_.pop_back(); }
    /// Of the source: that of the operations that follow.
    void at_line(int line) { line_ = line; }

    Values& values() { return values_; }
    const Type& type(const std::string& name) const { return values_.type(name); }
    std::string fresh() { return values_.names().value(prefix_); }

    /// As it stands.
    void append(Operation operation);
    /// Under this name.
    void emit(const std::string& name, const Type& type, Op op, std::vector<std::string> operands,
              Attributes attributes = {});
    /// Under a fresh name, which it gives.
    std::string add(const Type& type, Op op, std::vector<std::string> operands, Attributes attributes = {});
    /// The same, unless once() has made an equal operation where it is visible: that one serves.
    std::string once(const Type& type, Op op, std::vector<std::string> operands, Attributes attributes = {});

  protected:
    struct Open {
        std::vector<Operation>* out;
        std::map<std::string, std::string> made; ///< text of an operation -> its result
    };

    Values& values_;
    std::string prefix_;
    std::vector<Open> open_; ///< the last one is appended to
    int line_ = 0;
};

} // namespace tilewright::translator
