// SPDX-License-Identifier: Apache-2.0
// Does a row keep its bits when the batch around it changes? (issue "First light", point 8)
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "golden/batch.h"
#include "model/files.h"
#include "sim/rows.h"

using namespace turnstile;
using golden::RowAnswer;
using golden::RowQuestion;

namespace {

const std::string kernel_folder = std::string(TURNSTILE_SOURCE_DIR) + "/kernels/gemm_bf16_hopper/";

RowQuestion gemm_question(std::vector<int64_t> values) {
  RowQuestion q;
  q.launch_path = kernel_folder + "gemm.toml";
  q.overrides.vars = {{"N", 256}, {"K", 136}};
  q.values = std::move(values);
  return q;
}

std::string text_of(const RowAnswer& a) {
  std::string all = a.reason;
  for (const std::string& s : a.explanation) all += "\n" + s;
  return all;
}

/// One thread a row: C[row] = A[(row + shift) mod M] + A[row], f32. With shift 0 a row depends on itself
/// only.
struct RowKernel {
  explicit RowKernel(int shift, const std::string& body_end = "") {
    folder = std::filesystem::temp_directory_path() / ("turnstile-rows-" + std::to_string(::getpid()) + "-" +
                                                       std::to_string(shift) + body_end.substr(0, 1));
    std::filesystem::create_directories(folder);
    const std::string ptx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry rows(.param .u64 a, .param .u64 c, .param .u32 m)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<10>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [c];
  ld.param.u32 %r1, [m];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 ret;
  add.s32 %r3, %r2, )" + std::to_string(shift) +
                            R"(;
  rem.u32 %r3, %r3, %r1;
  mul.wide.u32 %rd3, %r2, 16;
  mul.wide.u32 %rd4, %r3, 16;
  add.s64 %rd5, %rd1, %rd3;
  add.s64 %rd6, %rd1, %rd4;
  add.s64 %rd7, %rd2, %rd3;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.rn.f32 %f3, %f1, %f2;
)" + body_end + R"(
  st.global.f32 [%rd7], %f3;
  ret;
}
)";
    const std::string toml = R"(kernel = "rows.ptx"
entry = "rows"
[vars]
M = 4
seed = 1
[launch]
grid = [1, 1, 1]
block = [32, 1, 1]
dynamic_shared_memory = 0
[[buffers]]
name = "A"
dtype = "f32"
shape = ["M", 1]
row_pitch = 4
role = "in"
fill = "normal"
seed = "seed"
batch_axis = 0
[[buffers]]
name = "C"
dtype = "f32"
shape = ["M", 1]
row_pitch = 4
role = "out"
batch_axis = 0
[[params]]
buffer = "A"
[[params]]
buffer = "C"
[[params]]
u32 = "M"
)";
    REQUIRE(write_file_atomically((folder / "rows.ptx").string(),
                                  {reinterpret_cast<const std::byte*>(ptx.data()), ptx.size()}));
    REQUIRE(write_file_atomically((folder / "rows.toml").string(),
                                  {reinterpret_cast<const std::byte*>(toml.data()), toml.size()}));
  }
  ~RowKernel() { std::filesystem::remove_all(folder); }
  RowQuestion question(std::vector<int64_t> values, uint64_t row) const {
    RowQuestion q;
    q.launch_path = (folder / "rows.toml").string();
    q.values = std::move(values);
    q.row = row;
    return q;
  }
  std::filesystem::path folder;
};

}  // namespace

TEST_CASE("row 0 of the GEMM has the same bits for 1, 77 and 300 rows, whatever the inputs are") {
  const auto answer = golden::ask_row(gemm_question({1, 77, 300}));
  REQUIRE(answer);
  CHECK_MESSAGE(answer->kind == RowAnswer::Kind::proved, text_of(*answer));
  CHECK(answer->output == "C");
  REQUIRE(answer->batches.size() == 3);
  CHECK(answer->batches[2].ctas == 3);      // three blocks of 128 rows ...
  CHECK(answer->batches[2].ctas_run == 1);  // ... of which one writes row 0
  CHECK(answer->batches[0].columns == 256);
}

TEST_CASE("what is proved by expressions holds in the bits, too") {
  for (const Family family : {Family::normal, Family::wide, Family::special}) {
    std::vector<std::byte> first;
    for (const int64_t m : {1, 77, 300}) {
      LaunchOverrides o;
      o.vars = {{"M", m}, {"N", 256}, {"K", 136}};
      o.fill = family;
      const auto launch = read_launch(kernel_folder + "gemm.toml", o);
      REQUIRE(launch);
      const auto program = sim::load_program(*launch);
      REQUIRE(program);
      const auto ctas = sim::ctas_of_row(**program, *launch, 2, 0);
      REQUIRE(ctas);
      const auto bits = sim::row_bits(**program, *launch, 2, 0, *ctas);
      REQUIRE(bits);
      if (first.empty()) first = *bits;
      CHECK(first == *bits);
    }
  }
}

TEST_CASE(
    "a GEMM that turns its k order round above 128 rows is refuted, with the first step that differs and "
    "inputs") {
  RowQuestion q = gemm_question({128, 129});
  q.row = 5;
  q.overrides.vars["K"] = 256;
  q.overrides.kernel_path = kernel_folder + "mutants/k_descending_large_m.ptx";
  q.search_seeds = 20;
  const auto answer = golden::ask_row(q);
  REQUIRE(answer);
  CHECK_MESSAGE(answer->kind == RowAnswer::Kind::refuted, text_of(*answer));
  REQUIRE(answer->explanation.size() == 2);
  CHECK(answer->explanation[0].find("k 0..15") != std::string::npos);
  CHECK(answer->explanation[1].find("k 192..207") !=
        std::string::npos);  // the last of the four k tiles comes first
  CHECK(answer->bits_a != answer->bits_b);
  CHECK(answer->differing_columns > 0);
}

TEST_CASE("the same kernel is proved below the switch") {
  RowQuestion q = gemm_question({1, 128});
  q.overrides.kernel_path = kernel_folder + "mutants/k_descending_large_m.ptx";
  const auto answer = golden::ask_row(q);
  REQUIRE(answer);
  CHECK(answer->kind == RowAnswer::Kind::proved);
}

TEST_CASE("a row that adds its own values only is proved; one that reads its neighbour leaks") {
  const RowKernel own(0);
  const auto proved = golden::ask_row(own.question({2, 5, 9}, 1));
  REQUIRE(proved);
  CHECK_MESSAGE(proved->kind == RowAnswer::Kind::proved, text_of(*proved));

  const RowKernel neighbour(1);
  const auto leak = golden::ask_row(neighbour.question({2, 5}, 1));
  REQUIRE(leak);
  CHECK(leak->kind == RowAnswer::Kind::refuted);
  CHECK(leak->reason.find("depends on other rows") != std::string::npos);
}

TEST_CASE(
    "a batch in which the row does not exist is an error, one in which it is not written is not decided") {
  const RowKernel own(0);
  const auto missing = golden::ask_row(own.question({2, 5}, 3));
  REQUIRE(!missing);
  CHECK(missing.error().message.find("row 3") != std::string::npos);

  const RowKernel skips(0, "  setp.gt.u32 %p2, %r1, 4;\n  @%p2 ret;\n");
  const auto unwritten = golden::ask_row(skips.question({2, 5}, 1));
  REQUIRE(unwritten);
  CHECK(unwritten->kind == RowAnswer::Kind::inconclusive);
  CHECK(unwritten->reason.find("not written") != std::string::npos);
}

TEST_CASE("one batch is no question") { CHECK(!golden::ask_row(gemm_question({64}))); }
