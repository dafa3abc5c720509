// SPDX-License-Identifier: Apache-2.0
// mma.sync against the figures of PTX ISA 9.7.14.5, written down here type by type, and the scalar models of
// single elements. Operands are whatever stands in a buffer of random elements.
#include <bit>

#include "model/launch/generate.h"
#include "sim/numerics/fp8_emulation.h"
#include "sim/numerics/tensor_core.h"
#include "tests/sim/machine_support.h"

using namespace turnstile;
using namespace turnstile::test;

namespace {

struct At {
  uint32_t row, column;
};

/// Element i of A, of B (row: k) and of C of thread 4g + t, as the ISA has them for one width of elements.
struct Figures {
  At (*a)(uint32_t g, uint32_t t, uint32_t i);
  At (*b)(uint32_t g, uint32_t t, uint32_t i);
};

At c_of_16(uint32_t g, uint32_t t, uint32_t i) { return {i < 2 ? g : g + 8, t * 2 + (i & 1)}; }

constexpr Figures halves = {
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{i < 2 || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    },
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
    }};
constexpr Figures words = {[](uint32_t g, uint32_t t, uint32_t i) {
                             return At{i == 0 || i == 2 ? g : g + 8, i >= 2 ? t + 4 : t};
                           },
                           [](uint32_t g, uint32_t t, uint32_t i) {
                             return At{i == 0 ? t : t + 4, g};
                           }};
constexpr Figures of_bytes = {
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
    },
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
    }};
constexpr Figures nibbles = {
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{i < 8 || (i >= 16 && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
    },
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{t * 8 + (i & 7) + (i >= 8 ? 32 : 0), g};
    }};
constexpr Figures of_bits = {
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{i < 32 || (i >= 64 && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i >= 64 ? 128 : 0)};
    },
    [](uint32_t g, uint32_t t, uint32_t i) {
      return At{t * 32 + (i & 31) + (i >= 32 ? 128 : 0), g};
    }};
/// m8n8: one register of A and of B, elements side by side.
template <uint32_t per_register>
constexpr Figures small = {[](uint32_t g, uint32_t t, uint32_t i) {
                             return At{g, t * per_register + i};
                           },
                           [](uint32_t g, uint32_t t, uint32_t i) {
                             return At{t * per_register + i, g};
                           }};

struct Form {
  std::string target, form;  ///< form: behind mma.sync.aligned.
  std::string a, b, c;       ///< types
  uint32_t m, k, width;      ///< of elements, in bits
  Figures figures;
};

constexpr uint32_t kStride = 64;  // bytes of a thread in each of the buffers a, b and c

struct Inputs {
  std::vector<std::byte> a, b, c;
};

uint64_t element(const std::vector<std::byte>& from, uint32_t thread, uint32_t i, uint32_t width) {
  uint64_t word = 0;
  const uint32_t first_bit = i * width, at = thread * kStride + first_bit / 8;
  for (uint32_t n = 0; n < (width + 7) / 8; ++n)
    word |= std::to_integer<uint64_t>(from.at(at + n)) << (8 * n);
  return word >> (first_bit % 8) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

int32_t whole(uint64_t word, const std::string& type) {
  if (type == "s8") return static_cast<int8_t>(word);
  if (type == "s4") return static_cast<int32_t>(word ^ 8) - 8;
  return static_cast<int32_t>(word);
}

/// One element of D by the models of single elements.
uint64_t expected(const Form& f, const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) {
  if (f.c == "f64") return f64_dot_add(a, b, c);
  if (f.c == "s32") {
    int64_t sum = static_cast<int32_t>(c);
    for (size_t i = 0; i < a.size(); ++i) {
      if (f.a == "b1")
        sum += f.form.find("xor") != std::string::npos ? a[i] != b[i] : (a[i] & b[i]) != 0;
      else
        sum += int64_t{whole(a[i], f.a)} * whole(b[i], f.b);
    }
    if (f.form.find("satfinite") != std::string::npos) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    return static_cast<uint32_t>(sum);
  }
  const std::vector<uint32_t> x(a.begin(), a.end()), y(b.begin(), b.end());
  const ElementType a_type = *element_from_name(f.a), b_type = *element_from_name(f.b),
                    c_type = *element_from_name(f.c);
  if (f.width == 8 && f.target == "sm_90a")
    return fp8_as_f16_dot_add(a_type, b_type, c_type, x, y, static_cast<uint32_t>(c));
  TensorCoreUnit unit = TensorCoreUnit::hopper_mma;
  if (f.target == "sm_80") unit = TensorCoreUnit::ampere_mma;
  if (f.target == "sm_89") unit = TensorCoreUnit::ada_mma;
  if (f.target == "sm_75") unit = TensorCoreUnit::turing_mma;
  const TensorCoreRow* row = find_tensor_core_row(unit, a_type, b_type, c_type);
  REQUIRE(row != nullptr);
  return fused_dot_add(*row, x, y, static_cast<uint32_t>(c));
}

struct Registers {
  uint32_t a, b, c, bytes;
};
Registers registers_of(const Form& f) {
  const uint32_t bytes = f.c == "f64" ? 8 : 4, c_width = f.c == "f16" ? 16 : 8 * bytes;
  return {f.m * f.k * f.width / (256 * bytes), 8 * f.k * f.width / (256 * bytes),
          f.m * 8 * c_width / (256 * bytes), bytes};
}

std::string kernel(const Form& f) {
  const Registers n = registers_of(f);
  const std::string type = n.bytes == 8 ? "b64" : "b32", reg = n.bytes == 8 ? "%d" : "%s";
  std::string body = ".reg .b32 %s<40>; .reg .b64 %d<40>;\nmul.wide.u32 %rd5, %r0, 64;\n";
  uint32_t next = 0;
  std::string operands[3];
  const std::pair<const char*, uint32_t> sources[] = {{"a", n.a}, {"b", n.b}, {"c", n.c}};
  for (size_t s = 0; s < 3; ++s) {
    body += std::string("ld.param.u64 %rd2, [") + sources[s].first + "]; add.s64 %rd2, %rd2, %rd5;\n";
    for (uint32_t i = 0; i < sources[s].second; ++i, ++next) {
      body += "ld.global." + type + " " + reg + std::to_string(next) + ", [%rd2+" +
              std::to_string(i * n.bytes) + "];\n";
      operands[s] += (i == 0 ? "{" : ", ") + reg + std::to_string(next);
    }
    operands[s] += "}";
  }
  std::string d;
  for (uint32_t i = 0; i < n.c; ++i) d += (i == 0 ? "{" : ", ") + reg + std::to_string(next + i);
  body += "mma.sync.aligned." + f.form + " " + d + "}, " + operands[0] + ", " + operands[1] + ", " +
          operands[2] + ";\nadd.s64 %rd5, %rd5, %rd0;\n";
  for (uint32_t i = 0; i < n.c; ++i)
    body += "st.global." + type + " [%rd5+" + std::to_string(i * n.bytes) + "], " + reg +
            std::to_string(next + i) + ";\n";
  return body + "ret;";
}

std::string buffer(const std::string& name, const std::string& type, const std::string& fill, int seed) {
  const bool bits = type == "b1" || type == "s4" || type == "u4";
  const std::string dtype = bits ? "u8" : type;
  const size_t count = 32 * kStride / element_bytes(*element_from_name(dtype));
  return "[[params]]\nbuffer = \"" + name + "\"\n[[buffers]]\nname = \"" + name + "\"\ndtype = \"" + dtype +
         "\"\nshape = [" + std::to_string(count) + "]\nrole = \"in\"\nfill = \"" + fill +
         "\"\nseed = " + std::to_string(seed) + "\n";
}

void check_form(const Form& f, const std::string& fill) {
  Setup s;
  s.body = kernel(f);
  s.parameters = ", .param .u64 a, .param .u64 b, .param .u64 c";
  s.launch_text = buffer("a", f.a, fill, 3) + buffer("b", f.b, fill, 4) + buffer("c", f.c, fill, 5);
  Launch launch = launch_of(s);
  std::string text = kernel_text(s);
  const size_t target = text.find("sm_90a");
  text.replace(target, 6, f.target);
  auto module = ptx::parse(text, "k.ptx");
  REQUIRE(module);
  auto program = sim::build_program(std::move(*module), launch);
  INFO(f.target << " " << f.form << " " << fill << " " << (program ? std::string() : program.error().text()));
  REQUIRE(program);
  sim::RunOptions options;
  options.domain = sim::Domain::bits;
  const auto result = sim::run_launch(**program, launch, options);
  REQUIRE(result);
  CHECK(result->not_predicted.empty());
  Inputs in;
  for (auto [to, index] : {std::pair{&in.a, 1}, {&in.b, 2}, {&in.c, 3}}) {
    const auto contents = initial_contents(launch.buffers[static_cast<size_t>(index)]);
    REQUIRE(contents);
    *to = *contents;
  }

  const Registers n = registers_of(f);
  const uint32_t c_width = f.c == "f16" ? 16 : 8 * n.bytes;
  const uint32_t a_elements = f.m * f.k / 32, b_elements = 8 * f.k / 32, c_elements = f.m * 8 / 32;
  std::vector<std::vector<uint64_t>> a(f.m, std::vector<uint64_t>(f.k)), b(8, std::vector<uint64_t>(f.k));
  for (uint32_t thread = 0; thread < 32; ++thread) {
    const uint32_t g = thread / 4, t = thread % 4;
    for (uint32_t i = 0; i < a_elements; ++i) {
      const At p = f.figures.a(g, t, i);
      a.at(p.row).at(p.column) = element(in.a, thread, i, f.width);
    }
    for (uint32_t i = 0; i < b_elements; ++i) {
      const At p = f.figures.b(g, t, i);
      b.at(p.column).at(p.row) = element(in.b, thread, i, f.width);
    }
  }
  uint32_t wrong = 0;
  for (uint32_t thread = 0; thread < 32; ++thread)
    for (uint32_t i = 0; i < c_elements; ++i) {
      const At p = c_of_16(thread / 4, thread % 4, i);
      const uint64_t want = expected(f, a[p.row], b[p.column], element(in.c, thread, i, c_width));
      wrong += element(result->buffers.at(0), thread, i, c_width) != want ? 1 : 0;
    }
  CHECK(wrong == 0);
}

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {
      {"sm_90a", "m16n8k8.row.col.f32.f16.f16.f32", "f16", "f16", "f32", 16, 8, 16, halves},
      {"sm_90a", "m16n8k16.row.col.f32.f16.f16.f32", "f16", "f16", "f32", 16, 16, 16, halves},
      {"sm_90a", "m16n8k8.row.col.f16.f16.f16.f16", "f16", "f16", "f16", 16, 8, 16, halves},
      {"sm_90a", "m16n8k16.row.col.f16.f16.f16.f16", "f16", "f16", "f16", 16, 16, 16, halves},
      {"sm_90a", "m16n8k8.row.col.f32.bf16.bf16.f32", "bf16", "bf16", "f32", 16, 8, 16, halves},
      {"sm_90a", "m16n8k16.row.col.f32.bf16.bf16.f32", "bf16", "bf16", "f32", 16, 16, 16, halves},
      {"sm_90a", "m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 16, 4, 32, words},
      {"sm_90a", "m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 16, 8, 32, words},
      {"sm_90a", "m16n8k16.row.col.f32.e4m3.e5m2.f32", "e4m3", "e5m2", "f32", 16, 16, 8, of_bytes},
      {"sm_90a", "m16n8k32.row.col.f32.e4m3.e4m3.f32", "e4m3", "e4m3", "f32", 16, 32, 8, of_bytes},
      {"sm_90a", "m16n8k32.row.col.f16.e5m2.e5m2.f16", "e5m2", "e5m2", "f16", 16, 32, 8, of_bytes},
      {"sm_90a", "m8n8k4.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 8, 4, 64, small<1>},
      {"sm_90a", "m16n8k4.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 16, 4, 64, words},
      {"sm_90a", "m16n8k8.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 16, 8, 64, words},
      {"sm_90a", "m8n8k16.row.col.s32.s8.u8.s32", "s8", "u8", "s32", 8, 16, 8, small<4>},
      {"sm_90a", "m16n8k16.row.col.satfinite.s32.u8.s8.s32", "u8", "s8", "s32", 16, 16, 8, of_bytes},
      {"sm_90a", "m16n8k32.row.col.s32.s8.s8.s32", "s8", "s8", "s32", 16, 32, 8, of_bytes},
      {"sm_90a", "m8n8k32.row.col.s32.s4.s4.s32", "s4", "s4", "s32", 8, 32, 4, small<8>},
      {"sm_90a", "m16n8k32.row.col.s32.u4.s4.s32", "u4", "s4", "s32", 16, 32, 4, nibbles},
      {"sm_90a", "m16n8k64.row.col.satfinite.s32.s4.u4.s32", "s4", "u4", "s32", 16, 64, 4, nibbles},
      {"sm_90a", "m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "b1", "b1", "s32", 8, 128, 1, small<32>},
      {"sm_90a", "m16n8k128.row.col.s32.b1.b1.s32.and.popc", "b1", "b1", "s32", 16, 128, 1, of_bits},
      {"sm_90a", "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "b1", "b1", "s32", 16, 256, 1, of_bits},
      {"sm_75", "m16n8k8.row.col.f32.f16.f16.f32", "f16", "f16", "f32", 16, 8, 16, halves},
      {"sm_80", "m16n8k16.row.col.f32.f16.f16.f32", "f16", "f16", "f32", 16, 16, 16, halves},
      {"sm_80", "m16n8k16.row.col.f16.f16.f16.f16", "f16", "f16", "f16", 16, 16, 16, halves},
      {"sm_80", "m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 16, 8, 32, words},
      {"sm_89", "m16n8k32.row.col.f32.e5m2.e5m2.f32", "e5m2", "e5m2", "f32", 16, 32, 8, of_bytes},
      {"sm_89", "m16n8k32.row.col.f16.e4m3.e4m3.f16", "e4m3", "e4m3", "f16", 16, 32, 8, of_bytes},
  };
  return all;
}

}  // namespace

TEST_CASE("mma.sync of every type and shape, with the fragments of the ISA") {
  for (const Form& f : forms())
    for (const char* fill : {"normal", "wide", "special"}) check_form(f, fill);
}

TEST_CASE("m16n8k16 of f64 has eight registers of A that alternate between the halves of the rows") {
  // Not in Figures: four columns of k for each pair of registers.
  const Figures doubles = {[](uint32_t g, uint32_t t, uint32_t i) {
                             return At{i % 2 == 0 ? g : g + 8, i / 2 * 4 + t};
                           },
                           [](uint32_t g, uint32_t t, uint32_t i) {
                             return At{i * 4 + t, g};
                           }};
  check_form({"sm_90a", "m16n8k16.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 16, 16, 64, doubles},
             "wide");
}

TEST_CASE("what no source says of an mma.sync is not predicted") {
  const auto predicted = [](const std::string& target, const std::string& text) {
    Setup s;
    s.body = ".reg .f64 %fd<8>;\n" + text + " ret;";
    const Launch launch = launch_of(s);
    std::string ptx = kernel_text(s);
    ptx.replace(ptx.find("sm_90a"), 6, target);
    auto module = ptx::parse(ptx, "k.ptx");
    REQUIRE(module);
    const auto program = sim::build_program(std::move(*module), launch);
    REQUIRE(program);
    for (const sim::Decoded& d : (*program)->code)
      if (d.text->root() == "mma") return !d.opaque;
    FAIL("no mma");
    return false;
  };
  const std::string f64 =
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, %fd1};";
  CHECK(predicted("sm_80", f64));
  CHECK(!predicted("sm_100a", f64));  // I24 names sm_80 and sm_90
  const std::string f16 =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, {%r3}, {%f0, %f1, "
      "%f2, %f3};";
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_103a", "sm_120a"})
    CHECK(predicted(target, f16));
  CHECK(!predicted("sm_130a", f16));
  CHECK(!predicted("sm_90a",
                   "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, "
                   "{%r3, %r4}, {%f0, %f1, %f2, %f3}, %r5, 0;"));
}
