// SPDX-License-Identifier: Apache-2.0

// `simulate --timeline`: a picture of the committed GEMM that viewers can open, and what holds of every such
// picture.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/launch_options.h"
#include "cli/render_json.h"
#include "cli/timeline.h"

using namespace turnstile;
using namespace turnstile::cli;
using Json = nlohmann::json;

namespace {

const std::string gemm_folder = std::string(TURNSTILE_SOURCE_DIR) + "/kernels/gemm_bf16_hopper/";

Launch gemm_launch(std::vector<std::string> settings, const std::string& ptx = {}) {
  LaunchOptions options;
  options.file = gemm_folder + "gemm.toml";
  options.settings = std::move(settings);
  options.ptx = ptx;
  Result<Launch> launch = launch_of(options);
  if (!launch) FAIL(launch.error().text());
  return *launch;
}

LaunchTimeline timeline_for(const Launch& launch, uint32_t cta = 0) {
  Result<LaunchTimeline> result = timeline_of(launch, cta);
  if (!result) FAIL(result.error().text());
  return std::move(*result);
}

}  // namespace

TEST_CASE(
    "the picture of a GEMM is valid: tracks have names, their slices are disjoint, arrows go forward in "
    "time") {
  const LaunchTimeline result = timeline_for(gemm_launch({"M=128", "N=256", "K=512"}));
  REQUIRE(result.problem.empty());
  const Json document = Json::parse(trace_events_of(result), nullptr, false);
  REQUIRE(!document.is_discarded());
  CHECK(document.at("otherData").at("what").get<std::string>().find("estimate") != std::string::npos);
  std::map<std::pair<int, int>, std::string> names;
  std::map<std::pair<int, int>, std::vector<const Json*>> slices;
  std::map<uint64_t, std::pair<double, double>> arrows;
  for (const Json& e : document.at("traceEvents")) {
    const std::pair<int, int> track{e.at("pid"), e.at("tid")};
    const std::string kind = e.at("ph");
    if (kind == "M" && e.at("name") == "thread_name") names[track] = e.at("args").at("name");
    if (kind == "X") slices[track].push_back(&e);
    if (kind == "s") arrows[e.at("id")].first = e.at("ts");
    if (kind == "f") arrows[e.at("id")].second = e.at("ts");
  }
  std::vector<std::string> titles;
  for (const auto& [track, list] : slices) {
    REQUIRE(names.contains(track));
    titles.push_back(names[track]);
    uint64_t end = 0;
    for (const Json* slice : list) {
      const Json& arguments = slice->at("args");
      CHECK_GE(arguments.at("begin").get<uint64_t>(), end);
      end = arguments.at("end");
      CHECK_EQ(arguments.at("end").get<uint64_t>() - arguments.at("begin").get<uint64_t>(),
               arguments.at("cycles").get<uint64_t>());
      CHECK_LE(end, result.timeline.cycles);
      if (arguments.contains("cause_at")) CHECK_LE(arguments.at("cause_at").get<uint64_t>(), end);
    }
  }
  for (const char* title : {"critical path", "copy engine", "tensor core", "warp 0: producer",
                            "warp 4: consumer 0", "warp 11: consumer 1"})
    CHECK(std::find(titles.begin(), titles.end(), title) != titles.end());
  CHECK_GT(arrows.size(), 8);
  for (const auto& [id, ends] : arrows) CHECK_LE(ends.first, ends.second);

  // The path has no gap and is as long as the CTA.
  uint64_t at = 0;
  for (const auto& [track, name] : names)
    if (name == "critical path")
      for (const Json* slice : slices[track]) {
        CHECK_EQ(slice->at("args").at("begin").get<uint64_t>(), at);
        at = slice->at("args").at("end");
      }
  CHECK_EQ(at, result.timeline.cycles);
}

TEST_CASE("a wait in the picture says for which barrier, stage and phase") {
  const LaunchTimeline result = timeline_for(gemm_launch({"M=128", "N=256", "K=640"}));
  const Json document = Json::parse(trace_events_of(result), nullptr, false);
  REQUIRE(!document.is_discarded());
  std::vector<std::pair<std::string, uint64_t>> seen;  // stage, phase of warp 4's waits for full
  for (const Json& e : document.at("traceEvents"))
    if (e.at("ph") == "X" && e.at("name").get<std::string>().starts_with("wait full[")) {
      CHECK_EQ(e.at("name").get<std::string>(), "wait " + e.at("args").at("for").get<std::string>());
      seen.emplace_back(e.at("args").at("stage"), e.at("args").at("phase"));
    }
  // Ten k tiles through four stages: stage 0 is filled three times.
  CHECK(std::find(seen.begin(), seen.end(), std::pair<std::string, uint64_t>("0", 0)) != seen.end());
  for (const auto& [stage, phase] : seen) CHECK_LE(phase, stage == "0" || stage == "1" ? 2 : 1);
}

TEST_CASE("the tensor core of a GEMM is busy for its wgmma, and more k tiles take longer") {
  const LaunchTimeline few = timeline_for(gemm_launch({"M=128", "N=256", "K=512"}));
  const uint64_t one = sim::matrix_cycles(few.model, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16");
  CHECK_EQ(few.timeline.matrix_busy, 8 * 2 * 4 * one);  // k tiles, warp groups, wgmma of a k tile
  CHECK_GT(few.timeline.cycles, few.timeline.matrix_busy);
  const LaunchTimeline many = timeline_for(gemm_launch({"M=128", "N=256", "K=4096"}));
  // 64 k tiles: the tensor core is the bound, and the rest is a constant.
  CHECK_EQ(many.timeline.cycles - few.timeline.cycles, 56 * 2 * 4 * one);
  CHECK_FALSE(few.timeline.stalls.empty());
}

TEST_CASE("the launch is estimated by waves, with one CTA on an SM at a time for 225 KiB of shared memory") {
  const LaunchTimeline one = timeline_for(gemm_launch({"M=128", "N=256", "K=512"}));
  CHECK_EQ(one.grid.resident, 1);
  CHECK_EQ(one.grid.waves, 1);
  CHECK_EQ(one.grid.cycles, one.timeline.cycles);
  CHECK_GT(one.grid.microseconds, one.model.launch_us);
  // 400 CTAs that are not persistent: four waves on 132 SMs.
  const LaunchTimeline waves = timeline_for(gemm_launch({"M=2560", "N=5120", "K=512", "sms=400"}));
  CHECK_EQ(waves.grid.waves, 4);
  CHECK_GT(waves.grid.cycles, 3 * waves.timeline.cycles);
}

TEST_CASE("a kernel that hangs has no timeline, and says so") {
  const LaunchTimeline result =
      timeline_for(gemm_launch({"M=128", "N=256", "K=512"}, gemm_folder + "mutants/initial_parity.ptx"));
  CHECK(result.problem.find("hangs") != std::string::npos);
  CHECK_FALSE(result.undecided);
  const std::string text = render_timeline(gemm_launch({}), result, "out.json", Style{});
  CHECK(text.find("no timeline") != std::string::npos);
}

TEST_CASE("a CTA that the launch does not have is refused") {
  const Result<LaunchTimeline> result = timeline_of(gemm_launch({"M=128", "N=256", "K=64"}), 7);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message.find("the launch has 1 CTA") != std::string::npos);
}

TEST_CASE("text and JSON of a timeline say that it is an estimate") {
  const Launch launch = gemm_launch({"M=128", "N=256", "K=1024"});
  const LaunchTimeline result = timeline_for(launch);
  const std::string text = render_timeline(launch, result, "out.json", Style{});
  for (const char* words : {"an estimate, not a measurement", "critical path", "stalls", "tensor core",
                            "consumer 0 waits", "out.json"})
    CHECK(text.find(words) != std::string::npos);
  const Json json = Json::parse(json_of_timeline(launch, result, "out.json", Exit::clean), nullptr, false);
  REQUIRE(!json.is_discarded());
  const Json& timeline = json.at("timeline");
  CHECK_EQ(timeline.at("estimate"), true);
  CHECK_EQ(timeline.at("measured_constants"), true);
  uint64_t path = 0;
  for (const auto& [use, cycles] : timeline.at("critical_path").items()) path += cycles.get<uint64_t>();
  CHECK_EQ(path, timeline.at("cycles").get<uint64_t>());
}
