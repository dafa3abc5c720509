// SPDX-License-Identifier: Apache-2.0
// wgmma of all element types and accumulators against the scalar models of single elements; machine_wgmma.cc
// has the layouts of 16-bit types. Operands are K-major, 32 bytes of K.
#include <bit>

#include "model/launch/generate.h"
#include "sim/numerics/tensor_core.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

struct Form {
  std::string types;  ///< "f32.e4m3.e5m2"
  std::string d, a, b;
  uint32_t k = 0, width = 0;  ///< of an element in bits
  bool saturates = false;
};

struct Variant {
  uint32_t n = 16;
  bool swizzled = false, a_in_registers = false;
  int negate_a = 1, negate_b = 1, scale_d = 1;
};

constexpr uint32_t at_b = 16384, of_shared = 49152;

bool is_whole(const Form& f) { return f.d == "s32"; }
uint32_t accumulators(const Form& f, const Variant& v) { return v.n / (f.d == "f16" ? 4 : 2); }

std::string registers(const std::string& prefix, uint32_t count) {
  std::string out;
  for (uint32_t i = 0; i < count; ++i) out += (out.empty() ? "{" : ", ") + prefix + std::to_string(i);
  return out + "}";
}

std::string buffer(const std::string& name, const std::string& type, uint32_t bytes, const std::string& fill,
                   int seed) {
  const std::string dtype = type == "b1" ? "u8" : type;
  return "[[params]]\nbuffer = \"" + name + "\"\n[[buffers]]\nname = \"" + name + "\"\ndtype = \"" + dtype +
         "\"\nshape = [" + std::to_string(bytes / element_bytes(*element_from_name(dtype))) +
         "]\nrole = \"in\"\nfill = \"" + fill + "\"\nseed = " + std::to_string(seed) + "\n";
}

/// A and B of all 48 KiB of shared memory from buffer `a` and, from at_b on, `b`; C from `c`, 512 bytes a
/// thread.
Setup setup(const Form& f, const Variant& v, const std::string& fill) {
  Setup s;
  s.threads = 128;
  s.out_words = 16384;
  s.module_text = ".extern .shared .align 1024 .b8 dyn[];";
  s.launch_lines = "dynamic_shared_memory = " + std::to_string(of_shared);
  s.variables = ".shared .align 8 .b64 bar; .reg .b32 %a<4>; .reg .b32 %s<130>;";
  s.parameters = ", .param .u64 a, .param .u64 b, .param .u64 c";
  s.launch_text = buffer("a", f.a, at_b, fill, 5) + buffer("b", f.b, of_shared - at_b, fill, 6) +
                  buffer("c", f.d, 65536, fill, 7);
  const auto load = [](const std::string& from, uint32_t to, uint32_t bytes) {
    return "ld.param.u64 %rd2, [" + from + "]; add.u32 %r7, %r2, " + std::to_string(to) +
           "; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd2], " +
           std::to_string(bytes) + ", [%r3];\n";
  };
  std::string body =
      "mov.u32 %r2, dyn; mov.u32 %r3, bar;\nsetp.eq.u32 %p1, %r0, 0; @!%p1 bra W0;\n"
      "mbarrier.init.shared.b64 [%r3], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r3], " +
      std::to_string(of_shared) + ";\n" + load("a", 0, at_b) + load("b", at_b, of_shared - at_b) +
      "W0: bar.sync 0;\nW: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra W;\n"
      "ld.param.u64 %rd2, [c]; mul.wide.u32 %rd3, %r0, 512; add.s64 %rd4, %rd2, %rd3;\n";
  const uint32_t count = accumulators(f, v);
  for (uint32_t i = 0; i < count; ++i)
    body += "ld.global.b32 %s" + std::to_string(i) + ", [%rd4+" + std::to_string(4 * i) + "];\n";
  for (uint32_t i = 0; i < 4; ++i)
    body += "mad.lo.s32 %r5, %r0, 16, %r2; ld.shared.u32 %a" + std::to_string(i) + ", [%r5+" +
            std::to_string(4 * i) + "];\n";
  // No swizzle: 128 bytes between neighbours along K, 256 between groups of 8 rows; 128 bytes: 1024.
  const uint64_t descriptor = v.swizzled ? uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62
                                         : uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
  body += "shr.u32 %r6, %r2, 4; cvt.u64.u32 %rd5, %r6; or.b64 %rd6, %rd5, " + std::to_string(descriptor) +
          ";\nadd.s64 %rd7, %rd6, " + std::to_string(at_b >> 4) + ";\nsetp.ne.u32 %p4, " +
          std::to_string(v.scale_d) + ", 0;\nwgmma.fence.sync.aligned;\n";
  body += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(v.n) + "k" + std::to_string(f.k) + "." +
          f.types + " " + registers("%s", count) + ", " +
          (v.a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%rd6") + ", %rd7, %p4";
  if (!is_whole(f)) body += ", " + std::to_string(v.negate_a) + ", " + std::to_string(v.negate_b);
  if (f.width == 16) body += v.a_in_registers ? ", 0" : ", 0, 0";
  body += ";\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\nadd.s64 %rd8, %rd0, %rd3;\n";
  for (uint32_t i = 0; i < count; ++i)
    body += "st.global.b32 [%rd8+" + std::to_string(4 * i) + "], %s" + std::to_string(i) + ";\n";
  s.body = body + "ret;";
  return s;
}

uint32_t load(const std::vector<std::byte>& from, uint32_t bit, uint32_t width) {
  uint32_t word = 0;
  for (uint32_t n = 0; n < (width + 7) / 8; ++n)
    word |= std::to_integer<uint32_t>(from.at(bit / 8 + n)) << (8 * n);
  return word >> (bit % 8) & (width == 32 ? ~0u : (1u << width) - 1);
}

/// Bit offset of element (row, k) from the start of its operand (canonical layouts of PTX ISA 9.7.15.5.1).
uint32_t operand_bit(const Form& f, const Variant& v, uint32_t row, uint32_t k) {
  const uint32_t bit = k * f.width, chunk = bit / 128;
  const uint32_t line = v.swizzled ? row / 8 * 1024 + row % 8 * 128 + (chunk ^ row % 8) * 16
                                   : row / 8 * 256 + chunk * 128 + row % 8 * 16;
  return line * 8 + bit % 128;
}

/// Bit offset of element (row, k) of A in registers, in the words that threads loaded: 16 bytes each.
uint32_t register_bit(const Form& f, uint32_t row, uint32_t k) {
  const uint32_t of_register = 32 / f.width, quad = 4 * of_register;
  const uint32_t thread = row / 16 * 32 + row % 8 * 4 + k % quad / of_register;
  const uint32_t reg = (row % 16 >= 8 ? 1 : 0) + (k >= quad ? 2 : 0);
  return (thread * 16 + reg * 4) * 8 + k % of_register * f.width;
}

uint32_t expected(const Form& f, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c) {
  if (is_whole(f)) {
    int64_t sum = static_cast<int32_t>(c);
    for (size_t i = 0; i < a.size(); ++i) {
      const int64_t x = f.a == "s8" ? static_cast<int8_t>(a[i]) : static_cast<int64_t>(a[i]);
      const int64_t y = f.b == "s8" ? static_cast<int8_t>(b[i]) : static_cast<int64_t>(b[i]);
      sum += f.width == 1 ? (x & y) : x * y;
    }
    if (f.saturates) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint32_t>(sum);
  }
  const TensorCoreRow* row = find_tensor_core_row(TensorCoreUnit::hopper_wgmma, *element_from_name(f.a),
                                                  *element_from_name(f.b), *element_from_name(f.d));
  REQUIRE(row != nullptr);
  return fused_dot_add(*row, a, b, c);
}

void check(const Form& f, const Variant& v, const std::string& fill) {
  const Ran r = run(setup(f, v, fill));
  INFO(f.types << " n=" << v.n << " " << fill << (v.swizzled ? " swizzled " : " ")
               << (v.a_in_registers ? "A in registers " : "") << r.problem());
  REQUIRE(r.finished());
  CHECK(r.result.not_predicted.empty());
  std::vector<std::byte> in[3];
  for (size_t i = 0; i < 3; ++i) {
    const auto contents = initial_contents(r.launch.buffers[1 + i]);
    REQUIRE(contents);
    in[i] = *contents;
  }
  const uint32_t c_width = f.d == "f16" ? 16 : 32, sign = 1u << (f.width - 1);
  uint32_t wrong = 0;
  for (uint32_t thread = 0; thread < 128; ++thread)
    for (uint32_t i = 0; i < v.n / 2; ++i) {
      const uint32_t lane = thread % 32, row = thread / 32 * 16 + lane / 4 + (i % 4 >= 2 ? 8 : 0),
                     column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      std::vector<uint32_t> a, b;
      for (uint32_t k = 0; k < f.k; ++k) {
        const uint32_t from = v.a_in_registers ? register_bit(f, row, k) : operand_bit(f, v, row, k);
        a.push_back(load(in[0], from, f.width) ^ (v.negate_a < 0 ? sign : 0));
        b.push_back(load(in[1], operand_bit(f, v, column, k), f.width) ^ (v.negate_b < 0 ? sign : 0));
      }
      const uint32_t at = thread * 4096 + i * c_width;
      const uint32_t c = v.scale_d != 0 ? load(in[2], at, c_width) : 0;
      wrong += load(r.result.buffers.at(0), at, c_width) != expected(f, a, b, c) ? 1 : 0;
    }
  CHECK(wrong == 0);
}

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"f32.f16.f16", "f32", "f16", "f16", 16, 16},
      {"f16.f16.f16", "f16", "f16", "f16", 16, 16},
      {"f32.bf16.bf16", "f32", "bf16", "bf16", 16, 16},
      {"f32.tf32.tf32", "f32", "tf32", "tf32", 8, 32},
      {"f32.e4m3.e4m3", "f32", "e4m3", "e4m3", 32, 8},
      {"f32.e4m3.e5m2", "f32", "e4m3", "e5m2", 32, 8},
      {"f16.e5m2.e5m2", "f16", "e5m2", "e5m2", 32, 8},
      {"f16.e5m2.e4m3", "f16", "e5m2", "e4m3", 32, 8},
      {"s32.s8.u8", "s32", "s8", "u8", 32, 8},
      {"s32.satfinite.u8.s8", "s32", "u8", "s8", 32, 8, true},
      {"s32.b1.b1.and.popc", "s32", "b1", "b1", 256, 1},
  };
  return all;
}

}  // namespace

TEST_CASE("wgmma of every type: both operands in shared memory, or A in registers") {
  for (const Form& f : forms())
    for (const char* fill : {"normal", "special"})
      for (const bool in_registers : {false, true}) {
        Variant v;
        v.a_in_registers = in_registers;
        v.swizzled = in_registers != (fill[0] == 's');
        check(f, v, fill);
      }
}

TEST_CASE("scale-d and negation of operands of every type") {
  for (const Form& f : forms()) {
    Variant v;
    v.n = 8;
    v.scale_d = 0;
    check(f, v, "wide");
    if (is_whole(f)) continue;
    v.scale_d = 1;
    v.negate_a = -1;
    check(f, v, "special");
    v.negate_b = -1;
    v.a_in_registers = true;
    check(f, v, "wide");
  }
}

TEST_CASE("the widest results, of 32 bits and in pairs of halves") {
  for (const size_t which : std::initializer_list<size_t>{1, 3, 4, 6, 8}) {
    Variant v;
    v.n = 256;
    v.swizzled = true;
    check(forms()[which], v, "wide");
  }
}
