// python/native/worker/data_sets.h: the calls that candidates are checked on: arguments, room for results, NumPy's
// answers.
#pragma once

#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "autotune/job.h"
#include "dsl/runtime/executor.h"
#include "python/native/worker/guarded_memory.h"

namespace tilewright::native {

/// Of an argument's lowest address, as NumPy's.
inline constexpr std::size_t kArgumentAlignment = 64;

/// A file mapped for reading.
class MappedFile {
  public:
    /// Throws InternalError when it is not there or shorter than `least_bytes`.
    MappedFile(const std::string& path, std::size_t least_bytes);
    const char* data() const { return static_cast<const char*>(mapping_.get()); }

  private:
    Mapping mapping_;
};

/// An argument that the call writes into: runs get copies of it, never the argument itself.
struct WrittenArgument {
    std::size_t argument = 0; ///< in the data set's
    std::size_t memory = 0;   ///< the one that holds its content before a call
    DType dtype{};
    std::size_t first = 0; ///< bytes from the lowest address to the first element
    bool is_c_order = false;
    GuardedMemory copy;
    std::vector<char> in_c_order; ///< room for gather(), where the copy is not
    std::optional<MappedFile> after;
};

struct DataSet {
    const autotune::JobDataSet* description = nullptr;
    bool recorded = false;
    std::vector<GuardedMemory> memory; ///< of array arguments, read-only
    std::vector<WrittenArgument> written;
    std::vector<runtime::CallArgument> arguments; ///< in the job's order
    std::vector<GuardedMemory> results;           ///< made when the first candidate says how large they are
    std::vector<MappedFile> expected;             ///< NumPy's answers; may be empty
};

inline std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Copies every argument into guarded memory. Throws InternalError for a job that contradicts its files.
std::vector<DataSet> load_data_sets(const autotune::Job& job);

/// The content before the call, once more: to `base`, the lowest address of a copy.
void restore(const DataSet& set, const WrittenArgument& written, char* base);
/// What a call has left in the copy at `base`, element by element in C order. nullptr: the bytes between its elements,
/// which are other people's, have changed.
const char* gather(const DataSet& set, WrittenArgument& written, const char* base);

} // namespace tilewright::native
