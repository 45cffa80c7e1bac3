// python/native/face/recycled_memory.cpp: blocks that wrap PyTorch's memory as DLPack tensors again and again. Making a
// tensor through its table alone costs it an allocation, two descriptions of the tensor and their ends.
#include "python/native/face/recycled_memory.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "dsl/runtime/cuda/device.h"
#include "python/native/face/device_results.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using dlpack::ManagedTensorVersioned;

// PyTorch gives memory in steps of this size.
constexpr std::size_t kLeastBytes = 512;
/// Kernels on larger arrays take longer than what is saved here.
constexpr std::size_t kMostBytes = 256 << 10;
/// More are given back, so that PyTorch's own statistics and limits stay about what they are.
constexpr std::size_t kMostKept = 16;

struct Block {
    ManagedTensorVersioned tensor{}; ///< what the library is handed: one array has the block at a time
    std::int64_t shape[runtime::kMaxRank], strides[runtime::kMaxRank];
    ManagedTensorVersioned* memory = nullptr; ///< the library's own, which it frees
    const dlpack::ExchangeApi* api = nullptr;
    cuda::Place place;
    std::size_t capacity = 0;
    bool is_lent = true; ///< to an array; the shelf's lock guards it
};

void give_back(Block* block) {
    block->memory->deleter(block->memory);
    delete block;
}

/// Blocks that no array has, the latest last. Arrays may end on any thread, with the GIL or without.
class Shelf {
  public:
    Shelf() { kept_.reserve(kMostKept + 1); } // putting never allocates
    Block* take(const dlpack::ExchangeApi* api, const cuda::Place& place, std::size_t capacity) {
        std::lock_guard lock(mutex_);
        const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Block* block) {
            return block->capacity == capacity && block->place.stream == place.stream &&
                   block->place.device == place.device && block->api == api;
        });
        if (found == kept_.rend()) return nullptr;
        Block* block = *found;
        kept_.erase(std::next(found).base());
        block->is_lent = true;
        return block;
    }
    /// Null: none. Of those that are beyond `most` the oldest go back.
    void put(Block* block, std::size_t most = kMostKept) {
        for (;;) {
            Block* oldest = nullptr;
            {
                std::lock_guard lock(mutex_);
                // A library that fails half way may have given it back itself.
                if (block && std::exchange(block->is_lent, false)) kept_.push_back(block);
                block = nullptr;
                if (kept_.size() <= most) return;
                oldest = kept_.front();
                kept_.erase(kept_.begin());
            }
            give_back(oldest);
        }
    }

  private:
    std::mutex mutex_;
    std::vector<Block*> kept_;
};

Shelf& shelf() {
    static Shelf& all = *new Shelf; // never destroyed: tensors may end behind it
    return all;
}

Block* make(const dlpack::ExchangeApi* api, const cuda::Place& place, std::size_t capacity) {
    auto* block = new (std::nothrow) Block;
    if (!block) return PyErr_NoMemory(), nullptr;
    auto extent = static_cast<std::int64_t>(capacity);
    block->memory = allocate(*api, place.device, 1, {dlpack::kUInt, 8, 1}, &extent);
    if (!block->memory) return delete block, nullptr;
    block->api = api;
    block->place = place;
    block->capacity = capacity;
    ManagedTensorVersioned& t = block->tensor;
    t.version = {1, 1};
    t.context = block;
    t.deleter = [](ManagedTensorVersioned* self) { shelf().put(static_cast<Block*>(self->context)); };
    t.tensor.data = static_cast<char*>(block->memory->tensor.data) + block->memory->tensor.byte_offset;
    t.tensor.device = {dlpack::kCuda, place.device};
    t.tensor.shape = block->shape;
    t.tensor.strides = block->strides;
    return block;
}

} // namespace

Ref recycled_array(const ArrayClass& like, const cuda::Place& place, DType dtype, int rank, const std::int64_t* shape,
                   std::int64_t elements, void*& data) {
    const auto bytes = static_cast<std::size_t>(elements) * static_cast<std::size_t>(info(dtype).bytes);
    if (like.library != ArrayClass::Library::torch || bytes == 0 || bytes > kMostBytes) return Ref();
    // 2 names another stream on each thread.
    if (place.stream == reinterpret_cast<void*>(2)) return Ref();
    try {
        // A graph goes on writing where its capture wrote: such memory is PyTorch's to keep, with the graph.
        if (place.stream && cuda::is_captured(place)) return Ref();
    } catch (...) {
        raise_current_exception();
        return Ref();
    }
    const std::size_t capacity = std::bit_ceil(bytes < kLeastBytes ? kLeastBytes : bytes);
    Block* block = shelf().take(like.api, place, capacity);
    if (!block) block = make(like.api, place, capacity);
    if (!block) return Ref();
    dlpack::Tensor& t = block->tensor.tensor;
    t.rank = rank;
    t.dtype = dlpack_type(dtype);
    std::int64_t step = 1;
    for (int k = rank - 1; k >= 0; --k) {
        block->shape[k] = shape[k];
        block->strides[k] = step;
        step *= shape[k];
    }
    data = t.data;
    void* object = nullptr;
    if (like.api->object_from_managed(&block->tensor, &object) != 0) {
        shelf().put(block);
        return Ref();
    }
    return Ref(static_cast<PyObject*>(object));
}

void drop_recycled() {
    shelf().put(nullptr, 0);
}

} // namespace tilewright::face
