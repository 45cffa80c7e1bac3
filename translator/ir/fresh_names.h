// translator/ir/fresh_names.h: names that nothing in a program has yet.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace tilewright::translator {

class FreshNames {
  public:
    FreshNames() = default;
    explicit FreshNames(std::set<std::string> taken) : taken_(std::move(taken)) {}

    /// `wish`, wish_2, wish_3, ...
    std::string named(const std::string& wish) {
        std::string name = wish;
        for (int k = 2; !take(name); ++k)
            name = wish + "_" + std::to_string(k);
        return name;
    }
    /// The next free one of %1, %2, ...: part of an expression.
    std::string value() {
        std::string name;
        do
            name = "%" + std::to_string(++values_);
        while (!take(name));
        return name;
    }
    /// False where it is taken already.
    bool take(const std::string& name) { return taken_.insert(name).second; }

  private:
    std::set<std::string> taken_;
    std::size_t values_ = 0;
};

} // namespace tilewright::translator
