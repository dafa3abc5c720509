// SPDX-License-Identifier: Apache-2.0
// Outputs recorded on real GPUs (data/tensor_core_captures/README.md) against the models.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/numerics/fp8_emulation.h"
#include "sim/numerics/tensor_core.h"

using namespace turnstile;

namespace {

const std::string folder = TURNSTILE_SOURCE_DIR "/tests/sim/data/tensor_core_captures/";

std::vector<std::string> fields(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::uint32_t hex(const std::string& text) {
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

std::vector<std::uint32_t> hex_list(const std::string& text) {
  std::vector<std::uint32_t> words;
  for (const std::string& word : fields(text, ' ')) words.push_back(hex(word));
  return words;
}

ElementType element_type(const std::string& name) {
  if (name == "f16") return ElementType::f16;
  if (name == "bf16") return ElementType::bf16;
  if (name == "tf32") return ElementType::tf32;
  if (name == "e4m3") return ElementType::e4m3;
  if (name == "e5m2") return ElementType::e5m2;
  REQUIRE(name == "f32");
  return ElementType::f32;
}

TensorCoreUnit unit(const std::string& architecture, const std::string& instruction) {
  if (instruction == "wgmma") return TensorCoreUnit::hopper_wgmma;
  if (architecture == "sm_70") return TensorCoreUnit::volta_mma;
  if (architecture == "sm_80" || architecture == "sm_86") return TensorCoreUnit::ampere_mma;
  if (architecture == "sm_89") return TensorCoreUnit::ada_mma;
  // The B200 records of mma.sync have the parameters of Hopper (I19).
  REQUIRE((architecture == "sm_90" || architecture == "sm_100"));
  return TensorCoreUnit::hopper_mma;
}

struct Capture {
  std::string file;
  std::string architecture;
  std::string instruction;
  ElementType type;
  ElementType accumulator;
  std::string model;
  unsigned group;
  int fraction_bits;
  int e_zero;
};

std::vector<Capture> manifest() {
  std::ifstream stream(folder + "manifest.csv");
  std::vector<Capture> captures;
  std::string line;
  std::getline(stream, line);
  REQUIRE(line == "file,gpu,sm,instruction,in_type,acc_type,k,rows,model,L,F,rho,e_zero,c_rule,source_dir");
  while (std::getline(stream, line)) {
    const std::vector<std::string> f = fields(line, ',');
    REQUIRE(f.size() == 15);
    captures.push_back({f[0], f[2], f[3], element_type(f[4]), element_type(f[5]), f[8],
                        static_cast<unsigned>(std::stoul(f[9])), std::stoi(f[10]), std::stoi(f[12])});
  }
  return captures;
}

}  // namespace

TEST_CASE("the matrix models give what real tensor cores gave, bit for bit") {
  const std::vector<Capture> captures = manifest();
  CHECK(captures.size() >= 9);
  for (const Capture& capture : captures) {
    CAPTURE(capture.file);
    const bool emulated = capture.model == "fp8_as_f16";
    const ElementType row_type = emulated ? ElementType::f16 : capture.type;
    const TensorCoreRow* row = find_tensor_core_row(unit(capture.architecture, capture.instruction), row_type,
                                                    row_type, capture.accumulator);
    REQUIRE(row != nullptr);
    CHECK(row->group == capture.group);
    CHECK(row->fraction_bits == capture.fraction_bits);
    CHECK(row->e_zero == capture.e_zero);

    std::ifstream stream(folder + capture.file);
    std::string line;
    std::getline(stream, line);
    REQUIRE(line == "row,a,b,c,d");
    std::size_t rows = 0;
    std::size_t mismatches = 0;
    while (std::getline(stream, line)) {
      const std::vector<std::string> f = fields(line, ',');
      REQUIRE(f.size() == 5);
      const std::vector<std::uint32_t> a = hex_list(f[1]);
      const std::vector<std::uint32_t> b = hex_list(f[2]);
      const std::uint32_t c = hex(f[3]);
      const std::uint32_t d =
          emulated ? fp8_as_f16_dot_add(capture.type, capture.type, capture.accumulator, a, b, c)
                   : fused_dot_add(*row, a, b, c);
      ++rows;
      if (d != hex(f[4])) ++mismatches;
    }
    CHECK(rows == 500);
    CHECK(mismatches == 0);
  }
}

TEST_CASE("a model with one property changed is caught by the recorded outputs") {
  // The README counts, per file, the vectors that fail under a wrong F or L; these are its h200_bf16_f32
  // numbers.
  const TensorCoreRow* right = find_tensor_core_row(TensorCoreUnit::hopper_mma, ElementType::bf16,
                                                    ElementType::bf16, ElementType::f32);
  REQUIRE(right != nullptr);
  const auto failures = [&](int fraction_bits, unsigned group) {
    TensorCoreRow wrong = *right;
    wrong.fraction_bits = fraction_bits;
    wrong.group = group;
    std::ifstream stream(folder + "h200_bf16_f32.csv");
    std::string line;
    std::getline(stream, line);
    std::size_t count = 0;
    while (std::getline(stream, line)) {
      const std::vector<std::string> f = fields(line, ',');
      if (fused_dot_add(wrong, hex_list(f[1]), hex_list(f[2]), hex(f[3])) != hex(f[4])) ++count;
    }
    return count;
  };
  CHECK(failures(24, 16) == 114);
  CHECK(failures(26, 16) == 73);
  CHECK(failures(25, 8) == 178);
}
