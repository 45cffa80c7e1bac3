// tests/autotune/kmeans_job.h: a tuning job for k-means labels with its data in files, as Python would write it.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "autotune/job.h"

namespace tilewright::autotune::testing {

inline const char* const kKmeansProgram = R"(tilewright-program 1
function get_labels "kmeans.py"
arg X: float64[X.0, X.1]
arg means: float64[means.0, X.1]
guard means.1 == X.1 "means.shape[1] must equal X.shape[1]" @8
guard means.0 >= 1 "attempt to get argmin of an empty sequence" @8
%1: float64[means.0, 1, X.1] = index(means) {index=[0:1, newaxis, 0:1]} @8
%2: float64[means.0, X.0, X.1] = subtract(X, %1) @8
%3: float64[means.0, X.0, X.1] = multiply(%2, %2) @8
norm: float64[means.0, X.0] = sum(%3) {axes=[2]} @8
%4: float64[means.0, X.0] = sqrt(norm) @8
argmin: int64[X.0] = argmin(%4) {axis=0} @8
return argmin
)";

template <class T> void write_file(const std::string& path, const std::vector<T>& values) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
}

/// NumPy's argmin over norms: the first smallest, and the first NaN before anything else.
inline std::vector<std::int64_t> numpy_labels(const std::vector<double>& x, const std::vector<double>& means) {
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < x.size() / 2; ++i) {
        std::int64_t best = 0;
        double best_norm = 0;
        for (std::size_t k = 0; k < means.size() / 2; ++k) {
            const double a = x[2 * i] - means[2 * k], b = x[2 * i + 1] - means[2 * k + 1];
            volatile double aa = a * a, bb = b * b; // kept from being contracted
            const double norm = std::sqrt(aa + bb);
            if (k == 0 || (!std::isnan(best_norm) && (norm < best_norm || std::isnan(norm)))) {
                best = static_cast<std::int64_t>(k);
                best_norm = norm;
            }
        }
        labels.push_back(best);
    }
    return labels;
}

inline JobDataSet kmeans_data(const std::string& folder, const std::string& kind, std::int64_t n, bool special) {
    std::vector<double> x, means = {0.1, 0.2, -0.3, 0.4};
    std::uint64_t state = 88172645463325252ULL + static_cast<std::uint64_t>(n);
    for (std::int64_t i = 0; i < 2 * n; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        x.push_back(static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5);
    }
    if (special)
        for (std::size_t i = 0; i + 7 < x.size(); i += 8) {
            x[i] = std::numeric_limits<double>::quiet_NaN();
            x[i + 2] = std::numeric_limits<double>::infinity();
            x[i + 5] = -0.0;
        }
    const std::string prefix = folder + "/" + kind + std::to_string(n);
    write_file(prefix + "-X", x);
    write_file(prefix + "-means", means);
    write_file(prefix + "-argmin", numpy_labels(x, means));
    JobDataSet set;
    set.kind = kind;
    JobArgument a, b;
    a.name = "X";
    a.dtype = b.dtype = "float64";
    a.shape = {n, 2};
    a.strides_bytes = b.strides_bytes = {16, 8};
    a.file = prefix + "-X";
    b.name = "means";
    b.shape = {2, 2};
    b.file = prefix + "-means";
    set.arguments = {a, b};
    set.expected = {{"int64", {n}, prefix + "-argmin"}};
    return set;
}

inline Job kmeans_job(const std::string& folder, std::int64_t n) {
    Job job;
    job.program = kKmeansProgram;
    job.function = "get_labels";
    job.layouts = {{"X", "c"}, {"means", "c"}};
    job.sizes = {{"X.0", n}, {"X.1", 2}, {"means.0", 2}};
    job.threads = 2;
    job.workload_key = "kmeans-" + std::to_string(n);
    job.family_key = "kmeans";
    job.summary = "get_labels(X float64[" + std::to_string(n) + ", 2], means float64[2, 2])";
    job.datasets = {kmeans_data(folder, "recorded", n, false),
                    kmeans_data(folder, "special", n > 4097 ? 4097 : n, true)};
    return job;
}

} // namespace tilewright::autotune::testing
