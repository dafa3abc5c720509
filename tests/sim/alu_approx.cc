// SPDX-License-Identifier: Apache-2.0
// The MUFU model against the printed check values (numerics.md U11), the forms around it against the error
// bounds of the PTX ISA. The sums over all 2^32 inputs in U11 were compared once; that takes minutes.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/numerics/mufu.h"
#include "tests/sim/alu_support.h"

using namespace turnstile;
using test::run;

namespace {

double exact(uint32_t bits) { return double{std::bit_cast<float>(bits)}; }

/// Distance from the true value in units of the last place of the result, subnormal spacing included.
double error_in_ulp(uint64_t result, double truth) {
  const double value = exact(static_cast<uint32_t>(result));
  if (std::isinf(value)) return truth > double{std::numeric_limits<float>::max()} ? 0 : 1e9;
  const int exponent = std::max(std::ilogb(truth == 0 ? 1e-300 : truth), -126);
  return std::abs(value - truth) / std::ldexp(1.0, exponent - 23);
}

/// A random f32 word with magnitude in [2^low, 2^high).
uint32_t magnitude_between(test::Words& words, int low, int high) {
  const uint64_t random = words.next();
  const auto span = static_cast<uint64_t>(high - low);
  const double scale = std::ldexp(1.0 + std::ldexp(static_cast<double>(random >> 40), -24),
                                  low + static_cast<int>((random & 0xffff) % span));
  return std::bit_cast<uint32_t>(static_cast<float>(scale));
}

}  // namespace

TEST_CASE("rcp, rsqrt, ex2, lg2 .approx.ftz give the check values of the H200") {
  const uint32_t rows[][5] = {
      {0x3f800000, 0x3f800000, 0x3f800000, 0x40000000, 0x00000000},
      {0x3f000000, 0x40000000, 0x3fb504f2, 0x3fb504f3, 0xbf7ffffe},
      {0x3e800000, 0x40800000, 0x40000000, 0x3f9837f1, 0xbfffffff},
      {0x40000000, 0x3f000000, 0x3f3504f2, 0x40800000, 0x3f800000},
      {0x40400000, 0x3eaaaaab, 0x3f13cd3a, 0x41000000, 0x3fcae00d},
      {0x40490fdb, 0x3ea2f983, 0x3f106eba, 0x410d331d, 0x3fd3643a},
      {0x3f7fffff, 0x3f800001, 0x3f800000, 0x3fffffff, 0xb24b4000},
      {0x3f800001, 0x3f7ffffe, 0x3f7ffffe, 0x40000001, 0x3495f600},
      {0x33800000, 0x4b800000, 0x45800000, 0x3f800000, 0xc1bfffff},
      {0x42ffffff, 0x3c000001, 0x3db504f4, 0x7f7fffa8, 0x40dfffff},
      {0x43000000, 0x3c000000, 0x3db504f2, 0x7f800000, 0x40e00000},
      {0xc2fc0000, 0xbc020821, 0x7fffffff, 0x00800000, 0x7fffffff},
      {0xc2fc0001, 0xbc020820, 0x7fffffff, 0x00000000, 0x7fffffff},
      {0x7e7fffff, 0x00800001, 0x20000000, 0x7f800000, 0x42fbffff},
      {0x7e800000, 0x00800000, 0x20000000, 0x7f800000, 0x42fc0000},
      {0x7f000000, 0x00000000, 0x1fb504f2, 0x7f800000, 0x42fe0000},
  };
  for (const auto& row : rows) {
    INFO(row[0]);
    CHECK(run("rcp.approx.ftz.f32", {row[0]}) == row[1]);
    CHECK(run("rsqrt.approx.ftz.f32", {row[0]}) == row[2]);
    CHECK(run("ex2.approx.ftz.f32", {row[0]}) == row[3]);
    CHECK(run("lg2.approx.ftz.f32", {row[0]}) == row[4]);
  }
}

TEST_CASE("ex2 of many words is ex2 of each") {
  std::vector<uint32_t> words;
  for (uint64_t w = 0; w < uint64_t{1} << 32; w += 16381) words.push_back(static_cast<uint32_t>(w));
  for (uint32_t e = 0; e < 512; ++e)
    for (uint32_t d = 0; d < 9; ++d) words.push_back((e << 23) + d - 4);
  std::vector<uint32_t> results(words.size());
  mufu_ex2_many(words, results.data());
  size_t wrong = 0;
  for (size_t i = 0; i < words.size(); ++i) wrong += results[i] != mufu_ex2(words[i]) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("special inputs of the approximations, as the PTX ISA tabulates them") {
  for (const char* ftz : {"", ".ftz"}) {
    const auto approx = [&](const char* root, uint64_t x) {
      return run(std::string(root) + ".approx" + ftz + ".f32", {x});
    };
    CHECK(approx("rcp", 0x80000000) == 0xff800000);
    CHECK(approx("rcp", 0) == 0x7f800000);
    CHECK(approx("rcp", 0xff800000) == 0x80000000);
    CHECK(approx("rcp", 0x7fc00001) == 0x7fffffff);
    CHECK(approx("rsqrt", 0) == 0x7f800000);
    CHECK(approx("rsqrt", 0x80000000) == 0xff800000);
    CHECK(approx("rsqrt", 0x7f800000) == 0);
    CHECK(approx("rsqrt", 0xbf800000) == 0x7fffffff);
    CHECK(approx("ex2", 0xff800000) == 0);
    CHECK(approx("ex2", 0x80000000) == 0x3f800000);
    CHECK(approx("ex2", 0x7f800000) == 0x7f800000);
    CHECK(approx("ex2", 0xffc00000) == 0x7fffffff);
    CHECK(approx("lg2", 0x80000000) == 0xff800000);
    CHECK(approx("lg2", 0x7f800000) == 0x7f800000);
    CHECK(approx("lg2", 0xff800000) == 0x7fffffff);
  }
}

TEST_CASE("without .ftz the approximations keep their bounds into the subnormals") {
  test::Words words(5);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t any = magnitude_between(words, -149, 127);
    CHECK(error_in_ulp(run("rcp.approx.f32", {any}), 1.0 / exact(any)) <= 1.0);
    const double root = 1.0 / std::sqrt(exact(any));
    CHECK(std::abs(exact(static_cast<uint32_t>(run("rsqrt.approx.f32", {any}))) / root - 1.0) <
          std::exp2(-22.9));
    const double logarithm = std::log2(exact(any));
    const double bound = std::abs(logarithm) < 1.0 ? 1.0 : std::abs(logarithm);
    CHECK(std::abs(exact(static_cast<uint32_t>(run("lg2.approx.f32", {any}))) - logarithm) <=
          std::ldexp(bound, -22));
    const uint32_t exponent = magnitude_between(words, -20, 7) | (static_cast<uint32_t>(words.next()) << 31);
    CHECK(error_in_ulp(run("ex2.approx.f32", {exponent}), std::exp2(exact(exponent))) <= 2.0);
  }
  CHECK(run("ex2.approx.f32", {std::bit_cast<uint32_t>(-140.0f)}) == 0x200);
  CHECK(run("rcp.approx.f32", {1}) == 0x7f800000);
  CHECK(run("rcp.approx.f32", {0x7f000000}) == 0x00400000);
  CHECK(run("lg2.approx.f32", {1}) == std::bit_cast<uint32_t>(-149.0f));
}

TEST_CASE(
    "div.approx is a times 1/b and holds 2 ulp for b in [2^-126, 2^126]; div.full holds it everywhere") {
  test::Words words(6);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t a = magnitude_between(words, -30, 30);
    const uint32_t b = magnitude_between(words, -90, 90);
    const double quotient = exact(a) / exact(b);
    CHECK(error_in_ulp(run("div.approx.f32", {a, b}), quotient) <= 2.0);
    CHECK(error_in_ulp(run("div.approx.ftz.f32", {a, b}), quotient) <= 2.0);
    CHECK(error_in_ulp(run("div.full.f32", {a, b}), quotient) <= 2.0);
    CHECK(error_in_ulp(run("div.full.ftz.f32", {a, b}), quotient) <= 2.0);
    const uint32_t large = magnitude_between(words, 126, 128);
    const uint32_t close = magnitude_between(words, 60, 127);
    CHECK(error_in_ulp(run("div.full.f32", {close, large}), exact(close) / exact(large)) <= 2.0);
  }
  // Beyond 2^126 the reciprocal is flushed: zero, as CUDA documents for fast division.
  CHECK(run("div.approx.f32", {0x7f000000, 0x7f000000}) == 0);
  CHECK(run("div.full.f32", {0x7f000000, 0x7f000000}) == 0x3f800000);
  CHECK(run("div.approx.ftz.f32", {0x3f800000, 0}) == 0x7f800000);
  CHECK(run("div.approx.ftz.f32", {0, 0}) == 0x7fffffff);
  CHECK(run("div.full.f32", {0x00000002, 0x00000001}) == 0x40000000);
}
