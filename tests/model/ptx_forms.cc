// SPDX-License-Identifier: Apache-2.0
// Every instruction form that the surveys counted (ptx.md Appendix B, and the TLX fork) is read with operands
// as section 7 lists them, keeps its text, and survives printing and reading again.
#include <fstream>
#include <set>

#include "model/ptx/print.h"
#include "tests/model/ptx_support.h"

namespace turnstile::ptx {
namespace {

std::vector<std::string> forms_in(const std::string& file) {
  std::ifstream in(std::string(TURNSTILE_SOURCE_DIR) + "/tests/model/data/" + file);
  std::vector<std::string> out;
  std::string line;
  std::getline(in, line);  // heading
  while (std::getline(in, line)) out.push_back(line.substr(0, line.find('\t')));
  return out;
}

bool starts(const std::string& form, const char* root) { return form.rfind(root, 0) == 0; }

std::string vector_of(const char* element, int n) {
  std::string out = "{";
  for (int i = 0; i < n; ++i) out += (i > 0 ? ", " : "") + std::string(element) + std::to_string(i % 8);
  return out + "}";
}

// Plausible operands: right in shape for the family, not in type (the parser does not interpret mnemonics).
std::string operands_for(const std::string& form) {
  const auto has = [&](const char* part) { return form.find(part) != std::string::npos; };
  if (starts(form, "bra")) return "LABEL";
  if (starts(form, "brx")) return "%r1, LIST";
  if (starts(form, "call")) return "(retval), vprintf, (param0, param1)";
  if (starts(form, "wgmma.mma_async")) return vector_of("%f", 128) + ", %rd1, %rd2, %p1, 1, 1, 0, 0";
  if (starts(form, "tcgen05.ld")) return vector_of("%r", 32) + ", [%r1]";
  if (starts(form, "tcgen05.st")) return "[%r1], " + vector_of("%r", 32);
  if (starts(form, "tcgen05.mma")) return "[%r1], %rd1, %rd2, %r2, " + vector_of("%r", 8) + ", !%p1";
  if (starts(form, "cp.async.bulk.tensor.") && has(".shared::cta.global"))
    return "[%r1], [%rd1, {%r2, %r3, 0}], [%r4+8], %rs1, %rd2";
  if (has("bulk.tensor") && has(".global.shared::cta")) return "[%rd1, {%r2, %r3}], [%r1], %rd2";
  if (has("bulk.tensor")) return "[%r1], [%rd1, {%r2}], [%r4+-8], %rs1";
  if (starts(form, "elect")) return "_|%p1, -1";
  if (starts(form, "shfl")) return "%r1|%p1, %r2, 0x10, 31, -1";
  if (has("try_wait") || has("test_wait")) return "%p1, [smem+8], %r1, 0x989680";
  if (starts(form, "mbarrier.arrive")) return "_, [%r1+16], 1";
  if (starts(form, "mma.")) return "{%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {%f0, %f1, %f2, %f3}";
  if (has(".v2") || has(".v4") || has(".v8")) {
    const std::string v = vector_of("%r", has(".v8") ? 8 : has(".v4") ? 4 : 2);
    return starts(form, "st") ? "[ %rd1 + 0 ], " + v : v + ", [%rd1+-16]";
  }
  if (starts(form, "ld.param")) return "%r1, [a+4]";
  if (starts(form, "ld")) return "%r1, [%rd1+16]";
  if (starts(form, "st")) return "[smem], %r1";
  if (starts(form, "setp") || starts(form, "selp")) return "%p1, %r1, -5, !%p2";
  if (starts(form, "mov")) return "%r1, {%rs1, %rs2}";
  if (has(".f32")) return "%f1, 0f3F800000, %f2, 0d3FF0000000000000";
  if (has("commit_group") || has("wait_all") || starts(form, "ret") || starts(form, "trap") ||
      starts(form, "fence") || starts(form, "griddepcontrol"))
    return "";
  return "%r1, %r2, (3 << 4), %tid.x";
}

bool same(const Operand& a, const Operand& b) {
  if (a.kind != b.kind || a.negated != b.negated || a.is_float64 != b.is_float64 || !(a.reg == b.reg) ||
      a.symbol != b.symbol || a.label != b.label || a.immediate != b.immediate || a.offset != b.offset ||
      a.name != b.name || a.elements.size() != b.elements.size())
    return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i)
    if (!same(a.elements[i], b.elements[i])) return false;
  return true;
}

const std::string kLead =
    ".shared .align 8 .b8 smem[1024]; .param .b32 retval; .param .b64 param0; .param .b64 param1;\n"
    "LIST: .branchtargets LABEL;\nLABEL:\n";

// As kernel(), with vprintf known.
std::string printing_kernel(const std::string& body) {
  std::string text = kernel(kLead + body);
  text.insert(kHeader.size(), ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n");
  return text;
}

}  // namespace

TEST_CASE("every counted form is read, keeps its text and survives printing") {
  const std::vector<std::string> nvcc = forms_in("ptx_forms.tsv"), tlx = forms_in("ptx_forms_tlx.tsv");
  CHECK(nvcc.size() == 466);  // 443 of nvcc and 23 of Triton only
  CHECK(tlx.size() == 229);
  std::set<std::string> forms(nvcc.begin(), nvcc.end());
  forms.insert(tlx.begin(), tlx.end());
  std::string body;
  for (const std::string& form : forms) body += "@!%p3 " + form + " " + operands_for(form) + ";\n";
  const Module first = parsed(printing_kernel(body));
  const Entry& e = first.entries.at(0);
  REQUIRE(e.instructions.size() == forms.size());

  std::string printed;
  std::size_t i = 0;
  for (const std::string& form : forms) {
    CHECK(e.instructions[i].mnemonic == form);
    std::string joined;
    for (const std::string& m : e.instructions[i].modifiers) joined += (joined.empty() ? "" : ".") + m;
    CHECK(joined == form);
    printed += to_text(e, e.instructions[i++]) + "\n";
  }
  const Module second = parsed(printing_kernel(printed));
  const Entry& again = second.entries.at(0);
  REQUIRE(again.instructions.size() == forms.size());
  for (i = 0; i < forms.size(); ++i) {
    const Instruction &a = e.instructions[i], &b = again.instructions[i];
    CAPTURE(to_text(e, a));
    CHECK(a.mnemonic == b.mnemonic);
    CHECK(a.guard->predicate == b.guard->predicate);
    CHECK(a.branch_targets == b.branch_targets);
    REQUIRE(a.operands.size() == b.operands.size());
    for (std::size_t k = 0; k < a.operands.size(); ++k) CHECK(same(a.operands[k], b.operands[k]));
  }
}

TEST_CASE("instructions print as they are written") {
  for (const char* text :
       {"@%p1 mov.b32 %r1, 5;", "@!%p2 mbarrier.arrive.shared::cta.b64 _, [%r1+-8];", "elect.sync _|%p1, -1;",
        "st.shared.v2.b32 [a+4], {%r1, _};", "and.pred %p1, %p2, !%p3;", "ret;",
        "mul.f32 %f1, %f2, 0f3F800000;", "mov.f64 %rd1, 0dBFF0000000000000;", "mov.u32 %r1, %tid.x;",
        "sub.s32 %r1, -%r2, WARP_SZ;",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1+64, {%r1, 0}], [%r2];"}) {
    const Entry e = entry_of(text);
    CHECK(to_text(e, e.instructions.at(0)) == text);
  }
}

}  // namespace turnstile::ptx
