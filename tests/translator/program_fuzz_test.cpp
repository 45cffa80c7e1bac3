// tests/translator/program_fuzz_test.cpp: mutated texts either are refused with a place or print back as they read;
// what verifies is translated or refused, never worse.
#include <gtest/gtest.h>

#include <random>

#include "dsl/base/error.h"
#include "program_cases.h"
#include "translator/ir/program.h"
#include "translator/translate.h"

namespace {

using namespace tilewright::translator;

std::string mutated(std::string text, std::mt19937_64& rng) {
    static const std::string pieces[] = {"%1",      "X.0",  "[",      "]",    "(",   ")",   "{",       "}",
                                         ",",       ":",    "=",      "\"",   "\\",  "\n",  "@8",      "float32",
                                         "float16", "bool", "1",      "0",    "-",   "//",  "newaxis", "axes",
                                         "index",   "for",  "return", "min(", "sum", "add", "write",   "\t"};
    auto below = [&](std::size_t count) { return static_cast<std::size_t>(rng() % count); };
    std::size_t changes = 1 + below(3);
    for (std::size_t k = 0; k < changes && !text.empty(); ++k) {
        std::size_t at = below(text.size());
        switch (below(6)) {
        case 0:
            text.erase(at, 1 + below(8));
            break;
        case 1:
            text.insert(at, pieces[below(std::size(pieces))]);
            break;
        case 2:
            text[at] = static_cast<char>(rng());
            break;
        case 3:
            text.resize(at);
            break;
        case 4: {
            std::size_t from = below(text.size());
            text.insert(at, text.substr(from, 1 + below(40)));
            break;
        }
        default: {
            const std::string& piece = pieces[below(std::size(pieces))];
            text.replace(at, std::min(piece.size(), text.size() - at), piece);
        }
        }
    }
    return text;
}

TEST(ProgramFuzz, RefusedWithAPlaceOrPrintsBack) {
    const char* seeds[] = {harness::kKMeans, harness::kSoftmax, harness::kRegions, harness::kWrites};
    std::mt19937_64 rng(20240607);
    int refused = 0;
    int read = 0;
    for (int round = 0; round < 100000; ++round) {
        std::string text = mutated(seeds[round % 4], rng);
        try {
            Program program = read_program(text);
            ++read;
            std::string printed = print_program(program);
            EXPECT_EQ(print_program(read_program(printed)), printed) << text;
        } catch (const tilewright::TranslateError& error) {
            ++refused;
            EXPECT_EQ(std::string(error.what()).rfind("program:", 0), 0U) << error.what();
        }
    }
    EXPECT_GT(refused, 10000);
    EXPECT_GT(read, 5000);
}

TEST(ProgramFuzz, WhatVerifiesTranslatesOrIsRefused) {
    const char* seeds[] = {harness::kKMeans, harness::kSoftmax};
    std::mt19937_64 rng(5);
    int translated = 0;
    for (int round = 0; round < 6000; ++round) {
        std::string text = mutated(seeds[round % 2], rng);
        try {
            Program program = read_program(text);
            translate(program, {});
            ++translated;
        } catch (const tilewright::TranslateError&) {
        } catch (const tilewright::InternalError& error) {
            // The verifier's words; a defect of the translation would have others.
            EXPECT_EQ(std::string(error.what()).rfind("program ", 0), 0U) << error.what() << "\n" << text;
        }
    }
    EXPECT_GT(translated, 100);
}

} // namespace
