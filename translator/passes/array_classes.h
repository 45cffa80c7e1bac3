// translator/passes/array_classes.h: values of a program that are one array, or could be.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "translator/ir/builder.h"
#include "translator/ir/values.h"

namespace tilewright::translator {

/// An array and what its updates and loops make of it, as one class, for rewrites that give an array another form: they
/// need all of a class or nothing of it. Whoever writes into an array of one value (a fill) begins another array.
class ArrayClasses {
  public:
    /// Gives the type of a value its other form, where it has one; whether it has.
    using Change = std::function<bool(const std::string& name, Type& type)>;

    /// Joins what updates, loops and branches make one array, and refuses what anything else reads or makes. Arguments
    /// keep their form too, and so does what leaves the program.
    ArrayClasses(const Program& program, const Values& values);
    /// Each index and update, with the array that it reads or gives: what they forbid, the pass says.
    const std::vector<std::pair<std::string, const Operation*>>& accesses() const { return accesses_; }

    std::string root(std::string name) const;
    void refuse(const std::string& name) { refused_.insert(name); }
    std::set<std::string> refused_roots() const;

    /// Changes what an operation gives and carries. Where an array of another form starts from one value everywhere,
    /// that is filled in again in front of it.
    void change(Operation& operation, Builder& builder, const Change& change) const;

  private:
    const Values& values_;
    std::vector<std::pair<std::string, const Operation*>> accesses_;
    std::map<std::string, std::string> parents_;
    std::set<std::string> refused_;

    void join(const std::string& a, const std::string& b);
    /// `result` continues the array `start`, unless that is a fill.
    void continues(const std::string& result, const std::string& start);
    const Operation* fill(const std::string& name) const;
    void read(const Operation& operation);
    void join_regions(const Operation& operation);
};

} // namespace tilewright::translator
