// dsl/base/digest.h: the one digest of texts: names of programs, schedules and cached objects.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::dsl {

/// XXH3 of 128 bits as 32 lower-case hexadecimal digits, most significant first; the same on every machine.
/// It tells texts apart, it does not protect them: whoever stores code checks a SHA-256 as well.
std::string digest(std::string_view text);

} // namespace tilewright::dsl
