// translator/ir/fresh_names.h: names that nothing in a program has yet.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace tilewright::translator {

class FreshNames {
  public:
    /// `wish`, wish_2, wish_3, ...
    std::string named(const std::string& wish) {
        std::string name = wish;
        for (int k = 2; !take(name); ++k)
            name = wish + "_" + std::to_string(k);
        return name;
    }
    /// The next free one of %1, %2, ...: part of an expression. `prefix`: in place of "%".
    std::string value(const std::string& prefix = "%") {
        std::string name;
        do
            name = prefix + std::to_string(++last_[prefix]);
        while (!take(name));
        return name;
    }
    /// From now on %N that are above all that are taken.
    void number_above() {
        for (const std::string& name : taken_)
            if (name[0] == '%') last_["%"] = std::max(last_["%"], std::strtoul(name.c_str() + 1, nullptr, 10));
    }
    /// False where it is taken already.
    bool take(const std::string& name) { return taken_.insert(name).second; }

  private:
    std::set<std::string> taken_;
    std::map<std::string, std::size_t> last_; ///< by the prefix
};

} // namespace tilewright::translator
