// dsl/runtime/object_loader.h: makes the code of an ELF x86-64 object file callable, with no linker.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tilewright::runtime {

/// Code in memory: executable parts are not writable. Unmapped when the last owner goes.
class LoadedObject {
  public:
    /// Reads an untrusted file: every offset is checked, only the relocations that Halide's objects use are known, and
    /// only kernel_symbol() resolves imports. Throws ExportError "NAME.o: ...".
    static std::shared_ptr<const LoadedObject> load(std::string_view bytes, const std::string& name);
    ~LoadedObject();
    LoadedObject(const LoadedObject&) = delete;
    LoadedObject& operator=(const LoadedObject&) = delete;

    /// A global function of the object, or null.
    void* find(const std::string& symbol) const;

  private:
    LoadedObject() = default;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::map<std::string, void*> symbols_;
};

} // namespace tilewright::runtime
