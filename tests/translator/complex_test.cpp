// tests/translator/complex_test.cpp: complex numbers as pairs of floats: the programs that come out.
#include "translator/passes/passes.h"

#include <gtest/gtest.h>

#include "dsl/base/error.h"
#include "dsl/code/emit.h"
#include "dsl/language/schedule_text.h"
#include "dsl/model/algorithm_impl.h"
#include "program_cases.h"
#include "translator/translate.h"

namespace {

using namespace tilewright::translator;

std::string split(const std::string& text) {
    Program program = read_program(text);
    verify_program(program);
    Program out = split_complex(program);
    verify_program(out);
    return print_program(out);
}

TEST(Complex, ProgramsWithoutComplexNumbersStay) {
    for (const char* text : {harness::kKMeans, harness::kSoftmax, harness::kRegions})
        EXPECT_EQ(split(text), text);
}

TEST(Complex, HalvesAreNamedAfterTheValue) {
    EXPECT_EQ(split("tilewright-program 1\n"
                    "function f\n"
                    "arg Z: complex64[Z.0]\n"
                    "arg Z_real: float32[Z.0]\n"
                    "C: complex64[Z.0] = square(Z) @2\n"
                    "%1: complex64[Z.0] = conjugate(C) @3\n"
                    "%2: float32[Z.0] = real(%1) @3\n"
                    "x: float32[Z.0] = add(%2, Z_real) @3\n"
                    "return (C, x, Z)\n"),
              "tilewright-program 1\n"
              "function f\n"
              "arg Z: complex64[Z.0]\n"
              "arg Z_real: float32[Z.0]\n"
              "Z_real_2: float32[Z.0] = real(Z)\n"
              "Z_imag: float32[Z.0] = imag(Z)\n"
              "%3: float32[Z.0] = multiply(Z_imag, Z_imag) @2\n"
              "%4: float32[Z.0] = multiply(Z_real_2, Z_real_2) @2\n"
              "C_real: float32[Z.0] = subtract(%4, %3) @2\n"
              "%6: float32[Z.0] = multiply(Z_imag, Z_real_2) @2\n"
              "C_imag: float32[Z.0] = add(%6, %6) @2\n"
              "x: float32[Z.0] = add(C_real, Z_real) @3\n"
              "C: complex64[Z.0] = complex(C_real, C_imag)\n"
              "return (C, x, Z)\n");
}

TEST(Complex, LoopsCarryBothHalvesAndMagnitudesTakeNoRoot) {
    const std::string text = split(harness::kWrites);
    EXPECT_NE(
        text.find("Z_2_real: float64[C.0, C.1], Z_2_imag: float64[C.0, C.1], N_2: int64[C.0, C.1] = for n in "
                  "range(maxiter - 1, -1, -1) carry (Z_3_real: float64[C.0, C.1] = Z_real, Z_3_imag: float64[C.0, "
                  "C.1] = Z_imag, N_3: int64[C.0, C.1] = N) {"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("I: bool[C.0, C.1] = magnitude_less(Z_3_real, Z_3_imag, horizon) @3"), std::string::npos)
        << text;
    EXPECT_NE(text.find("Z_2: complex128[C.0, C.1] = complex(Z_2_real, Z_2_imag)\nwrite Z = Z_2\n"), std::string::npos)
        << text;
    // Nothing needs the loop over columns.
    EXPECT_EQ(text.find("for j"), std::string::npos) << text;
}

TEST(Complex, PlansNameTheHalves) {
    auto algorithm = translate(read_program("tilewright-program 1\n"
                                            "function f\n"
                                            "arg z: complex128[z.0, z.1]\n"
                                            "scalar s: complex128\n"
                                            "v: complex128[z.0, z.1] = multiply(z, s) @2\n"
                                            "return v\n"),
                               {});
    EXPECT_EQ(tilewright::runtime::print_header(algorithm.impl().plan), "tilewright-plan 1\n"
                                                                        "function f\n"
                                                                        "arg z complex128 2\n"
                                                                        "scalar s complex128\n"
                                                                        "slices (z)\n"
                                                                        "result v complex128 [z.0, z.1]\n"
                                                                        "return v\n");
    EXPECT_EQ(tilewright::runtime::print_body(algorithm.impl().plan.versions[0]),
              "require layout z C\n"
              "call f_k0 in \"f_k0\" (z.0, z.1, s.real, s.imag, z.real, z.imag, v.real, v.imag)\n");
}

TEST(Complex, HalvesAreOneStageAndOneStore) {
    const auto made = [] {
        return translate(read_program("tilewright-program 1\n"
                                      "function f\n"
                                      "arg z: complex64[z.0, z.1]\n"
                                      "v: complex64[z.0, z.1] = multiply(z, z) @2\n"
                                      "w: complex64[z.0, z.1] = subtract(v, z) @3\n"
                                      "return (v, w)\n"),
                         {});
    };
    std::vector<std::string> names;
    const tilewright::dsl::Algorithm algorithm = made();
    for (const auto& stage : algorithm.info().stages)
        names.push_back(stage.name);
    EXPECT_EQ(names, (std::vector<std::string>{"v", "w"}));
    tilewright::dsl::EmitOptions options;
    options.isa = "x86-64-v3";
    options.assembly = true;
    for (const char* tail : {"", ", guard_with_if"}) {
        const std::string text = std::string("tilewright-schedule 1\nschedule f for x86-64-v3\n") +
                                 "v.split(j, jo, ji, 8" + tail +
                                 ").vectorize(ji)\nw.split(j, jo, ji, 8).vectorize(ji)\n";
        const auto schedule = tilewright::dsl::parse_schedule(text, "test");
        tilewright::dsl::Algorithm applied = made();
        tilewright::dsl::apply(applied, schedule);
        const std::string lowered = tilewright::dsl::emit(std::move(applied), schedule, options).kernels[0].lowered;
        EXPECT_NE(lowered.find("w.0["), std::string::npos) << lowered;
        EXPECT_NE(lowered.find("interleave_vectors("), std::string::npos) << lowered;
        EXPECT_EQ(lowered.find("w.1["), std::string::npos) << lowered;
    }
}

TEST(Complex, RefusalsNameLineAndOperation) {
    try {
        split("tilewright-program 1\nfunction f \"f.py\"\narg z: complex128[z.0]\nv: complex128[] = prod(z) {axes=[0]} "
              "@7\n"
              "return v\n");
        FAIL();
    } catch (const tilewright::TranslateError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "f.py:7: v = prod(z) {axes=[0]}: complex numbers have no translation here in "
                  "this release. Let NumPy run this function.");
    }
}

} // namespace
