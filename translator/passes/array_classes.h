// translator/passes/array_classes.h: values of a program that are one array, or could be.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// An array and what its updates and loops make of it, as one class, for rewrites that give an array another form: they
/// need all of a class or nothing of it. Whoever writes into an array of one value (a fill) begins another array.
class ArrayClasses {
  public:
    std::string root(std::string name) const;
    void join(const std::string& a, const std::string& b);
    /// `result` continues the array `start`, unless that is a fill.
    void continues(const std::string& result, const std::string& start);

    void refuse(const std::string& name) { refused_.insert(name); }
    /// Arguments keep their form, and so does what leaves the program.
    void refuse_ends(const Program& program);
    std::set<std::string> refused_roots() const;

    void add_fill(const Operation& operation) { fills_[operation.result] = operation; }
    const Operation* fill(const std::string& name) const;

    /// Joins what a loop or branch carries from its operands through its blocks to its results; `read` is called for
    /// each block.
    void join_regions(const Operation& operation, const std::function<void(const Block&)>& read);

  private:
    std::map<std::string, std::string> parents_;
    std::map<std::string, Operation> fills_;
    std::set<std::string> refused_;
};

} // namespace tilewright::translator
