// SPDX-License-Identifier: Apache-2.0
// What a user reads when PTX text is broken, and the limits of model/ptx/limits.h.
#include <string>

#include "model/ptx/limits.h"
#include "tests/model/ptx_support.h"

namespace turnstile::ptx {

TEST_CASE("a missing semicolon is reported where it was expected, with the instruction") {
  CHECK(error_of(kernel("add.s32 %r1, %r2, 5\nmov.b32 %r1, 0;")) ==
        "t.ptx:7:1: expected ';' after the operands of 'add.s32', found 'mov.b32'");
  CHECK(error_of(kernel("add.s32 %r1, %r2 %r3;")) ==
        "t.ptx:6:18: expected ';' after the operands of 'add.s32', found '%r3'");
  CHECK(error_of(kernel("add.s32 %r1, ;")) == "t.ptx:6:14: expected an operand of 'add.s32', found ';'");
  CHECK(error_of(kernel(".reg .b32 x")) == "t.ptx:7:1: expected ';' after the registers 'x', found '}'");
  CHECK(error_of(kernel("%r1 = 5;")) == "t.ptx:6:1: expected an instruction, found '%r1'");
  CHECK(error_of(kernel("5;")) == "t.ptx:6:1: expected an instruction, a declaration or '}', found '5'");
}

TEST_CASE("a name that is not declared is reported with the nearest one") {
  CHECK(contains(error_of(kernel(".reg .pred complete;\nmov.pred completed, %p1;")),
                 "did you mean 'complete'?"));
  CHECK(contains(error_of(kernel(".shared .b64 full_bar;\nmov.u32 %r1, ful_bar;")),
                 "the name 'ful_bar' is not declared; did you mean 'full_bar'?"));
  CHECK(contains(error_of(kernel("mov.b32 %rx1, 0;")), "register '%rx1' is not declared; did you mean '%r"));
  CHECK(
      contains(error_of(kernel("bra $L__BB0_3;\n$L__BB0_2: ret;")),
               "label '$L__BB0_3' is not defined in this block or one around it; did you mean '$L__BB0_2'?"));
  const std::string far = error_of(kernel("mov.b32 something_else, 0;"));
  CHECK(contains(far, "the name 'something_else' is not declared"));
  CHECK_FALSE(contains(far, "did you mean"));
}

TEST_CASE("duplicates name the first place") {
  CHECK(error_of(kernel(".reg .b32 x;\n.reg .b64 x;")) ==
        "t.ptx:7:11: 'x' is declared twice in the same scope, first at line 6");
  CHECK(contains(error_of(kernel(".reg .b32 %r5;")), "declared twice"));
  CHECK(contains(error_of(kernel(".reg .b32 %r<3>;")), "declared twice"));
  CHECK(error_of(kernel("L: ret;\nL: ret;")) ==
        "t.ptx:7:1: label 'L' is defined twice in the same block, first at line 6");
}

TEST_CASE("a truncated file names what is open") {
  const std::string whole = kernel("{ mov.b32 %r1, 0;\nadd.s32 %r1, %r1, 1; }");
  CHECK(
      error_of(whole.substr(0, whole.find("%r1, 1;"))) ==
      "t.ptx:7:14: expected an operand of 'add.s32', but the file ends here; the block that began at line 6 "
      "and the body of "
      "entry 'k' that began at line 4 are not closed");
  CHECK(error_of(whole.substr(0, whole.rfind('}'))) ==
        "t.ptx:8:1: expected an instruction, a declaration or '}', but the file ends here; the body of entry "
        "'k' that began at "
        "line 4 is not closed");
  CHECK(contains(error_of(whole.substr(0, whole.find(".u32 n"))),
                 "the parameter list of entry 'k' that began at line 4 is not closed"));
  CHECK(contains(error_of(kHeader + ".section .debug_info {\n.b8 1\n"),
                 "the section '.debug_info' that began at line 4"));
  CHECK(error_of(kernel("/* no end")) == "t.ptx:6:1: the comment that begins here is not closed");
  CHECK(contains(error_of(kHeader + ".file 1 \"a"), "the file ends inside this string"));
  CHECK(contains(error_of(kHeader + ".func f() {"), "the function that began at line 4"));
}

TEST_CASE("bytes that are no PTX") {
  CHECK(contains(error_of(kernel("mov.b32 %r1, \x01;")), "a character that PTX does not use"));
  CHECK(contains(error_of(std::string("\x7f"
                                      "ELF\0\0",
                                      6)),
                 "t.ptx:1:1: "));
  CHECK(contains(error_of(std::string("\0\0\0", 3)), "t.ptx:1:1: "));
}

TEST_CASE("unknown directives are errors with their name") {
  CHECK(contains(error_of(kernel(".callprototype ();")),
                 "the directive '.callprototype' is not supported in a body"));
  CHECK(contains(error_of(kHeader + ".alias f, g;"), "the directive '.alias' is not supported here"));
  CHECK(contains(error_of(kHeader + ".global .texref t;"),
                 "'.texref' is not a type or attribute of variables"));
}

TEST_CASE("a file that cannot be read") {
  CHECK(parse_file("/nowhere/x.ptx").error().text() == "/nowhere/x.ptx: cannot be opened");
  CHECK(contains(parse_file("/tmp").error().text(), "is a directory"));
}

TEST_CASE("limits: nesting of blocks") {
  const auto nested = [](std::size_t n) { return kernel(std::string(n, '{') + std::string(n, '}')); };
  CHECK(error_of(nested(limits::scope_nesting - 1)).empty());
  CHECK(contains(error_of(nested(limits::scope_nesting)), "blocks are nested more than 64 deep"));
  CHECK(contains(error_of(nested(1'000'000)), "blocks are nested more than 64 deep"));
}

TEST_CASE("limits: nesting of expressions") {
  const auto with = [](const std::string& e) { return error_of(kernel("mov.b32 %r1, " + e + ";")); };
  CHECK(with(std::string(50, '(') + "1" + std::string(50, ')')).empty());
  CHECK(contains(with(std::string(100'000, '(') + "1" + std::string(100'000, ')')),
                 "nested more than 64 deep"));
  CHECK(contains(with(std::string(100'000, '-') + "1"), "nested more than 64 deep"));
  std::string ternaries;
  for (int i = 0; i < 100'000; ++i) ternaries += "1?1:";
  CHECK(contains(with(ternaries + "1"), "nested more than 64 deep"));
  std::string middle;
  for (int i = 0; i < 100'000; ++i) middle += "1?";
  CHECK(contains(with(middle + "1"), "nested more than 64 deep"));
}

TEST_CASE("limits: operands, vector elements, dimensions, alignment") {
  const auto many = [](const std::string& one, std::size_t n) {
    std::string out = one;
    for (std::size_t i = 1; i < n; ++i) out += "," + one;
    return out;
  };
  CHECK(error_of(kernel("x " + many("1", limits::operands) + ";")).empty());
  CHECK(contains(error_of(kernel("x " + many("1", limits::operands + 1) + ";")), "more than 64 operands"));
  CHECK(error_of(kernel("x {" + many("_", limits::vector_elements) + "};")).empty());
  CHECK(contains(error_of(kernel("x {" + many("_", limits::vector_elements + 1) + "};")),
                 "a vector of more than 128 elements"));
  CHECK(contains(error_of(kernel(".shared .b8 x[1][1][1][1][1][1][1][1][1];")), "more than 8 dimensions"));
  CHECK(contains(error_of(kernel(".shared .align 2097152 .b8 x;")), "the alignment must be"));
  CHECK(error_of(kernel("x {};")) != "");
}

TEST_CASE("limits: sizes that would take all memory") {
  CHECK(error_of(kernel(".reg .b32 big<999000>;")).empty());
  CHECK(contains(error_of(kernel(".reg .b32 big<1000000>;")), "more than 1000000 registers"));
  CHECK(contains(error_of(kernel(".reg .b32 big<99999999999999999999>;")),
                 "is not a number that PTX can hold"));
  std::string entries = kHeader;
  for (int i = 0; i < 5; ++i) entries += ".entry k" + std::to_string(i) + " { .reg .b32 %r<990000>; }\n";
  CHECK(contains(error_of(entries), "4000000 in one file"));
  CHECK(contains(error_of(kernel(".shared .b8 x[1099511627776][2];")), "is larger than"));
  CHECK(contains(error_of(kernel(".shared .b64 x[4294967296][4294967296];")), "is larger than"));
  CHECK(contains(error_of(kHeader + ".global .b8 x[1000000000] = {1};"),
                 "an initialised variable of more than"));
  CHECK(contains(error_of(kHeader + ".global .b8 x[][1000000000] = {{1}};"),
                 "an initialised variable of more than"));
  CHECK(contains(error_of(kHeader + ".entry k(.param .b8 x[40000]) { ret; }"), "take more than 32764 bytes"));
  CHECK(contains(error_of(kHeader + ".entry k { .loc 4000000000 1 1\n }"),
                 "the file number of this place must be"));
  // Module-scope variables count once for every entry.
  std::string copies = kHeader + ".global .b8 x[60000000] = {1};\n";
  for (int i = 0; i < 10; ++i) copies += ".entry k" + std::to_string(i) + " { ret; }\n";
  CHECK(contains(error_of(copies), "initialised bytes in one file"));
}

TEST_CASE("limits: entries") {
  std::string text = kHeader;
  for (uint32_t i = 0; i <= limits::module_entries; ++i) text += ".entry k" + std::to_string(i) + "{}\n";
  CHECK(contains(error_of(text), "t.ptx:100004:8: more than 100000 entries"));
}

TEST_CASE("the time is linear in the text: many entries after one with many labels") {
  // With one hash table cleared for every entry this takes minutes.
  std::string text = kHeader + ".entry first {\n";
  for (int i = 0; i < 200'000; ++i) text += "L" + std::to_string(i) + ":\n";
  text += "}\n";
  for (int i = 0; i < 50'000; ++i) text += ".entry k" + std::to_string(i) + "{ret;}\n";
  CHECK(parsed(text).entries.size() == 50'001);
}

TEST_CASE("limits: text size") {
  const std::string huge(limits::text_bytes + 1, ' ');
  CHECK(error_of(huge) == "t.ptx: larger than 256 MiB");
}

}  // namespace turnstile::ptx
