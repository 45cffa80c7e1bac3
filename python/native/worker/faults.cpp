// python/native/worker/faults.cpp: crashes, hangs, memory hogs, wild writes and wrong answers, on request.
#include "python/native/worker/faults.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilewright::native {
namespace {

/// Takes memory and touches it until none is left. Throws std::bad_alloc at the process's limit.
void eat_memory() {
    std::vector<std::unique_ptr<char[]>> eaten;
    for (;;) {
        constexpr std::size_t kBite = std::size_t{64} << 20;
        eaten.push_back(std::make_unique_for_overwrite<char[]>(kBite));
        for (std::size_t i = 0; i < kBite; i += 4096)
            eaten.back()[i] = 1;
    }
}

} // namespace

Faults::Faults() {
    const char* text = std::getenv("TILEWRIGHT_WORKER_FAULTS");
    if (text == nullptr || *text == 0) return;
    const auto object = nlohmann::json::parse(text, nullptr, false);
    if (object.is_object()) by_prefix_ = object.get<std::map<std::string, std::string>>();
}

std::string Faults::of(const std::string& digest) const {
    std::string fault;
    std::size_t longest = 0;
    for (const auto& [prefix, name] : by_prefix_)
        if (digest.compare(0, prefix.size(), prefix) == 0 && prefix.size() >= longest) {
            longest = prefix.size();
            fault = name;
        }
    return fault;
}

void act_while_building(const std::string& fault) {
    if (fault == "abort_build") std::abort();
    if (fault == "memory_build") eat_memory();
    while (fault == "hang_build")
        ::usleep(100000);
}

bool act_while_running(const std::string& fault, const FaultyResult& result, bool recorded, bool timed) {
    if (fault.empty()) return true;
    if (fault == "crash" || (fault == "crash_when_timed" && timed)) {
        // No null pointer: UndefinedBehaviorSanitizer would end the process in its own way.
        volatile std::uintptr_t nowhere = 64;
        *reinterpret_cast<volatile int*>(nowhere) = 1;
    }
    while (fault == "hang")
        ::usleep(100000);
    if (fault == "memory") {
        try {
            eat_memory();
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    if (result.bytes < result.item_bytes || result.item_bytes == 0) return true;
    auto flip = [&](std::size_t element) { result.data[element * result.item_bytes] ^= 1; };
    const std::size_t count = result.bytes / result.item_bytes;
    if (fault == "write_behind") result.data[result.bytes] = 1;
    if (fault == "write_before") result.data[-1] = 1;
    if (fault == "wrong_element") flip(count / 2);
    if (fault == "wrong_tail") flip(count - 1);
    if (fault == "wrong_special" && !recorded) flip(0);
    return true;
}

} // namespace tilewright::native
