// tests/dsl/algorithms.h: small algorithms, built as the translator builds them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/model/algorithm.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl::test {

/// Collects stages, sizes, inputs and outputs; loops are named in NumPy's order, Halide's dimensions run the other way.
class Builder {
  public:
    explicit Builder(const std::string& function);

    /// A float32, float64, int32, ... array of this rank; symbols NAME.0, NAME.1, ...
    Halide::ImageParam input(const std::string& name, Halide::Type type, int rank);
    Halide::Expr size(const std::string& name);
    void size_here(const std::string& name, int value) { here_[name] = value; }

    /// Declares a stage whose pure loops have these names and extents (outermost first).
    void stage(const std::string& name, Halide::Func func, std::vector<std::pair<std::string, std::string>> loops,
               std::vector<std::string> dtypes, bool output = false);
    /// Describes update `k`: all its loops outermost first; reduced ones are named in `rvars`.
    struct Reduced {
        std::string name;
        Halide::RVar rvar;
        std::string extent;
        bool ordered;
    };
    void update(const std::string& stage, std::vector<std::string> pure_loops, std::vector<Reduced> reduced);

    Halide::Var var(const std::string& loop);
    Algorithm build();

  private:
    std::unique_ptr<AlgorithmImpl> impl_ = std::make_unique<AlgorithmImpl>();
    AlgorithmInfo info_;
    std::vector<std::string> sizes_;
    std::vector<std::string> inputs_;
    std::map<std::string, int> here_;
    std::vector<std::string> outputs_;
    StageInfo& info(const std::string& stage);
};

/// out[i, j] = 2 * X[i, j] + y[j], with y2 = 2 * y as a stage between.
Algorithm pointwise();
/// sums[i] = X[i, 0] + X[i, 1] + ... in order, out = sums * 2. float32, or int32 (which may be reordered).
Algorithm row_sums(bool integer);
/// first index of the smallest element of each row, by a Tuple stage with an ordered update.
Algorithm row_argmin();
/// a = X + 1; b = a * a; c = b - a, all of two axes, float64.
Algorithm chain();
/// C = A @ B, float32, ordered.
Algorithm gemm();
/// softmax of each row, float32, with ordered sums.
Algorithm softmax();
/// labels of the nearest mean of points X[n, d] and means[k, d], float64.
Algorithm kmeans();
/// out = X, filled by an update over the output itself: an output with an update.
Algorithm output_update();

} // namespace tilewright::dsl::test
