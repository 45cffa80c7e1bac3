// python/native/worker/data_sets.h: the calls that candidates are checked on: arguments, room for results, NumPy's
// answers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "autotune/job.h"
#include "dsl/runtime/executor.h"
#include "python/native/worker/guarded_memory.h"

namespace tilewright::native {

/// A file mapped for reading.
class MappedFile {
  public:
    /// Throws InternalError when it is not there or shorter than `least_bytes`.
    MappedFile(const std::string& path, std::size_t least_bytes);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    const char* data() const { return static_cast<const char*>(data_); }
    std::size_t bytes() const { return bytes_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

struct DataSet {
    const autotune::JobDataSet* description = nullptr;
    bool recorded = false;
    std::vector<GuardedMemory> memory;            ///< of array arguments, read-only
    std::vector<runtime::CallArgument> arguments; ///< in the job's order
    std::vector<GuardedMemory> results;           ///< made when the first candidate says how large they are
    std::vector<MappedFile> expected;             ///< NumPy's answers; may be empty
};

/// Copies every argument into guarded memory. Throws InternalError for a job that contradicts its files.
std::vector<DataSet> load_data_sets(const autotune::Job& job);

} // namespace tilewright::native
