// SPDX-License-Identifier: Apache-2.0

// wgmma against a naive model: operands by the layout rules of PTX ISA 9.7.15.5.1, sums by fused_dot_add,
// fragments by the figures of 9.7.15.5.2. And what a kernel may not do with it.

#include <map>

#include "model/launch/generate.h"
#include "sim/numerics/tensor_core.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

struct Product {
  std::string type = "bf16";
  uint32_t n = 8;
  bool swizzled = false;                      ///< 128 bytes; otherwise none
  bool a_along_m = false, b_along_n = false;  ///< transposed (MN-major)
  bool a_in_registers = false;
  int negate_a = 1, negate_b = 1;
  int scale_d = 1;
  int repeat = 1;  ///< instructions on the same accumulator
};

constexpr uint32_t kA = 0, kB = 16384,
                   kBytes = 49152;  // offsets in dynamic shared memory, of the input buffer too

uint64_t descriptor(const Product& p, bool b) {
  // no swizzle: 128 bytes between neighbours along K, 256 between groups of 8 rows; 128B: 1024 between groups
  uint64_t leading = p.swizzled ? 1 : 128 >> 4, stride = p.swizzled ? 1024 >> 4 : 256 >> 4;
  if ((b ? p.b_along_n : p.a_along_m) && p.swizzled) leading = 2048 >> 4;
  return leading << 16 | stride << 32 | (p.swizzled ? uint64_t{1} << 62 : 0);
}

/// Byte offset of element (row, k) from the operand's start (aligned to 1024). Along MN by the canonical
/// layouts of PTX ISA 9.7.15.5.1, T = 8: ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO)) without swizzle, and with 128
/// bytes
/// ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)), whose chunk of 16 bytes then changes with the line of 128.
uint32_t operand_offset(const Product& p, bool b, uint32_t row, uint32_t k) {
  if (b ? p.b_along_n : p.a_along_m) {
    if (!p.swizzled) return row / 8 * 256 + k / 8 * 128 + k % 8 * 16 + row % 8 * 2;
    return row / 64 * 2048 + k / 8 * 1024 + k % 8 * 128 + ((row % 64 / 8) ^ (k % 8)) * 16 + row % 8 * 2;
  }
  if (!p.swizzled) return row / 8 * 256 + k / 8 * 128 + row % 8 * 16 + k % 8 * 2;
  const uint32_t chunk = k / 8;
  return row / 8 * 1024 + row % 8 * 128 + (chunk ^ (row % 8)) * 16 + k % 8 * 2;
}

std::string registers(const std::string& prefix, uint32_t count) {
  std::string out;
  for (uint32_t i = 0; i < count; ++i) out += (out.empty() ? "{" : ", ") + prefix + std::to_string(i);
  return out + "}";
}

std::string mma(const Product& p, const std::string& a, const std::string& b, const std::string& scale) {
  const std::string d = registers("%f", p.n / 2);
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(p.n) + "k16.f32." + p.type + "." + p.type +
         " " + d + ", " + a + ", " + b + ", " + scale + ", " + std::to_string(p.negate_a) + ", " +
         std::to_string(p.negate_b) +
         (p.a_in_registers ? ""
          : p.a_along_m    ? ", 1"
                           : ", 0") +
         (p.b_along_n ? ", 1;\n" : ", 0;\n");
}

/// All 128 threads: the input goes to shared memory, accumulators start at lane-dependent values, D to `out`.
Setup product(const Product& p, std::string between = {}) {
  Setup s;
  s.threads = 128;
  s.out_words = 16384;
  s.module_text = ".extern .shared .align 1024 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = " + std::to_string(kBytes);
  s.variables = ".shared .align 8 .b64 bar; .reg .b32 %a<4>;";
  s.parameters = ", .param .u64 in";
  s.launch_text = "[[params]]\nbuffer = \"in\"\n[[buffers]]\nname = \"in\"\ndtype = \"" + p.type +
                  "\"\nshape = [" + std::to_string(kBytes / 2) +
                  "]\nrole = \"in\"\nfill = \"normal\"\nseed = 5\n";
  std::string body = R"(
    mov.u32 %r2, dyn; mov.u32 %r3, bar; ld.param.u64 %rd2, [in];
    setp.eq.u32 %p1, %r0, 0; @!%p1 bra W0;
    mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], )" +
                     std::to_string(kBytes) + ";\n" +
                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], " +
                     std::to_string(kBytes) + R"(, [%r3];
  W0: bar.sync 0;
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
    @!%p2 bra W;
)";
  // Accumulators: 1 + thread * 256 + register, as floats.
  for (uint32_t i = 0; i < p.n / 2; ++i)
    body += "mad.lo.s32 %r5, %r0, 256, " + std::to_string(i + 1) + "; cvt.rn.f32.s32 %f" + std::to_string(i) +
            ", %r5;\n";
  // A fragments: words 0 to 3 of the thread, at 16 bytes a thread from the start of A.
  for (uint32_t i = 0; i < 4; ++i)
    body += "mad.lo.s32 %r5, %r0, 16, %r2; ld.shared.u32 %a" + std::to_string(i) + ", [%r5+" +
            std::to_string(4 * i) + "];\n";
  body += "shr.u32 %r6, %r2, 4; cvt.u64.u32 %rd5, %r6;\n";
  body += "or.b64 %rd6, %rd5, " + std::to_string(descriptor(p, false)) + ";\n";
  body += "or.b64 %rd7, %rd5, " + std::to_string(descriptor(p, true)) + ";\nadd.s64 %rd7, %rd7, " +
          std::to_string(kB >> 4) + ";\n";
  body += "setp.ne.u32 %p4, " + std::to_string(p.scale_d) + ", 0;\nwgmma.fence.sync.aligned;\n";
  for (int i = 0; i < p.repeat; ++i)
    body += mma(p, p.a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%rd6", "%rd7", "%p4");
  body += "wgmma.commit_group.sync.aligned;\n" + between + "wgmma.wait_group.sync.aligned 0;\n";
  for (uint32_t i = 0; i < p.n / 2; ++i)
    body += "mov.b32 %r5, %f" + std::to_string(i) + "; mad.lo.s32 %r6, %r0, " + std::to_string(p.n / 2) +
            ", " + std::to_string(i) +
            "; mul.wide.u32 %rd8, %r6, 4; add.s64 %rd8, %rd8, %rd0; st.global.u32 [%rd8], %r5;\n";
  s.body = body + "ret;";
  return s;
}

uint16_t half_at(const std::vector<std::byte>& bytes, uint32_t offset) {
  return static_cast<uint16_t>(static_cast<uint32_t>(bytes[offset]) | static_cast<uint32_t>(bytes[offset + 1])
                                                                          << 8);
}

void check_product(const Product& p) {
  const Ran r = run(product(p));
  INFO(p.type, " n=", p.n, " ", r.problem());
  REQUIRE(r.finished());
  REQUIRE(r.result.not_predicted.empty());
  const auto input = initial_contents(r.launch.buffers[1]);
  REQUIRE(input);
  const ElementType type = *element_from_name(p.type);
  const TensorCoreRow* row = find_tensor_core_row(TensorCoreUnit::hopper_wgmma, type, type, ElementType::f32);
  REQUIRE(row != nullptr);

  // Fragment of A in registers (figure of 9.7.15.5.2, 16-bit A): thread, register and half of element (m, k).
  const auto a_element = [&](uint32_t m, uint32_t k) -> uint32_t {
    if (!p.a_in_registers) return half_at(*input, kA + operand_offset(p, false, m, k));
    const uint32_t warp = m / 16, group = m % 8, upper_rows = m % 16 / 8, thread_in_group = k % 8 / 2;
    const uint32_t thread = warp * 32 + group * 4 + thread_in_group, reg = upper_rows + (k >= 8 ? 2 : 0);
    return half_at(*input, kA + thread * 16 + reg * 4 + k % 2 * 2);
  };
  const auto words = r.words(size_t{128} * p.n / 2);
  uint32_t wrong = 0;
  for (uint32_t thread = 0; thread < 128; ++thread)
    for (uint32_t i = 0; i < p.n / 2; ++i) {
      const uint32_t lane = thread % 32, group = lane / 4, thread_in_group = lane % 4;
      const uint32_t m = thread / 32 * 16 + group + (i % 4 >= 2 ? 8 : 0),
                     n = i / 4 * 8 + thread_in_group * 2 + i % 2;
      std::vector<uint32_t> a, b;
      for (uint32_t k = 0; k < 16; ++k) {
        a.push_back(a_element(m, k) ^ (p.negate_a < 0 ? 0x8000 : 0));
        b.push_back(half_at(*input, kB + operand_offset(p, true, n, k)) ^ (p.negate_b < 0 ? 0x8000u : 0u));
      }
      float start = static_cast<float>(thread * 256 + i + 1);
      uint32_t d;
      std::memcpy(&d, &start, 4);
      for (int step = 0; step < p.repeat; ++step) d = fused_dot_add(*row, a, b, p.scale_d != 0 ? d : 0);
      wrong += words[thread * p.n / 2 + i] != d ? 1 : 0;
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("m64nNk16 in several widths, with and without swizzle") {
  for (uint32_t n : {8u, 16u, 24u, 64u, 136u, 256u}) {
    Product p;
    p.n = n;
    check_product(p);
    p.swizzled = true;
    check_product(p);
  }
}

TEST_CASE("f16 operands, negated operands, scale-d and chains") {
  Product p;
  p.n = 32;
  p.type = "f16";
  check_product(p);
  p.negate_a = -1;
  check_product(p);
  p.negate_b = -1;
  check_product(p);
  p.type = "bf16";
  p.scale_d = 0;
  check_product(p);
  p.scale_d = 1;
  p.repeat = 3;
  check_product(p);
}

TEST_CASE("A in registers has the fragment layout of the ISA") {
  Product p;
  p.n = 16;
  p.a_in_registers = true;
  check_product(p);
  p.type = "f16";
  p.swizzled = true;
  check_product(p);
}

TEST_CASE("operands that lie along M and N") {
  for (const bool swizzled : {false, true})
    for (const bool a_along_m : {false, true}) {
      Product p;
      p.n = 136;  // more than two swizzle atoms along N
      p.swizzled = swizzled;
      p.a_along_m = a_along_m;
      p.b_along_n = true;
      check_product(p);
      p.b_along_n = !a_along_m;
      p.n = 64;
      p.negate_b = -1;
      check_product(p);
    }
  Product p;
  p.a_in_registers = true;
  p.b_along_n = true;
  check_product(p);
}

TEST_CASE("touching an accumulator in flight is noted, renames by mov are not") {
  Product p;
  CHECK(run(product(p)).count(EventKind::register_hazard) == 0);
  CHECK(run(product(p, "add.f32 %f20, %f0, %f0;\n")).count(EventKind::register_hazard) == 4);  // in each warp
  CHECK(run(product(p, "mov.f32 %f1, 0f00000000;\n")).count(EventKind::register_hazard) == 4);
  CHECK(run(product(p, "mov.f32 %f20, %f0;\n")).count(EventKind::register_hazard) == 0);
  CHECK(run(product(p, "mov.f32 %f20, %f0; add.f32 %f21, %f20, %f20;\n")).count(EventKind::register_hazard) ==
        4);
  CHECK(run(product(p, "mov.f32 %f20, %f21;\n")).count(EventKind::register_hazard) == 0);
}

TEST_CASE("an accumulator in flight as the next product's A is a hazard") {
  Product p;
  p.a_in_registers = true;
  const std::string next = "mov.b32 %a0, %f0;\n" + mma(p, "{%a0, %a1, %a2, %a3}", "%rd7", "1") +
                           "wgmma.commit_group.sync.aligned;\n";
  CHECK(run(product(p, next)).count(EventKind::register_hazard) > 0);
  const std::string same = mma(p, "{%a0, %a1, %a2, %a3}", "%rd7", "1") + "wgmma.commit_group.sync.aligned;\n";
  CHECK(run(product(p, same)).count(EventKind::register_hazard) == 0);
}

TEST_CASE("the warps of a group must name the same descriptors") {
  Product p;
  Setup s = product(p);
  const size_t at = s.body.find("setp.ne.u32 %p4");
  s.body.insert(at, "shr.u32 %r7, %r0, 5; cvt.u64.u32 %rd9, %r7; add.s64 %rd6, %rd6, %rd9;\n");
  CHECK(contains(run(s).problem(), "WG2: warp 1 issues another wgmma"));
  s = product(p);
  s.body.insert(at, "cvt.u64.u32 %rd9, %r0; add.s64 %rd6, %rd6, %rd9;\n");
  CHECK(contains(run(s).problem(), "WG2: "));
}

TEST_CASE("an operand outside of shared memory is a fault") {
  Product p;
  Setup s = product(p);
  s.body.insert(s.body.find("setp.ne.u32 %p4"), "add.s64 %rd6, %rd6, 12000;\n");
  CHECK(contains(run(s).problem(), "outside shared memory"));
}

TEST_CASE("wgmma needs four full warps") {
  Product p;
  for (uint32_t threads : {96u, 100u, 64u}) {
    Setup s = product(p);
    s.threads = threads;
    CHECK(contains(run(s).problem(), "WG6: "));
  }
  Setup s = product(p);
  s.body.insert(s.body.find("wgmma.fence"), "setp.eq.u32 %p7, %r0, 5; @%p7 ret;\n");
  CHECK(contains(run(s).problem(), "WG6: "));
}

TEST_CASE("a warp that does not come to a wgmma blocks those that wait for it") {
  Product p;
  Setup s = product(p);
  s.body.insert(s.body.find("wgmma.fence"), "setp.gt.u32 %p7, %r0, 95; @%p7 ret;\n");
  const Ran r = run(s);
  REQUIRE(r.trace().blocked.size() == 3);
  for (const Blocked& b : r.trace().blocked) CHECK(b.on == Blocked::On::group);
}
