// dsl/base/digest.cpp: XXH3 in one translation unit, inlined, so that no shared library is needed.
#include "dsl/base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tilewright::dsl {

std::string digest(std::string_view text) {
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, XXH3_128bits(text.data(), text.size()));
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * sizeof bytes.digest);
    for (unsigned char byte : bytes.digest) {
        hex.push_back(kDigits[byte >> 4]);
        hex.push_back(kDigits[byte & 15]);
    }
    return hex;
}

} // namespace tilewright::dsl
