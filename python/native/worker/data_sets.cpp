// python/native/worker/data_sets.cpp: files of a job into guarded, read-only memory; copies of what calls write into.
#include "python/native/worker/data_sets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

#include "dsl/base/error.h"
#include "dsl/base/half.h"
#include "dsl/runtime/parallel.h"

namespace tilewright::native {
namespace {

using autotune::JobArgument;

template <class T> void put(unsigned char* slot, T value) {
    std::memcpy(slot, &value, sizeof value);
}

void put_scalar(const JobArgument& argument, DType dtype, unsigned char* slot) {
    const DTypeInfo& type = info(dtype);
    const auto put_float = [&](unsigned char* to, double value) {
        if (dtype == DType::float16) return put(to, half_bits(value));
        type.part == DType::float32 ? put(to, static_cast<float>(value)) : put(to, value);
    };
    switch (type.kind) {
    case DTypeKind::boolean:
        return put<std::uint8_t>(slot, argument.integer != 0);
    case DTypeKind::complex_number:
        put_float(slot + type.bytes / 2, argument.imaginary);
        [[fallthrough]];
    case DTypeKind::floating:
        return put_float(slot, argument.real);
    default: // little-endian: the low bytes come first
        std::memcpy(slot, &argument.integer, static_cast<std::size_t>(type.bytes));
    }
}

DType dtype_of(const std::string& name) {
    const auto dtype = dtype_named(name);
    if (!dtype) throw InternalError("tuning job: dtype " + name + ": kernels do not have it.");
    return *dtype;
}

bool is_c_order(const JobArgument& argument, std::int64_t item) {
    for (std::size_t axis = argument.shape.size(); axis-- > 0;) {
        if (argument.shape[axis] != 1 && argument.strides_bytes[axis] != item) return false;
        item *= argument.shape[axis];
    }
    return true;
}

/// Calls `body(element, number)` for the elements of an array in C order, from the first one on.
template <class Pointer, class Body> void for_each_element(const JobArgument& argument, Pointer element, Body&& body) {
    std::vector<std::int64_t> index(argument.shape.size(), 0);
    if (std::count(argument.shape.begin(), argument.shape.end(), 0) > 0) return;
    for (std::size_t number = 0;; ++number) {
        body(element, number);
        std::size_t axis = index.size();
        for (; axis-- > 0;) {
            element += argument.strides_bytes[axis];
            if (++index[axis] < argument.shape[axis]) break;
            element -= argument.strides_bytes[axis] * argument.shape[axis];
            index[axis] = 0;
        }
        if (axis == static_cast<std::size_t>(-1)) return;
    }
}

void load_array(const JobArgument& argument, DType dtype, DataSet& set, std::size_t number) {
    const std::int64_t item = info(dtype).bytes;
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
    char* const first = memory.before_guard(kArgumentAlignment);
    if (bytes > 0) {
        const MappedFile file(argument.file, static_cast<std::size_t>(high));
        std::memcpy(first, file.data() + low, bytes);
    }
    memory.make_read_only();
    const std::int64_t to_first = argument.offset_bytes - low;
    set.arguments[number].array = {first + to_first, argument.shape.data(), argument.strides_bytes.data()};
    if (argument.is_written) {
        WrittenArgument written;
        written.argument = number;
        written.memory = set.memory.size();
        written.dtype = dtype;
        written.first = static_cast<std::size_t>(to_first);
        written.is_c_order = is_c_order(argument, item);
        written.copy = GuardedMemory(bytes);
        const auto after = static_cast<std::size_t>(elements_of(argument.shape) * item);
        if (!written.is_c_order) written.in_c_order.resize(after);
        if (!argument.after.empty()) written.after.emplace(argument.after, after);
        set.written.push_back(std::move(written));
    }
    set.memory.push_back(std::move(memory));
}

} // namespace

MappedFile::MappedFile(const std::string& path, std::size_t least_bytes) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    const bool is_there = descriptor >= 0 && ::fstat(descriptor, &info) == 0;
    const std::string why = is_there ? "" : std::strerror(errno);
    const auto bytes = static_cast<std::size_t>(info.st_size);
    void* const mapping = bytes > 0 ? ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0) : nullptr;
    if (descriptor >= 0) ::close(descriptor);
    if (!is_there) throw InternalError("tuning job: " + path + ": " + why + ".");
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = Mapping(mapping, {bytes});
    if (bytes < least_bytes)
        throw InternalError("tuning job: " + path + " has " + std::to_string(bytes) + " bytes, the data needs " +
                            std::to_string(least_bytes) + ".");
}

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
                load_array(argument, dtype, set, i);
        }
        for (const autotune::JobExpected& expected : description.expected) {
            const std::int64_t bytes = elements_of(expected.shape) * info(dtype_of(expected.dtype)).bytes;
            set.expected.emplace_back(expected.file, static_cast<std::size_t>(bytes));
        }
        sets.push_back(std::move(set));
    }
    return sets;
}

void restore(const DataSet& set, const WrittenArgument& written, char* base) {
    const char* const before = set.memory[written.memory].before_guard(kArgumentAlignment);
    runtime::parallel_pieces(written.copy.bytes(), std::size_t{1} << 20, [&](std::size_t begin, std::size_t count) {
        std::memcpy(base + begin, before + begin, count);
    });
}

const char* gather(const DataSet& set, WrittenArgument& written, const char* base) {
    if (written.is_c_order) return base + written.first;
    const autotune::JobArgument& argument = set.description->arguments[written.argument];
    const auto item = static_cast<std::size_t>(info(written.dtype).bytes);
    const char* const before = set.memory[written.memory].before_guard(kArgumentAlignment);
    std::vector<char> with_gaps(before, before + written.copy.bytes());
    for_each_element(argument, base + written.first, [&](const char* element, std::size_t number) {
        std::memcpy(written.in_c_order.data() + number * item, element, item);
        std::memcpy(with_gaps.data() + (element - base), element, item);
    });
    if (std::memcmp(with_gaps.data(), base, with_gaps.size()) != 0) return nullptr;
    return written.in_c_order.data();
}

} // namespace tilewright::native
