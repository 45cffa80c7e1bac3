// tests/runtime/object_loader_test.cpp: real kernels load; damaged and hostile objects are refused.
#include "dsl/runtime/object_loader.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "dsl/base/error.h"
#include "dsl/runtime/kernel_symbols.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::runtime {
namespace {

using tests::kernel;

std::string message_of(const std::string& bytes) {
    try {
        LoadedObject::load(bytes, "damaged");
    } catch (const ExportError& e) {
        return e.what();
    }
    return "accepted";
}

/// Protection of the mapping that holds an address: "r-xp".
std::string protection_of(void* address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long low = 0, high = 0;
        char mode[8] = {};
        std::sscanf(line.c_str(), "%lx-%lx %7s", &low, &high, mode);
        auto at = reinterpret_cast<unsigned long>(address);
        if (low <= at && at < high) return mode;
    }
    return "";
}

TEST(ObjectLoader, FindsGlobalFunctionsOnlyAndCodeIsNotWritable) {
    auto object = LoadedObject::load(kernel("km"), "km");
    ASSERT_NE(object->find("km_argv"), nullptr);
    EXPECT_EQ(object->find("system"), nullptr);
    EXPECT_EQ(protection_of(object->find("km_argv")), "r-xp");
}

TEST(ObjectLoader, UnmapsWithTheLastOwner) {
    auto object = LoadedObject::load(kernel("km"), "km");
    void* code = object->find("km_argv");
    object.reset();
    EXPECT_EQ(protection_of(code), "");
}

TEST(ObjectLoader, ImportsOutsideTheTableAreRefusedByName) {
    std::string bytes = kernel("km");
    std::size_t at = bytes.find("halide_malloc");
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, 13, "execve\0\0\0\0\0\0\0", 13);
    EXPECT_EQ(
        message_of(bytes),
        "damaged.o: it imports execve, which kernels may not. The file is damaged or not ours; export or tune again.");
}

TEST(ObjectLoader, NamesWhatIsNoObject) {
    const std::string hint = " The file is damaged or not ours; export or tune again.";
    EXPECT_EQ(message_of(""), "damaged.o: it is not an ELF file." + hint);
    EXPECT_EQ(message_of("!<arch>\n" + std::string(200, 'x')), "damaged.o: it is not an ELF file." + hint);
    std::string arm = kernel("km");
    reinterpret_cast<Elf64_Ehdr*>(arm.data())->e_machine = EM_AARCH64;
    EXPECT_EQ(message_of(arm), "damaged.o: it is not a relocatable file for x86-64." + hint);
}

TEST(ObjectLoader, EveryTruncationIsRefused) {
    std::string bytes = kernel("km");
    for (std::size_t n = 0; n + 1 < bytes.size(); n += 7)
        EXPECT_NE(message_of(bytes.substr(0, n)), "accepted") << n;
}

TEST(ObjectLoader, UnknownRelocationsAndOffsetsOutsideAreRefused) {
    std::string original = kernel("km");
    auto* header = reinterpret_cast<Elf64_Ehdr*>(original.data());
    int seen = 0;
    for (int i = 0; i < header->e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, original.data() + header->e_shoff + static_cast<std::size_t>(i) * sizeof section,
                    sizeof section);
        if (section.sh_type != SHT_RELA) continue;
        Elf64_Rela r;
        for (int what = 0; what < 3; ++what) {
            std::string bytes = original;
            std::memcpy(&r, bytes.data() + section.sh_offset, sizeof r);
            if (what == 0) r.r_info = ELF64_R_INFO(ELF64_R_SYM(r.r_info), R_X86_64_COPY);
            if (what == 1) r.r_offset = UINT64_MAX - 3;
            if (what == 2) r.r_info = ELF64_R_INFO(1u << 20, ELF64_R_TYPE(r.r_info));
            std::memcpy(bytes.data() + section.sh_offset, &r, sizeof r);
            static const char* const kExpected[] = {"relocation of type 5", "outside its section",
                                                    "symbol that is not there"};
            EXPECT_NE(message_of(bytes).find(kExpected[what]), std::string::npos) << message_of(bytes);
            ++seen;
        }
    }
    EXPECT_GE(seen, 9);
}

TEST(ObjectLoader, RandomDamageNeverCrashes) {
    std::mt19937 random(7);
    std::string original = kernel("km");
    for (int round = 0; round < 20000; ++round) {
        std::string bytes = original;
        for (unsigned k = 0; k < 1 + random() % 8; ++k) {
            // Half of the damage goes where structure is: the header and the tables at the end.
            std::size_t at = random() % 2
                                 ? random() % bytes.size()
                                 : (random() % 2 ? random() % 64 : bytes.size() - 1 - random() % (bytes.size() / 3));
            bytes[at] = static_cast<char>(random() % 3 ? random() : (random() % 2 ? 0xff : 0));
        }
        message_of(bytes);
    }
}

TEST(KernelSymbols, OnlyTheTableIsSeen) {
    for (const char* name : {"halide_do_par_for", "halide_malloc", "halide_free", "memcpy", "memset", "sin", "sinf",
                             "sincos", "powf", "tanh_f32", "exp_f64"})
        EXPECT_NE(kernel_symbol(name), nullptr) << name;
    for (const char* name : {"", "system", "malloc", "printf", "dlopen", "sin ", "halide_set_num_threads",
                             "halide_error", "halide_error_out_of_memory", "si"})
        EXPECT_EQ(kernel_symbol(name), nullptr) << name;
}

} // namespace
} // namespace tilewright::runtime
