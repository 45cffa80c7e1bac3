// dsl/runtime/cuda/strided_copy.cpp: what lies without gaps as one copy of the driver's, all else by a kernel of ours,
// an element a thread. (The driver's own copies of rows are slow where rows are short, and end at three axes.)
#include "dsl/runtime/cuda/strided_copy.h"

#include <string>

#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/strided_copy.h"

namespace tilewright::runtime::cuda {
namespace {

constexpr int kMostAxes = CopyAxes::kMost;
constexpr int kMostDevices = 64;
constexpr unsigned kThreads = 256;

const char* const kMoves[] = {
    "ld.global.u8 %h, [%from];\n  st.global.u8 [%to], %h;\n",
    "ld.global.u16 %h, [%from];\n  st.global.u16 [%to], %h;\n",
    "ld.global.u32 %v, [%from];\n  st.global.u32 [%to], %v;\n",
    "ld.global.u64 %w, [%from];\n  st.global.u64 [%to], %w;\n",
    // Halves: an array of complex128 is aligned to 8 bytes.
    ("ld.global.u64 %w, [%from];\n  ld.global.u64 %w2, [%from+8];\n  st.global.u64 [%to], %w;\n"
     "  st.global.u64 [%to+8], %w2;\n")};

/// One function for elements of 1 << log bytes: thread n moves element n, the first axis runs fastest.
std::string function_text(int log) {
    auto name = [](const char* base, int n) { return base + std::to_string(n); };
    std::string out = ".visible .entry " + name("tilewright_copy_", 1 << log) +
                      "(.param .u64 p_from, .param .u64 p_to, .param .u32 p_count, .param .u32 p_rank";
    for (int d = 0; d < kMostAxes; ++d)
        out += ",\n  .param .u32 " + name("extent", d) + ", .param .u64 " + name("from", d) + ", .param .u64 " +
               name("to", d);
    out += ")\n{\n"
           "  .reg .pred %p;\n  .reg .b16 %h;\n  .reg .b32 %n, %a, %b, %count, %rank, %extent, %rest, %at, %v;\n"
           "  .reg .b64 %from, %to, %wide, %stride, %w, %w2;\n"
           "  mov.u32 %a, %ctaid.x;\n  mov.u32 %b, %ntid.x;\n  mov.u32 %n, %tid.x;\n"
           "  mad.lo.u32 %n, %a, %b, %n;\n  ld.param.u32 %count, [p_count];\n"
           "  setp.ge.u32 %p, %n, %count;\n  @%p bra DONE;\n"
           "  ld.param.u64 %from, [p_from];\n  ld.param.u64 %to, [p_to];\n  ld.param.u32 %rank, [p_rank];\n";
    auto advance = [&](int d) {
        return "  cvt.u64.u32 %wide, %at;\n"
               "  ld.param.u64 %stride, [" +
               name("from", d) +
               "];\n  mad.lo.s64 %from, %wide, %stride, %from;\n"
               "  ld.param.u64 %stride, [" +
               name("to", d) + "];\n  mad.lo.s64 %to, %wide, %stride, %to;\n";
    };
    for (int d = 0; d + 1 < kMostAxes; ++d)
        out += "  setp.eq.u32 %p, %rank, " + std::to_string(d + 1) + ";\n  @%p bra " + name("LAST", d) + ";\n" +
               "  ld.param.u32 %extent, [" + name("extent", d) + "];\n  div.u32 %rest, %n, %extent;\n" +
               "  mul.lo.u32 %at, %rest, %extent;\n  sub.u32 %at, %n, %at;\n  mov.u32 %n, %rest;\n" + advance(d);
    for (int d = kMostAxes - 1; d >= 0; --d) {
        if (d + 1 < kMostAxes) out += name("LAST", d) + ":\n";
        out += "  mov.u32 %at, %n;\n" + advance(d) + "  bra MOVE;\n";
    }
    return out + "MOVE:\n  " + kMoves[log] + "DONE:\n  ret;\n}\n";
}

struct Loaded {
    std::mutex mutex;
    std::atomic<Function> functions[5] = {};
    Module module = nullptr;
};

Function function_for(Call& call, int log) {
    static Loaded* const all = new Loaded[kMostDevices];
    Loaded& loaded = all[call.place().device];
    if (Function found = loaded.functions[log].load(std::memory_order_acquire)) return found;
    std::lock_guard lock(loaded.mutex);
    OutsideOfCaptures outside;
    if (!loaded.module)
        loaded.module = load_module(call.device().facts, strided_copy_ptx().c_str(), "the code of a copy");
    Function function = nullptr;
    require(ready_driver().module_function(&function, loaded.module,
                                           ("tilewright_copy_" + std::to_string(1 << log)).c_str()),
            "cuModuleGetFunction");
    loaded.functions[log].store(function, std::memory_order_release);
    return function;
}

} // namespace

std::string strided_copy_ptx() {
    std::string ptx = ".version 6.0\n.target sm_70\n.address_size 64\n";
    for (int log = 0; log < 5; ++log)
        ptx += function_text(log);
    return ptx;
}

int copy_strided(Call& call, const halide_buffer_t& from, const halide_buffer_t& to) noexcept {
    const std::int64_t bytes = from.type.bits <= 8 ? 1 : from.type.bits / 8;
    CopyAxes joined;
    std::int64_t elements = 1;
    for (int d = 0; d < from.dimensions; ++d) {
        const std::int64_t extent = from.dim[d].extent;
        elements *= extent;
        joined.add({extent, from.dim[d].stride * bytes, to.dim[d].stride * bytes});
    }
    if (elements == 0) return 0;
    auto& [axes, count] = joined;
    if (count == 0) axes[count++] = {1, bytes, bytes};
    return call.attempt([&] {
        Pointer source = from.device, target = to.device;
        if (count == 1 && axes[0].from == bytes && axes[0].to == bytes) {
            if (!call.is_recording()) cuda::count(g_calls.copies_on_device);
            return require(ready_driver().copy_on_device(target, source, static_cast<std::size_t>(elements * bytes),
                                                         call.stream()),
                           "a copy on the device");
        }
        int log = 0;
        while (std::int64_t{1} << log < bytes)
            ++log;
        auto number = static_cast<unsigned>(elements), rank = static_cast<unsigned>(count);
        unsigned extents[kMostAxes] = {};
        void* arguments[4 + 3 * kMostAxes] = {&source, &target, &number, &rank};
        for (int d = 0; d < kMostAxes; ++d) {
            if (d >= count) axes[d] = {1, 0, 0};
            extents[d] = static_cast<unsigned>(axes[d].extent);
            arguments[4 + 3 * d] = &extents[d];
            arguments[5 + 3 * d] = &axes[d].from;
            arguments[6 + 3 * d] = &axes[d].to;
        }
        launch(call, function_for(call, log), "a strided copy",
               {{(number + kThreads - 1) / kThreads, 1, 1}, {kThreads, 1, 1}}, arguments);
    });
}

} // namespace tilewright::runtime::cuda
