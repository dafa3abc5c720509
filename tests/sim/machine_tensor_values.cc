// SPDX-License-Identifier: Apache-2.0
// What tcgen05 gives, against the scalar models of single elements: operands in shared or tensor memory,
// scales by tcgen05.cp, accumulators by tcgen05.st, results by tcgen05.ld.
#include <bit>

#include "model/launch/generate.h"
#include "sim/numerics/block_scaled.h"
#include "sim/numerics/tensor_core.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

constexpr uint32_t n = 16, at_b = 8192, at_a_scales = 16384, at_b_scales = 20480, of_tile = 24576;

struct Form {
  std::string kind, scale_vec;
  uint32_t descriptor = 0;  ///< without M and N
  FormatShape a, b;
  uint32_t width = 0;   ///< of an element in shared memory, in bits
  uint32_t packed = 0;  ///< FP6, FP4 in bytes: bits of an element in its chunk of 16
  bool half = false;    ///< accumulators of f16
};

std::string list(uint32_t count) {
  std::string out;
  for (uint32_t i = 0; i < count; ++i) out += (i == 0 ? "{%s" : ", %s") + std::to_string(i);
  return out + "}";
}

std::string buffer(const std::string& name, uint32_t words, const std::string& fill, int seed) {
  return "[[params]]\nbuffer = \"" + name + "\"\n[[buffers]]\nname = \"" + name +
         "\"\ndtype = \"u8\"\nshape = [" + std::to_string(4 * words) + "]\nrole = \"in\"\nfill = \"" + fill +
         "\"\nseed = " + std::to_string(seed) + "\n";
}

/// The tile comes from `in`, accumulators from `c`: 64 bytes a thread.
Setup setup(const Form& f, uint32_t m, bool a_in_tensor, bool accumulates, int repeat = 1) {
  Setup s;
  s.threads = 128;
  s.parameters = ", .param .u64 in, .param .u64 c";
  s.launch_text = buffer("in", of_tile / 4, "normal", 3) + buffer("c", 128 * n, "normal", 4);
  s.variables =
      ".shared .align 1024 .b8 tile[24576]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot; .reg .b32 "
      "%s<32>;";
  std::string body = R"(
    mov.u32 %r9, bar; mov.u32 %r8, slot; mov.u32 %r7, tile; setp.eq.u32 %p1, %r0, 0; shr.u32 %r6, %r0, 5;
    setp.ne.u32 %p2, %r6, 0;
    @!%p1 bra INITED; mbarrier.init.shared.b64 [%r9], 1; INITED:
    @%p2 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 512;
    ALLOCATED: ld.param.u64 %rd2, [in]; mul.wide.u32 %rd3, %r0, 4; add.s64 %rd2, %rd2, %rd3;
    shl.b32 %r10, %r0, 2; add.u32 %r10, %r10, %r7;
)";
  for (uint32_t at = 0; at < of_tile; at += 512)
    body += "ld.global.b32 %r11, [%rd2+" + std::to_string(at) + "]; st.shared.b32 [%r10+" +
            std::to_string(at) + "], %r11;\n";
  body +=
      "fence.proxy.async; bar.sync 0; ld.shared.b32 %r2, [%r8]; shl.b32 %r3, %r6, 21; add.u32 %r4, %r2, "
      "%r3;\nld.param.u64 %rd4, [c]; mul.wide.u32 %rd5, %r0, 64; add.s64 %rd4, %rd4, %rd5;\n";
  for (uint32_t i = 0; i < n; ++i)
    body += "ld.global.b32 %s" + std::to_string(i) + ", [%rd4+" + std::to_string(4 * i) + "];\n";
  body += "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r4], " + list(n) +
          ";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
          "tcgen05.fence::after_thread_sync;\n@!%p1 bra DONE;\n";
  // Rows of 16 bytes in groups of 8; of A and B 128 bytes to the other half of K, 256 to the next group.
  const auto descriptor = [&](const std::string& to, uint32_t at, uint32_t leading, uint32_t stride) {
    const uint64_t bits = uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | uint64_t{1} << 46;
    return "add.u32 %r10, %r7, " + std::to_string(at) + "; shr.u32 %r10, %r10, 4; cvt.u64.u32 " + to +
           ", %r10; or.b64 " + to + ", " + to + ", " + std::to_string(bits) + ";\n";
  };
  body += descriptor("%rd6", 0, 128, 256) + descriptor("%rd7", at_b, 128, 256) +
          descriptor("%rd8", at_a_scales, 128, 128) + descriptor("%rd9", at_b_scales, 128, 128);
  body +=
      "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2+256], %rd8; tcgen05.cp.cta_group::1.32x128b.warpx4 "
      "[%r2+272], %rd9;\n";
  if (a_in_tensor) body += "tcgen05.cp.cta_group::1.128x256b [%r2+320], %rd6;\n";
  body += "mov.b32 %r11, " + std::to_string(f.descriptor | m >> 4 << 24 | n >> 3 << 17) +
          "; setp.ne.u32 %p5, " + (accumulates ? "1" : "0") + ", 0;\n";
  for (int i = 0; i < repeat; ++i)
    body += "tcgen05.mma.cta_group::1.kind::" + f.kind +
            (f.scale_vec.empty() ? "" : ".block_scale.scale_vec::" + f.scale_vec) + " [%r2], " +
            (a_in_tensor ? "[%r2+320]" : "%rd6") + ", %rd7, %r11, " +
            (f.scale_vec.empty() ? "" : "[%r2+256], [%r2+272], ") + "%p5;\n";
  body += R"(
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];
    DONE: W: mbarrier.try_wait.parity.shared.b64 %p6, [%r9], 0; @!%p6 bra W;
    tcgen05.fence::after_thread_sync; add.s64 %rd5, %rd5, %rd0;
    tcgen05.ld.sync.aligned.32x32b.x16.b32 )" +
          list(n) + ", [%r4]; tcgen05.wait::ld.sync.aligned;\n";
  for (uint32_t i = 0; i < n; ++i)
    body += "st.global.b32 [%rd5+" + std::to_string(4 * i) + "], %s" + std::to_string(i) + ";\n";
  s.body = body + R"(bar.sync 0; @%p2 bra FREED;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 512;
    FREED: ret;)";
  return s;
}

uint32_t byte_at(const std::vector<std::byte>& from, uint32_t at) {
  return std::to_integer<uint32_t>(from.at(at));
}

/// Element k of a row of an operand that starts at `start`.
uint32_t element(const Form& f, const std::vector<std::byte>& in, uint32_t start, uint32_t row, uint32_t k) {
  const auto row_byte = [&](uint32_t x) {
    return byte_at(in, start + row / 8 * 256 + x / 16 * 128 + row % 8 * 16 + x % 16);
  };
  if (f.packed != 0) {
    const uint32_t bit = k % 16 * f.packed, chunk = k / 16 * 16;
    return (row_byte(chunk + bit / 8) | row_byte(chunk + bit / 8 + 1) << 8) >> bit % 8 &
           ((1u << f.packed) - 1);
  }
  if (f.width == 4) return row_byte(k / 2) >> (4 * (k % 2)) & 15;
  uint32_t word = 0;
  for (uint32_t b = 0; b < f.width / 8; ++b) word |= row_byte(k * f.width / 8 + b) << (8 * b);
  return word;
}

/// Scale `block` of a row: byte `block` of word row/32 of line row%32.
uint32_t scale(const std::vector<std::byte>& in, uint32_t start, uint32_t row, uint32_t block) {
  return byte_at(in, start + row % 32 / 8 * 128 + row % 8 * 16 + row / 32 * 4 + block);
}

uint32_t expected(const Form& f, const std::vector<std::byte>& in, uint32_t row, uint32_t column,
                  uint32_t c) {
  std::vector<uint32_t> a, b;
  for (uint32_t k = 0; k < 256 / f.width; ++k) {
    a.push_back(element(f, in, 0, row, k));
    b.push_back(element(f, in, at_b, column, k));
    if ((f.descriptor >> 13 & 1) != 0) a.back() ^= 1u << (f.a.width() - 1);
    if ((f.descriptor >> 14 & 1) != 0) b.back() ^= 1u << (f.b.width() - 1);
  }
  if (f.kind == "i8") {
    int64_t sum = static_cast<int32_t>(c);
    for (size_t k = 0; k < a.size(); ++k)
      sum += static_cast<int64_t>(static_cast<int8_t>(a[k])) * static_cast<int64_t>(b[k]);  // s8 x u8
    return static_cast<uint32_t>(sum);
  }
  std::vector<uint32_t> x, y;
  const uint32_t blocks = f.scale_vec.empty() ? 0 : static_cast<uint32_t>(f.scale_vec[0] - '0');
  for (uint32_t i = 0; i < blocks; ++i) {
    x.push_back(scale(in, at_a_scales, row, i));
    y.push_back(scale(in, at_b_scales, column, i));
  }
  const auto row_of = [](TensorCoreUnit unit, ElementType type, ElementType accumulator) {
    const TensorCoreRow* found = find_tensor_core_row(unit, type, type, accumulator);
    REQUIRE(found != nullptr);
    return found;
  };
  const FormatShape scale_shape = (f.descriptor >> 23 & 1) != 0 ? ue8m0_shape : ue4m3_shape;
  if (f.kind == "mxf8f6f4")
    return block_scaled_dot_add(
        *row_of(TensorCoreUnit::blackwell_scaled, ElementType::e4m3, ElementType::f32), f.a, f.b, scale_shape,
        a, b, x, y, c);
  if (blocks != 0)
    return group_scaled_dot_add(*row_of(TensorCoreUnit::blackwell_fp4, ElementType::e4m3, ElementType::f32),
                                scale_shape, a, b, x, y, c);
  const ElementType accumulator = f.half ? ElementType::f16 : ElementType::f32;
  const ElementType type = f.kind == "tf32"                     ? ElementType::tf32
                           : f.kind == "f8f6f4"                 ? ElementType::e4m3
                           : f.a == shape_of(ElementType::bf16) ? ElementType::bf16
                                                                : ElementType::f16;
  return fused_dot_add(*row_of(TensorCoreUnit::blackwell_tcgen05, type, accumulator), f.a, f.b, a, b, c);
}

void check(const Form& f, uint32_t m, bool a_in_tensor, bool accumulates, int repeat = 1) {
  const Ran r = run(setup(f, m, a_in_tensor, accumulates, repeat));
  INFO(f.kind << f.scale_vec << " M=" << m << (a_in_tensor ? " A in tensor memory " : " ") << r.problem());
  REQUIRE(r.finished());
  CHECK(r.result.not_predicted.empty());
  const auto in = initial_contents(r.launch.buffers[1]), c = initial_contents(r.launch.buffers[2]);
  REQUIRE(in);
  REQUIRE(c);
  const std::vector<uint32_t> words = r.words(128 * n);
  uint32_t wrong = 0;
  for (uint32_t row = 0; row < m; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      const uint32_t lane = m == 128 ? row : 32 * (row / 16) + row % 16, at = lane * n + column;
      uint32_t d = 0;
      for (uint32_t b = 0; b < 4 && accumulates; ++b) d |= byte_at(*c, 4 * at + b) << (8 * b);
      for (int i = 0; i < repeat; ++i) d = expected(f, *in, row, column, d);
      wrong += words[at] != d ? 1 : 0;
    }
  CHECK(wrong == 0);
}

// Codes of types in the instruction descriptor (PTX ISA 9.7.16.4.2): D at bit 4, A at 7, B at 10.
std::vector<Form> forms() {
  const FormatShape f16 = shape_of(ElementType::f16), bf16 = shape_of(ElementType::bf16),
                    tf32 = shape_of(ElementType::tf32), e4m3 = shape_of(ElementType::e4m3),
                    e5m2 = shape_of(ElementType::e5m2);
  constexpr uint32_t to_f32 = 1 << 4, powers = 1 << 23;
  return {{"f16", "", to_f32, f16, f16, 16},
          {"f16", "", 0, f16, f16, 16, 0, true},
          {"f16", "", to_f32 | 1 << 7 | 1 << 10 | 1 << 14, bf16, bf16, 16},
          {"tf32", "", to_f32 | 2 << 7 | 2 << 10 | 1 << 13, tf32, tf32, 32},
          {"f8f6f4", "", to_f32 | 1 << 10, e4m3, e5m2, 8},
          {"f8f6f4", "", 1 << 7 | 1 << 10, e5m2, e5m2, 8, 0, true},
          {"f8f6f4", "", to_f32 | 5 << 7 | 5 << 10, e2m1_shape, e2m1_shape, 8, 4},
          {"f8f6f4", "", to_f32 | 3 << 7 | 4 << 10 | 1 << 13, e2m3_shape, e3m2_shape, 8, 6},
          {"i8", "", 2 << 4 | 1 << 7, {}, {}, 8},
          {"mxf8f6f4", "1X", powers, e4m3, e4m3, 8},
          {"mxf4", "2X", powers | 1 << 7 | 1 << 10, e2m1_shape, e2m1_shape, 4},
          {"mxf4nvf4", "4X", 1 << 7 | 1 << 10 | 1 << 13, e2m1_shape, e2m1_shape, 4}};
}

}  // namespace

TEST_CASE("tcgen05.mma of every kind of one CTA, from the accumulators that stand there or from none") {
  for (const Form& f : forms()) {
    check(f, 128, false, true);
    check(f, 128, false, false);
  }
}

TEST_CASE("64 rows, A in tensor memory, and one product after the other") {
  const std::vector<Form> all = forms();
  for (const size_t i : std::initializer_list<size_t>{0, 1, 3, 4, 8}) {
    check(all[i], 64, false, true);
    check(all[i], 128, true, true);
    check(all[i], 128, false, true, 3);
  }
}

TEST_CASE("a product that no source has a model of leaves unknown values, as does an operand nobody wrote") {
  const Form f = forms()[0];
  Setup s = setup(f, 128, false, true);
  const auto predicted = [&](const std::string& from, const std::string& to) {
    Setup other = s;
    const size_t at = other.body.find(from);
    REQUIRE(at != std::string::npos);
    other.body.replace(at, from.size(), to);
    const Ran r = run(other);
    INFO(r.problem());
    REQUIRE(r.finished());
    return r.result.not_predicted.empty();
  };
  CHECK(predicted("%rd7, %r11", "%rd7, %r11"));
  CHECK(!predicted("%r11, %p5", "%r11, %p5, 2"));  // D is scaled
  CHECK(!predicted("%r11, %p5", "%r11, {%r13, %r13, %r13, %r13}, %p5"));
  CHECK(!predicted("[%r2], %rd6", "[%r2], [%r2+400]"));  // A from columns without a value
}

TEST_CASE("shapes of tcgen05.ld: 16 lanes in rows of 4 and 8 words, and pairs of halves") {
  // The thread's words 32 times lane + column, stored in rows of 32 columns and read back in other shapes.
  const auto read = [](const std::string& shape, uint32_t count, const std::string& pack) {
    Setup s = setup(forms()[0], 128, false, true);
    const size_t from = s.body.find("tcgen05.st.sync"), to = s.body.find("bar.sync 0; @%p2 bra FREED");
    std::string body;
    for (uint32_t i = 0; i < n; ++i)
      body += "mad.lo.u32 %s" + std::to_string(i) + ", %r0, 32, " + std::to_string(i) + ";\n";
    body += "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r4], " + list(n) +
            "; tcgen05.wait::st.sync.aligned; add.s64 %rd5, %rd5, %rd0;\ntcgen05.ld.sync.aligned." + shape +
            pack + ".b32 " + list(count) + ", [%r4]; tcgen05.wait::ld.sync.aligned;\n";
    for (uint32_t i = 0; i < count; ++i)
      body += "st.global.b32 [%rd5+" + std::to_string(4 * i) + "], %s" + std::to_string(i) + ";\n";
    s.body.replace(from, to - from, body);
    const Ran r = run(s);
    INFO(shape << pack << " " << r.problem());
    REQUIRE(r.finished());
    CHECK(r.result.not_predicted.empty());
    return r.words(128 * n);
  };
  const auto wide = read("16x256b.x2", 8, "");
  const auto narrow = read("16x128b.x2", 4, "");
  const auto packed = read("32x32b.x8", 8, ".pack::16b");
  for (uint32_t thread = 0; thread < 128; ++thread) {
    const uint32_t base = thread / 32 * 32, t = thread % 32;
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t row = base + t / 4 + (i % 4 >= 2 ? 8 : 0), column = i / 4 * 8 + t % 4 * 2 + i % 2;
      CHECK(wide[thread * n + i] == 32 * row + column);
      CHECK(packed[thread * n + i] == ((32 * thread + 2 * i) | (32 * thread + 2 * i + 1) << 16));
    }
    for (uint32_t i = 0; i < 4; ++i)
      CHECK(narrow[thread * n + i] == 32 * (base + t / 4 + (i % 2 == 1 ? 8 : 0)) + i / 2 * 4 + t % 4);
  }
}
