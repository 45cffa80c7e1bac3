// tests/dsl/schedule_text_test.cpp: what is read, what is printed, and every error in its whole text.
#include "dsl/language/schedule_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "dsl/base/digest.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/language/directive_signature.h"
#include "tests/dsl/random_schedule.h"

namespace tilewright::dsl {
namespace {

const std::string kSchedule = "tilewright-schedule 1\nschedule f for host\n";
const std::string kSpace = "tilewright-space 1\nspace f for host\n";

std::string canonical(const std::string& text) {
    return print_schedule(parse_schedule(text));
}

/// The error of a text, or what it prints as.
std::string error_of(const std::string& text) {
    try {
        return "no error: " + canonical(text);
    } catch (const ScheduleError& error) {
        std::string message = error.what();
        const std::string file = "<schedule>:";
        EXPECT_EQ(message.substr(0, file.size()), file);
        return message.substr(file.size());
    }
}

TEST(ScheduleText, ReadsTheExampleOfTheDesign) {
    const Schedule schedule = parse_schedule(R"(tilewright-schedule 1
schedule get_labels for x86-64               # labels of the nearest mean
variant norm = inline
labels.split(i, io, ii, 65536).parallel(io).vectorize(ii, 16)
nearest.compute_at(labels, ii).vectorize(i)
nearest.update(0).vectorize(i)
nearest.update(0).specialize(extent(k) == 2) { unroll(k) }
norm.update(0).rfactor(r, u) as norm_partial
x.in(labels) as x_tile
)");
    EXPECT_TRUE(schedule.is_concrete());
    EXPECT_EQ(schedule.function, "get_labels");
    EXPECT_EQ(schedule.target, "x86-64");
    EXPECT_EQ(schedule.function_comment, "labels of the nearest mean");
    EXPECT_EQ(schedule.variant(), (std::map<std::string, std::string>{{"norm", "inline"}}));
    ASSERT_EQ(schedule.statements.size(), 6U);
    const Statement& first = schedule.statements[0];
    EXPECT_EQ(first.stage, "labels");
    EXPECT_EQ(first.update, -1);
    ASSERT_EQ(first.chain.size(), 3U);
    EXPECT_EQ(first.chain[0].arguments[0].name, "i");
    EXPECT_EQ(first.chain[0].arguments[3].expression.constant(), 65536);
    EXPECT_EQ(first.chain[2].at.line, 4);
    EXPECT_EQ(first.chain[2].at.column, 45);
    const Statement& special = schedule.statements[3];
    EXPECT_EQ(special.update, 0);
    EXPECT_TRUE(special.chain[0].has_block);
    EXPECT_EQ(special.chain[0].block[0].verb, "unroll");
    EXPECT_EQ(print_expression(special.chain[0].arguments[0].expression), "extent(k) == 2");
    EXPECT_EQ(schedule.statements[4].made_stage, "norm_partial");
    EXPECT_EQ(schedule.statements[5].made_stage, "x_tile");
}

TEST(ScheduleText, PrintsOneStatementALine) {
    EXPECT_EQ(canonical("tilewright-space 1\n\n  space   get_labels for x86-64#c\nvariant norm={serial,lanes}\n\n"
                        "labels . split(i,io,\n  ii, ?tile{4096, 16384,65536} )\n   .parallel(io) ; b.inline()\n"
                        "choose {distance.inline()|distance.compute_at(labels,ii)|}\n"
                        "where(?tile%2==0)\nnearest.update().unroll(k)\n"
                        "when norm==lanes{norm.compute_root()}\n"
                        "n.specialize(extent(k)==2){unroll(k)\nvectorize(i);serial(j)}"),
              "tilewright-space 1\n"
              "space get_labels for x86-64  # c\n"
              "variant norm = {serial, lanes}\n"
              "labels.split(i, io, ii, ?tile{4096, 16384, 65536}).parallel(io)\n"
              "b.inline()\n"
              "choose { distance.inline() | distance.compute_at(labels, ii) | }\n"
              "where ?tile % 2 == 0\n"
              "nearest.update(0).unroll(k)\n"
              "when norm == lanes { norm.compute_root() }\n"
              "n.specialize(extent(k) == 2) { unroll(k).vectorize(i).serial(j) }\n");
}

TEST(ScheduleText, KeepsEveryComment) {
    const std::string text = "tilewright-space 1\n"
                             "# header\n"
                             "#\n"
                             "space f for host  # function\n"
                             "# of the variant\n"
                             "variant norm = serial  # chosen\n"
                             "# before\n"
                             "# and again\n"
                             "a.inline()  # trailing\n"
                             "# before the choice\n"
                             "choose {  # at the choice\n"
                             "    # inside\n"
                             "    b.inline()\n"
                             "|\n"
                             "    b.compute_root()  # other\n"
                             "}\n"
                             "choose { c.inline() | c.compute_root() }  # short\n"
                             "# footer\n";
    EXPECT_EQ(canonical(text), text);
    // Those with no place of their own go before the statement.
    EXPECT_EQ(canonical(kSpace + "a.split(i, # one\n io, ii, 8) # two\n # three\n .parallel(io) # four\n"
                                 "choose { b.inline() # five\n # six\n } # seven\n"),
              kSpace + "# one\n# two\n# three\na.split(i, io, ii, 8).parallel(io)  # four\n"
                       "# six\nchoose {  # seven\n    b.inline()  # five\n}\n");
}

TEST(ScheduleText, AcceptsCarriageReturnsAndAMissingLastNewline) {
    const std::string plain = kSchedule + "# c\na.inline()  # d\nb.split(i, io, ii, 8)\n";
    std::string windows;
    for (const char c : plain)
        windows += c == '\n' ? "\r\n" : std::string(1, c);
    windows.resize(windows.size() - 2);
    EXPECT_EQ(canonical(windows), plain);
}

TEST(ScheduleText, StagesMayBeCalledAsKeywords) {
    const std::string text = kSchedule + "where.inline()\nchoose.inline()\nvariant.inline()\nwhen.inline()\n"
                                         "update.update(0).compute_at(where, in)\nas.in(for) as as\n";
    EXPECT_EQ(canonical(text), text);
}

TEST(ScheduleText, NamesMayHaveLettersBeyondAscii) {
    const std::string text = "tilewright-schedule 1\nschedule größe for host\nβ.split(i, io, ii, 8)  # ∑\n";
    EXPECT_EQ(canonical(text), text);
    EXPECT_EQ(error_of(kSchedule + "β.split(β, 8, ii, 8)"),
              "3:12: expected a name for the new loop after 'split(β,', found '8'. "
              "Write split(loop, outer, inner, factor).");
    EXPECT_EQ(error_of(kSchedule + "a\xE2\x80\x8B.inline()"),
              "3:2: unexpected character U+200B. A statement is stage.directive(...).");
}

TEST(ScheduleText, NumbersReachBothEnds) {
    const std::string text = kSchedule + "a.bound(i, -9223372036854775808, 9223372036854775807)\n";
    EXPECT_EQ(canonical(text), text);
}

TEST(ScheduleText, EveryDirectiveIsReadInEachOfItsForms) {
    std::mt19937_64 rng(7);
    for (const DirectiveSignature& form : directive_signatures()) {
        std::string arguments;
        for (const char role : form.roles) {
            if (role == '?' || role == '+') continue;
            const auto& words = role_words(static_cast<ArgumentRole>(role));
            arguments += (arguments.empty() ? "" : ", ") + (role == 'e'      ? "8"
                                                            : !words.empty() ? words[rng() % words.size()]
                                                                             : std::string("i"));
        }
        const std::string text = kSchedule + "a." + std::string(form.verb) + "(" + arguments + ")" +
                                 (form.has_block ? " { }" : "") + (form.makes_stage ? " as b" : "") + "\n";
        EXPECT_EQ(error_of(text), "no error: " + text);
    }
}

TEST(ScheduleText, EveryDirectiveIsDocumented) {
    std::ifstream file(TW_SOURCE_DIR "/dsl/schedule_text.md");
    const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (const DirectiveSignature& form : directive_signatures()) {
        EXPECT_NE(page.find("`" + std::string(form.usage) + "`"), std::string::npos)
            << "dsl/schedule_text.md lacks " << form.usage;
    }
    // Its examples are read, and stand there as they would be printed.
    int examples = 0;
    for (std::size_t at = page.find("\n    tilewright-"); at != std::string::npos;
         at = page.find("\n    tilewright-", at + 1)) {
        std::string text;
        std::istringstream lines(page.substr(at + 1));
        for (std::string line; std::getline(lines, line) && line.rfind("    ", 0) == 0;)
            text += line.substr(4) + "\n";
        EXPECT_EQ(error_of(text), "no error: " + text);
        ++examples;
    }
    EXPECT_EQ(examples, 2);
}

TEST(ScheduleText, WhatStandsWhereDecidesBetweenNamesAndExpressions) {
    const Schedule schedule =
        parse_schedule(kSchedule + "a.reorder(cores).split(i, io, ii, cores).vectorize(ii, 8, auto)");
    const auto& chain = schedule.statements[0].chain;
    EXPECT_EQ(chain[0].arguments[0].kind, Argument::Kind::name);
    EXPECT_EQ(chain[1].arguments[3].kind, Argument::Kind::expression);
    EXPECT_EQ(chain[2].arguments[2].kind, Argument::Kind::name);
}

struct Mistake {
    std::string statement;
    std::string error;
};

TEST(ScheduleText, MistakesInSchedules) {
    const Mistake mistakes[] = {
        {"    labels.split(65536, io, ii)",
         "3:18: expected a loop name after 'split(', found '65536'. Write split(loop, outer, inner, factor)."},
        {"a.split(i, io, ii)", "3:18: expected a number or an expression after 'split(i, io, ii', found ')'. "
                               "Write split(loop, outer, inner, factor)."},
        {"a.split(i, io, ii, 8, guard)",
         "3:23: expected a tail strategy after 'split(i, io, ii, 8,', found 'guard'. Known: auto, guard_with_if, "
         "predicate, predicate_loads, predicate_stores, round_up, round_up_and_blend, shift_inwards, "
         "shift_inwards_and_blend. Write split(loop, outer, inner, factor[, tail])."},
        {"a.split(i, io, ii, 8, guard_wth_if)",
         "3:23: expected a tail strategy after 'split(i, io, ii, 8,', found 'guard_wth_if'. Is 'guard_with_if' meant? "
         "Known: auto, guard_with_if, predicate, predicate_loads, predicate_stores, round_up, round_up_and_blend, "
         "shift_inwards, shift_inwards_and_blend. Write split(loop, outer, inner, factor[, tail])."},
        {"a.split(i, io, ii, 8, round_up, 9)", "3:33: expected ')' after 'split(i, io, ii, 8, round_up', found '9'. "
                                               "Write split(loop, outer, inner, factor[, tail])."},
        {"a.vectorize(i, guard_with_if)",
         "3:16: expected a number or an expression after 'vectorize(i,', found 'guard_with_if'. "
         "Write vectorize(loop[, factor[, tail]])."},
        {"a.split(i, io,", "3:15: expected a name for the new loop after 'split(i, io,', found the end of the text. "
                           "Write split(loop, outer, inner, factor)."},
        {"a.split(i io)", "3:11: expected ',' or ')' after 'split(i', found 'io'. "
                          "Write split(loop, outer, inner, factor)."},
        {"a.vectorise(i)",
         "3:3: expected a directive after 'a.', found 'vectorise'. Write vectorize(loop[, factor[, tail]])."},
        {"a.paralel(i)", "3:3: expected a directive after 'a.', found 'paralel'. Is 'parallel' meant?"},
        {"a.compute_inline()", "3:3: expected a directive after 'a.', found 'compute_inline'. Write inline()."},
        {"a.frobnicate()", "3:3: expected a directive after 'a.', found 'frobnicate'. "
                           "The directives are listed in dsl/schedule_text.md."},
        {"a.compute_root().update(0).unroll(r)",
         "3:18: expected a directive after 'a.', found 'update'. update(k) stands once, right after the stage."},
        {"a.update(0)", "3:12: expected '.' and a directive after 'a.update(0)', found the end of the text. "
                        "update(k) chooses a definition: write what to do with it."},
        {"a.update(x).unroll(r)",
         "3:10: expected the number of an update and ')' after 'update(', found 'x'. Write update(0)."},
        {"a", "3:2: expected '.' after 'a', found the end of the text. A statement is stage.directive(...)."},
        {"a.", "3:3: expected a directive after 'a.', found the end of the text."},
        {"a.inline", "3:9: expected '(' after 'inline', found the end of the text. Write inline()."},
        {"a.inline(", "3:10: expected ')' after 'inline(', found the end of the text. Write inline()."},
        {"a.inline() b.inline()", "3:12: expected the end of the statement, found 'b'. "
                                  "Write one statement a line, or ';' between them."},
        {"a.split(i, io, ii, 64K)",
         "3:20: unexpected '64K'. Numbers are digits alone: write 65536, not 64K, 65_536 or 0x10000."},
        {"a.split(i, io, ii, 1_000_000)",
         "3:20: unexpected '1_000_000'. Numbers are digits alone: write 65536, not 64K, 65_536 or 0x10000."},
        {"a.split(i, io, ii, 007)", "3:20: unexpected '007'. Numbers have no leading zeros."},
        {"a.split(i, io, ii, 9223372036854775808)",
         "3:20: unexpected '9223372036854775808'. Numbers are of 64 bits: at most 9223372036854775807."},
        {"a.split(i, io, ii, 99999999999999999999)",
         "3:20: unexpected '99999999999999999999'. Numbers are of 64 bits: at most 9223372036854775807."},
        {"a.split(i, io, ii, 16 / 2)", "3:23: unexpected '/'. Division is //, which rounds down."},
        {"a.split(\"i\", io, ii, 8)", "3:9: unexpected '\"'. Names are written without quotes."},
        {"a.rfactor(r, u)", "3:16: expected 'as' and a name after 'rfactor(r, u)', found the end of the text. "
                            "It makes a stage: write rfactor(loop, new_loop) as name."},
        {"a.rfactor(r, u, r2) as b", "3:19: expected a name for the new loop after 'rfactor(r, u, r2', found ')'. "
                                     "Write rfactor(loop, new_loop) as name."},
        {"a.inline() as x", "3:12: 'as' after 'inline'. Only rfactor and in make a stage."},
        {"a.in(b) as c.inline()", "3:13: a directive after 'as c'. "
                                  "Schedule the new stage in a separate statement: c.compute_root()."},
        {"a.specialize(n == 2) { rfactor(r, u) as b }",
         "3:24: 'rfactor' in the block of 'specialize'. It makes a stage, which exists whatever the condition: "
         "write it as a separate statement."},
        {"a.inline() { unroll(i) }", "3:12: a block after 'inline'. Only specialize(condition) has one."},
        {"a.specialize(extnt(k) == 2)", "3:14: unknown function 'extnt'. Is 'extent' meant? Functions: extent(loop), "
                                        "lanes(dtype), max(a, b), min(a, b), stride(argument, axis)."},
        {"a.specialize(stride(X) == 1)",
         "3:22: expected ',' and argument 2 of 'stride', found ')'. Write stride(argument, axis)."},
        {"a.specialize(1 < n < 3)", "3:20: expected 'and', 'or' or the end of the condition, found '<'. "
                                    "Comparisons do not chain: write a < b and b < c."},
        {"a.specialize(X. == 1)",
         "3:17: expected an axis after 'X.', found '=='. A size is written X.0: argument, dot, axis."},
        {"a.compute_at(X.0, i)",
         "3:14: expected a stage name after 'compute_at(', found 'X.0'. Write compute_at(stage, loop)."},
        {"a.store_in(stak)", "3:12: expected a kind of memory after 'store_in(', found 'stak'. Is 'stack' meant? "
                             "Known: auto, gpu_shared, heap, register, stack. Write store_in(memory)."},
        {"a.split(i, io, ii, ?t{1, 2})",
         "3:20: the hole '?t' in a schedule, which leaves nothing open. Write a number, or 'tilewright-space 1' on the "
         "first line and 'space' for 'schedule' on the second."},
        {"choose { a.inline() | }",
         "3:1: 'choose' in a schedule, which leaves nothing open. Write 'tilewright-space 1' on the first line and "
         "'space' for 'schedule' on the second."},
        {"chose { a.inline() | }", "3:7: expected '.' after 'chose', found '{'. Is 'choose' meant? "
                                   "A statement is stage.directive(...)."},
        {"variant norm = {a, b}",
         "3:16: variant norm is left open, but this is a schedule. Choose one option, or write "
         "'tilewright-space 1' on the first line."},
        {"variant norm", "3:13: expected '=' after 'variant norm', found the end of the text. "
                         "Write variant norm = option."},
        {"variant a = b\nvariant a = c", "4:9: variant a is given twice. Write it once: variant a = {a, b} where both "
                                         "are open."},
        {"a.inline()\nvariant b = c",
         "4:1: 'variant' after the first statement. Write all variants above the first statement."},
        {"65536", "3:1: expected a statement, found '65536'. A statement is stage.directive(...)."},
        {"}", "3:1: expected a statement, found '}'. A statement is stage.directive(...)."},
        {"a.inline() | b.inline()", "3:12: expected the end of the statement, found '|'. "
                                    "Write one statement a line, or ';' between them."},
        {"@", "3:1: unexpected '@'. A statement is stage.directive(...)."},
    };
    for (const Mistake& mistake : mistakes)
        EXPECT_EQ(error_of(kSchedule + mistake.statement), mistake.error);
}

TEST(ScheduleText, MistakesInSpaces) {
    const Mistake mistakes[] = {
        {"a.split(i, io, ii, ?tile)",
         "3:20: ?tile: no values are given for this hole where it stands first. Write ?tile{1, 2, 4} here."},
        {"a.split(i, io, ii, ?tile{1, 2})\na.vectorize(ii, ?tle)",
         "4:17: ?tle: no values are given for this hole where it stands first. Is ?tile meant? Write ?tle{1, 2, 4} "
         "here."},
        {"a.split(i, io, ii, ?t{1, 2})\na.vectorize(ii, ?t{1, 2})",
         "4:17: ?t: the values of this hole are already given in line 3. Write ?t alone."},
        {"a.split(i, io, ii, ?t{})", "3:23: expected a number in the values of ?t, found '}'. Write ?t{1, 2, 4}."},
        {"a.split(i, io, ii, ?t{1, 2, 1})", "3:20: ?t: the value 1 stands there twice. Write each value once."},
        {"a.split(i, io, ii, ?t{1 2})", "3:25: expected ',' or '}' in the values of ?t, found '2'."},
        {"a.split(i, io, ii, ?)", "3:20: unexpected '?'. A hole is ?name, or ?name{1, 2, 4} where it is declared."},
        {"a.split(?t{1, 2}, io, ii, 8)",
         "3:9: expected a loop name after 'split(', found '?t'. Write split(loop, outer, inner, factor)."},
        {"where ?t{1, 2} > 1",
         "3:7: ?t: no directive uses this hole. Use it as an argument of a directive, or take it out."},
        {"where",
         "3:6: expected a condition after 'where', found the end of the text. Write where ?tile % ?lanes == 0."},
        {"choose a.inline()", "3:8: expected '{' after 'choose', found 'a'. Write choose { a | b }."},
        {"choose { a.inline()", "3:20: expected '|' or '}' after a branch of 'choose', found the end of the text."},
        {"when norm == a { b.inline() }", "3:6: 'norm == a' compares no variant that is declared above. Conditions of "
                                          "'when' compare variants with their "
                                          "options: write variant name = {a, b} first."},
        {"variant norm = {serial, lanes}\nwhen norm == lane { b.inline() }",
         "4:14: variant norm has no option 'lane'. Is 'lanes' meant? Its options here: serial, lanes."},
        {"variant norm = {serial, lanes}\nwhen nrom == lanes { b.inline() }",
         "4:6: 'nrom == lanes' compares no variant that is declared above. Is 'norm' meant? Conditions of 'when' "
         "compare "
         "variants with their options: when norm == serial { ... }."},
        {"variant norm = {serial, lanes}\nwhen norm < lanes { b.inline() }",
         "4:6: variant norm is compared by '<', but its options are names. Compare it by == or !=."},
        {"variant norm = {serial, lanes}\nwhen norm == lanes { b.inline() | }",
         "4:33: '|' inside 'when'. Branches belong to choose { a | b }."},
        {"variant norm = {serial, serial}", "3:9: variant norm lists serial twice. Write each option once."},
        {"variant norm = {serial lanes}", "3:24: expected ',' or '}' after the option 'serial', found 'lanes'."},
    };
    for (const Mistake& mistake : mistakes)
        EXPECT_EQ(error_of(kSpace + mistake.statement), mistake.error);
}

TEST(ScheduleText, MistakesInTheFirstLines) {
    const Mistake mistakes[] = {
        {"", "1:1: expected 'tilewright-schedule 1' or 'tilewright-space 1' on the first line, found nothing."},
        {"\ntilewright-schedule 1",
         "1:1: expected 'tilewright-schedule 1' or 'tilewright-space 1' on the first line, found nothing."},
        {"tilewright-schedule 2", "1:1: expected 'tilewright-schedule 1' or 'tilewright-space 1' on the first line, "
                                  "found 'tilewright-schedule 2'. "
                                  "This tilewright reads version 1."},
        {"tilewright-schedule 1", "1:22: expected 'schedule', found the end of the text. "
                                  "The second line is: schedule FUNCTION for TARGET."},
        {"tilewright-schedule 1\nspace f for host",
         "2:1: expected 'schedule', found 'space'. The second line is: schedule FUNCTION for TARGET."},
        {"tilewright-schedule 1\nschedule for host",
         "2:14: expected 'for' and a target, found 'host'. The second line is: schedule FUNCTION for TARGET."},
        {"tilewright-schedule 1\nschedule f for x86_64",
         "2:16: expected a target after 'for', found 'x86_64'. Is 'x86-64' meant? "
         "Targets: x86-64, x86-64-v3, x86-64-v4, host, cuda, cuda-sm_70, cuda-sm_75, cuda-sm_80, cuda-sm_86."},
        {"tilewright-schedule 1\nschedule f for",
         "2:15: expected a target after 'for', found the end of the text. "
         "Targets: x86-64, x86-64-v3, x86-64-v4, host, cuda, cuda-sm_70, cuda-sm_75, cuda-sm_80, cuda-sm_86."},
        {"tilewright-schedule 1\nschedule f for host a.inline()", "2:21: expected the end of the line, found 'a'."},
        {std::string("tilewright-schedule 1\n\0", 23),
         "2:1: control character U+0000. A schedule is plain text. Is this the file you meant?"},
        {"tilewright-schedule 1\nschedule \xFFoo for host", "2:10: byte 0xFF is not UTF-8. Save the text as UTF-8."},
        {"tilewright-schedule 1\nschedule \xC0\x80 for host", "2:10: byte 0xC0 is not UTF-8. Save the text as UTF-8."},
        {"tilewright-schedule 1\nschedule \xED\xA0\x80 for host",
         "2:10: byte 0xED is not UTF-8. Save the text as UTF-8."},
        {"tilewright-schedule 1\rschedule f for host",
         "1:22: a carriage return without a line feed. End lines with LF or CR LF."},
        {"\xEF\xBB\xBFtilewright-schedule 1",
         "1:1: the text starts with a byte order mark. Save it as UTF-8 without one."},
    };
    for (const Mistake& mistake : mistakes)
        EXPECT_EQ(error_of(mistake.statement), mistake.error);
}

TEST(ScheduleText, RefusesWhatIsTooLong) {
    const std::string long_text = kSchedule + "#" + std::string(kMaxScheduleBytes, 'x');
    EXPECT_EQ(error_of(long_text), "1:1: a schedule of " + std::to_string(long_text.size()) +
                                       " bytes; at most 1048576 are read. Is this the file you meant?");
    EXPECT_EQ(error_of(kSchedule + std::string(256, 'a') + ".inline()"),
              "3:1: unexpected '" + std::string(45, 'a') + "...'. Names have at most 255 bytes.");
    std::string many;
    for (int i = 0; i < 65; ++i)
        many += (i > 0 ? ", i" : "i") + std::to_string(i);
    EXPECT_EQ(error_of(kSchedule + "a.reorder(" + many + ")"),
              "3:321: 'reorder' with more than 64 arguments. Write reorder(innermost, ..., outermost).");
}

TEST(ScheduleText, RefusesWhatIsTooDeep) {
    const auto repeated = [](const std::string& text, int n) {
        std::string result;
        for (int i = 0; i < n; ++i)
            result += text;
        return result;
    };
    const auto where = [&](const std::string& condition) { return kSpace + "where " + condition; };
    const std::string deep = "an expression nested deeper than 64 levels. Write it in parts.";
    EXPECT_EQ(error_of(where(repeated("(", 64) + "1" + repeated(")", 64))).substr(0, 8), "no error");
    EXPECT_EQ(error_of(where(repeated("(", 65) + "1" + repeated(")", 65))), "3:71: " + deep);
    EXPECT_EQ(error_of(where(repeated("not ", 63) + "1")).substr(0, 8), "no error");
    EXPECT_NE(error_of(where(repeated("not ", 64) + "1")).find(deep), std::string::npos);
    EXPECT_NE(error_of(where(repeated("not ", 100000) + "1")).find(deep), std::string::npos);
    EXPECT_NE(error_of(where(repeated("-", 100000) + "X.0")).find(deep), std::string::npos);
    EXPECT_NE(error_of(where("1" + repeated(" + 1", 64))).find(deep), std::string::npos);
    EXPECT_NE(error_of(where(repeated("min(1, ", 65) + "1" + repeated(")", 65))).find(deep), std::string::npos);
    const std::string blocks = "blocks nested deeper than 64 levels. Write it flatter.";
    EXPECT_EQ(error_of(kSpace + repeated("choose { ", 64) + repeated("}", 64)).substr(0, 8), "no error");
    EXPECT_NE(error_of(kSpace + repeated("choose { ", 65) + repeated("}", 65)).find(blocks), std::string::npos);
    EXPECT_NE(error_of(kSpace + repeated("choose { ", 100000)).find(blocks), std::string::npos);
    EXPECT_EQ(error_of(kSchedule + "a." + repeated("specialize(1) { ", 64) + repeated("}", 64)).substr(0, 8),
              "no error");
    EXPECT_NE(error_of(kSchedule + "a." + repeated("specialize(1) { ", 100) + repeated("}", 100)).find(blocks),
              std::string::npos);
}

TEST(ScheduleText, LargeTextsTakeLinearTime) {
    std::string text = kSpace;
    while (text.size() + 100 < kMaxScheduleBytes)
        text += "choose { a.split(i, io, ii, 8) | a.inline() }  # c\n";
    // Not EXPECT_EQ, which would look for the shortest difference between a million lines.
    EXPECT_TRUE(canonical(text) == text);
    std::string comments = kSchedule;
    while (comments.size() + 100 < kMaxScheduleBytes)
        comments += "#\n";
    EXPECT_TRUE(canonical(comments) == comments);
    std::string newlines = kSpace + "a.inline()" + std::string(kMaxScheduleBytes - 200, '\n') + ".inline()\n";
    EXPECT_EQ(canonical(newlines), kSchedule + "a.inline().inline()\n");
}

TEST(ScheduleText, DigestIgnoresCommentsAndLayout) {
    const std::string plain = kSpace + "a.split(i, io, ii, 8)\nchoose { b.inline() | b.compute_root() }\n";
    const std::string digest_of_plain = schedule_digest(parse_schedule(plain));
    EXPECT_EQ(digest_of_plain.size(), 32U);
    EXPECT_EQ(digest_of_plain.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(
        schedule_digest(parse_schedule("tilewright-space 1 # c\n# d\nspace f for host # e\n# f\na.split(i,io,ii,8)#g\n"
                                       "choose {\n# h\nb.inline() # i\n|\nb.compute_root()\n}\n# j")),
        digest_of_plain);
    EXPECT_NE(
        schedule_digest(parse_schedule(kSpace + "a.split(i, io, ii, 9)\nchoose { b.inline() | b.compute_root() }")),
        digest_of_plain);
    EXPECT_NE(schedule_digest(parse_schedule(kSchedule + "a.inline()\nb.inline()")),
              schedule_digest(parse_schedule(kSchedule + "b.inline()\na.inline()")));
}

TEST(ScheduleText, MadeByCodePrintsAndReadsBack) {
    std::mt19937_64 rng(42);
    for (int n = 0; n < 2000; ++n) {
        testing::RandomScheduleOptions options;
        options.space = n % 2 == 0;
        options.comments = n % 3 != 0;
        const Schedule made = testing::RandomSchedule(rng, options).make();
        const std::string text = print_schedule(made);
        Schedule read;
        try {
            read = parse_schedule(text);
        } catch (const ScheduleError& error) {
            // A hole that stands in a where alone is a rule of its own.
            ASSERT_NE(std::string(error.what()).find("no directive uses this hole"), std::string::npos)
                << error.what() << "\n"
                << text;
            continue;
        }
        ASSERT_TRUE(read == made) << text << "----\n" << print_schedule(read);
        ASSERT_EQ(print_schedule(read), text);
        ASSERT_EQ(read.is_concrete(), text.rfind("tilewright-schedule", 0) == 0);
    }
}

TEST(ScheduleText, VariantOfAnOpenSpaceIsOurBug) {
    const Schedule space = parse_schedule(kSpace + "variant norm = {serial, lanes}");
    EXPECT_FALSE(space.is_concrete());
    EXPECT_THROW(space.variant(), InternalError);
}

TEST(Violation, SaysWhere) {
    Violation violation;
    violation.message = "norm.r: cannot run in parallel: iterations of a reduction write the same element";
    violation.hint = "Use a pure loop instead: i.";
    EXPECT_EQ(violation.text(), "norm.r: cannot run in parallel: iterations of a reduction write the same element. "
                                "Use a pure loop instead: i.");
    violation.at = {4, 12};
    violation.hint.clear();
    EXPECT_EQ(violation.text("kmeans.tws"),
              "kmeans.tws:4:12: norm.r: cannot run in parallel: iterations of a reduction "
              "write the same element.");
    EXPECT_EQ(violation.text().substr(0, 6), "4:12: ");
}

TEST(Digest, IsTheSameEverywhere) {
    // XXH3 of 128 bits, as `xxhsum -H2` prints it.
    EXPECT_EQ(digest(""), "99aa06d3014798d86001c324468d497f");
    EXPECT_EQ(digest("abc").size(), 32U);
    EXPECT_NE(digest("abc"), digest("abd"));
}

TEST(Spelling, SuggestsOnlyWhatIsNear) {
    const std::vector<std::string> words = {"vectorize", "unroll", "in"};
    EXPECT_EQ(near_name("vectroize", words), "vectorize");
    EXPECT_EQ(near_name("Unroll", words), "unroll");
    EXPECT_EQ(near_name("banana", words), std::nullopt);
    EXPECT_EQ(near_name("xy", words), std::nullopt);
    EXPECT_EQ(near_name("", words), std::nullopt);
}

} // namespace
} // namespace tilewright::dsl
