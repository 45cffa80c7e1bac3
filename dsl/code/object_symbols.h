// dsl/code/object_symbols.h: what an object file leaves undefined.
#pragma once

#include <elf.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::dsl {

/// Of an ELF file of 64 bits.
std::vector<Elf64_Shdr> sections_of(std::string_view object);

/// Undefined symbols of an ELF x86-64 relocatable. Throws InternalError where the bytes are no such thing.
std::set<std::string> undefined_symbols(std::string_view object);

/// Whether the runtime's loader can resolve a symbol: parallel loops, memory, libm and the mem* functions that LLVM
/// calls by itself.
bool runtime_has(const std::string& symbol);
/// What kernels for CUDA devices may import beside that.
bool device_runtime_has(const std::string& symbol);

} // namespace tilewright::dsl
