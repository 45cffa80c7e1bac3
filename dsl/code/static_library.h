// dsl/code/static_library.h: libkernels.a and kernels.h of an exported module, written without compiler or linker.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::dsl {

/// A function of the library: its C name and its plan.
struct CFunction {
    std::string name;
    std::string plan_text;
};

/// The text of kernels.h: the array type, the error codes and a prototype for each function.
std::string c_header(const std::vector<CFunction>& functions);

/// Writes FOLDER/libkernels.a: the prebuilt runtime, which `runtime_object` names, and one member with the plans, the
/// objects and an entry for each function. A C program links it with -lpthread -ldl -lm. Throws ExportError.
void write_static_library(const std::string& folder, const std::string& runtime_object,
                          const std::vector<CFunction>& functions,
                          const std::map<std::string, std::string_view>& objects);

} // namespace tilewright::dsl
