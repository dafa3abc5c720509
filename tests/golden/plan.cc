// SPDX-License-Identifier: Apache-2.0
#include "golden/plan.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/files.h"
#include "model/launch/npy.h"

namespace turnstile::golden {
namespace {

const std::string kGemm = R"toml(
kernel = "gemm_bf16_hopper.ptx"
entry = "gemm_bf16_hopper"
[vars]
M = 128
N = 256
K = 64
[launch]
grid = ["ceil_div(M,128)*ceil_div(N,256)"]
block = [384]
dynamic_shared_memory = 230400
[[buffers]]
name = "A"
dtype = "bf16"
shape = ["M", "K"]
role = "in"
fill = "normal"
seed = 1
[[buffers]]
name = "B"
dtype = "bf16"
shape = ["N", "K"]
role = "in"
fill = "normal"
seed = 1
[[buffers]]
name = "C"
dtype = "bf16"
shape = ["M", "N"]
role = "out"
[[tensor_maps]]
name = "a_map"
buffer = "A"
dims = ["K", "M"]
strides = ["K*2"]
box = [64, 128]
swizzle = "128B"
l2_promotion = "128B"
[[tensor_maps]]
name = "b_map"
buffer = "B"
dims = ["K", "N"]
strides = ["K*2"]
box = [64, 256]
swizzle = "128B"
l2_promotion = "128B"
[[tensor_maps]]
name = "c_map"
buffer = "C"
dims = ["N", "M"]
strides = ["N*2"]
box = [64, 64]
swizzle = "128B"
[[params]]
tensor_map = "a_map"
[[params]]
tensor_map = "b_map"
[[params]]
tensor_map = "c_map"
[[params]]
u32 = "M"
[[params]]
u32 = "N"
[[params]]
u32 = "K/64"
)toml";

Launch launch_of(const std::string& text, const std::string& path) {
  const Result<Launch> launch = parse_launch(text, path, {});
  REQUIRE_MESSAGE(launch.has_value(), launch.error().text());
  return *launch;
}

bool has_line(const std::string& text, const std::string& line) {
  const bool found = ("\n" + text).find("\n" + line + "\n") != std::string::npos;
  if (!found) MESSAGE("no line '", line, "' in\n", text);
  return found;
}

}  // namespace

TEST_CASE("the example of plan.md is what its launch gives") {
  const Result<std::string> page = read_file(TURNSTILE_SOURCE_DIR "/golden/gpu_runner/plan.md", 1 << 20);
  REQUIRE(page.has_value());
  const size_t begin = page->find("```\nturnstile-plan 1\nptx ");
  REQUIRE(begin != std::string::npos);
  const std::string example = page->substr(begin + 4, page->find("```", begin + 4) - begin - 4);

  // The example stands in a folder beside kernels/ and leaves out the cluster, which is 1 1 1 by default.
  const Launch launch = launch_of(kGemm, "/repo/kernels/gemm_bf16_hopper/gemm_bf16_hopper.toml");
  std::string text = plan_text(launch, {.folder = "/repo/plans", .repeat = 2});
  const std::string cluster = "cluster 1 1 1\n";
  const size_t at = text.find(cluster);
  REQUIRE(at != std::string::npos);
  text.erase(at, cluster.size());
  CHECK(text == example);
}

TEST_CASE("what a plan can hold besides") {
  const std::string text = R"toml(
kernel = "/k.ptx"
entry = "k"
[launch]
grid = [4, 2]
block = [32]
cluster = [2, 2]
[[buffers]]
name = "my \"x\""
dtype = "e4m3"
shape = [2, 3, 20]
row_pitch = 32
role = "in_out"
fill = "special"
seed = 7
stream = 9
[[buffers]]
name = "sizes"
dtype = "s32"
shape = [5]
role = "in"
values = "sizes.npy"
[[buffers]]
name = "out"
dtype = "f32"
shape = [5]
role = "out"
[[tensor_maps]]
name = "t"
buffer = "my \"x\""
offset = 32
dims = [16]
box = [16]
oob_fill = "zero"
l2_promotion = "256B"
[[params]]
buffer = "sizes"
offset = 4
[[params]]
s32 = -2
[[params]]
s64 = -1
[[params]]
f32 = 1
)toml";
  const Launch launch = launch_of(text, "/launch/k.toml");
  const std::string plan = plan_text(launch, {.folder = "/", .poison_outputs = false});
  CHECK(has_line(plan, "ptx k.ptx"));
  CHECK(has_line(plan, "grid 4 2 1"));
  CHECK(has_line(plan, "cluster 2 2 1"));
  CHECK(has_line(plan, "shared 0"));
  CHECK(has_line(plan, "repeat 1"));
  CHECK(has_line(plan, "buffer \"my \\\"x\\\"\" 192 generate special e4m3 7 9 6 20 32"));
  CHECK(has_line(plan, "buffer sizes 20 file sizes.input.bin"));
  CHECK(has_line(plan, "buffer out 20 zero"));
  // The encoder has no e4m3: bytes. Rank 1 has no strides.
  CHECK(has_line(
      plan,
      "tensormap t \"my \\\"x\\\"\" 32 u8 1 dims 16 strides box 16 element_strides 1 none none 256B zero"));
  CHECK(has_line(plan, "param buffer sizes 4"));
  CHECK(has_line(plan, "param u32 4294967294"));
  CHECK(has_line(plan, "param u64 18446744073709551615"));
  CHECK(has_line(plan, "param f32 1065353216"));
  CHECK(has_line(plan, "output \"my \\\"x\\\"\" _0.bin"));
  CHECK(has_line(plan, "output out out.bin"));
  CHECK(plan.find("output sizes") == std::string::npos);
}

TEST_CASE("write_plan puts the values beside the plan, and names a file that is missing") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "turnstile_plan";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Launch launch = launch_of(
      "kernel = \"k.ptx\"\nentry = \"k\"\n[launch]\ngrid = [1]\nblock = [32]\n"
      "[[buffers]]\nname = \"n\"\ndtype = \"s32\"\nshape = [2]\nrole = \"in\"\nvalues = \"n.npy\"\n",
      (folder / "k.toml").string());
  const PlanOptions options{.folder = folder.string()};
  CHECK(write_plan(launch, options, "plan").error().file == (folder / "n.npy").string());
  CHECK_FALSE(std::filesystem::exists(folder / "plan"));

  const std::vector<int32_t> values = {3, -1};
  const std::vector<uint64_t> shape = {2};
  REQUIRE(write_npy((folder / "n.npy").string(), ElementType::s32, shape, std::as_bytes(std::span(values)))
              .has_value());
  const Result<std::string> path = write_plan(launch, options, "plan");
  REQUIRE(path.has_value());
  CHECK(has_line(*read_file(*path, 1 << 20), "ptx k.ptx"));
  CHECK(*read_file((folder / "n.input.bin").string(), 100) == std::string("\3\0\0\0\xff\xff\xff\xff", 8));
  std::filesystem::remove_all(folder);
}

}  // namespace turnstile::golden
