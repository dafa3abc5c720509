// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "golden/gpu_runner/read_plan.h"
#include "golden/plan.h"

using namespace turnstile;

namespace {

const std::string kGood =
    "turnstile-plan 1\n"
    "# a comment\n"
    "\n"
    "ptx \"a folder/k \\\"1\\\".ptx\"\n"
    "entry k\n"
    "grid 2 1 1\n"
    "block 64 1 1\n"
    "shared 0x400\n"
    "buffer A 256 generate normal bf16 1 0 4 30 32\n"
    "buffer C 256 poison\n"
    "tensormap map A 0 bf16 2 dims 30 4 strides 64 box 8 4 element_strides 1 1 none 128B 64B zero\n"
    "param buffer C 16\n"
    "param tensormap map\n"
    "param f32 0x3f800000\n"
    "param u64 5\n"
    "output C \"c file.bin\"\n";

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string plan = kGood;
  plan.replace(plan.find(old_text), old_text.size(), new_text);
  return plan;
}

std::string reason(const std::string& text) {
  const auto plan = parse_plan(text, "p/x.plan");
  const auto* error = std::get_if<RunnerError>(&plan);
  return error == nullptr ? "" : error->reason;
}

}  // namespace

TEST_CASE("the GPU runner reads each statement of a plan") {
  const auto result = parse_plan(kGood, "p/x.plan");
  REQUIRE(std::holds_alternative<Plan>(result));
  const Plan& plan = std::get<Plan>(result);
  CHECK(plan.module == "p/a folder/k \"1\".ptx");
  CHECK(plan.entry == "k");
  CHECK(plan.grid == std::array<uint32_t, 3>{2, 1, 1});
  CHECK(plan.cluster == std::array<uint32_t, 3>{1, 1, 1});
  CHECK(plan.dynamic_shared == 1024);
  REQUIRE(plan.buffers.size() == 2);
  CHECK(plan.buffers[0].family == Family::normal);
  CHECK(plan.buffers[0].pitch == 32);
  CHECK(plan.buffers[1].fill == Plan::Fill::poison);
  REQUIRE(plan.tensor_maps.size() == 1);
  CHECK(plan.tensor_maps[0].type == 9);  // cuda.h: CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
  CHECK(plan.tensor_maps[0].swizzle == 3);
  CHECK(plan.tensor_maps[0].l2_promotion == 1);
  CHECK(plan.tensor_maps[0].dims == std::vector<uint64_t>{30, 4});
  REQUIRE(plan.parameters.size() == 4);
  CHECK(plan.parameters[0].index == 1);
  CHECK(plan.parameters[0].value == 16);
  CHECK(plan.parameters[2].value == 0x3f800000);
  REQUIRE(plan.outputs.size() == 1);
  CHECK(plan.outputs[0].file == "c file.bin");
}

TEST_CASE("the GPU runner says where a plan is wrong, and why") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "p/x.plan: empty plan"},
      {with("turnstile-plan 1", "turnstile-plan 2"), "p/x.plan:1: the first line must be 'turnstile-plan 1'"},
      {with("grid 2 1 1", "grid 2 1"), "p/x.plan:6: 'grid' lacks a dimension"},
      {with("grid 2 1 1\n", ""), "p/x.plan: the statement 'grid' is missing"},
      {with("k \\\"1", "k \\n1"), "p/x.plan:4: a quote is not closed, or an escape is neither \\\" nor \\\\"},
      {with("4 30 32", "4 30 33"), "p/x.plan:9: 'buffer' needs more bytes than the buffer has"},
      {with("buffer C 256", "buffer A 256"), "p/x.plan:10: 'buffer' names a buffer that exists: 'A'"},
      {with("buffer C 256", "buffer C 99999999999999999999"),
       "p/x.plan:10: 'buffer' the size of a buffer must be a number from 1 to 68719476480, not "
       "'99999999999999999999'"},
      {with("64B zero", "64B one"), "p/x.plan:11: 'tensormap' unknown fill 'one'"},
      {with("param buffer C 16", "param buffer D 16"), "p/x.plan:12: 'param' no buffer is called 'D' above"},
      {with("param buffer C 16", "param buffer C 257"),
       "p/x.plan:12: 'param' the offset must be a number from 0 to 256, not '257'"},
      {with("\"c file.bin\"", "../c"),
       "p/x.plan:16: 'output' needs a bare file name other than info.txt, not '../c'"},
      {with("entry k", "entry k k"), "p/x.plan:5: 'entry' has a word too many: 'k'"},
      {with("entry k", "entrance k"), "p/x.plan:5: 'entrance' is no statement of a plan"},
  };
  for (const auto& [text, expected] : cases) CHECK(reason(text) == expected);
}

TEST_CASE("a plan cut off anywhere is read or refused, never more") {
  for (size_t length = 0; length < kGood.size(); ++length) {
    const auto plan = parse_plan(std::string_view(kGood).substr(0, length), "x.plan");
    if (const auto* error = std::get_if<RunnerError>(&plan)) CHECK(error->code == RunnerError::kUsage);
  }
}

TEST_CASE("the runner reads back every case of the GEMM's launch file as it was meant") {
  const std::string path = TURNSTILE_SOURCE_DIR "/kernels/gemm_bf16_hopper/gemm.toml";
  const auto cases = list_cases(path);
  REQUIRE(cases);
  REQUIRE(cases->size() >= 24);
  for (const std::string& name : *cases) {
    CAPTURE(name);
    LaunchOverrides overrides;
    overrides.case_name = name;
    const auto launch = read_launch(path, overrides);
    REQUIRE(launch);
    const auto result = parse_plan(golden::plan_text(*launch, {.folder = TURNSTILE_SOURCE_DIR, .repeat = 3}),
                                   TURNSTILE_SOURCE_DIR "/gemm.plan");
    REQUIRE(std::holds_alternative<Plan>(result));
    const Plan& plan = std::get<Plan>(result);
    CHECK(plan.repeat == 3);
    CHECK(plan.grid == launch->grid);
    CHECK(plan.block == launch->block);
    CHECK(plan.dynamic_shared == launch->dynamic_shared_bytes);
    CHECK(std::filesystem::exists(plan.module));
    REQUIRE(plan.buffers.size() == 3);
    for (size_t i = 0; i < 3; ++i) CHECK(plan.buffers[i].bytes == launch->buffers[i].bytes);
    CHECK(plan.buffers[0].family == launch->buffers[0].fill);
    CHECK(plan.buffers[1].stream == 1);
    CHECK(plan.buffers[2].fill == Plan::Fill::poison);
    REQUIRE(plan.tensor_maps.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(plan.tensor_maps[i].dims == launch->tensor_maps[i].dims);
      CHECK(plan.tensor_maps[i].strides == launch->tensor_maps[i].strides);
      CHECK(plan.tensor_maps[i].box == launch->tensor_maps[i].box);
    }
    REQUIRE(plan.parameters.size() == 6);
    CHECK(plan.parameters[2].kind == Plan::Parameter::Kind::tensor_map);
    CHECK(plan.parameters[3].value == static_cast<uint64_t>(launch->vars.at("M")));
    CHECK(plan.parameters[5].value == static_cast<uint64_t>((launch->vars.at("K") + 63) / 64));
    REQUIRE(plan.outputs.size() == 1);
    CHECK(plan.outputs[0].buffer == 2);
  }
}
