// dsl/runtime/c_entry.h: what the stubs of an exported C library hand to the runtime. Both sides are ours.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Lies in the library's data. `objects` is a run of (uint64 name bytes, name, uint64 bytes, object).
struct EmbeddedFunction {
    const char* plan;
    std::uint64_t plan_bytes;
    const char* objects;
    std::uint64_t objects_bytes;
    const void* loaded; ///< null until the first call
};

/// The registers that a stub saved: six for integers and pointers, eight for floating point.
struct SavedRegisters {
    std::uint64_t integer[6];
    double floating[8];
};

} // namespace tilewright::runtime

extern "C" {
/// Reads the call's arguments as the System V ABI passes them, runs the plan, returns a tw_status.
int tw_run_embedded(tilewright::runtime::EmbeddedFunction* function,
                    const tilewright::runtime::SavedRegisters* registers, const void* stack);
/// The same for arrays of a CUDA device; a stream goes before the arguments.
int tw_run_embedded_on_device(tilewright::runtime::EmbeddedFunction* function,
                              const tilewright::runtime::SavedRegisters* registers, const void* stack);
}
