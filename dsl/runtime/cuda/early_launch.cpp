// dsl/runtime/cuda/early_launch.cpp: two instructions in each kernel and one attribute of its launch. The next kernel's
// blocks are set up while the last ones of this kernel run, which saves a microsecond or two between small kernels.
#include <algorithm>

#include "dsl/runtime/cuda/driver.h"
#include "dsl/runtime/cuda/launch.h"

namespace tilewright::runtime::cuda {
namespace {

/// griddepcontrol is of PTX 7.8 and sm_90.
constexpr int kLeastCapability = 90;
/// Graphs hold such launches from CUDA 12.3 on; a caller's stream may be captured at any time.
constexpr int kLeastDriver = 12030;

// A kernel waits before it touches memory, and only then lets the next one start. So at most two run at a time, and
// neither reads, through a multiprocessor's read-only cache, what a kernel still running before them writes. The next
// one starts when each block has allowed it or has ended: those that are there when the last block starts, which are
// no more than 32 on each of 132 multiprocessors, are enough. Asked of every block it made kernels of many short ones
// slower (an H200: k-means of 20M float32 79 -> 96 us).
constexpr std::string_view kWait = "\tgriddepcontrol.wait;\n"
                                   "\t{\n"
                                   "\t.reg .pred \t%early_last;\n"
                                   "\t.reg .b32 \t%early_block, %early_blocks;\n"
                                   "\tmov.u32 \t%early_block, %ctaid.x;\n"
                                   "\tmov.u32 \t%early_blocks, %nctaid.x;\n"
                                   "\tsub.u32 \t%early_blocks, %early_blocks, %early_block;\n"
                                   "\tsetp.le.u32 \t%early_last, %early_blocks, 4096;\n"
                                   "\tmov.u32 \t%early_block, %ctaid.y;\n"
                                   "\tmov.u32 \t%early_blocks, %nctaid.y;\n"
                                   "\tsub.u32 \t%early_blocks, %early_blocks, %early_block;\n"
                                   "\tsetp.eq.and.u32 \t%early_last, %early_blocks, 1, %early_last;\n"
                                   "\t@%early_last griddepcontrol.launch_dependents;\n"
                                   "\t}\n";

constexpr std::string_view kTarget = ".target sm_";

/// "12" behind `key`; 0 where there is none.
int number_behind(std::string_view text, std::string_view key) {
    int value = 0;
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return 0;
    for (std::size_t i = at + key.size(); i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
        value = value * 10 + (text[i] - '0');
    return value;
}

/// The line with its key and number becomes `line`.
void replace_line(std::string& text, std::string_view key, std::string_view line) {
    const std::size_t begin = text.find(key);
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    text.replace(begin, end - begin, line);
}

std::string_view first_word(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line.substr(0, line.find_first_of(" \t\n"));
}

/// Behind the declarations of the body that begins at `brace`.
std::size_t behind_declarations(const std::string& text, std::size_t brace) {
    std::size_t at = text.find('\n', brace);
    while (at != std::string::npos) {
        const std::size_t next = text.find('\n', at + 1);
        const std::string_view word = first_word(std::string_view(text).substr(at + 1, next - at - 1));
        const bool declares =
            word.empty() || word.starts_with("//") || word == ".reg" || word == ".local" || word == ".shared";
        if (!declares) return at + 1;
        at = next;
    }
    return std::string::npos;
}

} // namespace

bool launches_early(int capability) {
    static const bool driver_does = [] {
        int version = 0;
        const Driver& d = ready_driver();
        return d.launch_extended && d.driver_version(&version) == kSuccess && version >= kLeastDriver;
    }();
    return capability >= kLeastCapability && driver_does;
}

int target_of(std::string_view ptx) {
    return number_behind(ptx, kTarget);
}

std::string ptx_for(int capability, std::string_view ptx) {
    constexpr std::string_view kVersion = ".version ", kEntry = ".entry ";
    std::string text(ptx);
    const int target = target_of(text);
    if (capability < kLeastCapability || target == 0 || number_behind(text, kVersion) == 0) return text;
    for (std::size_t at = text.find(kEntry); at != std::string::npos; at = text.find(kEntry, at)) {
        const std::size_t brace = text.find("\n{", at);
        const std::size_t first = brace == std::string::npos ? brace : behind_declarations(text, brace + 1);
        if (first == std::string::npos) return std::string(ptx);
        text.insert(first, kWait);
        at = first;
    }
    if (number_behind(text, ".version 7.") < 8 && number_behind(text, kVersion) <= 7)
        replace_line(text, kVersion, ".version 7.8");
    if (target < kLeastCapability) replace_line(text, kTarget, ".target sm_90");
    return text;
}

} // namespace tilewright::runtime::cuda
