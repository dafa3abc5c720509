// SPDX-License-Identifier: Apache-2.0
// Hostile input: every truncation and many mutations of real shapes end in a module or in an error with a
// position, never in a crash; what is accepted has indices that are in range.
#include <random>

#include "model/ptx/print.h"
#include "tests/model/ptx_support.h"

namespace turnstile::ptx {
namespace {

const std::string kSmall = kHeader + R"(.extern .shared .align 128 .b8 smem[];
.global .align 4 .f32 table[2][2] = {{1.0, -2}, {0f3F800000}};
.extern .func (.param .b32 r) vprintf (.param .b64 a);
.visible .entry kern(.param .u64 .ptr .global .align 1 in, .param .align 64 .b8 map[128])
.maxntid 384, 1, 1
{ .reg .pred %p<4>; .reg .b32 %r<8>, x; .reg .b64 %rd<4>; .shared .align 8 .b8 bar[16];
.loc 1 3 5, function_name $L__info_string0, inlined_at 1 2 1
mov.b64 %rd1, map; // the map
L0: { .reg .pred P1; W: mbarrier.try_wait.parity.shared::cta.b64 P1, [bar+8], %r1; @P1 bra.uni D; bra.uni W; D: }
@!%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r3, -4}], [%r4+-16];
elect.sync _|%p2, -1; mov.u32 %r5, ((128 >> 4) << 16); mov.u32 x, %tid.x; /* c */ st.shared.v2.b32 [smem], {%r1, WARP_SZ};
{ .param .b64 p0; call.uni vprintf, (p0); }
T: .branchtargets L0, L1; brx.idx %r5, T;
L1: ret;
}
.file 1 "k.cu"
.section .debug_str { .b8 1 }
)";

void check_operand(const Entry& e, const Operand& o) {
  if (o.kind == OperandKind::reg) CHECK(o.reg.v < e.registers.size());
  if (o.kind == OperandKind::symbol) CHECK(o.symbol < e.symbols.size());
  if (o.kind == OperandKind::label) CHECK(o.label <= e.instructions.size());
  for (const Operand& element : o.elements) check_operand(e, element);
}

// True if the text was accepted. Walks everything, so that a sanitizer sees bad memory.
bool survives(std::string_view text) {
  const Result<Module> module = parse(text, "f.ptx");
  if (!module) {
    CHECK(module.error().line > 0);
    CHECK(module.error().column > 0);
    CHECK_FALSE(module.error().message.empty());
    return false;
  }
  for (const SourceLocation& l : module->locations) CHECK(l.file < module->files.size());
  for (std::size_t i = 0; i < module->locations.size(); ++i)
    if (module->locations[i].inlined_at) CHECK(*module->locations[i].inlined_at < i);
  for (const Entry& e : module->entries)
    for (const Instruction& i : e.instructions) {
      if (i.guard) CHECK(i.guard->predicate.v < e.registers.size());
      if (i.location) CHECK(*i.location < module->locations.size());
      for (const uint32_t target : i.branch_targets) CHECK(target <= e.instructions.size());
      for (const Operand& o : i.operands) check_operand(e, o);
      CHECK_FALSE(to_text(e, i).empty());
    }
  return true;
}

}  // namespace

TEST_CASE("truncated at every byte, a file gives an error with a position, or is complete") {
  REQUIRE(survives(kSmall));
  const std::size_t body_begin = kSmall.find("{ .reg .pred"), body_end = kSmall.find("}\n.file");
  for (std::size_t n = 0; n < kSmall.size(); ++n) {
    CAPTURE(n);
    // A copy of exactly that length, so that a sanitizer sees a read behind its end.
    const std::string text(kSmall, 0, n);
    const bool accepted = survives(text);
    if (n > body_begin && n <= body_end) {
      CHECK_FALSE(accepted);
      CHECK(parse(text, "f.ptx").error().message.size() > 10);
    }
  }
}

TEST_CASE("mutated files give an error with a position or a module that is sound") {
  constexpr uint32_t seed = 20260101;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return random() % n; };
  // Bytes of the grammar, so that many mutants get far, and some that do not belong.
  const std::string bytes = "{}()[]<>;,:.@!|_%$+-*/~?=&^\"\\ \n09afx0U\x7f\xff";
  std::size_t accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    CAPTURE(round);
    std::string text = kSmall;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text[at] = bytes[below(bytes.size())];
          break;
        case 1:
          text.erase(at, 1 + below(12));
          break;
        case 2:
          text.insert(at, 1, bytes[below(bytes.size())]);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), 1 + below(40)));
          break;
        case 4:
          text[at] = static_cast<char>(below(256));
          break;
      }
    }
    if (survives(text)) ++accepted;
  }
  CHECK(accepted > 100);  // the mutants are near enough to the language to test more than its first error
}

TEST_CASE("random tokens in a body give an error with a position or a module that is sound") {
  constexpr uint32_t seed = 20260102;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const char* const tokens[] = {"{",
                                "}",
                                ";",
                                ",",
                                "L:",
                                "L",
                                "bra",
                                "brx.idx",
                                "@%p1",
                                "%r1",
                                "%rd1",
                                "[",
                                "]",
                                "1",
                                "-1",
                                "(",
                                ")",
                                ".reg .b32",
                                "x",
                                "<4>",
                                ".branchtargets",
                                "_",
                                "|",
                                "add.s32",
                                "call",
                                ".loc 1 1 1",
                                "!",
                                "+",
                                "a",
                                "WARP_SZ",
                                ".shared .b8",
                                "=",
                                "::",
                                "0f3F800000",
                                "?",
                                ":",
                                "ret;",
                                "mov.b32 %r1, %r2;"};
  for (int round = 0; round < 4000; ++round) {
    CAPTURE(round);
    std::string body;
    for (std::size_t n = 1 + random() % 30; n > 0; --n)
      body += std::string(tokens[random() % std::size(tokens)]) + " ";
    survives(kernel(body));
  }
}

}  // namespace turnstile::ptx
