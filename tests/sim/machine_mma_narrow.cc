// SPDX-License-Identifier: Apache-2.0
// mma.sync of sm_120: FP8, FP6 and FP4 in bytes, packed FP4, block scales (PTX ISA 9.7.14.3 and 9.7.14.5,
// rows I21 to I23 of numerics.md). Elements and scales are drawn so that no term is cut: the result is then
// the exact sum, rounded once toward zero, whatever the model, and doubles hold it.
#include <bit>
#include <cmath>
#include <random>

#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

struct Format {
  const char* name;
  unsigned exponent_bits, fraction_bits;
  unsigned first, last;  ///< exponent fields that are drawn
  unsigned shift;        ///< of the element in a byte of its own
  unsigned width() const { return 1 + exponent_bits + fraction_bits; }
};
constexpr Format e4m3{"e4m3", 4, 3, 5, 9, 0}, e5m2{"e5m2", 5, 2, 13, 17, 0}, e3m2{"e3m2", 3, 2, 0, 7, 0},
    e2m3{"e2m3", 2, 3, 0, 3, 0}, e2m1{"e2m1", 2, 1, 0, 3, 2}, ue4m3{"ue4m3", 4, 3, 6, 8, 0};

double value_of(const Format& f, unsigned code) {
  const unsigned fraction = code & ((1u << f.fraction_bits) - 1);
  const unsigned exponent = code >> f.fraction_bits & ((1u << f.exponent_bits) - 1);
  const int bias = (1 << (f.exponent_bits - 1)) - 1, places = static_cast<int>(f.fraction_bits);
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - places)
                                    : std::ldexp(fraction + (1u << f.fraction_bits),
                                                 static_cast<int>(exponent) - bias - places);
  return (code >> (f.width() - 1) & 1) != 0 ? -size : size;
}

struct Form {
  const char* modifiers;  ///< behind mma.sync.aligned.
  const Format &a, &b;
  unsigned k;
  unsigned blocks;         ///< scales of a row; 0: none
  bool scales_are_floats;  ///< ue4m3, else ue8m0
  unsigned a_byte, a_thread, b_byte, b_thread;
};

class Inputs {
 public:
  explicit Inputs(const Form& f) : form_(f), a_(128), b_(64), scales_(64) {
    rows_.assign(16, std::vector<double>(f.k));
    columns_.assign(8, std::vector<double>(f.k));
    // What nobody may read: other bytes, other threads.
    for (uint32_t& w : scales_) w = static_cast<uint32_t>(random_());
    const unsigned bits = f.k == 64 ? 4 : 8, of_register = 32 / bits;
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned k = 0; k < f.k; ++k) {
        // Four threads side by side, then the next register; rows 8 below are one register further.
        const unsigned lane = row % 8 * 4 + k % (4 * of_register) / of_register;
        const unsigned reg = row / 8 + 2 * (k / (4 * of_register));
        put(a_[lane * 4 + reg], k % of_register, bits, f.a, rows_[row][k]);
      }
    for (unsigned column = 0; column < 8; ++column)
      for (unsigned k = 0; k < f.k; ++k) {
        const unsigned lane = column * 4 + k % (4 * of_register) / of_register;
        put(b_[lane * 2 + k / (4 * of_register)], k % of_register, bits, f.b, columns_[column][k]);
      }
    for (unsigned i = 0; i < 24 && f.blocks != 0; ++i) {
      const bool of_b = i >= 16;
      const unsigned row = of_b ? i - 16 : i;
      const unsigned lane = row % 8 * 4 + (of_b ? f.b_thread : 2 * f.a_thread + row / 8);
      for (unsigned block = 0; block < f.blocks; ++block) {
        const double factor =
            put_scale(scales_[lane * 2 + (of_b ? 1 : 0)], (of_b ? f.b_byte : f.a_byte) + block);
        std::vector<double>& to = of_b ? columns_[row] : rows_[row];
        for (unsigned k = block * f.k / f.blocks; k < (block + 1) * f.k / f.blocks; ++k) to[k] *= factor;
      }
    }
    for (size_t i = 0; i < 128; ++i)
      c_.push_back(static_cast<float>(static_cast<int>(random_() % 4096) - 2048) / 16);
  }

  std::string tables() const {
    std::vector<uint32_t> c;
    for (const float x : c_) c.push_back(std::bit_cast<uint32_t>(x));
    return table("ta", a_) + table("tb", b_) + table("ts", scales_) + table("tc", c);
  }

  /// Element of D; c lies row by row.
  float expected(unsigned row, unsigned column) const {
    double sum = c_[row * 8 + column];
    for (unsigned k = 0; k < form_.k; ++k) sum += rows_[row][k] * columns_[column][k];
    const auto near = static_cast<float>(sum);
    return std::abs(double{near}) > std::abs(sum) ? std::nextafter(near, 0.0f) : near;
  }

 private:
  static std::string table(const char* name, const std::vector<uint32_t>& words) {
    std::string text =
        std::string(".global .align 16 .b32 ") + name + "[" + std::to_string(words.size()) + "] = {";
    for (const uint32_t w : words) text += std::to_string(w) + ", ";
    text.resize(text.size() - 2);
    return text + "};\n";
  }
  void put(uint32_t& word, unsigned place, unsigned bits, const Format& f, double& value) {
    const unsigned exponent = f.first + static_cast<unsigned>(random_() % (f.last - f.first + 1));
    const unsigned code = static_cast<unsigned>(random_() & 1) << (f.width() - 1) |
                          exponent << f.fraction_bits |
                          static_cast<unsigned>(random_() & ((1u << f.fraction_bits) - 1));
    value = value_of(f, code);
    unsigned element = code;
    if (bits == 8 && f.width() < 8) {  // with padding that is not zero
      const auto padding = static_cast<unsigned>(random_() & 0xff);
      const unsigned mask = ((1u << f.width()) - 1) << f.shift;
      element = code << f.shift | (padding & ~mask & 0xff);
    }
    word |= element << (bits * place);
  }
  double put_scale(uint32_t& word, unsigned byte) {
    unsigned code = 126 + static_cast<unsigned>(random_() % 3);
    double factor = std::ldexp(1.0, static_cast<int>(code) - 127);
    if (form_.scales_are_floats) {
      code = (ue4m3.first + static_cast<unsigned>(random_() % 3)) << 3 | static_cast<unsigned>(random_() % 8);
      factor = value_of({"", 4, 3, 0, 0, 0}, code);
      code |= static_cast<unsigned>(random_() & 1) << 7;  // X5: the sign is ignored
    }
    word = (word & ~(0xffu << (8 * byte))) | code << (8 * byte);
    return factor;
  }

  const Form& form_;
  std::mt19937 random_{11};
  std::vector<uint32_t> a_, b_, scales_;
  std::vector<std::vector<double>> rows_, columns_;  ///< elements times their scales
  std::vector<float> c_;
};

std::string selectors(const Form& f, bool of_b, bool in_registers) {
  const std::string byte = std::to_string(of_b ? f.b_byte : f.a_byte),
                    thread = std::to_string(of_b ? f.b_thread : f.a_thread);
  if (!in_registers) return "{" + byte + ", " + thread + "}";
  return of_b ? "{%rs2, %rs3}" : "{%rs0, %rs1}";
}

Setup setup_of(const Form& f, const std::string& tables, bool in_registers = false) {
  Setup s;
  s.module_text = tables;
  s.body =
      "mov.u64 %rd2, ta; mul.wide.u32 %rd3, %r0, 16; add.s64 %rd2, %rd2, %rd3;\n"
      "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd2];\n"
      "mov.u64 %rd2, tb; mul.wide.u32 %rd3, %r0, 8; add.s64 %rd2, %rd2, %rd3;\n"
      "ld.global.v2.b32 {%r5, %r6}, [%rd2];\n"
      "mov.u64 %rd2, ts; add.s64 %rd2, %rd2, %rd3; ld.global.v2.b32 {%r7, %r8}, [%rd2];\n"
      // Row lane / 4, columns 2 * (lane % 4) and the next; then 8 rows below.
      "mov.u64 %rd2, tc; add.s64 %rd2, %rd2, %rd3;\n"
      "ld.global.v2.f32 {%f0, %f1}, [%rd2]; ld.global.v2.f32 {%f2, %f3}, [%rd2+256];\n";
  if (in_registers)
    s.body += "mov.u16 %rs0, " + std::to_string(f.a_byte) + "; mov.u16 %rs1, " + std::to_string(f.a_thread) +
              "; mov.u16 %rs2, " + std::to_string(f.b_byte) + "; mov.u16 %rs3, " +
              std::to_string(f.b_thread) + ";\n";
  s.body += std::string("mma.sync.aligned.") + f.modifiers +
            " {%f4, %f5, %f6, %f7}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3}";
  if (f.blocks != 0)
    s.body += ", %r7, " + selectors(f, false, in_registers) + ", %r8, " + selectors(f, true, in_registers);
  s.body +=
      ";\nadd.s64 %rd2, %rd0, %rd3; st.global.v2.f32 [%rd2], {%f4, %f5}; st.global.v2.f32 [%rd2+256], {%f6, "
      "%f7};\nret;";
  return s;
}

sim::RunResult run_for_sm_120(const Setup& s) {
  const Launch launch = launch_of(s);
  std::string text = kernel_text(s);
  text.replace(text.find("sm_90a"), 6, "sm_120a");
  auto module = ptx::parse(text, "k.ptx");
  REQUIRE(module);
  auto program = sim::build_program(std::move(*module), launch);
  INFO((program ? std::string() : program.error().text()));
  REQUIRE(program);
  sim::RunOptions options;
  options.domain = sim::Domain::bits;
  auto result = sim::run_launch(**program, launch, options);
  REQUIRE(result);
  return std::move(*result);
}

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32", e4m3, e5m2, 32, 0, false, 0, 0, 0, 0},
      {"m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m3.f32", e3m2, e2m3, 32, 0, false, 0, 0, 0, 0},
      {"m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32", e2m1, e4m3, 32, 0, false, 0, 0, 0, 0},
      {"m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", e2m1, e2m1, 32, 0, false, 0, 0, 0, 0},
      {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0", e4m3, e4m3, 32, 1, false, 2, 1,
       3, 2},
      {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e2m1.f32.ue8m0", e3m2, e2m1, 32, 1,
       false, 0, 0, 1, 3},
      {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m3.e5m2.f32.ue8m0", e2m3, e5m2, 32, 1, false, 3, 1,
       0, 0},
      {"m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", e2m1, e2m1, 64, 2, false, 2, 1, 0,
       3},
      {"m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", e2m1, e2m1, 64, 2,
       false, 0, 0, 2, 1},
      {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", e2m1, e2m1, 64, 2,
       false, 2, 0, 2, 2},
      {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", e2m1, e2m1, 64, 4,
       true, 0, 1, 0, 3},
      {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", e2m1, e2m1, 64, 4,
       false, 0, 0, 0, 0},
  };
  return all;
}

}  // namespace

TEST_CASE("mma.sync of FP8, FP6 and FP4 on sm_120, with block scales of any byte and thread") {
  for (const Form& f : forms())
    for (const bool in_registers : {false, true}) {
      if (in_registers && f.blocks == 0) continue;
      INFO(f.modifiers << (in_registers ? " selectors in registers" : ""));
      const Inputs inputs(f);
      const sim::RunResult result = run_for_sm_120(setup_of(f, inputs.tables(), in_registers));
      CHECK(result.not_predicted.empty());
      unsigned wrong = 0;
      for (unsigned row = 0; row < 16; ++row)
        for (unsigned column = 0; column < 8; ++column) {
          float got = 0;
          std::memcpy(&got, result.buffers.at(0).data() + (row * 8 + column) * 4, 4);
          wrong += got != inputs.expected(row, column) ? 1 : 0;
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE(
    "selectors of scales that the PTX ISA does not have are faults, those that differ between lanes "
    "unknown") {
  Form f = forms()[7];
  const Inputs inputs(f);
  f.a_byte = 1;  // of 2X: 0 or 2
  const sim::RunResult odd = run_for_sm_120(setup_of(f, inputs.tables()));
  REQUIRE(!odd.traces.at(0).faults.empty());
  CHECK(odd.traces.at(0).faults[0].message.find("byte 1, thread 1 of A") != std::string::npos);

  f.a_byte = 2;
  Setup s = setup_of(f, inputs.tables(), true);
  const size_t at = s.body.find("mov.u16 %rs1, 1;");
  REQUIRE(at != std::string::npos);
  s.body.replace(at, 16, "and.b32 %r9, %r0, 1; cvt.u16.u32 %rs1, %r9;");
  CHECK(run_for_sm_120(s).not_predicted.size() == 1);
}
