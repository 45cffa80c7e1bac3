// python/native/worker/data_sets.cpp: files of a job into guarded, read-only memory.
#include "python/native/worker/data_sets.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "dsl/base/error.h"

namespace tilewright::native {
namespace {

using autotune::JobArgument;
using runtime::DType;

template <class T> void put(unsigned char* slot, T value) {
    std::memcpy(slot, &value, sizeof value);
}

void put_scalar(const JobArgument& argument, DType dtype, unsigned char* slot) {
    switch (dtype) {
    case DType::boolean:
        return put<std::uint8_t>(slot, argument.integer != 0);
    case DType::int8:
        return put(slot, static_cast<std::int8_t>(argument.integer));
    case DType::int16:
        return put(slot, static_cast<std::int16_t>(argument.integer));
    case DType::int32:
        return put(slot, static_cast<std::int32_t>(argument.integer));
    case DType::int64:
        return put(slot, argument.integer);
    case DType::uint8:
        return put(slot, static_cast<std::uint8_t>(argument.integer));
    case DType::uint16:
        return put(slot, static_cast<std::uint16_t>(argument.integer));
    case DType::uint32:
        return put(slot, static_cast<std::uint32_t>(argument.integer));
    case DType::uint64:
        return put(slot, static_cast<std::uint64_t>(argument.integer));
    case DType::float32:
        return put(slot, static_cast<float>(argument.real));
    case DType::float64:
        return put(slot, argument.real);
    case DType::complex64:
        put(slot, static_cast<float>(argument.real));
        return put(slot + 4, static_cast<float>(argument.imaginary));
    case DType::complex128:
        put(slot, argument.real);
        return put(slot + 8, argument.imaginary);
    }
}

DType dtype_of(const std::string& name) {
    const auto dtype = runtime::dtype_named(name);
    if (!dtype) throw InternalError("tuning job: dtype " + name + ": kernels do not have it.");
    return *dtype;
}

void load_array(const JobArgument& argument, DType dtype, DataSet& set, runtime::CallArgument& slot) {
    const std::int64_t item = runtime::info(dtype).bytes;
    std::int64_t low = argument.offset_bytes, high = argument.offset_bytes + item;
    bool empty = false;
    for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
        if (argument.shape[axis] == 0) empty = true;
        const std::int64_t reach = (argument.shape[axis] - 1) * argument.strides_bytes[axis];
        (reach < 0 ? low : high) += reach;
    }
    if (empty) low = high = argument.offset_bytes;
    if (low < 0 || high < low)
        throw InternalError("tuning job: argument " + argument.name + " begins before its file.");
    const auto bytes = static_cast<std::size_t>(high - low);
    GuardedMemory memory(bytes);
    // The end lies at the guard, so that reading too far is seen; the alignment is NumPy's.
    char* const first = memory.before_guard(64);
    if (bytes > 0) {
        const MappedFile file(argument.file, static_cast<std::size_t>(high));
        std::memcpy(first, file.data() + low, bytes);
    }
    memory.make_read_only();
    slot.array = {first + (argument.offset_bytes - low), argument.shape.data(), argument.strides_bytes.data()};
    set.memory.push_back(std::move(memory));
}

} // namespace

MappedFile::MappedFile(const std::string& path, std::size_t least_bytes) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (descriptor < 0 || ::fstat(descriptor, &info) != 0) {
        const std::string why = std::strerror(errno);
        if (descriptor >= 0) ::close(descriptor);
        throw InternalError("tuning job: " + path + ": " + why + ".");
    }
    bytes_ = static_cast<std::size_t>(info.st_size);
    if (bytes_ < least_bytes) {
        ::close(descriptor);
        throw InternalError("tuning job: " + path + " has " + std::to_string(bytes_) + " bytes, the data needs " +
                            std::to_string(least_bytes) + ".");
    }
    if (bytes_ > 0) data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, descriptor, 0);
    ::close(descriptor);
    if (data_ == MAP_FAILED) {
        data_ = nullptr;
        throw std::bad_alloc();
    }
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

std::vector<DataSet> load_data_sets(const autotune::Job& job) {
    std::vector<DataSet> sets;
    for (const autotune::JobDataSet& description : job.datasets) {
        DataSet set;
        set.description = &description;
        set.recorded = sets.empty();
        set.arguments.resize(description.arguments.size());
        for (std::size_t i = 0; i < description.arguments.size(); ++i) {
            const JobArgument& argument = description.arguments[i];
            const DType dtype = dtype_of(argument.dtype);
            if (argument.is_scalar)
                put_scalar(argument, dtype, set.arguments[i].scalar);
            else
                load_array(argument, dtype, set, set.arguments[i]);
        }
        for (const autotune::JobExpected& expected : description.expected) {
            auto bytes = static_cast<std::size_t>(runtime::info(dtype_of(expected.dtype)).bytes);
            for (std::int64_t extent : expected.shape)
                bytes *= static_cast<std::size_t>(extent);
            set.expected.emplace_back(expected.file, bytes);
        }
        sets.push_back(std::move(set));
    }
    return sets;
}

} // namespace tilewright::native
