// tests/runtime/kernel_files.h: the objects that make_kernels.py compiled, and plans that call them.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tilewright::tests {

inline std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("missing: " + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
}
inline std::string kernel(const std::string& name) {
    return read_file(std::string(TW_KERNELS) + "/" + name + ".o");
}

inline const std::string kKmeansPlan = R"(tilewright-plan 1
function get_labels
arg X float64 2
arg means float64 2
guard means.1 == X.1 "means.shape[1] must equal X.shape[1]. Pass arrays whose sizes agree."
guard means.0 >= 1 "attempt to get argmin of an empty sequence"
result argmin int64 [X.0]
return argmin
version "x86-64-v3"
require isa x86-64-v3
require layout X C
require layout means C
call km in "km" (means.0, X.1, X, means, argmin)
end
)";

inline const std::string kAxpyPlan = R"(tilewright-plan 1
function axpy
scalar a float64
arg X float64 2
arg Y float64 2
guard X.0 == Y.0 "rows differ"
guard X.1 == Y.1 "columns differ"
result Z float64 [X.0, X.1]
return Z
version "any layout"
call axpy in "axpy" (a, X, Y, Z)
end
)";

} // namespace tilewright::tests
