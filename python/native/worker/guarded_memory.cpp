// python/native/worker/guarded_memory.cpp: mmap, with PROT_NONE left on both sides.
#include "python/native/worker/guarded_memory.h"

#include <cstdint>
#include <new>

namespace tilewright::native {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHugeFrom = std::size_t{4} << 20; ///< the size from which NumPy asks for huge pages

std::size_t rounded_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

} // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) : bytes_(bytes) {
    const bool huge = bytes >= kHugeFrom;
    usable_ = rounded_up(bytes == 0 ? 1 : bytes, kPage);
    const std::size_t alignment = huge ? kHugePage : kPage;
    const std::size_t mapped = usable_ + 2 * kPage + (huge ? kHugePage : 0);
    void* const mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = Mapping(mapping, {mapped});
    const auto start = reinterpret_cast<std::uintptr_t>(mapping);
    first_ = reinterpret_cast<char*>(rounded_up(start + kPage, alignment));
    if (mprotect(first_, usable_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    if (huge) madvise(first_, usable_, MADV_HUGEPAGE);
}

char* GuardedMemory::before_guard(std::size_t alignment) const {
    return first_ + (usable_ - bytes_) / alignment * alignment;
}

void GuardedMemory::make_read_only() {
    if (mapping_ != nullptr) mprotect(first_, usable_, PROT_READ);
}

void GuardedMemory::make_writable() {
    if (mapping_ != nullptr) mprotect(first_, usable_, PROT_READ | PROT_WRITE);
}

} // namespace tilewright::native
