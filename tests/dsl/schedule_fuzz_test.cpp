// tests/dsl/schedule_fuzz_test.cpp: 100,000 damaged, cut off and random texts: an error with its place, or a round
// iteration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/space.h"
#include "tests/dsl/random_schedule.h"

namespace tilewright::dsl {
namespace {

constexpr int kInputs = 100000;

const char* const kPieces[] = {
    "tilewright-schedule 1\n",
    "tilewright-space 1\n",
    "schedule f for host\n",
    "space f for x86-64\n",
    "variant norm = ",
    "{serial, lanes}\n",
    "choose { ",
    " | ",
    " }",
    "where ",
    "when norm == lanes { ",
    "a.split(i, io, ii, ",
    "?tile",
    "?tile{1, 2}",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    ";",
    "\n",
    "\r\n",
    "\r",
    " ",
    "# c\n",
    "#",
    "update(0)",
    ".update()",
    "specialize(extent(k) == 2) { ",
    "unroll(k)",
    "rfactor(r, u) as p",
    " as ",
    "in(b) as c",
    "-",
    "--",
    "not ",
    " and ",
    " or ",
    " == ",
    " < ",
    "//",
    "/",
    "%",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "0",
    "007",
    "64K",
    "X.0",
    "min(",
    "lanes(float64)",
    "\xC3\xA9",
    "\xFF",
    "\xE2\x80\xA8",
    "\xEF\xBB\xBF",
    "a",
    "_",
    "inline()",
    "vectorise(",
    "\t",
    "=",
    "!=",
    "?",
    "\"",
    "guard_with_if",
};

class Inputs {
  public:
    explicit Inputs(std::uint64_t seed) : rng_(seed) {
        while (seeds_.size() < 64) {
            testing::RandomScheduleOptions options;
            options.space = seeds_.size() % 4 != 0;
            options.max_statements = 3;
            options.max_depth = 2;
            const std::string text = print_schedule(testing::RandomSchedule(rng_, options).make());
            if (testing::is_readable(text)) seeds_.push_back(text);
        }
    }

    std::string next() {
        switch (below(8)) {
        case 0:
            return random_bytes();
        case 1:
            return pieces();
        case 2:
            return cut_off();
        case 3:
            return spliced();
        case 4:
        case 5:
            return laid_out();
        default:
            return mutated();
        }
    }

  private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : rng_() % n; }
    const std::string& seed() { return seeds_[below(seeds_.size())]; }
    std::string piece() {
        if (below(16) == 0) return std::string(1, '\0');
        return kPieces[below(std::size(kPieces))];
    }
    std::string random_bytes() {
        std::string text(below(2) == 0 ? "tilewright-space 1\nspace f for host\n" : "");
        const bool ascii = below(2) == 0;
        for (std::size_t n = below(200); n > 0; --n)
            text += static_cast<char>(ascii ? 32 + below(95) : below(256));
        return text;
    }
    std::string pieces() {
        std::string text("tilewright-space 1\nspace f for host\n");
        for (std::size_t n = below(40); n > 0; --n)
            text += piece();
        return text;
    }
    std::string cut_off() {
        const std::string& text = seed();
        return text.substr(0, below(text.size() + 1));
    }
    std::string spliced() {
        const std::string& a = seed();
        const std::string& b = seed();
        return a.substr(0, below(a.size() + 1)) + b.substr(below(b.size() + 1));
    }
    /// Layout and lines that should not matter, or hardly.
    std::string laid_out() {
        static const char* const kLayout[] = {" ", "\t", "\n", "\r\n", " # c\n", "\n\n  # d\n "};
        std::string text = seed();
        const std::string_view places = below(2) == 0 ? "(,|{" : ";\n";
        for (std::size_t n = 1 + below(6); n > 0; --n) {
            const std::size_t at = text.find_first_of(places, below(text.size()));
            if (at != std::string::npos) text.insert(at + 1, kLayout[below(std::size(kLayout))]);
        }
        return text;
    }
    std::string mutated() {
        std::string text = seed();
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            const std::size_t at = below(text.size() + 1);
            switch (below(5)) {
            case 0:
                text.insert(at, piece());
                break;
            case 1:
                text.erase(at, 1 + below(6));
                break;
            case 2:
                if (at < text.size()) text[at] = static_cast<char>(below(256));
                break;
            case 3:
                if (at < text.size()) text[at] = static_cast<char>(32 + below(95));
                break;
            default: {
                const std::string copy = text.substr(at, below(60));
                text.insert(below(text.size() + 1), copy);
            }
            }
        }
        return text;
    }

    std::mt19937_64 rng_;
    std::vector<std::string> seeds_;
};

/// "<schedule>:LINE:COLUMN: words"
bool says_where(const std::string& message) {
    const std::string file = "<schedule>:";
    if (message.rfind(file, 0) != 0) return false;
    std::size_t i = file.size();
    for (int number = 0; number < 2; ++number) {
        const std::size_t start = i;
        while (i < message.size() && std::isdigit(static_cast<unsigned char>(message[i])))
            ++i;
        if (i == start || i >= message.size() || message[i] != ':') return false;
        ++i;
    }
    return message.size() > i + 8 && message[i] == ' ';
}

TEST(ScheduleFuzz, EitherAnErrorWithItsPlaceOrARoundTrip) {
    Inputs inputs(20240607);
    int accepted = 0;
    int refused = 0;
    for (int n = 0; n < kInputs; ++n) {
        const std::string text = inputs.next();

        Schedule schedule;
        try {
            schedule = parse_schedule(text);
        } catch (const ScheduleError& error) {
            ++refused;
            ASSERT_TRUE(says_where(error.what())) << error.what() << "\n" << text;
            continue;
        }
        ++accepted;
        const std::string printed = print_schedule(schedule);
        Schedule again;
        ASSERT_NO_THROW(again = parse_schedule(printed)) << printed;
        ASSERT_TRUE(again == schedule) << text << "\n---- prints as\n" << printed;
        ASSERT_EQ(print_schedule(again), printed);
        if (n % 16 == 0) {
            ASSERT_EQ(schedule_digest(again), schedule_digest(schedule));
            const Space space(schedule);
            const Schedule first = space.at(space.first_point());
            ASSERT_TRUE(first.is_concrete());
            ASSERT_TRUE(parse_schedule(print_schedule(first)) == first) << print_schedule(first);
        }
    }
    // The inputs reach both ends: a generator that only makes rubbish would test nothing.
    EXPECT_GT(accepted, kInputs / 8);
    EXPECT_GT(refused, kInputs / 4);
}

} // namespace
} // namespace tilewright::dsl
