// tests/translator/harness.h: runs a translated program by Halide's JIT, with its checks of bounds left on.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "translator/ir/dtypes.h"
#include "translator/translate.h"

namespace tilewright::translator::harness {

/// A C-contiguous array of any dtype; bool is one byte.
struct Array {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<char> bytes;

    std::int64_t count() const {
        std::int64_t out = 1;
        for (std::int64_t extent : shape)
            out *= extent;
        return out;
    }
    template <class T> T* as() { return reinterpret_cast<T*>(bytes.data()); }
    template <class T> const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }
};

template <class T>
Array array_of(const std::string& dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    Array out{dtype, std::move(shape), {}};
    out.bytes.resize(values.size() * sizeof(T));
    std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
    return out;
}

/// What a schedule does to the Funcs, as text: schedules of the same directives share what is compiled.
using Directives = std::string;

struct RunOptions {
    TranslateOptions translate;
    /// Schedules the Funcs before compilation; none: reductions at root, all else inline.
    std::function<Directives(dsl::Algorithm&)> schedule;
};

/// Every pure loop nest vectorized along its contiguous dimension, updates too where a pure loop is there, everything
/// at root: another order of evaluation than the default.
Directives vectorize_all(dsl::Algorithm& algorithm);

/// Runs the program on arguments by name (scalars are 0-d arrays). Library products are done by loops in double.
std::vector<Array> run(const Program& program, const std::map<std::string, Array>& arguments,
                       const RunOptions& options);

} // namespace tilewright::translator::harness
