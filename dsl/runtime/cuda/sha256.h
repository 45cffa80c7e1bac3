// dsl/runtime/cuda/sha256.h: SHA-256, so that assembled code belongs to its PTX and arrives as it was written.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::runtime::cuda {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace tilewright::runtime::cuda
