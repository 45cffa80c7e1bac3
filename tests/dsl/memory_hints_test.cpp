// tests/dsl/memory_hints_test.cpp: prefetch_lines and store_nontemporal: each instruction becomes its twin as the
// assembler writes it, nothing else changes, and results are those of the schedule without them.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "algorithms.h"
#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/code/isa.h"
#include "dsl/language/expression.h"
#include "dsl/language/schedule_text.h"
#include "dsl/passes/memory_hints.h"
#include "dsl/passes/passes.h"
#include "kernel_runner.h"
#include "tests/few.h"

namespace tilewright::dsl::test {
namespace {

// ---- machine code ---------------------------------------------------------------------------------------------------

/// Object code of AT&T assembly, by the assembler of the system; functions do not begin with a store.
std::string assemble(const std::string& text) {
    const std::string base = "/tmp/tw_hints_" + std::to_string(getpid());
    std::ofstream(base + ".s") << "nop\n" << text << "\n";
    const int status = std::system(("as --64 -o " + base + ".o " + base + ".s").c_str());
    std::ifstream file(base + ".o", std::ios::binary);
    std::string object{std::istreambuf_iterator<char>(file), {}};
    unlink((base + ".s").c_str());
    unlink((base + ".o").c_str());
    if (status != 0 || object.empty()) throw std::runtime_error("as refused:\n" + text);
    return object;
}

std::string code_of(const std::string& object) {
    Elf64_Ehdr header;
    std::memcpy(&header, object.data(), sizeof header);
    for (int k = 0; k < header.e_shnum; ++k) {
        Elf64_Shdr section;
        std::memcpy(&section, object.data() + header.e_shoff + static_cast<std::size_t>(k) * sizeof section,
                    sizeof section);
        if (section.sh_flags & SHF_EXECINSTR) return object.substr(section.sh_offset, section.sh_size);
    }
    return "";
}

/// An instruction and what it has to become; `before` may equal `after`.
struct Twin {
    std::string before;
    std::string after;
    int stores = 0;
    int prefetches = 0;
};

std::string hex(std::int64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "%s0x%llx", value < 0 ? "-" : "", static_cast<long long>(std::llabs(value)));
    return text;
}

/// All forms of an address with a displacement of 32 bits: with and without a SIB byte, with and without REX bits.
std::vector<std::string> addresses(std::int64_t displacement) {
    std::vector<std::string> result;
    for (const char* base :
         {"%rax",        "%rcx",       "%rdx",       "%rbx",        "%rsp",        "%rbp",       "%rsi",
          "%rdi",        "%r8",        "%r11",       "%r12",        "%r13",        "%r15",       "%rax,%rcx,1",
          "%rsp,%rbp,4", "%rdi,%r9,8", "%r8,%rax,2", "%r12,%r13,4", "%rbp,%r12,1", "%r13,%r15,8"}) {
        result.push_back(hex(displacement) + "(" + base + ")");
    }
    return result;
}

std::vector<std::string> with_registers(const std::string& kind, const std::vector<int>& numbers) {
    std::vector<std::string> result;
    for (int number : numbers)
        result.push_back("%" + kind + std::to_string(number));
    return result;
}

/// Every store that has a twin: opcode names, and the registers of each encoding.
std::vector<Twin> stores_to(const std::string& address) {
    std::vector<Twin> result;
    auto add = [&](const std::string& before, const std::string& after, const std::vector<std::string>& registers) {
        for (const std::string& name : registers)
            result.push_back({before + " " + name + ", " + address, after + " " + name + ", " + address, 1, 0});
    };
    const std::vector<std::pair<std::string, std::string>> legacy = {{"movups", "movntps"}, {"movaps", "movntps"},
                                                                     {"movupd", "movntpd"}, {"movapd", "movntpd"},
                                                                     {"movdqu", "movntdq"}, {"movdqa", "movntdq"}};
    for (const auto& [before, after] : legacy) {
        add(before, after, with_registers("xmm", {0, 7, 8, 15}));
        for (const char* width : {"xmm", "ymm"}) {
            add("v" + before, "v" + after, with_registers(width, {0, 7, 8, 15}));
            add("{vex3} v" + before, "{vex3} v" + after, with_registers(width, {0, 7, 8, 15}));
        }
    }
    const std::vector<std::pair<std::string, std::string>> wide = {
        {"vmovups", "vmovntps"},   {"vmovaps", "vmovntps"},   {"vmovupd", "vmovntpd"},   {"vmovapd", "vmovntpd"},
        {"vmovdqu8", "vmovntdq"},  {"vmovdqu16", "vmovntdq"}, {"vmovdqu32", "vmovntdq"}, {"vmovdqu64", "vmovntdq"},
        {"vmovdqa32", "vmovntdq"}, {"vmovdqa64", "vmovntdq"}};
    for (const auto& [before, after] : wide) {
        add(before, after, with_registers("zmm", {0, 7, 8, 15, 16, 23, 24, 31}));
        add("{evex} " + before, "{evex} " + after, with_registers("xmm", {0, 15, 16, 31}));
        add("{evex} " + before, "{evex} " + after, with_registers("ymm", {0, 15, 16, 31}));
    }
    return result;
}

/// What must stay as it is: single values, masked and narrowing stores, loads, other hints, constants.
std::vector<Twin> others_at(const std::string& address) {
    std::vector<Twin> result;
    for (const char* text : {"movss %xmm1, @",
                             "movsd %xmm9, @",
                             "movq %xmm2, @",
                             "movd %xmm3, @",
                             "movlps %xmm4, @",
                             "movhps %xmm5, @",
                             "movlpd %xmm6, @",
                             "movhpd %xmm7, @",
                             "vmovss %xmm1, @",
                             "vmovsd %xmm9, @",
                             "vmovq %xmm2, @",
                             "vmovd %xmm3, @",
                             "vmovlps %xmm4, @",
                             "vmovhpd %xmm5, @",
                             "{evex} vmovss %xmm1, @",
                             "{evex} vmovsd %xmm17, @",
                             "vmovups %zmm0, @{%k1}",
                             "vmovupd %ymm3, @{%k2}",
                             "vmovaps %xmm3, @{%k7}",
                             "vmovdqu8 %zmm31, @{%k1}",
                             "vmovdqu64 %ymm9, @{%k3}",
                             "vmovdqa32 %zmm9, @{%k3}",
                             "vmaskmovps %ymm0, %ymm1, @",
                             "vpmaskmovd %xmm0, %xmm1, @",
                             "vextracti128 $1, %ymm0, @",
                             "vextractf32x4 $2, %zmm0, @",
                             "vpmovdb %zmm0, @",
                             "vpmovqd %zmm0, @",
                             "vcvtps2ph $0, %ymm0, @",
                             "vcompressps %zmm0, @{%k1}",
                             "movups @, %xmm0",
                             "movdqa @, %xmm9",
                             "vmovups @, %ymm0",
                             "vmovdqu8 @, %zmm20",
                             "vmovaps @, %zmm1",
                             "vaddps @, %ymm0, %ymm1",
                             "vbroadcastss @, %zmm3",
                             "movntps %xmm0, @",
                             "vmovntdq %zmm0, @",
                             "vmovntps %ymm8, @",
                             "movntdqa @, %xmm0",
                             "prefetcht0 @",
                             "prefetcht1 @",
                             "prefetcht2 @",
                             "prefetchw @",
                             "mov %rax, @",
                             "movl %ecx, @",
                             "movb %dl, @",
                             "movnti %rax, @",
                             "leaq @, %r9",
                             "mov @, %r11",
                             "addl $0x11, @",
                             "movl $0x29, @"}) {
        std::string line = text;
        line.replace(line.find('@'), 1, address);
        result.push_back({line, line});
    }
    for (const char* text : {"movl $0x35A71000, %eax", "addq $0x35A71000, %rcx", "cmpl $0x35A71040, %r9d",
                             "movabsq $0x2B1135A71000, %rax", "pushq $0x35A71000", "imull $0x35A71000, %edx, %ecx"}) {
        result.push_back({text, text});
    }
    return result;
}

/// Both sides are assembled in one go, so what stands around an instruction varies too.
void expect_twins(const std::vector<Twin>& twins) {
    std::string before, after;
    MemoryHints want;
    for (const Twin& twin : twins) {
        before += twin.before + "\n";
        after += twin.after + "\n";
        want.stores += twin.stores;
        want.prefetches += twin.prefetches;
    }
    std::string object = assemble(before);
    const std::size_t size = object.size();
    const MemoryHints have = apply_memory_hints(object);
    EXPECT_EQ(object.size(), size);
    EXPECT_EQ(have.stores, want.stores);
    EXPECT_EQ(have.prefetches, want.prefetches);
    if (code_of(object) == code_of(assemble(after))) return;
    // Which one? Slow, but only in a test that fails.
    for (const Twin& twin : twins) {
        std::string one = assemble(twin.before);
        apply_memory_hints(one);
        ASSERT_TRUE(code_of(one) == code_of(assemble(twin.after))) << twin.before;
    }
    ADD_FAILURE() << "the code differs as a whole";
}

TEST(MemoryHints, EveryStoreBecomesItsTwin) {
    for (std::int64_t distance :
         {std::int64_t{0}, std::int64_t{64}, std::int64_t{-4096}, kHintReach - 1, -kHintReach}) {
        std::vector<Twin> twins;
        for (const std::string& address : addresses(kHintOffset + distance))
            for (Twin& twin : stores_to(address))
                twins.push_back(std::move(twin));
        expect_twins(twins);
    }
}

TEST(MemoryHints, PrefetchesOfOneLevelBecomeThoseOfTheOther) {
    std::vector<Twin> twins;
    for (std::int64_t distance : {std::int64_t{0}, std::int64_t{2048}, kHintReach - 64}) {
        for (const std::string& address : addresses(kHintOffset + distance))
            twins.push_back({"prefetchnta " + address, "prefetcht0 " + address, 0, 1});
    }
    expect_twins(twins);
}

TEST(MemoryHints, AllElseStaysAsItIs) {
    std::vector<Twin> twins;
    for (const std::string& address : addresses(kHintOffset))
        for (Twin& twin : others_at(address))
            twins.push_back(std::move(twin));
    // The same stores elsewhere.
    for (std::int64_t displacement : {std::int64_t{0}, std::int64_t{64}, std::int64_t{4096}, kHintOffset + kHintReach,
                                      kHintOffset - kHintReach - 1, -kHintOffset, std::int64_t{0x7FFFFFFF}}) {
        for (const std::string& address : addresses(displacement)) {
            for (const Twin& twin : stores_to(address))
                twins.push_back({twin.before, twin.before});
            twins.push_back({"prefetchnta " + address, "prefetchnta " + address});
        }
    }
    expect_twins(twins);
}

/// Bytes of the instruction in front must not be taken for a prefix.
TEST(MemoryHints, WhatStandsInFrontDoesNotMatter) {
    std::mt19937 rng(11);
    auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
    // Prefixes, opcodes and REX bytes as the last bytes of constants.
    const std::vector<int> bytes = {0x66, 0xF2, 0xF3, 0x0F, 0xC4, 0xC5, 0x62, 0x40, 0x44, 0x4F, 0x11,
                                    0x29, 0x7F, 0x18, 0x78, 0xF8, 0x7C, 0xFC, 0x84, 0x80, 0xB8};
    for (int round = 0; round < 4; ++round) {
        std::vector<Twin> twins;
        for (int k = 0; k < 4000; ++k) {
            std::int64_t constant = 0;
            for (int byte = 0; byte < 4; ++byte)
                constant = constant << 8 | bytes[below(bytes.size())];
            const std::string filler = "movl $" + hex(constant) + ", %" + (below(2) ? "eax" : "r9d");
            twins.push_back({filler, filler});
            const auto all = addresses(kHintOffset + 64 * static_cast<std::int64_t>(below(64)));
            const std::string& address = all[below(all.size())];
            switch (below(4)) {
            case 0: {
                const auto others = others_at(address);
                twins.push_back(others[below(others.size())]);
                break;
            }
            case 1:
                twins.push_back({"prefetchnta " + address, "prefetcht0 " + address, 0, 1});
                break;
            default: {
                const auto stores = stores_to(address);
                twins.push_back(stores[below(stores.size())]);
            }
            }
        }
        // An SSE store behind a byte that is also a prefix may stay as it is, which is slower, never wrong: the twins
        // have to agree wherever something was changed.
        std::string before, after;
        for (const Twin& twin : twins) {
            before += twin.before + "\n";
            after += twin.after + "\n";
        }
        std::string object = assemble(before);
        const std::string old = code_of(object);
        apply_memory_hints(object);
        const std::string have = code_of(object);
        const std::string want = code_of(assemble(after));
        ASSERT_EQ(have.size(), want.size());
        std::size_t missed = 0;
        for (std::size_t k = 0; k < have.size(); ++k) {
            ASSERT_TRUE(have[k] == want[k] || have[k] == old[k]) << "byte " << k;
            missed += have[k] != want[k];
        }
        EXPECT_LT(missed, 120U);
    }
}

TEST(MemoryHints, ABrokenObjectIsRefusedAndNeverReadBeyondItsEnd) {
    const std::string whole = assemble("vmovups %zmm0, 0x35A71000(%rax)\nprefetchnta 0x35A71000(%rcx,%rdx,4)\n");
    std::string copy = whole;
    const MemoryHints hints = apply_memory_hints(copy);
    EXPECT_EQ(hints.stores, 1);
    EXPECT_EQ(hints.prefetches, 1);
    auto survives = [](const std::string& object) {
        std::string at_its_end = object;
        at_its_end.shrink_to_fit();
        try {
            apply_memory_hints(at_its_end);
        } catch (const InternalError&) {
            return false;
        }
        return true;
    };
    EXPECT_FALSE(survives(""));
    int refused = 0;
    for (std::size_t length = 0; length < whole.size(); ++length)
        refused += !survives(whole.substr(0, length));
    EXPECT_GE(refused, static_cast<int>(sizeof(Elf64_Ehdr)));
    std::mt19937 rng(5);
    for (int round = 0; round < 20000; ++round) {
        std::string damaged = whole;
        for (int k = 0; k < 4; ++k)
            damaged[rng() % damaged.size()] = static_cast<char>(rng());
        survives(damaged);
    }
    // A section cut in the middle of an instruction: whatever is in front of the displacement is missing.
    for (const char* text : {".long 0x35A71000", ".byte 0x80\n.long 0x35A71000", ".byte 0x11, 0x80\n.long 0x35A71000",
                             ".byte 0x11, 0x84, 0x08\n.long 0x35A71000", ".byte 0x7F, 0x80\n.long 0x35A71000",
                             ".byte 0x18, 0x80\n.long 0x35A71000", ".byte 0x0F, 0x7F, 0x80\n.long 0x35A71000",
                             ".byte 0x40, 0x0F, 0x7F, 0x80\n.long 0x35A71000"}) {
        std::string object = assemble(text);
        EXPECT_EQ(apply_memory_hints(object).stores, 0) << text;
    }
}

// ---- kernels --------------------------------------------------------------------------------------------------------

struct Dtype {
    const char* name;
    Halide::Type type;
};

const std::vector<Dtype>& dtypes() {
    static const std::vector<Dtype> list = {
        {"bool", Halide::Bool()},       {"int8", Halide::Int(8)},      {"uint8", Halide::UInt(8)},
        {"int16", Halide::Int(16)},     {"uint16", Halide::UInt(16)},  {"int32", Halide::Int(32)},
        {"uint32", Halide::UInt(32)},   {"int64", Halide::Int(64)},    {"uint64", Halide::UInt(64)},
        {"float32", Halide::Float(32)}, {"float64", Halide::Float(64)}};
    return list;
}

/// out[i] = X[i] + X[i], or not X[i].
Algorithm twice(const Dtype& dtype) {
    Builder b("twice");
    Halide::ImageParam x = b.input("X", dtype.type, 1);
    const Halide::Var i = b.var("i");
    Halide::Func out("out");
    out(i) = dtype.type.is_bool() ? !x(i) : x(i) + x(i);
    b.stage("out", out, {{"i", "X.0"}}, {dtype.name}, true);
    return b.build();
}

/// out[i, j] = X[i, j] + y[j]
Algorithm rows() {
    Builder b("rows");
    Halide::ImageParam x = b.input("X", Halide::Float(32), 2);
    Halide::ImageParam y = b.input("y", Halide::Float(32), 1);
    const Halide::Var i = b.var("i"), j = b.var("j");
    Halide::Func out("out");
    out(j, i) = x(j, i) + y(j);
    b.stage("out", out, {{"i", "X.0"}, {"j", "X.1"}}, {"float32"}, true);
    return b.build();
}

/// Results of three dtypes from one argument.
Algorithm several() {
    Builder b("several");
    Halide::ImageParam x = b.input("X", Halide::Float(32), 1);
    const Halide::Var i = b.var("i");
    Halide::Func first("first"), second("second"), third("third");
    first(i) = x(i) * 2.0f;
    second(i) = Halide::cast<std::int64_t>(x(i));
    third(i) = x(i) < 3.0f;
    b.stage("first", first, {{"i", "X.0"}}, {"float32"}, true);
    b.stage("second", second, {{"i", "X.0"}}, {"int64"}, true);
    b.stage("third", third, {{"i", "X.0"}}, {"bool"}, true);
    return b.build();
}

EmittedKernel build(Algorithm algorithm, const std::string& body, const std::string& isa, bool guard_tails) {
    const Schedule text = parse_schedule("tilewright-schedule 1\nschedule f for " + isa + "\n" + body);
    apply(algorithm, text, guard_tails);
    EmitOptions options;
    options.isa = isa;
    options.guard_tails = guard_tails;
    return emit(std::move(algorithm), text, options).kernels.at(0);
}

bool runs_here(const std::string& isa) {
    const std::vector<std::string> levels = host_targets();
    const auto at = [&](const std::string& name) { return std::find(levels.begin(), levels.end(), name); };
    return at(isa) <= at(host_isa());
}

void fill(GuardedArray& array, halide_type_t type) {
    for (std::size_t k = 0; k < array.size(); ++k) {
        const int value = static_cast<int>((k * 7919 + 13) % 61) - (type.code == halide_type_int ? 30 : 0);
        if (type.code == halide_type_float && type.bits == 32)
            array.data<float>()[k] = static_cast<float>(value) / 7.0F;
        if (type.code == halide_type_float && type.bits == 64) array.data<double>()[k] = value / 7.0;
        if (type.code == halide_type_float) continue;
        const std::int64_t bits = type.bits == 1 ? value & 1 : value;
        std::memcpy(array.data<char>() + k * type.bytes(), &bits, type.bytes());
    }
}

using Bytes = std::vector<unsigned char>;

/// One call. Sizes in the order in which the builder first used them; every result lies `offset` bytes behind a line.
std::vector<Bytes> call(const LoadedKernel& kernel, const std::vector<std::int32_t>& sizes,
                        std::vector<std::pair<halide_type_t, std::vector<int>>> inputs,
                        std::vector<std::pair<halide_type_t, std::vector<int>>> outputs, std::size_t offset) {
    std::vector<GuardedArray> arrays;
    for (const auto& [type, shape] : inputs) {
        arrays.emplace_back(type, shape);
        fill(arrays.back(), type);
    }
    for (const auto& [type, shape] : outputs)
        arrays.emplace_back(type, shape, offset);
    std::vector<GuardedArray*> pointers;
    for (GuardedArray& array : arrays)
        pointers.push_back(&array);
    EXPECT_EQ(kernel.run(sizes, pointers), 0);
    std::vector<Bytes> results;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
        EXPECT_TRUE(arrays[k].intact()) << "wrote around array " << k;
        if (k >= inputs.size()) results.emplace_back(arrays[k].begin(), arrays[k].begin() + arrays[k].byte_count());
    }
    return results;
}

bool allowed(const EmittedKernel& kernel, const std::map<std::string, std::int64_t>& sizes) {
    for (const std::string& condition : kernel.requires_) {
        const auto holds =
            parse_condition(condition).evaluate([&](const SizeExpression& symbol) -> std::optional<std::int64_t> {
                const auto found = sizes.find(symbol.name());
                return found == sizes.end() ? std::nullopt : std::optional(found->second);
            });
        if (!holds) ADD_FAILURE() << "condition nobody can evaluate: " << condition;
        if (!holds.value_or(0)) return false;
    }
    return true;
}

/// Sizes and offsets of a result to try: all sizes up to 200 at a few places, a few sizes at all places.
std::vector<std::pair<int, std::size_t>> sizes_and_offsets() {
    std::vector<std::pair<int, std::size_t>> result;
    for (int size = 0; size <= 200; ++size)
        for (std::size_t offset : {0, 16, 24})
            result.emplace_back(size, offset);
    for (std::size_t offset = 0; offset <= 64; ++offset)
        for (int size : {1, 63, 64, 65, 129, 257, 511, 1025})
            result.emplace_back(size, offset);
    return result;
}

struct Level {
    std::string isa;
    Dtype dtype;
    std::size_t place; // of both in their lists, added up
};

void PrintTo(const Level& level, std::ostream* out) {
    *out << level.dtype.name << " for " << level.isa;
}

struct WithoutHints {
    explicit WithoutHints(const Dtype& dtype) : kernel(build(twice(dtype), "", "x86-64", true)) {}

    LoadedKernel kernel;
    std::map<int, Bytes> results; // by the number of elements
};

/// Of a dtype; instruction sets share it.
WithoutHints& without_hints(const Dtype& dtype) {
    static std::map<std::string, WithoutHints> made;
    return made.try_emplace(dtype.name, dtype).first->second;
}

class HintedKernels : public ::testing::TestWithParam<Level> {};

TEST_P(HintedKernels, GiveTheResultsOfTheScheduleWithoutHintsWhereverTheResultLies) {
    const auto& [isa, dtype, place] = GetParam();
    const halide_type_t type = dtype.type;
    auto& [reference, want] = without_hints(dtype);
    const std::string line = std::to_string(64 / type.bytes());
    const std::string two = std::to_string(128 / type.bytes());
    const std::string hints = "out.store_nontemporal(1)\n";
    const std::vector<std::string> bodies = {
        "out.vectorize(i, " + line + ").prefetch_lines(i, 64)\n" + hints,
        "out.split(i, io, ii, " + two + ").parallel(io).vectorize(ii, " + line + ").prefetch_lines(io, 2048)\n" + hints,
        "out.vectorize(i, " + two + ").unroll(i, 2).prefetch_lines(i, 4096)\n" + hints,
    };
    std::size_t at = place;
    for (const std::string& body : bodies) {
        for (bool guards : {false, true}) {
            if (!tests::one_in(3, at++)) continue;
            SCOPED_TRACE(isa + " " + dtype.name + (guards ? " guarded\n" : "\n") + body);
            const EmittedKernel kernel = build(twice(dtype), body, isa, guards);
            EXPECT_GT(kernel.nontemporal_stores, 0);
            EXPECT_GT(kernel.prefetches, 0);
            if (!runs_here(isa)) continue;
            const LoadedKernel loaded(kernel);
            for (const auto& [size, offset] : sizes_and_offsets()) {
                if (!allowed(kernel, {{"X.0", size}})) continue;
                if (!want.count(size)) want[size] = call(reference, {size}, {{type, {size}}}, {{type, {size}}}, 16)[0];
                ASSERT_EQ(call(loaded, {size}, {{type, {size}}}, {{type, {size}}}, offset)[0], want[size])
                    << size << " elements, " << offset << " bytes behind a line";
            }
        }
    }
}

std::vector<Level> all_levels() {
    std::vector<Level> result;
    const std::vector<std::string> isas = host_targets();
    const auto all = dtypes();
    for (std::size_t i = 0; i < isas.size(); ++i)
        for (std::size_t k = 0; k < all.size(); ++k)
            result.push_back({isas[i], all[k], i + k});
    return result;
}

INSTANTIATE_TEST_SUITE_P(All, HintedKernels, ::testing::ValuesIn(all_levels()), [](const auto& test) {
    std::string name = test.param.isa + "_" + test.param.dtype.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

TEST(Hints, RowsThatBeginAnywhere) {
    const halide_type_t type(halide_type_float, 32);
    const LoadedKernel reference(build(rows(), "", "x86-64", true));
    std::size_t place = 0;
    for (const std::string& isa : host_targets()) {
        for (const char* body : {"out.vectorize(j, 16).prefetch_lines(i, 1024).store_nontemporal(1)\n",
                                 "out.parallel(i).vectorize(j, 32).prefetch_lines(j, 64).store_nontemporal(1)\n",
                                 "out.split(i, io, ii, 4).parallel(io).reorder(ii, j, io).vectorize(j, 16)"
                                 ".prefetch_lines(j, 512).store_nontemporal(1)\n"}) {
            for (bool guards : {false, true}) {
                if (!tests::one_in(2, place + guards)) continue;
                SCOPED_TRACE(isa + (guards ? " guarded " : " ") + body);
                const EmittedKernel kernel = build(rows(), body, isa, guards);
                EXPECT_GT(kernel.nontemporal_stores, 0);
                EXPECT_GT(kernel.prefetches, 0);
                if (!runs_here(isa)) continue;
                const LoadedKernel loaded(kernel);
                for (int height : {0, 1, 4, 7}) {
                    for (int width : {0, 1, 15, 16, 17, 33, 48, 77, 131}) {
                        if (!allowed(kernel, {{"X.0", height}, {"X.1", width}, {"y.0", width}})) continue;
                        for (std::size_t offset : {0, 4, 16, 28, 60, 64}) {
                            auto result = [&](const LoadedKernel& which, std::size_t at) {
                                return call(which, {width, height, width}, {{type, {height, width}}, {type, {width}}},
                                            {{type, {height, width}}}, at);
                            };
                            ASSERT_EQ(result(loaded, offset), result(reference, 16))
                                << height << " x " << width << " at " << offset;
                        }
                    }
                }
            }
            ++place;
        }
    }
}

TEST(Hints, SeveralResults) {
    const halide_type_t type(halide_type_float, 32);
    const std::vector<halide_type_t> results = {type, halide_type_t(halide_type_int, 64),
                                                halide_type_t(halide_type_uint, 1)};
    const LoadedKernel reference(build(several(), "", "x86-64", true));
    for (const std::string& isa : host_targets()) {
        for (bool guards : {false, true}) {
            const EmittedKernel kernel = build(several(),
                                               "first.split(i, io, ii, 64).parallel(io).vectorize(ii, 16)\n"
                                               "first.prefetch_lines(io, 2048).store_nontemporal(1)\n"
                                               "second.vectorize(i, 8).store_nontemporal(1)\n"
                                               "third.vectorize(i, 64).prefetch_lines(i, 64).store_nontemporal(1)\n",
                                               isa, guards);
            // All three: one result alone would be one vector of 64 bytes.
            EXPECT_GE(kernel.nontemporal_stores, isa == "x86-64-v4" ? 3 : isa == "x86-64-v3" ? 6 : 12) << isa;
            EXPECT_GE(kernel.prefetches, 2) << isa;
            if (!runs_here(isa)) continue;
            const LoadedKernel loaded(kernel);
            for (int size = 0; size <= 200; size += size < 130 ? 13 : 1) {
                if (!allowed(kernel, {{"X.0", size}})) continue;
                for (std::size_t offset = 0; offset <= 64; offset += 8) {
                    auto result = [&](const LoadedKernel& which, std::size_t at) {
                        std::vector<std::pair<halide_type_t, std::vector<int>>> outputs;
                        for (halide_type_t output : results)
                            outputs.push_back({output, {size}});
                        return call(which, {size}, {{type, {size}}}, outputs, at);
                    };
                    ASSERT_EQ(result(loaded, offset), result(reference, 16)) << isa << " " << size << " at " << offset;
                }
            }
        }
    }
}

TEST(Hints, OnlyWholeLinesGoPastTheCaches) {
    const Dtype& dtype = dtypes().back();
    auto stores = [&](const char* body) { return build(twice(dtype), body, "x86-64-v3", false).nontemporal_stores; };
    EXPECT_EQ(stores("out.vectorize(i, 8)\n"), 0);
    EXPECT_EQ(stores("out.store_nontemporal(1)\n"), 0);
    EXPECT_EQ(stores("out.vectorize(i, 4).store_nontemporal(1)\n"), 0);
    EXPECT_GE(stores("out.vectorize(i, 8).store_nontemporal(1)\n"), 2);
    EXPECT_EQ(build(twice(dtype), "out.vectorize(i, 8)\n", "x86-64-v3", false).prefetches, 0);
}

TEST(Hints, PointsOfTwoColumnsAreFetchedAheadAndTheirLabelsGoPastTheCaches) {
    const std::string body = "labels.split(i, io, ii, 4096).parallel(io).split(ii, iv, ix, 16).vectorize(ix)\n"
                             "nearest.compute_at(labels, iv).vectorize(i)\n"
                             "nearest.update(0).reorder(i, k).vectorize(i)\n"
                             "norm.compute_at(nearest, k).vectorize(i)\n"
                             "norm.update(0).reorder(i, r).vectorize(i).specialize(X.1 == 2) { unroll(r) }\n"
                             "labels.prefetch_lines(io, 2048).store_nontemporal(4096)\n";
    const EmittedKernel kernel = build(kmeans(), body, "x86-64-v3", false);
    EXPECT_GT(kernel.prefetches, 0);
    EXPECT_GT(kernel.nontemporal_stores, 0);
}

/// What a statement loads, and the conditions and addresses of its prefetches.
class Reads : public Halide::Internal::IRVisitor {
  public:
    int prefetches = 0;
    int loads_of_mask = 0;

  private:
    using Halide::Internal::IRVisitor::visit;
    void visit(const Halide::Internal::Call* op) override {
        prefetches += op->is_intrinsic(Halide::Internal::Call::prefetch);
        IRVisitor::visit(op);
    }
    void visit(const Halide::Internal::Load* op) override {
        loads_of_mask += op->name == "mask";
        IRVisitor::visit(op);
    }
};

/// A loop that may not run at all, or only where a condition holds, must not have its loads done in front of it.
TEST(Hints, NothingIsLoadedInFrontOfItsCondition) {
    using namespace Halide::Internal;
    using Halide::Expr;
    const Expr i = Variable::make(Halide::Int(32), "f.s0.i");
    const Expr n = Variable::make(Halide::Int(32), "n");
    const auto load = [](Halide::Type type, const std::string& name, Expr index) {
        return Load::make(type, name, std::move(index), Halide::Buffer<>(), Halide::Parameter(),
                          const_true(type.lanes()), ModulusRemainder());
    };
    const auto copy = [&](const Expr& begin) {
        const Expr ramp = Ramp::make(begin, 1, 16);
        return Store::make("f", load(Halide::Float(32, 16), "x", ramp), ramp, Halide::Parameter(), const_true(16),
                           ModulusRemainder());
    };
    const auto loop = [](const std::string& name, const Expr& extent, const Stmt& body) {
        return For::make(name, 0, extent, ForType::Serial, Halide::Partition::Auto, Halide::DeviceAPI::None, body);
    };
    const auto fetched = [&](const Stmt& body) {
        Reads reads;
        insert_prefetches(loop("f.s0.i", 1000, body), {{"f.s0.", "i", 1024}}, {"x", "mask"}).accept(&reads);
        return reads;
    };
    // for j < n: f = x, with x in the same place each time: once in front of the loop over j.
    EXPECT_EQ(fetched(loop("j", n, copy(i * 16))).prefetches, 1);
    EXPECT_EQ(fetched(loop("j", n, IfThenElse::make(n > 3, copy(i * 16)))).prefetches, 1);
    // ... if mask[i]; and where mask[i] says where x is.
    const Expr mask = load(Halide::Int(32), "mask", i);
    const Reads condition = fetched(loop("j", n, IfThenElse::make(mask > 0, copy(i * 16))));
    EXPECT_EQ(condition.loads_of_mask, 1);
    EXPECT_EQ(condition.prefetches, 1);
    EXPECT_EQ(fetched(loop("j", n, copy(mask * 16))).loads_of_mask, 2); // once for x, once for f
}

} // namespace
} // namespace tilewright::dsl::test
