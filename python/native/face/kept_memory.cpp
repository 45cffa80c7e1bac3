// python/native/face/kept_memory.cpp: a handler of NumPy's memory (NEP 49) that has large arrays in our pool.
#include "python/native/face/kept_memory.h"

#include <atomic>
#include <cstring>

#include "dsl/runtime/memory.h"
#include "python/native/face/arrays.h"

namespace tilewright::face {
namespace {

constexpr char kCapsule[] = "mem_handler";
constexpr std::size_t kZeroedWithoutGil = 1u << 20;
constexpr unsigned kCallsBetweenLooks = 1024;
constexpr unsigned kIdleSeconds = 3;

/// NumPy's own functions, which have all other memory.
PyDataMemAllocator g_usual;
PyObject* g_capsule = nullptr;

/// Programs that go on with small arrays alone give idle memory back too.
void look_for_idle_memory() {
    static std::atomic<unsigned> calls{0};
    // Calls that threads do not see of each other do not matter.
    const unsigned now = calls.load(std::memory_order_relaxed) + 1;
    calls.store(now, std::memory_order_relaxed);
    if (now % kCallsBetweenLooks == 0) runtime::give_back_idle(kIdleSeconds);
}

void* allocate(void*, size_t bytes) {
    if (bytes >= kPoolFrom) {
        if (void* block = runtime::array_allocate(bytes)) return block;
    } else {
        look_for_idle_memory();
    }
    void* block = g_usual.malloc(g_usual.ctx, bytes);
    // What is kept may be what is missing.
    if (!block && runtime::trim_pool()) block = g_usual.malloc(g_usual.ctx, bytes);
    return block;
}

void* allocate_zeroed(void*, size_t count, size_t each) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, each, &bytes)) return nullptr;
    if (bytes >= kPoolFrom) {
        PyThreadState* state = bytes >= kZeroedWithoutGil ? PyEval_SaveThread() : nullptr;
        void* block = runtime::array_allocate_zeroed(bytes);
        if (state) PyEval_RestoreThread(state);
        if (block) return block;
    } else {
        look_for_idle_memory();
    }
    void* block = g_usual.calloc(g_usual.ctx, count, each);
    if (!block && runtime::trim_pool()) block = g_usual.calloc(g_usual.ctx, count, each);
    return block;
}

// NumPy's sizes of memory that it gives back are not always those that it asked for (an array without elements has the
// memory of one), so blocks are told by what they are.

void release(void*, void* pointer, size_t bytes) {
    if (runtime::is_pooled(pointer))
        runtime::array_release(pointer);
    else
        g_usual.free(g_usual.ctx, pointer, bytes);
}

void* resize(void*, void* pointer, size_t bytes) {
    if (!runtime::is_pooled(pointer)) return g_usual.realloc(g_usual.ctx, pointer, bytes);
    if (bytes >= kPoolFrom) return runtime::array_resize(pointer, bytes);
    void* moved = g_usual.malloc(g_usual.ctx, bytes);
    if (!moved) return nullptr;
    std::memcpy(moved, pointer, bytes);
    runtime::array_release(pointer);
    return moved;
}

PyDataMem_Handler g_handler = {"tilewright_kept", 1, {nullptr, allocate, allocate_zeroed, resize, release}};

/// Makes the capsule, which arrays hold as long as they live: like the handler it stays to the end of the process.
/// False with a Python error.
bool prepare() {
    if (g_capsule) return true;
    auto* usual = static_cast<PyDataMem_Handler*>(PyCapsule_GetPointer(PyDataMem_DefaultHandler, kCapsule));
    if (!usual) return false;
    g_usual = usual->allocator;
    return (g_capsule = PyCapsule_New(&g_handler, kCapsule, nullptr)) != nullptr;
}

} // namespace

PyObject* keep_arrays(PyObject*, PyObject*) {
    if (!prepare()) return nullptr;
    const Ref now(PyDataMem_GetHandler());
    if (!now) return nullptr;
    if (now.get() != g_capsule) {
        // Somebody else's handler is left alone.
        if (now.get() != PyDataMem_DefaultHandler || !is_pooling()) Py_RETURN_FALSE;
        runtime::keep_arrays(true);
        const Ref before(PyDataMem_SetHandler(g_capsule));
        if (!before) return nullptr;
    }
    Py_RETURN_TRUE;
}

PyObject* leave_arrays(PyObject*, PyObject*) {
    const Ref now(PyDataMem_GetHandler());
    if (!now) return nullptr;
    if (g_capsule && now.get() == g_capsule) {
        const Ref before(PyDataMem_SetHandler(nullptr));
        if (!before) return nullptr;
    }
    const std::size_t bytes = runtime::trim_pool();
    runtime::keep_arrays(false);
    return PyLong_FromSize_t(bytes);
}

} // namespace tilewright::face
