// SPDX-License-Identifier: Apache-2.0

// "The GPU has another bit here: where does mine come from, and what would have to be different?" Expected
// values are computed on the host, by the FPU; paths are read off the kernels below.

#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "golden/compare.h"
#include "golden/explain.h"
#include "golden/predict.h"
#include "model/launch/launch.h"

using namespace turnstile;
using golden::Explanation;
using golden::PathStep;

namespace {

class Kernel {
 public:
  Kernel(const std::string& name, const std::string& body, const std::string& output_type,
         const std::string& extra = {})
      : folder_(std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "k.ptx") << R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 py)
{
.reg .pred %p<4>;
.reg .b16 %h<8>;
.reg .b32 %r<40>;
.reg .f32 %f<40>;
.reg .b64 %d<16>;
.shared .align 16 .b8 tile[1024];
ld.param.u64 %d1, [pa];
ld.param.u64 %d2, [pb];
ld.param.u64 %d3, [pc];
ld.param.u64 %d4, [py];
mov.u32 %r1, %tid.x;
mul.wide.u32 %d5, %r1, 4;
add.s64 %d6, %d1, %d5;
add.s64 %d7, %d2, %d5;
add.s64 %d8, %d3, %d5;
)" << body << "ret;\n}\n";
    std::ofstream file(folder_ / "k.toml");
    file << "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n";
    int stream = 0;
    for (const char* input : {"a", "b", "c"})
      file << "[[buffers]]\nname = \"" << input
           << "\"\ndtype = \"f32\"\nshape = [64]\nrole = \"in\"\nfill = \"normal\"\nseed = 7\nstream = "
           << stream++ << "\n";
    file << "[[buffers]]\nname = \"y\"\ndtype = \"" << output_type << "\"\nshape = [4, 16]\nrole = \"out\"\n"
         << extra;
    for (const char* p : {"a", "b", "c", "y"}) file << "[[params]]\nbuffer = \"" << p << "\"\n";
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() { std::filesystem::remove_all(folder_); }

  Launch launch() const {
    auto launch = read_launch((folder_ / "k.toml").string(), {});
    REQUIRE_MESSAGE(launch.has_value(), (launch ? std::string() : launch.error().text()));
    return std::move(*launch);
  }

 private:
  std::filesystem::path folder_;
};

std::vector<float> floats(const Launch& launch, size_t buffer) {
  const auto bytes = initial_contents(launch.buffers[buffer]);
  REQUIRE(bytes.has_value());
  std::vector<float> out(bytes->size() / 4);
  std::memcpy(out.data(), bytes->data(), bytes->size());
  return out;
}

std::string hex(float x) { return golden::bits_text(ElementType::f32, std::bit_cast<uint32_t>(x)); }

/// To nearest even, of finite numbers.
uint16_t bf16(float x) {
  const uint32_t word = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

Explanation explain(const Launch& launch, golden::ElementQuestion question) {
  auto answer = golden::explain_element(launch, question);
  REQUIRE_MESSAGE(answer.has_value(), (answer ? std::string() : answer.error().text()));
  CHECK(answer->replayable);
  CHECK_FALSE(answer->truncated);
  return std::move(*answer);
}

const PathStep& step_of(const Explanation& e, const std::string& instruction) {
  for (const PathStep& s : e.path.steps)
    if (s.instruction == instruction) return s;
  FAIL("no step ", instruction);
  return e.path.steps.front();
}

std::vector<std::string> instructions(const Explanation& e) {
  std::vector<std::string> out;
  for (const PathStep& s : e.path.steps) out.push_back(s.instruction);
  return out;
}

// (a * b + c)^2 of the thread whose number differs in bit 5: from the other warp, through shared memory.
constexpr const char* through_the_other_warp = R"(
ld.global.f32 %f1, [%d6];
ld.global.f32 %f2, [%d7];
ld.global.f32 %f3, [%d8];
fma.rn.f32 %f4, %f1, %f2, %f3;
mul.rn.f32 %f5, %f4, %f4;
mov.u32 %r2, tile;
shl.b32 %r3, %r1, 2;
add.u32 %r4, %r2, %r3;
st.shared.f32 [%r4], %f5;
bar.sync 0;
xor.b32 %r5, %r3, 128;
add.u32 %r6, %r2, %r5;
ld.shared.f32 %f6, [%r6];
cvt.rn.bf16.f32 %h1, %f6;
mul.wide.u32 %d9, %r1, 2;
add.s64 %d10, %d4, %d9;
st.global.b16 [%d10], %h1;
)";

constexpr const char* separate_mul_and_add = R"(
ld.global.f32 %f1, [%d6];
ld.global.f32 %f2, [%d7];
ld.global.f32 %f3, [%d8];
mul.rn.f32 %f4, %f1, %f2;
add.rn.f32 %f5, %f4, %f3;
add.s64 %d10, %d4, %d5;
st.global.f32 [%d10], %f5;
)";

/// Which element of `other` is the first that the simulator has other bits of, and what makes it.
Explanation explain_first(const Launch& launch, const std::vector<std::byte>& other) {
  const auto prediction = golden::predict(launch);
  REQUIRE(prediction.has_value());
  const auto ours = golden::view_of(launch.buffers[3], prediction->buffers[3]);
  const auto theirs = golden::view_of(launch.buffers[3], other);
  const auto comparison = golden::compare(*ours, *theirs);
  REQUIRE(comparison->first.has_value());
  golden::ElementQuestion q{3, comparison->first->row, comparison->first->column, comparison->first->right,
                            &*theirs};
  q.differing = comparison->differing;
  return explain(launch, q);
}

template <typename Word>
std::vector<std::byte> bytes_of(const std::vector<Word>& words) {
  std::vector<std::byte> out(words.size() * sizeof(Word));
  std::memcpy(out.data(), words.data(), out.size());
  return out;
}

}  // namespace

TEST_CASE("the path of an element goes back through the shared memory of another warp to the inputs") {
  const Kernel kernel("why-path", through_the_other_warp, "bf16");
  const Launch launch = kernel.launch();
  const std::vector<float> a = floats(launch, 0), b = floats(launch, 1), c = floats(launch, 2);
  const Explanation e = explain(launch, {3, 2, 5, {}, nullptr});  // thread 37: what thread 5 computed
  const float sum = std::fmaf(a[5], b[5], c[5]);
  volatile float square = sum * sum;
  CHECK(e.byte_offset == 74);
  CHECK(e.predicted == bf16(square));
  std::vector<std::string> expected = {"st.global.b16", "cvt.rn.bf16.f32", "ld.shared.f32",
                                       "st.shared.f32", "mul.rn.f32",      "fma.rn.f32",
                                       "ld.global.f32", "ld.global.f32",   "ld.global.f32"};
  CHECK(instructions(e) == expected);
  CHECK(step_of(e, "st.global.b16").thread == "CTA (0, 0, 0) warp 1 lane 5");
  CHECK(step_of(e, "st.shared.f32").thread == "CTA (0, 0, 0) warp 0 lane 5");
  CHECK(step_of(e, "cvt.rn.bf16.f32").rounding == "rounds to nearest even");
  const PathStep& fma = step_of(e, "fma.rn.f32");
  REQUIRE(fma.operands.size() == 3);
  CHECK(fma.operands[0].bits == hex(a[5]));
  CHECK(fma.operands[1].bits == hex(b[5]));
  CHECK(fma.operands[2].bits == hex(c[5]));
  CHECK(fma.result.bits == hex(sum));
  CHECK(fma.ptx_place.starts_with("k.ptx:"));
  const PathStep& load = e.path.steps[fma.operands[0].step - 1];
  CHECK(load.where == "a[5]");
  CHECK(step_of(e, "mul.rn.f32").operands[1].step == fma.number);
}

TEST_CASE("another side that rounds one step toward zero: the step is named, and simulated") {
  const Kernel kernel("why-rz", through_the_other_warp, "bf16");
  const Launch launch = kernel.launch();
  const std::vector<float> a = floats(launch, 0), b = floats(launch, 1), c = floats(launch, 2);
  // A second implementation: the host's FPU, but for the conversion, which cuts.
  std::vector<uint16_t> other(64);
  for (size_t t = 0; t < 64; ++t) {
    const size_t s = t ^ 32;
    volatile float sum = std::fmaf(a[s], b[s], c[s]);
    volatile float square = sum * sum;
    const float out = square;
    other[t] = static_cast<uint16_t>(std::bit_cast<uint32_t>(out) >> 16);
  }
  const Explanation e = explain_first(launch, bytes_of(other));
  REQUIRE(e.causes.has_value());
  REQUIRE(!e.causes->found.empty());
  CHECK(e.causes->found[0].text.find("cvt.rn.bf16.f32") == 0);
  CHECK(e.causes->found[0].text.find("toward zero (.rz)") != std::string::npos);
  CHECK(e.causes->found[0].step == step_of(e, "cvt.rn.bf16.f32").number);
  CHECK(e.causes->found[0].differing_after == 0);
}

TEST_CASE("an fma where the kernel has mul and add, and the other way round") {
  const Kernel kernel("why-fma", separate_mul_and_add, "f32");
  const Launch launch = kernel.launch();
  const std::vector<float> a = floats(launch, 0), b = floats(launch, 1), c = floats(launch, 2);
  std::vector<float> other(64);
  for (size_t t = 0; t < 64; ++t) other[t] = std::fmaf(a[t], b[t], c[t]);
  const Explanation e = explain_first(launch, bytes_of(other));
  REQUIRE(e.causes.has_value());
  const auto fused = std::find_if(
      e.causes->found.begin(), e.causes->found.end(),
      [](const golden::Cause& cause) { return cause.text.find("were one fma") != std::string::npos; });
  REQUIRE(fused != e.causes->found.end());
  CHECK(fused->step == step_of(e, "add.rn.f32").number);
  // Rounding of all elements another way explains one of them, but not the others: refuted, if it came up.
  for (const golden::Cause& cause : e.causes->found)
    CHECK_FALSE((cause.differing_after && *cause.differing_after > 0));

  std::string text = through_the_other_warp;
  text.replace(text.find("cvt.rn.bf16.f32 %h1, %f6;"), 25, "");
  text.replace(text.find("mul.wide.u32 %d9, %r1, 2"), 24, "mul.wide.u32 %d9, %r1, 4");
  text.replace(text.find("st.global.b16 [%d10], %h1"), 25, "st.global.f32 [%d10], %f6");
  const Kernel fma_kernel("why-unfused", text, "f32");
  const Launch fma_launch = fma_kernel.launch();
  for (size_t t = 0; t < 64; ++t) {
    volatile float product = a[t ^ 32] * b[t ^ 32];
    volatile float sum = product + c[t ^ 32];
    volatile float square = sum * sum;
    other[t] = square;
  }
  const Explanation back = explain_first(fma_launch, bytes_of(other));
  REQUIRE(back.causes.has_value());
  REQUIRE(!back.causes->found.empty());
  CHECK(back.causes->found[0].text.find("fma.rn.f32") == 0);
  CHECK(back.causes->found[0].text.find("separate mul and add") != std::string::npos);
  CHECK(back.causes->found[0].differing_after == 0);
}

TEST_CASE("rz in one step in the middle: found there and nowhere else") {
  std::string text = separate_mul_and_add;
  const Kernel kernel("why-middle", text, "f32");
  const Launch launch = kernel.launch();
  const std::vector<float> a = floats(launch, 0), b = floats(launch, 1), c = floats(launch, 2);
  std::vector<float> other(64);
  for (size_t t = 0; t < 64; ++t) {
    const double exact = static_cast<double>(a[t]) * static_cast<double>(b[t]);
    std::fesetround(FE_TOWARDZERO);
    volatile auto product = static_cast<float>(exact);
    std::fesetround(FE_TONEAREST);
    volatile float sum = product + c[t];
    other[t] = sum;
  }
  const Explanation e = explain_first(launch, bytes_of(other));
  REQUIRE(e.causes.has_value());
  REQUIRE(!e.causes->found.empty());
  CHECK(e.causes->found[0].text.find("mul.rn.f32") == 0);
  CHECK(e.causes->found[0].text.find("toward zero (.rz)") != std::string::npos);
  CHECK(e.causes->found[0].differing_after == 0);
  CHECK(e.causes->found[0].step == step_of(e, "mul.rn.f32").number);
}

TEST_CASE("a bit that no change of the arithmetic gives: none is claimed") {
  const Kernel kernel("why-none", separate_mul_and_add, "f32");
  const Launch launch = kernel.launch();
  const auto prediction = golden::predict(launch);
  std::vector<std::byte> other = prediction->buffers[3];
  other[4 * 20 + 1] ^= std::byte{0x40};  // 2^14 ulps: no rounding does that
  const Explanation e = explain_first(launch, other);
  CHECK(e.row == 1);
  CHECK(e.column == 4);
  CHECK(e.causes->found.empty());
  CHECK(e.causes->tried > 0);
}

TEST_CASE("values that come from other lanes, and from packed halves, are followed to where they were made") {
  const Kernel kernel("why-lanes", R"(
ld.global.f32 %f1, [%d6];
ld.global.f32 %f2, [%d7];
cvt.rn.bf16x2.f32 %r2, %f1, %f2;
shfl.sync.bfly.b32 %r3, %r2, 3, 31, -1;
mov.b32 {%h1, %h2}, %r3;
mul.wide.u32 %d9, %r1, 2;
add.s64 %d10, %d4, %d9;
st.global.b16 [%d10], %h2;
)",
                      "bf16");
  const Launch launch = kernel.launch();
  const std::vector<float> a = floats(launch, 0);
  const Explanation e = explain(launch, {3, 0, 6, {}, nullptr});  // thread 6 has it of thread 5
  CHECK(e.predicted == bf16(a[5]));
  // The high half is the first source: nothing of b is on the path.
  std::vector<std::string> expected = {"st.global.b16", "shfl.sync.bfly.b32", "cvt.rn.bf16x2.f32",
                                       "ld.global.f32"};
  CHECK(instructions(e) == expected);
  CHECK(step_of(e, "ld.global.f32").where == "a[5]");
  CHECK(step_of(e, "cvt.rn.bf16x2.f32").thread == "CTA (0, 0, 0) warp 0 lane 5");
}

TEST_CASE("where differences are: rows, columns, their steps and the block that has them all") {
  std::vector<std::byte> left(2 * 32 * 64), right;
  right = left;
  for (const uint64_t row : {17u, 19u, 23u})
    for (const uint64_t column : {36u, 40u}) right[2 * (row * 64 + column)] = std::byte{2};
  const golden::MatrixView a{ElementType::bf16, 32, 64, 64, left}, b{ElementType::bf16, 32, 64, 64, right};
  const auto comparison = golden::compare(a, b);
  REQUIRE(comparison->pattern.has_value());
  const golden::DifferencePattern& p = *comparison->pattern;
  CHECK(p.first_row == 17);
  CHECK(p.last_row == 23);
  CHECK(p.row_step == 2);
  CHECK(p.columns == 2);
  CHECK(p.column_step == 4);
  CHECK(p.block_rows == 8);
  CHECK(p.block_columns == 16);
  CHECK(p.most_ulps == 2);
  CHECK(golden::ulps_apart(ElementType::f32, 0x80000001, 0x00000001) == 2);
  CHECK(golden::ulps_apart(ElementType::f32, 0x80000000, 0x00000000) == 0);
  CHECK(golden::ulps_apart(ElementType::s32, 0xffffffff, 0x00000001) == 2);
  CHECK_FALSE(golden::ulps_apart(ElementType::bf16, 0x7fc0, 0).has_value());
}
